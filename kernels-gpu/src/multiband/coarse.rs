//! The kernels that compute level 3, all further levels, and the corrections at level 2.
//!
//! [`multiband_third`] computes level 3. A block of [`multiband_correct`] then computes a square of level 2: it reduces
//! the cells of level 3 around the square to all further levels, and combines the levels from the last one up, without
//! device memory in between. Blocks repeat the cells around their squares, which costs less than one launch per level.

use crate::multiband::pyramid::{
    Cells, InImage, cell, colour_of, find, fused, half, mean, reduced, up,
};
use crate::unroll::unroll;
use cuda_std::GpuHalf;
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use glam::{IVec2, UVec2, Vec4, ivec2, uvec2};
use half::f16;
use shared_types::multiband::{
    BLOCK_THREADS, COARSE, CameraPart, Cell, KEPT_CELLS, MAX_LEVELS, Tile,
};
use shared_types::stitch::MAX_CAMERAS;

/// The sides of the regions of levels 3 to 6 whose cells a square is interpolated from.
const KEPT: [i32; 4] = [10, 6, 4, 3];

/// The first element of each region in the memory of a camera.
const KEPT_FIRST: [u32; 4] = [0, 100, 136, 152];

/// The largest sides of the regions of levels 4 to 6 whose cells are reduced. They are these with 6 levels.
const REDUCED: [u32; 3] = [18, 8, 3];

/// The first element of each region in the memory for reductions, and the number of elements of all regions.
const REDUCED_FIRST: [u32; 4] = [
    0,
    REDUCED[0] * REDUCED[0],
    REDUCED[0] * REDUCED[0] + REDUCED[1] * REDUCED[1],
    REDUCED[0] * REDUCED[0] + REDUCED[1] * REDUCED[1] + REDUCED[2] * REDUCED[2],
];

/// The number of cameras that a block reduces at the same time.
const TEAMS: u32 = 2;

/// The number of threads that reduce a camera.
const TEAM: u32 = BLOCK_THREADS / TEAMS;

/// The columns of cells that a team computes at the same time.
const COLUMNS: u32 = 16;

/// Computes level 3 of the differences of all cameras from level 2, one block per square of [`COARSE`]² cells of level 2.
///
/// # Safety
/// `second` and `third` must contain the parts of all cameras at levels 2 and 3. There must be a part for each camera of
/// a square. No two squares may be equal.
#[kernel(launch_bounds(BLOCK_THREADS, 3))]
pub unsafe fn multiband_third(
    parts: Table<CameraPart, MAX_CAMERAS>,
    squares: Slice<Tile>,
    second: View<Cell>,
    third: ViewMut<Cell>,
) {
    const SIDE: u32 = COARSE / 2;
    let index = thread::block_idx_x();
    // The squares never change, so they can be loaded while the previous kernel runs.
    let square = squares.get(index);
    thread::wait_for_kernel_before();
    let Some(square) = square else { return };
    let (mut left, mut slot) = (square.cameras, 0);
    let (mine, i) = (thread::rank() / (SIDE * SIDE), thread::rank() % (SIDE * SIDE));
    let place =
        ivec2((square.column * SIDE + i % SIDE) as i32, (square.row * SIDE + i / SIDE) as i32);
    while left != 0 {
        let camera = left.trailing_zeros();
        left &= left - 1;
        if slot % (BLOCK_THREADS / (SIDE * SIDE)) == mine {
            // SAFETY: the caller guarantees that the part exists and that the images contain it. Only this thread writes
            // the cell.
            unsafe {
                let part = parts.get_unchecked(camera);
                if let Some(at) = find(&part, 3, place) {
                    let cells = InImage { part, level: 2, image: second };
                    third.store(at.x, at.y, reduced(&cells, place * 2 - 1));
                }
            }
        }
        slot += 1;
    }
}

