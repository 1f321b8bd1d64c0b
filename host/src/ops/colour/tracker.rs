//! Converts occasional estimates to the colours of every frame, without visible steps or flicker.
//!
//! There is no clock and no thread: one call is one frame. A wrong estimate counts until the next one; it changes the
//! picture by at most one level per frame.

use glam::Vec3;
use shared_types::stitch::Colour;
use thiserror::Error;

use super::Colours;

/// Frames between estimates. With this interval a camera that doubles its brightness is corrected within 3 s at 30
/// frames/s.
pub const EVERY: u32 = 6;

/// Approximate number of estimates in the average.
const AVERAGED: u32 = 8;

/// Distance of an estimate from the average, in dead bands, beyond which it is not noise.
const NEWS: f64 = 2.5;

/// `gamma · ln gain` below which no input gives a visible output; a gain of 0 has no logarithm.
const BLACK: f64 = -11.0;

/// Distance from the target, in levels, at which a colour has arrived. This lets it come to rest.
const ARRIVED: f64 = 1.0 / 16.0;

/// Options of a [`ColourTracker`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColourTrackerOptions {
    /// Fraction of the way to the target per frame, over 0 and up to 1.
    pub rate: f32,
    /// Maximum change of a frame's output against the previous frame at the same input, in levels, 0.01 to 255.
    ///
    /// With less than 1, rounded outputs differ by at most 1. The edge boost multiplies the change by up to 1.35.
    pub max_step: f32,
    /// Minimum change of some output, in levels, before the target moves, 0 to 255.
    pub dead_band: f32,
    /// Applies the first estimate at once instead of in small steps.
    pub snap_first: bool,
}

impl Default for ColourTrackerOptions {
    /// Returns 0.15 of the way, slightly less than 1 level, a dead band of 1 level, and no jump at the start.
    fn default() -> Self {
        Self { rate: 0.15, max_step: 0.99, dead_band: 1.0, snap_first: false }
    }
}

/// An option is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// [`ColourTrackerOptions::rate`].
    #[error("colour: a rate of {0}; a rate is a number over 0, up to 1")]
    Rate(f32),
    /// [`ColourTrackerOptions::max_step`].
    #[error("colour: a largest step of {0} levels; it is a number from 0.01 to 255")]
    MaxStep(f32),
    /// [`ColourTrackerOptions::dead_band`].
    #[error("colour: a dead band of {0} levels; it is a number from 0 to 255")]
    DeadBand(f32),
}

/// The colours of two cameras over time.
///
/// Each frame moves each camera by [`ColourTrackerOptions::rate`] of the way to a held target, but at most by
/// [`ColourTrackerOptions::max_step`]: no output level of any channel changes by more. For a channel the way is linear
/// in gamma and in `k = gamma · ln gain`. For every input x from 0 to 1 the output is then
///
/// ```text
/// f(x) = 255 · exp(min(k + gamma · ln x, 0))
/// ```
///
/// whose logarithm is linear too. So no level reverses its direction, and the largest change over all levels grows
/// with the fraction of the way, which allows finding the longest permitted step by bisection. The largest change has
/// a closed form. It is either at `x = min(1, 1 / larger gain)`, because beyond it one of the two is clipped at white
/// and the other approaches it; or at the one place below where both slopes are equal, `ln x = (ln(gamma₀ / gamma₁) +
/// k₀ − k₁) / (gamma₁ − gamma₀)`.
///
/// The target does not follow every estimate, because noise would make the picture pulsate. Estimates are averaged,
/// and the target stays until the average is visibly elsewhere ([`ColourTrackerOptions::dead_band`]). An estimate far
/// from the average is not noise and is used at once.
///
/// Duration: at one level per frame at white, a gain that rises from 1 to g takes 255 · ln g frames. If one of two
/// equal cameras doubles its brightness, the gains go to √2 and 1/√2: 88 frames, and 82 until 5 % of the difference is
/// left. For 90 frames, 3 s at 30 frames/s, the first estimate must arrive within 8 frames. So the interval between
/// estimates matters. The table counts frames from the step to 5 %, with estimates 3 frames after their pictures, at
/// the worst moment:
///
/// | between estimates | 1 | 4 | 6 | 7 | 8 | 10 | 15 | 30 |
/// |---|---|---|---|---|---|---|---|---|
/// | to follow ×2 | 84 | 87 | **89** | 90 | 91 | 93 | 98 | 113 |
///
/// With an interval of 6, a step of ×1.2 takes 35 frames, ×1.5 57, ×3 134.
#[derive(Clone, Debug)]
pub struct ColourTracker {
    settings: ColourTrackerOptions,
    now: Colours,
    target: Colours,
    /// Average of the latest estimates, and their number.
    average: Colours,
    averaged: u32,
    snap: bool,
}

