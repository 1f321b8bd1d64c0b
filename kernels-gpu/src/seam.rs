//! Seam: where in the overlap one camera ends and the other begins, so that nothing is shown twice.
//!
//! Works on a grid of cells over the overlap's box. Once a warp, [`seam_cells`] says who sees each cell,
//! and [`seam_sides`] what it costs to have a camera end at its picture's edge. For each pair of
//! frames that is looked at, [`seam_difference_rgba8`] or [`seam_difference_nv12`] compares the cameras,
//! corrected as the stitch corrects them, [`seam_cost`] makes costs of that, and [`seam_path`] finds
//! the cheapest path. [`seam_weights`] turns paths into weights that any stitch takes.
//!
//! The cost of a path is that of a labelling: each cell that both see shows the near camera before
//! the path and the far one after it. Two such cells side by side, or above each other, with different
//! labels cost what both cells cost together; a cell beside one that only the other camera sees costs
//! a breach. So a path may be anything from straight to nearly along the row, and the overlap may have any
//! outline.
//!
//! Not here: whether a better path is worth moving to. Costs are whole numbers, so a search is the same on
//! every run and on CPU and GPU; the costs themselves may differ by one between those, as powers do.

use cuda_std::prelude::*;
use glam::{UVec2, Vec3, Vec4, uvec2, vec2};
use shared_types::Rgba8;
use shared_types::nv12::Nv12;
use shared_types::seam::{
    BASE, BIAS, BIAS_CELLS, BLOCK_THREADS, BREACH, FREEDOM, LARGEST, MARGIN, MOST, NOISE, PER_LEVEL,
    PLACES, STEP, SeamBlend, SeamCosts, SeamGrid, SeamLook, Sees,
};
use shared_types::stitch::MIN_WEIGHT;

use crate::colour::Camera;
use crate::grade::{Fast, Grade};
use crate::picture::Picture;
use crate::warp::edge_distance;

/// Both cameras' planes.
struct Cameras {
    left: Camera,
    right: Camera,
}

/// What is seen at a panorama pixel, as the stitch counts it.
enum Seen {
    Nobody,
    Left,
    Right,
    /// Where in their pictures both see it, and each one's weight.
    Both([(glam::Vec2, f32); 2]),
}

impl Cameras {
    #[inline(always)]
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

    /// How free of its picture's edge each camera is, 0 to 1; see [`FREEDOM`].
    #[inline(always)]
    fn freedom(&self, [left, right]: [(glam::Vec2, f32); 2]) -> [f32; 2] {
        let distance = vec2(
            edge_distance(self.left.size, left.0.to_array()),
            edge_distance(self.right.size, right.0.to_array()),
        );
        let weight = vec2(left.1, right.1);
        let share = distance / distance.element_sum();
        let share = share.min(weight / weight.element_sum());
        (share * FREEDOM).min(vec2(1.0, 1.0)).to_array()
    }
}

/// First pixel of a cell, and the pixel after its last.
#[inline(always)]
fn pixels(grid: &SeamGrid, cell: UVec2) -> (UVec2, UVec2) {
    let cell = if grid.transposed != 0 { uvec2(cell.y, cell.x) } else { cell };
    let min = grid.min + cell * grid.cell;
    (min, (min + grid.cell).min(grid.max))
}

/// Writes for each cell who sees it ([`Sees`]), and what it costs more near a picture's edge, up to
/// [`MARGIN`].
///
/// `left` and `right` are the sizes of the pictures. `out` has the grid's cells, across by along.
#[kernel(launch_bounds(BLOCK_THREADS, 2))]
pub fn seam_cells(
    lut_left_x: View<f32>,
    lut_left_y: View<f32>,
    lut_right_x: View<f32>,
    lut_right_y: View<f32>,
    weight_left: View<f32>,
    weight_right: View<f32>,
    left: UVec2,
    right: UVec2,
    grid: SeamGrid,
    out: ViewMut<u32>,
) {
    let left = Camera { x: lut_left_x, y: lut_left_y, weight: weight_left, size: left };
    let right = Camera { x: lut_right_x, y: lut_right_y, weight: weight_right, size: right };
    let cameras = Cameras { left, right };
    let cell = thread::index_2d();
    if !out.contains(cell.x, cell.y) {
        return;
    }
    let (left_bit, right_bit) =
        if grid.swapped != 0 { (Sees::FAR, Sees::NEAR) } else { (Sees::NEAR, Sees::FAR) };
    let (min, max) = pixels(&grid, cell);
    let (mut sees, mut free) = (0, 1.0_f32);
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
                    let [left, right] = cameras.freedom(sources);
                    free = free.min(left).min(right);
                }
            }
            x += 1;
        }
        y += 1;
    }
    let margin = ((1.0 - free) * MARGIN as f32) as u32;
    // SAFETY: inside, as just checked; each cell has one thread.
    unsafe { out.store(cell.x, cell.y, sees | margin << Sees::COST) };
}

