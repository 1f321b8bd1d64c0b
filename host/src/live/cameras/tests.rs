//! Tests of the states and fades of cameras, over made-up sequences of sets and pictures.

use shared_types::frame_statistics::SAMPLES;

use super::*;
use CameraState::{Black, Frozen, Gone, Live, Waiting};

const OPTIONS: fn() -> FailureOptions = || FailureOptions {
    gone: 10,
    settle: 3,
    frozen: 6,
    black: 4,
    fade: 5,
    hold: 8,
    ..Default::default()
};

struct Test(CameraStates);

/// The statistics of a picture with this mean and standard deviation of luma, and content `seed`.
fn picture(seed: u32, mean: u32, deviation: u32) -> FrameStatistics {
    let squares = SAMPLES * (mean * mean + deviation * deviation);
    FrameStatistics { checksum: seed, sum: SAMPLES * mean, squares }
}

impl Test {
    fn new(cameras: usize) -> Self {
        OPTIONS().check().unwrap();
        Self(CameraStates::new(cameras, OPTIONS()))
    }

    /// Processes sets with frames of these cameras, and returns the shares in the last panorama.
    fn sets<const N: usize>(&mut self, count: u32, frames: [bool; N]) -> Shares {
        let set = |_| {
            self.0.set(frames);
            self.0.next()
        };
        (0..count).map(set).last().unwrap()
    }

    fn states(&self) -> Vec<CameraState> {
        self.0.health().iter().map(|health| health.state).collect()
    }

    fn events(&mut self) -> Vec<(usize, CameraState)> {
        self.0.take_events().iter().map(|event| (event.camera, event.state)).collect()
    }

    /// Sets with an analysis of the pictures of two cameras.
    fn analyse(
        &mut self,
        count: u32,
        mut pictures: impl FnMut(u32) -> [FrameStatistics; 2],
    ) -> Shares {
        let analyse = |i| {
            let shares = self.sets(1, [true; 2]);
            self.0.analysed(pictures(i).into_iter().enumerate());
            shares
        };
        (0..count).map(analyse).last().unwrap()
    }
}

/// A camera stops, is gone, is held, is covered, and returns. The share of each panorama is that of the tables.
#[test]
fn a_silent_camera_fades_out_is_held_is_covered_and_returns() {
    for absent in [false, true] {
        let mut test = Test::new(2);
        assert_eq!(test.sets(5, [true; 2]), Shares::FULL);
        test.events();
        // The panorama in which the camera fails is the first of the fade.
        let fails = if absent { 0 } else { 9 };
        if absent {
            test.0.set_present(1, false);
        }
        let step = |at: i32| at.clamp(0, 5) as f32 / 5.0;
        for i in 0..40 {
            // The frames of an absent camera do not count.
            let Shares { presence, cover } = test.sets(1, [true, absent && i % 2 == 0]);
            let since = i - fails + 1;
            assert_eq!((presence[0], cover[0]), (1.0, 0.0));
            assert_eq!(presence[1], step(5 - since), "{i}");
            assert_eq!(cover[1], step(since - 8), "{i}");
        }
        assert_eq!((test.states(), test.events()), (vec![Live, Gone], vec![(1, Gone)]));
        test.0.set_present(1, true);
        assert_eq!(test.sets(2, [true; 2]).presence[1], 0.0);
        // A short gap does not matter, because the frame rate of the camera may be lower.
        test.sets(1, [true, false]);
        for i in 1..10 {
            let Shares { presence, cover } = test.sets(1, [true; 2]);
            assert_eq!(presence[1], step(i), "{i}");
            assert_eq!(cover[1], step(5 - i), "{i}");
        }
        assert_eq!((test.states(), test.events()), (vec![Live; 2], vec![(1, Live)]));
        assert!(test.0.health()[1].missing >= 21);
    }
}

#[test]
fn a_camera_that_starts_late_fades_in_from_the_colour() {
    let mut test = Test::new(2);
    for (sets, state) in [(1, Waiting), (30, Gone)] {
        let Shares { presence, cover } = test.sets(sets, [true, false]);
        assert_eq!((&presence[..2], &cover[..2]), (&[1.0, 0.0][..], &[0.0, 1.0][..]));
        assert_eq!(test.states(), [Live, state]);
    }
    let first = test.sets(3, [true; 2]);
    assert_eq!((first.presence[1], first.cover[1]), (0.2, 0.8));
    assert_eq!(test.sets(4, [true; 2]), Shares::FULL);
    assert_eq!(test.events(), [(0, Live), (1, Gone), (1, Live)]);
}

