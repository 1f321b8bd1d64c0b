//! The kernel that compares the cameras' pictures in the overlaps.
//!
//! A block samples the pictures of all cameras of a tile once per cell of level 1, in the middle of its four pixels, and
//! keeps the colours in shared memory. It replaces them by differences, and computes level 2. Level 1 goes to device
//! memory only for tiles in which several cameras have weights, because the other tiles do not need it.

use crate::colour::grade::{Grade, Mixed};
use crate::colour::vignette::factor;
use crate::io::Sampler2d;
use crate::multiband::pyramid::{
    Cells, add_weighted, cell, colour_of, find, first_cell, first_pixel, in_tile, mean, reduced,
    slot_index, staged_index,
};
use crate::multiband::survey::{SECOND_CELLS, second_cell};
use crate::stitch::edge_boost;
use crate::unroll::unroll;
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{GpuHalf, LINE_BYTES};
use glam::{IVec2, Vec2, Vec3, Vec4};
use shared_types::Rgba16;
use shared_types::multiband::{BLOCK_THREADS, Cell, MIXED, SLOT, Share, SplitCamera, Tile};
use shared_types::nv12::P010;
use shared_types::picture::AnyPicture;
use shared_types::stitch::MAX_CAMERAS;
use shared_types::stitch::mesh::SourcePoint;

/// Defines the kernel that compares pictures, for a type of pictures.
macro_rules! multiband_split {
    ($(#[$doc:meta])* $name:ident, $picture:ty, $sample:ident) => {
        $(#[$doc])*
        ///
        /// Computes the first two levels of the differences of all cameras of a tile, one block per tile. Writes level 2
        /// to the image of all cameras, and level 1 to the cameras' slots if the tile's state is [`MIXED`].
        ///
        /// `width` is the width of the panorama for an edge boost, or 0 without an edge boost.
        ///
        /// # Safety
        /// - Blocks must have [`BLOCK_THREADS`] threads, and [`SLOT`] cells of dynamic shared memory for each camera of
        ///   each tile.
        /// - `pictures` and `cameras` must have an entry for each camera of a tile, and all pictures must be whole and contain all places.
        /// - All tiles must have slots, which must exist, and a state. No two tiles may be equal.
        /// - `second` must contain the parts of all cameras at level 2.
        #[kernel(launch_bounds(BLOCK_THREADS, 3), barriers(1))]
        pub unsafe fn $name(
            pictures: Table<$picture, MAX_CAMERAS>,
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
                    if i.is_multiple_of(2 * EACH) {
                        shares.prefetch(tile.slots * SLOT + i);
                    }
                }
            }
            thread::wait_for_kernel_before();
            // The branch is uniform for the block.
            let Some(tile) = tile else { return };
            let staged = dynamic_shared_mem();
            let compared = Compared { cameras, width, tile, places, shares, staged };
            // SAFETY: the caller guarantees the conditions above. Each thread accesses only its own cells before the
            // barrier, and nothing writes them after it.
            unsafe {
                let mut sums = [Vec4::ZERO; RUNS];
                let (mut left, mut slot) = (tile.cameras, 0);
                while left != 0 {
                    let camera = warp::warp_uniform(left.trailing_zeros());
                    left &= left - 1;
                    compared.$sample(&pictures.get_unchecked(camera), camera, slot, &mut sums);
                    slot += 1;
                }
                compared.compare(&sums, (states.load(index) == MIXED).then_some(first));
                thread::sync_threads();
                compared.reduce(second);
            }
        }
    };
}

multiband_split! {
    /// Compares pictures in RGBA and NV12.
    multiband_split, AnyPicture, sample_any
}

multiband_split! {
    /// Compares P010 pictures.
    multiband_split_p010, P010, sample
}

multiband_split! {
    /// Compares RGBA pictures with 16 bits per channel.
    multiband_split_rgba16, View<Rgba16>, sample
}

/// The number of cells of level 1 that a thread computes.
const RUNS: usize = SLOT.div_ceil(BLOCK_THREADS) as usize;

/// The colour that is stored as 0, in levels. Half precision represents the other colours with an error of at most 1/32.
const MIDDLE: f32 = 128.0;

/// A tile with its cameras, and the places of its cells in their pictures.
struct Compared {
    cameras: Table<SplitCamera, MAX_CAMERAS>,
    width: u32,
    tile: Tile,
    places: Slice<SourcePoint>,
    shares: Slice<Share>,
    /// The cells of all cameras, [`SLOT`] for each.
    staged: Shared<Cell>,
}

