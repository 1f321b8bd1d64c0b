//! Converts occasional colour estimates to the colours of every frame, without visible steps or flicker.
//!
//! The tracker uses no clock and no thread: each call of [`ColourTracker::advance`] stands for one frame. A wrong
//! estimate influences the colours until later estimates replace it. At 30 frames/s and more, even a wrong
//! estimate changes the output by less than one level per frame.

use glam::Vec3;
use shared_types::stitch::{Colour, MAX_CAMERAS};

use super::Colours;

/// The default number of frames from one estimate to the next. With this interval and 30 frames/s, a camera that
/// doubles its brightness is corrected within 3 s.
pub const EVERY: u32 = 6;

/// The number of frames per second for which [`EVERY`], `RATE` and `MAX_STEP` are made.
pub const FRAME_RATE: f64 = 30.0;

/// The approximate number of latest estimates that contribute to the average. Up to this number, all estimates have
/// equal weight. From then on, each new estimate has a weight of 1 / `AVERAGED`.
const AVERAGED: u32 = 8;

/// The factor by which the difference between an estimate and the average must exceed the dead band. Above this
/// difference, the estimate counts as a real change instead of noise.
const NEWS: f64 = 2.5;

/// The lower limit of `gamma · ln gain` when interpolating between two colours. The limit is needed because a gain of 0
/// has no finite logarithm. At the limit, all output levels are below 0.005.
const BLACK: f64 = -11.0;

/// The maximum difference from the target, in levels, at which a colour is set to the target. Without this rule, the
/// colour would approach the target but never reach it.
const ARRIVED: f64 = 1.0 / 16.0;

/// The fraction of the remaining difference to the target by which each frame changes the colours.
const RATE: f64 = 0.15;

/// The maximum change of an output level from one frame to the next at the same input level. Because it is less than 1,
/// the rounded output levels differ by at most 1. The edge boost, if it is used, multiplies the change by up to 1.35.
const MAX_STEP: f64 = 0.99;

/// The dead band in levels. The target changes only if the averaged estimate differs from it by more than this.
const DEAD_BAND: f64 = 1.0;

/// Returns the duration of a frame in units of 1 / [`FRAME_RATE`].
fn frames(per_second: f64) -> f64 {
    let valid = per_second.is_finite() && per_second > 0.0;
    if valid { FRAME_RATE / per_second.clamp(0.5, 2000.0) } else { 1.0 }
}

/// Returns the number of frames from one estimate to the next that takes as long as [`EVERY`] frames at [`FRAME_RATE`],
/// at least 1.
pub(crate) fn every_at_rate(per_second: f64) -> u32 {
    (f64::from(EVERY) / frames(per_second)).round().max(1.0) as u32
}

/// The colours of the cameras over time.
///
/// In each frame, the colours of each camera change towards a target by a fraction (0.15) of the difference. The
/// fraction is reduced if an output level of any channel would otherwise change by more than 0.99. The interpolation is linear in gamma and, for each channel, in
/// `k = gamma · ln gain`. For an input x from 0 to 1, the output is
///
/// ```text
/// f(x) = 255 · exp(min(k + gamma · ln x, 0))
/// ```
///
/// Below white, the logarithm of f is linear in the fraction, so each output changes monotonically with the fraction.
/// Therefore the largest change over all inputs grows with the fraction, and bisection finds the largest permitted
/// fraction.
///
/// The largest change of a channel has a closed form. The change is largest at one of these two inputs:
///
/// - `x = min(1, 1 / larger gain)`. Above this input, one of the two outputs is clipped at white and the other one
///   approaches white.
/// - The only input below this limit at which the curves of the old and the new colour have the same slope: `ln x =
///   (ln(gamma₀ / gamma₁) + k₀ − k₁) / (gamma₁ − gamma₀)`.
///
/// The target does not follow every estimate, because noise would make the picture pulsate. Estimates are averaged, and
/// the target changes only if the average differs visibly from it, by more than one level. An estimate that is far from the average counts as a real change, not as noise: the average then restarts with this estimate.
///
/// **Duration.** At one level per frame at white, a gain that rises from 1 to g takes 255 · ln g frames. If one of two
/// equal cameras doubles its brightness, 5 % of the difference is left after 82 frames. To correct it within 90 frames
/// (3 s at 30 frames/s), the first estimate must arrive within 8 frames. If estimates arrive 3 frames after their
/// pictures, it takes 89 frames with an interval of [`EVERY`] frames, and 113 with one of 30.
///
/// With more cameras, the mean gain of all cameras stays 1. If only one camera changes, its gain must therefore change
/// by most of the ratio instead of its square root. These are the numbers of frames in a ring of cameras:
///
/// | cameras | 2 | 3 | 4 | 8 | 16 |
/// |---|---|---|---|---|---|
/// | frames to correct ×½ | 89 | 118 | 133 | 156 | 168 |
/// | frames to correct ×2 | 89 | 96 | 105 | 118 | 124 |
#[derive(Clone, Debug)]
pub struct ColourTracker {
    rate: f64,
    max_step: f64,
    now: Colours,
    target: Colours,
    /// The exponential average of the latest estimates.
    average: Colours,
    /// The number of estimates in the average, at most [`AVERAGED`].
    averaged: u32,
}

