//! Computes the radius up to which the distortion polynomial of a lens is valid.
//!
//! A fitted distortion polynomial increases over the calibrated field of view, but may have a maximum beyond it. Beyond
//! the maximum, a second ray projects to the same source pixel, so the panorama would show part of the picture a second
//! time, mirrored. [`radial_limit`] computes the radius of the maximum, so the kernel needs only one comparison.
//!
//! Tangential distortion is ignored, because it is about a hundred times smaller.

use std::f64::consts::PI;

use shared_types::warp::Lens;

/// Returns the smallest radius at which the radial polynomial of `lens` stops rising.
///
/// - For a pinhole lens, the radius is `tan θ`, where `θ` is the angle to the optical axis. `distortion` is
///   `k1 k2 p1 p2 k3`. The derivative of the polynomial, with `s = r²`, is `1 + 3k1·s + 5k2·s² + 7k3·s³`. The result is
///   infinity if the polynomial always rises.
/// - For a fisheye, the radius is `θ` in radians. `distortion` is `k1 k2 k3 k4`. The derivative is
///   `1 + 3k1·s + 5k2·s² + 7k3·s³ + 9k4·s⁴`. The result is at most π.
///
/// These are the camera models of OpenCV's `calib3d`.
#[must_use]
pub(crate) fn radial_limit(lens: Lens, distortion: &[f64; 5]) -> f64 {
    let k = distortion;
    if lens == Lens::FISHEYE {
        let rise = [1.0, 3.0 * k[0], 5.0 * k[1], 7.0 * k[2], 9.0 * k[3]];
        first_fall(&rise, PI * PI).map_or(PI, f64::sqrt)
    } else {
        let rise = [1.0, 3.0 * k[0], 5.0 * k[1], 7.0 * k[4]];
        first_fall(&rise, root_bound(&rise)).map_or(f64::INFINITY, f64::sqrt)
    }
}

/// Returns Cauchy's bound of a polynomial, which no root exceeds. The lowest coefficient comes first.
fn root_bound(polynomial: &[f64]) -> f64 {
    let Some(degree) = polynomial.iter().rposition(|&c| c != 0.0) else {
        return 0.0;
    };
    let largest = polynomial[..degree].iter().fold(0.0, |m: f64, c| m.max(c.abs()));
    (1.0 + largest / polynomial[degree].abs()).min(f64::MAX)
}

/// Returns the first position in `(0, end]` where the polynomial is not positive. The polynomial must be positive at 0.
fn first_fall(polynomial: &[f64], end: f64) -> Option<f64> {
    let mut above = 0.0;
    // The polynomial is monotonic between neighbouring turning points, so an interval with a sign change contains
    // exactly one root.
    for turn in turns(polynomial, end) {
        if value(polynomial, turn) <= 0.0 {
            return Some(bisect(polynomial, above, turn));
        }
        above = turn;
    }
    None
}

/// Returns ascending positions in `(0, end]` between which the polynomial is monotonic. The last one is `end`.
fn turns(polynomial: &[f64], end: f64) -> Vec<f64> {
    let derivative: Vec<f64> =
        polynomial.iter().enumerate().skip(1).map(|(i, c)| i as f64 * c).collect();
    let mut places = Vec::new();
    if derivative.len() > 1 {
        let mut low = 0.0;
        for high in turns(&derivative, end) {
            if (value(&derivative, low) > 0.0) != (value(&derivative, high) > 0.0) {
                places.push(bisect(&derivative, low, high));
            }
            low = high;
        }
    }
    places.push(end);
    places
}

/// Returns the position between `low` and `high` where the polynomial changes its sign. The signs at `low` and `high`
/// must differ.
fn bisect(polynomial: &[f64], mut low: f64, mut high: f64) -> f64 {
    let positive_below = value(polynomial, low) > 0.0;
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return high;
        }
        if (value(polynomial, middle) > 0.0) == positive_below {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// Evaluates a polynomial with Horner's scheme. The lowest coefficient comes first.
fn value(polynomial: &[f64], at: f64) -> f64 {
    polynomial.iter().rev().fold(0.0, |sum, c| sum.mul_add(at, *c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenses_that_always_rise() {
        assert_eq!(radial_limit(Lens::PINHOLE, &[0.0; 5]), f64::INFINITY);
        assert_eq!(radial_limit(Lens::PINHOLE, &[0.1, 0.2, 0.0, 0.0, 0.3]), f64::INFINITY);
        assert_eq!(radial_limit(Lens::FISHEYE, &[0.0; 5]), PI);
    }

    #[test]
    fn one_negative_coefficient_has_a_closed_form() {
        // The limit is the root of 1 + 3k1·r².
        let limit = radial_limit(Lens::PINHOLE, &[-0.3, 0.0, 0.0, 0.0, 0.0]);
        assert!((limit - (1.0f64 / 0.9).sqrt()).abs() < 1e-12, "{limit}");
        // The limit is the root of 1 + 9k4·θ⁸.
        let limit = radial_limit(Lens::FISHEYE, &[0.0, 0.0, 0.0, -0.01, 0.0]);
        assert!((limit - (1.0f64 / 0.09).powf(0.125)).abs() < 1e-12, "{limit}");
    }

    #[test]
    fn falls_and_rises_again() {
        // The derivative is (1 - s)(1 - s/2) with s = r², which is negative from s = 1 to s = 2.
        let limit = radial_limit(Lens::PINHOLE, &[-1.5 / 3.0, 0.5 / 5.0, 0.0, 0.0, 0.0]);
        assert!((limit - 1.0).abs() < 1e-12, "{limit}");
        // The derivative is 1 - 0.5s + s², which has the minimum 0.9375 and no root.
        let limit = radial_limit(Lens::PINHOLE, &[-0.5 / 3.0, 0.2, 0.0, 0.0, 0.0]);
        assert_eq!(limit, f64::INFINITY);
    }

    #[test]
    fn agrees_with_a_scan() {
        let lenses = [[-0.04, 0.02, -0.026, 0.008, 0.0], [-0.3, 0.13, -0.03, 0.002, 0.0]];
        for k in lenses {
            let rise = |t: f64| {
                let s = t * t;
                1.0 + s * (3.0 * k[0] + s * (5.0 * k[1] + s * (7.0 * k[2] + s * 9.0 * k[3])))
            };
            let scanned = (1..=31_415).map(|i| f64::from(i) * 1e-4).find(|&t| rise(t) <= 0.0);
            let limit = radial_limit(Lens::FISHEYE, &k);
            assert!((limit - scanned.unwrap_or(PI)).abs() < 2e-4, "{limit} {scanned:?}");
        }
    }

    #[test]
    fn extreme_coefficients_end() {
        for k in [1e6, -1e6, 1e-300, -1e-300] {
            let limit = radial_limit(Lens::PINHOLE, &[-k, k, 0.0, 0.0, -k]);
            assert!(limit > 0.0, "{k}: {limit}");
            let limit = radial_limit(Lens::FISHEYE, &[-k, k, -k, k, 0.0]);
            assert!(limit > 0.0 && limit <= PI, "{k}: {limit}");
        }
    }
}
