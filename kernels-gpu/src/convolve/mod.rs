//! Separable convolution: along rows, then along columns, in one launch, or in two for more than 63 taps.
//!
//! A pass with `width` taps computes `out[i] = Σ_j in[i − width/2 + j] · taps[j]`. It adds the products with fused
//! multiply-adds, in ascending order of `j`, starting with 0. The result is 0 where the window extends beyond the
//! picture. `taps` contains the filter in reverse order, which is the order of the pixels by which the taps are
//! multiplied. Two launches and one fused launch give bit-identical results.
//!
//! A block stages its part of the picture with the halo in shared memory, filters its rows into a second tile,
//! and filters the columns of that tile into the output. So the fused kernels read each pixel from device memory once,
//! except in the halo. In the pass along rows, the lanes of a warp process adjacent rows; in the pass along columns,
//! adjacent columns. Each thread computes 16 adjacent results at a time and reads each element of their windows once.
//!
//! Filters of up to 63 taps are a launch argument. CUDA keeps arguments in constant memory, so an instruction takes a
//! tap as a direct operand. Each launch has its own copy, so streams with different filters do not interfere and no
//! upload is needed. With a single `constant!` array, all streams would have to synchronise at each change. Kernels
//! read the taps of longer filters from global memory.

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod cpu;
pub(crate) mod slide;
pub(crate) mod tile;

use crate::convolve::slide::{MAX_WINDOW, all_fit, fits, slide, slide_far, store_down};
use crate::convolve::tile::SharedTile;
use crate::unroll::unroll;
use cuda_std::prelude::*;
use shared_types::convolve::{
    BLOCK, BLOCK_THREADS, ConstantTaps, MAX_LINES, MAX_WIDTH, RUN, TILE, column_pass_elements,
    fused_elements, pitch, row_pass_elements, with_halo,
};

const _: () = assert!(RUN <= 16 && TILE.is_multiple_of(RUN));

/// A filter along one axis.
trait Taps: Copy {
    /// Returns the number of taps.
    fn width(&self) -> u32;

    /// Returns [`RUN`] adjacent results. `load` returns an input element; the window of result `i` starts at element
    /// `i`.
    fn run(&self, load: impl Fn(u32) -> f32) -> [f32; RUN as usize];
}

/// Taps in constant memory. `WIDTH` is their number, or 0 if it is known only at run time.
#[derive(Clone, Copy)]
struct Constant<const WIDTH: u32>(ConstantTaps);

/// Taps in global memory.
#[derive(Clone, Copy)]
struct Global(Slice<f32>);

impl<const WIDTH: u32> Taps for Constant<WIDTH> {
    #[device]
    fn width(&self) -> u32 {
        if WIDTH > 0 { WIDTH } else { self.0.width.min(MAX_WINDOW) }
    }

    #[device]
    fn run(&self, load: impl Fn(u32) -> f32) -> [f32; RUN as usize] {
        let taps = &self.0.taps;
        slide(self.width(), load, 0.0, |sum, x, j| x.mul_add(taps[j as usize], sum))
    }
}

impl Taps for Global {
    #[device]
    fn width(&self) -> u32 {
        self.0.len()
    }

    #[device]
    fn run(&self, load: impl Fn(u32) -> f32) -> [f32; RUN as usize] {
        // SAFETY: `slide_far` calls this function only with `j` less than `self.0.len()`.
        slide_far(self.0.len(), load, |j| unsafe { self.0.load(j) })
    }
}

