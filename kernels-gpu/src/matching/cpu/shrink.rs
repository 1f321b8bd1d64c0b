//! Scaling down: first along rows, then along columns. The weights of a column are the same for all rows, so they are
//! computed once. A row that contributes to several rows of the result is scaled once for all rows of a core.

use super::super::Window;
use crate::cpu::{covers, vectorised};
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use rayon::prelude::*;
use std::vec;
use std::vec::Vec;

/// The number of rows of the result that a core computes at a time.
const ROWS: u32 = 32;

/// The pixels of a row that contribute to each pixel of the result, and their weights.
struct Across {
    /// For each pixel of the result, its weights one after the other. All have the same number; the last may be 0.
    taps: Vec<Vec<(u32, f32)>>,
    /// For each pixel of the result, the sum of its weights.
    sums: Vec<f32>,
}

/// Computes a launch of the kernel. The simulator runs a launch that computes only a part of the picture.
///
/// # Safety
/// All memory must be valid host memory, and nothing else may access `out` or write `input`.
pub(in crate::matching) unsafe fn shrink(
    config: &LaunchConfig,
    input: View<f32>,
    out: ViewMut<f32>,
) -> bool {
    let is_empty = [input.width(), input.height(), out.width()].contains(&0);
    if !covers(config, out.width(), out.height()) || is_empty {
        return false;
    }
    let across = Across::new(input.width(), out.width());
    let height = out.height();
    (0..height.div_ceil(ROWS)).into_par_iter().for_each(|band| {
        let rows = band * ROWS..((band + 1) * ROWS).min(height);
        // SAFETY: the caller guarantees the memory, and no other call writes these rows.
        vectorised!(unsafe { across.shrink(input, out, rows) });
    });
    true
}

impl Across {
    fn new(from: u32, to: u32) -> Self {
        let windows: Vec<Window> = (0..to).map(|x| Window::new(x, from, to)).collect();
        let count = windows.iter().map(|own| own.last - own.first + 1).max().unwrap_or(0);
        let tap = |own: &Window, i: i32| {
            let at = own.first + i;
            let weight = if at <= own.last { own.weight(at) } else { 0.0 };
            (at.clamp(0, from as i32 - 1) as u32, weight)
        };
        let taps = (0..count).map(|i| windows.iter().map(|own| tap(own, i)).collect()).collect();
        let sum = |own: &Window| (own.first..=own.last).fold(0.0, |sum, at| sum + own.weight(at));
        Self { taps, sums: windows.iter().map(sum).collect() }
    }

    /// Scales a row.
    #[inline(always)]
    fn row(&self, from: &[f32], to: &mut [f32]) {
        to.fill(0.0);
        for taps in &self.taps {
            for (sum, (at, weight)) in to.iter_mut().zip(taps) {
                *sum = weight.mul_add(from[*at as usize], *sum);
            }
        }
    }

    /// Computes rows of the result.
    ///
    /// # Safety
    /// The pictures must be valid host memory, and nothing else may access these rows of `out`.
    #[inline(always)]
    unsafe fn shrink(&self, input: View<f32>, out: ViewMut<f32>, rows: core::ops::Range<u32>) {
        let (from, to) = (input.height(), out.height());
        let source = |y: i32| y.clamp(0, from as i32 - 1) as u32;
        let window = |y: u32| Window::new(y, from, to);
        let first = source(window(rows.start).first);
        let last = source(window(rows.end - 1).last);
        let width = self.sums.len();
        let mut scaled = vec![0.0; width * (last - first + 1) as usize];
        for (y, to) in (first..).zip(scaled.chunks_exact_mut(width)) {
            // SAFETY: the row exists, and the caller guarantees that it is valid.
            self.row(unsafe { input.host_row(y) }, to);
        }
        let mut weights = vec![0.0; width];
        for y in rows {
            let down = window(y);
            // SAFETY: the row exists, and the caller guarantees that nothing else accesses it.
            let out = unsafe { out.host_row(y) };
            out.fill(0.0);
            weights.fill(0.0);
            for at in down.first..=down.last {
                let weight = down.weight(at);
                let row = &scaled[(source(at) - first) as usize * width..][..width];
                for ((out, weights), (row, sum)) in
                    out.iter_mut().zip(&mut weights).zip(row.iter().zip(&self.sums))
                {
                    *out = weight.mul_add(*row, *out);
                    *weights = weight.mul_add(*sum, *weights);
                }
            }
            for (out, weights) in out.iter_mut().zip(&weights) {
                *out /= *weights;
            }
        }
    }
}
