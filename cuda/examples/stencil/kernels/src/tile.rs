//! The part of a plane that a block needs, in shared memory.

use cuda_std::prelude::*;
use glam::{UVec2, uvec2};

use crate::{BLOCK_X, BLOCK_Y};

/// The block's points and a border of `R` points on each side, twice.
pub(crate) struct Tile<const R: usize>(Shared<f32>);

impl<const R: usize> Tile<R> {
    /// The number of columns, with the border.
    const WIDTH: u32 = BLOCK_X + 2 * R as u32;

    /// The number of points, with the border.
    const POINTS: u32 = Self::WIDTH * (BLOCK_Y + 2 * R as u32);

    /// Returns the block's tile.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self(shared_array![f32; 2 * Tile::<R>::POINTS as usize])
    }

    /// Returns the index of a point in the buffer for the plane `z`.
    #[inline(always)]
    fn index(z: u32, point: UVec2) -> u32 {
        z % 2 * Self::POINTS + point.y * Self::WIDTH + point.x
    }

    /// Writes a point of the plane `z`.
    ///
    /// # Safety
    /// The point must be in the tile, and no other thread may access it without a barrier in between.
    #[inline(always)]
    pub(crate) unsafe fn store(&self, z: u32, point: UVec2, value: f32) {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.0.store(Self::index(z, point), value) };
    }

    /// Returns the tile from `R` rows above `point` of the plane `z` on. The neighbours of the point
    /// are at constant distances from there, so a load needs no arithmetic.
    ///
    /// # Safety
    /// The point must not be in the border.
    #[inline(always)]
    pub(crate) unsafe fn around(&self, z: u32, point: UVec2) -> Around<R> {
        let above = uvec2(point.x, point.y - R as u32);
        // SAFETY: the caller guarantees that there are `R` rows above the point.
        Around(unsafe { self.0.tail(Self::index(z, above)) })
    }
}

/// The tile from `R` rows above a point on.
pub(crate) struct Around<const R: usize>(Shared<f32>);

impl<const R: usize> Around<R> {
    /// Returns the sum of the point's four neighbours at `distance` in its plane.
    ///
    /// # Safety
    /// `distance` must be at most `R`. A barrier must separate this call from writes to the
    /// neighbours by other threads.
    #[inline(always)]
    pub(crate) unsafe fn neighbours(&self, distance: u32) -> f32 {
        let load = |index: u32| {
            // SAFETY: the neighbours are in the tile, because the point is not in the border.
            unsafe { self.0.load(index) }
        };
        let width = Tile::<R>::WIDTH;
        let centre = R as u32 * width;
        let in_row = load(centre - distance) + load(centre + distance);
        in_row + (load(centre - distance * width) + load(centre + distance * width))
    }
}

/// A point of the border that a thread copies to the tile.
pub(crate) struct Border {
    /// The point, in the tile.
    pub(crate) point: UVec2,
    /// Whether the thread copies a point at all.
    pub(crate) exists: bool,
}

impl Border {
    /// Returns the border point of the running thread. The first threads copy the rows above and
    /// below the block's points, and the next ones the columns at the left and the right.
    #[inline(always)]
    pub(crate) fn of_thread<const R: usize>() -> Self {
        const { assert!(2 * R as u32 * (BLOCK_X + BLOCK_Y) <= BLOCK_X * BLOCK_Y) };
        let (rank, r) = (thread::rank(), R as u32);
        // The number of a row or column, counted from the block's side on.
        let beyond = |k: u32, block: u32| if k < r { k } else { k + block };
        let in_rows = 2 * r * BLOCK_X;
        if rank < in_rows {
            let point = uvec2(r + rank % BLOCK_X, beyond(rank / BLOCK_X, BLOCK_Y));
            return Self { point, exists: true };
        }
        let rest = rank - in_rows;
        let point = uvec2(beyond(rest % (2 * r), BLOCK_X), r + rest / (2 * r) % BLOCK_Y);
        Self { point, exists: rest < 2 * r * BLOCK_Y }
    }
}