/// Filters the rows of a staged tile: writes [`TILE`] results to each of `rows` rows of `to`. The first column of
/// results is column `x0` of a picture with `width` columns.
///
/// # Safety
/// - Every thread of the block must call it, after the barrier that follows staging.
/// - `from` must contain the rows with their halo, `to` must have room for all results, and no other code may have
///   accessed `to` since that barrier.
#[device]
unsafe fn filter_rows(
    from: SharedTile,
    taps: &impl Taps,
    (x0, width): (u32, u32),
    rows: u32,
    to: SharedTile,
) {
    // The condition is uniform for the block. It is false only at the left and right edges of the picture.
    let all_fit = all_fit(x0, TILE, taps.width(), width);
    let mut item = thread::rank();
    while item < rows * (TILE / RUN) {
        let (first, y) = (item / rows * RUN, item % rows);
        // SAFETY: `from` contains the halo, as the caller guarantees, so the windows of all results are in bounds.
        let mut sums = unsafe {
            let line = from.from(first, y);
            taps.run(|i| line.load(i))
        };
        if !all_fit {
            clear_unfit(&mut sums, x0 + first, taps.width(), width);
        }
        unroll!(RUN as usize, |i| {
            // SAFETY: the element is inside `to`, and only this thread writes it.
            unsafe { to.store(first + i as u32, y, sums[i]) };
        });
        item += BLOCK_THREADS;
    }
}

/// Sets a result to 0 if its window of `width` elements extends beyond `0..extent`. `first` is the position of the
/// first result.
#[device]
fn clear_unfit(results: &mut [f32; RUN as usize], first: u32, width: u32, extent: u32) {
    unroll!(RUN as usize, |i| {
        if !fits(first + i as u32, width, extent) {
            results[i] = 0.0;
        }
    });
}

/// Filters the columns of a tile into the output: writes [`TILE`] results to each of `columns` columns. The first
/// pixel is at `(x0, y0)`.
///
/// # Safety
/// - Every thread of the block must call it, after the barrier that follows the filling of the tile.
/// - `from` must contain the columns with their halo, and no other block may write this part of the output.
#[device]
unsafe fn filter_columns(
    from: SharedTile,
    taps: &impl Taps,
    (x0, y0): (u32, u32),
    columns: u32,
    out: ViewMut<f32>,
) {
    let all_fit = all_fit(y0, TILE, taps.width(), out.height());
    let mut item = thread::rank();
    while item < columns * (TILE / RUN) {
        let (x, first) = (item % columns, item / columns * RUN);
        // SAFETY: `from` contains the halo, as the caller guarantees, so the windows of all results are in bounds.
        let mut sums = unsafe {
            let line = from.from(x, first);
            taps.run(|i| line.load(i * from.pitch()))
        };
        let (x, y) = (x0 + x, y0 + first);
        if !all_fit {
            clear_unfit(&mut sums, y, taps.width(), out.height());
        }
        // SAFETY: the caller guarantees that no other block writes these pixels, and no other thread of this block
        // does.
        unsafe { store_down(out, (x, y), sums) };
        item += BLOCK_THREADS;
    }
}

/// Returns whether the launch and this block have the shape that the host uses: blocks of [`BLOCK`], input and output
/// of the same size, at least `elements` elements of dynamic shared memory, and a block that starts inside the output.
/// A block computes `columns`×`rows` pixels.
#[device]
fn is_sound(input: View<f32>, out: ViewMut<f32>, [columns, rows]: [u32; 2], elements: u32) -> bool {
    let block = [thread::block_dim_x(), thread::block_dim_y()] == BLOCK;
    let same = input.width() == out.width() && input.height() == out.height();
    // For larger block indices, pixel coordinates could overflow and wrap around into the picture.
    let inside = thread::block_idx_x() < out.width().div_ceil(columns)
        && thread::block_idx_y() < out.height().div_ceil(rows);
    block && same && inside && shared::dynamic_shared_mem::<f32>().len() >= elements
}

/// Returns whether a pass with `width` taps, and with `lines` rows or columns per block, is within the limits of the
/// kernels. Within these limits, the computed size of shared memory does not overflow.
#[device]
fn is_possible(width: u32, lines: u32) -> bool {
    (1..=MAX_LINES).contains(&lines) && width <= MAX_WIDTH
}

