//! Estimates the colour corrections that give two cameras the same mean levels in their overlap.
//!
//! The estimate uses only the sums of the colours over the overlap, not the pixels. Therefore it equalises the means,
//! but cannot distinguish a difference in exposure from a difference in black level or response curve. If one camera
//! compresses highlights, about a third of the differences between the cameras' pixels remains.

use glam::Vec3;
use shared_types::colour::{ColourSums, LUMA};
use shared_types::stitch::Colour;
use thiserror::Error;

use super::Colours;

/// The permitted range of a gain or gamma. The range always contains 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FactorRange {
    least: f32,
    most: f32,
}

/// The error for bounds of a [`FactorRange`] that exclude 1 or permit factors below 0.01 or above 100.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error(
    "colour: the bounds of a gain or gamma are {least} and {most}; the lower bound must be 0.01 to 1, and the upper bound 1 to 100"
)]
pub struct BoundsError {
    /// The requested lower bound.
    pub least: f32,
    /// The requested upper bound.
    pub most: f32,
}

impl FactorRange {
    /// Creates a range from `least` (0.01 to 1) to `most` (1 to 100).
    ///
    /// # Errors
    /// Returns [`BoundsError`] for other bounds.
    pub fn new(least: f32, most: f32) -> Result<Self, BoundsError> {
        let sound = (0.01..=1.0).contains(&least) && (1.0..=100.0).contains(&most);
        if sound { Ok(Self { least, most }) } else { Err(BoundsError { least, most }) }
    }

    /// Returns the lower bound.
    #[must_use]
    pub fn least(self) -> f32 {
        self.least
    }

    /// Returns the upper bound.
    #[must_use]
    pub fn most(self) -> f32 {
        self.most
    }

    /// Returns the factor of this range that is nearest to `factor`.
    pub(super) fn limit(self, factor: f64) -> f64 {
        factor.clamp(self.least.into(), self.most.into())
    }

    /// Returns factors for the positive numbers `x` and `y` that make both products equal. Both factors are in this
    /// range. The common product is the geometric mean of `x` and `y`, or the nearest value to it that both can reach.
    /// If the range does not permit equal products, the factors bring the products as close to each other as possible.
    fn meet(self, x: f64, y: f64) -> [f64; 2] {
        let (least, most) = (f64::from(self.least), f64::from(self.most));
        // If the larger number times `least` exceeds the smaller number times `most`, the products cannot be equal. The
        // clamp then gives `least` for the larger number and `most` for the smaller one.
        let target = (x * y).sqrt().max(least * x.max(y)).min(most * x.min(y));
        [x, y].map(|from| (target / from).clamp(least, most))
    }
}

/// The limits of an estimate: a minimum weight, and the ranges of gains and gammas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EstimateLimits {
    /// The minimum sum of the weights of the pixels in the overlap, where each weight is 0 to 1. For a smaller sum,
    /// [`estimate`] returns `None`.
    pub min_weight: f32,
    /// The range of the gains.
    pub gain: FactorRange,
    /// The range of the gammas.
    pub gamma: FactorRange,
}

impl Default for EstimateLimits {
    /// Returns a minimum weight of 10,000, gains from 0.5 to 2 and gammas from 0.8 to 1.2.
    fn default() -> Self {
        Self {
            min_weight: 10_000.0,
            gain: FactorRange { least: 0.5, most: 2.0 },
            gamma: FactorRange { least: 0.8, most: 1.2 },
        }
    }
}

