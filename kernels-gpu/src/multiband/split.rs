//! The kernel that compares the cameras' pictures in the overlaps.
//!
//! A block samples the pictures of all cameras of a tile once per cell of level 1, in the middle of its four pixels, and
//! keeps the differences in shared memory. From them it computes level 2. Level 1 goes to device memory only for tiles
//! in which several cameras have weights, because the other tiles do not need it.

use crate::colour::grade::Mixed;
use crate::io::Sampler2d;
use crate::multiband::pyramid::{
    Cells, cell, colour_of, find, first_cell, first_pixel, fused, in_tile, mean, reduced,
    slot_index, staged_index,
};
use crate::multiband::survey::{SECOND_CELLS, second_cell};
use crate::stitch::edge_boost;
use cuda_std::GpuHalf;
use cuda_std::LINE_BYTES;
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use glam::{IVec2, Vec3, Vec4};
use shared_types::multiband::{BLOCK_THREADS, Cell, MIXED, SLOT, Share, SplitCamera, Tile};
use shared_types::picture::AnyPicture;
use shared_types::stitch::MAX_CAMERAS;
use shared_types::stitch::mesh::SourcePoint;

/// Computes the first two levels of the differences of all cameras of a tile, one block per tile. Writes level 2 to the
/// image of all cameras, and level 1 to the cameras' slots if the tile's state is [`MIXED`].
///
/// `width` is the width of the panorama for an edge boost, or 0 without an edge boost.
///
/// # Safety
/// - The launch must have [`SLOT`] cells of dynamic shared memory for each camera of each tile.
/// - There must be a picture for each camera, and all pictures must be whole and contain all places.
/// - All tiles must have slots, which must exist, and a state. No two tiles may be equal.
/// - `second` must contain the parts of all cameras at level 2.
#[kernel(launch_bounds(BLOCK_THREADS, 3), barriers(1))]
pub unsafe fn multiband_split(
    pictures: Table<AnyPicture, MAX_CAMERAS>,
    cameras: Table<SplitCamera, MAX_CAMERAS>,
    width: u32,
    tiles: Slice<Tile>,
    states: Slice<u32>,
    places: Slice<SourcePoint>,
    shares: Slice<Share>,
    first: SliceMut<Cell>,
    second: ViewMut<Cell>,
) {
    let index = thread::block_idx_x();
    // The tiles never change, so they can be loaded and their places prefetched while the previous kernel runs.
    let tile = tiles.get(index);
    if let Some(tile) = tile {
        const EACH: u32 = LINE_BYTES as u32 / size_of::<SourcePoint>() as u32;
        let i = thread::rank() * EACH;
        if i < tile.cameras.count_ones() * SLOT {
            places.prefetch(tile.slots * SLOT + i);
            if i % (2 * EACH) == 0 {
                shares.prefetch(tile.slots * SLOT + i);
            }
        }
    }
    thread::wait_for_kernel_before();
    // The branch is uniform for the block.
    let Some(tile) = tile else { return };
    let compared = Compared { pictures, cameras, width, tile, places, shares };
    let staged = dynamic_shared_mem::<Cell>();
    // SAFETY: the caller guarantees the conditions above. Each thread accesses only its own cells before the barrier, and
    // nothing writes them after it.
    unsafe {
        let keep = states.load(index) == MIXED;
        let mut i = thread::rank();
        while i < SLOT {
            compared.compare(i, staged);
            if keep {
                for slot in 0..tile.cameras.count_ones() {
                    let difference = staged.load(slot * SLOT + staged_index(in_tile(i)));
                    first.store(slot_index(&tile, slot, i), difference);
                }
            }
            i += BLOCK_THREADS;
        }
        thread::sync_threads();
        let mut left = tile.cameras;
        let mut slot = 0;
        // Half of the threads compute the first camera, and half of them the second one, and so on.
        let mine = thread::rank() / SECOND_CELLS;
        while left != 0 {
            let camera = left.trailing_zeros();
            left &= left - 1;
            if slot % (BLOCK_THREADS / SECOND_CELLS) == mine {
                let (local, place) = second_cell(&tile, thread::rank() % SECOND_CELLS);
                let cells = Staged(staged.tail(slot * SLOT));
                let part = cameras.get_unchecked(camera).part;
                if let Some(at) = find(&part, 2, place) {
                    second.store(at.x, at.y, reduced(&cells, local.as_ivec2()));
                }
            }
            slot += 1;
        }
    }
}