impl Default for ColourTracker {
    fn default() -> Self {
        Self::with(ColourTrackerOptions::default())
    }
}

impl ColourTracker {
    /// Starts at the identity.
    ///
    /// # Errors
    /// Returns [`SettingsError`] for an option out of range.
    pub fn new(settings: ColourTrackerOptions) -> Result<Self, SettingsError> {
        let ColourTrackerOptions { rate, max_step, dead_band, .. } = settings;
        if !(rate > 0.0 && rate <= 1.0) {
            return Err(SettingsError::Rate(rate));
        }
        if !(0.01..=255.0).contains(&max_step) {
            return Err(SettingsError::MaxStep(max_step));
        }
        if !(0.0..=255.0).contains(&dead_band) {
            return Err(SettingsError::DeadBand(dead_band));
        }
        Ok(Self::with(settings))
    }

    fn with(settings: ColourTrackerOptions) -> Self {
        Self {
            settings,
            now: Colours::IDENTITY,
            target: Colours::IDENTITY,
            average: Colours::IDENTITY,
            averaged: 0,
            snap: settings.snap_first,
        }
    }

    /// Adds an estimate.
    ///
    /// `None`, as in the dark, changes nothing: if both pictures are black, no seam is visible, and when the light
    /// returns the cameras are most likely unchanged. An estimate with a gain or gamma that is not a number over 0
    /// changes nothing either.
    pub fn observe(&mut self, estimate: Option<Colours>) {
        let Some(estimate) = estimate.filter(|colours| usable(*colours)) else { return };
        let dead_band = f64::from(self.settings.dead_band);
        if difference(self.average, estimate) > NEWS * dead_band {
            self.averaged = 0;
        }
        self.averaged = (self.averaged + 1).min(AVERAGED);
        self.average = mix_both(self.average, estimate, 1.0 / f64::from(self.averaged));
        // While it moves anyway, it may as well move to the better place.
        if self.now != self.target || difference(self.target, self.average) > dead_band {
            self.target = self.average;
        }
        if std::mem::take(&mut self.snap) {
            (self.now, self.target) = (estimate, estimate);
        }
    }

    /// Returns the next frame's colours. Call it once per frame.
    pub fn advance(&mut self) -> Colours {
        self.now = Colours {
            left: self.step(self.now.left, self.target.left),
            right: self.step(self.now.right, self.target.right),
        };
        self.now
    }

    /// Forgets all estimates and moves to `colours` in small steps until the next estimate.
    ///
    /// Changes nothing if a gain is not a number from 0, or a gamma is not a number over 0.
    pub fn head_for(&mut self, colours: Colours) {
        if is_colour(colours) {
            self.target = colours;
            self.averaged = 0;
        }
    }

    /// Forgets all estimates and jumps to `colours`.
    pub fn begin_at(&mut self, colours: Colours) {
        if is_colour(colours) {
            self.head_for(colours);
            self.now = colours;
        }
    }

    fn step(&self, from: Colour, to: Colour) -> Colour {
        let (rate, max_step) = (f64::from(self.settings.rate), f64::from(self.settings.max_step));
        if largest_change(from, to) <= ARRIVED.min(max_step) {
            return to;
        }
        let step =
            |part| Some(mix(from, to, part)).filter(|c| largest_change(from, *c) <= max_step);
        if let Some(colour) = step(rate) {
            return colour;
        }
        let (mut furthest, mut low, mut high) = (from, 0.0, rate);
        // To within a 65,000th of the step.
        for _ in 0..16 {
            let middle = 0.5 * (low + high);
            match step(middle) {
                Some(colour) => (furthest, low) = (colour, middle),
                None => high = middle,
            }
        }
        furthest
    }
}

