//! Seam: a path through the overlap at which the panorama changes from one camera to the other, so that no object
//! appears twice.
//!
//! The seam works on a grid of cells over the bounding box of the overlap. Once per warp, [`seam_cells`] determines the
//! cameras that see each cell, and [`seam_sides`] determines the cost of paths at which the edge of a camera's picture
//! becomes visible. For each analysed pair of frames, [`seam_difference_rgba8`] or [`seam_difference_nv12`] compares
//! the cameras after the colour correction of the stitch, [`seam_cost`] turns the difference into costs, and
//! [`seam_path`] finds the cheapest path. [`seam_weights`] turns paths into weights for any stitch.
//!
//! A path assigns a camera to each cell that both cameras see: the near camera before the path, the far one after it.
//! The cost of the path has two parts. If two adjacent cells show different cameras, the path pays the sum of the costs
//! of both cells. If a cell is next to a cell that only its other camera sees, the edge of a picture is visible there,
//! and the path pays a fixed cost, called a breach. So a path may be anything from straight to almost parallel to the
//! rows, and the overlap may have any outline.
//!
//! The host decides whether to replace the current path by a cheaper one. Path costs are sums of integers, so the same
//! cell costs give the same path on every run, on CPU and GPU. Cell costs may differ by one unit between CPU and GPU,
//! because the power functions for gamma round differently.

use cuda_std::prelude::*;
use glam::{UVec2, Vec2, Vec3, Vec4, uvec2, vec2};
use shared_types::Rgba8;
use shared_types::nv12::{Nv12, P010};
use shared_types::seam::{
    ASIDE, BLOCK_THREADS, BREACH, FREEDOM, MARGIN, MOST, MOTION_DECAY, STILL, SeamGrid, SeamLook,
    Sees,
};
#[cfg(doc)]
use shared_types::seam::{BASE, NOISE, PER_LEVEL};
use shared_types::stitch::Colour;
use shared_types::stitch::MIN_WEIGHT;
use shared_types::warp::CameraPlanes;

mod cost;
#[cfg(not(target_arch = "nvptx64"))]
mod cpu;
mod path;
mod steps;
mod weights;

pub use path::*;
pub use weights::*;

use crate::colour::grade::{Fast, Grade};
use crate::io::Sampler2d;
use crate::warp::camera::SourceLookup;
use crate::warp::edge_distance;

/// The warp planes and the picture sizes of both cameras.
struct CameraPair {
    left: SourceLookup,
    right: SourceLookup,
}

/// The cameras that contribute to a panorama pixel, by the same rule as in the stitch.
enum Seen {
    Nobody,
    Left,
    Right,
    /// Both cameras, the left one first, each with its source coordinates and weight.
    Both([(Vec2, f32); 2]),
}

impl CameraPair {
    /// Creates the lookup of both cameras from their planes and picture sizes (left camera first).
    #[device]
    fn new([left, right]: [CameraPlanes; 2], sizes: [UVec2; 2]) -> Self {
        Self {
            left: SourceLookup { planes: left, size: sizes[0] },
            right: SourceLookup { planes: right, size: sizes[1] },
        }
    }

    /// Returns the cameras that contribute to panorama pixel `at`.
    #[device]
    fn seen(&self, at: UVec2) -> Seen {
        let left = self.left.source(at.x, at.y, MIN_WEIGHT);
        let right = self.right.source(at.x, at.y, MIN_WEIGHT);
        match (left, right) {
            (None, None) => Seen::Nobody,
            (Some(_), None) => Seen::Left,
            (None, Some(_)) => Seen::Right,
            (Some(left), Some(right)) => Seen::Both([left, right]),
        }
    }

    /// Returns the share of each camera at a pixel: the smaller of two ratios. One is the camera's weight to the sum of
    /// both weights. The other is the distance from the edge of the camera's picture to the sum of this distance for
    /// both cameras. The share is 0 at the edge of the camera's picture, and 1/2 in the middle of the overlap.
    #[device]
    fn shares(&self, [left, right]: [(Vec2, f32); 2]) -> Vec2 {
        let distance =
            vec2(edge_distance(self.left.size, left.0), edge_distance(self.right.size, right.0));
        let weight = vec2(left.1, right.1);
        (distance / distance.element_sum()).min(weight / weight.element_sum())
    }
}

/// Returns the first panorama pixel of a cell, and the column and row after its last pixel.
#[device]
fn pixels(grid: &SeamGrid, cell: UVec2) -> (UVec2, UVec2) {
    let cell = if grid.transposed != 0 { uvec2(cell.y, cell.x) } else { cell };
    let min = grid.min + cell * grid.cell;
    (min, (min + grid.cell).min(grid.max))
}

