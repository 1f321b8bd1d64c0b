//! SSIM in two straightforward passes. This is the previous design, with which the benchmarks compare the fused
//! kernels.

use super::luma::{Pixel, load_luma};
use super::totals::{Totals, summand};
use super::window::tap;
use crate::unroll::unroll;
use cuda_std::prelude::*;
use shared_types::ssim::{MARGIN, SUMS, SsimParams, TWO_PASS_THREADS, WINDOW};

/// The body of the first pass. It filters a, b, a², b² and ab along the rows, for each pixel whose window is inside the
/// pictures, and sums the squared differences. Here a and b are the lumas of the two pictures.
#[device]
pub(super) fn rows<P: Pixel>(
    a: View<P>,
    b: View<P>,
    planes: [ViewMut<f32>; 5],
    sums: SliceMut<u64>,
) {
    let (width, height) = (a.width(), a.height());
    let same = width == b.width() && height == b.height();
    if !same || width < WINDOW || sums.len() < SUMS {
        return;
    }
    let at = thread::index_2d();
    let (x, y) = (at.x, at.y);
    let mut totals = Totals::default();
    if x < width && y < height {
        // SAFETY: the pixel is inside both pictures, as just checked.
        let (a, b) = unsafe { (load_luma(a, x, y), load_luma(b, x, y)) };
        totals.squares = u64::from((a - b).unsigned_abs()).pow(2);
    }
    let room = planes[0].contains(x, y)
        && planes[1].contains(x, y)
        && planes[2].contains(x, y)
        && planes[3].contains(x, y)
        && planes[4].contains(x, y);
    if x < width - MARGIN && y < height && room {
        let mut moments = [0.0_f32; 5];
        unroll!(WINDOW as usize, |i| {
            // SAFETY: the window is inside both pictures, as just checked.
            let (a, b) = unsafe { (load_luma(a, x + i as u32, y), load_luma(b, x + i as u32, y)) };
            let (a, b) = (a as f32, b as f32);
            moments[0] = a.mul_add(tap(i), moments[0]);
            moments[1] = b.mul_add(tap(i), moments[1]);
            moments[2] = (a * a).mul_add(tap(i), moments[2]);
            moments[3] = (b * b).mul_add(tap(i), moments[3]);
            moments[4] = (a * b).mul_add(tap(i), moments[4]);
        });
        unroll!(5, |i| {
            // SAFETY: the pixel is inside all five planes, as checked above, and only this thread writes it.
            unsafe { planes[i].store(x, y, moments[i]) };
        });
    }
    // SAFETY: all threads of the block reach this call. Warps are complete, because the launch checks the block
    // size. The length of `sums` was checked above.
    unsafe { totals.add_to(sums) };
}

/// Defines the kernel of the first pass for one pixel type.
macro_rules! ssim_rows {
    ($(#[$doc:meta])* $name:ident, $type:ty) => {
        $(#[$doc])*
        #[kernel(launch_bounds(TWO_PASS_THREADS), block_multiple(warp::WARP_SIZE))]
        pub fn $name(
            a: View<$type>,
            b: View<$type>,
            mean_a: ViewMut<f32>,
            mean_b: ViewMut<f32>,
            square_a: ViewMut<f32>,
            square_b: ViewMut<f32>,
            product: ViewMut<f32>,
            sums: SliceMut<u64>,
        ) {
            rows(a, b, [mean_a, mean_b, square_a, square_b, product], sums);
        }
    };
}

ssim_rows! {
    /// Runs the first pass for 8-bit luma: filters along the rows into five planes, and sums the squared differences.
    ssim_rows_u8, u8
}

ssim_rows! {
    /// Runs the first pass for luma with more than 8 bits: filters along the rows into five planes, and sums the
    /// squared differences.
    ssim_rows_u16, u16
}

/// Runs the second pass: filters the five planes along the columns, computes SSIM and adds it to `sums`.
#[kernel(launch_bounds(TWO_PASS_THREADS), block_multiple(warp::WARP_SIZE))]
pub fn ssim_columns(
    mean_a: View<f32>,
    mean_b: View<f32>,
    square_a: View<f32>,
    square_b: View<f32>,
    product: View<f32>,
    params: SsimParams,
    sums: SliceMut<u64>,
) {
    if sums.len() < SUMS || mean_a.height() < WINDOW {
        return;
    }
    let at = thread::index_2d();
    let (x, y) = (at.x, at.y);
    let last = y.saturating_add(MARGIN);
    let mut totals = Totals::default();
    if mean_a.contains(x, last)
        && mean_b.contains(x, last)
        && square_a.contains(x, last)
        && square_b.contains(x, last)
        && product.contains(x, last)
    {
        let mut moments = [0.0_f32; 5];
        unroll!(WINDOW as usize, |i| {
            let y = y + i as u32;
            // SAFETY: the window is inside all five planes, as checked above.
            unsafe {
                moments[0] = mean_a.load(x, y).mul_add(tap(i), moments[0]);
                moments[1] = mean_b.load(x, y).mul_add(tap(i), moments[1]);
                moments[2] = square_a.load(x, y).mul_add(tap(i), moments[2]);
                moments[3] = square_b.load(x, y).mul_add(tap(i), moments[3]);
                moments[4] = product.load(x, y).mul_add(tap(i), moments[4]);
            }
        });
        let [a, b, aa, bb, ab] = moments;
        let (var_a, var_b, cov) = (aa - a * a, bb - b * b, ab - a * b);
        let SsimParams { c1, c2, .. } = params;
        let ssim =
            ((2.0 * a * b + c1) * (2.0 * cov + c2)) / ((a * a + b * b + c1) * (var_a + var_b + c2));
        totals.ssim = summand::<1>(ssim, true);
    }
    // SAFETY: all threads of the block reach this call. Warps are complete, because the launch checks the block
    // size. The length of `sums` was checked above.
    unsafe { totals.add_to(sums) };
}