/// Writes for each place at which a path may cross a row of cells what breaches cost there: one thread
/// a row.
///
/// A cell that both see counts a breach for itself and for each of its four neighbours that only the
/// other camera sees. `out` has a column more than `cells`.
#[kernel(launch_bounds(BLOCK_THREADS), dims(1))]
pub fn seam_sides(cells: View<u32>, out: ViewMut<u32>) {
    let y = thread::index_1d();
    let (across, along) = (cells.width(), cells.height());
    if y >= along || out.width() != across + 1 || out.height() != along {
        return;
    }
    let cell = |x: u32, y: u32| {
        // SAFETY: inside, as just checked. Beyond the box nobody is alone.
        if cells.contains(x, y) { unsafe { cells.load(x, y) } } else { 0 }
    };
    // The cells beside `(x, y)`, itself included, that only the camera of `bit` sees.
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
        // SAFETY: `x` is at most `across`, and `out` has a column more; the row is this thread's.
        unsafe { out.store(x, y, (BREACH * breaches).min(MOST)) };
        if x == across {
            return;
        }
        // From now on the cell shows the near camera.
        breaches += alone(x, y, Sees::FAR);
        breaches -= alone(x, y, Sees::NEAR);
        x += 1;
    }
}

/// Defines the comparison for one format.
macro_rules! seam_difference {
    ($(#[$doc:meta])* $name:ident, $picture:ty) => {
        $(#[$doc])*
        ///
        /// In levels 0 to 255, corrected by gains and fast gammas, the mean of the cell's pixels that
        /// both see; zero where there is none, and in the fourth number. Nothing is written where an NV12
        /// picture's chroma is not half of its luma in size. `out` has the grid's cells.
        #[kernel(launch_bounds(BLOCK_THREADS, 2))]
        pub fn $name(
            left: $picture,
            right: $picture,
            lut_left_x: View<f32>,
            lut_left_y: View<f32>,
            lut_right_x: View<f32>,
            lut_right_y: View<f32>,
            weight_left: View<f32>,
            weight_right: View<f32>,
            grid: SeamGrid,
            look: SeamLook,
            out: ViewMut<Vec4>,
        ) {
            let size = |picture: &$picture| uvec2(Picture::width(picture), Picture::height(picture));
            let (lx, ly, rx, ry) = (lut_left_x, lut_left_y, lut_right_x, lut_right_y);
            let cameras = Cameras {
                left: Camera { x: lx, y: ly, weight: weight_left, size: size(&left) },
                right: Camera { x: rx, y: ry, weight: weight_right, size: size(&right) },
            };
            if left.is_whole() && right.is_whole() {
                difference(left, right, &cameras, &grid, &look, out);
            }
        }
    };
}

seam_difference! {
    /// Left less right camera in each cell, of two RGBA pictures.
    seam_difference_rgba8, View<Rgba8>
}
seam_difference! {
    /// Left less right camera in each cell, of two NV12 pictures.
    seam_difference_nv12, Nv12
}

#[inline(always)]
fn difference<P: Picture>(
    left: P,
    right: P,
    cameras: &Cameras,
    grid: &SeamGrid,
    look: &SeamLook,
    out: ViewMut<Vec4>,
) {
    let cell = thread::index_2d();
    if !out.contains(cell.x, cell.y) {
        return;
    }
    let (min, max) = pixels(grid, cell);
    let (mut sum, mut count) = (Vec3::ZERO, 0.0_f32);
    let mut y = min.y;
    while y < max.y {
        let mut x = min.x;
        while x < max.x {
            if let Seen::Both([(l, _), (r, _)]) = cameras.seen(uvec2(x, y)) {
                // SAFETY: the pictures are whole, as the kernel has checked, and both places are inside.
                let (l, r) = unsafe {
                    (left.sample(l.x, l.y, &look.decode), right.sample(r.x, r.y, &look.decode))
                };
                sum += Fast(look.left).apply(l) - Fast(look.right).apply(r);
                count += 1.0;
            }
            x += 1;
        }
        y += 1;
    }
    let mean = sum * (255.0 / count.max(1.0));
    // SAFETY: inside, as just checked; each cell has one thread.
    unsafe { out.store(cell.x, cell.y, mean.extend(0.0)) };
}

/// Writes what each cell costs: 0 where not both cameras see it, otherwise [`BASE`], what it costs near a
/// picture's edge, and [`PER_LEVEL`] times the difference over [`NOISE`].
///
/// The difference is that of the colours, and half of that of their slopes to the right and down, so that
/// an outline costs where one camera has it and not the other; each the mean of the channels. It is
/// smoothed over 3×3 cells with weights 1 2 1. All images have one size.
#[kernel(launch_bounds(BLOCK_THREADS, 2))]
pub fn seam_cost(cells: View<u32>, difference: View<Vec4>, out: ViewMut<u32>) {
    let at = thread::index_2d();
    let same = cells.width() == difference.width() && cells.height() == difference.height();
    if !(out.contains(at.x, at.y) && cells.contains(at.x, at.y) && same) {
        return;
    }
    let load = |x: u32, y: u32| {
        if !cells.contains(x, y) {
            return None;
        }
        // SAFETY: inside, as just checked; both have the same size.
        let (sees, levels) = unsafe { (cells.load(x, y), difference.load(x, y)) };
        (sees & Sees::BOTH != 0).then(|| levels.truncate())
    };
    let strength = |levels: Vec3| levels.abs().element_sum() * (1.0 / 3.0);
    let single = |x: u32, y: u32| {
        let here = load(x, y)?;
        let slope = |next: Option<Vec3>| next.map_or(0.0, |next| strength(next - here));
        Some(strength(here) + 0.5 * (slope(load(x + 1, y)) + slope(load(x, y + 1))))
    };
    // SAFETY: inside, as just checked.
    let here = unsafe { cells.load(at.x, at.y) };
    let mut cost = 0;
    if here & Sees::BOTH != 0 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for i in 0..9 {
            let (dx, dy) = (i % 3, i / 3);
            let weight = (if dx == 1 { 2.0 } else { 1.0 }) * (if dy == 1 { 2.0 } else { 1.0 });
            // One less than nothing is in no grid.
            let (x, y) = ((at.x + dx).wrapping_sub(1), (at.y + dy).wrapping_sub(1));
            if let Some(levels) = single(x, y) {
                sum += weight * levels;
                weights += weight;
            }
        }
        let levels = (sum / weights - NOISE).clamp(0.0, LARGEST);
        cost = BASE + (here >> Sees::COST) + (levels * PER_LEVEL as f32).round_ties_even() as u32;
    }
    // SAFETY: inside, as just checked; each cell has one thread.
    unsafe { out.store(at.x, at.y, cost) };
}

/// What two neighbours with different labels cost; nothing unless both cameras see both.
#[inline(always)]
fn between(a: u32, b: u32) -> u32 {
    if a != 0 && b != 0 { a + b } else { 0 }
}

/// Finds the path of least cost from the first to the last row of cells, by dynamic programming.
///
/// `best` becomes, for each row, the number of cells before the path. From a row to the next it moves by at
/// most [`STEP`] cells. Of paths that cost the same, one that goes straight, else to the near side, else
/// by fewer cells wins, decided from the last row up, where the first place wins. If `biased` is not 0,
/// cells away from `current` cost [`BIAS`] more each, up to [`BIAS_CELLS`], which is in none of `costs`.
///
/// A row's cost is `sides` and the two cells beside the path, at most [`MOST`], and in addition those
/// above each other between the path's places in this row and the one before.
///
/// A thread a place, and a barrier a row, so one block: the rows follow from each other. The way back is one
/// thread's. Cost: about a microsecond a row.
///
/// # Safety
/// - The grid is one block of [`PLACES`] threads.
/// - No cell costs more than `MOST`, and there are at most 32,768 rows.
#[kernel(launch_bounds(PLACES), barriers(4), dims(1))]
pub unsafe fn seam_path(
    cost: View<u32>,
    sides: View<u32>,
    current: Slice<u32>,
    biased: u32,
    parent: ViewMut<u16>,
    best: SliceMut<u32>,
    costs: SliceMut<SeamCosts>,
) {
    let totals = shared_array![u32; 2 * PLACES as usize];
    let runs = shared_array![u32; 2 * PLACES as usize];
    let heres = shared_array![u32; 2 * PLACES as usize];
    let sums = shared_array![u32; 3];
    let (across, along) = (cost.width(), cost.height());
    let places = across + 1;
    let fits = places <= PLACES && along > 0;
    let fits = fits && sides.width() == places && sides.height() == along;
    let fits = fits && parent.width() >= places && parent.height() >= along;
    if !(fits && best.len() >= along && current.len() >= along && costs.len() > 0) {
        return;
    }
    let place = thread::rank();
    let cell = |x: u32, y: u32| {
        // SAFETY: inside, as just checked.
        if cost.contains(x, y) { unsafe { cost.load(x, y) } } else { 0 }
    };
    let (mut total, mut above) = (0, 0);
    let mut y = 0;
    while y < along {
        // Two halves in turn: who is still reading the last row is not disturbed.
        let half = (y & 1) * PLACES;
        let here = cell(place, y);
        // SAFETY: a block has `PLACES` threads, each with an element of its own in each half, which the
        // others read behind the barrier; the next row writes to the other half, and the one after it
        // comes behind another barrier.
        unsafe {
            totals.store(half + place, total);
            runs.store(half + place, between(above, here));
            heres.store(half + place, here);
        }
        above = here;
        thread::sync_threads();
        if place < places {
            // SAFETY: behind the barrier, and `place` is in the images and below `PLACES`.
            unsafe {
                let (mut least, mut from) = (totals.load(half + place), place);
                let mut run = 0;
                for step in 1..=STEP {
                    if step <= place {
                        let there = place - step;
                        run += runs.load(half + there);
                        let sum = totals.load(half + there) + run;
                        if sum < least {
                            (least, from) = (sum, there);
                        }
                    }
                }
                let mut run = 0;
                for step in 1..=STEP {
                    let there = place + step;
                    if there < places {
                        run += runs.load(half + there - 1);
                        let sum = totals.load(half + there) + run;
                        if sum < least {
                            (least, from) = (sum, there);
                        }
                    }
                }
                let before = if place > 0 { heres.load(half + place - 1) } else { 0 };
                let row = (sides.load(place, y) + between(before, here)).min(MOST);
                let away = current.load(y).abs_diff(place).min(BIAS_CELLS);
                let bias = if biased != 0 { BIAS * away } else { 0 };
                parent.store(place, y, from as u16);
                total = least + row + bias;
            }
        }
        y += 1;
    }
    let half = (along & 1) * PLACES;
    // SAFETY: as in a row.
    unsafe {
        totals.store(half + place, total);
        if place < 3 {
            sums.store(place, 0);
        }
    }
    thread::sync_threads();
    if place == 0 {
        let mut at = 0;
        // SAFETY: all was written before the barrier, and `at` is always a place.
        unsafe {
            for i in 1..places {
                if totals.load(half + i) < totals.load(half + at) {
                    at = i;
                }
            }
            let mut y = along;
            while y > 0 {
                y -= 1;
                best.store(y, at);
                at = parent.load(at, y).into();
            }
        }
    }
    thread::sync_threads();
    // What a row of a path costs, and the breaches in it.
    let row = |y: u32, at: u32, from: u32| {
        // SAFETY: `at` is at most `across`.
        let sides = unsafe { sides.load(at, y) };
        let mut row = (sides + between(cell(at.wrapping_sub(1), y), cell(at, y))).min(MOST);
        if y > 0 {
            for x in at.min(from)..at.max(from) {
                row += between(cell(x, y - 1), cell(x, y));
            }
        }
        (row, sides)
    };
    let mut y = place;
    while y < along {
        let before = y.saturating_sub(1);
        // SAFETY: inside; the first thread wrote before the barrier; sums are added to by all.
        unsafe {
            let (cost, breaches) = row(y, best.load(y), best.load(before));
            let _ = sums.atomic_add(0, cost);
            let _ = sums.atomic_add(1, breaches);
            let (at, from) = (current.load(y).min(across), current.load(before).min(across));
            let _ = sums.atomic_add(2, row(y, at, from).0);
        }
        y += PLACES;
    }
    thread::sync_threads();
    if place == 0 {
        // SAFETY: nobody adds behind the barrier; there is one element, and one thread writes it.
        unsafe {
            let (best, breaches, current) = (sums.load(0), sums.load(1), sums.load(2));
            costs.store(0, SeamCosts { best, breaches, current });
        }
    }
}

/// Writes the weights of the box's pixels, which sum to 1 where anybody sees the pixel.
///
/// Where one camera sees it, that one counts. Where both do, the near one counts
///
/// ```text
/// w = mean over rows of clamp(½ + (path − place) / feather, 0, 1)
/// ```
///
/// over rows within half a feather, the nearest counting most, so that the fade has about the same width in
/// whatever direction the path goes. Near the edge of its picture a camera counts no more than it is
/// free of it ([`FREEDOM`]), and the other no less than the rest, so that weights fall to 0 at the edge
/// without a step: with freedoms f, g of near and far camera, w is clamped to [1 − g, f], or is f / (f + g)
/// where those sum to less than 1.
///
/// `from` and `to` are paths, of which the first counts 1 − `part`; without a former path the warp's
/// weights do. `left` and `right` are the sizes of the pictures; `out_left` and `out_right` have the
/// panorama's size.
#[kernel(launch_bounds(BLOCK_THREADS, 2))]
pub fn seam_weights(
    lut_left_x: View<f32>,
    lut_left_y: View<f32>,
    lut_right_x: View<f32>,
    lut_right_y: View<f32>,
    weight_left: View<f32>,
    weight_right: View<f32>,
    left: UVec2,
    right: UVec2,
    grid: SeamGrid,
    from: Slice<u32>,
    to: Slice<u32>,
    blend: SeamBlend,
    out_left: ViewMut<f32>,
    out_right: ViewMut<f32>,
) {
    let left = Camera { x: lut_left_x, y: lut_left_y, weight: weight_left, size: left };
    let right = Camera { x: lut_right_x, y: lut_right_y, weight: weight_right, size: right };
    let cameras = Cameras { left, right };
    let at = thread::index_2d() + grid.min;
    let inside = out_left.contains(at.x, at.y) && out_right.contains(at.x, at.y);
    if !(inside && at.x < grid.max.x && at.y < grid.max.y) {
        return;
    }
    let [left, right] = match cameras.seen(at) {
        Seen::Nobody => [0.0, 0.0],
        Seen::Left => [1.0, 0.0],
        Seen::Right => [0.0, 1.0],
        Seen::Both(sources) => {
            let free = cameras.freedom(sources);
            let [(_, l), (_, r)] = sources;
            let share = |path| left_share(path, &grid, at, blend.feather, free);
            let former = if blend.from_path != 0 { share(from) } else { l / (l + r) };
            let left = blend.part.mul_add(share(to) - former, former);
            [left, 1.0 - left]
        }
    };
    // SAFETY: inside, as just checked; each pixel has one thread.
    unsafe {
        out_left.store(at.x, at.y, left);
        out_right.store(at.x, at.y, right);
    }
}

/// How much the left camera counts at a pixel that both see, by a path; see [`seam_weights`].
#[inline(always)]
fn left_share(
    path: Slice<u32>,
    grid: &SeamGrid,
    at: UVec2,
    feather: f32,
    [left, right]: [f32; 2],
) -> f32 {
    /// Rows on either side of the pixel's that are looked at.
    const TAPS: i32 = 4;
    let scale = 1.0 / grid.cell as f32;
    let place = ((at - grid.min).as_vec2() + 0.5) * scale;
    let (across, along) =
        if grid.transposed != 0 { (place.y, place.x) } else { (place.x, place.y) };
    let feather = feather * scale;
    let mut near = 0.0;
    for tap in -TAPS..=TAPS {
        // In rows of cells, whose middles are at integers.
        let row = (tap as f32).mul_add(feather / (2 * TAPS) as f32, along - 0.5);
        let row = row.clamp(0.0, (path.len() - 1) as f32);
        let first = row.floor();
        // SAFETY: clamped to the path, and a path has a row.
        let (a, b) = unsafe {
            let first = first.to_int_unchecked::<u32>();
            (path.load(first), path.load((first + 1).min(path.len() - 1)))
        };
        let path = (b as f32 - a as f32).mul_add(row - first, a as f32);
        let weight = (TAPS + 1 - tap.abs()) as f32 / ((TAPS + 1) * (TAPS + 1)) as f32;
        near += weight * ((path - across) / feather + 0.5).clamp(0.0, 1.0);
    }
    let share = if grid.swapped != 0 { 1.0 - near } else { near };
    if left + right < 1.0 { left / (left + right) } else { share.max(1.0 - right).min(left) }
}
