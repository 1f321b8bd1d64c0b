//! Property tests of colour estimation and of the colour tracker, with random sums and sequences of colours.

use glam::Vec3;
use panoweave::ops::colour::{
    ColourTracker, ColourTrackerOptions, Colours, EstimateLimits, estimate,
};
use panoweave_tests::oracle::grade as apply;
use proptest::prelude::*;
use shared_types::colour::ColourSums;
use shared_types::stitch::Colour;

/// Returns the colour sums of 20,000 pixels that have the mean levels `left` and `right` in the two cameras.
fn of_means(left: [f32; 3], right: [f32; 3]) -> ColourSums {
    let sums = |[r, g, b]: [f32; 3]| {
        let luma = shared_types::colour::LUMA.dot(Vec3::new(r, g, b));
        [r, g, b, luma].map(|mean| mean * 20_000.0)
    };
    ColourSums { left: sums(left), right: sums(right), weight: 20_000.0 }
}

fn swapped(colours: Colours) -> Colours {
    Colours::of([colours[1], colours[0]])
}

fn within_limits(colour: &Colour) -> bool {
    colour.gain.to_array().iter().all(|gain| (0.5..=2.0).contains(gain))
        && (0.8..=1.2).contains(&colour.gamma)
}

fn means() -> impl Strategy<Value = [f32; 3]> {
    prop::array::uniform3(1.0_f32..247.0)
}

fn any_colour() -> impl Strategy<Value = Colour> {
    (prop::array::uniform3(0.5_f32..=2.0), 0.8_f32..=1.2).prop_map(|(gain, gamma)| Colour {
        gain: gain.into(),
        gamma,
        ..Colour::IDENTITY
    })
}

