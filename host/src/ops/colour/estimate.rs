//! Estimates the colours that give two cameras the same brightness: a pure function of the sums over their overlap.
//!
//! The estimate uses no pixels, so it cannot distinguish exposure from black level or response curve. It equalises the
//! means. With a camera that compresses highlights, about a third of the pixel differences remain.

use glam::Vec3;
use shared_types::colour::{ColourSums, LUMA};
use shared_types::stitch::Colour;
use thiserror::Error;

/// Colour corrections of both cameras.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colours {
    /// The left camera's correction.
    pub left: Colour,
    /// The right camera's correction.
    pub right: Colour,
}

impl Colours {
    /// Leaves pictures unchanged.
    pub const IDENTITY: Self = Self { left: Colour::IDENTITY, right: Colour::IDENTITY };
}

impl Default for Colours {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// The range of a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FactorRange {
    least: f32,
    most: f32,
}

/// The range does not contain 1, or contains absurd factors.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error(
    "colour: bounds of {least} and {most}; the least is a number from 0.01 to 1, the most from 1 to 100"
)]
pub struct BoundsError {
    /// The requested minimum.
    pub least: f32,
    /// The requested maximum.
    pub most: f32,
}

impl FactorRange {
    /// Creates a range from `least` (0.01 to 1) to `most` (1 to 100).
    ///
    /// # Errors
    /// Returns [`BoundsError`] for other numbers.
    pub fn new(least: f32, most: f32) -> Result<Self, BoundsError> {
        let sound = (0.01..=1.0).contains(&least) && (1.0..=100.0).contains(&most);
        if sound { Ok(Self { least, most }) } else { Err(BoundsError { least, most }) }
    }

    /// Returns the minimum.
    #[must_use]
    pub fn least(self) -> f32 {
        self.least
    }

    /// Returns the maximum.
    #[must_use]
    pub fn most(self) -> f32 {
        self.most
    }

    /// Returns factors that bring the positive numbers `x` and `y` to their geometric mean, or to the nearest number
    /// that both can reach; if there is none, as close to each other as possible.
    fn meet(self, x: f64, y: f64) -> [f64; 2] {
        let (least, most) = (f64::from(self.least), f64::from(self.most));
        // If the larger number cannot come down to the reach of the smaller one, no target is in reach of both.
        let target = (x * y).sqrt().max(least * x.max(y)).min(most * x.min(y));
        [x, y].map(|from| (target / from).clamp(least, most))
    }
}

/// Limits of an estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EstimateLimits {
    /// Minimum sum of weights for an estimate; a pixel's weight is at most 1.
    pub min_weight: f32,
    /// Range of the gains.
    pub gain: FactorRange,
    /// Range of the gammas.
    pub gamma: FactorRange,
}

impl Default for EstimateLimits {
    /// Returns 10,000 weighted pixels, gains from 0.5 to 2, gammas from 0.8 to 1.2.
    fn default() -> Self {
        Self {
            min_weight: 10_000.0,
            gain: FactorRange { least: 0.5, most: 2.0 },
            gamma: FactorRange { least: 0.8, most: 1.2 },
        }
    }
}

