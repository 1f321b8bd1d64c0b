//! Levels of a pyramid: the next level, the interpolation of a level, and the combination of all cameras.

use crate::unroll::unroll;
use cuda_std::GpuHalf;
use cuda_std::prelude::*;
use glam::{UVec2, Vec3, uvec2, vec3};
use half::f16;
use shared_types::multiband::{BLOCK_THREADS, CameraPart, Cell, CombineParams};
use shared_types::stitch::MAX_CAMERAS;

/// The binomial weights along an axis, times 16.
pub(super) const TAPS: [f32; 5] = [1.0, 4.0, 6.0, 4.0, 1.0];

/// Returns element `i` of [`TAPS`] without an array in local memory.
#[inline(always)]
pub(super) fn tap(i: u32) -> f32 {
    match i {
        0 | 4 => 1.0,
        2 => 6.0,
        _ => 4.0,
    }
}

/// The sum of weighted colours and the sum of their weights.
#[derive(Clone, Copy)]
pub(super) struct Mean {
    colour: Vec3,
    weight: f32,
}

impl Mean {
    pub(super) const NONE: Self = Self { colour: Vec3::ZERO, weight: 0.0 };

    /// Adds a cell with a factor.
    #[inline(always)]
    pub(super) fn add(&mut self, cell: Cell, factor: f32) {
        let weight = factor * cell.weight.widen();
        self.colour += colour(cell) * weight;
        self.weight += weight;
    }

    /// Returns the mean colour, or `None` if the sum of the weights is 0.
    #[inline(always)]
    pub(super) fn get(&self) -> Option<Vec3> {
        (self.weight > 0.0).then(|| self.colour / self.weight)
    }

    /// Returns the mean as a cell whose weight is the sum of the weights.
    #[inline(always)]
    pub(super) fn cell(&self) -> Cell {
        cell(self.get().unwrap_or(Vec3::ZERO), self.weight)
    }
}

/// Returns the colour of a cell in single precision.
#[inline(always)]
fn colour(cell: Cell) -> Vec3 {
    let [r, g, b] = cell.colour;
    vec3(r.widen(), g.widen(), b.widen())
}

/// Returns a cell with this colour and weight, rounded to half precision.
#[inline(always)]
pub(super) fn cell(colour: Vec3, weight: f32) -> Cell {
    let [r, g] = f16::narrow_pair(colour.x, colour.y);
    let [b, weight] = f16::narrow_pair(colour.z, weight);
    Cell { colour: [r, g, b], weight }
}

/// The rows of one camera, or of the combined area, in the image of a level.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// The number of columns and rows.
    pub(super) size: UVec2,
    /// The first row.
    pub(super) row: u32,
}

impl Part {
    /// Returns the rows of a camera in the image of level `level`.
    #[inline(always)]
    pub(super) fn of(part: &CameraPart, level: u32) -> Self {
        // `div_ceil` of a vector is a division, which takes many instructions.
        let side = 1 << level;
        Self { size: (part.size + (side - 1)) / side, row: part.row >> level }
    }

    /// Returns the column and row of cell `place` in an image, or `None` if it is outside the part. A negative
    /// coordinate is passed as its wrapped `u32`.
    #[inline(always)]
    pub(super) fn at(&self, place: UVec2) -> Option<UVec2> {
        let inside = place.x < self.size.x && place.y < self.size.y;
        inside.then(|| uvec2(place.x, self.row + place.y))
    }
}

/// Interpolates a level at cell `at` of the level before. Both are relative to the first cell of `part`. Returns `None`
/// if the weights of all cells in reach are 0.
#[inline(always)]
pub(super) fn up(level: View<Cell>, part: Part, at: UVec2) -> Option<Vec3> {
    // A cell with an even position coincides with a cell of `level`. The weights along the axis are (1, 6, 1)/8 there,
    // and (4, 4)/8 between two cells.
    let (base, odd) = (at / 2, at % 2);
    let weights = |odd: u32| if odd != 0 { [0.0, 4.0, 4.0] } else { [1.0, 6.0, 1.0] };
    let (across, down) = (weights(odd.x), weights(odd.y));
    let mut mean = Mean::NONE;
    unroll!(9, |i| {
        let place = (base + uvec2(i as u32 % 3, i as u32 / 3)).wrapping_sub(UVec2::ONE);
        let factor = across[i % 3] * down[i / 3];
        if factor > 0.0
            && let Some(at) = part.at(place)
            && level.contains(at.x, at.y)
        {
            // SAFETY: `level` contains the cell, as just checked.
            mean.add(unsafe { level.load(at.x, at.y) }, factor);
        }
    });
    mean.get()
}

