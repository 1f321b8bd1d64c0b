//! The kernels that run once for a warp: they find the cameras that see each part of the panorama, and where in its
//! picture each camera sees a cell.

use crate::multiband::pyramid::{
    cell, factor, find, first_cell, first_pixel, half, in_tile, reduced_weight, slot_index,
    staged_index,
};
use crate::unroll::unroll;
use crate::warp::camera::SourceLookup;
use cuda_std::prelude::*;
use glam::{IVec2, UVec2, Vec2, Vec3, uvec2, vec2};
use shared_types::multiband::{
    BLOCK_THREADS, Cell, HALO, NO_SLOTS, PAD, ProbedCamera, SLOT, SURVEY, Share, TILE, Tile,
};
use shared_types::stitch::mesh::{SourcePoint, WeighedCamera};
use shared_types::stitch::{MAX_CAMERAS, MIN_WEIGHT};

/// Finds the cameras that see each square of [`SURVEY`]² pixels, or a pixel within [`HALO`] of it. Writes a bit for each
/// camera. The grid of squares starts [`PAD`] pixels before the panorama. A block computes one square.
#[kernel(launch_bounds(BLOCK_THREADS, 4), barriers(1))]
pub fn multiband_survey(cameras: Table<WeighedCamera, MAX_CAMERAS>, seen: ViewMut<u32>) {
    const SIDE: u32 = SURVEY + 2 * HALO;
    let square = uvec2(thread::block_idx_x(), thread::block_idx_y());
    // The branch is uniform for the block.
    if !seen.contains(square.x, square.y) {
        return;
    }
    // Positions before the panorama wrap around, so that no plane contains them.
    let first = (square * SURVEY).wrapping_sub(UVec2::splat(PAD + HALO));
    let (mut found, mut index) = (0, 0);
    while let Some(WeighedCamera { planes, size }) = cameras.get(index) {
        let lookup = SourceLookup { planes, size };
        let (mut i, mut any) = (thread::rank(), false);
        while i < SIDE * SIDE {
            let at = first.wrapping_add(uvec2(i % SIDE, i / SIDE));
            any |= lookup.source(at.x, at.y, MIN_WEIGHT).is_some();
            i += BLOCK_THREADS;
        }
        if thread::sync_threads_or(any.into()) != 0 {
            found |= 1 << index;
        }
        index += 1;
    }
    if thread::rank() == 0 {
        // SAFETY: the image contains the square, as checked above. Only this thread writes the element.
        unsafe { seen.store(square.x, square.y, found) };
    }
}

/// Computes for each camera of a tile which part of each cell it sees, one block per tile. Writes the mean place in the
/// camera's picture and the [`Share`] of each cell of level 1 to the camera's slot, if the tile has slots. Writes the
/// part that the camera sees of each cell of level 2 as the weight of a cell without colour.
///
/// # Safety
/// Blocks must have [`BLOCK_THREADS`] threads. `cells` must contain the parts of all cameras at level 2. All slots must exist. No two tiles may be equal.
#[kernel(launch_bounds(BLOCK_THREADS, 2), barriers(2))]
pub unsafe fn multiband_probe(
    cameras: Table<ProbedCamera, MAX_CAMERAS>,
    tiles: Slice<Tile>,
    places: SliceMut<SourcePoint>,
    shares: SliceMut<Share>,
    cells: ViewMut<Cell>,
) {
    let staged = shared_array![f32; SLOT as usize];
    // The branch is uniform for the block.
    let Some(tile) = tiles.get(thread::block_idx_x()) else { return };
    let (mut left, mut slot) = (tile.cameras, 0);
    while left != 0 {
        let camera = cameras.get(left.trailing_zeros());
        left &= left - 1;
        // The branch is uniform for the block, too.
        let Some(ProbedCamera { planes, size, part }) = camera else { return };
        let lookup = SourceLookup { planes, size };
        let mut i = thread::rank();
        while i < SLOT {
            let local = in_tile(i);
            let pixel = first_pixel(first_cell(&tile) + local.as_ivec2());
            let (mut place, mut weight, mut seen) = (Vec2::ZERO, 0.0, 0.0);
            unroll!(4, |j| {
                unroll!(4, |i| {
                    let at = pixel.wrapping_add(uvec2(i as u32, j as u32));
                    if let Some((source, share)) = lookup.source(at.x, at.y, MIN_WEIGHT) {
                        place += source * factor(i, j);
                        weight += share * factor(i, j);
                        seen += factor(i, j);
                    }
                });
            });
            // The mean of places inside the picture is inside, too, except for rounding.
            let limit = vec2((size.x as f32).next_down(), (size.y as f32).next_down());
            let place = if seen > 0.0 { (place / seen).min(limit) } else { Vec2::ZERO };
            // SAFETY: `i` is less than `SLOT`, and the caller guarantees that the slots exist. Only this thread writes
            // these elements.
            unsafe {
                staged.store(staged_index(local), seen);
                if tile.slots != NO_SLOTS {
                    let at = slot_index(&tile, slot, i);
                    places.store(at, SourcePoint(place));
                    shares.store(at, Share { weight: half(weight), seen: half(seen) });
                }
            }
            i += BLOCK_THREADS;
        }
        thread::sync_threads();
        if let Some((local, place)) = second_level(&tile) {
            // SAFETY: all elements were written before the barrier. The caller guarantees that the image contains the
            // part. Only this thread writes the cell.
            unsafe {
                let seen = reduced_weight!(|i, j| {
                    staged.load(staged_index(local + uvec2(i as u32, j as u32)))
                });
                if let Some(at) = find(&part, 2, place) {
                    cells.store(at.x, at.y, cell(Vec3::ZERO, seen));
                }
            }
        }
        // The next camera replaces the elements.
        thread::sync_threads();
        slot += 1;
    }
}

/// The columns and rows of cells of level 2 in a tile.
const SECOND: [u32; 2] = [TILE[0] / 4, TILE[1] / 4];

/// The number of cells of level 2 in a tile.
pub(super) const SECOND_CELLS: u32 = SECOND[0] * SECOND[1];

/// Returns the cell of level 2 that a thread computes for a tile: the first of the tile's 4×4 cells of level 1 whose mean
/// it is, and its position in the grid. Returns `None` if the thread's number is too high.
#[device]
fn second_level(tile: &Tile) -> Option<(UVec2, IVec2)> {
    let i = thread::rank();
    (i < SECOND_CELLS).then(|| second_cell(tile, i))
}

/// Returns cell `i` of level 2 of a tile: the first of the tile's 4×4 cells of level 1 whose mean it is, and its position
/// in the grid.
#[device]
pub(super) fn second_cell(tile: &Tile, i: u32) -> (UVec2, IVec2) {
    let local = uvec2(i % SECOND[0], i / SECOND[0]);
    (local * 2, (uvec2(tile.column, tile.row) * UVec2::from(SECOND) + local).as_ivec2())
}