/// The cells of level 1 of a camera in shared memory. Positions are relative to the first cell of the tile, and must be
/// inside the tile.
struct Staged(Shared<Cell>);

impl Cells for Staged {
    #[inline(always)]
    unsafe fn at(&self, place: IVec2) -> Cell {
        // SAFETY: the caller guarantees that the tile has the cell.
        unsafe { self.0.load(staged_index(place.as_uvec2())) }
    }
}

/// The cameras of a tile, and the places of its cells in their pictures.
struct Compared {
    pictures: Table<AnyPicture, MAX_CAMERAS>,
    cameras: Table<SplitCamera, MAX_CAMERAS>,
    width: u32,
    tile: Tile,
    places: Slice<SourcePoint>,
    shares: Slice<Share>,
}

impl Compared {
    /// Stores the differences of all cameras at cell `i` of the tile from their mean in `staged`. The weight of a stored
    /// cell is the part that the camera sees.
    ///
    /// # Safety
    /// The conditions of [`multiband_split`] apply. No other thread may access the cell.
    #[inline(always)]
    unsafe fn compare(&self, i: u32, staged: Shared<Cell>) {
        let local = in_tile(i);
        let mut boost = 1.0;
        if self.width != 0 {
            // Cells before the panorama are boosted like its first column.
            let column = first_pixel(first_cell(&self.tile) + local.as_ivec2()).x.wrapping_add(1);
            boost = edge_boost((column as i32).max(0) as u32, self.width);
        }
        let at = staged_index(local);
        // Colours are relative to the first camera's colour, because f16 represents small differences well.
        let (mut reference, mut sum) = (Vec3::ZERO, Vec4::ZERO);
        let (mut left, mut slot) = (self.tile.cameras, 0);
        while left != 0 {
            let camera = left.trailing_zeros();
            left &= left - 1;
            let place = slot_index(&self.tile, slot, i);
            // SAFETY: the caller guarantees that the slots, the cameras and the elements of `staged` exist.
            unsafe {
                let Share { weight, seen } = self.shares.load(place);
                let (weight, seen) = (weight.widen(), seen.widen());
                let mut difference = Vec3::ZERO;
                if seen > 0.0 {
                    let colour = self.colour(camera, self.places.load(place), boost);
                    if sum.w == 0.0 {
                        reference = colour;
                    }
                    difference = colour - reference;
                    sum = fused(sum, difference.extend(1.0), weight);
                }
                staged.store(slot * SLOT + at, cell(difference, seen));
            }
            slot += 1;
        }
        let mean = mean(sum);
        for slot in 0..slot {
            // SAFETY: this thread wrote the element above.
            unsafe {
                let Cell { colour, weight } = staged.load(slot * SLOT + at);
                let seen = weight.widen();
                let difference = if seen > 0.0 { colour_of(colour) - mean } else { Vec3::ZERO };
                staged.store(slot * SLOT + at, cell(difference, seen));
            }
        }
    }

    /// Returns the corrected colour of a camera's picture at a place, in levels.
    ///
    /// # Safety
    /// There must be such a camera, and its picture must be whole and contain the place.
    #[inline(always)]
    unsafe fn colour(&self, camera: u32, SourcePoint(place): SourcePoint, boost: f32) -> Vec3 {
        // SAFETY: the caller guarantees that the camera exists and that its picture contains the place.
        unsafe {
            let SplitCamera { colour, offset, exact, decode, .. } =
                self.cameras.get_unchecked(camera);
            let picture = self.pictures.get_unchecked(camera);
            let levels = picture.sample(place.x, place.y, &decode);
            let colour = Mixed { colour, offset }.apply_with(levels, exact != 0);
            (colour * (255.0 * boost)).min(Vec3::splat(255.0))
        }
    }
}