fn any_colours() -> impl Strategy<Value = Colours> {
    (any_colour(), any_colour()).prop_map(|(left, right)| Colours::of([left, right]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..Default::default() })]

    /// Checks that `estimate` returns colours within the limits, or `None`, for any nine sums, including negative,
    /// infinite and NaN sums.
    #[test]
    fn any_sums_give_colours_within_limits_or_none(
        left in prop::array::uniform4(any::<f32>()),
        right in prop::array::uniform4(any::<f32>()),
        weight in any::<f32>(),
        min_weight in any::<f32>(),
    ) {
        let limits = EstimateLimits { min_weight, ..EstimateLimits::default() };
        let tiny = |sums: [f32; 4]| sums.map(|sum| sum.abs() % 255.0 * 1e4);
        for sums in [
            ColourSums { left, right, weight },
            ColourSums { left: tiny(left), right: tiny(right), weight: 1e4 },
        ] {
            if let Some(found) = estimate(&sums, &limits) {
                prop_assert!(found.iter().all(within_limits));
            }
        }
    }

    #[test]
    fn cameras_are_alike(left in means(), right in means()) {
        let found = estimate(&of_means(left, right), &EstimateLimits::default()).unwrap();
        let turned = estimate(&of_means(right, left), &EstimateLimits::default()).unwrap();
        prop_assert_eq!(found, swapped(turned));
        prop_assert!(within_limits(&found[0]) && within_limits(&found[1]));
        let equal = estimate(&of_means(left, left), &EstimateLimits::default()).unwrap();
        prop_assert_eq!(equal, Colours::IDENTITY);
    }

    /// Checks that the estimate does not change if the light of both cameras is scaled by the same factor. All ratios
    /// are chosen so that the gains are within the limits.
    #[test]
    fn light_has_no_scale(
        left in means(),
        ratio in prop::array::uniform3(0.26_f32..3.9),
        light in 0.1_f32..1.0,
    ) {
        let left = left.map(|mean| mean / 4.0);
        let right: [f32; 3] = std::array::from_fn(|c| left[c] * ratio[c]);
        let found = estimate(&of_means(left, right), &EstimateLimits::default()).unwrap();
        let dimmed = of_means(left.map(|m| m * light), right.map(|m| m * light));
        let dimmed = estimate(&dimmed, &EstimateLimits::default()).unwrap();
        for (a, b) in [(found[0], dimmed[0]), (found[1], dimmed[1])] {
            prop_assert!((a.gain - b.gain).abs().max_element() < 1e-5, "{a:?} and {b:?}");
            prop_assert_eq!([a.gamma, b.gamma], [1.0, 1.0]);
        }
        for c in 0..3 {
            let difference = found[0].gain[c] * left[c] - found[1].gain[c] * right[c];
            prop_assert!(difference.abs() < 1e-4 * left[c]);
        }
    }

    /// Checks that the estimated gains do not increase the difference between the cameras' means in any channel, and
    /// that the gammas do not increase the difference between the means of luma. A gamma must never darken the darker
    /// camera or brighten the brighter camera.
    #[test]
    fn means_come_together(left in means(), right in means()) {
        let found = estimate(&of_means(left, right), &EstimateLimits::default()).unwrap();
        let (l, r) = (Vec3::from(left) * found[0].gain, Vec3::from(right) * found[1].gain);
        for c in 0..3 {
            let (before, after) = (left[c] - right[c], l[c] - r[c]);
            prop_assert!(after.abs() <= before.abs() + 1e-3);
        }
        let luma = |levels: Vec3| shared_types::colour::LUMA.dot(levels);
        let curve = |level: f32, gamma| 255.0 * (level / 255.0).powf(gamma);
        let gained = luma(l) - luma(r);
        let corrected = curve(luma(l), found[0].gamma) - curve(luma(r), found[1].gamma);
        prop_assert!(corrected.abs() <= gained.abs() + 1e-3, "{gained} to {corrected}");
        let (dark, bright) = if gained < 0.0 {
            (found[0].gamma, found[1].gamma)
        } else {
            (found[1].gamma, found[0].gamma)
        };
        prop_assert!(dark <= 1.0 && bright >= 1.0, "{found:?}");
    }

    /// Checks that for any sequence of estimates, the corrected and rounded levels change by at most one per frame, and
    /// that the colours finally reach the last estimate.
    #[test]
    fn no_frame_steps_visibly(
        estimates in prop::collection::vec(prop::option::of(any_colours()), 1..6),
        pause in 1_usize..60,
    ) {
        let mut tracker = ColourTracker::default();
        let mut before = levels(&tracker.advance());
        for estimate in &estimates {
            tracker.observe(*estimate);
            for _ in 0..pause {
                let now = levels(&tracker.advance());
                let largest = largest(&before, &now);
                prop_assert!(largest <= 1, "{largest} levels");
                before = now;
            }
        }
        let Some(last) = estimates.into_iter().flatten().last() else { return Ok(()) };
        for _ in 0..400 {
            tracker.observe(Some(last));
            tracker.advance();
        }
        let arrived = largest(&levels(&tracker.advance()), &levels(&last));
        prop_assert!(arrived <= 1, "{arrived} levels away");
    }

    /// Checks that no corrected level changes by more than `max_step` per frame, for any valid `rate` and `max_step`.
    #[test]
    fn any_largest_step_is_kept(
        rate in 0.001_f32..=1.0,
        max_step in 0.01_f32..=255.0,
        target in any_colours(),
    ) {
        let settings = ColourTrackerOptions { rate, max_step, ..ColourTrackerOptions::default() };
        let mut tracker = ColourTracker::new(settings).unwrap();
        tracker.observe(Some(target));
        let mut before = Colours::IDENTITY;
        for _ in 0..20 {
            let now = tracker.advance();
            for (a, b) in [(before[0], now[0]), (before[1], now[1])] {
                for (c, level) in (0..3).flat_map(|c| (0..=255).map(move |level| (c, level))) {
                    let change = apply(&a, c, level.into()) - apply(&b, c, level.into());
                    prop_assert!(change.abs() <= f64::from(max_step) + 1e-4);
                }
            }
            before = now;
        }
    }
}

/// Returns the corrected and rounded level for every input level, for each channel of each camera.
fn levels(colours: &Colours) -> Vec<i32> {
    let table = |colour: &Colour, c| -> Vec<i32> {
        (0..=255).map(|level| apply(colour, c, level.into()).round() as i32).collect()
    };
    [&colours[0], &colours[1]]
        .into_iter()
        .flat_map(|colour| (0..3).flat_map(move |c| table(colour, c)))
        .collect()
}

fn largest(a: &[i32], b: &[i32]) -> i32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).max().unwrap_or(0)
}
