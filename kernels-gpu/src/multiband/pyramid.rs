//! Levels of a pyramid: the position of cells, the reduction to the next level, and the interpolation of a level.
//!
//! A cell of level `k + 1` is at the centre of 2×2 cells of level `k`. Reduction and interpolation use the same weights:
//! (1, 3, 3, 1)/8 along each axis for the mean of 4×4 cells, and (3, 1)/4 for the two nearest cells on each side. So a
//! cell contributes to exactly those cells of the next level from which it is interpolated. If a camera sees a part of
//! the cell, all of them are defined, and the interpolation needs no weights.

use crate::io::fused;
use crate::unroll::unroll;
use cuda_std::GpuHalf;
use cuda_std::prelude::*;
use glam::{IVec2, UVec2, Vec3, Vec4, ivec2, uvec2, vec3, vec4};
use half::f16;
use shared_types::multiband::{CameraPart, Cell, PAD, SLOT, TILE, TILE_CELLS, Tile};

/// The weights of four cells along an axis in a reduction, times 8.
const TAPS: [f32; 4] = [1.0, 3.0, 3.0, 1.0];

/// Cells of a level that kernels access by their position in the grid.
pub(super) trait Cells {
    /// Returns a cell. It is the default if there is no such cell.
    ///
    /// # Safety
    /// The conditions that the implementation states apply.
    unsafe fn at(&self, place: IVec2) -> Cell;
}

/// Returns the mean of 4×4 cells of a level. The first one is at `first`. The result has the weighted mean colour and
/// the mean weight. The colour is 0 if all weights are 0.
///
/// # Safety
/// The conditions of [`Cells::at`] apply to all these cells.
#[device]
pub(super) unsafe fn reduced(cells: &impl Cells, first: IVec2) -> Cell {
    let mut sum = Vec4::ZERO;
    unroll!(4, |j| {
        unroll!(4, |i| {
            // SAFETY: the caller guarantees the conditions.
            let Cell { colour, weight } = unsafe { cells.at(first + ivec2(i as i32, j as i32)) };
            let factor = weight.widen() * (TAPS[i] * TAPS[j] * (1.0 / 64.0));
            sum = add_weighted(sum, colour_of(colour).extend(1.0), factor);
        });
    });
    cell(mean(sum), sum.w)
}

/// Returns the mean of 4×4 weights with the same factors as [`reduced`]. `weight` returns the weight in a column and a
/// row from 0 to 3.
macro_rules! reduced_weight {
    (|$i:ident, $j:ident| $weight:expr) => {{
        let mut sum = 0.0;
        $crate::unroll::unroll!(4, |$j| {
            $crate::unroll::unroll!(4, |$i| {
                let weight: f32 = $weight;
                sum = weight.mul_add($crate::multiband::pyramid::factor($i, $j), sum);
            });
        });
        sum
    }};
}
pub(super) use reduced_weight;

/// Returns the factor of a cell in a column and a row from 0 to 3 of a reduction.
#[device]
pub(super) const fn factor(i: usize, j: usize) -> f32 {
    TAPS[i] * TAPS[j] * (1.0 / 64.0)
}

/// Interpolates the colour of a level at a cell of the level before.
///
/// # Safety
/// The conditions of [`Cells::at`] apply to the 2×2 cells that [`parents`] returns for both axes.
#[device]
pub(super) unsafe fn up(cells: &impl Cells, place: IVec2) -> Vec3 {
    let ([x, far_x], [y, far_y]) = (parents(place.x), parents(place.y));
    // SAFETY: the caller guarantees the conditions.
    let [near, beside, below, across] = unsafe {
        [
            cells.at(ivec2(x, y)),
            cells.at(ivec2(far_x, y)),
            cells.at(ivec2(x, far_y)),
            cells.at(ivec2(far_x, far_y)),
        ]
    };
    let row = |near: Cell, far: Cell| lerp(colour_of(near.colour), colour_of(far.colour));
    lerp(row(near, beside), row(below, across))
}

/// Returns the nearest cell of the next level along an axis, and the second nearest.
#[device]
pub(super) fn parents(place: i32) -> [i32; 2] {
    let near = place >> 1;
    [near, near + 2 * (place & 1) - 1]
}

