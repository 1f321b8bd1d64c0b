//! Measures the quality of a model for one pair of pictures, and accepts or rejects the model.
//!
//! All figures except the overlap itself are measured in the overlap, because only the overlap is blended.

use glam::{DVec2, UVec2};
use nalgebra::DMatrix;

use super::fit::{covariance, spread, squared};
use super::loss::CHI2;
use super::matches::{LEAST_NOISE, some};
use super::model::{Match, Model};
use super::refusal::{MIN_INLIERS, MOST_SCALE};
use super::{Calibration, PairFigures, Refusal};
use crate::geometry::inside;

/// The limit below which a model is accepted, for log₁₀ of the expected number of models that have as many inliers by
/// chance. The value −6 means that chance produces an accepted model less than once in 10⁶ pairs of pictures
/// (a-contrario: Moisan, Stival, IJCV 2004).
const LOG10_CHANCE: f64 = -6.0;

/// Minimum fraction of the correspondences in the overlap that must agree, in addition to eight correspondences (Brown
/// and Lowe, IJCV 2007, with 0.3). A smaller fraction agrees on something that different places have in common, such as
/// a pattern that repeats, a logo, or a symmetric part of a mirrored picture: up to 0.17 for the seats and windows of
/// `quality-bench --pairs`, and at least 0.34 for its pictures with a common view.
const LEAST_SHARE: f64 = 0.2;

/// Minimum overlap: the fraction of one picture that the other picture also shows, for the picture with the
/// larger fraction. With less overlap, all inliers lie in a narrow strip, and the map outside this strip is inaccurate.
pub const LEAST_OVERLAP: f64 = 0.03;

/// Minimum fraction of the cells in the overlap that must contain inliers. If fewer cells do, all inliers may lie on
/// one moving object or poster.
const LEAST_COVERAGE: f64 = 0.06;

/// Expected misalignment that blending hides, as a fraction of the left picture's larger side, and in pixels. The
/// larger of the two limits applies. With a larger misalignment, outlines may be broken at the seam.
pub(super) const HIDDEN_SEAM_ERROR: (f64, f64) = (0.004, 4.0);

/// Maximum expected misalignment, in the same units. A larger one breaks every outline, or the model is wrong.
const MOST_SEAM_ERROR: (f64, f64) = (0.012, 12.0);

/// The shift in pixels below which two pictures are the same view. Touching a tripod moves a camera by more than this.
const SAME_VIEW: f64 = 0.3;

/// Maximum distance from the model, as a fraction of the picture's larger side, of inliers and of the correspondences
/// from which the error of the model is estimated. Some of these correspondences are correct although they are not
/// inliers. A circle of this radius covers only 0.1 % of the picture, so few wrong correspondences are within it by
/// chance.
const NEAR: f64 = 0.015;

/// The number of cells along the larger side of a picture. Coverage is the fraction of cells with inliers.
const CELLS: f64 = 12.0;

/// The number of sample positions along the side of a cell.
const SAMPLES: u32 = 4;

/// The overlap of a pair of pictures.
pub(super) struct Overlap {
    /// Sample positions in the left picture that the right picture also shows, each with the corresponding position in
    /// the right picture.
    pub(super) seen: Vec<[DVec2; 2]>,
    /// Fraction of the left picture that the right one also shows, then the fraction of the right picture that the left
    /// one also shows.
    shares: [f64; 2],
}

/// Returns evenly spaced sample positions in a picture, and the side of a cell in pixels.
fn places(size: UVec2) -> (impl Iterator<Item = DVec2>, f64) {
    let cell = f64::from(size.max_element()) / CELLS;
    let step = cell / f64::from(SAMPLES);
    let many = (size.as_dvec2() / step).ceil().max(DVec2::ONE).as_uvec2();
    let step = size.as_dvec2() / many.as_dvec2();
    let place =
        move |i: u32| (DVec2::new(f64::from(i % many.x), f64::from(i / many.x)) + 0.5) * step - 0.5;
    ((0..many.x * many.y).map(place), cell)
}

/// Returns the overlap of the pictures `[left, right]`, sampled at evenly spaced positions.
pub(super) fn overlap<M: Model>(
    model: &M,
    [left, right]: [usize; 2],
    sizes: [UVec2; 2],
) -> Overlap {
    let mut all = 0.0;
    let mut seen = Vec::new();
    for place in places(sizes[0]).0 {
        all += 1.0;
        if let Some(at) = model.map(right, left, place).filter(|at| inside(*at, sizes[1])) {
            seen.push([place, at]);
        }
    }
    let other: Vec<bool> = places(sizes[1])
        .0
        .map(|place| model.map(left, right, place).is_some_and(|at| inside(at, sizes[0])))
        .collect();
    let share = other.iter().filter(|seen| **seen).count() as f64 / other.len() as f64;
    Overlap { shares: [seen.len() as f64 / all, share], seen }
}

