//! Separable convolution: along rows, then along columns, in two launches or in one.
//!
//! A pass over `width` taps makes `out[i] = Σ_j in[i − width/2 + j] · taps[j]`, with `j` ascending from a
//! sum of 0 and every product fused, and 0 where the window leaves the picture. Taps come reversed,
//! in the order in which they meet the picture. Two passes and one launch of both agree to the bit.
//!
//! A block stages its part of the picture with the halo in shared memory, filters the rows into a second
//! tile there, and that one's columns into the output: the fused kernels touch device memory once a pixel
//! but for the halo. Lanes lie across the direction of a pass, so that each thread slides over 16 results
//! with each element read once.
//!
//! **Taps up to 64 wide are an argument of the launch**, which CUDA keeps in constant memory: an
//! instruction takes a tap from there as an operand. Each launch brings its own, so that streams
//! with different filters do not meet, and nothing is uploaded. A single `constant!` array would have
//! to be waited for by all streams at each change. Wider ones come from global memory.

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
    /// How many.
    fn width(&self) -> u32;

    /// [`RUN`] results side by side, whose first window begins at element 0.
    fn run(&self, load: impl Fn(u32) -> f32) -> [f32; RUN as usize];
}

/// In constant memory.
#[derive(Clone, Copy)]
struct Constant(ConstantTaps);

/// In constant memory, and how many is known when compiling.
#[derive(Clone, Copy)]
struct Fixed<const WIDTH: u32>(ConstantTaps);

/// In global memory.
#[derive(Clone, Copy)]
struct Global(Slice<f32>);

impl Taps for Constant {
    #[inline(always)]
    fn width(&self) -> u32 {
        self.0.width.min(MAX_WINDOW)
    }

    #[inline(always)]
    fn run(&self, load: impl Fn(u32) -> f32) -> [f32; RUN as usize] {
        let taps = &self.0.taps;
        slide(self.width(), load, 0.0, |sum, x, j| x.mul_add(taps[j as usize], sum))
    }
}

impl<const WIDTH: u32> Taps for Fixed<WIDTH> {
    #[inline(always)]
    fn width(&self) -> u32 {
        WIDTH
    }

    #[inline(always)]
    fn run(&self, load: impl Fn(u32) -> f32) -> [f32; RUN as usize] {
        let taps = &self.0.taps;
        slide(WIDTH, load, 0.0, |sum, x, j| x.mul_add(taps[j as usize], sum))
    }
}

impl Taps for Global {
    #[inline(always)]
    fn width(&self) -> u32 {
        self.0.len()
    }

    #[inline(always)]
    fn run(&self, load: impl Fn(u32) -> f32) -> [f32; RUN as usize] {
        // SAFETY: asked for the taps that there are.
        slide_far(self.0.len(), load, |j| unsafe { self.0.load(j) })
    }
}

/// Filters the rows of a staged tile: [`TILE`] results in each of `rows` rows of `to`. The first column of
/// results is column `x0` of a picture of `width` columns.
///
/// # Safety
/// - Every thread of the block calls it, behind the barrier after staging.
/// - Both tiles hold so much, and nothing else touches `to` since that barrier.
#[inline(always)]
unsafe fn filter_rows(
    from: SharedTile,
    taps: &impl Taps,
    (x0, width): (u32, u32),
    rows: u32,
    to: SharedTile,
) {
    // The same for the whole block, and nearly always so.
    let all_fit = all_fit(x0, TILE, taps.width(), width);
    let mut item = thread::rank();
    while item < rows * (TILE / RUN) {
        let (first, y) = (item / rows * RUN, item % rows);
        // SAFETY: the tile has the halo.
        let mut sums = unsafe {
            let line = from.from(first, y);
            taps.run(|i| line.load(i))
        };
        if !all_fit {
            clear_unfit(&mut sums, x0 + first, taps.width(), width);
        }
        unroll!(RUN as usize, |i| {
            // SAFETY: inside of the tile; each element has one thread.
            unsafe { to.store(first + i as u32, y, sums[i]) };
        });
        item += BLOCK_THREADS;
    }
}

