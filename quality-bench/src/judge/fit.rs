//! Fits a projection to pairs of panorama pixels and directions, of which many may be wrong.
//!
//! A search over surfaces, scales and centres, with rotations from two pairs each, finds starts. Levenberg-Marquardt
//! steps with a Cauchy loss, whose scale shrinks, refine the best start of each surface. The best surface wins.

use fastrand::Rng;
use glam::{DMat3, DVec2, DVec3};
use nalgebra::{SMatrix, SVector};

use crate::projection::{Projection, Surface};

/// A panorama pixel and the direction that it shows.
pub(super) type Pair = (DVec2, DVec3);

/// The least number of pairs that a fit must explain.
pub(super) const LEAST: usize = 12;

/// Returns the projection that explains most of the pairs. `size` is the panorama's width and height. `None` if fewer
/// than [`LEAST`] pairs agree.
pub(super) fn fit(pairs: &[Pair], size: DVec2) -> Option<Projection> {
    if pairs.len() < LEAST {
        return None;
    }
    let mut rng = Rng::with_seed(1);
    let scales = scales(pairs, &mut rng)?;
    let mut best: Option<(f64, Projection)> = None;
    for surface in Surface::ALL {
        let Some(start) = start(surface, pairs, size, &scales, &mut rng) else { continue };
        let found = refined(start, pairs, &[0.02 * size.x, 0.006 * size.x, 6.0, 3.0, 1.5]);
        let score = pairs.iter().map(|pair| agreement(&found, pair, 1.5)).sum::<f64>();
        if best.is_none_or(|(other, _)| score > other) {
            best = Some((score, found));
        }
    }
    let (_, found) = best?;
    let near = |(pixel, direction): &&Pair| {
        found.pixel(*direction).is_some_and(|p| p.distance(*pixel) < 0.01 * size.x + 3.0)
    };
    (pairs.iter().filter(near).count() >= LEAST).then_some(found)
}

/// Returns 1 for a pair that fits exactly, and nearly 0 for one that is off by much more than `scale` pixels.
fn agreement(projection: &Projection, (pixel, direction): &Pair, scale: f64) -> f64 {
    let off = projection.pixel(*direction).map_or(f64::MAX, |p| p.distance_squared(*pixel));
    1.0 / (1.0 + off / (scale * scale))
}

/// Returns the likely numbers of pixels per radian: the most frequent ratio of distances over random pairs of pairs.
fn scales(pairs: &[Pair], rng: &mut Rng) -> Option<Vec<f64>> {
    const STEP: f64 = 0.06;
    let mut counts = std::collections::BTreeMap::<i64, usize>::new();
    for _ in 0..200 * pairs.len().min(500) {
        let (a, b) = (rng.choice(pairs)?, rng.choice(pairs)?);
        let angle = a.1.angle_between(b.1);
        if (0.06..0.4).contains(&angle) && a.0.distance(b.0) > 4.0 {
            let ratio = (a.0.distance(b.0) / angle).ln();
            *counts.entry((ratio / STEP).round() as i64).or_default() += 1;
        }
    }
    let smooth = |bin: i64| {
        let count = |bin| counts.get(&bin).copied().unwrap_or(0);
        count(bin - 1) + 2 * count(bin) + count(bin + 1)
    };
    let bin = counts.keys().copied().max_by_key(|&bin| smooth(bin))?;
    Some([-2.5, 0.0, 2.5].map(|by| ((bin as f64 + by) * STEP).exp()).to_vec())
}

/// Returns the rotation from directions of the world to those of the panorama that two pairs of directions give.
fn rotation(world: [DVec3; 2], panorama: [DVec3; 2]) -> Option<DMat3> {
    let frame = |[a, b]: [DVec3; 2]| {
        let middle = (a + b).try_normalize()?;
        let across = a.cross(b).try_normalize()?;
        Some(DMat3::from_cols(middle, across, middle.cross(across)))
    };
    Some(frame(panorama)? * frame(world)?.transpose())
}

/// Searches a projection on a surface that roughly agrees with the pairs.
fn start(
    surface: Surface,
    pairs: &[Pair],
    size: DVec2,
    scales: &[f64],
    rng: &mut Rng,
) -> Option<Projection> {
    let few: Vec<Pair> = (0..250).filter_map(|_| rng.choice(pairs).copied()).collect();
    let columns: &[f64] = if surface == Surface::Plane { &[0.15, 0.5, 0.85] } else { &[0.5] };
    let mut best: Option<(f64, Projection)> = None;
    for &focal in scales {
        for (column, row) in
            columns.iter().flat_map(|&column| [-0.2, 0.2, 0.5, 0.8, 1.2].map(|row| (column, row)))
        {
            let centre = DVec2::new(column, row) * size;
            let flat = Projection { surface, focal, centre, turn: DMat3::IDENTITY };
            for _ in 0..60 {
                let (a, b) = (rng.choice(pairs)?, rng.choice(pairs)?);
                let (p, q) = (flat.direction(a.0), flat.direction(b.0));
                let (there, here) = (a.1.angle_between(b.1), p.angle_between(q));
                if there < 0.05 || (there - here).abs() > 0.15 * there + 0.01 {
                    continue;
                }
                let Some(turn) = rotation([a.1, b.1], [p, q]) else { continue };
                let found = Projection { turn, ..flat };
                let scale = 0.02 * size.x;
                let score = few.iter().map(|pair| agreement(&found, pair, scale)).sum::<f64>();
                if best.is_none_or(|(other, _)| score > other) {
                    best = Some((score, found));
                }
            }
        }
    }
    Some(best?.1)
}

