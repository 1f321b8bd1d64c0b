//! The kernel that computes all levels from the third one on, and the corrections at level 2.
//!
//! A block computes a square of level 2. It reduces the cells around the square to all further levels, and combines them
//! from the last level up, without device memory in between. Blocks repeat the cells around their squares, which costs
//! less than one launch per level.

use crate::multiband::pyramid::{
    Cells, Level2, cell, colour_of, find, fused, mean, reduced, up,
};
use crate::unroll::unroll;
use cuda_std::GpuHalf;
use cuda_std::prelude::*;
use glam::{IVec2, Vec4, ivec2};
use half::f16;
use shared_types::multiband::{BLOCK_THREADS, COARSE, CameraPart, Cell, MAX_LEVELS, Tile};
use shared_types::stitch::MAX_CAMERAS;

/// The sides of the regions of levels 3 to 6 whose cells a square is interpolated from.
const KEPT: [i32; 4] = [10, 6, 4, 3];

/// The first element of each region in the memory of a camera.
const KEPT_FIRST: [u32; 4] = [0, 100, 136, 152];

/// The number of elements of all regions.
const KEPT_CELLS: u32 = 161;

/// The largest sides of the regions of levels 3 to 6 whose cells are reduced. They are these with 6 levels.
const REDUCED: [u32; 4] = [38, 18, 8, 3];

/// The first element of each region in the memory for reductions, and the number of elements of all regions.
const REDUCED_FIRST: [u32; 5] = [
    0,
    REDUCED[0] * REDUCED[0],
    REDUCED[0] * REDUCED[0] + REDUCED[1] * REDUCED[1],
    REDUCED[0] * REDUCED[0] + REDUCED[1] * REDUCED[1] + REDUCED[2] * REDUCED[2],
    REDUCED[0] * REDUCED[0]
        + REDUCED[1] * REDUCED[1]
        + REDUCED[2] * REDUCED[2]
        + REDUCED[3] * REDUCED[3],
];

/// Computes the corrections of all cameras at level 2, one block per square of [`COARSE`]² cells: the sum of the bands
/// from level 2 on, minus the camera's difference at level 2. `levels` is at least 2. `weights` has the images of the
/// weights from level 2 on.
///
/// # Safety
/// - `differences` and `corrections` must contain the parts of all cameras at level 2, and `weights` those at each level.
/// - There must be a part for each camera of a tile, and `levels - 1` images of weights. No two tiles may be equal.
#[kernel(launch_bounds(BLOCK_THREADS, 2), barriers(3))]
pub unsafe fn multiband_coarse(
    parts: Table<CameraPart, MAX_CAMERAS>,
    levels: u32,
    tiles: Slice<Tile>,
    differences: View<Cell>,
    weights: Table<View<f16>, { MAX_LEVELS as usize - 1 }>,
    corrections: ViewMut<Cell>,
) {
    let scratch = shared_array![Cell; REDUCED_FIRST[4] as usize];
    let kept = shared_array![Cell; KEPT_CELLS as usize * MAX_CAMERAS];
    // The branch is uniform for the block.
    let Some(tile) = tiles.get(thread::block_idx_x()) else { return };
    let origin = ivec2(tile.column as i32, tile.row as i32) * COARSE as i32;
    let square = Square { parts, levels, tile, origin, differences, weights, scratch, kept };
    // SAFETY: the caller guarantees the conditions above, which are those of `Square`.
    unsafe {
        let (mut left, mut slot) = (tile.cameras, 0);
        while left != 0 {
            let camera = left.trailing_zeros();
            left &= left - 1;
            square.third(camera, slot);
            thread::sync_threads();
            let mut level = 4;
            while level <= levels {
                square.reduce(level, slot);
                thread::sync_threads();
                level += 1;
            }
            slot += 1;
        }
        let mut level = levels;
        while level > 2 {
            square.combine(level);
            thread::sync_threads();
            level -= 1;
        }
        square.correct(corrections);
    }
}

