//! Fits the photometric model to samples by iteratively reweighted least squares, then fits gain fields to the
//! remaining differences.
//!
//! In logarithms the model is linear, except for the response:
//!
//! ```text
//! ln light(level) = ln scene + exposure + k₁·q + k₂·q² + k₃·q³ + d·q
//! ```
//!
//! `q` is the squared radius. The coefficients k are common to all pictures of one size. The deviation d of a picture
//! is small, because two lenses of one type differ little. Each picture of a point predicts the level in the other one,
//! so residuals are in levels, and the scene is not a parameter. (Residuals of the logarithms would prefer responses
//! that make all lights equal.) A Cauchy loss, whose scale falls from [`COARSE`] to [`FINE`] levels, ignores moving
//! objects and parallax.
//!
//! Samples of one overlap are correlated, so each pair counts as at most [`INDEPENDENT`] samples against the priors.
//! The priors matter only where the overlaps determine nothing. For example, they select the response of an ideal
//! camera if all exposures are equal.

use glam::{UVec2, Vec3};
use nalgebra::DVector;
use rayon::prelude::*;
use shared_types::photometry::Response;

mod equations;
mod fields;
mod predict;

use super::Photometry;
use super::response;
use super::samples::Sample;
use crate::geometry::{MIDDLE, Vignetting};
use predict::Model;

/// The scale of the loss in the first iteration and in the last ones, in levels.
const COARSE: f64 = 30.0;
const FINE: f64 = 2.5;

/// The number of iterations. The scale falls in the first half.
const ITERATIONS: i32 = 24;

/// The number of samples of a pair of pictures that count as independent, and the minimum number of samples of a pair.
const INDEPENDENT: f64 = 300.0;
const LEAST_SAMPLES: usize = 16;

/// The maximum number of samples of all pairs, about, and the number of samples to which a pair is entitled. More would
/// take longer than the stitch, and adjacent samples are alike.
const MOST_SAMPLES: usize = 2_000;
const ENOUGH_SAMPLES: usize = 120;

/// The relative fall of the loss below which an iteration with the final scale is the last one.
const CONVERGED: f64 = 1e-5;

/// Standard deviations of the priors: exposures, the three coefficients of a vignette, the deviation of a picture, and
/// the coefficients of the response.
const EXPOSURE: f64 = 2.0;
const VIGNETTE: [f64; 3] = [0.4, 0.25, 0.15];
const DEVIATION: f64 = 0.03;
const RESPONSE: f64 = 0.5;

/// The amount by which the mean loss must fall for a model with vignetting or a response to be used instead of a
/// simpler one. Residuals of half a level have this loss.
const BETTER: f64 = 0.015;

/// The smallest logarithm of the levels that a lens keeps at a corner: a loss of two stops.
const LEAST_FALLOFF: f64 = -2.0 * std::f64::consts::LN_2 / 2.2;

/// The range of gains.
const GAIN: [f64; 2] = [0.25, 4.0];

/// Fits the model to samples of pictures with these sizes, which have the `given` vignetting.
pub(super) fn fit(
    sizes: &[UVec2],
    samples: &[Sample],
    given: &[Vignetting],
    anchor: Option<usize>,
) -> Photometry {
    let samples = enough(samples, sizes.len());
    let group = groups(sizes.len(), &samples);
    let mut problem = Problem::new(sizes, &samples, given);
    let best = problem.best(&[&[(true, false), (false, true)], &[(true, true)]]);
    let exposure = |picture: usize| best.exposures[picture];
    let shift = |picture: usize| match anchor {
        Some(anchor) if group[anchor] == group[picture] => exposure(anchor),
        _ => [0.0; 3],
    };
    let gain = |picture: usize| {
        let (exposure, shift) = (exposure(picture), shift(picture));
        let gain = [0, 1, 2].map(|c| (shift[c] - exposure[c]).exp().clamp(GAIN[0], GAIN[1]));
        Vec3::from_array(gain.map(|gain| gain as f32))
    };
    let fields = fields::fit(&problem, &best, sizes, anchor);
    let pictures = 0..sizes.len();
    let matched = |picture: usize| samples.iter().any(|sample| sample.pictures.contains(&picture));
    Photometry {
        gains: pictures.clone().map(gain).collect(),
        vignetting: problem.vignetting(&best),
        centres: vec![MIDDLE; sizes.len()],
        response: best.response,
        mismatch: problem.mismatch(&best),
        fields,
        unmatched: pictures.filter(|&picture| !matched(picture)).collect(),
    }
}