/// The parameters of a step: a turn, the logarithm of the focal length, and the centre.
type Step = SVector<f64, 6>;

/// Refines a projection by weighted least squares, with a Cauchy loss of each of the `scales` in pixels in turn.
pub(super) fn refined(start: Projection, pairs: &[Pair], scales: &[f64]) -> Projection {
    let mut best = start;
    for &scale in scales {
        let cost = |projection: &Projection| {
            let off = |(pixel, direction): &Pair| {
                let off = projection.pixel(*direction).map_or(1e12, |p| p.distance_squared(*pixel));
                (1.0 + off / (scale * scale)).ln()
            };
            pairs.iter().map(off).sum::<f64>()
        };
        let (mut current, mut damping) = (cost(&best), 1e-3);
        for _ in 0..30 {
            let (normal, right) = equations(&best, pairs, scale);
            let damped =
                normal + SMatrix::from_diagonal(&(normal.diagonal().map(|v| v * damping + 1e-9)));
            let Some(solved) = damped.cholesky() else { break };
            let next = moved(&best, &solved.solve(&right));
            let now = cost(&next);
            if now < current {
                let gain = current - now;
                (best, current, damping) = (next, now, damping * 0.2);
                if gain < 1e-9 * current {
                    break;
                }
            } else {
                damping *= 10.0;
                if damping > 1e6 {
                    break;
                }
            }
        }
    }
    best
}

/// Returns the projection after a step. A cylinder or sphere does not move sideways: that would be a turn.
fn moved(projection: &Projection, step: &Step) -> Projection {
    let by = DVec3::new(step[0], step[1], step[2]);
    let turn = DMat3::from_axis_angle(by.normalize_or(DVec3::X), by.length());
    let sideways = if projection.surface == Surface::Plane { step[4] } else { 0.0 };
    Projection {
        surface: projection.surface,
        focal: projection.focal * step[3].exp(),
        centre: projection.centre + DVec2::new(sideways, step[5]) * projection.focal,
        turn: turn * projection.turn,
    }
}

/// Returns the normal equations of the weighted residuals.
fn equations(at: &Projection, pairs: &[Pair], scale: f64) -> (SMatrix<f64, 6, 6>, Step) {
    const SMALL: f64 = 1e-6;
    let near: Vec<Projection> = (0..6)
        .map(|i| moved(at, &Step::from_fn(|j, _| if i == j { SMALL } else { 0.0 })))
        .collect();
    let (mut normal, mut right) = (SMatrix::<f64, 6, 6>::zeros(), Step::zeros());
    for (pixel, direction) in pairs {
        let Some(here) = at.pixel(*direction) else { continue };
        let residual = *pixel - here;
        let weight = 1.0 / (1.0 + residual.length_squared() / (scale * scale));
        let slope: Option<Vec<DVec2>> =
            near.iter().map(|p| Some((p.pixel(*direction)? - here) / SMALL)).collect();
        let Some(slope) = slope else { continue };
        for i in 0..6 {
            right[i] += weight * slope[i].dot(residual);
            for j in 0..6 {
                normal[(i, j)] += weight * slope[i].dot(slope[j]);
            }
        }
    }
    (normal, right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_surface_is_found_among_wrong_pairs() {
        let mut rng = Rng::with_seed(3);
        for surface in Surface::ALL {
            let turn = DMat3::from_rotation_z(0.4)
                * DMat3::from_rotation_y(0.2)
                * DMat3::from_rotation_x(0.1);
            let size = DVec2::new(1400.0, 700.0);
            let centre = DVec2::new(if surface == Surface::Plane { 610.0 } else { 699.5 }, 250.0);
            let truth = Projection { surface, focal: 730.0, centre, turn };
            let mut pairs: Vec<Pair> = Vec::new();
            for i in 0..300 {
                let pixel = DVec2::new(rng.f64(), rng.f64()) * size;
                let wrong = DVec3::new(rng.f64() - 0.5, rng.f64() - 0.5, 1.0).normalize();
                pairs.push((pixel, if i % 3 == 0 { wrong } else { truth.direction(pixel) }));
            }
            let found = fit(&pairs, size).expect("a projection");
            assert_eq!(found.surface, surface);
            let corner = found.pixel(truth.direction(DVec2::ZERO)).expect("in front");
            assert!(corner.length() < 0.02, "{surface:?}: off by {corner}");
        }
    }

    #[test]
    fn pairs_without_a_common_projection_are_refused() {
        let mut rng = Rng::with_seed(5);
        let mut number = || rng.f64() - 0.5;
        let pairs: Vec<Pair> = (0..60)
            .map(|_| {
                let pixel = DVec2::new(number() + 0.5, number() + 0.5) * 1000.0;
                (pixel, DVec3::new(2.0 * number(), number(), 1.0).normalize())
            })
            .collect();
        assert!(fit(&pairs, DVec2::splat(1000.0)).is_none());
    }
}
