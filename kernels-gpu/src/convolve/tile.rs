//! Tiles of pictures in shared memory, for sliding windows.
//!
//! A thread computes several adjacent results. Their windows share most elements, so each element is read once from
//! shared memory and kept in registers. Lanes of a warp are perpendicular to the direction of the slide, one row or
//! column each; with an odd pitch there are no bank conflicts.

use crate::unroll::unroll;
use cuda_std::prelude::*;
use shared_types::convolve::{BLOCK, BLOCK_THREADS};

/// Rows of `f32` in the block's dynamic shared memory.
#[derive(Clone, Copy)]
pub(crate) struct SharedTile {
    memory: Shared<f32>,
    first: u32,
    pitch: u32,
}

impl SharedTile {
    /// Creates a tile whose rows are `pitch` elements apart, from element `first` on.
    #[inline(always)]
    pub(crate) fn new(memory: Shared<f32>, first: u32, pitch: u32) -> Self {
        Self { memory, first, pitch }
    }

    /// # Safety
    /// The element must exist, and no thread may write it without a barrier in between.
    #[inline(always)]
    pub(crate) unsafe fn load(&self, x: u32, y: u32) -> f32 {
        // SAFETY: guaranteed by the caller.
        unsafe { self.memory.load(self.first + y * self.pitch + x) }
    }

    /// Returns the elements from `(x, y)` on, in memory order.
    ///
    /// # Safety
    /// The element must exist.
    #[inline(always)]
    pub(crate) unsafe fn from(&self, x: u32, y: u32) -> Shared<f32> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.memory.tail(self.first + y * self.pitch + x) }
    }

    /// Returns the number of elements from one row to the next.
    #[inline(always)]
    pub(crate) fn pitch(&self) -> u32 {
        self.pitch
    }

    /// # Safety
    /// The element must exist, and no other thread may access it without a barrier in between.
    #[inline(always)]
    pub(crate) unsafe fn store(&self, x: u32, y: u32, value: f32) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.memory.store(self.first + y * self.pitch + x, value) };
    }

    /// Copies `columns`×`rows` pixels from `(x0, y0)` on, which may wrap below 0, into the tile; pixels outside the
    /// picture become 0.
    ///
    /// # Safety
    /// - Every thread of the block must call it, [`BLOCK`] of them.
    /// - The tile must be large enough, nothing else may access it since the last barrier, and the picture must not be
    ///   empty.
    #[inline(always)]
    pub(crate) unsafe fn stage(
        &self,
        picture: View<f32>,
        (x0, y0): (u32, u32),
        columns: u32,
        rows: u32,
    ) {
        // Starts at a column that is a multiple of four, also if `x0` wrapped.
        let lead = x0 % 4;
        let fours = (lead + columns).div_ceil(4);
        let lies_inside =
            |first: u32, many: u32, extent: u32| first <= extent && many <= extent - first;
        let inside = lies_inside(x0 - lead, 4 * fours, picture.width())
            && lies_inside(y0, rows, picture.height());
        // SAFETY: the fours are inside and aligned, as just checked; the caller guarantees the rest.
        unsafe {
            // The branch is uniform for the block, and almost always the first.
            if inside && picture.is_aligned(16) {
                self.stage_fours(picture, (x0 - lead, y0), lead, columns, rows);
            } else {
                self.stage_each(picture, (x0, y0), columns, rows);
            }
        }
    }

    /// Copies four pixels per load, except the first `lead` columns.
    ///
    /// # Safety
    /// - As for `stage`.
    /// - `x0` must be a multiple of four, and `lead` less than four.
    /// - All fours that contain one of these pixels must be inside the picture, whose rows must start at multiples of
    ///   16 bytes.
    #[inline(always)]
    unsafe fn stage_fours(
        &self,
        picture: View<f32>,
        (x0, y0): (u32, u32),
        lead: u32,
        columns: u32,
        rows: u32,
    ) {
        #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C, align(16))]
        struct Four([f32; 4]);

        /// The number of fours that a thread loads before it stores the first: enough for 31 taps.
        const DEPTH: usize = 9;

        let fours = (lead + columns).div_ceil(4);
        let many = fours * rows;
        let mut item = thread::rank();
        while item < many {
            // Indices beyond the last four repeat it.
            let place = |i: u32| {
                let item = (item + i * BLOCK_THREADS).min(many - 1);
                (item % fours * 4, item / fours)
            };
            let load = |i: u32| {
                let (x, y) = place(i);
                // SAFETY: inside and aligned, as guaranteed by the caller: `x` is a multiple of four, too.
                unsafe { picture.load_wide(x0 + x, y0 + y) }
            };
            let store = |i: u32, Four(values): Four| {
                let (x, y) = place(i);
                if item + i * BLOCK_THREADS < many {
                    unroll!(4, |c| {
                        let column = (x + c as u32).wrapping_sub(lead);
                        if column < columns {
                            // SAFETY: inside the tile; each element has one thread.
                            unsafe { self.store(column, y, values[c]) };
                        }
                    });
                }
            };
            // All in flight at once. If the filter's width is known, the unused ones disappear.
            let mut values = [load(0); DEPTH];
            unroll!(DEPTH, |i| values[i] = load(i as u32));
            unroll!(DEPTH, |i| store(i as u32, values[i]));
            item += DEPTH as u32 * BLOCK_THREADS;
        }
    }

    /// Copies pixel by pixel, at any position.
    ///
    /// # Safety
    /// The same as for `stage`.
    #[inline(always)]
    unsafe fn stage_each(&self, picture: View<f32>, (x0, y0): (u32, u32), columns: u32, rows: u32) {
        /// The number of rows that a thread has in flight.
        const DEPTH: u32 = 4;
        let mut y = thread::thread_idx_y();
        while y < rows {
            let mut x = thread::thread_idx_x();
            while x < columns {
                let load = |i: u32| {
                    let (px, py) = (x0.wrapping_add(x), y0.wrapping_add(y + i * BLOCK[1]));
                    let inside = picture.contains(px, py) && y + i * BLOCK[1] < rows;
                    // Loaded unconditionally: a load inside a branch would wait for those before it.
                    let (px, py) = if inside { (px, py) } else { (0, 0) };
                    // SAFETY: inside, or the first pixel of a picture that is not empty.
                    let value = unsafe { picture.load(px, py) };
                    if inside { value } else { 0.0 }
                };
                let store = |i: u32, value: f32| {
                    if y + i * BLOCK[1] < rows {
                        // SAFETY: inside the tile; each element has one thread.
                        unsafe { self.store(x, y + i * BLOCK[1], value) };
                    }
                };
                let (a, b, c, d) = (load(0), load(1), load(2), load(3));
                store(0, a);
                store(1, b);
                store(2, c);
                store(3, d);
                x += BLOCK[0];
            }
            y += DEPTH * BLOCK[1];
        }
    }
}