/// Fits the vignetting like [`fit`] if the response is that of an ideal camera. Stitches that do not undo a response need
/// this vignetting.
pub(super) fn fit_vignetting(
    sizes: &[UVec2],
    samples: &[Sample],
    given: &[Vignetting],
) -> Vec<Vignetting> {
    let samples = enough(samples, sizes.len());
    let mut problem = Problem::new(sizes, &samples, given);
    let best = problem.best(&[&[(true, false)]]);
    problem.vignetting(&best)
}

/// Returns evenly distributed samples of each pair that has enough of them.
fn enough(samples: &[Sample], pictures: usize) -> Vec<Sample> {
    let mut counts = vec![0; pictures * pictures];
    let pair = |sample: &Sample| sample.pictures[0] * pictures + sample.pictures[1];
    samples.iter().for_each(|sample| counts[pair(sample)] += 1);
    let pairs = counts.iter().filter(|count| **count >= LEAST_SAMPLES).count();
    let most = (MOST_SAMPLES / pairs.max(1)).max(ENOUGH_SAMPLES);
    let mut seen = vec![0; pictures * pictures];
    let evenly = |sample: &&Sample| {
        let (count, seen) = (counts[pair(sample)], &mut seen[pair(sample)]);
        let before = *seen * most / count.max(1);
        *seen += 1;
        count >= LEAST_SAMPLES && (count <= most || *seen * most / count > before)
    };
    samples.iter().filter(evenly).copied().collect()
}

/// Returns the group of each picture. Samples connect the pictures of a group.
fn groups(pictures: usize, samples: &[Sample]) -> Vec<usize> {
    let mut group: Vec<usize> = (0..pictures).collect();
    for sample in samples {
        let [a, b] = sample.pictures.map(|picture| group[picture]);
        if a != b {
            group.iter_mut().filter(|group| **group == b).for_each(|group| *group = a);
        }
    }
    group
}

/// A least squares problem: the samples, and the parameters to estimate.
struct Problem<'a> {
    samples: &'a [Sample],
    /// The vignetting that is known. The parameters describe the rest.
    given: &'a [Vignetting],
    pictures: usize,
    /// The lens of each picture: pictures of one size have the same lens.
    lenses: Vec<usize>,
    lens_count: usize,
    vignette: bool,
    response: bool,
    /// The factor of the squared residuals against the priors.
    evidence: f64,
}

/// Parameters of the model.
#[derive(Clone, Debug)]
struct Solution {
    exposures: Vec<[f64; 3]>,
    deviations: Vec<f64>,
    lenses: Vec<usize>,
    vignettes: Vec<[f64; 3]>,
    response: Response,
    loss: f64,
}

impl<'a> Problem<'a> {
    fn new(sizes: &[UVec2], samples: &'a [Sample], given: &'a [Vignetting]) -> Self {
        let mut kinds: Vec<UVec2> = Vec::new();
        let lenses = sizes.iter().map(|size| match kinds.iter().position(|kind| kind == size) {
            Some(lens) => lens,
            None => {
                kinds.push(*size);
                kinds.len() - 1
            }
        });
        let lenses: Vec<usize> = lenses.collect();
        let mut pairs: Vec<[usize; 2]> = samples.iter().map(|sample| sample.pictures).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let weight: f64 = samples.iter().map(|sample| sample.weight).sum();
        let evidence = (0.5 * INDEPENDENT * pairs.len() as f64 / weight.max(1.0)).min(1.0);
        Self {
            samples,
            given,
            pictures: sizes.len(),
            lens_count: kinds.len(),
            lenses,
            vignette: false,
            response: false,
            evidence: evidence / (FINE * FINE),
        }
    }

