//! Fits a model of several pictures to correspondences.
//!
//! A model maps points of one picture to another, and has free parameters. The residual of a correspondence is
//! Sampson's (Hartley and Zisserman, 4.2.6): the points in both pictures have noise, so the distance in the left
//! picture is weighted by the inverse of `I + J·Jᵀ`, where J is the derivative of the map at the right point. The
//! residual is in pixels. For noise of 1 px, its square is χ²-distributed with two degrees of freedom.
//!
//! The method is Levenberg–Marquardt with numeric derivatives. It runs in rounds. The weights of the correspondences
//! are constant within a round and updated between rounds.

use glam::{DMat2, DVec2};
use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::{DMatrix, DVector, Dyn, VecStorage};

/// A correspondence: a point of the scene and its pixels in two pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sight {
    /// Indices of the left and the right picture.
    pub(super) link: [usize; 2],
    /// Pixel in the left picture.
    pub(super) left: DVec2,
    /// Pixel in the right picture.
    pub(super) right: DVec2,
}

/// A map from points of one picture to another.
pub(super) trait Model: Clone {
    /// Returns the number of free parameters.
    fn freedom(&self) -> usize;
    /// Returns the model after adding `step` to its free parameters. The parameters are scaled such that a step of 1 is
    /// large for each of them.
    fn moved(&self, step: &[f64]) -> Self;
    /// Returns whether a free parameter changes anything about a picture. Maps between other pictures stay the same.
    fn moves(&self, parameter: usize, picture: usize) -> bool;
    /// Maps a pixel of picture `from` to picture `to`. The result may lie outside the picture. Returns `None` if the
    /// point is behind a camera or beyond a lens limit.
    fn map(&self, to: usize, from: usize, pixel: DVec2) -> Option<DVec2>;
    /// Returns the result of [`map`](Self::map), and its derivative with respect to the pixel.
    fn local(&self, to: usize, from: usize, pixel: DVec2) -> Option<(DVec2, DMat2)> {
        /// Step of the numeric derivative, in pixels. It is large compared with rounding errors, and so small that the
        /// map is nearly linear within the step.
        const STEP: f64 = 1e-2;
        let at = self.map(to, from, pixel)?;
        let along = |axis: DVec2| Some((self.map(to, from, pixel + axis * STEP)? - at) / STEP);
        Some((at, DMat2::from_cols(along(DVec2::X)?, along(DVec2::Y)?)))
    }
}

/// Returns Sampson's squared residual in px², or infinity if the model does not map the point.
pub(super) fn squared<M: Model>(model: &M, sight: &Sight) -> f64 {
    let Some((at, jacobian)) = model.local(sight.link[0], sight.link[1], sight.right) else {
        return f64::INFINITY;
    };
    sampson(sight.left - at, jacobian)
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

/// A correspondence in a round of fitting, with the matrix that whitens its residual.
struct Weighed<'s> {
    sight: &'s Sight,
    whiten: DMat2,
}

/// Returns each correspondence with its whitening matrix, which combines Sampson's variance with the weight. The
/// function `weight` returns the weight for a squared residual. Leaves out correspondences of weight 0.
fn weigh<'s, M: Model>(
    model: &M,
    sights: impl IntoIterator<Item = &'s Sight>,
    weight: impl Fn(f64) -> f64,
) -> Vec<Weighed<'s>> {
    let one = |sight: &'s Sight| {
        let (at, jacobian) = model.local(sight.link[0], sight.link[1], sight.right)?;
        let weight = weight(sampson(sight.left - at, jacobian));
        let [a, b, _, d] = (DMat2::IDENTITY + jacobian * jacobian.transpose()).to_cols_array();
        // `columns` is the inverse of the Cholesky factor of the variance.
        let l11 = a.sqrt();
        let l21 = b / l11;
        let l22 = (d - l21 * l21).sqrt();
        let columns = [1.0 / l11, -l21 / (l11 * l22), 0.0, 1.0 / l22];
        let whiten = DMat2::from_cols_array(&columns) * weight.sqrt();
        (weight > 0.0 && whiten.is_finite()).then_some(Weighed { sight, whiten })
    };
    sights.into_iter().filter_map(one).collect()
}

/// The residual, in pixels, of a point that the model cannot map after a step. It is so large that the solver rejects
/// the step.
const LOST: f64 = 1e4;

/// Step of the free parameters for numeric derivatives. The parameters are of the order of 1, so the derivatives are
/// accurate to about a millionth, which is enough for a fit.
const STEP: f64 = 1e-6;

