//! Tiles of pictures in shared memory, and windows that slide over them.
//!
//! A thread makes several results that lie side by side: their windows share all elements but the ends, so
//! that each element is read once from shared memory and kept in registers while it is needed. Lanes of
//! a warp lie across the direction of the slide, one row or column each; with an odd pitch
//! they never meet in a bank.

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
    /// Rows `pitch` elements apart from element `first` on.
    #[inline(always)]
    pub(crate) fn new(memory: Shared<f32>, first: u32, pitch: u32) -> Self {
        Self { memory, first, pitch }
    }

    /// # Safety
    /// The element exists, and no thread writes it without a barrier between.
    #[inline(always)]
    pub(crate) unsafe fn load(&self, x: u32, y: u32) -> f32 {
        // SAFETY: as the caller vouches.
        unsafe { self.memory.load(self.first + y * self.pitch + x) }
    }

    /// The elements from `(x, y)` on, as they lie in memory.
    ///
    /// # Safety
    /// The element exists.
    #[inline(always)]
    pub(crate) unsafe fn from(&self, x: u32, y: u32) -> Shared<f32> {
        // SAFETY: as the caller vouches.
        unsafe { self.memory.tail(self.first + y * self.pitch + x) }
    }

    /// Elements from one row to the next.
    #[inline(always)]
    pub(crate) fn pitch(&self) -> u32 {
        self.pitch
    }

    /// # Safety
    /// The element exists, and no other thread touches it without a barrier between.
    #[inline(always)]
    pub(crate) unsafe fn store(&self, x: u32, y: u32, value: f32) {
        // SAFETY: as the caller vouches.
        unsafe { self.memory.store(self.first + y * self.pitch + x, value) };
    }

    /// Copies `columns`×`rows` pixels from `(x0, y0)` on, which may wrap below 0, into the tile; what lies
    /// outside of the picture is 0.
    ///
    /// # Safety
    /// - Every thread of the block calls it, [`BLOCK`] of them.
    /// - The tile holds so much, nothing else touches it since the last barrier, and the picture is
    ///   not empty.
    #[inline(always)]
    pub(crate) unsafe fn stage(
        &self,
        picture: View<f32>,
        (x0, y0): (u32, u32),
        columns: u32,
        rows: u32,
    ) {
        // From a column that is a multiple of four on, also where `x0` wrapped.
        let lead = x0 % 4;
        let fours = (lead + columns).div_ceil(4);
        let lies_inside =
            |first: u32, many: u32, extent: u32| first <= extent && many <= extent - first;
        let inside = lies_inside(x0 - lead, 4 * fours, picture.width())
            && lies_inside(y0, rows, picture.height());
        // SAFETY: the fours are inside and aligned, as just checked; the rest is the caller's.
        unsafe {
            // The branch is the same for the whole block, and nearly always the first.
            if inside && picture.is_aligned(16) {
                self.stage_fours(picture, (x0 - lead, y0), lead, columns, rows);
            } else {
                self.stage_each(picture, (x0, y0), columns, rows);
            }
        }
    }

    /// The same, four pixels a load; the first `lead` columns are left out.
    ///
    /// # Safety
    /// - As there.
    /// - `x0` is a multiple of four, and `lead` less than four.
    /// - All fours that have one of these pixels lie in the picture, whose rows begin at multiples of 16 bytes.
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

        /// Fours that a thread loads before it stores the first: all of those of 31 taps.
        const DEPTH: usize = 9;

        let fours = (lead + columns).div_ceil(4);
        let many = fours * rows;
        let mut item = thread::rank();
        while item < many {
            // Behind the last one is the last one.
            let place = |i: u32| {
                let item = (item + i * BLOCK_THREADS).min(many - 1);
                (item % fours * 4, item / fours)
            };
            let load = |i: u32| {
                let (x, y) = place(i);
                // SAFETY: inside and aligned, as the caller vouches: `x` is a multiple of four, too.
                unsafe { picture.load_wide(x0 + x, y0 + y) }
            };
            let store = |i: u32, Four(values): Four| {
                let (x, y) = place(i);
                if item + i * BLOCK_THREADS < many {
                    unroll!(4, |c| {
                        let column = (x + c as u32).wrapping_sub(lead);
                        if column < columns {
                            // SAFETY: inside of the tile; each element has one thread.
                            unsafe { self.store(column, y, values[c]) };
                        }
                    });
                }
            };
            // All on their way at once. Where the filter's width is known, those beyond the last are not there.
            let mut values = [load(0); DEPTH];
            unroll!(DEPTH, |i| values[i] = load(i as u32));
            unroll!(DEPTH, |i| store(i as u32, values[i]));
            item += DEPTH as u32 * BLOCK_THREADS;
        }
    }

    /// The same, pixel by pixel, wherever they lie.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn stage_each(&self, picture: View<f32>, (x0, y0): (u32, u32), columns: u32, rows: u32) {
        /// Rows that a thread has on their way at once.
        const DEPTH: u32 = 4;
        let mut y = thread::thread_idx_y();
        while y < rows {
            let mut x = thread::thread_idx_x();
            while x < columns {
                let load = |i: u32| {
                    let (px, py) = (x0.wrapping_add(x), y0.wrapping_add(y + i * BLOCK[1]));
                    let inside = picture.contains(px, py) && y + i * BLOCK[1] < rows;
                    // Loaded in any case: a load in a branch would wait for those before it.
                    let (px, py) = if inside { (px, py) } else { (0, 0) };
                    // SAFETY: inside, or the first pixel of a picture that is not empty.
                    let value = unsafe { picture.load(px, py) };
                    if inside { value } else { 0.0 }
                };
                let store = |i: u32, value: f32| {
                    if y + i * BLOCK[1] < rows {
                        // SAFETY: inside of the tile; each element has one thread.
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
