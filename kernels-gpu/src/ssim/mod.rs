//! SSIM and squared differences of two pictures, in one pass.
//!
//! SSIM compares mean μ, variance σ² and covariance σab of both pictures a and b under a Gaussian window, at every
//! pixel whose window is inside the pictures, with constants C1 and C2 (Wang, Bovik, Sheikh and Simoncelli, 2004):
//!
//! ```text
//! (2 μa μb + C1) (2 σab + C2) / ((μa² + μb² + C1) (σa² + σb² + C2))
//! ```
//!
//! The fused kernels use u = a + b and v = a − b. Then the formula needs four moments instead of five, those of u, u²,
//! v and v², because 4ab = u² − v² and 2(a² + b²) = u² + v². A block walks down a strip of columns, four rows (a batch)
//! at a time. First, each thread filters its own column vertically. The window is the convolution of three short
//! filters whose first and last taps are 1. Such a filter of n taps takes n − 1 operations, so the three take 10
//! instead of 11. Partial results for later rows stay in registers: `ahead[i] = row · tap + ahead[i + 1]` shifts and
//! adds in one instruction. Then each thread loads from shared memory and filters one row horizontally at four adjacent
//! pixels. The horizontal taps also divide by the sum of the vertical taps. So each pixel is read from memory and
//! squared once, except in the margins of strips, and only the sums are written.
//!
//! In shared memory, the four moments of a column take 16 bytes, and a gap of 16 bytes follows every fourth column. So
//! there are no bank conflicts: neither when eight lanes read every fourth column, nor when eight lanes write two runs
//! of four columns that are 16 columns apart. There are two buffers, so one barrier per batch is enough. No branch is
//! between the barrier and the SSIM values, so the compiler can move vertical filtering there to hide the latency of
//! shared memory.
//!
//! Cost: (10 + 11) · 4 additions or fused multiply-adds per pixel, and half as many other instructions. The kernel is
//! bound by arithmetic, not by memory.
//!
//! The mean SSIM differs from a computation in f64 by 5e-7 for noise and gradients, and by 4e-6 for photographs 60
//! levels apart. The reason is that variances are differences of large f32 numbers. Where both pictures are flat and
//! more than 50 levels apart, the error is up to 1.3e-4 per pixel.

#[cfg(not(target_arch = "nvptx64"))]
mod cpu;
mod luma;
mod totals;
mod window;

use cuda_std::ColumnView;
use cuda_std::prelude::*;
use glam::{UVec2, uvec2};
use shared_types::Rgba8;
use shared_types::ssim::{
    BLOCK_COLUMNS, BLOCK_THREADS, BLOCKS, LINES, MARGIN, ROW_THREADS, RUN, RUNNING, SUMS,
    SsimParams, WINDOW,
};

use crate::unroll::unroll;
use luma::{Batch, Pixel, lumas};
use totals::{Totals, summand};
use window::{Moments, Window, filter_down, tap_along, zip};

/// A column's moments in shared memory.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
struct Column(Moments);

/// Returns the position of a column's moments in a row of shared memory.
#[device]
const fn place(column: u32) -> u32 {
    column + column / GAP
}

/// The number of columns between two gaps in shared memory.
const GAP: u32 = RUN;

/// Returns the column of a block that a thread filters vertically. Eight lanes write at a time, at positions that must
/// differ modulo 8. So they write two runs of four columns that are 16 columns (20 positions) apart.
#[device]
const fn column_of(thread: u32) -> u32 {
    const { assert!(RUN == 4) };
    let (lane, in_run) = (thread % 32, thread % RUN);
    thread - lane + lane / 8 * RUN + lane / RUN % 2 * 16 + in_run
}

/// The distance between two rows of a batch in shared memory, in columns.
const PITCH: u32 = place(BLOCK_THREADS);

/// Returns the SSIM for these moments, where u² already includes 2 C2. Numerator and denominator are scaled by four.
#[device]
fn ssim([u, v, uu, vv]: Moments, params: &SsimParams) -> f32 {
    let spread_u = (-u).mul_add(u, uu);
    let spread_v = (-v).mul_add(v, vv);
    let u = 2.0_f32.mul_add(params.middle, u);
    let mean = u.mul_add(u, 2.0 * params.c1);
    let above = (-v).mul_add(v, mean) * (spread_u - spread_v);
    let below = v.mul_add(v, mean) * (spread_u + spread_v);
    above * below.fast_recip()
}