/// Returns whether the colours are a valid estimate.
fn usable(colours: Colours) -> bool {
    let Colours { left, right } = colours;
    is_colour(colours) && left.gain.min(right.gain).min_element() > 0.0
}

fn is_colour(Colours { left, right }: Colours) -> bool {
    [left, right].iter().all(|Colour { gain, gamma }| {
        gain.to_array().iter().all(|gain| *gain >= 0.0 && gain.is_finite())
            && *gamma > 0.0
            && gamma.is_finite()
    })
}

/// Returns the colour at a fraction of the way.
fn mix(from: Colour, to: Colour, part: f64) -> Colour {
    let at = |from: f64, to: f64| from + part * (to - from);
    let (gamma0, gamma1) = (f64::from(from.gamma), f64::from(to.gamma));
    let gamma = at(gamma0, gamma1);
    let k = |gamma: f64, gain: f32| (gamma * f64::from(gain).ln()).max(BLACK);
    let gain = std::array::from_fn(|c| {
        (at(k(gamma0, from.gain[c]), k(gamma1, to.gain[c])) / gamma).exp() as f32
    });
    Colour { gain: Vec3::from_array(gain), gamma: gamma as f32 }
}

fn mix_both(from: Colours, to: Colours, part: f64) -> Colours {
    Colours { left: mix(from.left, to.left, part), right: mix(from.right, to.right, part) }
}

/// Returns the largest change of an output level, over all inputs from 0 to 255 and all channels.
fn largest_change(from: Colour, to: Colour) -> f64 {
    let (gamma0, gamma1) = (f64::from(from.gamma), f64::from(to.gamma));
    let mut largest = 0.0_f64;
    for c in 0..3 {
        let (gain0, gain1) = (f64::from(from.gain[c]).ln(), f64::from(to.gain[c]).ln());
        let change = |x: f64| {
            let level = |gain: f64, gamma: f64| 255.0 * (gamma * (gain + x)).min(0.0).exp();
            (level(gain0, gamma0) - level(gain1, gamma1)).abs()
        };
        let white = (-gain0.max(gain1)).min(0.0);
        largest = largest.max(change(white));
        let slopes = (gamma0 / gamma1).ln() + gamma0 * gain0 - gamma1 * gain1;
        let level = slopes / (gamma1 - gamma0);
        // A NaN, for equal gammas, fails this.
        if level < white {
            largest = largest.max(change(level));
        }
    }
    largest
}

fn difference(a: Colours, b: Colours) -> f64 {
    largest_change(a.left, b.left).max(largest_change(a.right, b.right))
}

#[cfg(test)]
mod tests {
    use panoweave_tests::random::Random;
    use shared_types::colour::ColourSums;

    use super::*;
    use crate::ops::colour::{EstimateLimits, estimate};

    /// Returns the estimate for gray cameras with these means.
    fn seen(left: f32, right: f32) -> Option<Colours> {
        let sums = |mean: f32| [mean * 20_000.0; 4];
        let sums = ColourSums { left: sums(left), right: sums(right), weight: 20_000.0 };
        estimate(&sums, &EstimateLimits::default())
    }

    /// Returns the estimate with ±0.5 % of noise on each sum.
    fn noisy(left: f32, right: f32, random: &mut Random) -> Option<Colours> {
        let mut sums = |mean: f32| [0; 4].map(|_| mean * 20_000.0 * random.between(0.995, 1.005));
        let sums = ColourSums { left: sums(left), right: sums(right), weight: 20_000.0 };
        estimate(&sums, &EstimateLimits::default())
    }

    fn any(random: &mut Random) -> Colour {
        let gain = [0; 3].map(|_| random.between(0.5, 2.0));
        Colour { gain: Vec3::from_array(gain), gamma: random.between(0.8, 1.2) }
    }

    fn level(colour: Colour, channel: usize, input: f64) -> f64 {
        let linear = f64::from(colour.gain[channel]) * input / 255.0;
        255.0 * linear.clamp(0.0, 1.0).powf(f64::from(colour.gamma))
    }