/// Writes a word for each cell: the cameras that see the cell ([`Sees`]), and its additional costs, which are up to
/// [`ASIDE`] for the distance from the overlap's middle, and up to [`MARGIN`] near the edge of a picture.
///
/// `left` and `right` are the sizes of the pictures. `out` has an element per cell of the grid, with columns across
/// the seam and rows along it.
#[kernel(launch_bounds(BLOCK_THREADS, 2))]
pub fn seam_cells(
    planes_left: CameraPlanes,
    planes_right: CameraPlanes,
    left: UVec2,
    right: UVec2,
    grid: SeamGrid,
    out: ViewMut<u32>,
) {
    let cameras = CameraPair::new([planes_left, planes_right], [left, right]);
    let cell = thread::index_2d();
    if !out.contains(cell.x, cell.y) {
        return;
    }
    let (left_bit, right_bit) =
        if grid.swapped != 0 { (Sees::FAR, Sees::NEAR) } else { (Sees::NEAR, Sees::FAR) };
    let (min, max) = pixels(&grid, cell);
    let (mut sees, mut share) = (0, 0.5_f32);
    let mut y = min.y;
    while y < max.y {
        let mut x = min.x;
        while x < max.x {
            match cameras.seen(uvec2(x, y)) {
                Seen::Nobody => {}
                Seen::Left => sees |= left_bit,
                Seen::Right => sees |= right_bit,
                Seen::Both(sources) => {
                    sees |= Sees::BOTH;
                    share = share.min(cameras.shares(sources).min_element());
                }
            }
            x += 1;
        }
        y += 1;
    }
    let bound = 1.0 - (FREEDOM * share).min(1.0);
    let aside = 1.0 - 2.0 * share;
    let margin = (bound * MARGIN as f32 + aside * ASIDE as f32) as u32;
    // SAFETY: the cell is inside `out`, as checked above, and only this thread writes it.
    unsafe { out.store(cell.x, cell.y, sees | margin << Sees::COST) };
}

/// Writes the cost of breaches for each position at which a path may cross a row of cells, one thread per row. A breach
/// is a place where the edge of a camera's picture would be visible.
///
/// The path assigns one camera to each cell that both cameras see. Such a cell costs one breach if it contains a pixel
/// that only the unassigned camera sees, and one more breach for each of its four neighbours that only the unassigned
/// camera sees. `out` has one column more than `cells`.
#[kernel(launch_bounds(BLOCK_THREADS), dims(1))]
pub fn seam_sides(cells: View<u32>, out: ViewMut<u32>) {
    let y = thread::index_1d();
    let (across, along) = (cells.width(), cells.height());
    if y >= along || out.width() != across + 1 || out.height() != along {
        return;
    }
    let cell = |x: u32, y: u32| {
        // SAFETY: `(x, y)` is inside `cells` where it is loaded. Outside the grid, no camera sees a pixel, so the flags
        // are 0.
        if cells.contains(x, y) { unsafe { cells.load(x, y) } } else { 0 }
    };
    // Returns the number of breaches at cell `(x, y)` if it shows the other camera than the one of flag `bit`.
    let alone = |x: u32, y: u32, bit: u32| {
        let here = cell(x, y);
        if here & Sees::BOTH == 0 {
            return 0;
        }
        let other = |x: u32, y: u32| {
            let there = cell(x, y);
            u32::from(there & Sees::BOTH == 0 && there & bit != 0)
        };
        let (left, above) = (x.wrapping_sub(1), y.wrapping_sub(1));
        u32::from(here & bit != 0)
            + other(left, y)
            + other(x + 1, y)
            + other(x, above)
            + other(x, y + 1)
    };
    let mut breaches = 0;
    let mut x = 0;
    while x < across {
        breaches += alone(x, y, Sees::NEAR);
        x += 1;
    }
    let mut x = 0;
    loop {
        // SAFETY: `x` is at most `across`, and `out` has `across + 1` columns. Only this thread writes row `y`.
        unsafe { out.store(x, y, (BREACH * breaches).min(MOST)) };
        if x == across {
            return;
        }
        // At all further positions of the path, cell `x` is before the path and shows the near camera.
        breaches += alone(x, y, Sees::FAR);
        breaches -= alone(x, y, Sees::NEAR);
        x += 1;
    }
}

