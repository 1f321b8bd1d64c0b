//! The largest local maximum of each cell: rows of cells on all cores.

use crate::cpu::threads;
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use glam::vec2;
use rayon::prelude::*;
use shared_types::matching::{CELL, Peak};

/// Computes a launch of the kernel. Leaves a launch that computes only a part of the cells to the simulator.
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
        peaks.fill(Peak::default());
        for y in range(row, height) {
            // SAFETY: `y` is at least one pixel away from the edges. The caller guarantees the rest.
            let rows = [y - 1, y, y + 1].map(|y| unsafe { values.host_row(y) });
            for (best, column) in peaks.iter_mut().zip(0..) {
                for x in range(column, width) {
                    look(rows, x as usize, y, best);
                }
            }
        }
    });
    true
}

/// Replaces `best` by the pixel in column `x` of the middle one of three rows, if that is a larger local maximum.
#[inline(always)]
fn look(rows: [&[f32]; 3], x: usize, y: u32, best: &mut Peak) {
    let value = rows[1][x];
    if value <= best.value {
        return;
    }
    let around = |dx: usize, dy: usize| rows[dy][x + dx - 1];
    let before = around(0, 0).max(around(1, 0)).max(around(2, 0)).max(around(0, 1));
    let after = around(2, 1).max(around(0, 2)).max(around(1, 2)).max(around(2, 2));
    if value >= before && value > after {
        let top = |low: f32, high: f32| {
            let bend = 2.0 * value - low - high;
            if bend > 0.0 { (0.5 * (high - low) / bend).clamp(-0.5, 0.5) } else { 0.0 }
        };
        let offset = vec2(top(around(0, 1), around(2, 1)), top(around(1, 0), around(1, 2)));
        *best = Peak { at: vec2(x as f32, y as f32) + offset, value };
    }
}