    /// Returns the largest change over inputs a tenth of a level apart.
    fn sampled_change(a: Colour, b: Colour) -> f64 {
        let inputs = (0..=2550).map(|i| f64::from(i) / 10.0);
        let change = |x, c| (level(a, c, x) - level(b, c, x)).abs();
        inputs.flat_map(|x| (0..3).map(move |c| change(x, c))).fold(0.0, f64::max)
    }

    #[test]
    fn the_largest_change_has_a_closed_form() {
        let mut random = Random::new(1);
        for i in 0..500 {
            let (a, b) = (any(&mut random), any(&mut random));
            // Small and large changes, with and without equal gains or gammas.
            let b = match i % 4 {
                0 => b,
                1 => Colour { gamma: a.gamma, ..b },
                2 => Colour { gain: a.gain, ..b },
                _ => mix(a, b, 0.01),
            };
            let (exact, sampled) = (largest_change(a, b), sampled_change(a, b));
            assert!(sampled <= exact + 1e-9, "{a:?} to {b:?}: {sampled} over {exact}");
            assert!(sampled > exact - 0.2, "{a:?} to {b:?}: {sampled} far below {exact}");
        }
    }

    #[test]
    fn no_step_is_larger_than_allowed_and_none_is_needlessly_small() {
        let mut random = Random::new(2);
        let tracker = ColourTracker::default();
        for _ in 0..2000 {
            let (from, to) = (any(&mut random), any(&mut random));
            let step = tracker.step(from, to);
            let change = largest_change(from, step);
            assert!(change <= 0.99, "{change} from {from:?} to {to:?}");
            let all = largest_change(from, mix(from, to, 0.15));
            assert!(change > 0.98_f64.min(0.99 * all), "{change} of {all}");
        }
    }

    #[test]
    fn noise_moves_nothing() {
        let mut random = Random::new(3);
        for ratio in [1.0, 1.7, 0.3, 3.9] {
            let mut tracker = ColourTracker::default();
            let mut rest = None;
            for frame in 0..20_000 {
                if frame % EVERY == 0 {
                    tracker.observe(noisy(40.0, 40.0 * ratio, &mut random));
                }
                let colours = tracker.advance();
                if frame > 300 {
                    assert_eq!(*rest.get_or_insert(colours), colours, "×{ratio}, frame {frame}");
                }
            }
            let exact = seen(40.0, 40.0 * ratio).unwrap();
            assert!(difference(tracker.now, exact) < 1.5, "×{ratio}");
        }
    }

    /// Returns the frames from a brightness step of one of two equal cameras by `ratio` until the difference of their
    /// means is below 5 % of its initial value, for the worst moment of the step between two estimates. An estimate
    /// arrives 3 frames after its pictures.
    fn frames_to_converge(ratio: f32, every: u32) -> u32 {
        let run = |phase| {
            let mut tracker = ColourTracker::default();
            (0..1000).find(|frame| {
                if *frame >= 3 && (frame - 3 + phase) % every == 0 {
                    tracker.observe(seen(50.0, 50.0 * ratio));
                }
                let Colours { left, right } = tracker.advance();
                let (left, right) =
                    (level(left, 1, 50.0), level(right, 1, f64::from(50.0 * ratio)));
                (left - right).abs() < 0.05 * 50.0 * f64::from(ratio - 1.0).abs()
            })
        };
        (0..every).map(|phase| run(phase).unwrap_or(u32::MAX)).max().unwrap_or(0)
    }

    #[test]
    fn a_camera_that_doubles_is_followed_within_3_s() {
        for ratio in [0.5, 2.0] {
            assert!(frames_to_converge(ratio, EVERY) <= 90, "×{ratio}");
            // The table in the documentation of `ColourTracker`.
            let table =
                [(1, 84), (4, 87), (6, 89), (7, 90), (8, 91), (10, 93), (15, 98), (30, 113)];
            for (every, frames) in table {
                assert_eq!(frames_to_converge(ratio, every), frames, "×{ratio}, every {every}");
            }
        }
        for (ratio, frames) in [(1.2, 35), (1.5, 57), (3.0, 134)] {
            assert_eq!(frames_to_converge(ratio, EVERY), frames, "×{ratio}");
        }
    }