/// Estimates the colour corrections that equalise two cameras, from the colour sums over their overlap.
///
/// Returns `None` if the sums allow no estimate: the sum of the weights is below the limit (for instance because the
/// scene is dark), or a mean level is 0, more than 255, or NaN.
///
/// A camera's correction maps a level c from 0 to 255 to `255 · clamp(gain · c / 255, 0, 1)^gamma`.
///
/// **Gains.** A different exposure multiplies all levels by a factor, in linear light and in pictures encoded with a
/// power function. So each channel gets a gain per camera, computed from the means L and R of the left and the right
/// camera:
///
/// ```text
/// target = √(L · R)      gain = target / mean
/// ```
///
/// With the geometric mean, one camera is brightened by the same factor as the other is darkened, and both gains reach
/// the limits [0.5, 2] at the same ratio of the means, 4. With the arithmetic mean, the darker camera would change
/// more: at a ratio of 2, the gains would be 1.5 and 0.75 instead of 1.41 and 0.71. In steps of one level per frame,
/// [`ColourTracker`](super::ColourTracker) would take 103 frames (3.4 s at 30 frames/s) instead of 88 (2.9 s). If a
/// camera cannot reach the target within the limits, the target is the nearest level that both cameras can reach. If
/// there is no such level, one gain is the upper limit and the other one the lower limit.
///
/// **Gammas** correct the difference that the gains leave. Both gammas are exactly 1 if the gains equalise the
/// cameras. Otherwise let a < b be the lumas of the two cameras' means after the gains. The gamma that maps level m to
/// level t is `ln(t / 255) / ln(m / 255)`. Both cameras are mapped to the same t, whose logarithm T is the geometric
/// mean of the cameras' logarithms A and B:
///
/// ```text
/// A = ln(255 / a)   B = ln(255 / b)   T = ln(255 / t) = √(A · B)
/// gamma of the darker   = T / A = √(B / A) < 1    brightens its mid-tones
/// gamma of the brighter = T / B = √(A / B) > 1    darkens its mid-tones
/// ```
///
/// Both gammas are limited to [0.8, 1.2]. As for the gains, T is replaced by the nearest value that both cameras can
/// reach, if there is one (A / B ≤ 1.5).
///
/// **Error.** The gamma is exact for a uniform picture with the mean level, but a picture has many levels. By Jensen's
/// inequality, the mean of a convex function (gamma > 1) is above the function of the mean, and that of a concave
/// function is below. So the mean of the darker camera is slightly below t, and that of the brighter camera slightly
/// above. A part of the difference may remain, but the gammas never increase or reverse it. On test pictures with level
/// ratios of 5 and 8, gains and gammas leave at most 2 % and 8 % of the difference of the means. Each camera has only
/// one gamma for all channels: if the differences that the gains leave vary between the channels, the gammas equalise
/// luma, but a colour cast remains.
#[must_use]
pub fn estimate(sums: &ColourSums, limits: &EstimateLimits) -> Option<Colours> {
    means(sums, limits).map(|means| Colours::of(equalise(means, limits)))
}

/// Returns the mean levels of both cameras, or `None` if the sums allow no estimate; see [`estimate`].
pub(super) fn means(sums: &ColourSums, limits: &EstimateLimits) -> Option<[[f64; 3]; 2]> {
    // A NaN weight fails this check. An infinite weight passes, but then the means are 0 and `mean` returns `None`.
    let enough = sums.weight > 0.0 && sums.weight >= limits.min_weight;
    let mean = |[r, g, b, _]: [f32; 4]| {
        let mean = [r, g, b].map(|sum| f64::from(sum) / f64::from(sums.weight));
        (enough && mean.iter().all(|m| *m > 0.0 && *m <= 255.0)).then_some(mean)
    };
    Some([mean(sums.left)?, mean(sums.right)?])
}

/// Returns the colours that equalise two cameras with these mean levels; see [`estimate`].
pub(super) fn equalise([left, right]: [[f64; 3]; 2], limits: &EstimateLimits) -> [Colour; 2] {
    let gains: [[f64; 2]; 3] = std::array::from_fn(|c| limits.gain.meet(left[c], right[c]));
    let depth = |mean, side: usize| depth(luma(gains.map(|gain| gain[side]), mean));
    let gammas = limits.gamma.meet(depth(left, 0), depth(right, 1));
    [0, 1].map(|side| Colour {
        gain: Vec3::from_array(gains.map(|gain| gain[side] as f32)),
        gamma: gammas[side] as f32,
        ..Colour::IDENTITY
    })
}

/// Returns the luma of mean levels after the gains.
pub(super) fn luma(gains: [f64; 3], mean: [f64; 3]) -> f64 {
    (0..3).map(|c| f64::from(LUMA[c]) * gains[c] * mean[c]).sum()
}

