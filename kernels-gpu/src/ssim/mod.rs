//! SSIM and squared differences of two pictures, in one pass or in two.
//!
//! SSIM compares mean, variance and covariance of both pictures a and b under a Gaussian window, at every
//! pixel whose window lies inside (Wang, Bovik, Sheikh and Simoncelli, 2004):
//!
//! ```text
//! (2 μa μb + C1) (2 σab + C2) / ((μa² + μb² + C1) (σa² + σb² + C2))
//! ```
//!
//! The fused kernels use u = a + b and v = a − b. Then the formula needs four moments instead of five, those of u, u²,
//! v and v², because 4ab = u² − v² and 2(a² + b²) = u² + v². A block walks down a strip of columns, several rows at a
//! time. First each thread filters its own column vertically. The window is the product of three short filters that
//! start and end with 1, and such a product of n rows takes n − 1 operations: 10 instead of 11. The partial results
//! for later rows stay in registers, and `ahead[i] = row · tap + ahead[i + 1]` shifts them with the same instruction
//! that adds. Then, through shared memory, a thread filters four neighbours of one row horizontally; these taps also
//! divide by the sum of the short filters. So each pixel is read from memory and squared once, except for the margins
//! of strips, and only the sums are written.
//!
//! In shared memory the four moments of a column take 16 bytes, with a gap of 16 bytes after every fourth column. Then
//! eight lanes that read every fourth column have no bank conflict, and neither do eight lanes that write two runs of
//! four columns, 16 apart. There are two buffers, so one barrier per batch of rows is enough. No branch follows
//! between the barrier and the SSIMs, so the remaining vertical filtering hides the latency of shared memory.
//!
//! Cost: (10 + 11) · 4 additions or fused multiply-adds per pixel, and half as much for everything else. The kernel is
//! bound by arithmetic, not by memory.
//!
//! Accuracy against f64: 5e-7 for noise and gradients, 4e-6 for photographs 60 levels apart. Variances are differences
//! of large numbers in f32: where both pictures are flat and more than 50 levels apart, the error is up to 1.3e-4 per
//! pixel.
//!
//! The two passes are the previous design: five moments of 16×8 pixels per block, through planes in memory. The
//! benchmarks compare the fused kernels with them.

mod luma;
mod totals;
mod two_pass;
mod window;

pub use two_pass::*;

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

/// Returns the position of a column's moments in their row.
#[inline(always)]
const fn place(column: u32) -> u32 {
    column + column / GAP
}

/// The number of columns between two gaps.
const GAP: u32 = RUN;

/// Returns the column of a block that a thread filters vertically. Eight lanes write at a time, and their positions
/// must differ in the last three bits: they have two runs of columns that are 16 apart, which is 20 positions.
#[inline(always)]
const fn column_of(thread: u32) -> u32 {
    const { assert!(RUN == 4) };
    let (lane, in_run) = (thread % 32, thread % RUN);
    thread - lane + lane / 8 * RUN + lane / RUN % 2 * 16 + in_run
}

/// Row pitch in shared memory, in columns.
const PITCH: u32 = place(BLOCK_THREADS);

/// Returns SSIM from the moments, where u² already contains 2 C2. Numerator and denominator are scaled by four.
#[inline(always)]
fn ssim([u, v, uu, vv]: Moments, params: &SsimParams) -> f32 {
    let spread_u = (-u).mul_add(u, uu);
    let spread_v = (-v).mul_add(v, vv);
    let u = 2.0_f32.mul_add(params.middle, u);
    let mean = u.mul_add(u, 2.0 * params.c1);
    let above = (-v).mul_add(v, mean) * (spread_u - spread_v);
    let below = v.mul_add(v, mean) * (spread_u + spread_v);
    above * below.fast_recip()
}

/// A thread's column in a strip of a pair of pictures.
struct Strip<P> {
    a: ColumnView<P>,
    b: ColumnView<P>,
    /// The strip's last line.
    last: u32,
}

impl<P: Pixel> Strip<P> {
    /// Loads the batch of the thread's column that starts at a line. Lines below the last repeat it.
    #[inline(always)]
    fn fetch(&self, line: u32) -> Batch {
        let fetch = |i: u32| {
            let line = (line + i).min(self.last);
            // SAFETY: inside both pictures, which have one size.
            unsafe { [self.a.load(line).bits(), self.b.load(line).bits()] }
        };
        // One by one: in a loop they would be an array in local memory.
        [fetch(0), fetch(1), fetch(2), fetch(3)]
    }
}