/// A thread's column of both pictures in a strip.
struct Strip<P> {
    a: ColumnView<P>,
    b: ColumnView<P>,
    /// The index of the strip's last row. Row 0 is its first row.
    last: u32,
}

impl<P: Pixel> Strip<P> {
    /// Loads the thread's column of a batch that starts at row `line`. Rows below the strip repeat its last row.
    #[device]
    fn fetch(&self, line: u32) -> Batch {
        let fetch = |i: u32| {
            let line = (line + i).min(self.last);
            // SAFETY: `line` is at most `self.last`, so the row is inside both pictures, which have the same size.
            unsafe { [self.a.load(line).bits(), self.b.load(line).bits()] }
        };
        // Four separate calls, because the results of a loop would be an array in local memory.
        [fetch(0), fetch(1), fetch(2), fetch(3)]
    }
}

/// Filters one row horizontally for four adjacent windows. `run` starts at the first column of the first window.
///
/// # Safety
/// The columns of all four windows must exist and be written before a barrier.
#[device]
unsafe fn filter_along(run: Shared<Column>) -> [Moments; RUN as usize] {
    let mut sums: [Moments; RUN as usize] = [[0.0; 4]; RUN as usize];
    unroll!((WINDOW + RUN) as usize - 1, |i| {
        // SAFETY: the caller guarantees that the columns of all four windows exist and were written.
        let Column(column) = unsafe { run.load(place(i as u32)) };
        unroll!(RUN as usize, |j| {
            if i >= j && i - j < WINDOW as usize {
                sums[j] = zip(column, sums[j], |column, sum| column.mul_add(tap_along(i - j), sum));
            }
        });
    });
    sums
}

/// Sums the values whose columns are below `inside`. The first value is in column `x`.
#[device]
fn sum_inside(values: [f32; RUN as usize], x: u32, inside: u32) -> f32 {
    let mut sum = 0.0;
    unroll!(RUN as usize, |j| {
        sum += if x + (j as u32) < inside { values[j] } else { 0.0 };
    });
    sum
}

/// Stores four adjacent SSIM values, the first one at `at`. Omits values outside the map or from column `inside` on.
#[device]
fn store_run(map: ViewMut<f32>, at: UVec2, inside: u32, values: [f32; RUN as usize]) {
    unroll!(RUN as usize, |j| {
        let x = at.x + j as u32;
        if x < inside && map.contains(x, at.y) {
            // SAFETY: the pixel is inside the map, as just checked, and only this thread writes it.
            unsafe { map.store(x, at.y, values[j]) };
        }
    });
}

