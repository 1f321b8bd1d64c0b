//! Adaptive non-maximum suppression (Brown, Szeliski and Winder 2005): the points that stay when each must be the
//! strongest within a radius, and the radius grows until only so many are left.

use shared_types::matching::Peak;

/// A point suppresses another only if that one is weaker than so much of it.
const ROBUST: f32 = 0.9;

/// Chooses `count` points, those with the largest radius first; of equal ones the stronger.
///
/// Time grows with the square of the number of points.
pub(super) fn spread(mut points: Vec<Peak>, count: usize) -> Vec<Peak> {
    let order = |p: &Peak| (p.at.y, p.at.x);
    points.sort_by(|a, b| {
        b.value
            .total_cmp(&a.value)
            .then(order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal))
    });
    // Stronger ones come before, so only those are looked at.
    let mut stronger = 0;
    let mut radii: Vec<(f32, usize)> = Vec::with_capacity(points.len());
    for (i, point) in points.iter().enumerate() {
        while stronger < i && ROBUST * points[stronger].value > point.value {
            stronger += 1;
        }
        let nearest = points[..stronger]
            .iter()
            .map(|other| other.at.distance_squared(point.at))
            .fold(f32::INFINITY, f32::min);
        radii.push((nearest, i));
    }
    radii.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    radii.truncate(count);
    radii.into_iter().map(|(_, i)| points[i]).collect()
}

#[cfg(test)]
mod tests {
    use glam::vec2;

    use super::*;

    #[test]
    fn a_weak_point_alone_comes_before_a_strong_one_beside_a_stronger_one() {
        let peak = |x: f32, value| Peak { at: vec2(x, 0.0), value };
        let points = vec![peak(0.0, 100.0), peak(2.0, 80.0), peak(50.0, 1.0), peak(3.0, 79.0)];
        let places =
            |count| spread(points.clone(), count).iter().map(|p| p.at.x).collect::<Vec<_>>();
        assert_eq!(places(2), [0.0, 50.0]);
        // 79 is more than nine tenths of 80: only the strongest suppresses it, from farther away.
        assert_eq!(places(4), [0.0, 50.0, 3.0, 2.0]);
        assert!(spread(Vec::new(), 5).is_empty());
    }
}
