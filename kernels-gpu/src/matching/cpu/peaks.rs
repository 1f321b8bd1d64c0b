//! The largest local maximum of each cell: rows of cells on all cores. The largest local maximum of each column of a cell
//! is found first, because all columns are compared at a time.

use crate::cpu::{threads, vectorised};
use core::ops::Range;
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use glam::vec2;
use rayon::prelude::*;
use shared_types::matching::{CELL, Peak};
use std::vec;

/// Computes a launch of the kernel. The simulator runs a launch that computes only a part of the cells.
///
/// # Safety
/// All memory must be valid host memory, and nothing else may access `peaks` or write `values`.
pub(in crate::matching) unsafe fn find_peaks(
    config: &LaunchConfig,
    values: View<f32>,
    border: u32,
    first: u32,
    peaks: SliceMut<Peak>,
) -> bool {
    let (width, height) = (values.width(), values.height());
    let (columns, rows) = (width.div_ceil(CELL), height.div_ceil(CELL));
    let cells = u64::from(columns) * u64::from(rows);
    if cells == 0 || threads(config, 0) < cells || u64::from(first) + cells > u64::from(peaks.len())
    {
        return false;
    }
    // SAFETY: the caller guarantees it.
    let peaks = unsafe { peaks.as_host_slice() };
    let border = border.max(1);
    let range = |cell: u32, side: u32| {
        (cell * CELL).max(border)..(cell * CELL + CELL).min(side.saturating_sub(border))
    };
    let peaks = &mut peaks[first as usize..][..cells as usize];
    peaks.par_chunks_mut(columns as usize).zip(0..rows).for_each(|(peaks, row)| {
        let (rows, columns) = (range(row, height), border..width.saturating_sub(border));
        // SAFETY: the caller guarantees it.
        vectorised!(unsafe { cells_of_row(values, rows, columns, peaks) });
    });
    true
}

/// Finds the peaks of a row of cells, in these rows and columns of the picture.
///
/// # Safety
/// The rows and columns must be at least one pixel away from the edges. The picture must be valid host memory.
#[inline(always)]
unsafe fn cells_of_row(
    values: View<f32>,
    rows: Range<u32>,
    columns: Range<u32>,
    peaks: &mut [Peak],
) {
    peaks.fill(Peak::default());
    if columns.is_empty() {
        return;
    }
    let (start, count) = (columns.start as usize, columns.len());
    // The largest local maximum of each column, and its row. The first of several equal ones counts.
    let mut tops = vec![(0.0_f32, 0_u32); count];
    for y in rows {
        // SAFETY: the caller guarantees that these rows exist.
        let rows = unsafe { [y - 1, y, y + 1].map(|y| values.host_row(y)) };
        // The neighbours to the left, the pixels themselves, and the neighbours to the right.
        let [above, own, below] =
            rows.map(|row| [0, 1, 2].map(|dx| &row[start + dx - 1..][..count]));
        for (x, top) in tops.iter_mut().enumerate() {
            let value = own[1][x];
            let before = above[0][x].max(above[1][x]).max(above[2][x]).max(own[0][x]);
            let after = own[2][x].max(below[0][x]).max(below[1][x]).max(below[2][x]);
            let better = value >= before && value > after && value > top.0;
            *top = if better { (value, y) } else { *top };
        }
    }
    for (x, (value, y)) in (columns.start..).zip(tops) {
        let best = &mut peaks[(x / CELL) as usize];
        // `at` has the pixel of the best local maximum until all columns of the cell are compared.
        if value > best.value || value == best.value && value > 0.0 && (y as f32) < best.at.y {
            *best = Peak { at: vec2(x as f32, y as f32), value };
        }
    }
    for peak in peaks.iter_mut().filter(|peak| peak.value > 0.0) {
        let (x, y) = (peak.at.x as usize, peak.at.y as u32);
        // SAFETY: the pixel is at least one pixel away from the edges, and the caller guarantees the rest.
        let [above, own, below] = unsafe { [y - 1, y, y + 1].map(|y| values.host_row(y)) };
        let top = |low: f32, high: f32| {
            let bend = 2.0 * peak.value - low - high;
            if bend > 0.0 { (0.5 * (high - low) / bend).clamp(-0.5, 0.5) } else { 0.0 }
        };
        peak.at += vec2(top(own[x - 1], own[x + 1]), top(above[x], below[x]));
    }
}
