//! The Gauss-Newton equations of the model: the derivatives of all residuals, and the priors.
//!
//! The two predictions of a channel depend on the exposures, the vignettes and the deviations only through the
//! logarithm of one ratio of lights. So the sums over the predictions are computed first, and multiplied by the
//! derivatives of the logarithm once per channel.

use nalgebra::{DMatrix, DVector};

use super::predict::{Model, Prediction};
use super::{DEVIATION, EXPOSURE, Problem, RESPONSE, Sample, Solution, VIGNETTE};

/// The number of coefficients of a vignette.
const TERMS: usize = VIGNETTE.len();

/// The equations of some samples, without the priors.
struct Equations {
    /// The matrix, of which only the lower triangle is used.
    matrix: DMatrix<f64>,
    side: DVector<f64>,
}

impl Equations {
    /// Adds to the element of two parameters.
    #[inline]
    fn add(&mut self, i: usize, j: usize, value: f64) {
        self.matrix[(i.max(j), i.min(j))] += value;
    }
}

/// Sums over the two predictions of a channel: products of the derivatives of the residuals by the logarithm of the
/// ratio and by the coefficients of the response.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) ratio: f64,
    pub(super) ratio_residual: f64,
    ratio_response: [f64; 2],
    response: [f64; 3],
    response_residual: [f64; 2],
}

impl Problem<'_> {
    /// Returns the Gauss-Newton step, or `None` if the equations are singular.
    pub(super) fn step(&self, at: &Solution, scale: f64) -> Option<DVector<f64>> {
        let model = Model::new(at);
        let parts = self.parts(|_, samples| self.equations(&model, samples, scale));
        let Equations { mut matrix, mut side } = parts.into_iter().reduce(|sum, part| {
            Equations { matrix: sum.matrix + part.matrix, side: sum.side + part.side }
        })?;
        let mut prior = |i: usize, sigma: f64, now: f64| {
            matrix[(i, i)] += sigma.powi(-2);
            side[i] -= now * sigma.powi(-2);
        };
        for picture in 0..self.pictures {
            for channel in 0..3 {
                prior(4 * picture + channel, EXPOSURE, at.exposures[picture][channel]);
            }
            prior(4 * picture + 3, DEVIATION, at.deviations[picture]);
        }
        for lens in 0..self.lens_count {
            for (i, sigma) in VIGNETTE.into_iter().enumerate() {
                prior(self.lens(lens) + i, sigma, at.vignettes[lens][i]);
            }
        }
        let last = self.lens(self.lens_count);
        prior(last, RESPONSE, at.response.a.into());
        prior(last + 1, RESPONSE, at.response.b.into());
        Some(matrix.cholesky()?.solve(&side))
    }

    fn equations(&self, model: &Model<'_>, samples: &[Sample], scale: f64) -> Equations {
        let count = self.parameters();
        let mut all =
            Equations { matrix: DMatrix::zeros(count, count), side: DVector::zeros(count) };
        for sample in samples {
            let sums = self.sums(model, sample, 0.0, scale);
            self.add(&mut all, sample, &sums);
        }
        all
    }

    /// Returns the sums over the predictions of each channel of a sample. `ratio` is that of [`Model::predict`].
    pub(super) fn sums(
        &self,
        model: &Model<'_>,
        sample: &Sample,
        ratio: f64,
        scale: f64,
    ) -> [Sums; 3] {
        model.predict(sample, ratio).map(|both| {
            let mut sums = Sums::default();
            for (from, predicted) in both.iter().enumerate() {
                let weight = self.evidence * sample.weight / predicted.outlying(scale);
                sums.add(predicted, weight, from, self.response);
            }
            sums
        })
    }

    /// Adds a sample to equations. `sums` has an element for each channel.
    fn add(&self, all: &mut Equations, sample: &Sample, sums: &[Sums; 3]) {
        let ([a, b], last) = (sample.pictures, self.lens(self.lens_count));
        // The derivatives of the logarithm of the ratio: by the exposures of a channel, then by the parameters that all
        // channels share.
        let mut by = [(0, 0.0); 4 + 2 * TERMS];
        let mut used = 2;
        if self.vignette {
            used = by.len();
            for (side, (picture, sign)) in [(a, -1.0), (b, 1.0)].into_iter().enumerate() {
                let q = sample.radii[side];
                by[2 + side] = (4 * picture + 3, sign * q);
                let lens = self.lens(self.lenses[picture]);
                for i in 0..TERMS {
                    by[4 + TERMS * side + i] = (lens + i, sign * q.powi(i as i32 + 1));
                }
            }
            if self.lenses[a] == self.lenses[b] {
                used -= TERMS;
                for i in 0..TERMS {
                    by[4 + i].1 += by[4 + TERMS + i].1;
                }
            }
        }
        for (channel, sums) in sums.iter().enumerate() {
            by[0] = (4 * a + channel, -1.0);
            by[1] = (4 * b + channel, 1.0);
            for (i, &(row, by_row)) in by[..used].iter().enumerate() {
                all.side[row] -= by_row * sums.ratio_residual;
                for &(column, by_column) in &by[..=i] {
                    all.add(row, column, sums.ratio * by_row * by_column);
                }
            }
            if !self.response {
                continue;
            }
            for i in 0..2 {
                all.side[last + i] -= sums.response_residual[i];
                for &(column, by_column) in &by[..used] {
                    all.add(last + i, column, sums.ratio_response[i] * by_column);
                }
            }
            all.add(last, last, sums.response[0]);
            all.add(last + 1, last, sums.response[1]);
            all.add(last + 1, last + 1, sums.response[2]);
        }
    }
}

impl Sums {
    /// Adds the prediction from a side. `response` states whether its derivatives by the response are needed.
    #[inline]
    fn add(&mut self, predicted: &Prediction, weight: f64, from: usize, response: bool) {
        // The factor of the prediction from side 1 is the reciprocal of the ratio.
        let change = if from == 0 { predicted.change() } else { -predicted.change() };
        let residual = weight * predicted.residual;
        self.ratio += weight * change * change;
        self.ratio_residual += change * residual;
        if response {
            let [a, b] = by_response(predicted);
            self.ratio_response[0] += weight * change * a;
            self.ratio_response[1] += weight * change * b;
            self.response[0] += weight * a * a;
            self.response[1] += weight * a * b;
            self.response[2] += weight * b * b;
            self.response_residual[0] += a * residual;
            self.response_residual[1] += b * residual;
        }
    }
}

/// Returns the derivatives of a residual by the coefficients of the response.
fn by_response(&Prediction { ref source, factor, light, steepness, .. }: &Prediction) -> [f64; 2] {
    // The derivatives of the response by a and b at a light. Above 1, the response is a line whose slope depends on
    // both.
    let parts = |light: f64| {
        let (inside, beyond) = (light.min(1.0), (light - 1.0).max(0.0));
        let a = inside * (1.0 - inside);
        [a - beyond, a * (2.0 * inside - 1.0) - beyond]
    };
    let (of_source, of_light) = (parts(source.light), parts(light));
    std::array::from_fn(|i| {
        let inverse = -of_source[i] / source.slope;
        -255.0 * (of_light[i] + steepness * factor * inverse)
    })
}