/// Returns the depth `ln(255 / luma)` of a luma below white; see [`estimate`]. The depth of white is 0, which no gamma
/// can change. Therefore the luma is limited to 254, just below white.
pub(super) fn depth(luma: f64) -> f64 {
    (255.0 / luma.min(254.0)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey(left: f32, right: f32) -> ColourSums {
        coloured([left; 3], [right; 3])
    }

    fn coloured(left: [f32; 3], right: [f32; 3]) -> ColourSums {
        let sum = |[r, g, b]: [f32; 3]| {
            let luma = LUMA.dot(Vec3::new(r, g, b));
            [r, g, b, luma].map(|mean| mean * 20_000.0)
        };
        ColourSums { left: sum(left), right: sum(right), weight: 20_000.0 }
    }

    fn of(sums: &ColourSums) -> Colours {
        estimate(sums, &EstimateLimits::default()).unwrap()
    }

    #[test]
    fn gains_are_symmetric_and_gammas_stay_1() {
        let found = of(&coloured([100.0, 50.0, 80.0], [50.0, 100.0, 20.0]));
        let half = 0.5_f32.sqrt();
        assert!((found[0].gain - Vec3::new(half, 2.0 * half, 0.5)).abs().max_element() < 1e-6);
        assert!((found[1].gain - Vec3::new(2.0 * half, half, 2.0)).abs().max_element() < 1e-6);
        assert_eq!([found[0].gamma, found[1].gamma], [1.0, 1.0]);
        assert_eq!(of(&grey(93.7, 93.7)), Colours::IDENTITY);
    }

    #[test]
    fn gammas_correct_what_limited_gains_leave() {
        // The gains map 20 and 120 to 40 and 60. In the notation of `estimate`, A = 1.852, B = 1.447 and T = 1.637.
        let found = of(&grey(20.0, 120.0));
        assert_eq!((found[0].gain, found[1].gain), (Vec3::splat(2.0), Vec3::splat(0.5)));
        assert!((found[0].gamma - 0.8838).abs() < 1e-4, "{found:?}");
        assert!((found[1].gamma - 1.1315).abs() < 1e-4, "{found:?}");
        // The gammas map both means to the same level.
        let level = |mean: f32, gamma| 255.0 * (mean / 255.0).powf(gamma);
        let (left, right) = (level(40.0, found[0].gamma), level(60.0, found[1].gamma));
        assert!((left - right).abs() < 1e-3, "{left} and {right}");
    }

    #[test]
    fn targets_are_limited_to_levels_that_both_cameras_reach() {
        let gain = FactorRange::new(0.9, 2.0).unwrap();
        let limits = EstimateLimits { gain, ..EstimateLimits::default() };
        let found = estimate(&grey(60.0, 100.0), &limits).unwrap();
        assert_eq!((found[0].gain, found[1].gain), (Vec3::splat(1.5), Vec3::splat(0.9)));
        assert_eq!([found[0].gamma, found[1].gamma], [1.0, 1.0]);

        // After the gains, A / B is 1.49 (see `estimate`). The gamma √(A / B) would exceed the limit 1.2, so T moves to
        // the nearest value that both cameras can reach.
        let found = of(&grey(14.0, 116.0));
        assert_eq!(found[1].gamma, 1.2);
        assert!(found[0].gamma > 0.8 && found[0].gamma < 0.82, "{found:?}");
        // After the gains, A / B is 2.2, so no value of T is within reach of both cameras.
        let found = of(&grey(9.0, 200.0));
        assert_eq!([found[0].gamma, found[1].gamma], [0.8, 1.2]);
    }

    #[test]
    fn small_weights_and_invalid_means_give_no_estimate() {
        let limits = EstimateLimits::default();
        let good = grey(50.0, 60.0);
        assert!(estimate(&good, &limits).is_some());
        let thin = |weight| ColourSums { weight, ..good };
        for weight in [0.0, 9_999.0, -20_000.0, f32::NAN, f32::INFINITY] {
            assert_eq!(estimate(&thin(weight), &limits), None, "{weight}");
        }
        let any = EstimateLimits { min_weight: 0.0, ..limits };
        assert_eq!(estimate(&ColourSums::default(), &any), None);
        for mean in [0.0, -1.0, 255.1, f32::NAN, f32::INFINITY] {
            for channel in 0..3 {
                let mut sums = good;
                sums.right[channel] = mean * sums.weight;
                assert_eq!(estimate(&sums, &limits), None, "{mean}");
            }
        }
    }

    #[test]
    fn rejects_bounds_that_exclude_1_or_are_extreme() {
        for (least, most) in [(0.0, 2.0), (1.1, 2.0), (0.5, 0.9), (f32::NAN, 2.0), (0.5, 101.0)] {
            assert!(FactorRange::new(least, most).is_err(), "{least} to {most}");
        }
        let error = FactorRange::new(0.5, f32::INFINITY).unwrap_err();
        assert!(error.to_string().contains("are 0.5 and inf;"), "{error}");
    }
}
