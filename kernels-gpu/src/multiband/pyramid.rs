//! Levels of a pyramid: the next level, the interpolation of a level, and the combination of all cameras.
//!
//! Threads interpolate four adjacent cells at once, because these depend on the same 3×3 cells. All loads are
//! unconditional and in flight together: cells outside a camera's part are in a border with weight 0.

use crate::unroll::unroll;
use cuda_std::GpuHalf;
use cuda_std::prelude::*;
use glam::{IVec2, UVec2, Vec3, Vec4, ivec2, uvec2, vec3, vec4};
use half::f16;
use shared_types::multiband::{BLOCK_THREADS, BORDER, CameraPart, Cell, CombineParams};
use shared_types::stitch::MAX_CAMERAS;

/// The binomial weights along an axis, times 16.
pub(super) const TAPS: [f32; 5] = [1.0, 4.0, 6.0, 4.0, 1.0];

/// Returns element `i` of [`TAPS`] without an array in local memory, or 0 if there is no such element.
#[inline(always)]
pub(super) fn tap(i: u32) -> f32 {
    // Each digit of the number is a weight.
    if i < 5 { (0x14641 >> (4 * i) & 0xf) as f32 } else { 0.0 }
}

/// Returns the weighted colour of a cell, and its weight in the fourth component.
#[inline(always)]
fn weighted(Cell { colour: [r, g, b], weight }: Cell) -> Vec4 {
    let weight = weight.widen();
    (vec3(r.widen(), g.widen(), b.widen()) * weight).extend(weight)
}

/// Returns the mean colour of a sum of weighted colours. It is 0 if the sum of the weights is 0.
#[inline(always)]
pub(super) fn mean(sum: Vec4) -> Vec3 {
    if sum.w > 0.0 { sum.truncate() * sum.w.fast_recip() } else { Vec3::ZERO }
}

/// Returns `sum + value · factor` for each component, with fused multiply-adds.
#[inline(always)]
pub(super) fn fused(sum: Vec4, value: Vec4, factor: f32) -> Vec4 {
    vec4(
        value.x.mul_add(factor, sum.x),
        value.y.mul_add(factor, sum.y),
        value.z.mul_add(factor, sum.z),
        value.w.mul_add(factor, sum.w),
    )
}

/// Returns a cell with this colour and weight, rounded to half precision.
#[inline(always)]
pub(super) fn cell(colour: Vec3, weight: f32) -> Cell {
    let [r, g] = f16::narrow_pair(colour.x, colour.y);
    let [b, weight] = f16::narrow_pair(colour.z, weight);
    Cell { colour: [r, g, b], weight }
}

/// Returns the position of a camera's first cell in the image of a level.
#[inline(always)]
pub(super) fn origin(part: &CameraPart, level: u32) -> UVec2 {
    uvec2(BORDER, (part.row >> level) + BORDER)
}

/// Returns the number of columns and rows of a part at a level.
#[inline(always)]
pub(super) fn extent(size: UVec2, level: u32) -> UVec2 {
    let side = 1 << level;
    (size + (side - 1)) / side
}

/// Interpolates a level at four cells of the level before: `at` and its neighbours to the right, below, and below right.
/// Returns weighted sums; [`mean`] converts them to colours. `at` is relative to the first cell of a part, which is at
/// `origin` in `level`.
///
/// # Safety
/// `at` must be from −2 to the last cell of the part along both axes, and `level` must contain the part and its border.
#[inline(always)]
pub(super) unsafe fn up(level: View<Cell>, origin: UVec2, at: IVec2) -> [Vec4; 4] {
    // At an even position, a cell coincides with a cell of `level`. Its weights are (1, 6, 1)/8. At an odd position, it
    // is between two cells, with the weights (4, 4)/8. Two adjacent cells depend on three cells of `level`.
    let odd = at & 1;
    let base = ivec2(at.x >> 1, at.y >> 1) - IVec2::ONE + odd;
    let first = uvec2(origin.x.wrapping_add_signed(base.x), origin.y.wrapping_add_signed(base.y));
    let mut cells = [Vec4::ZERO; 9];
    unroll!(9, |i| {
        let place = first + uvec2(i as u32 % 3, i as u32 / 3);
        debug_assert!(level.contains(place.x, place.y));
        // SAFETY: the caller guarantees that the cells around `at` are in the part or its border.
        cells[i] = weighted(unsafe { level.load(place.x, place.y) });
    });
    let even = |a: Vec4, b: Vec4, c: Vec4| fused(a + c, b, 6.0);
    let between = |a: Vec4, b: Vec4| (a + b) * 4.0;
    let pair = |odd: i32, a: Vec4, b: Vec4, c: Vec4| {
        if odd != 0 { [between(a, b), even(a, b, c)] } else { [even(a, b, c), between(b, c)] }
    };
    let [a, b, c] = [0, 3, 6].map(|row| pair(odd.x, cells[row], cells[row + 1], cells[row + 2]));
    let left = pair(odd.y, a[0], b[0], c[0]);
    let right = pair(odd.y, a[1], b[1], c[1]);
    [left[0], right[0], left[1], right[1]]
}

