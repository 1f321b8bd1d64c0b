//! SSIM and squared differences of two pictures, in one pass or in two.
//!
//! SSIM compares mean, variance and covariance of both pictures a and b under a Gaussian window, at every
//! pixel whose window lies inside (Wang, Bovik, Sheikh and Simoncelli, 2004):
//!
//! ```text
//! (2 μa μb + C1) (2 σab + C2) / ((μa² + μb² + C1) (σa² + σb² + C2))
//! ```
//!
//! The idea of the fused kernels: with u = a + b and v = a − b the formula needs four moments in place of
//! five, those of u, u², v and v², since 4ab = u² − v² and 2(a² + b²) = u² + v². A block walks down a strip of
//! columns, some rows at a time. First a thread filters its own column down. The window is the product of three short
//! filters that begin and end in 1, and a filter of n rows so made takes n − 1 operations: 10 in place of 11. What rows
//! to come need stays in registers, and `ahead[i] = row · tap + ahead[i + 1]` moves it one place with the instruction
//! that adds to it. Then, through shared memory, a thread filters four neighbours of one row along, by taps that also
//! undo what the short filters sum up to. So each pixel is read from memory and squared once, but for the margins of
//! strips, and nothing is written but the sums.
//!
//! In shared memory the four moments of a column are 16 bytes, and after every fourth column 16 are left out: eight
//! lanes that read four columns apart then never meet in a bank, nor do eight that write two times four columns, 16
//! apart. There are two buffers, so that a barrier parts each batch of rows from the next one, and nothing else. From
//! the barrier to the SSIMs no branch follows, so that what is left of filtering down fills the wait for shared memory.
//!
//! Cost: (10 + 11) · 4 additions or fused multiply-adds a pixel and half as much for all else. Arithmetic, not memory,
//! bounds it.
//!
//! Accuracy, against f64: 5e-7 of noise and gradients, 4e-6 of photographs 60 levels apart. Spreads are differences of
//! large numbers in f32: where both pictures are flat and more than 50 levels apart, up to 1.3e-4, at each pixel.
//!
//! The two passes are the design that it replaces: five moments of 16×8 pixels a block through planes in
//! memory. They are here to be compared with.

mod luma;
mod totals;
mod two_pass;
mod window;

pub use two_pass::*;

use crate::ssim::luma::Batch;
use crate::ssim::luma::Pixel;
use crate::ssim::luma::lumas;
use crate::ssim::totals::Totals;
use crate::ssim::totals::summand;
use crate::ssim::window::Moments;
use crate::ssim::window::Window;
use crate::ssim::window::filter_down;
use crate::ssim::window::tap_along;
use crate::ssim::window::zip;
use crate::unroll::unroll;
use cuda_std::ColumnView;
use cuda_std::prelude::*;
use shared_types::Rgba8;
use shared_types::ssim::{
    BLOCK_COLUMNS, BLOCK_THREADS, BLOCKS, LINES, MARGIN, ROW_THREADS, RUN, RUNNING, SUMS,
    SsimParams, WINDOW,
};

/// A column's moments in shared memory.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
struct Column(Moments);

/// Where a column's moments are in their row.
#[inline(always)]
const fn place(column: u32) -> u32 {
    column + column / GAP
}

/// Columns between two gaps.
const GAP: u32 = RUN;

/// The column of a block that a thread filters down. Eight lanes at a time write, whose places must differ in the last
/// three bits: they have two runs of columns that are 16 apart, which is 20 places.
#[inline(always)]
const fn column_of(thread: u32) -> u32 {
    const { assert!(RUN == 4) };
    let (lane, in_run) = (thread % 32, thread % RUN);
    thread - lane + lane / 8 * RUN + lane / RUN % 2 * 16 + in_run
}

/// Columns of shared memory from one row to the next.
const PITCH: u32 = place(BLOCK_THREADS);

/// SSIM from the moments, of which u² has 2 C2 in it: numerator and denominator doubled twice over.
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
    /// The batch of the thread's column that begins at a line. Below the last line is the last line.
    #[inline(always)]
    fn fetch(&self, line: u32) -> Batch {
        let fetch = |i: u32| {
            let line = (line + i).min(self.last);
            // SAFETY: inside of both pictures, which are of one size.
            unsafe { [self.a.load(line).bits(), self.b.load(line).bits()] }
        };
        // One after the other: in a loop they would be an array in local memory.
        [fetch(0), fetch(1), fetch(2), fetch(3)]
    }
}