/// Returns log₁₀ of the expected number of models with at least `k` inliers if all `n` correspondences were random.
///
/// Four correspondences determine a model. An inlier is a correspondence within `radius` pixels (Sampson's distance) of
/// the model. `size` is the size of the left picture.
fn log10_chance(n: usize, k: usize, radius: f64, size: UVec2) -> f64 {
    let choose = |n: f64, k: f64| {
        let ln = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
        ln / std::f64::consts::LN_10
    };
    // Sampson's distance allows for noise in both pictures, so the radius in the left picture is √2 times larger.
    let area = 2.0 * std::f64::consts::PI * radius * radius;
    let share = (area / size.as_dvec2().element_product()).min(1.0);
    let (n, k) = (n as f64, k as f64);
    if k <= 4.0 {
        return f64::INFINITY;
    }
    libm::log10(n - 4.0) + choose(n, k) + choose(k, 4.0) + (k - 4.0) * libm::log10(share)
}

/// Returns the correspondences that agree with a model, and the maximum Sampson distance in pixels at
/// which a correspondence agrees. `noise` is the standard deviation of the inliers in pixels. `sizes` are the sizes of
/// the left and the right picture.
///
/// Sampson's distance is linearised. Near the horizon, where the model enlarges without bound, it can be small although
/// the points are far apart in both pictures, so they must also be near each other in one of them.
fn agreeing<'s, M: Model>(
    model: &M,
    matches: &'s [Match],
    noise: f64,
    sizes: [UVec2; 2],
) -> (Vec<&'s Match>, f64) {
    let cut = CHI2 * noise.max(LEAST_NOISE).powi(2);
    // Where the model is linear, the distance in the picture of the lower resolution is at most √2 times Sampson's.
    let is_near = |at: Option<DVec2>, point: DVec2, size: UVec2| {
        let most = (NEAR * f64::from(size.max_element())).max(4.0 * cut.sqrt());
        at.is_some_and(|at| at.distance(point) < most)
    };
    let agrees = |one: &&Match| {
        let ([l, r], [left, right]) = (one.link, [one.left, one.right]);
        squared(model, one) < cut
            && (is_near(model.map(l, r, right), left, sizes[0])
                || is_near(model.map(r, l, left), right, sizes[1]))
    };
    (matches.iter().filter(agrees).collect(), cut.sqrt())
}

/// Checks that more correspondences agree with a model than chance explains. Returns those that agree, and the number of correspondences whose two points are both in the overlap.
fn check_chance<'s, M: Model>(
    model: &M,
    matches: &'s [Match],
    noise: f64,
    sizes: [UVec2; 2],
) -> Result<(Vec<&'s Match>, usize), Refusal> {
    let (inliers, radius) = agreeing(model, matches, noise, sizes);
    let within = |s: &&Match| {
        model.map(s.link[0], s.link[1], s.right).is_some_and(|at| inside(at, sizes[0]))
            && model.map(s.link[1], s.link[0], s.left).is_some_and(|at| inside(at, sizes[1]))
    };
    let in_overlap = matches.iter().filter(within).count();
    let rare = log10_chance(matches.len(), inliers.len(), radius, sizes[0]) < LOG10_CHANCE;
    let many = inliers.len() as f64 > 8.0 + LEAST_SHARE * in_overlap as f64;
    if rare && many && inliers.len() >= MIN_INLIERS {
        return Ok((inliers, in_overlap));
    }
    Err(Refusal::Chance { matches: matches.len(), inliers: inliers.len() })
}