/// Filters four neighbours of a row horizontally; `run` starts at the first column of the first window.
///
/// # Safety
/// The columns of all four windows must exist and be written before a barrier.
#[inline(always)]
unsafe fn filter_along(run: Shared<Column>) -> [Moments; RUN as usize] {
    let mut sums: [Moments; RUN as usize] = [[0.0; 4]; RUN as usize];
    unroll!((WINDOW + RUN) as usize - 1, |i| {
        // SAFETY: guaranteed by the caller.
        let Column(column) = unsafe { run.load(place(i as u32)) };
        unroll!(RUN as usize, |j| {
            if i >= j && i - j < WINDOW as usize {
                sums[j] = zip(column, sums[j], |column, sum| column.mul_add(tap_along(i - j), sum));
            }
        });
    });
    sums
}

#[inline(always)]
fn sum(values: [f32; RUN as usize]) -> f32 {
    (values[0] + values[1]) + (values[2] + values[3])
}

/// Sums the values of the columns from `x` on that are below `inside`.
#[inline(always)]
fn sum_inside(values: [f32; RUN as usize], x: u32, inside: u32) -> f32 {
    let mut sum = 0.0;
    unroll!(RUN as usize, |j| {
        sum += if x + (j as u32) < inside { values[j] } else { 0.0 };
    });
    sum
}

/// Stores the SSIM of four neighbours from `at` on, as far as they are in the map and below column `inside`.
#[inline(always)]
fn store_run(map: ViewMut<f32>, at: UVec2, inside: u32, values: [f32; RUN as usize]) {
    unroll!(RUN as usize, |j| {
        let x = at.x + j as u32;
        if x < inside && map.contains(x, at.y) {
            // SAFETY: inside, as just checked; each pixel has one thread.
            unsafe { map.store(x, at.y, values[j]) };
        }
    });
}

/// The four neighbouring windows that a thread filters in one row of each batch.
struct Run {
    /// Row within the batch.
    row: u32,
    /// First column within the block.
    first: u32,
    /// Whether the windows count. The last threads of a row repeat others.
    counts: bool,
}

impl Run {
    #[inline(always)]
    fn of_thread(t: u32) -> Self {
        let (row, own_first) = (t / ROW_THREADS, t % ROW_THREADS * RUN);
        let first = own_first.min(BLOCK_COLUMNS - RUN);
        Self { row, first, counts: first == own_first }
    }
}

/// Returns whether pictures, parameters, buffers and block shape are valid.
#[inline(always)]
fn is_valid<P: Pixel>(
    [a, b]: [View<P>; 2],
    params: &SsimParams,
    running: SliceMut<u64>,
    sums: SliceMut<u64>,
) -> bool {
    let (width, height) = (a.width(), a.height());
    let same = width == b.width() && height == b.height();
    if !same || width < WINDOW || height < WINDOW || params.rows == 0 {
        return false;
    }
    running.len() >= RUNNING && sums.len() >= SUMS && thread::block_dim_x() == BLOCK_THREADS
}

/// Counts the squares of the batch that starts at `line`, and filters it vertically. Returns the moments of the windows
/// that end in its rows.
#[inline(always)]
fn filter_batch<P: Pixel>(
    window: &mut Window,
    totals: &mut Totals,
    batch: Batch,
    (line, own_lines): (u32, u32),
    params: &SsimParams,
) -> [Moments; LINES as usize] {
    let twice = (2.0 * params.middle) as i32;
    let lumas = lumas::<P>(batch);
    totals.add_squares::<P>(batch, lumas, line, own_lines);
    filter_down(window, lumas, twice, params)
}