#[test]
fn a_frozen_camera_is_reported_and_a_black_one_leaves_unless_all_are_black() {
    let mut test = Test::new(2);
    let good = |i| picture(i, 90, 30);
    let dark = |i| picture(i, 16, 1);
    test.analyse(6, |i| [good(i), good(i)]);
    test.events();
    assert_eq!(test.analyse(7, |i| [good(i), good(9)]), Shares::FULL);
    assert_eq!(test.states(), [Live, Frozen]);
    // A picture that changes now and then is not frozen.
    test.analyse(3, |i| [good(i), good(i)]);
    test.analyse(60, |i| [good(i), good(i / 5)]);
    assert_eq!(test.events(), [(1, Frozen), (1, Live)]);

    let end = test.analyse(12, |i| [good(i), dark(i)]);
    assert_eq!((test.states(), end.presence[1]), (vec![Live, Black], 0.0));
    assert!(test.0.suspects()[1] && !test.0.suspects()[0]);
    // The camera stays black at up to 1.5 times the limit of 2 levels, and returns above it.
    test.analyse(12, |i| [good(i), picture(i, 16, 3)]);
    assert_eq!(test.states(), [Live, Black]);
    let end = test.analyse(12, |i| [good(i), picture(i, 16, 4)]);
    assert_eq!((test.states(), end), (vec![Live; 2], Shares::FULL));
    // The lights go out: both cameras are black, but stay.
    let end = test.analyse(12, |i| [dark(i), dark(i)]);
    assert_eq!((test.states(), end), (vec![Black; 2], Shares::FULL));
    let health = test.0.health()[1];
    assert_eq!((health.mean, health.deviation), (16.0, 1.0));
}

/// Random sequences of frames, gaps and absences of up to 16 cameras. Each change is reported once, and presence and
/// cover change by at most one step. At the end, all cameras are in the panorama again.
#[test]
fn random_sequences_are_consistent() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let count = random.usize(1..=16);
        let mut test = Test::new(count);
        let (mut silent, mut states, mut before) = ([0; 16], vec![Waiting; count], None);
        for step in 0..600 {
            for (camera, until) in silent.iter_mut().enumerate().take(count) {
                if random.u32(..100) == 0 {
                    *until = step + random.u32(..60);
                }
                if random.u32(..200) == 0 {
                    test.0.set_present(camera, random.bool());
                }
            }
            let shares = test.sets(1, silent.map(|until| step >= until));
            for (camera, state) in test.events() {
                assert_ne!(std::mem::replace(&mut states[camera], state), state, "seed {seed}");
            }
            assert_eq!(test.states(), states, "seed {seed}, step {step}");
            let last: Shares = before.replace(shares).unwrap_or(shares);
            for camera in 0..16 {
                for [last, now] in [
                    [last.presence[camera], shares.presence[camera]],
                    [last.cover[camera], shares.cover[camera]],
                ] {
                    assert!((now - last).abs() < 0.201 && (0.0..=1.0).contains(&now), "{seed}");
                }
            }
        }
        (0..count).for_each(|camera| test.0.set_present(camera, true));
        assert_eq!(test.sets(20, [true; 16]), Shares::FULL, "seed {seed}");
    }
}

#[test]
fn a_full_queue_loses_the_oldest_events() {
    let mut test = Test::new(1);
    for _ in 0..200 {
        test.0.set_present(0, false);
        test.0.set_present(0, true);
        test.sets(3, [true]);
    }
    let events = test.events();
    assert_eq!((events.len(), events[0], events[255]), (256, (0, Gone), (0, Live)));
    assert_eq!(test.events(), []);
}

#[test]
fn invalid_options_are_rejected() {
    let good = FailureOptions::default();
    for bad in [
        FailureOptions { gone: 0, ..good },
        FailureOptions { fade: 10_001, ..good },
        FailureOptions { settle: 0, ..good },
        FailureOptions { every: 0, ..good },
        FailureOptions { deviation: f64::NAN, ..good },
        FailureOptions { deviation: -1.0, ..good },
    ] {
        assert!(matches!(bad.check(), Err(super::super::LiveError::Invalid(_))), "{bad:?}");
    }
    FailureOptions::at_rate(f64::MAX).check().unwrap();
}