/// Clears the results from place `first` on whose windows of `width` do not lie in `0..extent`.
#[inline(always)]
fn clear_unfit(results: &mut [f32; RUN as usize], first: u32, width: u32, extent: u32) {
    unroll!(RUN as usize, |i| {
        if !fits(first + i as u32, width, extent) {
            results[i] = 0.0;
        }
    });
}

/// Filters the columns of a tile into the output: [`TILE`] results in each of `columns` columns, from
/// pixel `(x0, y0)` on.
///
/// # Safety
/// - Every thread of the block calls it, behind the barrier after the tile was filled.
/// - The tile holds so much and the halo; no other block writes this part of the output.
#[inline(always)]
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
        // SAFETY: the tile has the halo.
        let mut sums = unsafe {
            let line = from.from(x, first);
            taps.run(|i| line.load(i * from.pitch()))
        };
        let (x, y) = (x0 + x, y0 + first);
        if !all_fit {
            clear_unfit(&mut sums, y, taps.width(), out.height());
        }
        // SAFETY: each pixel has one thread.
        unsafe { store_down(out, (x, y), sums) };
        item += BLOCK_THREADS;
    }
}

/// Whether a launch is what the host makes: blocks of [`BLOCK`] that each make `columns`×`rows` pixels of the
/// output, pictures of one size that is not empty, and enough shared memory.
#[inline(always)]
fn is_sound(input: View<f32>, out: ViewMut<f32>, [columns, rows]: [u32; 2], elements: u32) -> bool {
    let block = [thread::block_dim_x(), thread::block_dim_y()] == BLOCK;
    let same = input.width() == out.width() && input.height() == out.height();
    // Blocks beyond would come round to pixels of others.
    let inside = thread::block_idx_x() < out.width().div_ceil(columns)
        && thread::block_idx_y() < out.height().div_ceil(rows);
    block && same && inside && shared::dynamic_shared_mem::<f32>().len() >= elements
}

/// Whether a pass over `width` taps and `lines` rows or columns is one that fits into any shared memory.
#[inline(always)]
fn is_possible(width: u32, lines: u32) -> bool {
    (1..=MAX_LINES).contains(&lines) && width <= MAX_WIDTH
}

/// The pass along rows, [`TILE`] columns and `lines` rows a block.
#[inline(always)]
fn row_pass(input: View<f32>, taps: impl Taps, lines: u32, out: ViewMut<f32>) {
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
    // SAFETY: all threads are still here; the tiles have room, as just checked, and do not overlap.
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
                // SAFETY: inside of both; each pixel has one thread.
                unsafe { out.store(x0 + x, y0 + y, filtered.load(x, y)) };
            }
            x += BLOCK[0];
        }
        y += BLOCK[1];
    }
}

/// The pass along columns, `lines` columns and [`TILE`] rows a block.
#[inline(always)]
fn column_pass(input: View<f32>, taps: impl Taps, lines: u32, out: ViewMut<f32>) {
    let width = taps.width();
    if !(is_possible(width, lines)
        && is_sound(input, out, [lines, TILE], column_pass_elements(width, lines)))
    {
        return;
    }
    let staged = SharedTile::new(shared::dynamic_shared_mem(), 0, pitch(lines));
    let (x0, y0) = (thread::block_idx_x() * lines, thread::block_idx_y() * TILE);
    // SAFETY: all threads are still here; the tile has room, as just checked.
    unsafe {
        let origin = (x0, y0.wrapping_sub(width / 2));
        staged.stage(input, origin, lines, with_halo(TILE, width));
        thread::sync_threads();
        filter_columns(staged, &taps, (x0, y0), lines, out);
    }
}

/// Both passes, [`TILE`] columns and rows a block.
#[inline(always)]
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
    // SAFETY: all threads are still here; the tiles have room, as just checked, and do not overlap.
    unsafe {
        let origin = (x0.wrapping_sub(width / 2), y0.wrapping_sub(height / 2));
        staged.stage(input, origin, columns, rows);
        thread::sync_threads();
        filter_rows(staged, &horizontal, (x0, out.width()), rows, filtered);
        thread::sync_threads();
        filter_columns(filtered, &vertical, (x0, y0), TILE, out);
    }
}

