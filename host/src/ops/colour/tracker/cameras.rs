//! Tests of the colour tracker with any number of cameras: the time to converge, the size of steps, and the numbers of
//! two cameras, which must not depend on the number of cameras that a tracker supports.

use std::f32::consts::TAU;

use panoweave_tests::random::Random;
use shared_types::colour::ColourSums;

use super::*;
use crate::ops::colour::{ColourMatcher, Edge, EstimateLimits};

/// The tracker of exactly two cameras, as it was before the tracker supported more.
struct TwoCameras {
    settings: ColourTracker,
    now: [Colour; 2],
    target: [Colour; 2],
    average: [Colour; 2],
    averaged: u32,
}

impl TwoCameras {
    fn observe(&mut self, estimate: [Colour; 2]) {
        let far = |a: [Colour; 2], b: [Colour; 2]| {
            largest_change(a[0], b[0]).max(largest_change(a[1], b[1]))
        };
        if far(self.average, estimate) > 2.5 {
            self.averaged = 0;
        }
        self.averaged = (self.averaged + 1).min(8);
        let part = 1.0 / f64::from(self.averaged);
        self.average = [0, 1].map(|i| mix(self.average[i], estimate[i], part));
        if self.now != self.target || far(self.target, self.average) > 1.0 {
            self.target = self.average;
        }
    }

    fn advance(&mut self) -> [Colour; 2] {
        self.now = [0, 1].map(|i| self.settings.step(self.now[i], self.target[i]));
        self.now
    }
}

/// The colours of two cameras are bit-identical to those of a tracker for exactly two cameras.
#[test]
fn two_cameras_have_the_same_colours_as_before() {
    let mut random = Random::new(5);
    let mut tracker = ColourTracker::default();
    let identity = [Colour::IDENTITY; 2];
    let mut two = TwoCameras {
        settings: ColourTracker::default(),
        now: identity,
        target: identity,
        average: identity,
        averaged: 0,
    };
    let mut base = identity;
    for frame in 0..3000 {
        if frame % 400 == 0 {
            base = [0; 2].map(|_| Colour {
                gain: Vec3::from_array([0; 3].map(|_| random.between(0.5, 2.0))),
                gamma: random.pick(&[1.0, 0.8, 1.1]),
                ..Colour::IDENTITY
            });
        }
        if frame % 6 == 0 {
            let noisy = base
                .map(|colour| Colour { gain: colour.gain * random.between(0.99, 1.01), ..colour });
            tracker.observe(Some(Colours::of(noisy)));
            two.observe(noisy);
        }
        assert_eq!(tracker.advance(), Colours::of(two.advance()), "frame {frame}");
    }
}

/// Returns the edges of a ring of cameras whose pictures are gray with these means, with noise of the given amount.
fn ring(means: &[f32], noise: f32, random: &mut Random) -> Vec<Edge> {
    let edge = |a: usize| {
        let b = (a + 1) % means.len();
        let mut sum = |i: usize| [means[i] * 2e4 * random.between(1.0 - noise, 1.0 + noise); 4];
        let sums = ColourSums { left: sum(a), right: sum(b), weight: 2e4 };
        Edge::new([a, b], &sums, &EstimateLimits::default()).unwrap()
    };
    (0..means.len()).map(edge).collect()
}

fn level(colour: Colour, input: f32) -> f64 {
    255.0 * f64::from(colour.gain.x * input / 255.0).clamp(0.0, 1.0).powf(colour.gamma.into())
}

/// Multiplies the brightness of one of `cameras` equal cameras in a ring by `ratio`. Returns the number of frames until
/// 5 % of the difference is left between any two cameras, in the worst case of the frame of the change. Estimates
/// arrive 3 frames after their pictures.
fn frames_to_converge(cameras: usize, ratio: f32) -> usize {
    let mut means = vec![50.0; cameras];
    means[cameras / 2] *= ratio;
    let run = |phase: usize| {
        let mut matcher = ColourMatcher::new(cameras, EstimateLimits::default(), None);
        let mut tracker = ColourTracker::default();
        let edges = ring(&means, 0.0, &mut Random::new(1));
        (0..1000).find(|frame| {
            if *frame >= 3 && (frame - 3 + phase).is_multiple_of(EVERY as usize) {
                tracker.observe(matcher.observe(&edges).map(Colours::of));
            }
            let colours = tracker.advance();
            let levels = || means.iter().zip(colours.iter()).map(|(mean, c)| level(*c, *mean));
            let spread = levels().fold(0.0, f64::max) - levels().fold(255.0, f64::min);
            spread < 0.05 * 50.0 * f64::from(ratio - 1.0).abs()
        })
    };
    (0..EVERY as usize).map(|phase| run(phase).unwrap_or(usize::MAX)).max().unwrap()
}

/// These are the numbers of the table in the documentation of `ColourTracker`.
#[test]
fn a_camera_of_a_ring_is_corrected_within_the_stated_time() {
    for (cameras, frames) in [(3, [118, 96]), (4, [133, 105]), (8, [156, 118]), (16, [168, 124])] {
        assert_eq!([0.5, 2.0].map(|ratio| frames_to_converge(cameras, ratio)), frames);
    }
    for cameras in 5..16 {
        assert!(frames_to_converge(cameras, 0.5) <= 168, "{cameras} cameras");
    }
}

/// While the exposures of all cameras of a ring drift, and noise changes each estimate, no output level of any camera
/// changes by more than one level per frame, and neighbours stay within 3 levels.
#[test]
fn a_drifting_ring_stays_matched_in_small_steps() {
    for cameras in [3, 6, 16] {
        let mut random = Random::new(cameras as u64);
        let phases: Vec<f32> = (0..cameras).map(|_| random.between(0.0, TAU)).collect();
        let mut matcher = ColourMatcher::new(cameras, EstimateLimits::default(), None);
        let mut tracker = ColourTracker::default();
        let (mut before, mut worst) = (Colours::IDENTITY, 0.0_f64);
        // Each camera becomes brighter and darker by 40 % once a minute.
        for frame in 0..3600_u32 {
            let mean =
                |phase: &f32| 60.0 * 1.4_f32.powf((frame as f32 / 1800.0 * TAU + phase).sin());
            let means: Vec<f32> = phases.iter().map(mean).collect();
            if frame.is_multiple_of(EVERY) {
                let edges = ring(&means, 0.005, &mut random);
                tracker.observe(matcher.observe(&edges).map(Colours::of));
            }
            let now = tracker.advance();
            for (before, now) in before.iter().zip(now.iter()) {
                // `largest_change` is tested against sampled input levels.
                assert!(largest_change(*before, *now) <= 0.99);
            }
            before = now;
            if frame > 200 {
                let step = |i: usize| {
                    let other = (i + 1) % cameras;
                    (level(now[i], means[i]) - level(now[other], means[other])).abs()
                };
                worst = (0..cameras).map(step).fold(worst, f64::max);
            }
        }
        assert!(worst < 3.0, "{cameras} cameras: {worst}");
    }
}
