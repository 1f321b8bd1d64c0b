//! Feature detection: measures how strongly the picture changes along both axes around each pixel. The host selects the
//! points with the largest values (`host/src/ops/features`).
//!
//! [`luma_rgba8`] converts a picture to luma; [`convolve`](crate::convolve) provides smoothing and gradients.
//! [`min_eigenvalue`] sums the products of the gradients over a window around each pixel and writes the smaller
//! eigenvalue of the resulting matrix (Shi and Tomasi 1994).
//!
//! The kernel first sums the elements of each row of a window from left to right, then these row sums from top to
//! bottom. A thread computes several adjacent sums. A running sum would take fewer additions, but its rounding error
//! grows from pixel to pixel. The order of additions is the same for every pixel, so CPU and GPU agree to the bit.

#[cfg(not(target_arch = "nvptx64"))]
mod cpu;

use crate::convolve::slide::{fits, slide, store_down};
use crate::convolve::tile::SharedTile;
use crate::unroll::unroll;
use cuda_std::prelude::*;
use shared_types::Rgba8;
use shared_types::convolve::{pitch, with_halo};
use shared_types::features::{
    BLOCK, BLOCK_THREADS, COLUMNS, MAX_WINDOW, ROWS, RUN, eigenvalue_elements,
};
use shared_types::yuv::YuvMatrix;

/// The weights of red and blue in BT.601 luma. The weight of green is 1 minus both.
const WEIGHTS: [f64; 2] = YuvMatrix::Bt601.coefficients();

const _: () = assert!(RUN <= 16 && ROWS.is_multiple_of(RUN) && COLUMNS.is_multiple_of(RUN));

/// Writes the BT.601 luma (0 to 255) of each pixel's R'G'B' levels, as SSIM and the quality scores do. If all three
/// levels are equal, the luma is exactly this level.
#[kernel(launch_bounds(BLOCK_THREADS, 4), cpu(cpu::luma_rgba8))]
pub fn luma_rgba8(picture: View<Rgba8>, out: ViewMut<f32>) {
    let at = thread::index_2d();
    if picture.contains(at.x, at.y) && out.contains(at.x, at.y) {
        // SAFETY: the pixel is inside `picture` and `out`, as just checked, and only this thread writes it.
        unsafe {
            let Rgba8 { r, g, b, .. } = picture.load(at.x, at.y);
            let [r, g, b] = [r, g, b].map(f32::from);
            let [red, blue] = WEIGHTS.map(|weight| weight as f32);
            out.store(at.x, at.y, red.mul_add(r - g, blue.mul_add(b - g, g)));
        }
    }
}

/// Returns the smaller eigenvalue of the symmetric matrix `(xx xy; xy yy)`.
#[device]
fn smaller_eigenvalue(xx: f32, xy: f32, yy: f32) -> f32 {
    let (difference, twice) = (xx - yy, 2.0 * xy);
    let root = difference.mul_add(difference, twice * twice).sqrt();
    0.5 * (xx + yy - root)
}