#[inline(always)]
fn fused<P: Pixel>(
    [a, b]: [View<P>; 2],
    params: &SsimParams,
    map: ViewMut<f32>,
    running: SliceMut<u64>,
    sums: SliceMut<u64>,
) {
    if !is_valid([a, b], params, running, sums) {
        return;
    }
    let (width, height) = (a.width(), a.height());
    let (columns, rows) = (width - MARGIN, height - MARGIN);
    let (x0, y0) =
        (thread::block_idx_x() * BLOCK_COLUMNS, thread::block_idx_y().saturating_mul(params.rows));
    if x0 >= columns || y0 >= rows {
        return;
    }
    let t = thread::thread_idx_x();
    let lines = params.rows.min(rows - y0);
    let own_column = column_of(t);
    // The pixels of the margin are counted by the neighbouring blocks.
    let own_columns =
        if columns - x0 <= BLOCK_COLUMNS { width } else { width.min(x0 + BLOCK_COLUMNS) };
    let own_lines = if rows - y0 <= params.rows { lines + MARGIN } else { lines };
    let last_column = (x0 + own_column).min(width - 1);
    // SAFETY: inside both pictures.
    let (a, b) = unsafe { (a.column(last_column, y0), b.column(last_column, y0)) };
    let strip = Strip { a, b, last: lines + MARGIN - 1 };
    let Run { row, first, counts: run_counts } = Run::of_thread(t);
    let x = x0 + first;
    let inside = columns.min(x0 + BLOCK_COLUMNS);

    let buffer = shared_array![Column; (2 * LINES * PITCH) as usize];
    let (mut window, mut totals) = (Window::default(), Totals::default());
    let mut next = strip.fetch(0);
    let mut line = 0;
    // No window ends in these lines.
    while line < MARGIN / LINES * LINES {
        filter_batch::<P>(&mut window, &mut totals, next, (line, own_lines), params);
        next = strip.fetch(line + LINES);
        line += LINES;
    }
    // SAFETY: all of these start within the buffer.
    let (mine, run) =
        unsafe { (buffer.tail(place(own_column)), buffer.tail(row * PITCH + place(first))) };
    let whole_run = x + RUN <= inside;
    let mapped = map.width() > 0;
    while line < lines + MARGIN {
        let half = line / LINES % 2 * (LINES * PITCH);
        // SAFETY: the buffer has two halves.
        let (mine, run) = unsafe { (mine.tail(half), run.tail(half)) };
        let whole = filter_batch::<P>(&mut window, &mut totals, next, (line, own_lines), params);
        unroll!(LINES as usize, |i| {
            // SAFETY: inside; each element has one writer, and its readers of two batches ago have passed the barrier
            // of the last one.
            unsafe { mine.store(i as u32 * PITCH, Column(whole[i])) };
        });
        // In flight while this batch is filtered horizontally.
        next = strip.fetch(line + LINES);
        thread::sync_threads();
        // Runs even for results that do not count: a branch here would prevent the overlap with vertical filtering.
        // SAFETY: inside, since the run's last window ends with the block's columns; read after the barrier that
        // follows the writes.
        let values = unsafe { filter_along(run) }.map(|sums| ssim(sums, params));
        let sum = if whole_run { sum(values) } else { sum_inside(values, x, inside) };
        let complete = line + row;
        let counts = run_counts && complete >= MARGIN && complete < lines + MARGIN;
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
    // SAFETY: no thread has returned yet; the lengths were checked.
    unsafe { totals.finish(running, blocks, sums) };
}

/// Defines the fused kernel for one pixel type.
macro_rules! ssim_fused {
    ($(#[$doc:meta])* $name:ident, $type:ty) => {
        $(#[$doc])*
        ///
        /// Writes the [`SUMS`] sums; between launches `running` is all zeros. `map`, as far as it has room, receives
        /// the SSIM of each pixel whose window is inside, indexed by the window's first pixel. Nothing happens if the
        /// pictures differ in size or are smaller than the window, or if blocks are not [`BLOCK_THREADS`] or too few.
        #[kernel(launch_bounds(BLOCK_THREADS, BLOCKS), barriers(2))]
        pub fn $name(
            a: View<$type>,
            b: View<$type>,
            params: SsimParams,
            map: ViewMut<f32>,
            running: SliceMut<u64>,
            sums: SliceMut<u64>,
        ) {
            fused([a, b], &params, map, running, sums);
        }
    };
}

ssim_fused! {
    /// For two planes of 8-bit luma.
    ssim_u8, u8
}

ssim_fused! {
    /// For two planes of luma with more than 8 bits.
    ssim_u16, u16
}

ssim_fused! {
    /// For two colour pictures: compares their luma, and sums the squared colour differences.
    ssim_rgba8, Rgba8
}
