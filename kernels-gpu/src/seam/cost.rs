//! The costs of cells, from the differences between the cameras.

use cuda_std::prelude::*;
use glam::{UVec2, Vec4, uvec2};
use shared_types::seam::{BASE, BLOCK_THREADS, LARGEST, NOISE, PER_LEVEL, Sees};

#[cfg(not(target_arch = "nvptx64"))]
use super::cpu;

/// Writes the cost of each cell: 0 if it has no pixel that both cameras see. Otherwise, the cost is the sum of
/// [`BASE`], the cell's additional costs ([`ASIDE`] and [`MARGIN`]), and [`PER_LEVEL`] times the smoothed difference
/// above [`NOISE`].
///
/// The difference at a cell is the mean of the absolute colour differences of the three channels, plus the change over
/// time. Half of the change of the colour difference from this cell to the cell on the right is added to it, and half of the change to the cell
/// below. So an edge in only one camera is expensive. The difference is smoothed with weights 1 2 1 along each axis,
/// over 3×3 adjacent cells and over 3×3 cells that are `reach` cells apart. `reach` is half the width of the feather,
/// so a path stays that far away from differences. `cells`, `difference` and `out` have the same size.
#[kernel(launch_bounds(BLOCK_THREADS, 2), cpu(cpu::cost))]
pub fn seam_cost(cells: View<u32>, difference: View<Vec4>, reach: u32, out: ViewMut<u32>) {
    let at = thread::index_2d();
    let same = cells.width() == difference.width() && cells.height() == difference.height();
    if !(out.contains(at.x, at.y) && cells.contains(at.x, at.y) && same) {
        return;
    }
    // SAFETY: the cell is inside `cells`, as checked above.
    let here = unsafe { cells.load(at.x, at.y) };
    let levels = |at: UVec2| {
        if !cells.contains(at.x, at.y) {
            return None;
        }
        // SAFETY: the cell is inside `cells` and `difference`, which have the same size.
        let (sees, levels) = unsafe { (cells.load(at.x, at.y), difference.load(at.x, at.y)) };
        (sees & Sees::BOTH != 0).then_some(levels)
    };
    let cost = cost(here, at, reach, |at| single(at, levels));
    // SAFETY: the cell is inside `out`, as checked above, and only this thread writes it.
    unsafe { out.store(at.x, at.y, cost) };
}

/// Returns the difference at a single cell, before it is smoothed. `levels` returns the difference and the change over time
/// at a cell, or `None` if not both cameras see the cell.
#[inline(always)]
pub(super) fn single(at: UVec2, levels: impl Fn(UVec2) -> Option<Vec4>) -> Option<f32> {
    let strength = |levels: Vec4| levels.truncate().abs().element_sum() * (1.0 / 3.0);
    let here = levels(at)?;
    let slope = |next: Option<Vec4>| next.map_or(0.0, |next| strength(next - here));
    let slopes = slope(levels(at + UVec2::X)) + slope(levels(at + UVec2::Y));
    Some(strength(here) + here.w + 0.5 * slopes)
}

/// Returns the cost of a cell, whose element of `cells` is `here`. `single` returns the difference at a cell.
#[inline(always)]
pub(super) fn cost(here: u32, at: UVec2, reach: u32, single: impl Fn(UVec2) -> Option<f32>) -> u32 {
    if here & Sees::BOTH == 0 {
        return 0;
    }
    let (mut sum, mut weights) = (0.0, 0.0);
    for i in 0..18 {
        let (dx, dy, apart) = (i % 3, i / 3 % 3, if i < 9 { 1 } else { reach });
        let weight = (if dx == 1 { 2.0 } else { 1.0 }) * (if dy == 1 { 2.0 } else { 1.0 });
        // A negative coordinate wraps around to a large number, which is outside every grid.
        let x = (at.x + dx * apart).wrapping_sub(apart);
        let y = (at.y + dy * apart).wrapping_sub(apart);
        if let Some(levels) = single(uvec2(x, y)) {
            sum += weight * levels;
            weights += weight;
        }
    }
    let levels = (sum / weights - NOISE).clamp(0.0, LARGEST);
    BASE + (here >> Sees::COST) + (levels * PER_LEVEL as f32).round_ties_even() as u32
}