/// Sums the products of the gradients over `window`×`window` pixels around each pixel, and writes the smaller
/// eigenvalue of the matrix of these sums, or 0 where the window extends beyond the picture. This is the body of both
/// eigenvalue kernels.
#[device]
fn eigenvalues(along_x: View<f32>, along_y: View<f32>, window: u32, out: ViewMut<f32>) {
    let (width, height) = (out.width(), out.height());
    let same = |view: View<f32>| view.width() == width && view.height() == height;
    let block = [thread::block_dim_x(), thread::block_dim_y()] == BLOCK;
    let memory = shared::dynamic_shared_mem::<f32>();
    let room = memory.len() >= eigenvalue_elements(window);
    // For larger block indices, `x0` or `y0` would wrap around to other pixels.
    let inside = thread::block_idx_x() < width.div_ceil(COLUMNS)
        && thread::block_idx_y() < height.div_ceil(ROWS);
    if !(block && room && inside && same(along_x) && same(along_y)) {
        return;
    }
    let (columns, rows) = (with_halo(COLUMNS, window), with_halo(ROWS, window));
    let staged = |i: u32| SharedTile::new(memory, i * rows * pitch(columns), pitch(columns));
    let summed = |i: u32| {
        SharedTile::new(memory, rows * (2 * pitch(columns) + i * pitch(COLUMNS)), pitch(COLUMNS))
    };
    let (x0, y0) = (thread::block_idx_x() * COLUMNS, thread::block_idx_y() * ROWS);
    let origin = (x0.wrapping_sub(window / 2), y0.wrapping_sub(window / 2));
    // SAFETY: all threads of the block reach this code. The tiles fit into shared memory, as just checked, and do not
    // overlap.
    unsafe {
        staged(0).stage(along_x, origin, columns, rows);
        staged(1).stage(along_y, origin, columns, rows);
        thread::sync_threads();
    }
    let mut item = thread::rank();
    while item < rows * (COLUMNS / RUN) {
        let (first, row) = (item / rows * RUN, item % rows);
        // SAFETY: the staged tiles contain the halo, so the windows are in bounds. Only this thread writes these
        // elements of the `summed` tiles.
        unsafe {
            let (x, y) = (staged(0).from(first, row), staged(1).from(first, row));
            // Sum one product after the other, because the sums of all three products do not fit into registers.
            let xx = slide(window, |i| x.load(i), 0.0, |sum: f32, x, _| x.mul_add(x, sum));
            store_run(summed(0).from(first, row), xx);
            let xy = slide(
                window,
                |i| (x.load(i), y.load(i)),
                0.0,
                |sum: f32, (x, y): (f32, f32), _| x.mul_add(y, sum),
            );
            store_run(summed(1).from(first, row), xy);
            let yy = slide(window, |i| y.load(i), 0.0, |sum: f32, y, _| y.mul_add(y, sum));
            store_run(summed(2).from(first, row), yy);
        }
        item += BLOCK_THREADS;
    }
    thread::sync_threads();
    let mut item = thread::rank();
    while item < COLUMNS * (ROWS / RUN) {
        let (x, first) = (item % COLUMNS, item / COLUMNS * RUN);
        // SAFETY: the `summed` tiles contain the halo, so the windows are in bounds. They were written before the
        // barrier.
        let [xx, xy, yy] = unsafe {
            [
                sum_down(summed(0).from(x, first), window),
                sum_down(summed(1).from(x, first), window),
                sum_down(summed(2).from(x, first), window),
            ]
        };
        let (x, y) = (x0 + x, y0 + first);
        let mut values = [0.0; RUN as usize];
        unroll!(RUN as usize, |i| {
            if fits(x, window, width) && fits(y + i as u32, window, height) {
                values[i] = smaller_eigenvalue(xx[i], xy[i], yy[i]);
            }
        });
        // SAFETY: each pixel of `out` belongs to one thread, so no other thread accesses these pixels.
        unsafe { store_down(out, (x, y), values) };
        item += BLOCK_THREADS;
    }
}

/// Returns [`RUN`] adjacent sums along a column: sum `i` adds `window` rows, starting with row `i` of `from`.
///
/// # Safety
/// All rows of the windows must exist, and no thread may write them without a barrier in between.
#[device]
unsafe fn sum_down(from: Shared<f32>, window: u32) -> [f32; RUN as usize] {
    // SAFETY: the caller guarantees that all rows of the windows exist and are not written at the same time.
    let row = |i| unsafe { from.load(i * pitch(COLUMNS)) };
    slide(window, row, 0.0, |sum: f32, row: f32, _| sum + row)
}

/// Stores [`RUN`] adjacent results of a thread.
///
/// # Safety
/// `to` must have at least [`RUN`] elements, which no other thread accesses without a barrier in between.
#[device]
unsafe fn store_run(to: Shared<f32>, results: [f32; RUN as usize]) {
    // SAFETY: the caller guarantees that `to` has `RUN` elements, and that no other thread accesses them.
    unroll!(RUN as usize, |i| unsafe { to.store(i as u32, results[i]) });
}

/// Writes one number for each pixel: the smaller eigenvalue for a window of `window`×`window` pixels, or 0 where the
/// window extends beyond the picture. `window` must be odd. A width above [`MAX_WINDOW`] is treated as [`MAX_WINDOW`].
///
/// Nothing is written if sizes differ, shared memory is too small, or blocks are not [`BLOCK`].
#[kernel(launch_bounds(BLOCK_THREADS, 4), barriers(2))]
pub fn min_eigenvalue(along_x: View<f32>, along_y: View<f32>, window: u32, out: ViewMut<f32>) {
    eigenvalues(along_x, along_y, window.min(MAX_WINDOW), out);
}

/// Writes the same results as [`min_eigenvalue`] with a window of 7×7 pixels, but faster, because the width is known at
/// compile time.
#[kernel(launch_bounds(BLOCK_THREADS, 4), barriers(2), cpu(cpu::min_eigenvalue_7))]
pub fn min_eigenvalue_7(along_x: View<f32>, along_y: View<f32>, out: ViewMut<f32>) {
    eigenvalues(along_x, along_y, 7, out);
}
