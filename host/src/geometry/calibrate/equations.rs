//! The normal equations of a fit: the sums over all residuals and their derivatives.
//!
//! A residual depends on the free parameters of two pictures only. So the sums of each pair are small and dense, and
//! all cores compute them. They are added up in the order of the pairs, so the result is the same on every run.

use glam::{DMat2, DVec2};
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use super::model::{Link, Match, Model};

/// The maximum number of free parameters that change the map of a pair of pictures.
pub(super) const PER_LINK: usize = 16;

/// The residual, in pixels, of a point that the model cannot map after a step. It is so large that the fit rejects the
/// step.
const LOST: f64 = 1e4;

/// A correspondence in a round of fitting, with the matrix that whitens its residual.
pub(super) struct Weighed<'s> {
    pub(super) one: &'s Match,
    pub(super) whiten: DMat2,
}

/// The sums over all whitened residuals r, with the derivatives J by the free parameters.
pub(super) struct Equations {
    /// `Jᵀ·J`
    pub(super) information: DMatrix<f64>,
    /// `Jᵀ·r`
    gradient: DVector<f64>,
    /// `rᵀ·r`
    pub(super) squares: f64,
}

/// A change of the free parameters.
pub(super) struct Step {
    pub(super) by: DVector<f64>,
    /// The decrease of the sum of squares if all residuals were linear.
    pub(super) expected: f64,
}

impl Equations {
    /// Computes the sums for a model.
    pub(super) fn new<M: Model>(model: &M, weighed: &[Weighed<'_>]) -> Self {
        let freedom = model.freedom();
        let mut all = Self {
            information: DMatrix::zeros(freedom, freedom),
            gradient: DVector::zeros(freedom),
            squares: 0.0,
        };
        for Sums { parameters, information, gradient, squares } in
            each_link(weighed, |matches| Sums::new(model, matches))
        {
            for (i, &k) in parameters.iter().enumerate() {
                all.gradient[k] += gradient[i];
                for (j, &l) in parameters[..=i].iter().enumerate() {
                    all.information[(k.max(l), k.min(l))] += information[i][j];
                }
            }
            all.squares += squares;
        }
        all.information.fill_upper_triangle_with_lower_triangle();
        all
    }

    /// Returns the step to the minimum of the linear residuals, or a shorter one if `damping` is positive (Levenberg
    /// and Marquardt). Returns `None` if the equations do not determine a step.
    pub(super) fn step(&self, damping: f64) -> Option<Step> {
        let mut damped = self.information.clone();
        let mut extra = DVector::zeros(self.gradient.len());
        for k in 0..extra.len() {
            let own = self.information[(k, k)];
            // A parameter that changes nothing must not prevent the decomposition.
            extra[k] = if own > 0.0 { damping * own } else { 1.0 };
            damped[(k, k)] += extra[k];
        }
        let by = -damped.cholesky()?.solve(&self.gradient);
        let shortened: f64 = by.iter().zip(&extra).map(|(by, extra)| by * by * extra).sum();
        let expected = shortened - by.dot(&self.gradient);
        (expected.is_finite() && by.iter().all(|by| by.is_finite()))
            .then_some(Step { by, expected })
    }
}

/// Returns the sum of the squared residuals of a model.
pub(super) fn squares<M: Model>(model: &M, weighed: &[Weighed<'_>]) -> f64 {
    let one = |Weighed { one, whiten }: &Weighed<'_>| {
        let [to, from] = one.link;
        let at = model.map(to, from, one.right);
        at.map_or(2.0 * LOST * LOST, |at| (*whiten * (at - one.left)).length_squared())
    };
    each_link(weighed, |matches| matches.iter().map(one).sum::<f64>()).iter().sum()
}

/// Calls `work` with the correspondences of each pair of pictures, and returns the results in order. The
/// correspondences of a pair must follow each other.
fn each_link<'s, R: Send>(
    weighed: &[Weighed<'s>],
    work: impl Fn(&[Weighed<'s>]) -> R + Sync,
) -> Vec<R> {
    let links: Vec<_> = weighed.chunk_by(|a, b| a.one.link == b.one.link).collect();
    // A single pair is not worth the transfer to another thread.
    match &links[..] {
        [one] => vec![work(one)],
        _ => links.into_par_iter().map(&work).collect(),
    }
}

/// The sums of one pair of pictures. `information` has a lower triangle only.
struct Sums {
    parameters: Vec<usize>,
    information: [[f64; PER_LINK]; PER_LINK],
    gradient: [f64; PER_LINK],
    squares: f64,
}

impl Sums {
    fn new<M: Model>(model: &M, weighed: &[Weighed<'_>]) -> Self {
        let mut information = [[0.0; PER_LINK]; PER_LINK];
        let (mut gradient, mut squares) = ([0.0; PER_LINK], 0.0);
        let Some([to, from]) = weighed.first().map(|one| one.one.link) else {
            return Self { parameters: Vec::new(), information, gradient, squares };
        };
        let link = model.link(to, from);
        let parameters = link.parameters().to_vec();
        let count = parameters.len();
        let mut slopes = [DVec2::ZERO; PER_LINK];
        for Weighed { one, whiten } in weighed {
            let Some(at) = link.slopes(one.right, &mut slopes[..count]) else {
                squares += 2.0 * LOST * LOST;
                continue;
            };
            let off = *whiten * (at - one.left);
            squares += off.length_squared();
            slopes[..count].iter_mut().for_each(|slope| *slope = *whiten * *slope);
            for i in 0..count {
                let slope = slopes[i];
                gradient[i] += slope.dot(off);
                for j in 0..=i {
                    information[i][j] += slope.dot(slopes[j]);
                }
            }
        }
        Self { parameters, information, gradient, squares }
    }
}
