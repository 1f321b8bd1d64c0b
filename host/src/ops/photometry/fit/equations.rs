//! The Gauss-Newton equations of the model: the derivatives of all residuals, and the priors.

use nalgebra::{DMatrix, DVector};

use super::{
    Curve, DEVIATION, DIRECTIONS, EXPOSURE, Prediction, Problem, RESPONSE, Sample, Solution,
    VIGNETTE,
};

/// The maximum number of parameters on which a residual depends.
const TERMS: usize = 12;

impl Problem<'_> {
    /// Returns the Gauss-Newton step, or `None` if the equations are singular.
    pub(super) fn step(&self, at: &Solution, scale: f64) -> Option<DVector<f64>> {
        let curve = Curve::new(&at.response);
        let parts = self.parts(|_, samples| self.equations(at, &curve, samples, scale));
        let (mut matrix, mut side) =
            parts.into_iter().reduce(|(m, s), (matrix, side)| (m + matrix, s + side))?;
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

    /// Returns the matrix and the right side of the Gauss-Newton equations of some samples, without the priors.
    fn equations(
        &self,
        at: &Solution,
        curve: &Curve,
        samples: &[Sample],
        scale: f64,
    ) -> (DMatrix<f64>, DVector<f64>) {
        let count = self.parameters();
        let (mut matrix, mut side) = (DMatrix::zeros(count, count), DVector::zeros(count));
        for sample in samples {
            for (channel, from) in DIRECTIONS {
                let predicted = self.predict(at, curve, sample, channel, from, 0.0);
                let (mut terms, mut used) = ([(0, 0.0); TERMS], 0);
                for term in self.derivatives(&predicted, sample, channel, from) {
                    if term.1 != 0.0 {
                        terms[used] = term;
                        used += 1;
                    }
                }
                let weight = self.evidence * sample.weight * predicted.robust_weight(scale);
                for &(i, a) in &terms[..used] {
                    side[i] -= weight * a * predicted.residual;
                    for &(j, b) in &terms[..used] {
                        // The matrix is symmetric, and the decomposition reads only this triangle.
                        if j <= i {
                            matrix[(i, j)] += weight * a * b;
                        }
                    }
                }
            }
        }
        (matrix, side)
    }

    /// Returns the derivatives of the residual of a prediction by the parameters of these indices. Unused elements are 0.
    fn derivatives(
        &self,
        &Prediction { source, factor, light, steepness, change, .. }: &Prediction,
        sample: &Sample,
        channel: usize,
        from: usize,
    ) -> [(usize, f64); TERMS] {
        let sides = [from, 1 - from];
        let mut terms = [(0, 0.0); TERMS];
        for (terms, (side, change)) in
            terms.chunks_exact_mut(5).zip([(sides[0], -change), (sides[1], change)])
        {
            let (picture, q) = (sample.pictures[side], sample.radii[side]);
            terms[0] = (4 * picture + channel, change);
            if self.vignette {
                terms[1] = (4 * picture + 3, change * q);
                let lens = self.lens(self.lenses[picture]);
                for i in 0..3 {
                    terms[2 + i] = (lens + i, change * q.powi(i as i32 + 1));
                }
            }
        }
        if self.response {
            let last = self.lens(self.lens_count);
            // The derivatives of the response by a and b at a light.
            // Above 1, the response is a line whose slope depends on both.
            let parts = |light: f64| {
                let (inside, beyond) = (light.min(1.0), (light - 1.0).max(0.0));
                let a = inside * (1.0 - inside);
                [a - beyond, a * (2.0 * inside - 1.0) - beyond]
            };
            let (of_source, of_light) = (parts(source.light), parts(light));
            for i in 0..2 {
                let inverse = -of_source[i] / source.slope;
                terms[10 + i] = (last + i, -255.0 * (of_light[i] + steepness * factor * inverse));
            }
        }
        terms
    }
}
