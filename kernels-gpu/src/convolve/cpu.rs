//! Separable convolution on the CPU: blocks of columns and rows on all cores. A block filters its rows, with those above
//! and below it, into a buffer in the cache, and then the columns of this buffer.
//!
//! The results have the same bits as those of the kernels, because both add the products in the same order with fused
//! multiply-adds.

use super::slide::{MAX_WINDOW, fits};
use crate::cpu::vectorised;
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use rayon::prelude::*;
use shared_types::convolve::{BLOCK, ConstantTaps, TILE, fused_elements};
use std::vec;

/// The number of columns of a block.
pub(crate) const COLUMNS: usize = 256;

/// The number of rows of a block.
const ROWS: u32 = 64;

/// The number of adjacent results that are computed at a time. It divides [`COLUMNS`].
pub(crate) const RUN: usize = 32;

/// A row of a block.
pub(crate) type Row = [f32; COLUMNS];

/// The first column and row of a block, and the column and row after the last ones.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) first: [u32; 2],
    pub(crate) end: [u32; 2],
}

/// Calls `work` for each block of a picture, on all cores.
pub(crate) fn for_each_block(width: u32, height: u32, work: impl Fn(Block) + Sync) {
    let across = width.div_ceil(COLUMNS as u32);
    (0..across * height.div_ceil(ROWS)).into_par_iter().for_each(|block| {
        let [x, y] = [block % across * COLUMNS as u32, block / across * ROWS];
        let end = [(x + COLUMNS as u32).min(width), (y + ROWS).min(height)];
        work(Block { first: [x, y], end });
    });
}

impl Block {
    /// Returns the range of the rows that the windows of `width` rows around the block's rows contain.
    #[inline(always)]
    pub(crate) fn rows(&self, width: usize, height: u32) -> core::ops::Range<u32> {
        let radius = width as u32 / 2;
        self.first[1].saturating_sub(radius)..self.end[1].saturating_add(radius).min(height)
    }

    /// Copies a row of a picture, from the first column of the block's first window on. Pixels outside the picture
    /// become 0.
    #[inline(always)]
    pub(crate) fn stage(&self, row: &[f32], width: usize, to: &mut [f32]) {
        let (first, radius) = (self.first[0] as usize, width / 2);
        let (from, skip) = (first.saturating_sub(radius), radius.saturating_sub(first));
        let count = row.len().saturating_sub(from).min(to.len().saturating_sub(skip));
        to.fill(0.0);
        to[skip..skip + count].copy_from_slice(&row[from..from + count]);
    }

    /// Returns, for each column of the block, `value` if a window of `width` columns is inside the picture, and
    /// otherwise 0.
    #[inline(always)]
    pub(crate) fn fit(&self, values: &mut Row, width: usize, extent: u32) {
        for (value, x) in values.iter_mut().zip(self.first[0]..) {
            if !fits(x, width as u32, extent) {
                *value = 0.0;
            }
        }
    }

    /// Writes values to row `y` of a picture.
    ///
    /// # Safety
    /// The block must be inside the picture, and nothing else may access this row of the block.
    #[inline(always)]
    pub(crate) unsafe fn store(&self, out: ViewMut<f32>, y: u32, values: &Row) {
        let [first, end] = [self.first[0] as usize, self.end[0] as usize];
        // SAFETY: the columns are inside the picture. The caller guarantees the rest.
        unsafe {
            out.host_address(y).add(first).copy_from_nonoverlapping(values.as_ptr(), end - first);
        }
    }
}

/// Returns the first columns of the runs of a row.
#[inline(always)]
pub(crate) fn runs() -> [usize; COLUMNS / RUN] {
    core::array::from_fn(|i| i * RUN)
}

/// Returns the run of a row that starts at column `first`.
#[inline(always)]
pub(crate) fn run(row: &[f32], first: usize) -> &[f32; RUN] {
    let (run, _) = row[first..].as_chunks();
    &run[0]
}

/// Computes both passes: along rows, then along columns.
///
/// # Safety
/// Both pictures must have the same size and be valid host memory. Nothing else may access `out` or write `input`.
unsafe fn convolve(input: View<f32>, taps: [&[f32]; 2], out: ViewMut<f32>) {
    for_each_block(input.width(), input.height(), |block| {
        // SAFETY: the caller guarantees it, and no other call writes this block.
        vectorised!(unsafe { convolve_block(block, input, taps, out) });
    });
}