fn off<M: Model>(model: &M, Weighed { sight, whiten }: &Weighed<'_>) -> DVec2 {
    model
        .map(sight.link[0], sight.link[1], sight.right)
        .map_or(DVec2::splat(LOST), |at| *whiten * (at - sight.left))
}

/// The sums over all whitened residuals r, with the derivatives J by the free parameters.
struct Equations {
    /// `Jᵀ·J`
    information: DMatrix<f64>,
    /// `Jᵀ·r`
    gradient: DVector<f64>,
    /// `rᵀ·r`
    squares: f64,
}

impl Equations {
    fn new<M: Model>(base: &M, step: &[f64], weighed: &[Weighed<'_>]) -> Self {
        let freedom = step.len();
        let here = base.moved(step);
        let here: Vec<DVec2> = weighed.iter().map(|one| off(&here, one)).collect();
        let mut slopes = vec![DVec2::ZERO; weighed.len() * freedom];
        for k in 0..freedom {
            let mut aside = step.to_vec();
            aside[k] += STEP;
            let aside = base.moved(&aside);
            for (i, (one, here)) in weighed.iter().zip(&here).enumerate() {
                if one.sight.link.iter().any(|picture| base.moves(k, *picture)) {
                    slopes[i * freedom + k] = (off(&aside, one) - here) / STEP;
                }
            }
        }
        let (mut information, mut gradient) =
            (DMatrix::zeros(freedom, freedom), DVector::zeros(freedom));
        let mut moving = Vec::with_capacity(freedom);
        for (slopes, here) in slopes.chunks_exact(freedom.max(1)).zip(&here) {
            // A correspondence depends on the parameters of two pictures only.
            let all = slopes.iter().copied().enumerate();
            moving.clear();
            moving.extend(all.filter(|(_, slope)| *slope != DVec2::ZERO));
            for &(k, slope) in &moving {
                gradient[k] += slope.dot(*here);
                for &(l, other) in &moving {
                    information[(k, l)] += slope.dot(other);
                }
            }
        }
        let squares = here.iter().map(|here| here.length_squared()).sum();
        Self { information, gradient, squares }
    }

    /// Returns a residual of one more element than there are parameters, and its derivatives, with the same sums as all
    /// residuals. A solver makes the same steps with both, except for rounding, but decomposes a matrix of a few hundred rows
    /// instead of tens of thousands. Returns `None` if a number is not finite or the sums have no Cholesky decomposition.
    fn compressed(&self) -> Option<(DVector<f64>, DMatrix<f64>)> {
        let freedom = self.gradient.len();
        // Without this small part, the matrix of a model with a parameter that moves nothing has no decomposition.
        let mut information = self.information.clone();
        for k in 0..freedom {
            let own = information[(k, k)];
            information[(k, k)] = if own > 0.0 { own * (1.0 + 1e-13) } else { 1.0 };
        }
        let lower = information.cholesky()?.unpack();
        let residual = lower.solve_lower_triangular(&self.gradient)?;
        let rest = (self.squares - residual.norm_squared()).max(0.0).sqrt();
        let finite =
            rest.is_finite() && residual.iter().chain(&lower).all(|value| value.is_finite());
        finite.then(|| (residual.push(rest), lower.transpose().insert_row(freedom, 0.0)))
    }
}

struct Problem<'a, M> {
    base: &'a M,
    step: DVector<f64>,
    weighed: &'a [Weighed<'a>],
    /// The residual and its derivatives at `step`; see [`Equations::compressed`].
    compressed: Option<(DVector<f64>, DMatrix<f64>)>,
}

impl<'a, M: Model> Problem<'a, M> {
    fn new(base: &'a M, weighed: &'a [Weighed<'a>]) -> Self {
        let step = DVector::zeros(base.freedom());
        let mut problem = Self { base, step: step.clone(), weighed, compressed: None };
        problem.set_params(&step);
        problem
    }
}

impl<M: Model> LeastSquaresProblem<f64, Dyn, Dyn> for Problem<'_, M> {
    type ResidualStorage = VecStorage<f64, Dyn, nalgebra::U1>;
    type JacobianStorage = VecStorage<f64, Dyn, Dyn>;
    type ParameterStorage = VecStorage<f64, Dyn, nalgebra::U1>;

    fn set_params(&mut self, step: &DVector<f64>) {
        self.step.copy_from(step);
        self.compressed = Equations::new(self.base, step.as_slice(), self.weighed).compressed();
    }