/// Both derivatives of a smoothed picture, [`TILE`] columns and rows a block: `derive` along one axis and
/// `smooth` along the other. The picture is staged once.
#[inline(always)]
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
    // Where the narrower one's halo begins.
    let inset = |taps: u32| width / 2 - taps / 2;
    let rows_of = |taps: u32| SharedTile::new(memory, inset(taps), pitch(side));
    let columns_of =
        |taps: u32| SharedTile::new(memory, filtered + inset(taps) * pitch(TILE), pitch(TILE));
    let to = SharedTile::new(memory, filtered, pitch(TILE));
    let (x0, y0) = (thread::block_idx_x() * TILE, thread::block_idx_y() * TILE);
    let origin = (x0.wrapping_sub(width / 2), y0.wrapping_sub(width / 2));
    let columns = (x0, input.width());
    // SAFETY: all threads are still here; the tiles have room, as just checked, and what is filtered does
    // not overlap what is staged.
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

/// Defines the kernels of one pass for one kind of taps.
macro_rules! one_pass {
    ($(#[$doc:meta])* $name:ident, $pass:ident, $argument:ty => $taps:path, $barriers:literal) => {
        $(#[$doc])*
        ///
        /// Nothing is written if input and output differ in size, shared memory is too small, or blocks are
        /// not [`BLOCK`].
        // A block less than of both passes in one: what is staged is on its way in more registers.
        #[kernel(launch_bounds(BLOCK_THREADS, 3), barriers($barriers))]
        pub fn $name(input: View<f32>, taps: $argument, lines: u32, out: ViewMut<f32>) {
            $pass(input, $taps(taps), lines, out);
        }
    };
}

one_pass! {
    /// The pass along rows, for `lines` rows a block.
    convolve_rows, row_pass, ConstantTaps => Constant, 2
}
one_pass! {
    /// The pass along rows with taps in global memory, for `lines` rows a block.
    convolve_rows_wide, row_pass, Slice<f32> => Global, 2
}
one_pass! {
    /// The pass along columns, for `lines` columns a block.
    convolve_columns, column_pass, ConstantTaps => Constant, 1
}
one_pass! {
    /// The pass along columns with taps in global memory, for `lines` columns a block.
    convolve_columns_wide, column_pass, Slice<f32> => Global, 1
}

/// Defines the fused kernel for one kind of taps.
macro_rules! both_passes {
    ($(#[$doc:meta])* $name:ident, $taps:path) => {
        $(#[$doc])*
        ///
        /// Nothing is written if input and output differ in size, shared memory is too small, or blocks are
        /// not [`BLOCK`].
        #[kernel(launch_bounds(BLOCK_THREADS, 4), barriers(2))]
        pub fn $name(
            input: View<f32>,
            horizontal: ConstantTaps,
            vertical: ConstantTaps,
            out: ViewMut<f32>,
        ) {
            fused(input, $taps(horizontal), $taps(vertical), out);
        }
    };
}

both_passes! {
    /// Both passes, taps of any width up to 63.
    convolve_fused, Constant
}
both_passes! {
    /// Both passes, 5 taps each: the smoothing before features are looked for.
    convolve_fused_5, Fixed::<5>
}
both_passes! {
    /// Both passes, 7 taps each.
    convolve_fused_7, Fixed::<7>
}
both_passes! {
    /// Both passes, 15 taps each.
    convolve_fused_15, Fixed::<15>
}
both_passes! {
    /// Both passes, 31 taps each.
    convolve_fused_31, Fixed::<31>
}

/// Both gradients by 7 taps each, those that features are looked for in, whatever widths the arguments state.
///
/// `along_x` is `derive` along rows and `smooth` along columns, `along_y` the other way round: the same
/// to the bit as by two fused launches. Nothing is written if sizes differ, shared memory is too
/// small, or blocks are not [`BLOCK`].
#[kernel(launch_bounds(BLOCK_THREADS, 4), barriers(4))]
pub fn convolve_gradients_7(
    input: View<f32>,
    smooth: ConstantTaps,
    derive: ConstantTaps,
    along_x: ViewMut<f32>,
    along_y: ViewMut<f32>,
) {
    gradients(input, Fixed::<7>(smooth), Fixed::<7>(derive), along_x, along_y);
}
