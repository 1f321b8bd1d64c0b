//! Fits a model of several pictures to correspondences.
//!
//! A model maps points of one picture to another, and has free parameters. The residual of a correspondence is
//! Sampson's (Hartley and Zisserman, 4.2.6): the points in both pictures have noise, so the distance in the left
//! picture is weighted by the inverse of `I + J·Jᵀ`, where J is the derivative of the map at the right point. The
//! residual is in pixels. For noise of 1 px, its square is χ²-distributed with two degrees of freedom.
//!
//! The method is Levenberg–Marquardt. It runs in rounds. The weights of the correspondences are constant within a round
//! and updated between rounds.

use glam::{DMat2, DVec2};
use nalgebra::DMatrix;

use super::equations::{Equations, PER_LINK, Step, Weighed, squares};
use super::model::{Link, Match, Model};

/// Returns Sampson's squared residual in px², or infinity if the model does not map the point.
pub(super) fn squared<M: Model>(model: &M, one: &Match) -> f64 {
    let Some((at, jacobian)) = model.local(one.link[0], one.link[1], one.right) else {
        return f64::INFINITY;
    };
    sampson(one.left - at, jacobian)
}

/// Returns the squared Mahalanobis length of the distance `off` in the left picture, for noise of 1 px in both
/// pictures.
fn sampson(off: DVec2, jacobian: DMat2) -> f64 {
    let variance = DMat2::IDENTITY + jacobian * jacobian.transpose();
    // The variance is invertible, because all its eigenvalues are at least 1. The inverse of this symmetric matrix is
    // written out, which is faster than a general inversion.
    let [a, b, _, d] = variance.to_cols_array();
    (d * off.x * off.x - 2.0 * b * off.x * off.y + a * off.y * off.y) / (a * d - b * b)
}

/// Returns each correspondence with its whitening matrix, which combines Sampson's variance with the weight. The
/// function `weight` returns the weight for a squared residual. Leaves out correspondences of weight 0.
fn weigh<'s, M: Model>(
    model: &M,
    matches: impl IntoIterator<Item = &'s Match>,
    weight: impl Fn(f64) -> f64,
) -> Vec<Weighed<'s>> {
    let one = |one: &'s Match| {
        let (at, jacobian) = model.local(one.link[0], one.link[1], one.right)?;
        let weight = weight(sampson(one.left - at, jacobian));
        let [a, b, _, d] = (DMat2::IDENTITY + jacobian * jacobian.transpose()).to_cols_array();
        // `columns` is the inverse of the Cholesky factor of the variance.
        let l11 = a.sqrt();
        let l21 = b / l11;
        let l22 = (d - l21 * l21).sqrt();
        let columns = [1.0 / l11, -l21 / (l11 * l22), 0.0, 1.0 / l22];
        let whiten = DMat2::from_cols_array(&columns) * weight.sqrt();
        (weight > 0.0 && whiten.is_finite()).then_some(Weighed { one, whiten })
    };
    matches.into_iter().filter_map(one).collect()
}