    fn params(&self) -> DVector<f64> {
        self.step.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        self.compressed.as_ref().map(|(residual, _)| residual.clone())
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        self.compressed.as_ref().map(|(_, jacobian)| jacobian.clone())
    }
}

/// Fits a model to correspondences. `start` must be near the result.
///
/// Runs up to `rounds` rounds. In each round, the function `weight` computes the weight of a correspondence from its
/// squared residual in px². Returns `None` if too few correspondences have a positive weight to determine the free
/// parameters.
pub(super) fn fit<M: Model>(
    start: &M,
    sights: &[&Sight],
    weight: impl Fn(f64) -> f64,
    rounds: usize,
) -> Option<M> {
    /// Maximum number of evaluations per round, as a multiple of the number of free parameters. Most rounds take about
    /// ten evaluations in total.
    const PATIENCE: usize = 8;
    /// Relative change of the sum of squares below which a round ends. With a thousand correspondences, such a change
    /// moves the parameters by a hundredth of their standard deviation.
    const TOLERANCE: f64 = 1e-7;
    let freedom = start.freedom();
    let mut model = start.clone();
    for _ in 0..rounds {
        let weighed = weigh(&model, sights.iter().copied(), &weight);
        if 2 * weighed.len() < freedom || freedom == 0 {
            return None;
        }
        let solver = LevenbergMarquardt::new().with_tol(TOLERANCE).with_patience(PATIENCE);
        let (done, _) = solver.minimize(Problem::new(&model, &weighed));
        if done.compressed.is_none() {
            // The solver stopped at a step that it could not evaluate.
            break;
        }
        let moved = done.step.amax();
        model = model.moved(done.step.as_slice());
        if moved < 1e-9 {
            break;
        }
    }
    Some(model)
}

/// Returns the covariance of the model's free parameters for noise of 1 px in each coordinate of both pictures, or
/// `None` if the correspondences do not determine all free parameters.
pub(super) fn covariance<M: Model>(model: &M, sights: &[&Sight]) -> Option<DMatrix<f64>> {
    let weighed = weigh(model, sights.iter().copied(), |_| 1.0);
    let equations = Equations::new(model, &vec![0.0; model.freedom()], &weighed);
    equations.information.cholesky().map(|cholesky| cholesky.inverse())
}

/// Returns, for each of `pixels` in picture `from`, the expected squared error of its position in picture `to`, in
/// px². The result is `None` for a pixel that the model does not map. `covariance` is the result of [`covariance`].
pub(super) fn spread<M: Model>(
    model: &M,
    covariance: &DMatrix<f64>,
    [to, from]: [usize; 2],
    pixels: &[DVec2],
) -> Vec<Option<f64>> {
    let freedom = model.freedom();
    let mut slopes = vec![Some(DMatrix::zeros(2, freedom)); pixels.len()];
    for k in 0..freedom {
        let aside = |by: f64| {
            let mut step = vec![0.0; freedom];
            step[k] = by;
            model.moved(&step)
        };
        let (above, below) = (aside(STEP), aside(-STEP));
        for (&pixel, slopes) in pixels.iter().zip(&mut slopes) {
            let seen = above.map(to, from, pixel).zip(below.map(to, from, pixel));
            *slopes = slopes.take().zip(seen).map(|(mut slopes, (a, b))| {
                let slope = (a - b) / (2.0 * STEP);
                (slopes[(0, k)], slopes[(1, k)]) = (slope.x, slope.y);
                slopes
            });
        }
    }
    let trace = |slopes: DMatrix<f64>| (&slopes * covariance * slopes.transpose()).trace();
    slopes.into_iter().map(|slopes| slopes.map(trace)).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::Model;

    /// Checks [`Model::moves`]: a parameter must change the parts of exactly these pictures. `parts` returns the part of
    /// the model that belongs to each picture.
    pub(crate) fn check_moves<M: Model, P: PartialEq>(model: &M, parts: impl Fn(&M) -> Vec<P>) {
        let mut step = vec![0.0; model.freedom()];
        let before = parts(&model.moved(&step));
        for k in 0..step.len() {
            step.fill(0.0);
            step[k] = 0.01;
            for (picture, (after, before)) in
                parts(&model.moved(&step)).iter().zip(&before).enumerate()
            {
                assert_eq!(model.moves(k, picture), after != before, "{k} {picture}");
            }
        }
    }
}
