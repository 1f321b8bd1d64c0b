//! The kernels that compute levels 3 and 4, all further levels, and the corrections at level 2.
//!
//! A block computes a square of level 2. [`multiband_coarsen`] reduces it to levels 3 and 4. [`multiband_correct`] then
//! reduces the cells of level 4 around the square to all further levels, and combines the levels from the last one up,
//! without device memory in between. Blocks repeat the cells around their squares, which costs less than one launch per
//! level.

use crate::multiband::pyramid::{
    Cells, InImage, add_weighted, cell, colour_of, find, half, mean, reduced, up,
};
use crate::unroll::unroll;
use cuda_std::GpuHalf;
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use glam::{IVec2, UVec2, Vec4, ivec2, uvec2};
use half::f16;
use shared_types::multiband::{
    BLOCK_THREADS, COARSE, CORRECT_THREADS, CameraPart, Cell, KEPT_CELLS, MAX_LEVELS, Tile,
};
use shared_types::stitch::MAX_CAMERAS;

/// The sides of the regions of levels 3 to 6 whose cells a square is interpolated from.
const KEPT: [i32; 4] = [10, 6, 4, 3];

/// The first element of each region in the memory of a camera.
const KEPT_FIRST: [u32; 4] = [0, 100, 136, 152];

/// The largest sides of the regions of levels 5 and 6 whose cells are reduced. They are these with 6 levels.
const REDUCED: [u32; 2] = [8, 3];

/// The first element of each region in the memory for reductions, and the number of elements of all regions.
const REDUCED_FIRST: [u32; 3] =
    [0, REDUCED[0] * REDUCED[0], REDUCED[0] * REDUCED[0] + REDUCED[1] * REDUCED[1]];

/// The number of cameras that a block reduces at the same time, each by a team of threads.
const TEAMS: u32 = 2;

/// The threads of a team of [`multiband_coarsen`].
const COARSEN_TEAM: u32 = BLOCK_THREADS / TEAMS;

/// The threads of a team of [`multiband_correct`], and its columns of threads.
const CORRECT_TEAM: u32 = CORRECT_THREADS / TEAMS;
const COLUMNS: u32 = 8;

/// Computes levels 3 and 4 of the differences of all cameras from level 2, one block per square of [`COARSE`]² cells of
/// level 2.
///
/// # Safety
/// Blocks must have [`BLOCK_THREADS`] threads. The images must contain the parts of all cameras at levels 2 to 4. There must be a part for each camera of a square.
/// No two squares may be equal.
#[kernel(launch_bounds(BLOCK_THREADS, 2), barriers(2))]
pub unsafe fn multiband_coarsen(
    parts: Table<CameraPart, MAX_CAMERAS>,
    squares: Slice<Tile>,
    second: View<Cell>,
    third: ViewMut<Cell>,
    fourth: ViewMut<Cell>,
) {
    /// The cells of level 4 of a square, and those of level 3 from which they are reduced, along an axis.
    const SIDES: [u32; 2] = [COARSE / 4, COARSE / 2 + 2];
    let scratch = shared_array![Cell; (TEAMS * SIDES[1] * SIDES[1]) as usize];
    // The squares never change, so they can be loaded while the previous kernel runs.
    let square = squares.get(thread::block_idx_x());
    thread::wait_for_kernel_before();
    // The branch is uniform for the block.
    let Some(square) = square else { return };
    let origin = ivec2(square.column as i32, square.row as i32);
    let i = thread::rank() % COARSEN_TEAM;
    // SAFETY: the caller guarantees that the parts exist and that the images contain them. Only this thread writes its
    // cells. The barriers separate the accesses to `scratch`.
    unsafe {
        let cells = scratch.tail(thread::rank() / COARSEN_TEAM * SIDES[1] * SIDES[1]);
        let first = origin * (COARSE / 2) as i32 - 1;
        let region = Region { first, side: SIDES[1] as i32, cells };
        let mut cameras = CameraWalk::new(square.cameras, thread::rank() / COARSEN_TEAM);
        while let Some(mine) = cameras.next() {
            if let Some((camera, _)) = mine
                && i < SIDES[1] * SIDES[1]
            {
                let part = parts.get_unchecked(camera);
                let local = uvec2(i % SIDES[1], i / SIDES[1]);
                let place = first + local.as_ivec2();
                let cell = reduced(&InImage { part, level: 2, image: second }, place * 2 - 1);
                cells.store(i, cell);
                let inside =
                    local.cmpge(UVec2::ONE).all() && local.cmplt(UVec2::splat(SIDES[1] - 1)).all();
                if inside && let Some(at) = find(&part, 3, place) {
                    third.store(at.x, at.y, cell);
                }
            }
            thread::sync_threads();
            if let Some((camera, _)) = mine
                && i < SIDES[0] * SIDES[0]
            {
                let part = parts.get_unchecked(camera);
                let local = uvec2(i % SIDES[0], i / SIDES[0]).as_ivec2();
                let place = origin * SIDES[0] as i32 + local;
                if let Some(at) = find(&part, 4, place) {
                    fourth.store(at.x, at.y, reduced(&region, place * 2 - 1));
                }
            }
            // The next cameras replace the cells.
            thread::sync_threads();
        }
    }
}