    #[test]
    fn a_slow_drift_is_followed() {
        let mut random = Random::new(4);
        let mut tracker = ColourTracker::default();
        let mut worst = 0.0_f64;
        // ×2 within a minute and back.
        for frame in 0..7200_u32 {
            let phase = f64::from(frame) / 1800.0 * std::f64::consts::PI;
            let right = 60.0 * 2.0_f32.powf(0.5 - 0.5 * phase.cos() as f32);
            if frame % EVERY == 0 {
                tracker.observe(noisy(60.0, right, &mut random));
            }
            tracker.advance();
            worst = worst.max(difference(tracker.now, seen(60.0, right).unwrap()));
        }
        assert!(worst < 3.5, "{worst} levels behind");
    }

    #[test]
    fn the_dark_holds_and_bad_estimates_do_not_count() {
        let mut tracker = ColourTracker::default();
        tracker.observe(None);
        assert_eq!(tracker.advance(), Colours::IDENTITY);
        let estimate = seen(50.0, 80.0).unwrap();
        tracker.observe(Some(estimate));
        for _ in 0..200 {
            tracker.advance();
        }
        assert_eq!(tracker.advance(), estimate);
        tracker.observe(None);
        for factor in [f32::NAN, f32::INFINITY, 0.0, -1.0] {
            let mut bad = estimate;
            bad.left.gain.y = factor;
            tracker.observe(Some(bad));
            let mut bad = estimate;
            bad.right.gamma = factor;
            tracker.observe(Some(bad));
        }
        assert_eq!(tracker.advance(), estimate);
    }

    #[test]
    fn the_start_is_gradual_unless_asked_and_so_is_the_end() {
        let estimate = seen(50.0, 80.0).unwrap();
        let first = |snap_first| {
            let mut tracker = ColourTracker::new(ColourTrackerOptions {
                snap_first,
                ..ColourTrackerOptions::default()
            })
            .unwrap();
            tracker.observe(None);
            tracker.observe(Some(estimate));
            tracker.advance();
            tracker
        };
        assert!(difference(first(false).now, Colours::IDENTITY) <= 0.99);
        let mut tracker = first(true);
        let mut before = tracker.now;
        assert_eq!(before, estimate);
        let colour = |gain, gamma| Colour { gain: Vec3::splat(gain), gamma };
        let black = Colours { left: colour(0.0, 1.0), right: colour(1.3, 0.8) };
        for end in [black, Colours::IDENTITY] {
            tracker.head_for(end);
            for frame in 0..400 {
                let now = tracker.advance();
                let change = [(before.left, now.left), (before.right, now.right)]
                    .map(|(before, now)| sampled_change(before, now));
                assert!(change.iter().all(|c| *c <= 0.99), "{change:?} in frame {frame}");
                before = now;
            }
            assert_eq!(before, end);
        }
        let bad = Colours { left: colour(f32::NAN, 1.0), right: colour(1.0, 1.0) };
        tracker.head_for(bad);
        tracker.begin_at(bad);
        assert_eq!(tracker.advance(), Colours::IDENTITY);
        tracker.begin_at(black);
        assert_eq!(tracker.advance(), black);
        tracker.begin_at(Colours::IDENTITY);
        // It snaps once.
        tracker.observe(Some(estimate));
        assert!(difference(tracker.advance(), Colours::IDENTITY) <= 0.99);
    }

    #[test]
    fn settings_out_of_range() {
        let refused = |change: fn(&mut ColourTrackerOptions)| {
            let mut settings = ColourTrackerOptions::default();
            change(&mut settings);
            ColourTracker::new(settings).unwrap_err()
        };
        assert_eq!(refused(|s| s.rate = 0.0), SettingsError::Rate(0.0));
        assert_eq!(refused(|s| s.rate = 1.5), SettingsError::Rate(1.5));
        assert!(matches!(refused(|s| s.rate = f32::NAN), SettingsError::Rate(_)));
        assert_eq!(refused(|s| s.max_step = 0.0), SettingsError::MaxStep(0.0));
        assert_eq!(refused(|s| s.dead_band = -1.0), SettingsError::DeadBand(-1.0));
        let message = refused(|s| s.max_step = 256.0).to_string();
        assert_eq!(
            message,
            "colour: a largest step of 256 levels; it is a number from 0.01 to 255"
        );
    }
}
