//! Tests of the colour tracker with planted differences of brightness: the time to converge, and the size of steps.

use panoweave_tests::random::Random;
use shared_types::colour::ColourSums;

use super::*;
use crate::ops::colour::{Edge, solve};

/// Returns the edge between cameras `a` and `b`, whose pictures are gray with these means.
fn edge(cameras: [usize; 2], means: [f32; 2]) -> Edge {
    let [left, right] = means.map(|mean| [mean * 20_000.0; 4]);
    Edge::new(cameras, &ColourSums { left, right, weight: 20_000.0 }, 0.0).unwrap()
}

/// Returns the estimate for a ring of cameras whose pictures are gray with these means.
fn seen(means: &[f32]) -> Option<Colours> {
    let count = means.len();
    let edge = |a: usize| edge([a, (a + 1) % count], [means[a], means[(a + 1) % count]]);
    let edges: Vec<_> = (0..if count > 2 { count } else { 1 }).map(edge).collect();
    Some(Colours::of(solve(count, &edges, None, &[])))
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
    let tracker = ColourTracker::new(FRAME_RATE);
    for _ in 0..2000 {
        let (from, to) = (any(&mut random), any(&mut random));
        let step = tracker.step(from, to);
        let change = largest_change(from, step);
        assert!(change <= 0.99, "{change} from {from:?} to {to:?}");
        let all = largest_change(from, mix(from, to, 0.15));
        assert!(change > 0.98_f64.min(0.99 * all), "{change} of {all}");
    }
}

/// Multiplies the brightness of one of `cameras` equal cameras in a ring by `ratio`. Returns the number of frames until
/// 5 % of the difference is left between any two cameras, in the worst case of the frame of the change. Estimates
/// arrive 3 frames after their pictures, every `every` frames.
fn frames_to_converge(cameras: usize, ratio: f32, every: usize) -> usize {
    let mut means = vec![50.0; cameras];
    means[cameras / 2] *= ratio;
    let estimate = seen(&means);
    let run = |phase: usize| {
        let mut tracker = ColourTracker::new(FRAME_RATE);
        (0..1000).find(|frame| {
            if *frame >= 3 && (frame - 3 + phase).is_multiple_of(every) {
                tracker.observe(estimate);
            }
            let colours = tracker.advance();
            let levels =
                || means.iter().zip(colours.iter()).map(|(mean, c)| level(*c, 0, (*mean).into()));
            let spread = levels().fold(0.0, f64::max) - levels().fold(255.0, f64::min);
            spread < 0.05 * 50.0 * f64::from(ratio - 1.0).abs()
        })
    };
    (0..every).map(|phase| run(phase).unwrap_or(usize::MAX)).max().unwrap()
}

/// These are the numbers in the documentation of `ColourTracker`.
#[test]
fn changes_of_brightness_are_corrected_within_the_stated_time() {
    let every = EVERY as usize;
    for (cameras, frames) in
        [(2, [89, 89]), (3, [118, 96]), (4, [133, 105]), (8, [156, 118]), (16, [168, 124])]
    {
        let found = [0.5, 2.0].map(|ratio| frames_to_converge(cameras, ratio, every));
        assert_eq!(found, frames, "{cameras} cameras");
    }
    assert_eq!(frames_to_converge(2, 2.0, 30), 113);
}

/// The time until a doubled brightness is corrected depends little on the frame rate.
#[test]
fn the_speed_in_time_is_the_same_at_every_frame_rate() {
    assert_eq!(every_at_rate(FRAME_RATE), EVERY);
    for per_second in [5.0, 10.0, 24.0, 25.0, 60.0, 120.0, 240.0] {
        let (every, late) = (every_at_rate(per_second), (per_second * 0.1).round() as u32);
        let mut tracker = ColourTracker::new(per_second);
        let reached = (0..4000_u32).find(|frame| {
            if *frame >= late && (frame - late) % every == 0 {
                tracker.observe(seen(&[50.0, 100.0]));
            }
            let now = tracker.advance();
            (level(now[0], 1, 50.0) - level(now[1], 1, 100.0)).abs() < 2.5
        });
        let seconds = f64::from(reached.unwrap()) / per_second;
        assert!((2.5..3.2).contains(&seconds), "{per_second} frames/s: {seconds} s");
    }
    for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(ColourTracker::new(odd).rate, ColourTracker::new(FRAME_RATE).rate);
        assert_eq!(every_at_rate(odd), EVERY);
    }
    for odd in [1e-300, 1e300] {
        let ColourTracker { rate, max_step, .. } = ColourTracker::new(odd);
        assert!(rate > 0.0 && rate <= 1.0 && (0.01..=255.0).contains(&max_step));
        assert!(every_at_rate(odd) >= 1);
    }
}

/// `None` and estimates with invalid gains or gammas do not change the colours.
#[test]
fn missing_and_invalid_estimates_change_nothing() {
    let mut tracker = ColourTracker::new(FRAME_RATE);
    tracker.observe(None);
    assert_eq!(tracker.advance(), Colours::IDENTITY);
    let estimate = seen(&[50.0, 80.0]).unwrap();
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

/// Estimates and `head_for` change the colours in small steps, `begin_at` at once, and both ignore invalid colours.
#[test]
fn changes_are_gradual_unless_requested_otherwise() {
    let mut tracker = ColourTracker::new(FRAME_RATE);
    let mut before = Colours::IDENTITY;
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
}