/// The cameras of a square, which the teams of a block process at the same time.
struct CameraWalk {
    left: u32,
    slot: u32,
    /// The index of the thread's team.
    team: u32,
}

impl CameraWalk {
    /// Starts with a bit for each camera.
    #[device]
    fn new(cameras: u32, team: u32) -> Self {
        Self { left: cameras, slot: 0, team }
    }

    /// Returns the next camera of the thread's team and its slot. Returns `None` for all threads after the last camera, and
    /// `Some(None)` if only other teams still have a camera.
    #[device]
    fn next(&mut self) -> Option<Option<(u32, u32)>> {
        if self.left == 0 {
            return None;
        }
        let mut mine = None;
        let mut team = 0;
        while team < TEAMS && self.left != 0 {
            if team == self.team {
                mine = Some((self.left.trailing_zeros(), self.slot));
            }
            self.left &= self.left - 1;
            (team, self.slot) = (team + 1, self.slot + 1);
        }
        Some(mine)
    }
}

/// Computes the corrections of all cameras at level 2, one block per square of [`COARSE`]² cells: the sum of the bands
/// from level 2 on, minus the camera's difference at level 2. `weights` has the images of the
/// weights from level 2 on. `third` and `fourth` are read only if there are these levels.
///
/// # Safety
/// - Blocks must have [`CORRECT_THREADS`] threads, and [`KEPT_CELLS`] cells of dynamic shared memory for each camera of
///   each square.
/// - `levels` must be 2 to [`MAX_LEVELS`].
/// - The images must contain the parts of all cameras at their levels, and there must be `levels - 1` images of weights.
/// - There must be a part for each camera of a square. No two squares may be equal.
#[kernel(launch_bounds(CORRECT_THREADS, 5), barriers(3))]
pub unsafe fn multiband_correct(
    parts: Table<CameraPart, MAX_CAMERAS>,
    levels: u32,
    squares: Slice<Tile>,
    second: View<Cell>,
    third: View<Cell>,
    fourth: View<Cell>,
    weights: Table<View<f16>, { MAX_LEVELS as usize - 1 }>,
    corrections: ViewMut<Cell>,
) {
    let scratch = shared_array![Cell; (TEAMS * REDUCED_FIRST[2]) as usize];
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
        let scratch = scratch.tail(thread::rank() / CORRECT_TEAM * REDUCED_FIRST[2]);
        let square = Square {
            parts,
            levels,
            cameras,
            origin,
            second,
            kept_images: [third, fourth],
            weights,
            scratch,
            kept,
        };
        let mut cameras = CameraWalk::new(cameras, thread::rank() / CORRECT_TEAM);
        while let Some(mine) = cameras.next() {
            if let Some(camera) = mine {
                square.keep(3, camera);
                square.keep(4, camera);
                square.reduce(5, camera);
            }
            thread::sync_threads();
            if levels > 5 {
                if let Some(camera) = mine {
                    square.reduce(6, camera);
                }
                thread::sync_threads();
            }
        }
        let mut level = levels;
        while level > 2 {
            square.combine(level);
            thread::sync_threads();
            level -= 1;
        }
        let mut i = thread::rank();
        while i < COARSE * COARSE {
            square.correct(i, corrections);
            i += CORRECT_THREADS;
        }
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
    /// The differences at levels 3 and 4.
    kept_images: [View<Cell>; 2],
    weights: Table<View<f16>, { MAX_LEVELS as usize - 1 }>,
    /// The differences of the team's camera, from level 5 on.
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
    #[device]
    fn index(&self, place: IVec2) -> Option<u32> {
        let local = place - self.first;
        let inside = local.cmpge(IVec2::ZERO).all() && local.cmplt(IVec2::splat(self.side)).all();
        inside.then_some((local.y * self.side + local.x) as u32)
    }
}

/// The region must contain all cells that are read.
impl Cells for Region {
    #[device]
    unsafe fn at(&self, place: IVec2) -> Cell {
        let local = place - self.first;
        // SAFETY: the caller guarantees that the region contains the cell.
        unsafe { self.cells.load((local.y * self.side + local.x) as u32) }
    }
}

/// All functions require the conditions of [`multiband_correct`], and a barrier before cells of another level are read.
impl Square {
    /// Returns the region of a level that is kept for the camera in a slot.
    #[device]
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