/// Computes the pass along rows with taps in global memory. A block computes [`TILE`] columns and `lines` rows.
///
/// Nothing is written if input and output differ in size, `lines` is not from 1 to [`MAX_LINES`], there are more than
/// [`MAX_WIDTH`] taps, shared memory is too small, or blocks are not [`BLOCK`].
// Three blocks fit on a multiprocessor, rather than four as for the fused kernels: with the loads of staging in flight,
// these kernels need more than 64 registers.
#[kernel(launch_bounds(BLOCK_THREADS, 3), barriers(2))]
pub fn convolve_rows(input: View<f32>, taps: Slice<f32>, lines: u32, out: ViewMut<f32>) {
    let taps = Global(taps);
    let width = taps.width();
    if !(is_possible(width, lines)
        && is_sound(input, out, [TILE, lines], row_pass_elements(width, lines)))
    {
        return;
    }
    let memory = shared::dynamic_shared_mem::<f32>();
    let columns = with_halo(TILE, width);
    let staged = SharedTile::new(memory, 0, pitch(columns));
    let filtered = SharedTile::new(memory, lines * pitch(columns), pitch(TILE));
    let (x0, y0) = (thread::block_idx_x() * TILE, thread::block_idx_y() * lines);
    // SAFETY: all threads of the block reach this code. The tiles fit into shared memory, as just checked, and do not
    // overlap.
    unsafe {
        staged.stage(input, (x0.wrapping_sub(width / 2), y0), columns, lines);
        thread::sync_threads();
        filter_rows(staged, &taps, (x0, out.width()), lines, filtered);
        thread::sync_threads();
    }
    let mut y = thread::thread_idx_y();
    while y < lines {
        let mut x = thread::thread_idx_x();
        while x < TILE {
            if out.contains(x0 + x, y0 + y) {
                // SAFETY: the element is inside `filtered`. The pixel is inside `out`, as just checked, and only this
                // thread writes the pixel.
                unsafe { out.store(x0 + x, y0 + y, filtered.load(x, y)) };
            }
            x += BLOCK[0];
        }
        y += BLOCK[1];
    }
}

/// Computes the pass along columns like [`convolve_rows`]. A block computes `lines` columns and [`TILE`] rows.
#[kernel(launch_bounds(BLOCK_THREADS, 3), barriers(1))]
pub fn convolve_columns(input: View<f32>, taps: Slice<f32>, lines: u32, out: ViewMut<f32>) {
    let taps = Global(taps);
    let width = taps.width();
    if !(is_possible(width, lines)
        && is_sound(input, out, [lines, TILE], column_pass_elements(width, lines)))
    {
        return;
    }
    let staged = SharedTile::new(shared::dynamic_shared_mem(), 0, pitch(lines));
    let (x0, y0) = (thread::block_idx_x() * lines, thread::block_idx_y() * TILE);
    // SAFETY: all threads of the block reach this code. The tile fits into shared memory, as just checked.
    unsafe {
        let origin = (x0, y0.wrapping_sub(width / 2));
        staged.stage(input, origin, lines, with_halo(TILE, width));
        thread::sync_threads();
        filter_columns(staged, &taps, (x0, y0), lines, out);
    }
}

/// Computes both passes. A block computes [`TILE`]×[`TILE`] pixels.
#[device]
fn fused(input: View<f32>, horizontal: impl Taps, vertical: impl Taps, out: ViewMut<f32>) {
    let (width, height) = (horizontal.width(), vertical.width());
    if !is_sound(input, out, [TILE; 2], fused_elements(width, height)) {
        return;
    }
    let memory = shared::dynamic_shared_mem::<f32>();
    let (columns, rows) = (with_halo(TILE, width), with_halo(TILE, height));
    let staged = SharedTile::new(memory, 0, pitch(columns));
    let filtered = SharedTile::new(memory, rows * pitch(columns), pitch(TILE));
    let (x0, y0) = (thread::block_idx_x() * TILE, thread::block_idx_y() * TILE);
    // SAFETY: all threads of the block reach this code. The tiles fit into shared memory, as just checked, and do not
    // overlap.
    unsafe {
        let origin = (x0.wrapping_sub(width / 2), y0.wrapping_sub(height / 2));
        staged.stage(input, origin, columns, rows);
        thread::sync_threads();
        filter_rows(staged, &horizontal, (x0, out.width()), rows, filtered);
        thread::sync_threads();
        filter_columns(filtered, &vertical, (x0, y0), TILE, out);
    }
}