/// Estimates the colours that equalise two cameras, from their sums.
///
/// Returns `None` if the sums are no evidence: too few pixels count, as in the dark, or a mean is not a level over 0,
/// up to 255. That is not a failure.
///
/// A camera's colour turns a level c, 0 to 255, into `255 · clamp(gain · c / 255, 0, 1)^gamma`.
///
/// **Gains.** A camera that is exposed differently sees levels times a factor (in linear light, and
/// also in pictures encoded by a power). So for each channel, with the cameras' means L and R,
///
/// ```text
/// target = √(L · R)      gain = target / mean
/// ```
///
/// The geometric mean shares the correction: one camera is brightened as much as the other is darkened, and both reach
/// their limits [0.5, 2] together, at a ratio of 4. With the arithmetic mean the darker camera would change most: at a
/// ratio of 2 the gains would be 1.5 and 0.75 instead of 1.41 and 0.71, and steps of one level per frame would take
/// 103 frames instead of 88, which is more than 3 s (see [`ColourTracker`](super::ColourTracker)). If the target is
/// beyond a camera's limit, it moves to the nearest value that both reach. If they reach none, they stay at opposite
/// limits.
///
/// **Gammas** correct only what gains cannot: both are exactly 1 if the gains equalised the cameras. Otherwise let a <
/// b be the two lumas of the means after the gains. A curve through black and white that maps level m to level t is
/// `gamma = ln(t / 255) / ln(m / 255)`. Both cameras meet at one t, again a geometric mean, this time of the
/// logarithms:
///
/// ```text
/// A = ln(255 / a)   B = ln(255 / b)   T = ln(255 / t) = √(A · B)
/// gamma of the darker   = T / A = √(B / A) < 1    brightens its mid-tones
/// gamma of the brighter = T / B = √(A / B) > 1    darkens its mid-tones
/// ```
///
/// Both are limited to [0.8, 1.2]. T moves, like the gains' target, to a value that both reach, if there is one (A / B
/// ≤ 1.5).
///
/// **Error.** The curve fits the mean, but a picture has many levels. By Jensen's inequality the mean of a convex
/// curve (gamma > 1) is above the curve at the mean, and that of a concave curve below. So the darker camera ends
/// slightly below t and the brighter one slightly above: part of the difference may remain, but no gamma increases or
/// reverses it. On test pictures with level ratios of 5 and 8, gains and gammas leave at most 2 % and 8 % of the
/// difference of the means. There is one gamma per camera: if the gains left different amounts in the channels, luma
/// is equalised and a colour cast remains.
#[must_use]
pub fn estimate(sums: &ColourSums, limits: &EstimateLimits) -> Option<Colours> {
    // A NaN fails this check; so does an infinite weight, because the means are then 0.
    let enough = sums.weight > 0.0 && sums.weight >= limits.min_weight;
    let mean = |[r, g, b, _]: [f32; 4]| {
        let mean = [r, g, b].map(|sum| f64::from(sum) / f64::from(sums.weight));
        (enough && mean.iter().all(|m| *m > 0.0 && *m <= 255.0)).then_some(mean)
    };
    let (left, right) = (mean(sums.left)?, mean(sums.right)?);
    let gains: [[f64; 2]; 3] = std::array::from_fn(|c| limits.gain.meet(left[c], right[c]));
    let luma = |mean: [f64; 3], side: usize| -> f64 {
        (0..3).map(|c| f64::from(LUMA[c]) * gains[c][side] * mean[c]).sum()
    };
    // White stays white with any gamma; the formula ends just below white.
    let depth = |luma: f64| (255.0 / luma.min(254.0)).ln();
    let gammas = limits.gamma.meet(depth(luma(left, 0)), depth(luma(right, 1)));
    let colour = |side: usize| Colour {
        gain: Vec3::from_array(gains.map(|gain| gain[side] as f32)),
        gamma: gammas[side] as f32,
    };
    Some(Colours { left: colour(0), right: colour(1) })
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
    fn gains_meet_in_the_middle_and_leave_gamma_alone() {
        let found = of(&coloured([100.0, 50.0, 80.0], [50.0, 100.0, 20.0]));
        let half = 0.5_f32.sqrt();
        assert!((found.left.gain - Vec3::new(half, 2.0 * half, 0.5)).abs().max_element() < 1e-6);
        assert!((found.right.gain - Vec3::new(2.0 * half, half, 2.0)).abs().max_element() < 1e-6);
        assert_eq!([found.left.gamma, found.right.gamma], [1.0, 1.0]);
        assert_eq!(of(&grey(93.7, 93.7)), Colours::IDENTITY);
    }

    #[test]
    fn the_darker_camera_is_brightened_by_what_gains_leave() {
        // 20 and 120 become 40 and 60: A = 1.852, B = 1.447, T = 1.637.
        let found = of(&grey(20.0, 120.0));
        assert_eq!((found.left.gain, found.right.gain), (Vec3::splat(2.0), Vec3::splat(0.5)));
        assert!((found.left.gamma - 0.8838).abs() < 1e-4, "{found:?}");
        assert!((found.right.gamma - 1.1315).abs() < 1e-4, "{found:?}");
        // Both means have the same level then.
        let level = |mean: f32, gamma| 255.0 * (mean / 255.0).powf(gamma);
        let (left, right) = (level(40.0, found.left.gamma), level(60.0, found.right.gamma));
        assert!((left - right).abs() < 1e-3, "{left} and {right}");
    }

    #[test]
    fn targets_move_to_where_both_cameras_reach_them() {
        let gain = FactorRange::new(0.9, 2.0).unwrap();
        let limits = EstimateLimits { gain, ..EstimateLimits::default() };
        let found = estimate(&grey(60.0, 100.0), &limits).unwrap();
        assert_eq!((found.left.gain, found.right.gain), (Vec3::splat(1.5), Vec3::splat(0.9)));
        assert_eq!([found.left.gamma, found.right.gamma], [1.0, 1.0]);

        // After the gains, A / B is 1.49, whose root exceeds 1.2.
        let found = of(&grey(14.0, 116.0));
        assert_eq!(found.right.gamma, 1.2);
        assert!(found.left.gamma > 0.8 && found.left.gamma < 0.82, "{found:?}");
        // And 2.2: no gammas meet.
        let found = of(&grey(9.0, 200.0));
        assert_eq!([found.left.gamma, found.right.gamma], [0.8, 1.2]);
    }

    #[test]
    fn what_is_no_evidence() {
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
    fn bounds_hold_1() {
        for (least, most) in [(0.0, 2.0), (1.1, 2.0), (0.5, 0.9), (f32::NAN, 2.0), (0.5, 101.0)] {
            assert!(FactorRange::new(least, most).is_err(), "{least} to {most}");
        }
        let error = FactorRange::new(0.5, f32::INFINITY).unwrap_err();
        assert!(error.to_string().contains("bounds of 0.5 and inf"), "{error}");
    }
}
