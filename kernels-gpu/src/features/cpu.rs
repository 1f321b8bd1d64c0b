//! Luma and eigenvalues on the CPU, with the same bits as in the kernels: both do the same operations in the same order.

use super::{WEIGHTS, smaller_eigenvalue};
use crate::convolve::cpu::{Block, COLUMNS, RUN, Row, for_each_block, run, runs};
use crate::convolve::slide::fits;
use crate::cpu::{covers, vectorised};
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use rayon::prelude::*;
use shared_types::Rgba8;
use shared_types::features::{BLOCK, COLUMNS as TILE_COLUMNS, ROWS, eigenvalue_elements};
use std::vec;

/// The side of the window.
const WINDOW: usize = 7;

/// Computes a launch of [`luma_rgba8`](super::luma_rgba8). The simulator runs a launch that computes only a
/// part of the picture.
///
/// # Safety
/// The pictures must be valid host memory. Nothing else may access `out` or write `picture`.
pub(super) unsafe fn luma_rgba8(
    config: &LaunchConfig,
    picture: View<Rgba8>,
    out: ViewMut<f32>,
) -> bool {
    let same = picture.width() == out.width() && picture.height() == out.height();
    if !same || !covers(config, out.width(), out.height()) {
        return false;
    }
    (0..picture.height()).into_par_iter().for_each(|y| {
        // SAFETY: the row exists. The caller guarantees the rest, and no other call writes this row.
        let (from, to) = unsafe { (picture.host_row(y), out.host_row(y)) };
        vectorised!(luma(from, to));
    });
    true
}

#[inline(always)]
fn luma(from: &[Rgba8], to: &mut [f32]) {
    let [red, blue] = WEIGHTS.map(|weight| weight as f32);
    for (to, Rgba8 { r, g, b, .. }) in to.iter_mut().zip(from) {
        let [r, g, b] = [r, g, b].map(|level| f32::from(*level));
        *to = red.mul_add(r - g, blue.mul_add(b - g, g));
    }
}

/// Computes a launch of [`min_eigenvalue_7`](super::min_eigenvalue_7). The simulator runs a launch that does not compute
/// the whole picture.
///
/// # Safety
/// The pictures must be valid host memory. Nothing else may access `out` or write the gradients.
pub(super) unsafe fn min_eigenvalue_7(
    config: &LaunchConfig,
    along_x: View<f32>,
    along_y: View<f32>,
    out: ViewMut<f32>,
) -> bool {
    let (width, height) = (out.width(), out.height());
    let same = |view: View<f32>| view.width() == width && view.height() == height;
    let sound = config.block == [BLOCK[0], BLOCK[1], 1]
        && config.grid[0] >= width.div_ceil(TILE_COLUMNS)
        && config.grid[1] >= height.div_ceil(ROWS)
        && config.dynamic_shared / 4 >= eigenvalue_elements(WINDOW as u32);
    if !(sound && same(along_x) && same(along_y)) {
        return false;
    }
    for_each_block(width, height, |block| {
        // SAFETY: the sizes are equal. The caller guarantees the rest, and no other call writes this block.
        vectorised!(unsafe { eigenvalues(block, along_x, along_y, out) });
    });
    true
}

/// Computes a block of eigenvalues. Sums the products of the gradients along the rows of the windows first.
///
/// # Safety
/// All pictures must have the same size and be valid host memory. Nothing else may access this block of `out`.
#[inline(always)]
unsafe fn eigenvalues(block: Block, along_x: View<f32>, along_y: View<f32>, out: ViewMut<f32>) {
    const WIDE: usize = COLUMNS + WINDOW / 2 * 2;
    let (width, height) = (out.width(), out.height());
    let lines = block.rows(WINDOW, height);
    let mut summed = vec![[[0.0; COLUMNS]; 3]; lines.len()];
    let (mut x, mut y) = ([0.0; WIDE], [0.0; WIDE]);
    for (line, [xx, xy, yy]) in lines.clone().zip(&mut summed) {
        // SAFETY: the row exists, and the caller guarantees that it is valid.
        unsafe {
            block.stage(along_x.host_row(line), WINDOW, &mut x);
            block.stage(along_y.host_row(line), WINDOW, &mut y);
        }
        for first in runs() {
            let mut sums = [[0.0; RUN]; 3];
            for j in 0..WINDOW {
                let (x, y) = (run(&x, first + j), run(&y, first + j));
                for k in 0..RUN {
                    sums[0][k] = x[k].mul_add(x[k], sums[0][k]);
                    sums[1][k] = x[k].mul_add(y[k], sums[1][k]);
                    sums[2][k] = y[k].mul_add(y[k], sums[2][k]);
                }
            }
            xx[first..first + RUN].copy_from_slice(&sums[0]);
            xy[first..first + RUN].copy_from_slice(&sums[1]);
            yy[first..first + RUN].copy_from_slice(&sums[2]);
        }
    }
    for y in block.first[1]..block.end[1] {
        let mut values: Row = [0.0; COLUMNS];
        if fits(y, WINDOW as u32, height) {
            let top = (y - WINDOW as u32 / 2 - lines.start) as usize;
            for first in runs() {
                let mut sums = [[0.0; RUN]; 3];
                for j in 0..WINDOW {
                    for (sums, row) in sums.iter_mut().zip(&summed[top + j]) {
                        let row = run(row, first);
                        for k in 0..RUN {
                            sums[k] += row[k];
                        }
                    }
                }
                for k in 0..RUN {
                    values[first + k] = smaller_eigenvalue(sums[0][k], sums[1][k], sums[2][k]);
                }
            }
            block.fit(&mut values, WINDOW, width);
        }
        // SAFETY: the caller guarantees it.
        unsafe { block.store(out, y, &values) };
    }
}