/// The cells that a block processes.
struct Square {
    parts: Table<CameraPart, MAX_CAMERAS>,
    levels: u32,
    tile: Tile,
    /// The first cell of the square at level 2.
    origin: IVec2,
    differences: View<Cell>,
    weights: Table<View<f16>, { MAX_LEVELS as usize - 1 }>,
    /// The differences of one camera, from level 3 on.
    scratch: Shared<Cell>,
    /// The differences of all cameras from level 3 on, as far as the square is interpolated from them.
    /// [`combine`](Self::combine) replaces them by corrections.
    kept: Shared<Cell>,
}

/// A square region of a level in shared memory.
struct Region {
    first: IVec2,
    side: i32,
    cells: Shared<Cell>,
}

impl Region {
    /// Returns the index of a cell, or `None` if it is outside.
    #[inline(always)]
    fn index(&self, place: IVec2) -> Option<u32> {
        let local = place - self.first;
        let inside = local.cmpge(IVec2::ZERO).all() && local.cmplt(IVec2::splat(self.side)).all();
        inside.then_some((local.y * self.side + local.x) as u32)
    }

    /// Returns the position of the `i`-th cell.
    #[inline(always)]
    fn place(&self, i: u32) -> IVec2 {
        let i = i as i32;
        self.first + ivec2(i % self.side, i / self.side)
    }
}

/// The region must contain all cells that are read.
impl Cells for Region {
    #[inline(always)]
    unsafe fn at(&self, place: IVec2) -> Cell {
        let local = place - self.first;
        // SAFETY: the caller guarantees that the region contains the cell.
        unsafe { self.cells.load((local.y * self.side + local.x) as u32) }
    }
}

/// All functions require the conditions of [`multiband_coarse`], and a barrier between them.
impl Square {
    /// Returns the region of a level that is kept for the camera in a slot.
    #[inline(always)]
    unsafe fn kept(&self, level: u32, slot: u32) -> Region {
        let index = level as usize - 3;
        // Each level needs one more cell on each side than the cells that cover the region of the level before.
        let (mut first, mut at) = (self.origin, 2);
        while at < level {
            first = (first - 1) >> 1;
            at += 1;
        }
        // SAFETY: `level` is from 3 to `MAX_LEVELS`, and `slot` is less than `MAX_CAMERAS`.
        let cells = unsafe { self.kept.tail(slot * KEPT_CELLS + select(KEPT_FIRST, index)) };
        Region { first, side: select(KEPT, index), cells }
    }

    /// Returns the region of a level in the memory for reductions. It is the part of the level from which the kept
    /// region of the last level is reduced.
    #[inline(always)]
    unsafe fn reduced(&self, level: u32) -> Region {
        // SAFETY: the last level is from 3 to `MAX_LEVELS`.
        let Region { mut first, mut side, .. } = unsafe { self.kept(self.levels, 0) };
        let mut at = self.levels;
        while at > level {
            (first, side) = (first * 2 - 1, side * 2 + 2);
            at -= 1;
        }
        // SAFETY: `level` is from 3 to `MAX_LEVELS`, so the elements exist.
        let cells = unsafe { self.scratch.tail(select(REDUCED_FIRST, level as usize - 3)) };
        Region { first, side, cells }
    }

    /// Computes level 3 of a camera, if there is one.
    #[inline(always)]
    unsafe fn third(&self, camera: u32, slot: u32) {
        if self.levels < 3 {
            return;
        }
        // SAFETY: the conditions of the function apply. Each thread writes its own cells.
        unsafe {
            let part = self.parts.get_unchecked(camera);
            self.fill(3, slot, &Level2 { part, image: self.differences });
        }
    }

    /// Computes a level of a camera from level 4 on.
    #[inline(always)]
    unsafe fn reduce(&self, level: u32, slot: u32) {
        // SAFETY: the conditions of the function apply. The region of the level before contains all cells that this one
        // is reduced from.
        unsafe { self.fill(level, slot, &self.reduced(level - 1)) };
    }

