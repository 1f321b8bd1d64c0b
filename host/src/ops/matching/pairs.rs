//! Matches the points of two pictures by their descriptors. Two points match if each is the other's nearest neighbour,
//! and if this neighbour is clearly nearer than the second nearest.

use kernels_gpu::matching::FindNearest;
use shared_types::matching::{Descriptor, Nearest};

use super::{Described, Keypoint, MatchError};
use crate::device::{Buffer, DeviceError, LaunchConfig, Stream};
use crate::geometry::calibrate::Correspondence;

/// The maximum distance between two points that count as being at the same position. The unit is a pixel of the coarser
/// one of the points' pyramid levels.
const SAME_PLACE: f64 = 6.0;

/// The maximum of the ratio test: the descriptor distance of a match, divided by that of the best candidate at another
/// position.
const RATIO: f32 = 0.9;

/// The number of threads per block of the comparison: one warp. With such small blocks, a few thousand points are
/// enough to occupy all multiprocessors.
const WARP: u32 = 32;

/// Compares the points of two pictures by their descriptors, and waits for the matches. The best match is first.
///
/// A point matches its nearest neighbour in the other picture under two conditions:
///
/// - The descriptor distance to the neighbour, divided by the distance to the nearest point at another position, is at
///   most 0.9.
/// - Conversely, the nearest neighbour of this neighbour is at the position of the point.
///
/// The score of a match is 1 minus the ratio of distances in the first condition.
#[track_caller]
pub fn pairs(
    stream: &Stream,
    left: &Described,
    right: &Described,
) -> Result<Vec<Correspondence>, MatchError> {
    if left.points.is_empty() || right.points.is_empty() {
        return Ok(Vec::new());
    }
    let to_right = nearest(stream, &left.descriptors, &right.descriptors)?;
    let to_left = nearest(stream, &right.descriptors, &left.descriptors)?;
    let (to_right, to_left) = (to_right.download(stream)?, to_left.download(stream)?);
    let mut pairs: Vec<Correspondence> = Vec::new();
    for (point, nearest) in left.points.iter().zip(&to_right) {
        let partner = right.points[nearest.index[0] as usize];
        let back = left.points[to_left[nearest.index[0] as usize].index[0] as usize];
        let ratio = ratio(nearest, &right.points);
        if ratio <= RATIO && same_place(&back, point) {
            let score = f64::from(1.0 - ratio);
            pairs.push(Correspondence { left: point.at, right: partner.at, score });
        }
    }
    pairs.sort_by(|a, b| b.score.total_cmp(&a.score));
    Ok(pairs)
}

/// Finds the nearest of `others` for each of `these`, without waiting.
#[track_caller]
fn nearest(
    stream: &Stream,
    these: &Buffer<Descriptor>,
    others: &Buffer<Descriptor>,
) -> Result<Buffer<Nearest>, DeviceError> {
    let mut found = Buffer::new(stream.device(), these.len())?;
    let kernel = FindNearest { these: these.view(), others: others.view(), out: found.view_mut() };
    stream.launch(&LaunchConfig::cover(these.len(), 1, [WARP, 1]), &kernel)?;
    Ok(found)
}

/// Returns the number of descriptors in `sample` that have an unambiguous match in a picture, and waits for it.
#[track_caller]
pub(super) fn similarity(
    stream: &Stream,
    sample: &Buffer<Descriptor>,
    picture: &Described,
) -> Result<usize, DeviceError> {
    /// The maximum of the ratio test. It is smaller than that of matches, because wrong matches count, too.
    const CLEAR: f32 = 0.8;
    if picture.points.is_empty() {
        return Ok(0);
    }
    let found = nearest(stream, sample, &picture.descriptors)?.download(stream)?;
    Ok(found.iter().filter(|nearest| ratio(nearest, &picture.points) <= CLEAR).count())
}

fn same_place(a: &Keypoint, b: &Keypoint) -> bool {
    a.at.distance(b.at) <= SAME_PLACE * a.scale.max(b.scale)
}

/// Returns the descriptor distance of the nearest point, divided by that of the nearest point at another position.
///
/// If all stored neighbours are at one position, returns an upper bound: a point at another position is at least as far
/// away as the last stored neighbour. Returns 0 if the other picture has no points at other positions, which shows as
/// unused entries.
fn ratio(nearest: &Nearest, points: &[Keypoint]) -> f32 {
    // Descriptors are normalised, so their dot product determines their distance.
    let distance =
        |product: u32| (2.0 * (Descriptor::LENGTH.powi(2) - product as f32)).max(0.0).sqrt();
    let first = &points[nearest.index[0] as usize];
    let kept = nearest.index.iter().zip(nearest.product).skip(1);
    // Unused entries have a product of 0. They exist if the picture has fewer points than `Nearest` can store.
    let second = kept
        .clone()
        .find(|(index, product)| *product == 0 || !same_place(first, &points[**index as usize]))
        .or(kept.last());
    match second {
        Some((_, product)) if product > 0 => {
            distance(nearest.product[0]) / distance(product).max(1.0)
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec2;
    use shared_types::matching::KEPT;

    use super::*;

    /// Neighbours at the position of the nearest one do not count as the second-best match.
    #[test]
    fn the_second_best_match_is_at_another_position() {
        let at = |x: f64| Keypoint { at: DVec2::new(x, 0.0), scale: 1.0 };
        let points: Vec<_> = [0.0, 1.0, 2.0, 3.0, 4.0, 90.0].map(at).to_vec();
        let whole = Descriptor::LENGTH.powi(2) as u32;
        // The descriptor distance of neighbour `i` is √(2 · off[i]).
        let nearest = |off: [u32; KEPT]| Nearest {
            index: std::array::from_fn(|i| i as u32),
            product: off.map(|off| whole - off),
        };
        let mut all = nearest(std::array::from_fn(|i| 100 * (i as u32 + 1)));
        let last = 100.0 * KEPT as f32;
        // All stored neighbours are at one position, so the result is an upper bound, computed from the distance of the
        // last one.
        assert!((ratio(&all, &points) - (100.0 / last).sqrt()).abs() < 1e-6);
        // The second entry is a point at another position, so its distance is used.
        all.index[1] = 5;
        assert!((ratio(&all, &points) - 0.5_f32.sqrt()).abs() < 1e-6);
        // Only two neighbours exist, and both are at the same position.
        all.index[1] = 1;
        all.product[2..].fill(0);
        assert_eq!(ratio(&all, &points), 0.0);
    }
}