/// Computes both derivatives of a smoothed picture, with `derive` along one axis and `smooth` along the other. A block
/// computes [`TILE`]×[`TILE`] pixels of both results, and stages the picture once.
#[device]
fn gradients(
    input: View<f32>,
    smooth: impl Taps,
    derive: impl Taps,
    along_x: ViewMut<f32>,
    along_y: ViewMut<f32>,
) {
    let width = smooth.width().max(derive.width());
    let elements = fused_elements(width, width);
    if !(is_sound(input, along_x, [TILE; 2], elements)
        && is_sound(input, along_y, [TILE; 2], elements))
    {
        return;
    }
    let memory = shared::dynamic_shared_mem::<f32>();
    let side = with_halo(TILE, width);
    let filtered = side * pitch(side);
    // Returns the distance from the start of the staged halo to the start of the halo of a filter with `taps` taps.
    let inset = |taps: u32| width / 2 - taps / 2;
    let rows_of = |taps: u32| SharedTile::new(memory, inset(taps), pitch(side));
    let columns_of =
        |taps: u32| SharedTile::new(memory, filtered + inset(taps) * pitch(TILE), pitch(TILE));
    let to = SharedTile::new(memory, filtered, pitch(TILE));
    let (x0, y0) = (thread::block_idx_x() * TILE, thread::block_idx_y() * TILE);
    let origin = (x0.wrapping_sub(width / 2), y0.wrapping_sub(width / 2));
    let columns = (x0, input.width());
    // SAFETY: all threads of the block reach this code. The tiles fit into shared memory, as just checked, and the
    // filtered tile does not overlap the staged one.
    unsafe {
        SharedTile::new(memory, 0, pitch(side)).stage(input, origin, side, side);
        thread::sync_threads();
        filter_rows(rows_of(derive.width()), &derive, columns, side, to);
        thread::sync_threads();
        filter_columns(columns_of(smooth.width()), &smooth, (x0, y0), TILE, along_x);
        thread::sync_threads();
        filter_rows(rows_of(smooth.width()), &smooth, columns, side, to);
        thread::sync_threads();
        filter_columns(columns_of(derive.width()), &derive, (x0, y0), TILE, along_y);
    }
}

/// Defines the fused kernel for one kind of taps.
macro_rules! both_passes {
    ($(#[$doc:meta])* $name:ident, $width:literal) => {
        $(#[$doc])*
        ///
        /// Nothing is written if input and output differ in size, shared memory is too small, or blocks are
        /// not [`BLOCK`].
        #[kernel(launch_bounds(BLOCK_THREADS, 4), barriers(2), cpu(cpu::fused::<$width>))]
        pub fn $name(
            input: View<f32>,
            horizontal: ConstantTaps,
            vertical: ConstantTaps,
            out: ViewMut<f32>,
        ) {
            fused(input, Constant::<$width>(horizontal), Constant::<$width>(vertical), out);
        }
    };
}

both_passes! {
    /// Computes both passes, with up to 63 taps each.
    convolve_fused, 0
}
both_passes! {
    /// Computes both passes, with 5 taps each: the smoothing before feature detection.
    convolve_fused_5, 5
}
both_passes! {
    /// Computes both passes, with 7 taps each.
    convolve_fused_7, 7
}
both_passes! {
    /// Computes both passes, with 15 taps each.
    convolve_fused_15, 15
}
both_passes! {
    /// Computes both passes, with 31 taps each.
    convolve_fused_31, 31
}

/// Computes both gradients for feature detection. Both filters have 7 taps; the widths in the arguments are ignored.
///
/// `along_x` receives the picture after `derive` along rows and `smooth` along columns; `along_y` receives the picture
/// after `smooth` along rows and `derive` along columns. Both are bit-identical to the results of two fused launches.
/// Nothing is written if sizes differ, shared memory is too small, or blocks are not [`BLOCK`].
#[kernel(launch_bounds(BLOCK_THREADS, 4), barriers(4), cpu(cpu::gradients))]
pub fn convolve_gradients_7(
    input: View<f32>,
    smooth: ConstantTaps,
    derive: ConstantTaps,
    along_x: ViewMut<f32>,
    along_y: ViewMut<f32>,
) {
    gradients(input, Constant::<7>(smooth), Constant::<7>(derive), along_x, along_y);
}
