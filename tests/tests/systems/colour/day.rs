//! Checks the colour tracker over 13 simulated minutes of live video. In this time, the exposures drift, the exposure
//! of one camera doubles, the scene becomes dark, and a lamp is switched on. The correction must follow each event
//! within 3 s, without visible steps or flicker.

use std::f64::consts::TAU;

use panoweave::ops::colour::{ColourTracker, Colours, EVERY, FRAME_RATE};
use panoweave_tests::oracle::grade as apply;
use panoweave_tests::random::Random;

use crate::colour::{Pair, differences, estimate, sums};

const SECOND: u32 = 30;
const MINUTE: u32 = 60 * SECOND;

/// The number of frames between the analysis of a frame and the arrival of its colour estimate.
const LATENCY: u32 = 3;

/// The number of frames after an event in which the correction must reach its new value: 3 s.
const FOLLOWED: u32 = 90;

/// The frames at which events begin and end. From `STEP` to `STEP_BACK`, the right camera's exposure is doubled. From
/// `DARK` to `LIGHT`, the scene is dark. From `LAMP` to `LAMP_OFF`, the lamp is on. Until `CALM`, both exposures drift
/// by ±30 %.
const STEP: u32 = 3 * MINUTE;
const STEP_BACK: u32 = 5 * MINUTE;
const DARK: u32 = 7 * MINUTE;
const LIGHT: u32 = 8 * MINUTE;
const LAMP: u32 = 9 * MINUTE;
const LAMP_OFF: u32 = 10 * MINUTE;
const CALM: u32 = 10 * MINUTE;
const END: u32 = 13 * MINUTE;

/// Returns the exposures of both cameras in a frame.
fn exposures(frame: u32) -> [f64; 2] {
    let minutes = f64::from(frame.min(CALM)) / f64::from(MINUTE);
    let light = if (DARK..LIGHT).contains(&frame) { 0.02 } else { 1.0 };
    let step = if (STEP..STEP_BACK).contains(&frame) { 2.0 } else { 1.0 };
    let drift =
        |period: f64, phase: f64| light * (1.0 + 0.3 * (TAU * minutes / period + phase).sin());
    [drift(8.0, 0.0), step * drift(5.0, 1.0)]
}

/// Returns the levels of the overlap's pixels in both cameras. While the lamp is on, a tenth of these pixels are 100
/// times brighter.
fn look(scene: &[[f64; 3]], frame: u32, mut noise: impl FnMut() -> f64) -> Vec<Pair> {
    let lit = (LAMP..LAMP_OFF).contains(&frame);
    let exposures = exposures(frame);
    let pixel = |(i, light): (usize, &[f64; 3])| {
        let lamp = if lit && i % 10 == 0 { 100.0 } else { 1.0 };
        exposures.map(|exposure| {
            light.map(|light| (lamp * exposure * light + noise()).round().clamp(0.0, 255.0))
        })
    };
    scene.iter().enumerate().map(pixel).collect()
}

/// Returns the difference between the mean lumas of both cameras after colour correction. The means are computed from
/// levels without noise and saturation.
fn residual(scene: &[[f64; 3]], frame: u32, colours: &Colours) -> f64 {
    let exposures = exposures(frame);
    let mean = |c: usize| scene.iter().map(|light| light[c]).sum::<f64>() / scene.len() as f64;
    let pair = exposures.map(|exposure| [0, 1, 2].map(|c| exposure * mean(c)));
    differences([&pair], colours)[3]
}

#[test]
fn a_day() {
    let mut random = Random::new(21);
    let scene: Vec<[f64; 3]> = (0..3000)
        .map(|_| {
            let light = f64::from(random.between(0.0, 1.0));
            [1.0, 0.9, 0.7].map(|tint| tint * (12.0 + 90.0 * light * light))
        })
        .collect();
    let mut noise = || f64::from(random.between(-4.0, 4.0));

    let mut tracker = ColourTracker::new(FRAME_RATE);
    let mut before = Colours::IDENTITY;
    let mut on_its_way = None;
    let mut at_event = residual(&scene, 0, &before);
    let mut event = 0;
    let mut rest = None;
    for frame in 0..END {
        if frame % EVERY == 0 {
            // Each simulated pixel counts as ten pixels in the sums.
            let mut sums = sums(&look(&scene, frame, &mut noise), 10.0);
            // Add noise of ±0.5 % to each sum.
            for sum in sums.left.iter_mut().chain(&mut sums.right) {
                *sum *= 1.0 + noise() as f32 / 800.0;
            }
            on_its_way = Some((frame + LATENCY, estimate(&sums, 10_000.0)));
        }
        if let Some((_, estimate)) = on_its_way.take_if(|(at, _)| *at == frame) {
            let dark = (DARK..LIGHT).contains(&(frame - LATENCY));
            assert_eq!(estimate.is_none(), dark, "frame {frame}");
            tracker.observe(estimate);
        }
        if [STEP, STEP_BACK, LIGHT, LAMP, LAMP_OFF].contains(&frame) {
            event = frame;
            at_event = residual(&scene, frame, &before);
        }
        let now = tracker.advance();
        assert_steady(&before, &now, frame);

        let dark = (DARK..LIGHT).contains(&frame);
        if dark {
            // In the first second of darkness, an estimate from before the darkness may still change the colours.
            // Later, the colours must stay constant.
            if frame >= DARK + SECOND {
                assert_eq!(now, before, "the colours move in the dark in frame {frame}");
            }
        } else {
            let left = residual(&scene, frame, &now);
            if frame == event + FOLLOWED {
                let allowed = (0.05 * at_event.abs()).max(1.0);
                assert!(left.abs() < allowed, "{left} of {at_event} after the event at {event}");
            } else if frame > event + FOLLOWED {
                assert!(left.abs() < 1.5, "{left} levels in frame {frame}");
            }
        }
        if frame > CALM + 10 * SECOND {
            assert_eq!(*rest.get_or_insert(now), now, "flicker in frame {frame}");
        }
        before = now;
    }
}

/// Checks that the corrected value of every input level changes by at most one level from one frame to the next.
fn assert_steady(before: &Colours, now: &Colours, frame: u32) {
    for (a, b) in [(before[0], now[0]), (before[1], now[1])] {
        if a == b {
            continue;
        }
        for (c, level) in (0..3).flat_map(|c| (0..=255).map(move |level| (c, level))) {
            let out = [a, b].map(|colour| apply(&colour, c, f64::from(level)).round());
            let change = (out[0] - out[1]).abs();
            assert!(change <= 1.0, "{change} levels at {level} in frame {frame}");
        }
    }
}