/// All functions require the conditions of [`multiband_split`].
impl Compared {
    /// Stores the colours of a camera minus [`MIDDLE`] at the thread's cells, with the parts of the cells that the camera
    /// sees. Adds the colours to `sums`, times the feathered weights.
    #[device]
    unsafe fn sample(
        &self,
        picture: &impl Sampler2d,
        camera: u32,
        slot: u32,
        sums: &mut [Vec4; RUNS],
    ) {
        // SAFETY: the conditions of the function apply. All places are inside the picture, also those of cells that the
        // camera does not see. Each thread writes its own cells.
        unsafe {
            let SplitCamera { colour, vignette, offset, exact, decode, .. } =
                self.cameras.get_unchecked(camera);
            let grade = Mixed { colour, offset, exact: exact != 0 };
            let mut places = [Vec2::ZERO; RUNS];
            let mut shares = [Share::default(); RUNS];
            unroll!(RUNS, |run| {
                let at = slot_index(&self.tile, slot, cell_of_thread(run).min(SLOT - 1));
                (places[run], shares[run]) = (self.places.load(at).0, self.shares.load(at));
            });
            let mut levels = [Vec3::ZERO; RUNS];
            unroll!(RUNS, |run| {
                let Vec2 { x, y } = places[run];
                levels[run] = picture.sample(x, y, &decode);
            });
            unroll!(RUNS, |run| {
                let (i, Share { weight, seen }) = (cell_of_thread(run), shares[run]);
                let factor = factor(&vignette, places[run]);
                let colour = grade.apply(levels[run] * factor, factor);
                let colour = colour * (255.0 * self.boost(i));
                let colour = colour.min(Vec3::splat(255.0)) - MIDDLE;
                sums[run] = add_weighted(sums[run], colour.extend(1.0), weight.widen());
                if i < SLOT {
                    let stored = Cell { weight: seen, ..cell(colour, 0.0) };
                    self.staged.store(slot * SLOT + staged_index(in_tile(i)), stored);
                }
            });
        }
    }

    /// Like [`sample`](Self::sample), for a picture in either format.
    #[device]
    unsafe fn sample_any(
        &self,
        picture: &AnyPicture,
        camera: u32,
        slot: u32,
        sums: &mut [Vec4; RUNS],
    ) {
        // SAFETY: the conditions of the function apply. The branches are uniform for the block.
        unsafe {
            match picture {
                AnyPicture::Rgba8(picture) => self.sample(picture, camera, slot, sums),
                AnyPicture::Nv12(picture) => self.sample(picture, camera, slot, sums),
            }
        }
    }

    /// Returns the factor of the edge boost at cell `i`.
    #[device]
    fn boost(&self, i: u32) -> f32 {
        if self.width == 0 {
            return 1.0;
        }
        // Cells before the panorama are boosted like its first column.
        let cell = first_cell(&self.tile) + in_tile(i).as_ivec2();
        let column = first_pixel(cell).x.wrapping_add(1) as i32;
        edge_boost(column.max(0) as u32, self.width)
    }

    /// Replaces the colours of all cameras at the thread's cells by their differences from the mean. The difference of a
    /// cell that the camera does not see is any number. Also writes the cells to `kept`.
    #[device]
    unsafe fn compare(&self, sums: &[Vec4; RUNS], kept: Option<SliceMut<Cell>>) {
        unroll!(RUNS, |run| {
            let (i, mean) = (cell_of_thread(run), mean(sums[run]));
            if i < SLOT {
                for slot in 0..self.tile.cameras.count_ones() {
                    let at = slot * SLOT + staged_index(in_tile(i));
                    // SAFETY: the conditions of the function apply. This thread wrote the cells.
                    unsafe {
                        let Cell { colour, weight } = self.staged.load(at);
                        let difference = Cell { weight, ..cell(colour_of(colour) - mean, 0.0) };
                        self.staged.store(at, difference);
                        if let Some(kept) = kept {
                            kept.store(slot_index(&self.tile, slot, i), difference);
                        }
                    }
                }
            }
        });
    }

    /// Writes level 2 of all cameras. All differences must be in shared memory.
    #[device]
    unsafe fn reduce(&self, second: ViewMut<Cell>) {
        let (mut left, mut slot) = (self.tile.cameras, 0);
        // Half of the threads compute the first camera, and half of them the second one, and so on.
        let mine = thread::rank() / SECOND_CELLS;
        let (local, place) = second_cell(&self.tile, thread::rank() % SECOND_CELLS);
        while left != 0 {
            let camera = left.trailing_zeros();
            left &= left - 1;
            // SAFETY: the conditions of the function apply. Only this thread writes the cell.
            unsafe {
                if slot % (BLOCK_THREADS / SECOND_CELLS) == mine {
                    let part = self.cameras.get_unchecked(camera).part;
                    if let Some(at) = find(&part, 2, place) {
                        let cells = Staged(self.staged.tail(slot * SLOT));
                        second.store(at.x, at.y, reduced(&cells, local.as_ivec2()));
                    }
                }
            }
            slot += 1;
        }
    }
}

/// Returns the cell of a tile that a thread computes in its `run`-th run. There may be no such cell.
#[device]
fn cell_of_thread(run: usize) -> u32 {
    thread::rank() + run as u32 * BLOCK_THREADS
}

/// The cells of level 1 of a camera in shared memory. Positions are relative to the first cell of the tile, and must be
/// inside the tile.
struct Staged(Shared<Cell>);

impl Cells for Staged {
    #[device]
    unsafe fn at(&self, place: IVec2) -> Cell {
        // SAFETY: the caller guarantees that the tile has the cell.
        unsafe { self.0.load(staged_index(place.as_uvec2())) }
    }
}
