//! Tiles of pictures in shared memory, over which threads slide their windows.
//!
//! A thread computes several adjacent results. Their windows share most elements, so each element is read once from
//! shared memory and kept in registers. Each lane of a warp slides along its own row or column. The pitch is odd, so
//! there are no bank conflicts.

use crate::unroll::unroll;
use cuda_std::prelude::*;
use shared_types::convolve::{BLOCK, BLOCK_THREADS};

/// A tile of `f32` elements in the block's dynamic shared memory.
#[derive(Clone, Copy)]
pub(crate) struct SharedTile {
    memory: Shared<f32>,
    first: u32,
    pitch: u32,
}

impl SharedTile {
    /// Creates a tile that starts at element `first` of `memory` and whose rows are `pitch` elements apart.
    #[device]
    pub(crate) fn new(memory: Shared<f32>, first: u32, pitch: u32) -> Self {
        Self { memory, first, pitch }
    }

    /// Returns element `(x, y)`.
    ///
    /// # Safety
    /// The element must exist, and a barrier must separate this load from every store to the element.
    #[device]
    pub(crate) unsafe fn load(&self, x: u32, y: u32) -> f32 {
        // SAFETY: the caller guarantees that the element exists and that no thread stores it at the same time.
        unsafe { self.memory.load(self.first + y * self.pitch + x) }
    }

    /// Returns the part of the shared memory that starts at element `(x, y)`.
    ///
    /// # Safety
    /// The element must exist.
    #[device]
    pub(crate) unsafe fn from(&self, x: u32, y: u32) -> Shared<f32> {
        // SAFETY: the caller guarantees that the element exists, so its index is within `memory`.
        unsafe { self.memory.tail(self.first + y * self.pitch + x) }
    }

    /// Returns the number of elements between the starts of two adjacent rows.
    #[device]
    pub(crate) fn pitch(&self) -> u32 {
        self.pitch
    }

    /// Stores element `(x, y)`.
    ///
    /// # Safety
    /// The element must exist, and a barrier must separate this store from every access by another thread.
    #[device]
    pub(crate) unsafe fn store(&self, x: u32, y: u32, value: f32) {
        // SAFETY: the caller guarantees that the element exists and that no other thread accesses it.
        unsafe { self.memory.store(self.first + y * self.pitch + x, value) };
    }

    /// Copies `columns`×`rows` pixels of a picture, from pixel `(x0, y0)` on, into the tile. A negative coordinate is
    /// passed as its wrapped `u32`. Pixels outside the picture become 0.
    ///
    /// # Safety
    /// - Every thread of the block must call it, and the block must be [`BLOCK`].
    /// - The tile must have room for these pixels, and no other code may have accessed the tile since the last barrier.
    /// - The picture must not be empty.
    #[device]
    pub(crate) unsafe fn stage(
        &self,
        picture: View<f32>,
        (x0, y0): (u32, u32),
        columns: u32,
        rows: u32,
    ) {
        // The number of columns from the last multiple of four to `x0`. This is also correct for a negative, wrapped
        // `x0`.
        let lead = x0 % 4;
        let fours = (lead + columns).div_ceil(4);
        let lies_inside =
            |first: u32, many: u32, extent: u32| first <= extent && many <= extent - first;
        let inside = lies_inside(x0 - lead, 4 * fours, picture.width())
            && lies_inside(y0, rows, picture.height());
        // SAFETY: the caller guarantees the conditions of `stage`. For `stage_fours`, the checks ensure that all groups
        // of four pixels are inside the picture and aligned.
        unsafe {
            // The branch is uniform for the block. If rows are aligned, only blocks at the picture's edges call
            // `stage_each`.
            if inside && picture.is_aligned(16) {
                self.stage_fours(picture, (x0 - lead, y0), lead, columns, rows);
            } else {
                self.stage_each(picture, (x0, y0), columns, rows);
            }
        }
    }

    /// Copies like [`stage`](Self::stage), with loads of four pixels, starting at `(x0, y0)`. The tile omits the first
    /// `lead` of the loaded columns.
    ///
    /// # Safety
    /// - The conditions of `stage` apply.
    /// - `x0` must be a multiple of four, and `lead` must be less than four.
    /// - All groups of four that contain one of these pixels must be inside the picture, whose rows must start at
    ///   multiples of 16 bytes.
    #[device]
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

        /// The number of loads that a thread issues before it stores the first result: enough for the whole tile with
        /// 31 taps.
        const DEPTH: usize = 9;

        let fours = (lead + columns).div_ceil(4);
        let many = fours * rows;
        let mut item = thread::rank();
        while item < many {
            // Replace an index beyond the last group of four pixels by the index of the last group, so that every load
            // is in bounds.
            let place = |i: u32| {
                let item = (item + i * BLOCK_THREADS).min(many - 1);
                (item % fours * 4, item / fours)
            };
            let load = |i: u32| {
                let (x, y) = place(i);
                // SAFETY: the caller guarantees that the group is inside the picture and that rows are aligned. The
                // group is aligned, too, because `x0 + x` is a multiple of four.
                unsafe { picture.load_wide(x0 + x, y0 + y) }
            };
            let store = |i: u32, Four(values): Four| {
                let (x, y) = place(i);
                if item + i * BLOCK_THREADS < many {
                    unroll!(4, |c| {
                        let column = (x + c as u32).wrapping_sub(lead);
                        if column < columns {
                            // SAFETY: `column < columns` and `y < rows`, so the element is inside the tile. Only this
                            // thread writes it.
                            unsafe { self.store(column, y, values[c]) };
                        }
                    });
                }
            };
            // All loads are in flight at once. If the filter's width is known at compile time, the compiler removes
            // unused loads.
            let mut values = [load(0); DEPTH];
            unroll!(DEPTH, |i| values[i] = load(i as u32));
            unroll!(DEPTH, |i| store(i as u32, values[i]));
            item += DEPTH as u32 * BLOCK_THREADS;
        }
    }

    /// Copies like [`stage`](Self::stage), but pixel by pixel, so any position and alignment is allowed.
    ///
    /// # Safety
    /// The conditions of `stage` apply.
    #[device]
    unsafe fn stage_each(&self, picture: View<f32>, (x0, y0): (u32, u32), columns: u32, rows: u32) {
        /// The number of rows that a thread loads before it stores the first of them.
        const DEPTH: u32 = 4;
        let mut y = thread::thread_idx_y();
        while y < rows {
            let mut x = thread::thread_idx_x();
            while x < columns {
                let load = |i: u32| {
                    let (px, py) = (x0.wrapping_add(x), y0.wrapping_add(y + i * BLOCK[1]));
                    let inside = picture.contains(px, py) && y + i * BLOCK[1] < rows;
                    // Load unconditionally, because a load inside a branch would wait for the loads before the branch.
                    let (px, py) = if inside { (px, py) } else { (0, 0) };
                    // SAFETY: the pixel is inside the picture, or it is the picture's first pixel, which exists because
                    // the picture is not empty.
                    let value = unsafe { picture.load(px, py) };
                    if inside { value } else { 0.0 }
                };
                let store = |i: u32, value: f32| {
                    if y + i * BLOCK[1] < rows {
                        // SAFETY: `x < columns` and the row is less than `rows`, so the element is inside the tile.
                        // Only this thread writes it.
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