    /// Indices of the parameters: three exposures and a deviation per picture, three coefficients per lens, and two of
    /// the response.
    fn lens(&self, lens: usize) -> usize {
        4 * self.pictures + 3 * lens
    }

    fn parameters(&self) -> usize {
        self.lens(self.lens_count) + 2
    }

    /// Returns the solution of the simplest model that explains the samples well. `stages` contains models in the order
    /// of their complexity: whether they have vignetting and a response.
    fn best(&mut self, stages: &[&[(bool, bool)]]) -> Solution {
        let mut best = self.solve();
        for models in stages {
            let simpler = best.loss;
            for &(vignette, response) in *models {
                self.vignette = vignette;
                self.response = response;
                let solved = self.solve();
                if solved.loss < best.loss.min(simpler - BETTER) && self.plausible(&solved) {
                    best = solved;
                }
            }
        }
        best
    }

    fn solve(&self) -> Solution {
        let mut at = Solution {
            exposures: vec![[0.0; 3]; self.pictures],
            deviations: vec![0.0; self.pictures],
            lenses: self.lenses.clone(),
            vignettes: vec![[0.0; 3]; self.lens_count],
            response: Response::default(),
            loss: 0.0,
        };
        for i in 0..ITERATIONS {
            let scale = scale(COARSE, i, ITERATIONS);
            let Some(step) = self.step(&at, scale) else { break };
            let before = self.loss(&at, scale);
            // Shorten a step after which the response does not rise or the samples fit less well.
            let steps = (0..6).map(|halvings| self.moved(&at, &step, 0.5_f64.powi(halvings)));
            let better = |next: Solution| {
                let rises = response::rises(&next.response);
                let loss = if rises { self.loss(&next, scale) } else { before };
                (loss < before).then_some((next, loss))
            };
            let is_final = 2 * i >= ITERATIONS;
            match { steps }.find_map(better) {
                Some((next, loss)) => {
                    at = next;
                    if is_final && before - loss < CONVERGED * before {
                        break;
                    }
                }
                None if is_final => break,
                None => {}
            }
        }
        at.loss = self.loss(&at, FINE);
        at
    }

    /// Returns the vignetting of each picture.
    fn vignetting(&self, at: &Solution) -> Vec<Vignetting> {
        let picture = |(picture, given): (usize, &Vignetting)| {
            Vignetting::of_levels(|q| given.falloff(q) + at.falloff(picture, q))
        };
        self.given.iter().enumerate().map(picture).collect()
    }

    /// Returns whether no picture becomes brighter away from its centre, except for errors of the estimate or as given,
    /// and no corner loses two stops more than given.
    fn plausible(&self, at: &Solution) -> bool {
        let is_plausible = |(picture, given): (usize, &Vignetting)| {
            let q = |i: i32| f64::from(i) / 8.0;
            let found = |i: i32| at.falloff(picture, q(i));
            let known = |i: i32| given.falloff(q(i));
            (1..=8).all(|i| {
                let (found_rise, known_rise) = (found(i) - found(i - 1), known(i) - known(i - 1));
                found_rise + known_rise.min(0.0) < 0.01 && found(i) > LEAST_FALLOFF
            })
        };
        self.given.iter().enumerate().all(is_plausible)
            && self.vignetting(at).iter().all(Vignetting::is_valid)
    }