/// Returns ¾ of `near` plus ¼ of `far`.
#[device]
fn lerp(near: Vec3, far: Vec3) -> Vec3 {
    fused(far, 0.25, near * 0.75)
}

/// Returns the position of a cell of a level in the image of all cameras, or `None` if it is outside the camera's part.
#[device]
pub(super) fn find(part: &CameraPart, level: u32, place: IVec2) -> Option<UVec2> {
    let inside = (place - (part.min >> level).as_ivec2()).as_uvec2();
    let found = inside.cmplt(part.size >> level).all();
    found.then(|| inside + uvec2(0, part.row >> level))
}

/// The cells of a level of a camera in an image of all cameras. Cells outside the camera's part are undefined. The image
/// must contain the part.
pub(super) struct InImage {
    pub(super) part: CameraPart,
    pub(super) level: u32,
    pub(super) image: View<Cell>,
}

impl Cells for InImage {
    #[device]
    unsafe fn at(&self, place: IVec2) -> Cell {
        match find(&self.part, self.level, place) {
            // SAFETY: the cell is in the part, which the image contains.
            Some(at) => unsafe { self.image.load(at.x, at.y) },
            None => Cell::default(),
        }
    }
}

/// The first cell of level 1 that belongs to a tile: the one to the left of its first cell and above it.
#[device]
pub(super) fn first_cell(tile: &Tile) -> IVec2 {
    (uvec2(tile.column, tile.row) * UVec2::from(TILE) / 2).as_ivec2() - 1
}

/// Returns the column and the row of cell `i` of a tile.
#[device]
pub(super) fn in_tile(i: u32) -> UVec2 {
    uvec2(i % TILE_CELLS[0], i / TILE_CELLS[0])
}

/// Returns the index of a tile's cell in shared memory. Even and odd columns are apart, so that threads that read every
/// second column have no bank conflicts.
#[device]
pub(super) fn staged_index(place: UVec2) -> u32 {
    place.y * TILE_CELLS[0] + place.x / 2 + place.x % 2 * (TILE_CELLS[0] / 2)
}

/// Returns the index of cell `i` of the `slot`-th camera of a tile, which must have slots.
#[device]
pub(super) fn slot_index(tile: &Tile, slot: u32, i: u32) -> u32 {
    (tile.slots + slot) * SLOT + i
}

/// Returns the first of the 4×4 panorama pixels of which a cell of level 1 is the mean. It wraps around before the
/// panorama.
#[device]
pub(super) fn first_pixel(cell: IVec2) -> UVec2 {
    (cell * 2 - 1).as_uvec2().wrapping_sub(UVec2::splat(PAD))
}

/// Returns a colour as numbers.
#[device]
pub(super) fn colour_of([r, g, b]: [f16; 3]) -> Vec3 {
    vec3(r.widen(), g.widen(), b.widen())
}

/// Returns the mean colour of a sum of weighted colours. It is 0 if the sum of the weights is 0.
#[device]
pub(super) fn mean(sum: Vec4) -> Vec3 {
    if sum.w > 0.0 { sum.truncate() * sum.w.fast_recip() } else { Vec3::ZERO }
}

/// Returns `sum + value · factor` for each component, with fused multiply-adds.
#[device]
pub(super) fn add_weighted(sum: Vec4, value: Vec4, factor: f32) -> Vec4 {
    vec4(
        value.x.mul_add(factor, sum.x),
        value.y.mul_add(factor, sum.y),
        value.z.mul_add(factor, sum.z),
        value.w.mul_add(factor, sum.w),
    )
}

/// Returns a cell with this colour and weight, rounded to half precision.
#[device]
pub(super) fn cell(colour: Vec3, weight: f32) -> Cell {
    let [r, g] = f16::narrow_pair(colour.x, colour.y);
    let [b, weight] = f16::narrow_pair(colour.z, weight);
    Cell { colour: [r, g, b], weight }
}

/// Returns a number in half precision.
#[device]
pub(super) fn half(number: f32) -> f16 {
    f16::narrow_pair(number, 0.0)[0]
}
