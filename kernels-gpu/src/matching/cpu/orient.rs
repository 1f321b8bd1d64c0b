//! The gradients around points, sorted by direction: all directions of a pixel at a time.

use super::super::{per_square, window};
use crate::cpu::{threads, vectorised};
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use glam::{Vec2, vec2};
use rayon::prelude::*;
use shared_types::matching::{BINS, EDGE, ORIENTATION_RADIUS};

/// A value for each direction.
type Bins = [f32; BINS as usize];

/// Computes a launch of the kernel. The simulator runs a launch that computes only a part of the points.
///
/// # Safety
/// All memory must be valid host memory, and nothing else may access `out` or write the other arguments.
#[expect(clippy::too_many_arguments, reason = "they are the arguments of the kernel")]
pub(in crate::matching) unsafe fn orient(
    config: &LaunchConfig,
    along_x: View<f32>,
    along_y: View<f32>,
    points: Slice<Vec2>,
    first: u32,
    count: u32,
    directions: Slice<Vec2>,
    out: SliceMut<f32>,
) -> bool {
    let same = along_x.width() == along_y.width() && along_x.height() == along_y.height();
    let end = u64::from(first) + u64::from(count);
    if !same
        || threads(config, 0) < u64::from(count) * u64::from(BINS)
        || end > u64::from(points.len())
        || end * u64::from(BINS) > u64::from(out.len())
        || directions.len() != BINS
    {
        return false;
    }
    // SAFETY: the caller guarantees it.
    let (points, directions, out) =
        unsafe { (points.as_host_slice(), directions.as_host_slice(), out.as_host_slice()) };
    let directions = [
        core::array::from_fn(|bin| directions[bin].x),
        core::array::from_fn(|bin| directions[bin].y),
    ];
    let range = first as usize..end as usize;
    let (out, _) = out.as_chunks_mut::<{ BINS as usize }>();
    out[range.clone()].par_iter_mut().zip(&points[range]).for_each(|(out, point)| {
        // SAFETY: the caller guarantees it.
        *out = vectorised!(unsafe { sums(along_x, along_y, *point, &directions) });
    });
    true
}

/// Returns the sums of a point.
///
/// # Safety
/// Both pictures must have the same size and be valid host memory.
#[inline(always)]
unsafe fn sums(along_x: View<f32>, along_y: View<f32>, at: Vec2, directions: &[Bins; 2]) -> Bins {
    const SQUARE: i32 = ORIENTATION_RADIUS * ORIENTATION_RADIUS;
    let (x, y) = (at.x.round_ties_even() as i32, at.y.round_ties_even() as i32);
    let range = |middle: i32, side: u32| {
        let (low, high) = (EDGE as i32, side as i32 - EDGE as i32);
        let first = middle.saturating_sub(ORIENTATION_RADIUS).max(low);
        first..middle.saturating_add(ORIENTATION_RADIUS + 1).min(high)
    };
    let mut sums = [0.0; BINS as usize];
    for row in range(y, along_x.height()) {
        // SAFETY: the row is inside both pictures.
        let (row_x, row_y) =
            unsafe { (along_x.host_row(row as u32), along_y.host_row(row as u32)) };
        for column in range(x, along_x.width()) {
            let (dx, dy) = (column - x, row - y);
            let distance = dx * dx + dy * dy;
            if distance >= SQUARE {
                continue;
            }
            let weight = window(distance as f32 / SQUARE as f32);
            let gradient = vec2(row_x[column as usize], row_y[column as usize]);
            let per_square = per_square(gradient);
            for bin in 0..BINS as usize {
                let along = gradient.x.mul_add(directions[0][bin], gradient.y * directions[1][bin]);
                let along = if along > 0.0 { along } else { 0.0 };
                sums[bin] = weight.mul_add(along * along * along * per_square, sums[bin]);
            }
        }
    }
    sums
}