/// Defines the kernel that compares both cameras, for one picture format.
macro_rules! seam_difference {
    ($(#[$doc:meta])* $name:ident, $picture:ty) => {
        $(#[$doc])*
        ///
        /// Writes the mean difference for each cell over the pixels that both cameras see: levels (−255 to 255) of red,
        /// green and blue, after each camera's colour correction with the fast power. It is 0 if there are no such
        /// pixels. Nothing is written if the chroma plane of an NV12 picture is not half the size of its luma plane.
        /// `out` and `motion` have an element per cell of the grid.
        ///
        /// The fourth number is the change over time. `motion` contains, from the last comparison, the mean level of
        /// both cameras plus 1 (or 0 if there was no comparison), and the change. The change is that of the level above
        /// [`STILL`], or [`MOTION_DECAY`] times the last change if that is larger. So a seam avoids cells in which
        /// something moves, even where both cameras show the same, and some time longer.
        #[kernel(launch_bounds(BLOCK_THREADS, 2), cpu(cpu::difference))]
        pub fn $name(
            left: $picture,
            right: $picture,
            planes_left: CameraPlanes,
            planes_right: CameraPlanes,
            grid: SeamGrid,
            look: SeamLook,
            motion: ViewMut<Vec2>,
            out: ViewMut<Vec4>,
        ) {
            let sizes = [Sampler2d::size(&left), Sampler2d::size(&right)];
            let cameras = CameraPair::new([planes_left, planes_right], sizes);
            if left.is_whole() && right.is_whole() {
                difference(left, right, &cameras, (&grid, &look), motion, out);
            }
        }
    };
}

seam_difference! {
    /// Subtracts the right camera from the left one in each cell, for two RGBA pictures.
    seam_difference_rgba8, View<Rgba8>
}
seam_difference! {
    /// Subtracts the right camera from the left one in each cell, for two NV12 pictures.
    seam_difference_nv12, Nv12
}

seam_difference! {
    /// Subtracts the right camera from the left one in each cell, for two P010 pictures.
    seam_difference_p010, P010
}

/// The body of the comparison kernels. One thread computes one cell.
#[device]
fn difference<P: Sampler2d>(
    left: P,
    right: P,
    cameras: &CameraPair,
    (grid, look): (&SeamGrid, &SeamLook),
    motion: ViewMut<Vec2>,
    out: ViewMut<Vec4>,
) {
    let cell = thread::index_2d();
    if !(out.contains(cell.x, cell.y) && motion.contains(cell.x, cell.y)) {
        return;
    }
    let (min, max) = pixels(grid, cell);
    let (mut sum, mut both, mut count) = (Vec3::ZERO, Vec3::ZERO, 0.0_f32);
    let mut y = min.y;
    while y < max.y {
        let mut x = min.x;
        while x < max.x {
            if let Seen::Both([(l, _), (r, _)]) = cameras.seen(uvec2(x, y)) {
                // SAFETY: the kernel has checked that both pictures are whole. `seen` returned positions inside these
                // pictures.
                let (l, r) = unsafe {
                    (left.sample(l.x, l.y, &look.decode), right.sample(r.x, r.y, &look.decode))
                };
                // Highlights hide differences between the cameras, with or without a shoulder.
                let left = Fast(Colour { shoulder: 0.0, ..look.left });
                let right = Fast(Colour { shoulder: 0.0, ..look.right });
                let (l, r) = (left.apply(l, 1.0), right.apply(r, 1.0));
                sum += l - r;
                both += l + r;
                count += 1.0;
            }
            x += 1;
        }
        y += 1;
    }
    let scale = 255.0 / count.max(1.0);
    let (mean, level) = (sum * scale, both.element_sum() * (scale / 6.0) + 1.0);
    // SAFETY: the cell is inside `motion` and `out`, as checked above, and only this thread accesses it.
    unsafe {
        let before = motion.load(cell.x, cell.y);
        let change = changed(before, level);
        motion.store(cell.x, cell.y, vec2(level, change));
        out.store(cell.x, cell.y, mean.extend(change));
    }
}

/// Returns the change of a cell over time. `before` is its element of `motion`, and `level` is the mean level of both
/// cameras plus 1.
#[device]
fn changed(before: Vec2, level: f32) -> f32 {
    let change = if before.x > 0.0 { (level - before.x).abs() - STILL } else { 0.0 };
    change.max(MOTION_DECAY * before.y).max(0.0)
}

/// Writes the cost of each cell: 0 if it has no pixel that both cameras see. Otherwise, the cost is the sum of
/// [`BASE`], the cell's additional costs ([`ASIDE`] and [`MARGIN`]), and [`PER_LEVEL`] times the smoothed difference
/// above [`NOISE`].
///
/// The difference at a cell is the mean of the absolute colour differences of the three channels, plus the change over
/// time. Half of the change of the colour difference from this cell to the cell on the right is added to it, and half of the change to the cell
/// below. So an edge in only one camera is expensive. The difference is smoothed with weights 1 2 1 along each axis,
/// over 3×3 adjacent cells and over 3×3 cells that are `reach` cells apart. `reach` is half the width of the feather,
/// so a path stays that far away from differences. `cells`, `difference` and `out` have the same size.
#[kernel(launch_bounds(BLOCK_THREADS, 2), cpu(cpu::cost))]
pub fn seam_cost(cells: View<u32>, difference: View<Vec4>, reach: u32, out: ViewMut<u32>) {
    let at = thread::index_2d();
    let same = cells.width() == difference.width() && cells.height() == difference.height();
    if !(out.contains(at.x, at.y) && cells.contains(at.x, at.y) && same) {
        return;
    }
    // SAFETY: the cell is inside `cells`, as checked above.
    let here = unsafe { cells.load(at.x, at.y) };
    let levels = |at: UVec2| {
        if !cells.contains(at.x, at.y) {
            return None;
        }
        // SAFETY: the cell is inside `cells` and `difference`, which have the same size.
        let (sees, levels) = unsafe { (cells.load(at.x, at.y), difference.load(at.x, at.y)) };
        (sees & Sees::BOTH != 0).then_some(levels)
    };
    let cost = cost::cost(here, at, reach, |at| cost::single(at, levels));
    // SAFETY: the cell is inside `out`, as checked above, and only this thread writes it.
    unsafe { out.store(at.x, at.y, cost) };
}