    /// Runs `work` on parts of the samples at the same time. Returns the results in the order of the samples. `work`
    /// receives the index of the first sample of its part. The parts do not depend on the number of threads, so neither
    /// does the rounding of their sums.
    fn parts<T: Send>(&self, work: impl Fn(usize, &[Sample]) -> T + Sync) -> Vec<T> {
        /// The number of parts, which limits the memory for the sums of parts.
        const PARTS: usize = 16;
        let each = self.samples.len().div_ceil(PARTS).max(1);
        let parts = self.samples.par_chunks(each).enumerate();
        parts.map(|(part, samples)| work(part * each, samples)).collect()
    }

    /// Returns the parameters after `factor` times a step.
    fn moved(&self, at: &Solution, step: &DVector<f64>, factor: f64) -> Solution {
        let mut next = at.clone();
        let change = |i: usize| factor * step[i];
        for (picture, exposures) in next.exposures.iter_mut().enumerate() {
            exposures
                .iter_mut()
                .enumerate()
                .for_each(|(c, exposure)| *exposure += change(4 * picture + c));
            next.deviations[picture] += change(4 * picture + 3);
        }
        for (lens, terms) in next.vignettes.iter_mut().enumerate() {
            terms.iter_mut().enumerate().for_each(|(i, term)| *term += change(self.lens(lens) + i));
        }
        let last = self.lens(self.lens_count);
        next.response.a += change(last) as f32;
        next.response.b += change(last + 1) as f32;
        next
    }

    /// Returns the median difference between a level and the one that the other picture predicts, or 0 without samples.
    fn mismatch(&self, at: &Solution) -> f32 {
        let model = Model::new(at);
        let predicted = |sample| model.predict(sample, 0.0).into_iter().flatten();
        let residuals = self.samples.iter().flat_map(predicted).map(|one| one.residual.abs());
        let mut residuals: Vec<f64> = residuals.collect();
        let middle = residuals.len() / 2;
        if residuals.is_empty() {
            return 0.0;
        }
        *residuals.select_nth_unstable_by(middle, f64::total_cmp).1 as f32
    }

    /// Returns the mean loss of a sample. Residuals of `scale` levels have the loss ln 2.
    fn loss(&self, at: &Solution, scale: f64) -> f64 {
        self.mean_loss(&Model::new(at), scale, |_| 0.0)
    }

    /// Returns the mean loss of a sample. `ratio` returns the logarithm of the ratio of the light on side 1 of a sample
    /// to that on side 0 that the model does not contain.
    fn mean_loss(&self, model: &Model<'_>, scale: f64, ratio: impl Fn(usize) -> f64 + Sync) -> f64 {
        let parts = self.parts(|first, samples| {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (i, sample) in (first..).zip(samples) {
                let predicted = model.predict(sample, ratio(i));
                // The logarithm of a product is the sum of the logarithms. Six residuals of 255 levels do not overflow.
                let outlying = predicted.iter().flatten().map(|one| one.outlying(scale));
                sum += sample.weight * outlying.product::<f64>().ln();
                weights += 6.0 * sample.weight;
            }
            (sum, weights)
        });
        let (sum, weights) =
            parts.iter().fold((0.0, f64::MIN_POSITIVE), |(s, w), part| (s + part.0, w + part.1));
        sum / weights
    }
}

/// Returns the scale of the loss in an iteration, in levels. It falls from `coarse` to [`FINE`] in the first half.
fn scale(coarse: f64, iteration: i32, iterations: i32) -> f64 {
    let progress = (f64::from(2 * iteration) / f64::from(iterations)).min(1.0);
    coarse * (FINE / coarse).powf(progress)
}

impl Solution {
    /// Returns the logarithm of the light that a picture keeps at a squared radius.
    fn falloff(&self, picture: usize, q: f64) -> f64 {
        let [a, b, c] = self.vignettes[self.lenses[picture]];
        q * (a + self.deviations[picture] + q * (b + q * c))
    }
}

#[cfg(test)]
mod tests;
