//! Computes the robust loss and weight of a residual: MAGSAC++ (Barath, Noskova, Ivashechkin, Matas, CVPR 2020).
//!
//! The noise of a feature detector is unknown. Instead of using one threshold, MAGSAC++ assumes that every noise level
//! up to a maximum `σ` is equally likely, and integrates the weight of a residual `r` over all noise levels. Residuals
//! here have two degrees of freedom, so with `x = r² / 2σ²` the weight is `Γ(½, x) − Γ(½, k²/2)`, where
//! `Γ(½, x) = √π·erfc √x` and `k²` is the 0.99 quantile of χ² with two degrees of freedom. The loss is the integral of
//! `r·weight`. Loss and weight are scaled to a maximum of 1 and tabulated over `r²`.

/// The 0.99 quantile of χ² with two degrees of freedom: −2 ln 0.01.
pub(super) const CHI2: f64 = 9.210_340_371_976_182;

/// The number of steps of the table. Values between the steps are interpolated linearly.
const STEPS: usize = 1024;

/// The tables of loss and weight for one maximum noise.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    /// Squared residual in px² above which a correspondence is an outlier.
    cut: f64,
    /// Loss and weight at evenly spaced squared residuals from 0 to `cut`.
    table: Vec<[f64; 2]>,
}

impl Loss {
    /// Creates the tables for noise with a standard deviation of up to `most` pixels in each coordinate.
    pub(super) fn new(most: f64) -> Self {
        let end = libm::erfc(libm::sqrt(CHI2 / 2.0));
        let weight = |step: usize| {
            let share = step as f64 / STEPS as f64;
            (libm::erfc(libm::sqrt(share * CHI2 / 2.0)) - end).max(0.0) / (1.0 - end)
        };
        let mut sum = 0.0;
        let mut table: Vec<[f64; 2]> = vec![[0.0, 1.0]];
        for step in 1..=STEPS {
            sum += 0.5 * (weight(step) + weight(step - 1));
            table.push([sum, weight(step)]);
        }
        for entry in &mut table {
            entry[0] /= sum;
        }
        Self { cut: CHI2 * most * most, table }
    }

    /// Returns the squared residual in px² above which a correspondence is an outlier.
    pub(super) fn cut(&self) -> f64 {
        self.cut
    }

    /// Returns the loss for a squared residual in px². It rises from 0 at 0 to 1 at the cut, and stays 1 beyond.
    pub(super) fn loss(&self, squared: f64) -> f64 {
        self.at(squared).map_or(1.0, |[loss, _]| loss)
    }

    /// Returns the weight for a squared residual in px². It falls from 1 at 0 to 0 at the cut, and stays 0 beyond.
    pub(super) fn weight(&self, squared: f64) -> f64 {
        self.at(squared).map_or(0.0, |[_, weight]| weight)
    }

    fn at(&self, squared: f64) -> Option<[f64; 2]> {
        // The comparison is false for NaN, so that NaN counts as beyond the table.
        let inside = squared < self.cut;
        if !inside {
            return None;
        }
        let place = squared / self.cut * STEPS as f64;
        let low = (place as usize).min(STEPS - 1);
        let t = place - low as f64;
        let [a, b] = [self.table[low], self.table[low + 1]];
        Some([a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_rises_and_weight_falls() {
        let loss = Loss::new(2.0);
        assert!((loss.cut() - 4.0 * CHI2).abs() < 1e-12);
        assert_eq!((loss.loss(0.0), loss.weight(0.0)), (0.0, 1.0));
        assert_eq!((loss.loss(1e9), loss.weight(f64::NAN)), (1.0, 0.0));
        let steps: Vec<f64> = (0..400).map(|i| f64::from(i) * 0.1).collect();
        for pair in steps.windows(2) {
            assert!(loss.loss(pair[0]) <= loss.loss(pair[1]));
            assert!(loss.weight(pair[0]) >= loss.weight(pair[1]));
        }
        // With σ = 2, a residual of 2 is one standard deviation. Its weight is erfc(√½) minus erfc at the cut, scaled
        // to 1 for a residual of 0. Both values of erfc are from published tables.
        let expected = (0.317_310_507_862_914_1 - 0.002_406_7) / (1.0 - 0.002_406_7);
        assert!((loss.weight(4.0) - expected).abs() < 1e-4, "{}", loss.weight(4.0));
    }
}
