//! The cost of a cell, from the differences between the cameras.

// On the host, `core` or `std` provides these methods of `f32`.
#[cfg(target_arch = "nvptx64")]
use cuda_std::GpuFloat as _;
use cuda_std::device;
use glam::{UVec2, Vec4, uvec2};
use shared_types::seam::{BASE, LARGEST, NOISE, PER_LEVEL, Sees};

/// Returns the difference at a single cell, before it is smoothed. `levels` returns the difference and the change over time
/// at a cell, or `None` if not both cameras see the cell.
#[device]
pub(super) fn single(at: UVec2, levels: impl Fn(UVec2) -> Option<Vec4>) -> Option<f32> {
    let strength = |levels: Vec4| levels.truncate().abs().element_sum() * (1.0 / 3.0);
    let here = levels(at)?;
    let slope = |next: Option<Vec4>| next.map_or(0.0, |next| strength(next - here));
    let slopes = slope(levels(at + UVec2::X)) + slope(levels(at + UVec2::Y));
    Some(strength(here) + here.w + 0.5 * slopes)
}

/// Returns the cost of a cell, whose element of `cells` is `here`. `single` returns the difference at a cell.
#[device]
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
