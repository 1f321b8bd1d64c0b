//! The kernels that change the panorama.
//!
//! In most tiles, one camera has the whole weight. Its correction at level 1 is then the interpolated correction of
//! level 2, and a thread interpolates both levels at once for eight pixels. In the other tiles, a block first computes
//! the sum of the bands at level 1 in shared memory.

use crate::io::fused;
use crate::multiband::pyramid::{
    Cells, add_weighted, cell, colour_of, first_cell, in_tile, mean, slot_index, up,
};
use crate::multiband::retouch::{Retouch, are_invisible};
use crate::unroll::unroll;
use cuda_std::GpuHalf;
use cuda_std::prelude::*;
use glam::{IVec2, UVec2, Vec3, Vec4, ivec2, uvec2};
use half::f16;
use shared_types::multiband::{
    ApplyParams, BLOCK_THREADS, CameraPart, Cell, EMPTY, MIXED, NO_SLOTS, PAD, SLOT, TILE,
    TILE_CELLS, Task, Tile, WeightedCamera,
};
use shared_types::nv12::{Nv12Mut, P010Mut};
use shared_types::stitch::{MAX_CAMERAS, MIN_WEIGHT};
use shared_types::{Rgba8, Rgba16};

/// Defines the kernel that changes a panorama, for a pixel format.
macro_rules! multiband_apply {
    ($(#[$doc:meta])* $name:ident, $panorama:ty) => {
        $(#[$doc])*
        ///
        /// A block changes a tile. `corrections` are those of all cameras at level 2. `weights` and `differences` are
        /// those of level 1 in the slots. Pixels without a camera do not change.
        ///
        /// # Safety
        /// - Blocks must have [`BLOCK_THREADS`] threads.
        /// - [`Task::state`] must be that of the tile: `MIXED`, `EMPTY` or the index of one of its cameras.
        /// - All slots must exist. There must be a camera for each bit of a tile, and `corrections` must contain its part
        ///   at level 2. No part of a camera of a tile may be empty.
        /// - The panorama must be whole. No two tiles may be equal.
        #[kernel(launch_bounds(BLOCK_THREADS, 3), barriers(1))]
        pub unsafe fn $name(
            cameras: Table<WeightedCamera, MAX_CAMERAS>,
            tasks: Slice<Task>,
            corrections: View<Cell>,
            weights: Slice<f16>,
            differences: Slice<Cell>,
            params: ApplyParams,
            panorama: $panorama,
        ) {
            // The branch is uniform for the block.
            let Some(Task { tile, state, .. }) = tasks.get(thread::block_idx_x()) else { return };
            let change = Change { cameras, tile, corrections, weights, differences, params, panorama };
            // SAFETY: the caller guarantees the conditions above, which are those of `apply`.
            unsafe { change.apply(state) };
        }
    };
}

multiband_apply! {
    /// Adds the bands of all levels to an RGBA panorama.
    multiband_apply_rgba8, ViewMut<Rgba8>
}

multiband_apply! {
    /// Adds the bands of all levels to an RGBA panorama with 16 bits per channel.
    multiband_apply_rgba16, ViewMut<Rgba16>
}

multiband_apply! {
    /// Adds the bands of all levels to an NV12 panorama.
    multiband_apply_nv12, Nv12Mut
}

multiband_apply! {
    /// Adds the bands of all levels to a P010 panorama.
    multiband_apply_p010, P010Mut
}

/// The weights of three adjacent cells of level 2 along an axis, times 16, for the first two of the four pixels of the
/// middle cell. Those of the last two pixels are in the opposite order.
const WEIGHTS: [[f32; 3]; 2] = [[6.0, 10.0, 0.0], [3.0, 12.0, 1.0]];

/// The number of groups of 2×2 pixels that a thread changes in a mixed tile.
const GROUPS: usize = (TILE[1] / 2 * (TILE[0] / 2) / BLOCK_THREADS) as usize;

/// The number of cells of level 1 that a thread computes in a mixed tile.
const RUNS: usize = SLOT.div_ceil(BLOCK_THREADS) as usize;

/// The corrections of a camera at level 2. A cell outside the camera's part is the nearest one inside. The image must
/// contain the part, which must not be empty.
struct Corrections {
    part: CameraPart,
    image: View<Cell>,
}

impl Corrections {
    /// Returns the position of a cell in the image.
    #[device]
    fn find(&self, place: IVec2) -> UVec2 {
        let inside = place - (self.part.min / 4).as_ivec2();
        let last = (self.part.size / 4).as_ivec2() - 1;
        inside.max(IVec2::ZERO).min(last).as_uvec2() + uvec2(0, self.part.row / 4)
    }
}

impl Cells for Corrections {
    #[device]
    unsafe fn at(&self, place: IVec2) -> Cell {
        let at = self.find(place);
        // SAFETY: the cell is in the part, which the image contains.
        unsafe { self.image.load(at.x, at.y) }
    }
}

/// A tile of a panorama, and the data to change it.
struct Change<O> {
    cameras: Table<WeightedCamera, MAX_CAMERAS>,
    tile: Tile,
    corrections: View<Cell>,
    weights: Slice<f16>,
    differences: Slice<Cell>,
    params: ApplyParams,
    panorama: O,
}

/// All functions require the conditions of the kernels that `multiband_apply!` defines.
impl<O: Retouch> Change<O> {
    #[device]
    unsafe fn apply(&self, state: u32) {
        // SAFETY: the conditions of the function apply. All branches are uniform for the block.
        unsafe {
            if state == EMPTY {
                return;
            }
            let aligned = !O::GROUPED || self.params.odd == UVec2::ZERO;
            if state != MIXED && aligned {
                self.apply_single(state);
            } else {
                self.apply_mixed(state);
            }
        }
    }

    /// Changes two columns and four rows of pixels in a tile that belongs to one camera.
    #[device]
    unsafe fn apply_single(&self, camera: u32) {
        let local = uvec2(2 * thread::thread_idx_x(), 4 * thread::thread_idx_y());
        let grid = uvec2(self.tile.column, self.tile.row) * UVec2::from(TILE) + local;
        // Tiles before the panorama wrap around.
        let pixel = grid.wrapping_sub(UVec2::splat(PAD));
        if pixel.x >= self.panorama.width() || pixel.y >= self.panorama.height() {
            return;
        }
        // SAFETY: the conditions of the function apply.
        unsafe {
            let WeightedCamera { part, .. } = self.cameras.get_unchecked(camera);
            let cells = Corrections { part, image: self.corrections };
            let middle = (grid / 4).as_ivec2();
            // The weights of the three columns of cells for both columns of pixels.
            let [outer, inner] = WEIGHTS;
            let odd = thread::thread_idx_x() & 1 != 0;
            let turned = |[a, b, c]: [f32; 3]| [c, b, a];
            let (left, right) = if odd { (turned(inner), turned(outer)) } else { (outer, inner) };
            let mut rows = [[Vec3::ZERO; 2]; 3];
            unroll!(3, |j| {
                unroll!(3, |i| {
                    let at = middle + ivec2(i as i32 - 1, j as i32 - 1);
                    let colour = colour_of(cells.at(at).colour);
                    rows[j][0] = fused(colour, left[i] * (1.0 / 256.0), rows[j][0]);
                    rows[j][1] = fused(colour, right[i] * (1.0 / 256.0), rows[j][1]);
                });
            });
            let mut changes = [[Vec3::ZERO; 4]; 2];
            unroll!(4, |row| {
                let weights = WEIGHTS[if row == 0 || row == 3 { 0 } else { 1 }];
                unroll!(3, |j| {
                    let weight = weights[if row < 2 { j } else { 2 - j }];
                    unroll!(2, |i| {
                        let change = &mut changes[row / 2][row % 2 * 2 + i];
                        *change = fused(rows[j][i], weight, *change);
                    });
                });
            });
            self.retouch([pixel.as_ivec2(), pixel.as_ivec2() + ivec2(0, 2)], changes);
        }
    }

    /// Changes a tile in which several cameras have weights.
    #[device]
    unsafe fn apply_mixed(&self, state: u32) {
        let staged = shared_array![Cell; SLOT as usize];
        // Without slots, one camera sees the tile, and its difference is 0. In a tile that belongs to one camera, the
        // difference is not stored, but it has no effect.
        let stored = self.tile.slots != NO_SLOTS && state == MIXED;
        // SAFETY: the conditions of the function apply. Each thread writes its own elements of `staged` before the
        // barrier.
        unsafe {
            self.stage_bands(staged, stored);
            thread::sync_threads();
            let tile = uvec2(self.tile.column, self.tile.row) * UVec2::from(TILE);
            let (column, row) = (thread::thread_idx_x(), thread::thread_idx_y() * GROUPS as u32);
            let first = (tile + 2 * uvec2(column, row)).as_ivec2() - self.params.odd.as_ivec2();
            let mut changes = [[Vec3::ZERO; 4]; GROUPS];
            unroll!(GROUPS, |group| {
                let first = first + ivec2(0, 2 * group as i32);
                changes[group] = self.changes(first, staged, stored);
            });
            let pixel = first - PAD as i32;
            self.retouch([pixel, pixel + ivec2(0, 2)], changes);
        }
    }

    /// Stores the sums of the bands from level 1 on at the thread's cells.
    #[device]
    unsafe fn stage_bands(&self, staged: Shared<Cell>, stored: bool) {
        let cell_of = |run: usize| thread::rank() + run as u32 * BLOCK_THREADS;
        let mut totals = [Vec4::ZERO; RUNS];
        let (mut left, mut slot) = (self.tile.cameras, 0);
        while left != 0 {
            let camera = left.trailing_zeros();
            left &= left - 1;
            // SAFETY: the conditions of the function apply.
            unsafe {
                let WeightedCamera { part, .. } = self.cameras.get_unchecked(camera);
                let corrections = Corrections { part, image: self.corrections };
                // Without branches, all loads are in flight together.
                unroll!(RUNS, |run| {
                    let i = cell_of(run).min(SLOT - 1);
                    let place = first_cell(&self.tile) + in_tile(i).as_ivec2();
                    let mut weight = 1.0;
                    let mut colour = up(&corrections, place);
                    if self.tile.slots != NO_SLOTS {
                        weight = self.weights.load(slot_index(&self.tile, slot, i)).widen();
                    }
                    if stored {
                        let at = slot_index(&self.tile, slot, i);
                        colour += colour_of(self.differences.load(at).colour);
                    }
                    totals[run] = add_weighted(totals[run], colour.extend(1.0), weight);
                });
            }
            slot += 1;
        }
        unroll!(RUNS, |run| {
            let i = cell_of(run);
            if i < SLOT {
                // SAFETY: the element exists, and only this thread writes it.
                unsafe { staged.store(i, cell(mean(totals[run]), 1.0)) };
            }
        });
    }

    /// Returns the changes of a group of 2×2 pixels. `first` is the position of the first pixel in the grid.
    #[device]
    unsafe fn changes(&self, first: IVec2, staged: Shared<Cell>, stored: bool) -> [Vec3; 4] {
        let mut totals = [Vec4::ZERO; 4];
        let (mut left, mut slot) = (self.tile.cameras, 0);
        while left != 0 {
            let camera = left.trailing_zeros();
            left &= left - 1;
            // SAFETY: the conditions of the function apply.
            unsafe {
                let WeightedCamera { weights, .. } = self.cameras.get_unchecked(camera);
                let (mut shares, mut any) = ([0.0; 4], false);
                unroll!(4, |i| {
                    let at = (grid_pixel(first, i) - PAD as i32).as_uvec2();
                    if weights.contains(at.x, at.y) {
                        let weight = weights.load(at.x, at.y);
                        shares[i] = if weight > MIN_WEIGHT { weight } else { 0.0 };
                        any |= weight > MIN_WEIGHT;
                    }
                });
                if any {
                    let cells = self.differences.tail(if stored {
                        slot_index(&self.tile, slot, 0)
                    } else {
                        0
                    });
                    let cells = Differences { tile: self.tile, cells };
                    unroll!(4, |i| {
                        let mut colour = Vec3::ZERO;
                        if stored {
                            colour = up(&cells, grid_pixel(first, i));
                        }
                        totals[i] = add_weighted(totals[i], colour.extend(1.0), shares[i]);
                    });
                }
            }
            slot += 1;
        }
        let mut changes = [Vec3::ZERO; 4];
        unroll!(4, |i| {
            if totals[i].w > 0.0 {
                // SAFETY: the tile has all cells from which its pixels are interpolated.
                let bands = unsafe { up(&Bands { tile: self.tile, staged }, grid_pixel(first, i)) };
                changes[i] = bands - mean(totals[i]);
            }
        });
        changes
    }

    /// Adds changes to two groups of 2×2 pixels of the panorama. `pixels` are the first pixels of the groups.
    #[device]
    unsafe fn retouch(&self, pixels: [IVec2; 2], mut changes: [[Vec3; 4]; 2]) {
        let ApplyParams { flip, decode, encode, .. } = self.params;
        let size = uvec2(self.panorama.width(), self.panorama.height()).as_ivec2();
        let mut groups = pixels;
        if flip != 0 {
            unroll!(2, |i| {
                // In a flipped panorama, the pixel below right is the first of the four.
                let [a, b, c, d] = changes[i];
                (groups[i], changes[i]) = (size - 2 - pixels[i], [d, c, b, a]);
            });
        }
        let [first, second] = groups.map(|group| group.as_uvec2());
        let [visible, next_visible] =
            [!are_invisible::<O>(&changes[0]), !are_invisible::<O>(&changes[1])];
        if !visible && !next_visible {
            return;
        }
        // SAFETY: the conditions of the function apply. Load both groups before storing any, so that all loads are in
        // flight together.
        unsafe {
            let (pixels, next) = (self.panorama.pixels(first), self.panorama.pixels(second));
            let codes = (decode, encode);
            if visible {
                self.panorama.retouch(first, pixels, changes[0], &codes);
            }
            if next_visible {
                self.panorama.retouch(second, next, changes[1], &codes);
            }
        }
    }
}

/// Returns the position of the `i`-th pixel of a group.
#[device]
fn grid_pixel(first: IVec2, i: usize) -> IVec2 {
    first + ivec2(i as i32 % 2, i as i32 / 2)
}

/// The sums of the bands at level 1 in shared memory. The tile must have all cells that are read.
struct Bands {
    tile: Tile,
    staged: Shared<Cell>,
}

impl Cells for Bands {
    #[device]
    unsafe fn at(&self, place: IVec2) -> Cell {
        // SAFETY: the caller guarantees that the tile has the cell.
        unsafe { self.staged.load(index(&self.tile, place)) }
    }
}

/// The differences of a camera at level 1. The tile must have all cells that are read.
struct Differences {
    tile: Tile,
    cells: Slice<Cell>,
}

impl Cells for Differences {
    #[device]
    unsafe fn at(&self, place: IVec2) -> Cell {
        // SAFETY: the caller guarantees that the tile has the cell.
        unsafe { self.cells.load(index(&self.tile, place)) }
    }
}

/// Returns the index of a cell of level 1 in a tile.
#[device]
fn index(tile: &Tile, place: IVec2) -> u32 {
    let local = (place - first_cell(tile)).as_uvec2();
    local.y * TILE_CELLS[0] + local.x
}