/// Computes the corrections of all cameras at level 2, one block per square of [`COARSE`]² cells: the sum of the bands
/// from level 2 on, minus the camera's difference at level 2. `levels` is at least 2. `weights` has the images of the
/// weights from level 2 on. `third` is not read with two levels.
///
/// # Safety
/// - The launch must have [`KEPT_CELLS`] cells of dynamic shared memory for each camera of each square.
/// - The images must contain the parts of all cameras at their levels, and there must be `levels - 1` images of weights.
/// - There must be a part for each camera of a square. No two squares may be equal.
#[kernel(launch_bounds(BLOCK_THREADS, 2), barriers(3))]
pub unsafe fn multiband_correct(
    parts: Table<CameraPart, MAX_CAMERAS>,
    levels: u32,
    squares: Slice<Tile>,
    second: View<Cell>,
    third: View<Cell>,
    weights: Table<View<f16>, { MAX_LEVELS as usize - 1 }>,
    corrections: ViewMut<Cell>,
) {
    let scratch = shared_array![Cell; (TEAMS * REDUCED_FIRST[3]) as usize];
    let index = thread::block_idx_x();
    // The squares never change, so they can be loaded while the previous kernel runs.
    let square = squares.get(index);
    thread::wait_for_kernel_before();
    // The branch is uniform for the block.
    let Some(square) = square else { return };
    let origin = ivec2(square.column as i32, square.row as i32) * COARSE as i32;
    let (cameras, kept) = (square.cameras, dynamic_shared_mem::<Cell>());
    // SAFETY: the caller guarantees the conditions above, which are those of `Square`.
    unsafe {
        let scratch = scratch.tail(thread::rank() / TEAM * REDUCED_FIRST[3]);
        let square =
            Square { parts, levels, cameras, origin, second, third, weights, scratch, kept };
        let (mut left, mut slot) = (cameras, 0);
        while left != 0 {
            // Each team takes one of the next cameras. If there is none left for a team, it waits at the barriers.
            let mut mine = None;
            let mut team = 0;
            while team < TEAMS && left != 0 {
                if team == thread::rank() / TEAM {
                    mine = Some((left.trailing_zeros(), slot));
                }
                left &= left - 1;
                (team, slot) = (team + 1, slot + 1);
            }
            if levels >= 3 {
                if let Some(camera) = mine {
                    square.keep_third(camera);
                    square.reduce(4, camera);
                }
                thread::sync_threads();
            }
            let mut level = 5;
            while level <= levels {
                if let Some(camera) = mine {
                    square.reduce(level, camera);
                }
                thread::sync_threads();
                level += 1;
            }
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
    /// The cameras, one bit for each. The `n`-th camera has slot `n` of `kept`.
    cameras: u32,
    /// The first cell of the square at level 2.
    origin: IVec2,
    second: View<Cell>,
    third: View<Cell>,
    weights: Table<View<f16>, { MAX_LEVELS as usize - 1 }>,
    /// The differences of the team's camera, from level 4 on.
    scratch: Shared<Cell>,
    /// The differences of all cameras from level 3 on, as far as the square is interpolated from them, with the weights
    /// of the cameras. [`combine`](Self::combine) replaces the differences by corrections.
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

/// All functions require the conditions of [`multiband_correct`], and a barrier before cells of another level are read.
impl Square {
    /// Returns the region of a level that is kept for the camera in a slot.
    #[inline(always)]
    unsafe fn kept(&self, level: u32, slot: u32) -> Region {
        // Each level needs one more cell on each side than the cells that cover the region of the level before.
        let (mut first, mut at) = (self.origin, 2);
        while at < level {
            first = (first - 1) >> 1;
            at += 1;
        }
        let index = level as usize - 3;
        // SAFETY: `level` is from 3 to `MAX_LEVELS`, and the launch has memory for all slots.
        let cells = unsafe { self.kept.tail(slot * KEPT_CELLS + select(KEPT_FIRST, index)) };
        Region { first, side: select(KEPT, index), cells }
    }

    /// Returns the region of a level from 4 on in the memory for reductions: the part of the level from which the kept
    /// region of the last level is reduced.
    #[inline(always)]
    unsafe fn reduced(&self, level: u32) -> Region {
        // SAFETY: the last level is from 4 to `MAX_LEVELS`.
        let Region { mut first, mut side, .. } = unsafe { self.kept(self.levels, 0) };
        let mut at = self.levels;
        while at > level {
            (first, side) = (first * 2 - 1, side * 2 + 2);
            at -= 1;
        }
        // SAFETY: `level` is from 4 to `MAX_LEVELS`, so the elements exist.
        let cells = unsafe { self.scratch.tail(select(REDUCED_FIRST, level as usize - 4)) };
        Region { first, side, cells }
    }

    /// Returns a camera's weight at a cell.
    #[inline(always)]
    unsafe fn weight(&self, camera: u32, level: u32, place: IVec2) -> f16 {
        // SAFETY: the conditions of the function apply.
        unsafe {
            match find(&self.parts.get_unchecked(camera), level, place) {
                Some(at) => self.weights.get_unchecked(level - 2).load(at.x, at.y),
                None => half(0.0),
            }
        }
    }

    /// Keeps the cells of level 3 of a camera.
    #[inline(always)]
    unsafe fn keep_third(&self, (camera, slot): (u32, u32)) {
        // SAFETY: the conditions of the function apply. Each thread writes its own cells.
        unsafe {
            let part = self.parts.get_unchecked(camera);
            let (kept, cells) = (self.kept(3, slot), InImage { part, level: 3, image: self.third });
            // The region has fewer than `COLUMNS` columns.
            let UVec2 { x, mut y } = start();
            while x < KEPT[0] as u32 && y < KEPT[0] as u32 {
                let place = kept.first + ivec2(x as i32, y as i32);
                let weight = self.weight(camera, 3, place);
                kept.cells.store(y * KEPT[0] as u32 + x, Cell { weight, ..cells.at(place) });
                y += TEAM / COLUMNS;
            }
        }
    }

    /// Computes the region of a level of a camera from level 4 on, if there is such a level, and keeps a part of it.
    #[inline(always)]
    unsafe fn reduce(&self, level: u32, camera: (u32, u32)) {
        if level > self.levels {
            return;
        }
        // SAFETY: the conditions of the function apply. The region of the level before contains all cells that this one
        // is reduced from.
        unsafe {
            if level == 4 {
                let part = self.parts.get_unchecked(camera.0);
                self.fill(level, camera, &InImage { part, level: 3, image: self.third });
            } else {
                self.fill(level, camera, &self.reduced(level - 1));
            }
        }
    }

    /// Computes the region of a level from the cells of the level before, and keeps a part of it.
    #[inline(always)]
    unsafe fn fill(&self, level: u32, (camera, slot): (u32, u32), before: &impl Cells) {
        // SAFETY: the conditions of the function apply. Each thread writes its own cells.
        unsafe {
            let (region, kept) = (self.reduced(level), self.kept(level, slot));
            let side = region.side as u32;
            let UVec2 { mut x, mut y } = start();
            while y < side {
                if x < side {
                    let place = region.first + ivec2(x as i32, y as i32);
                    let cell = reduced(before, place * 2 - 1);
                    region.cells.store(y * side + x, cell);
                    if let Some(i) = kept.index(place) {
                        let weight = self.weight(camera, level, place);
                        kept.cells.store(i, Cell { weight, ..cell });
                    }
                }
                // A region may have more than `COLUMNS` columns, but less than twice as many.
                x += COLUMNS;
                if x >= side {
                    (x, y) = (x % COLUMNS, y + TEAM / COLUMNS);
                }
            }
        }
    }

    /// Replaces the kept differences of a level by corrections: the sum of the bands from this level on, minus the
    /// camera's difference.
    #[inline(always)]
    unsafe fn combine(&self, level: u32) {
        // A kept region has fewer cells than the block has threads, and fewer columns than `COLUMNS`.
        let (x, y) = (thread::rank() % COLUMNS, thread::rank() / COLUMNS);
        let slots = self.cameras.count_ones();
        // SAFETY: the conditions of the function apply. Each thread accesses its own cells of this level.
        unsafe {
            let region = self.kept(level, 0);
            let side = region.side as u32;
            if x >= side || y >= side {
                return;
            }
            let (i, place) = (y * side + x, region.first + ivec2(x as i32, y as i32));
            let mut total = Vec4::ZERO;
            for slot in 0..slots {
                let difference = self.kept(level, slot).cells.load(i);
                total = self.weighted(total, level, slot, place, difference);
            }
            let total = mean(total);
            for slot in 0..slots {
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
            let (mut left, mut slot) = (self.cameras, 0);
            while left != 0 {
                let camera = left.trailing_zeros();
                left &= left - 1;
                let part = self.parts.get_unchecked(camera);
                let weight = self.weight(camera, 2, place);
                let cells = InImage { part, level: 2, image: self.second };
                let difference = Cell { weight, ..cells.at(place) };
                total = self.weighted(total, 2, slot, place, difference);
                slot += 1;
            }
            let total = mean(total);
            left = self.cameras;
            while left != 0 {
                let camera = left.trailing_zeros();
                left &= left - 1;
                let part = self.parts.get_unchecked(camera);
                if let Some(at) = find(&part, 2, place) {
                    let difference = colour_of(self.second.load(at.x, at.y).colour);
                    corrections.store(at.x, at.y, cell(total - difference, 1.0));
                }
            }
        }
    }

    /// Adds a camera's difference at a cell and its interpolated correction to `total`, times the weight of the cell.
    #[inline(always)]
    unsafe fn weighted(
        &self,
        total: Vec4,
        level: u32,
        slot: u32,
        place: IVec2,
        Cell { colour, weight }: Cell,
    ) -> Vec4 {
        let mut colour = colour_of(colour);
        if level < self.levels {
            // SAFETY: the conditions of the function apply. The kept region of the next level contains all cells from
            // which this one is interpolated.
            colour += unsafe { up(&self.kept(level + 1, slot), place) };
        }
        fused(total, colour.extend(1.0), weight.widen())
    }
}

/// Returns the column and the row of the first cell that a thread of a team computes.
#[inline(always)]
fn start() -> UVec2 {
    let i = thread::rank() % TEAM;
    uvec2(i % COLUMNS, i / COLUMNS)
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