impl ColourTracker {
    /// Creates a tracker for `per_second` frames per second, whose colours are the identity. The colours change as fast,
    /// in time, as at 30 frames per second. Below 30, a step exceeds one level: it is up to 2.97 levels at 10.
    ///
    /// A number that is not finite and greater than 0 counts as 30. Numbers outside 0.5 to 2000 count as the nearest
    /// number inside.
    #[must_use]
    pub fn new(per_second: f64) -> Self {
        let frames = frames(per_second);
        Self {
            rate: 1.0 - (1.0 - RATE).powf(frames),
            max_step: (MAX_STEP * frames).clamp(0.01, 255.0),
            now: Colours::IDENTITY,
            target: Colours::IDENTITY,
            average: Colours::IDENTITY,
            averaged: 0,
        }
    }

    /// Adds an estimate to the average, which may change the target of the colours.
    ///
    /// `None`, which means that a scene was too dark or too bright, changes nothing: in the dark no difference is
    /// visible, and when the light returns, the cameras are most likely unchanged. An estimate with a gain or gamma
    /// that is not finite and greater than 0 changes nothing either.
    pub fn observe(&mut self, estimate: Option<Colours>) {
        let Some(estimate) = estimate.filter(|colours| usable(*colours)) else { return };
        if difference(self.average, estimate) > NEWS * DEAD_BAND {
            self.averaged = 0;
        }
        self.averaged = (self.averaged + 1).min(AVERAGED);
        self.average = mix_both(self.average, estimate, 1.0 / f64::from(self.averaged));
        // While the colours are still changing, update the target even within the dead band, because this causes no
        // visible extra change.
        if self.now != self.target || difference(self.target, self.average) > DEAD_BAND {
            self.target = self.average;
        }
    }

    /// Returns the colours of the next frame. Call this once per frame.
    pub fn advance(&mut self) -> Colours {
        for camera in 0..MAX_CAMERAS {
            self.now[camera] = self.step(self.now[camera], self.target[camera]);
        }
        self.now
    }

    /// Discards all estimates. Until the next estimate, the colours change towards `colours` in small steps.
    ///
    /// Does nothing if a gain is not finite and at least 0, or a gamma is not finite and greater than 0.
    pub fn head_for(&mut self, colours: Colours) {
        if is_colour(colours) {
            self.target = colours;
            self.averaged = 0;
        }
    }

    /// Discards all estimates and sets the colours to `colours` at once.
    ///
    /// Does nothing if [`head_for`](Self::head_for) would reject `colours`.
    pub fn begin_at(&mut self, colours: Colours) {
        if is_colour(colours) {
            self.head_for(colours);
            self.now = colours;
        }
    }

    fn step(&self, from: Colour, to: Colour) -> Colour {
        let Self { rate, max_step, .. } = *self;
        if largest_change(from, to) <= ARRIVED.min(max_step) {
            return to;
        }
        let step =
            |part| Some(mix(from, to, part)).filter(|c| largest_change(from, *c) <= max_step);
        if let Some(colour) = step(rate) {
            return colour;
        }
        let (mut furthest, mut low, mut high) = (from, 0.0, rate);
        // 16 halvings determine the fraction to within 1/65,536 of the rate.
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

/// Returns whether the colours are a valid estimate: valid colours whose gains are not 0.
fn usable(colours: Colours) -> bool {
    is_colour(colours) && colours.iter().all(|colour| colour.gain.min_element() > 0.0)
}

fn is_colour(colours: Colours) -> bool {
    colours.iter().all(|Colour { gain, gamma, .. }| {
        gain.to_array().iter().all(|gain| *gain >= 0.0 && gain.is_finite())
            && *gamma > 0.0
            && gamma.is_finite()
    })
}

/// Returns the colour at the fraction `part` between `from` and `to`.
fn mix(from: Colour, to: Colour, part: f64) -> Colour {
    // With a part of 0 or 1, the result is exactly one of the colours, however large the other one is.
    let at = |from: f64, to: f64| (1.0 - part) * from + part * to;
    let (gamma0, gamma1) = (f64::from(from.gamma), f64::from(to.gamma));
    let gamma = at(gamma0, gamma1);
    let k = |gamma: f64, gain: f32| (gamma * f64::from(gain).ln()).max(BLACK);
    let gain = std::array::from_fn(|c| {
        (at(k(gamma0, from.gain[c]), k(gamma1, to.gain[c])) / gamma).exp() as f32
    });
    Colour { gain: Vec3::from_array(gain), gamma: gamma as f32, ..Colour::IDENTITY }
}

fn mix_both(from: Colours, to: Colours, part: f64) -> Colours {
    let mixed: [Colour; MAX_CAMERAS] =
        std::array::from_fn(|camera| mix(from[camera], to[camera], part));
    Colours::of(mixed)
}

/// Returns the largest change of an output level between two colours, over all inputs and channels.
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
        // For equal gammas, `level` may be NaN, which fails this comparison.
        if level < white {
            largest = largest.max(change(level));
        }
    }
    largest
}

fn difference(a: Colours, b: Colours) -> f64 {
    let changes = a.iter().zip(b.iter()).map(|(a, b)| largest_change(*a, *b));
    changes.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests;