/// Computes level `level` of the differences and of the weights of all cameras from the level before. The index of a
/// block along z is that of a camera.
///
/// # Safety
/// All images must contain the parts of all cameras with their borders, at the levels `level - 1` and `level`.
#[kernel(launch_bounds(BLOCK_THREADS, 2), dims(3))]
pub unsafe fn multiband_reduce(
    cameras: Table<CameraPart, MAX_CAMERAS>,
    level: u32,
    cells: View<Cell>,
    masks: View<f16>,
    out_cells: ViewMut<Cell>,
    out_masks: ViewMut<f16>,
) {
    let Some(camera) = cameras.get(thread::block_idx_z()) else { return };
    let (size, place) = (extent(camera.size, level), thread::index_2d());
    if place.x >= size.x || place.y >= size.y {
        return;
    }
    // Tap (0, 0) is two cells to the left of cell `2 · place` and two cells above it.
    let first = origin(&camera, level - 1) + 2 * place - UVec2::splat(2);
    let (mut sum, mut mask) = (Vec4::ZERO, 0.0);
    unroll!(5, |j| {
        unroll!(5, |i| {
            let (x, y) = (first.x + i as u32, first.y + j as u32);
            debug_assert!(cells.contains(x, y) && masks.contains(x, y));
            let factor = TAPS[i] * TAPS[j] * (1.0 / 256.0);
            // SAFETY: the caller guarantees that both images contain the part and its border.
            let (cell, weight) = unsafe { (cells.load(x, y), masks.load(x, y)) };
            sum = fused(sum, weighted(cell), factor);
            mask = weight.widen().mul_add(factor, mask);
        });
    });
    let to = origin(&camera, level) + place;
    // SAFETY: the caller guarantees that both outputs contain the part. Only this thread writes the cell.
    unsafe {
        out_cells.store(to.x, to.y, cell(mean(sum), sum.w));
        out_masks.store(to.x, to.y, f16::narrow_pair(mask, 0.0)[0]);
    }
}

/// Computes the sum of the bands of a level and of all further levels, in the combined area. A thread computes 2×2
/// cells.
///
/// `cells` and `masks` are the level's differences and weights of all cameras. `next_cells` is the next level of the
/// differences, and `next_sums` is the result of this kernel for the next level. Both are not read at the last level.
///
/// # Safety
/// The images of cells and masks must contain the parts of all cameras, and the images of sums the combined area, all
/// with their borders.
#[kernel(launch_bounds(BLOCK_THREADS, 2))]
pub unsafe fn multiband_combine(
    cameras: Table<CameraPart, MAX_CAMERAS>,
    params: CombineParams,
    cells: View<Cell>,
    masks: View<f16>,
    next_cells: View<Cell>,
    next_sums: View<Cell>,
    sums: ViewMut<Cell>,
) {
    let CombineParams { min, size, level, last } = params;
    let at = thread::index_2d() * 2;
    if at.x >= size.x || at.y >= size.y {
        return;
    }
    let mut coarse = [Vec3::ZERO; 4];
    if last == 0 {
        // SAFETY: `at` is in the area, and the caller guarantees that the image contains it with its border.
        let sums = unsafe { up(next_sums, UVec2::splat(BORDER), at.as_ivec2()) };
        unroll!(4, |i| coarse[i] = mean(sums[i]));
    }
    let mut totals = [Vec4::ZERO; 4];
    let mut index = 0;
    while let Some(camera) = cameras.get(index) {
        index += 1;
        let side = 1 << level;
        let place = (at + min / side).wrapping_sub(camera.min / side);
        let extent = extent(camera.size, level);
        if place.x >= extent.x || place.y >= extent.y {
            continue;
        }
        let first = origin(&camera, level) + place;
        let (mut fine, mut weights) = ([Vec3::ZERO; 4], [0.0; 4]);
        unroll!(4, |i| {
            let (x, y) = (first.x + i as u32 % 2, first.y + i as u32 / 2);
            debug_assert!(cells.contains(x, y) && masks.contains(x, y));
            // SAFETY: the cell is in the camera's part or its border, which the images contain.
            unsafe {
                let Cell { colour: [r, g, b], .. } = cells.load(x, y);
                fine[i] = vec3(r.widen(), g.widen(), b.widen());
                weights[i] = masks.load(x, y).widen();
            }
        });
        if last == 0 {
            let origin = origin(&camera, level + 1);
            // SAFETY: `place` is in the part, and the caller guarantees that the image contains it with its border.
            let coarse = unsafe { up(next_cells, origin, place.as_ivec2()) };
            unroll!(4, |i| fine[i] -= mean(coarse[i]));
        }
        unroll!(4, |i| totals[i] = fused(totals[i], fine[i].extend(1.0), weights[i]));
    }
    let mut bands = coarse;
    unroll!(4, |i| bands[i] += mean(totals[i]));
    unroll!(4, |i| {
        let at = at + uvec2(i as u32 % 2, i as u32 / 2);
        if at.x < size.x && at.y < size.y {
            // SAFETY: the cell is in the area, which `sums` contains. Only this thread writes it.
            unsafe { sums.store(at.x + BORDER, at.y + BORDER, cell(bands[i], totals[i].w)) };
        }
    });
}
