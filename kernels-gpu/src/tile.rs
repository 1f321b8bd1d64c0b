//! Tiles of pictures in shared memory, and windows that slide over them.
//!
//! A thread makes several results that lie side by side: their windows share all elements but the ends, so
//! that each element is read once from shared memory and kept in registers while it is needed. Lanes of
//! a warp lie across the direction of the slide, one row or column each; with an odd pitch
//! they never meet in a bank.

use cuda_std::prelude::*;
use shared_types::convolve::{BLOCK, BLOCK_THREADS};

/// Does the same with each of up to 16 results, by name: in a loop the results would be an array in local memory.
macro_rules! each_result {
    ($run:expr, |$i:ident| $body:expr) => {
        each_result! { $run, $i, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 }
    };
    ($run:expr, $i:ident, $body:expr, $($number:literal)*) => {
        $(
            let $i: usize = $number;
            if $i < $run {
                $body
            }
        )*
    };
}
pub(crate) use each_result;

/// Rows of `f32` in the block's dynamic shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    memory: Shared<f32>,
    first: u32,
    pitch: u32,
}

impl Tile {
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
                    each_result!(4, |c| {
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
            each_result!(DEPTH, |i| values[i] = load(i as u32));
            each_result!(DEPTH, |i| store(i as u32, values[i]));
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

/// Calls a macro with the numbers of all steps that a window of constant width can have.
macro_rules! all_steps {
    ($step:ident) => {
        $step! {
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61
            62
        }
    };
}

/// Widest window of [`slide`].
pub(crate) const MAX_WINDOW: u32 = 63;

/// `R` results whose windows of `width` elements, at most [`MAX_WINDOW`], begin at elements 0 to `R − 1`:
/// of each, `add` over its elements in ascending order, from `zero`. `add` is told the step.
///
/// Unrolled over the steps, so that what depends on a step is known when compiling: taps become constant
/// operands of the instruction that uses them. A `width` that is known then leaves no branch.
#[inline(always)]
pub(crate) fn slide<const R: usize, V: Copy, A: Copy>(
    width: u32,
    load: impl Fn(u32) -> V,
    zero: A,
    add: impl Fn(A, V, u32) -> A,
) -> [A; R] {
    let mut sums = [zero; R];
    // The elements that the next step needs, the i-th at i mod R.
    let mut window: [V; R] = core::array::from_fn(|i| load(i as u32));
    macro_rules! steps {
        ($($step:literal)*) => {
            'done: {
                $(
                    if $step >= width {
                        break 'done;
                    }
                    if $step > 0 {
                        window[($step + R - 1) % R] = load($step + R as u32 - 1);
                    }
                    for result in 0..R {
                        sums[result] = add(sums[result], window[($step + result) % R], $step);
                    }
                )*
            }
        };
    }
    all_steps!(steps);
    sums
}

/// As [`slide`], of any width: in a loop.
#[inline(always)]
pub(crate) fn slide_far<const R: usize>(
    width: u32,
    load: impl Fn(u32) -> f32,
    tap: impl Fn(u32) -> f32,
) -> [f32; R] {
    let mut sums = [0.0; R];
    let mut window: [f32; R] = core::array::from_fn(|i| load(i as u32));
    let mut step = 0;
    while step < width {
        let tap = tap(step);
        for result in 0..R {
            sums[result] = window[result].mul_add(tap, sums[result]);
        }
        step += 1;
        for result in 0..R - 1 {
            window[result] = window[result + 1];
        }
        // After the last step there is none.
        if step < width {
            window[R - 1] = load(step + R as u32 - 1);
        }
    }
    sums
}

/// Whether the windows of `width` around `many` elements from `at` on all lie in `0..extent`.
#[inline(always)]
pub(crate) fn all_fit(at: u32, many: u32, width: u32, extent: u32) -> bool {
    fits(at, width, extent) && fits(at + many - 1, width, extent)
}

/// Whether a window of `width` around `at` lies in `0..extent`.
#[inline(always)]
pub(crate) fn fits(at: u32, width: u32, extent: u32) -> bool {
    let radius = width / 2;
    at >= radius && at.wrapping_add(radius) < extent
}

/// Stores results below each other from `(x, y)` on, as far as they lie in the picture.
///
/// # Safety
/// No other thread touches these pixels.
#[inline(always)]
pub(crate) unsafe fn store_down<const R: usize>(
    out: ViewMut<f32>,
    (x, y): (u32, u32),
    results: [f32; R],
) {
    // Were each store in a branch of its own, its result would be too: one chain of additions after the
    // other.
    if out.contains(x, y + R as u32 - 1) {
        // SAFETY: the last one is inside, so all are; they are this thread's, as the caller vouches.
        each_result!(R, |i| unsafe { out.store(x, y + i as u32, results[i]) });
    } else {
        each_result!(R, |i| {
            if out.contains(x, y + i as u32) {
                // SAFETY: inside, as just checked; the rest is the caller's.
                unsafe { out.store(x, y + i as u32, results[i]) };
            }
        });
    }
}
