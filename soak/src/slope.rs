//! Fits a line to measurements over time, and computes the confidence interval of its slope.

use serde::Serialize;

/// The growth of a measured quantity over time: the slope of a line fitted to its measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Slope {
    /// Growth per second, in the unit of the quantity.
    pub(crate) rise: f64,
    /// Half the width of the 95 % confidence interval of `rise`, in the unit of `rise`.
    pub(crate) error: f64,
    /// Time from the first to the last measurement, in seconds.
    pub(crate) span: f64,
}

impl Slope {
    /// Fits a line to points `(seconds, value)` by least squares. Returns `None` if there are fewer than three points,
    /// or if all points have the same time.
    ///
    /// The errors of the points must be independent. Those of measurements that are close in time are not, so the soak
    /// uses only one measurement per cycle.
    pub(crate) fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let freedom = points.len().checked_sub(2).filter(|&n| n > 0)?;
        let n = points.len() as f64;
        let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / n;
        let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
        let sum = |term: fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|(x, y)| term(x - mean_x, y - mean_y)).sum()
        };
        let (xx, xy) = (sum(|x, _| x * x), sum(|x, y| x * y));
        if xx == 0.0 {
            return None;
        }
        let rise = xy / xx;
        let left: f64 =
            points.iter().map(|(x, y)| (y - mean_y - rise * (x - mean_x)).powi(2)).sum();
        let error = student(freedom) * (left / freedom as f64 / xx).sqrt();
        Some(Self { rise, error, span: points[points.len() - 1].0 - points[0].0 })
    }

    /// Returns the growth from the first to the last measurement, computed with the lower end of the slope's
    /// confidence interval.
    pub(crate) fn least_growth(&self) -> f64 {
        (self.rise - self.error) * self.span
    }
}

/// Returns the 97.5 % quantile of Student's t-distribution with `freedom` degrees of freedom, accurate to 1 %.
fn student(freedom: usize) -> f64 {
    const FEW: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];
    FEW.get(freedom - 1).copied().unwrap_or(1.96 + 2.6 / freedom as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_on_a_line_have_an_exact_slope() {
        let points: Vec<_> = (0..5).map(|i| (f64::from(i), 7.0 + 3.0 * f64::from(i))).collect();
        let slope = Slope::fit(&points).unwrap();
        assert!((slope.rise - 3.0).abs() < 1e-12 && slope.error < 1e-12 && slope.span == 4.0);
        assert!((slope.least_growth() - 12.0).abs() < 1e-9);
    }

    #[test]
    fn the_error_agrees_with_the_formula() {
        // The residuals around the flat line are 1, -2 and 1. Their variance is s² = 6, and Σ(x − x̄)² = 2. The error
        // is t · √(s² / Σ(x − x̄)²), where t = 12.71 is the quantile for one degree of freedom.
        let slope = Slope::fit(&[(0.0, 1.0), (1.0, -2.0), (2.0, 1.0)]).unwrap();
        assert!(slope.rise.abs() < 1e-12);
        assert!((slope.error - 12.71 * 3.0_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn too_few_points_have_no_slope() {
        assert_eq!(Slope::fit(&[(0.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(Slope::fit(&[(1.0, 1.0); 5]), None);
    }
}