#[device]
fn fused<P: Pixel>(
    a: View<P>,
    b: View<P>,
    params: &SsimParams,
    map: ViewMut<f32>,
    running: SliceMut<u64>,
    sums: SliceMut<u64>,
) {
    let (width, height) = (a.width(), a.height());
    let same = width == b.width() && height == b.height();
    if !same || width < WINDOW || height < WINDOW || params.rows == 0 {
        return;
    }
    if running.len() < RUNNING || sums.len() < SUMS {
        return;
    }
    if thread::block_dim_x() != BLOCK_THREADS {
        return;
    }
    let (columns, rows) = (width - MARGIN, height - MARGIN);
    let (x0, y0) =
        (thread::block_idx_x() * BLOCK_COLUMNS, thread::block_idx_y().saturating_mul(params.rows));
    if x0 >= columns || y0 >= rows {
        return;
    }
    let t = thread::thread_idx_x();
    let lines = params.rows.min(rows - y0);
    let own_column = column_of(t);
    // A block sums the squared differences of its own columns and rows. Only the rightmost and lowest add the margin.
    let own_columns =
        if columns - x0 <= BLOCK_COLUMNS { width } else { width.min(x0 + BLOCK_COLUMNS) };
    let own_lines = if rows - y0 <= params.rows { lines + MARGIN } else { lines };
    let twice = (2.0 * params.middle) as i32;
    let last_column = (x0 + own_column).min(width - 1);
    // SAFETY: `last_column` and `y0` are less than the width and height of both pictures.
    let (a, b) = unsafe { (a.column(last_column, y0), b.column(last_column, y0)) };
    let strip = Strip { a, b, last: lines + MARGIN - 1 };
    // In each batch, a thread filters four adjacent pixels of one row. The last threads of a row repeat the work of
    // other threads, and their results do not count.
    let (row, own_first) = (t / ROW_THREADS, t % ROW_THREADS * RUN);
    let first = own_first.min(BLOCK_COLUMNS - RUN);
    let x = x0 + first;
    let inside = columns.min(x0 + BLOCK_COLUMNS);

    let buffer = shared_array![Column; (2 * LINES * PITCH) as usize];
    let mut window = Window::default();
    let mut totals = Totals::default();
    let mut next = strip.fetch(0);
    let mut line = 0;
    // No window ends in these rows, so only the vertical filters run.
    while line < MARGIN / LINES * LINES {
        let lumas = lumas::<P>(next);
        totals.add_squares::<P>(next, lumas, line, own_lines);
        filter_down(&mut window, lumas, twice, params);
        next = strip.fetch(line + LINES);
        line += LINES;
    }
    // SAFETY: `own_column` and the run are columns of this block, and `row` is less than `LINES`, so both positions are
    // inside `buffer`.
    let (mine, run) =
        unsafe { (buffer.tail(place(own_column)), buffer.tail(row * PITCH + place(first))) };
    let whole_run = x + RUN <= inside;
    let mapped = map.width() > 0;
    while line < lines + MARGIN {
        let half = line / LINES % 2 * (LINES * PITCH);
        // SAFETY: `buffer` has two halves of equal size, so the same positions of the second half are inside it, too.
        let (mine, run) = unsafe { (mine.tail(half), run.tail(half)) };
        let lumas = lumas::<P>(next);
        totals.add_squares::<P>(next, lumas, line, own_lines);
        let whole = filter_down(&mut window, lumas, twice, params);
        unroll!(LINES as usize, |i| {
            // SAFETY: the element is inside `buffer` and has one writer. Threads that read it two batches ago have
            // passed the barrier of the last batch since then.
            unsafe { mine.store(i as u32 * PITCH, Column(whole[i])) };
        });
        // Start these loads now, so that they are in flight while this batch is filtered horizontally.
        next = strip.fetch(line + LINES);
        thread::sync_threads();
        // Filter even if the results do not count, because a branch would prevent the overlap with vertical filtering.
        // SAFETY: the last window of the run ends with the block's columns, which were written before the barrier.
        let values = unsafe { filter_along(run) }.map(|sums| ssim(sums, params));
        let sum = if whole_run {
            (values[0] + values[1]) + (values[2] + values[3])
        } else {
            sum_inside(values, x, inside)
        };
        let complete = line + row;
        let counts = first == own_first && complete >= MARGIN && complete < lines + MARGIN;
        totals.ssim += summand::<RUN>(sum, counts);
        if mapped && counts {
            store_run(map, uvec2(x, y0 + complete - MARGIN), inside, values);
        }
        line += LINES;
    }
    if x0 + own_column >= own_columns {
        (totals.squares, totals.colour_squares) = (0, 0);
    }
    let blocks = columns.div_ceil(BLOCK_COLUMNS) * rows.div_ceil(params.rows);
    // SAFETY: all threads of the block reach this call. The lengths of `running` and `sums` were checked.
    unsafe { totals.finish(running, blocks, sums) };
}

/// Defines the fused kernel for one pixel type.
macro_rules! ssim_fused {
    ($(#[$doc:meta])* $name:ident, $type:ty) => {
        $(#[$doc])*
        ///
        /// Writes the [`SUMS`] sums to `sums`. `running` must be all zeros before the first launch, and each launch
        /// resets it to zeros. `map` receives the SSIM of each pixel whose window is inside the pictures, at the
        /// position of the window's first pixel. Values for positions outside `map` are not written. Nothing happens if
        /// the pictures differ in size or are smaller than the window, `running` or `sums` is too short, or blocks are
        /// not [`BLOCK_THREADS`]. If there are too few blocks, `sums` is not written and `running` is not reset.
        #[kernel(launch_bounds(BLOCK_THREADS, BLOCKS), barriers(2), cpu(cpu::fused))]
        pub fn $name(
            a: View<$type>,
            b: View<$type>,
            params: SsimParams,
            map: ViewMut<f32>,
            running: SliceMut<u64>,
            sums: SliceMut<u64>,
        ) {
            fused(a, b, &params, map, running, sums);
        }
    };
}

ssim_fused! {
    /// Compares two planes of 8-bit luma.
    ssim_u8, u8
}

ssim_fused! {
    /// Compares two planes of luma with more than 8 bits.
    ssim_u16, u16
}

ssim_fused! {
    /// Compares the luma of two colour pictures, and sums their squared colour differences.
    ssim_rgba8, Rgba8
}