/// Computes a block; see [`convolve`].
///
/// # Safety
/// The conditions are those of [`convolve`], but for the block only.
#[inline(always)]
unsafe fn convolve_block(
    block: Block,
    input: View<f32>,
    [across, down]: [&[f32]; 2],
    out: ViewMut<f32>,
) {
    let (width, height) = (input.width(), input.height());
    let lines = block.rows(down.len(), height);
    let mut filtered = vec![[0.0; COLUMNS]; lines.len()];
    let mut staged = vec![0.0; COLUMNS + across.len() / 2 * 2];
    for (line, to) in lines.clone().zip(&mut filtered) {
        // SAFETY: the row exists, and the caller guarantees that it is valid.
        let row = unsafe { input.host_row(line) };
        block.stage(row, across.len(), &mut staged);
        for first in runs() {
            let sums = sums(across, |j| run(&staged, first + j));
            to[first..first + RUN].copy_from_slice(&sums);
        }
        block.fit(to, across.len(), width);
    }
    for y in block.first[1]..block.end[1] {
        let mut results = [0.0; COLUMNS];
        if fits(y, down.len() as u32, height) {
            let top = (y - down.len() as u32 / 2 - lines.start) as usize;
            for first in runs() {
                let sums = sums(down, |j| run(&filtered[top + j], first));
                results[first..first + RUN].copy_from_slice(&sums);
            }
        }
        // SAFETY: the caller guarantees it.
        unsafe { block.store(out, y, &results) };
    }
}

/// Returns sums of products. `elements` returns the elements that a tap multiplies.
#[inline(always)]
fn sums<'a>(taps: &[f32], elements: impl Fn(usize) -> &'a [f32; RUN]) -> [f32; RUN] {
    let mut sums = [0.0; RUN];
    for (j, tap) in taps.iter().enumerate() {
        let elements = elements(j);
        for k in 0..RUN {
            sums[k] = elements[k].mul_add(*tap, sums[k]);
        }
    }
    sums
}

/// Returns whether a kernel would compute the whole of `out` with these numbers of taps.
fn computes_all(
    config: &LaunchConfig,
    input: View<f32>,
    out: ViewMut<f32>,
    [across, down]: [&[f32]; 2],
) -> bool {
    let (width, height) = (out.width(), out.height());
    config.block == [BLOCK[0], BLOCK[1], 1]
        && input.width() == width
        && input.height() == height
        && config.grid[0] >= width.div_ceil(TILE)
        && config.grid[1] >= height.div_ceil(TILE)
        && config.dynamic_shared / 4 >= fused_elements(across.len() as u32, down.len() as u32)
}

/// Returns the taps in use: `WIDTH` of them, or as many as `taps` states if `WIDTH` is 0.
fn in_use<const WIDTH: u32>(taps: &ConstantTaps) -> &[f32] {
    let width = if WIDTH > 0 { WIDTH } else { taps.width.min(MAX_WINDOW) };
    &taps.taps[..width as usize]
}

/// Computes a launch of a fused kernel. The simulator runs a launch that does not compute the whole picture.
///
/// # Safety
/// The pictures must be valid host memory. Nothing else may access `out` or write `input`.
pub(super) unsafe fn fused<const WIDTH: u32>(
    config: &LaunchConfig,
    input: View<f32>,
    horizontal: ConstantTaps,
    vertical: ConstantTaps,
    out: ViewMut<f32>,
) -> bool {
    let taps = [&horizontal, &vertical].map(in_use::<WIDTH>);
    let sound = computes_all(config, input, out, taps);
    if sound {
        // SAFETY: the caller guarantees it, and the sizes are equal.
        unsafe { convolve(input, taps, out) };
    }
    sound
}

/// Computes a launch of [`convolve_gradients_7`](super::convolve_gradients_7); see [`fused`].
///
/// # Safety
/// The conditions are those of [`fused`], for both results.
pub(super) unsafe fn gradients(
    config: &LaunchConfig,
    input: View<f32>,
    smooth: ConstantTaps,
    derive: ConstantTaps,
    along_x: ViewMut<f32>,
    along_y: ViewMut<f32>,
) -> bool {
    let [smooth, derive] = [&smooth, &derive].map(in_use::<7>);
    let results = [([derive, smooth], along_x), ([smooth, derive], along_y)];
    let sound = results.iter().all(|(taps, out)| computes_all(config, input, *out, *taps));
    if sound {
        for (taps, out) in results {
            // SAFETY: the caller guarantees it, and the sizes are equal.
            unsafe { convolve(input, taps, out) };
        }
    }
    sound
}