    /// Returns the region of level 5 or 6 in the memory for reductions: the part of the level from which the kept
    /// region of the last level is reduced.
    #[device]
    unsafe fn reduced(&self, level: u32) -> Region {
        // SAFETY: the last level is 5 or 6.
        let Region { mut first, mut side, .. } = unsafe { self.kept(self.levels, 0) };
        let mut at = self.levels;
        while at > level {
            (first, side) = (first * 2 - 1, side * 2 + 2);
            at -= 1;
        }
        // SAFETY: `level` is 5 or 6, so the elements exist.
        let cells = unsafe { self.scratch.tail(select(REDUCED_FIRST, level as usize - 5)) };
        Region { first, side, cells }
    }

    /// Returns a camera's weight at a cell.
    #[device]
    unsafe fn weight(&self, camera: u32, level: u32, place: IVec2) -> f16 {
        // SAFETY: the conditions of the function apply.
        unsafe {
            match find(&self.parts.get_unchecked(camera), level, place) {
                Some(at) => self.weights.get_unchecked(level - 2).load(at.x, at.y),
                None => half(0.0),
            }
        }
    }

    /// Keeps the cells of level 3 or 4 of a camera, if there is such a level.
    #[device]
    unsafe fn keep(&self, level: u32, (camera, slot): (u32, u32)) {
        if level > self.levels {
            return;
        }
        // SAFETY: the conditions of the function apply. Each thread writes its own cells.
        unsafe {
            let (part, index) = (self.parts.get_unchecked(camera), level as usize - 3);
            let (kept, image) = (self.kept(level, slot), self.kept_images[index]);
            let (cells, side) = (InImage { part, level, image }, KEPT[index] as u32);
            let mut i = thread::rank() % CORRECT_TEAM;
            while i < side * side {
                let place = kept.first + ivec2((i % side) as i32, (i / side) as i32);
                let weight = self.weight(camera, level, place);
                kept.cells.store(i, Cell { weight, ..cells.at(place) });
                i += CORRECT_TEAM;
            }
        }
    }

    /// Computes the region of level 5 or 6 of a camera, if there is such a level, and keeps a part of it.
    #[device]
    unsafe fn reduce(&self, level: u32, camera: (u32, u32)) {
        if level > self.levels {
            return;
        }
        // SAFETY: the conditions of the function apply. The region of level 5 contains all cells that level 6 is reduced
        // from.
        unsafe {
            if level == 5 {
                let (part, image) = (self.parts.get_unchecked(camera.0), self.kept_images[1]);
                self.fill(level, camera, &InImage { part, level: 4, image });
            } else {
                self.fill(level, camera, &self.reduced(level - 1));
            }
        }
    }

    /// Computes the region of a level from the cells of the level before, and keeps a part of it.
    #[device]
    unsafe fn fill(&self, level: u32, (camera, slot): (u32, u32), before: &impl Cells) {
        // SAFETY: the conditions of the function apply. Each thread writes its own cells.
        unsafe {
            let (region, kept) = (self.reduced(level), self.kept(level, slot));
            // A region has at most as many cells as a team has threads, and at most `COLUMNS` columns.
            let i = thread::rank() % CORRECT_TEAM;
            let (x, y) = (i % COLUMNS, i / COLUMNS);
            if x < region.side as u32 && y < region.side as u32 {
                let place = region.first + ivec2(x as i32, y as i32);
                let cell = reduced(before, place * 2 - 1);
                region.cells.store(y * region.side as u32 + x, cell);
                if let Some(i) = kept.index(place) {
                    let weight = self.weight(camera, level, place);
                    kept.cells.store(i, Cell { weight, ..cell });
                }
            }
        }
    }

    /// Replaces the kept differences of a level by corrections: the sum of the bands from this level on, minus the
    /// camera's difference.
    #[device]
    unsafe fn combine(&self, level: u32) {
        // A kept region has fewer cells than the block has threads.
        let (i, slots) = (thread::rank(), self.cameras.count_ones());
        // SAFETY: the conditions of the function apply. Each thread accesses its own cells of this level.
        unsafe {
            let region = self.kept(level, 0);
            let side = region.side as u32;
            if i >= side * side {
                return;
            }
            let place = region.first + ivec2((i % side) as i32, (i / side) as i32);
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

    /// Writes the corrections of cell `i` of level 2.
    #[device]
    unsafe fn correct(&self, i: u32, corrections: ViewMut<Cell>) {
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
    #[device]
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
        add_weighted(total, colour.extend(1.0), weight.widen())
    }
}

/// Returns an element of a small array without local memory.
#[device]
fn select<T: Copy, const N: usize>(array: [T; N], index: usize) -> T {
    let mut found = array[0];
    unroll!(N, |i| {
        if i == index {
            found = array[i];
        }
    });
    found
}