/// Computes level `level` of the differences and of the weights of all cameras from the level before. The index of a
/// block along z is that of a camera. Cells outside the camera's part do not count.
#[kernel(launch_bounds(BLOCK_THREADS, 4), dims(3))]
pub fn multiband_reduce(
    cameras: Table<CameraPart, MAX_CAMERAS>,
    level: u32,
    cells: View<Cell>,
    masks: View<f16>,
    out_cells: ViewMut<Cell>,
    out_masks: ViewMut<f16>,
) {
    let Some(camera) = cameras.get(thread::block_idx_z()) else { return };
    let (from, to) = (Part::of(&camera, level - 1), Part::of(&camera, level));
    let place = thread::index_2d();
    let Some(at) = to.at(place) else { return };
    if !(out_cells.contains(at.x, at.y) && out_masks.contains(at.x, at.y)) {
        return;
    }
    let (mut mean, mut mask) = (Mean::NONE, 0.0);
    unroll!(5, |j| {
        unroll!(5, |i| {
            let tap = (2 * place + uvec2(i as u32, j as u32)).wrapping_sub(UVec2::splat(2));
            if let Some(tap) = from.at(tap)
                && cells.contains(tap.x, tap.y)
                && masks.contains(tap.x, tap.y)
            {
                let factor = TAPS[i] * TAPS[j] * (1.0 / 256.0);
                // SAFETY: both images contain the cell, as just checked.
                let (cell, weight) =
                    unsafe { (cells.load(tap.x, tap.y), masks.load(tap.x, tap.y)) };
                mean.add(cell, factor);
                mask += factor * weight.widen();
            }
        });
    });
    // SAFETY: both outputs contain the cell, as checked above, and only this thread writes it.
    unsafe {
        out_cells.store(at.x, at.y, mean.cell());
        out_masks.store(at.x, at.y, f16::narrow_pair(mask, 0.0)[0]);
    }
}

/// Computes the sum of the bands of a level and of all further levels, in the combined area.
///
/// `cells` and `masks` are the level's differences and weights of all cameras. `next_cells` is the next level of the
/// differences, and `next_sums` is the result of this kernel for the next level. Both are not read at the last level.
/// `sums` should have the size of the combined area in cells of the level.
#[kernel(launch_bounds(BLOCK_THREADS, 4))]
pub fn multiband_combine(
    cameras: Table<CameraPart, MAX_CAMERAS>,
    params: CombineParams,
    cells: View<Cell>,
    masks: View<f16>,
    next_cells: View<Cell>,
    next_sums: View<Cell>,
    sums: ViewMut<Cell>,
) {
    let at = thread::index_2d();
    if !sums.contains(at.x, at.y) {
        return;
    }
    let CombineParams { min, level, last } = params;
    let (mut band, mut total) = (Vec3::ZERO, 0.0);
    let mut index = 0;
    while let Some(camera) = cameras.get(index) {
        index += 1;
        let part = Part::of(&camera, level);
        let side = 1 << level;
        let place = (at + min / side).wrapping_sub(camera.min / side);
        let Some(at) = part.at(place) else { continue };
        if !(cells.contains(at.x, at.y) && masks.contains(at.x, at.y)) {
            continue;
        }
        // SAFETY: both images contain the cell, as just checked.
        let (cell, mask) = unsafe { (cells.load(at.x, at.y), masks.load(at.x, at.y).widen()) };
        if mask > 0.0 {
            let coarse = if last != 0 {
                Vec3::ZERO
            } else {
                up(next_cells, Part::of(&camera, level + 1), place).unwrap_or(Vec3::ZERO)
            };
            band += (colour(cell) - coarse) * mask;
            total += mask;
        }
    }
    let mut sum = if total > 0.0 { band / total } else { Vec3::ZERO };
    if last == 0 {
        let area = Part { size: uvec2(next_sums.width(), next_sums.height()), row: 0 };
        sum += up(next_sums, area, at).unwrap_or(Vec3::ZERO);
    }
    // SAFETY: `sums` contains the cell, as checked above, and only this thread writes it.
    unsafe { sums.store(at.x, at.y, cell(sum, total)) };
}
