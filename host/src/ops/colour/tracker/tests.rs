//! Tests of the colour tracker with planted differences of brightness: the time to converge, and the size of steps.

use std::f32::consts::TAU;

use panoweave_tests::random::Random;
use shared_types::colour::ColourSums;

use super::*;
use crate::ops::colour::{ColourMatcher, Edge, EstimateLimits, estimate};

/// Returns the estimate for two cameras whose pictures are gray with these means.
fn seen(left: f32, right: f32) -> Option<Colours> {
    let sums = |mean: f32| [mean * 20_000.0; 4];
    let sums = ColourSums { left: sums(left), right: sums(right), weight: 20_000.0 };
    estimate(&sums, &EstimateLimits::default())
}

/// Returns the estimate for gray pictures with these means, with ±0.5 % noise on each sum.
fn noisy(left: f32, right: f32, random: &mut Random) -> Option<Colours> {
    let mut sums = |mean: f32| [0; 4].map(|_| mean * 20_000.0 * random.between(0.995, 1.005));
    let sums = ColourSums { left: sums(left), right: sums(right), weight: 20_000.0 };
    estimate(&sums, &EstimateLimits::default())
}

fn any(random: &mut Random) -> Colour {
    let gain = [0; 3].map(|_| random.between(0.5, 2.0));
    Colour { gain: Vec3::from_array(gain), gamma: random.between(0.8, 1.2), ..Colour::IDENTITY }
}

fn level(colour: Colour, channel: usize, input: f64) -> f64 {
    let linear = f64::from(colour.gain[channel]) * input / 255.0;
    255.0 * linear.clamp(0.0, 1.0).powf(f64::from(colour.gamma))
}

/// Returns the largest change of an output level, sampled at inputs a tenth of a level apart.
fn sampled_change(a: Colour, b: Colour) -> f64 {
    let inputs = (0..=2550).map(|i| f64::from(i) / 10.0);
    let change = |x, c| (level(a, c, x) - level(b, c, x)).abs();
    inputs.flat_map(|x| (0..3).map(move |c| change(x, c))).fold(0.0, f64::max)
}