/// Minimises the sum of the squared residuals, by Levenberg and Marquardt's method. Returns the model, and the largest
/// change of a free parameter in a step. Returns `None` if the sums of the first step are not finite.
fn minimise<M: Model>(start: &M, weighed: &[Weighed<'_>]) -> Option<(M, f64)> {
    /// Maximum number of steps, including those that are rejected. Most rounds take about five.
    const MOST_STEPS: usize = 100;
    /// Relative change of the sum of squares below which a round ends. With a thousand correspondences, such a change
    /// moves the parameters by a hundredth of their standard deviation.
    const TOLERANCE: f64 = 1e-7;
    /// The damping of the first step, which is nearly that of Gauss and Newton.
    const FIRST_DAMPING: f64 = 1e-6;
    /// The factor of the damping after an accepted step.
    const ACCEPTED: f64 = 0.1;
    /// The factor of the damping after a rejected step.
    const REJECTED: f64 = 10.0;
    let (mut model, mut stepped) = (start.clone(), 0.0_f64);
    let mut here = Equations::new(&model, weighed);
    if !here.squares.is_finite() {
        return None;
    }
    let mut damping = FIRST_DAMPING;
    for _ in 0..MOST_STEPS {
        let Some(Step { by, expected }) = here.step(damping) else {
            damping *= REJECTED;
            continue;
        };
        let next = model.stepped(by.as_slice());
        if expected <= TOLERANCE * here.squares {
            // No step follows, so the derivatives are not needed.
            if squares(&next, weighed) < here.squares {
                (model, stepped) = (next, stepped.max(by.amax()));
            }
            break;
        }
        let there = Equations::new(&next, weighed);
        if there.squares < here.squares {
            (model, here, stepped) = (next, there, stepped.max(by.amax()));
            damping *= ACCEPTED;
        } else {
            damping *= REJECTED;
        }
    }
    Some((model, stepped))
}

/// Fits a model to correspondences. `start` must be near the result.
///
/// Runs up to `rounds` rounds. In each round, the function `weight` computes the weight of a correspondence from its
/// squared residual in px². Returns `None` if too few correspondences have a positive weight to determine the free
/// parameters.
pub(super) fn fit<M: Model>(
    start: &M,
    matches: &[&Match],
    weight: impl Fn(f64) -> f64,
    rounds: usize,
) -> Option<M> {
    let freedom = start.freedom();
    let mut model = start.clone();
    for _ in 0..rounds {
        let weighed = weigh(&model, matches.iter().copied(), &weight);
        if 2 * weighed.len() < freedom || freedom == 0 {
            return None;
        }
        let Some((next, stepped)) = minimise(&model, &weighed) else { break };
        model = next;
        if stepped < 1e-9 {
            break;
        }
    }
    Some(model)
}

/// Returns the covariance of the model's free parameters for noise of 1 px in each coordinate of both pictures, or
/// `None` if the correspondences do not determine all free parameters.
pub(super) fn covariance<M: Model>(model: &M, matches: &[&Match]) -> Option<DMatrix<f64>> {
    let weighed = weigh(model, matches.iter().copied(), |_| 1.0);
    Equations::new(model, &weighed).information.cholesky().map(|cholesky| cholesky.inverse())
}

/// Returns, for each of `pixels` in picture `from`, the expected squared error of its position in picture `to`, in
/// px². The result is `None` for a pixel that the model does not map. `covariance` is the result of [`covariance`].
pub(super) fn spread<M: Model>(
    model: &M,
    covariance: &DMatrix<f64>,
    [to, from]: [usize; 2],
    pixels: &[DVec2],
) -> Vec<Option<f64>> {
    let link = model.link(to, from);
    let parameters = link.parameters();
    let mut slopes = [DVec2::ZERO; PER_LINK];
    let slopes = &mut slopes[..parameters.len()];
    let mut one = |pixel: DVec2| {
        link.slopes(pixel, slopes)?;
        let pairs = slopes.iter().zip(parameters).flat_map(|(slope, &k)| {
            let others = slopes.iter().zip(parameters);
            others.map(move |(other, &l)| slope.dot(*other) * covariance[(k, l)])
        });
        Some(pairs.sum())
    };
    pixels.iter().map(|&pixel| one(pixel)).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Checks [`Model::link`] by differences of [`Model::map`], and [`Model::local`], for a pixel of picture `from`.
    pub(crate) fn check_slopes<M: Model>(model: &M, to: usize, from: usize, pixel: DVec2) {
        const STEP: f64 = 1e-6;
        let link = model.link(to, from);
        let mut slopes = vec![DVec2::ZERO; link.parameters().len()];
        let at = link.slopes(pixel, &mut slopes).unwrap();
        assert!((at - model.map(to, from, pixel).unwrap()).length() < 1e-9);
        for k in 0..model.freedom() {
            let stepped = |by: f64| {
                let mut step = vec![0.0; model.freedom()];
                step[k] = by;
                model.stepped(&step).map(to, from, pixel).unwrap()
            };
            let expected = (stepped(STEP) - stepped(-STEP)) / (2.0 * STEP);
            let found = link.parameters().iter().position(|&own| own == k);
            let found = found.map_or(DVec2::ZERO, |i| slopes[i]);
            let error = (found - expected).length();
            assert!(error < 1e-3 + 1e-6 * expected.length(), "{k}: {found} {expected}");
        }
        let (at, jacobian) = model.local(to, from, pixel).unwrap();
        let aside = model.map(to, from, pixel + DVec2::new(0.05, -0.025)).unwrap();
        assert!((at + jacobian * DVec2::new(0.05, -0.025) - aside).length() < 1e-4);
    }
}