/// Returns the quality figures of a model for one pair of pictures, or the reason why it is rejected. All
/// correspondences in `matches` must be of this pair.
///
/// `fit` is the [`covariance`] of the model if the model was fitted to more correspondences than `matches`. `None` means
/// that the model was fitted to `matches`.
pub(super) fn judge<M: Model>(
    model: &M,
    matches: &[Match],
    noise: f64,
    sizes: [UVec2; 2],
    fit: Option<&DMatrix<f64>>,
) -> Result<PairFigures, Refusal> {
    let (agree, in_overlap) = check_chance(model, matches, noise, sizes)?;
    let Some(link) = matches.first().map(|one| one.link) else {
        return Err(Refusal::TooFew { found: 0 });
    };
    let overlap = overlap(model, link, sizes);
    let side = f64::from(sizes[0].max_element());

    let shares = overlap.shares;
    let largest = shares[0].max(shares[1]);
    if overlap.seen.is_empty() || largest < LEAST_OVERLAP {
        return Err(Refusal::Overlap { overlap: largest, least: LEAST_OVERLAP });
    }
    for [_, right] in &overlap.seen {
        let ratio = model.local(link[0], link[1], *right).map_or(0.0, |(_, j)| j.determinant());
        if !(MOST_SCALE.powi(-2)..MOST_SCALE.powi(2)).contains(&ratio) {
            return Err(Refusal::Implausible { ratio });
        }
    }

    let off = |one: &Match| Some(model.map(link[0], link[1], one.right)? - one.left);
    let square = |one: &&Match| off(one).map(DVec2::length_squared);
    let squares: f64 = agree.iter().filter_map(square).sum();
    let rms_px = (squares / agree.len().max(1) as f64).sqrt();
    let cells_of = |matches: &[&Match]| cells(&overlap, matches, sizes[0], off);
    let cells = cells_of(&agree);
    let seen = cells.iter().map(|cell| cell.places).max().unwrap_or(0);
    // A cell at the edge of the overlap with less than half of the sample positions of a full cell need not have
    // inliers.
    let whole: Vec<&Cell> = cells.iter().filter(|cell| 2 * cell.places >= seen).collect();
    let covered = whole.iter().filter(|cell| cell.matches > 0).count();
    let coverage = covered as f64 / whole.len().max(1) as f64;
    if coverage < LEAST_COVERAGE {
        return Err(Refusal::Clumped { inliers: agree.len(), coverage, least: LEAST_COVERAGE });
    }

    let open = open_variance(model, link, &agree, &overlap, fit);
    // Include correspondences that nearly agree: where neighbouring correspondences deviate in the same direction, the
    // model is wrong.
    let near = |one: &&Match| off(one).is_some_and(|off| off.length() < NEAR * side);
    let near: Vec<&Match> = matches.iter().filter(near).collect();
    let seam_error_px = (noise * noise * open + common_square(&cells_of(&near))).sqrt();
    let limit = |(share, pixels): (f64, f64)| pixels.max(share * side);
    let most_px = limit(MOST_SEAM_ERROR);
    // The comparison is false for NaN, so that NaN is rejected.
    let good = seam_error_px <= most_px;
    if !good {
        return Err(Refusal::Loose { seam_error_px, most_px });
    }
    let mut inliers: Vec<usize> = agree.iter().map(|one| one.index).collect();
    inliers.sort_unstable();
    Ok(PairFigures {
        left: link[0],
        right: link[1],
        matches: matches.len(),
        in_overlap,
        inliers,
        rms_px,
        overlap: shares,
        coverage,
        seam_error_px,
        misaligned: seam_error_px > limit(HIDDEN_SEAM_ERROR),
    })
}

/// Checks that the pictures are not all the same view.
pub(super) fn check_views(found: &Calibration) -> Result<(), Refusal> {
    let mut shift_px: f64 = 0.0;
    for &PairFigures { left, right, .. } in &found.pairs {
        let sizes = [left, right].map(|i| found.pictures[i].size);
        // Two pictures of different size are the same view if one is a smaller copy of the other, so compare scaled
        // positions.
        let scale = sizes[1].as_dvec2() / sizes[0].as_dvec2();
        for place in places(sizes[0]).0 {
            let at = found.views.map(right, left, place).filter(|at| inside(*at, sizes[1]));
            shift_px =
                at.map_or(shift_px, |at| shift_px.max(((at + 0.5) / scale - 0.5).distance(place)));
        }
    }
    if shift_px < SAME_VIEW { Err(Refusal::SameView { shift_px }) } else { Ok(()) }
}

/// Counts and sums over the correspondences in one cell of the left picture.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// The number of sample positions in the overlap.
    places: u32,
    /// The number of correspondences.
    matches: u32,
    /// Sum of the residuals of the correspondences, in pixels.
    off: DVec2,
    /// Sum of the squared lengths of the residuals, in px².
    squares: f64,
}

fn cells(
    overlap: &Overlap,
    matches: &[&Match],
    size: UVec2,
    off: impl Fn(&Match) -> Option<DVec2>,
) -> Vec<Cell> {
    let (_, side) = places(size);
    let row = (f64::from(size.x) / side).ceil().max(1.0) as usize;
    let rows = (f64::from(size.y) / side).ceil().max(1.0) as usize;
    let mut cells = vec![Cell::default(); row * rows];
    let index = |at: DVec2| {
        let at = ((at + 0.5) / side).max(DVec2::ZERO);
        (at.y as usize).min(rows - 1) * row + (at.x as usize).min(row - 1)
    };
    for [left, _] in &overlap.seen {
        cells[index(*left)].places += 1;
    }
    for one in matches {
        if let Some(off) = off(one) {
            let cell = &mut cells[index(one.left)];
            cell.matches += 1;
            cell.off += off;
            cell.squares += off.length_squared();
        }
    }
    cells
}