    /// Computes the region of a level from the cells of the level before, and keeps a part of it.
    #[inline(always)]
    unsafe fn fill(&self, level: u32, slot: u32, before: &impl Cells) {
        // SAFETY: the conditions of the function apply.
        unsafe {
            let (region, kept) = (self.reduced(level), self.kept(level, slot));
            let mut i = thread::rank();
            while i < (region.side * region.side) as u32 {
                let place = region.place(i);
                let cell = reduced(before, place * 2 - 1);
                region.cells.store(i, cell);
                if let Some(i) = kept.index(place) {
                    kept.cells.store(i, cell);
                }
                i += BLOCK_THREADS;
            }
        }
    }

    /// Replaces the kept differences of a level by corrections: the sum of the bands from this level on, minus the
    /// camera's difference.
    #[inline(always)]
    unsafe fn combine(&self, level: u32) {
        let i = thread::rank();
        // SAFETY: the conditions of the function apply. Each thread accesses its own cells of this level.
        unsafe {
            let region = self.kept(level, 0);
            if i >= (region.side * region.side) as u32 {
                return;
            }
            let place = region.place(i);
            let mut total = Vec4::ZERO;
            let (mut left, mut slot) = (self.tile.cameras, 0);
            while left != 0 {
                let camera = left.trailing_zeros();
                left &= left - 1;
                let difference = self.kept(level, slot).cells.load(i);
                total = self.weighted(total, level, (camera, slot), place, difference);
                slot += 1;
            }
            let total = mean(total);
            for slot in 0..slot {
                let cells = self.kept(level, slot).cells;
                let difference = colour_of(cells.load(i).colour);
                cells.store(i, cell(total - difference, 1.0));
            }
        }
    }

    /// Writes the corrections of level 2.
    #[inline(always)]
    unsafe fn correct(&self, corrections: ViewMut<Cell>) {
        let i = thread::rank();
        let place = self.origin + ivec2((i % COARSE) as i32, (i / COARSE) as i32);
        // SAFETY: the conditions of the function apply. No other thread writes the cells.
        unsafe {
            let mut total = Vec4::ZERO;
            let (mut left, mut slot) = (self.tile.cameras, 0);
            while left != 0 {
                let camera = left.trailing_zeros();
                left &= left - 1;
                let part = self.parts.get_unchecked(camera);
                let difference = Level2 { part, image: self.differences }.at(place);
                total = self.weighted(total, 2, (camera, slot), place, difference);
                slot += 1;
            }
            let total = mean(total);
            left = self.tile.cameras;
            while left != 0 {
                let camera = left.trailing_zeros();
                left &= left - 1;
                let part = self.parts.get_unchecked(camera);
                if let Some(at) = find(&part, 2, place) {
                    let difference = colour_of(self.differences.load(at.x, at.y).colour);
                    corrections.store(at.x, at.y, cell(total - difference, 1.0));
                }
            }
        }
    }

    /// Adds a camera's difference and its interpolated correction to `total`, times its weight at the cell.
    #[inline(always)]
    unsafe fn weighted(
        &self,
        total: Vec4,
        level: u32,
        (camera, slot): (u32, u32),
        place: IVec2,
        difference: Cell,
    ) -> Vec4 {
        // SAFETY: the conditions of the function apply. The kept region of the next level contains all cells from which
        // this one is interpolated.
        unsafe {
            let Some(at) = find(&self.parts.get_unchecked(camera), level, place) else {
                return total;
            };
            let weight = self.weights.get_unchecked(level - 2).load(at.x, at.y).widen();
            let mut colour = colour_of(difference.colour);
            if level < self.levels {
                colour += up(&self.kept(level + 1, slot), place);
            }
            fused(total, colour.extend(1.0), weight)
        }
    }
}

/// Returns an element of a small array without local memory.
#[inline(always)]
fn select<T: Copy, const N: usize>(array: [T; N], index: usize) -> T {
    let mut found = array[0];
    unroll!(N, |i| {
        if i == index {
            found = array[i];
        }
    });
    found
}