/// The closed form of the largest change agrees with a search over sampled inputs.
#[test]
fn the_largest_change_has_a_closed_form() {
    let mut random = Random::new(1);
    for i in 0..500 {
        let (a, b) = (any(&mut random), any(&mut random));
        // Cover small and large changes, with and without equal gains or gammas.
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

/// For random current colours and random targets, each step changes the output levels by at most `max_step`. Unless
/// `rate` limits the step, the largest change is almost `max_step`.
#[test]
fn steps_are_as_large_as_the_limits_allow() {
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

/// With noisy estimates of a constant difference, the colours stop changing after 300 frames, within 1.5 levels of
/// the exact colours.
#[test]
fn colours_do_not_follow_noise() {
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

/// Multiplies the brightness of one of two equal cameras by `ratio`. Returns the number of frames until the
/// difference of the means is below 5 % of its initial value. Tries each possible frame of the change between two
/// estimates, and returns the worst result. Estimates arrive 3 frames after their pictures.
fn frames_to_converge(ratio: f32, every: u32) -> u32 {
    let run = |phase| {
        let mut tracker = ColourTracker::default();
        (0..1000).find(|frame| {
            if *frame >= 3 && (frame - 3 + phase) % every == 0 {
                tracker.observe(seen(50.0, 50.0 * ratio));
            }
            let now = tracker.advance();
            let (left, right) = (level(now[0], 1, 50.0), level(now[1], 1, f64::from(50.0 * ratio)));
            (left - right).abs() < 0.05 * 50.0 * f64::from(ratio - 1.0).abs()
        })
    };
    (0..every).map(|phase| run(phase).unwrap_or(u32::MAX)).max().unwrap_or(0)
}

#[test]
fn doubled_brightness_is_corrected_within_3_s() {
    for ratio in [0.5, 2.0] {
        assert!(frames_to_converge(ratio, EVERY) <= 90, "×{ratio}");
        // These are the numbers of the table in the documentation of `ColourTracker`.
        let table = [(1, 84), (4, 87), (6, 89), (7, 90), (8, 91), (10, 93), (15, 98), (30, 113)];
        for (every, frames) in table {
            assert_eq!(frames_to_converge(ratio, every), frames, "×{ratio}, every {every}");
        }
    }
    for (ratio, frames) in [(1.2, 35), (1.5, 57), (3.0, 134)] {
        assert_eq!(frames_to_converge(ratio, EVERY), frames, "×{ratio}");
    }
}

/// The time until a doubled brightness is corrected depends little on the frame rate. With the default options, it
/// would be three times as long at 10 frames/s.
#[test]
fn the_speed_in_time_is_the_same_at_every_frame_rate() {
    assert_eq!(ColourTrackerOptions::at_rate(FRAME_RATE), ColourTrackerOptions::default());
    assert_eq!(every_at_rate(FRAME_RATE), EVERY);
    let seconds = |per_second: f64, options| {
        let (every, late) = (every_at_rate(per_second), (per_second * 0.1).round() as u32);
        let mut tracker = ColourTracker::new(options).unwrap();
        let reached = (0..4000_u32).find(|frame| {
            if *frame >= late && (frame - late) % every == 0 {
                tracker.observe(seen(50.0, 100.0));
            }
            let now = tracker.advance();
            (level(now[0], 1, 50.0) - level(now[1], 1, 100.0)).abs() < 2.5
        });
        f64::from(reached.unwrap()) / per_second
    };
    for per_second in [5.0, 10.0, 24.0, 25.0, 60.0, 120.0, 240.0] {
        let scaled = seconds(per_second, ColourTrackerOptions::at_rate(per_second));
        assert!((2.5..3.2).contains(&scaled), "{per_second} frames/s: {scaled} s");
    }
    assert!(seconds(10.0, ColourTrackerOptions::default()) > 8.0);
    for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(ColourTrackerOptions::at_rate(odd), ColourTrackerOptions::default());
        assert_eq!(every_at_rate(odd), EVERY);
    }
    for odd in [1e-300, 1e300] {
        assert!(ColourTracker::new(ColourTrackerOptions::at_rate(odd)).is_ok());
        assert!(every_at_rate(odd) >= 1);
    }
}

#[test]
fn a_slow_drift_is_followed() {
    let mut random = Random::new(4);
    let mut tracker = ColourTracker::default();
    let mut worst = 0.0_f64;
    // Four minutes at 30 frames/s. In the first minute, the brightness doubles, and in the second minute, it
    // returns to its initial value. The other two minutes repeat this.
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

/// `None` and estimates with invalid gains or gammas do not change the colours.
#[test]
fn missing_and_invalid_estimates_change_nothing() {
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
        bad[0].gain.y = factor;
        tracker.observe(Some(bad));
        let mut bad = estimate;
        bad[1].gamma = factor;
        tracker.observe(Some(bad));
    }
    assert_eq!(tracker.advance(), estimate);
}

/// The first estimate is applied in small steps, or at once with `snap_first`. `head_for` changes the colours in
/// small steps, `begin_at` at once, and both ignore invalid colours.
#[test]
fn changes_are_gradual_unless_requested_otherwise() {
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
    let colour = |gain, gamma| Colour { gain: Vec3::splat(gain), gamma, ..Colour::IDENTITY };
    let black = Colours::of([colour(0.0, 1.0), colour(1.3, 0.8)]);
    for end in [black, Colours::IDENTITY] {
        tracker.head_for(end);
        for frame in 0..400 {
            let now = tracker.advance();
            let change = [(before[0], now[0]), (before[1], now[1])]
                .map(|(before, now)| sampled_change(before, now));
            assert!(change.iter().all(|c| *c <= 0.99), "{change:?} in frame {frame}");
            before = now;
        }
        assert_eq!(before, end);
    }
    let bad = Colours::of([colour(f32::NAN, 1.0), colour(1.0, 1.0)]);
    tracker.head_for(bad);
    tracker.begin_at(bad);
    assert_eq!(tracker.advance(), Colours::IDENTITY);
    tracker.begin_at(black);
    assert_eq!(tracker.advance(), black);
    tracker.begin_at(Colours::IDENTITY);
    // Only the first estimate is applied at once.
    tracker.observe(Some(estimate));
    assert!(difference(tracker.advance(), Colours::IDENTITY) <= 0.99);
}

#[test]
fn rejects_settings_out_of_range() {
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
    assert_eq!(message, "colour: `max_step` is 256 levels; it must be 0.01 to 255");
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

/// Multiplies the brightness of one of `cameras` equal cameras in a ring by `ratio`. Returns the number of frames until
/// 5 % of the difference is left between any two cameras, in the worst case of the frame of the change. Estimates
/// arrive 3 frames after their pictures.
fn ring_frames_to_converge(cameras: usize, ratio: f32) -> usize {
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
            let levels =
                || means.iter().zip(colours.iter()).map(|(mean, c)| level(*c, 0, (*mean).into()));
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
        assert_eq!([0.5, 2.0].map(|ratio| ring_frames_to_converge(cameras, ratio)), frames);
    }
    for cameras in 5..16 {
        assert!(ring_frames_to_converge(cameras, 0.5) <= 168, "{cameras} cameras");
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
                    (level(now[i], 0, means[i].into()) - level(now[other], 0, means[other].into()))
                        .abs()
                };
                worst = (0..cameras).map(step).fold(worst, f64::max);
            }
        }
        assert!(worst < 3.0, "{cameras} cameras: {worst}");
    }
}
