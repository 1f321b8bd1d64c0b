//! Which colours make two cameras equally bright: a pure function of the sums over what both see.
//!
//! What this does not do: it looks at no pixel, so it cannot tell a difference in exposure from one in
//! black level or in the response curve. It equalises means and leaves the rest: of the differences of
//! single pixels about a third, with a camera that compresses highlights.

use glam::Vec3;
use shared_types::colour::{ColourSums, LUMA};
use shared_types::stitch::Colour;
use thiserror::Error;

/// Colours of both cameras.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colours {
    /// Of the left camera.
    pub left: Colour,
    /// Of the right camera.
    pub right: Colour,
}

impl Colours {
    /// Leaves pictures as they are.
    pub const IDENTITY: Self = Self { left: Colour::IDENTITY, right: Colour::IDENTITY };
}

impl Default for Colours {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// How far a factor may be from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FactorRange {
    least: f32,
    most: f32,
}

/// Bounds that do not hold 1, or hold absurd factors.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error(
    "colour: bounds of {least} and {most}; the least is a number from 0.01 to 1, the most from 1 to 100"
)]
pub struct BoundsError {
    /// The smallest factor asked for.
    pub least: f32,
    /// The largest.
    pub most: f32,
}

impl FactorRange {
    /// Factors from `least`, 0.01 to 1, up to `most`, 1 to 100.
    ///
    /// # Errors
    /// [`BoundsError`].
    pub fn new(least: f32, most: f32) -> Result<Self, BoundsError> {
        let sound = (0.01..=1.0).contains(&least) && (1.0..=100.0).contains(&most);
        if sound { Ok(Self { least, most }) } else { Err(BoundsError { least, most }) }
    }

    /// The smallest factor.
    #[must_use]
    pub fn least(self) -> f32 {
        self.least
    }

    /// The largest factor.
    #[must_use]
    pub fn most(self) -> f32 {
        self.most
    }

    /// Factors that take the positive numbers `x` and `y` to their geometric mean, or to the nearest
    /// number that both reach; as near to each other as they get if there is none.
    fn meet(self, x: f64, y: f64) -> [f64; 2] {
        let (least, most) = (f64::from(self.least), f64::from(self.most));
        // If the larger cannot come down to what the smaller reaches, that is beyond both.
        let target = (x * y).sqrt().max(least * x.max(y)).min(most * x.min(y));
        [x, y].map(|from| (target / from).clamp(least, most))
    }
}

/// What [`estimate`] may answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EstimateLimits {
    /// Below this sum of weights, which are 1 a pixel at most, there is no estimate.
    pub min_weight: f32,
    /// Of the gains.
    pub gain: FactorRange,
    /// Of the gammas.
    pub gamma: FactorRange,
}

impl Default for EstimateLimits {
    /// 10,000 weighted pixels, gains from 0.5 to 2, gammas from 0.8 to 1.2.
    fn default() -> Self {
        Self {
            min_weight: 10_000.0,
            gain: FactorRange { least: 0.5, most: 2.0 },
            gamma: FactorRange { least: 0.8, most: 1.2 },
        }
    }
}

/// The colours that equalise two cameras of which `sums` were taken.
///
/// `None` if the sums are no evidence: too few pixels count, as in the dark, or a mean is not a level
/// over 0, up to 255. That is no failure.
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
/// The geometric mean shares the work: one camera is brightened by as much as the other is darkened,
/// and both reach their limits [0.5, 2] together, at a ratio of 4. With the arithmetic mean the darker
/// camera does most: at a ratio of 2 the gains are 1.5 and 0.75 in place of 1.41 and 0.71, and steps of
/// one level a frame take 103 frames in place of 88, which is more than 3 s (see
/// [`ColourTracker`](super::ColourTracker)). If the target is beyond a camera's limit, it moves to the nearest that
/// both reach. If they reach none, they stay at opposite limits.
///
/// **Gammas** do what gains could not, and nothing else: where the gains equalised the cameras both are
/// exactly 1. Otherwise let a < b be the two lumas, of the means after the gains. A curve through
/// black and white that takes a level m to the level t is `gamma = ln(t / 255) / ln(m / 255)`. Both
/// shall meet at one t, again the geometric mean, this time of the logarithms:
///
/// ```text
/// A = ln(255 / a)   B = ln(255 / b)   T = ln(255 / t) = √(A · B)
/// gamma of the darker   = T / A = √(B / A) < 1    brightens its mid-tones
/// gamma of the brighter = T / B = √(A / B) > 1    darkens its mid-tones
/// ```
///
/// Both are limited to [0.8, 1.2]. T moves, as the gains' target does, to where both can meet, if they
/// can (A / B ≤ 1.5).
///
/// **Error.** The curve is fitted to the mean, but a picture has many levels. By Jensen's inequality
/// the mean of a curve that is bent up (gamma > 1) is above the curve at the mean, and of one that is
/// bent down below. So the darker camera arrives a little under t and the brighter a little over: a
/// part of the difference may stay, but no gamma takes luma further apart or past the other camera's.
/// On test pictures with level ratios of 5 and 8, gains and gammas leave at most 2 % and 8 % of the
/// difference of the means. There is one gamma a camera: where gains left different amounts in the
/// channels, luma is brought together and a colour cast stays.
#[must_use]
pub fn estimate(sums: &ColourSums, limits: &EstimateLimits) -> Option<Colours> {
    // A NaN fails it; so does an infinite weight, since the means are 0 then.
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
    // White stays white with any gamma; just below it is where the formula ends.
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
        // Both means lie on one level then.
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

        // After the gains, A / B is 1.49: its root is over 1.2.
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