/// Returns the mean squared error of the fitted map in the overlap, for noise in the correspondences with a variance of
/// 1 px².
fn open_variance<M: Model>(
    model: &M,
    link: [usize; 2],
    agree: &[&Match],
    overlap: &Overlap,
    fit: Option<&DMatrix<f64>>,
) -> f64 {
    /// Maximum number of correspondences, and maximum number of positions in the overlap, for the estimate.
    const MANY: usize = 400;
    let few: Vec<&Match> = some(agree, MANY).into_iter().copied().collect();
    let own = || Some(covariance(model, &few)? * (few.len() as f64 / agree.len().max(1) as f64));
    let Some(covariance) = fit.cloned().or_else(own) else { return f64::INFINITY };
    let places: Vec<DVec2> = some(&overlap.seen, MANY).iter().map(|[_, right]| *right).collect();
    let spread: Vec<f64> =
        spread(model, &covariance, link, &places).into_iter().flatten().collect();
    spread.iter().sum::<f64>() / spread.len().max(1) as f64
}

/// Returns the mean square, in px², of the deviation from the model that the correspondences of a cell have in common.
/// Parallax and lens errors cause such deviations. The part that noise explains is subtracted.
fn common_square(cells: &[Cell]) -> f64 {
    let (mut common, mut weight) = (0.0, 0.0);
    for cell in cells.iter().filter(|cell| cell.matches >= 3) {
        let n = f64::from(cell.matches);
        let mean = cell.off / n;
        let variance = (cell.squares / n - mean.length_squared()).max(0.0) / (n - 1.0);
        common += n * (mean.length_squared() - variance);
        weight += n;
    }
    if weight > 0.0 { (common / weight).max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use glam::DMat3;

    use super::super::planes::Planes;
    use super::*;

    #[test]
    fn agreement_of_many_is_unlikely_by_chance() {
        let size = UVec2::new(1000, 700);
        // Chance does not explain 100 inliers of 300 within 3 px, but it explains 8 inliers of 300 within 9 px.
        assert!(log10_chance(300, 100, 3.0, size) < -200.0);
        assert!(log10_chance(300, 8, 9.0, size) > 0.0);
        // For n = k = 5, the formula gives the expected number 1·1·5·p, with p = 2π·1²/10⁴.
        let five = libm::log10(5.0 * 2.0 * std::f64::consts::PI * 1e-4);
        assert!((log10_chance(5, 5, 1.0, UVec2::splat(100)) - five).abs() < 1e-9);
        assert_eq!(log10_chance(5, 4, 1.0, size), f64::INFINITY);
    }

    #[test]
    fn points_far_apart_do_not_agree_at_the_horizon() {
        let sizes = [UVec2::new(1000, 700); 2];
        // The model maps the column x = 900 of the right picture to infinity.
        let second =
            DMat3::from_cols_array(&[1.0, 0.0, -1.0 / 900.0, 0.0, 1.0, 0.0, 400.0, 0.0, 1.0]);
        let model = Planes::new(&sizes, 0, vec![DMat3::IDENTITY, second]);
        let right = DVec2::new(100.0, 350.0);
        let left = model.map(0, 1, right).unwrap() + 0.5;
        let close = Match { link: [0, 1], left, right, index: 7 };
        let horizon = Match {
            link: [0, 1],
            left: DVec2::new(300.0, 300.0),
            right: DVec2::new(899.99, 350.0),
            index: 3,
        };
        assert!(squared(&model, &horizon) < 0.1);
        assert!(model.map(0, 1, horizon.right).unwrap().distance(horizon.left) > 1e7);
        assert_eq!(agreeing(&model, &[horizon, close], 1.0, sizes).0, [&close]);
    }

    #[test]
    fn places_are_spread_over_the_whole_picture() {
        let size = UVec2::new(640, 480);
        let all: Vec<DVec2> = places(size).0.collect();
        assert_eq!(all.len(), 48 * 36);
        let mean = all.iter().sum::<DVec2>() / all.len() as f64;
        assert!((mean - DVec2::new(319.5, 239.5)).length() < 1e-9);
        assert!(all.iter().all(|at| inside(*at, size)));
    }

    #[test]
    fn inside_follows_the_bounds_of_the_stitch() {
        let size = UVec2::new(640, 480);
        for (x, y, expected) in [
            (0.0, 0.0, true),
            (639.9, 479.9, true),
            (-0.1, 5.0, false),
            (5.0, -0.1, false),
            (640.0, 5.0, false),
            (5.0, 480.0, false),
            (f64::NAN, 5.0, false),
        ] {
            assert_eq!(inside(DVec2::new(x, y), size), expected, "{x} {y}");
        }
    }
}