#[inline(always)]
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
    // Pixels of the margin are counted by the blocks that they are no margin of.
    let own_columns =
        if columns - x0 <= BLOCK_COLUMNS { width } else { width.min(x0 + BLOCK_COLUMNS) };
    let own_lines = if rows - y0 <= params.rows { lines + MARGIN } else { lines };
    let twice = (2.0 * params.middle) as i32;
    let last_column = (x0 + own_column).min(width - 1);
    // SAFETY: inside of both pictures.
    let (a, b) = unsafe { (a.column(last_column, y0), b.column(last_column, y0)) };
    let strip = Strip { a, b, last: lines + MARGIN - 1 };
    // Of each batch, a thread filters four neighbours in one row; the last threads of a row repeat others, uncounted.
    let (row, own_first) = (t / ROW_THREADS, t % ROW_THREADS * RUN);
    let first = own_first.min(BLOCK_COLUMNS - RUN);
    let x = x0 + first;
    let inside = columns.min(x0 + BLOCK_COLUMNS);

    let buffer = shared_array![Column; (2 * LINES * PITCH) as usize];
    let mut window = Window::default();
    let mut totals = Totals::default();
    let mut next = strip.fetch(0);
    let mut line = 0;
    // No window ends in these lines.
    while line < MARGIN / LINES * LINES {
        let lumas = lumas::<P>(next);
        totals.add_squares::<P>(next, lumas, line, own_lines);
        filter_down(&mut window, lumas, twice, params);
        next = strip.fetch(line + LINES);
        line += LINES;
    }
    // SAFETY: all of these begin within the buffer.
    let (mine, run) =
        unsafe { (buffer.tail(place(own_column)), buffer.tail(row * PITCH + place(first))) };
    let whole_run = x + RUN <= inside;
    let mapped = map.width() > 0;
    while line < lines + MARGIN {
        let half = line / LINES % 2 * (LINES * PITCH);
        // SAFETY: the buffer has two halves.
        let (mine, run) = unsafe { (mine.tail(half), run.tail(half)) };
        let lumas = lumas::<P>(next);
        totals.add_squares::<P>(next, lumas, line, own_lines);
        let whole = filter_down(&mut window, lumas, twice, params);
        unroll!(LINES as usize, |i| {
            // SAFETY: inside; each element has one thread, and who read it two batches ago has passed the
            // barrier of the last one.
            unsafe { mine.store(i as u32 * PITCH, Column(whole[i])) };
        });
        // On its way while this batch is filtered along.
        next = strip.fetch(line + LINES);
        thread::sync_threads();
        // Also what does not count: a branch here would have filtering down end before it.
        let mut sums: [Moments; RUN as usize] = [[0.0; 4]; RUN as usize];
        unroll!((WINDOW + RUN) as usize - 1, |i| {
            // SAFETY: inside, since the run's last window ends with the block's columns; behind the barrier
            // after its writing.
            let Column(column) = unsafe { run.load(place(i as u32)) };
            unroll!(RUN as usize, |j| {
                if i >= j && i - j < WINDOW as usize {
                    sums[j] =
                        zip(column, sums[j], |column, sum| column.mul_add(tap_along(i - j), sum));
                }
            });
        });
        let values = [
            ssim(sums[0], params),
            ssim(sums[1], params),
            ssim(sums[2], params),
            ssim(sums[3], params),
        ];
        let sum = if whole_run {
            (values[0] + values[1]) + (values[2] + values[3])
        } else {
            let mut sum = 0.0;
            unroll!(RUN as usize, |j| {
                sum += if x + (j as u32) < inside { values[j] } else { 0.0 };
            });
            sum
        };
        let complete = line + row;
        let counts = first == own_first && complete >= MARGIN && complete < lines + MARGIN;
        totals.ssim += summand::<RUN>(sum, counts);
        if mapped && counts {
            let y = y0 + complete - MARGIN;
            unroll!(RUN as usize, |j| {
                let x = x + j as u32;
                if x < inside && map.contains(x, y) {
                    // SAFETY: inside, as just checked; each pixel has one thread.
                    unsafe { map.store(x, y, values[j]) };
                }
            });
        }
        line += LINES;
    }
    if x0 + own_column >= own_columns {
        (totals.squares, totals.colour_squares) = (0, 0);
    }
    let blocks = columns.div_ceil(BLOCK_COLUMNS) * rows.div_ceil(params.rows);
    // SAFETY: all threads of the block are still here; the lengths were checked.
    unsafe { totals.finish(running, blocks, sums) };
}

/// Defines the fused kernel for one kind of picture.
macro_rules! ssim_fused {
    ($(#[$doc:meta])* $name:ident, $type:ty) => {
        $(#[$doc])*
        ///
        /// Writes the [`SUMS`] sums; between launches `running` is zeros. `map`, where it has room, becomes the SSIM of
        /// each pixel whose window lies inside, from the window's first pixel on. Nothing happens if the pictures
        /// differ in size or are smaller than the window, or blocks are not of [`BLOCK_THREADS`], or too few.
        #[kernel(launch_bounds(BLOCK_THREADS, BLOCKS), barriers(2))]
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
    /// Two planes of luma of 8 bits.
    ssim_u8, u8
}

ssim_fused! {
    /// Two planes of luma of more than 8 bits.
    ssim_u16, u16
}

ssim_fused! {
    /// Two pictures in colour, by their luma; and how their colours differ.
    ssim_rgba8, Rgba8
}
