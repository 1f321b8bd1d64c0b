//! Tests of the states and fades of cameras, over made-up sequences of frames.

use super::*;
use shared_types::vitals::SAMPLES;

const FRAME: Duration = Duration::from_millis(33);
const MS: fn(u64) -> Duration = Duration::from_millis;

/// Random numbers, equal for equal seeds.
struct Random(fastrand::Rng);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0.u64(..end)
    }
}

/// Cameras, and the time of the test.
struct Test {
    cameras: Cameras,
    now: Duration,
}

/// The vitals of a picture with this mean and standard deviation of luma, and content `seed`.
fn picture(seed: u32, mean: u32, deviation: u32) -> Vitals {
    let squares = SAMPLES * (mean * mean + deviation * deviation);
    Vitals { checksum: seed, sum: SAMPLES * mean, squares }
}

impl Test {
    fn new(cameras: usize, options: FailureOptions) -> Self {
        options.check().unwrap();
        Self { cameras: Cameras::new(cameras, options), now: Duration::ZERO }
    }

    /// Processes a set with frames of these cameras, and returns the presence and cover of its panorama.
    fn set<const N: usize>(&mut self, frames: [bool; N]) -> Presence {
        for camera in (0..N).filter(|&camera| frames[camera]) {
            self.cameras.arrived(camera, self.now);
        }
        self.cameras.set(self.now, frames);
        let presence = self.cameras.next(self.now);
        self.now += FRAME;
        presence
    }

    fn sets<const N: usize>(&mut self, count: u32, frames: [bool; N]) -> Presence {
        let all: Vec<_> = (0..count).map(|_| self.set(frames)).collect();
        *all.last().unwrap()
    }

    fn states(&mut self) -> Vec<CameraState> {
        self.cameras.health(self.now).iter().map(|health| health.state).collect()
    }

    fn events(&mut self) -> Vec<(usize, CameraState)> {
        let events = self.cameras.take_events(self.now);
        assert_eq!(events.lost, 0);
        events.events.iter().map(|event| (event.camera, event.state)).collect()
    }
}

use CameraState::{Black, Frozen, Gone, Late, Live};

#[test]
fn a_silent_camera_is_late_then_gone_and_returns_after_steady_frames() {
    let mut test = Test::new(2, FailureOptions::default());
    test.sets(10, [true, true]);
    assert_eq!(test.states(), [Live, Live]);
    // The last frame of camera 1 came at 297 ms. The limits are 150 ms and 1 s.
    let mut seen = Vec::new();
    for _ in 0..40 {
        let at = test.now;
        test.set([true, false]);
        seen.push((at, test.cameras.monitors[1].health().state));
    }
    for (at, state) in seen {
        let silence = at - MS(297);
        let expected = match silence {
            _ if silence > MS(1000) => Gone,
            _ if silence > MS(150) => Late,
            _ => Live,
        };
        assert_eq!(state, expected, "{at:?}");
    }
    assert!(!test.cameras.delivers(1) && test.cameras.delivers(0));
    // The first frame follows a gap, so it does not count.
    test.sets(5, [true, true]);
    assert_eq!(test.states(), [Live, Gone]);
    test.set([true, true]);
    assert_eq!(test.states(), [Live, Live]);
    assert_eq!(test.events(), [(1, Late), (1, Gone), (1, Live)]);
    let [_, health] = test.cameras.health(test.now)[..] else { panic!() };
    assert_eq!((health.missing, health.entered.total()), (40, 3));
}

#[test]
fn a_camera_without_limits_is_never_late() {
    let (late, gone) = (Duration::MAX - FRAME, Duration::MAX);
    let limits = FailureOptions { late, gone, ..FailureOptions::default() };
    let mut test = Test::new(2, limits);
    test.sets(10, [true, true]);
    test.sets(1000, [true, false]);
    test.sets(10, [true, true]);
    assert_eq!((test.states(), test.events().len()), (vec![Live, Live], 0));
}

#[test]
fn a_camera_near_a_threshold_does_not_flap() {
    for limit in [150, 1000] {
        for seed in 0..20 {
            let mut random = Random(fastrand::Rng::with_seed(seed));
            let mut test = Test::new(1, FailureOptions::default());
            for _ in 0..1000 {
                test.set([true]);
                // From 76 to 130 % of the limit.
                test.now += MS(limit * (76 + random.below(54)) / 100) - FRAME;
            }
            let events = test.events();
            assert!(events.len() <= 2, "{limit} ms, seed {seed}: {events:?}");
        }
    }
}

/// The oracle of a camera's state: what the whole history of its frames allows.
fn check(state: CameraState, frames: &[Duration], now: Duration, context: &str) {
    let options = FailureOptions::default();
    let Some(&last) = frames.last() else { return };
    let silence = now - last;
    if silence > options.gone {
        assert_eq!(state, Gone, "{context}");
    } else if silence > options.late {
        assert!([Late, Gone].contains(&state), "{context}");
    } else {
        let recent = &frames[frames.len().saturating_sub(options.settle as usize + 1)..];
        let steady = recent.windows(2).all(|pair| pair[1] - pair[0] <= options.late * 3 / 4);
        if steady && (recent.len() > options.settle as usize || recent.len() == frames.len()) {
            assert_eq!(state, Live, "{context}");
        }
        let was_late = frames.windows(2).any(|pair| pair[1] - pair[0] > options.late);
        if !was_late {
            assert_eq!(state, Live, "{context}");
        }
        let was_gone = frames.windows(2).any(|pair| pair[1] - pair[0] > options.gone);
        assert!(state != Gone || was_gone, "{context}");
    }
}

/// Random sequences of frames, gaps and returns of up to 16 cameras. Each state agrees with the history of the camera's
/// frames, each change is counted and reported once, and presence and cover change by at most their steps.
#[test]
fn random_sequences_are_consistent() {
    let options = FailureOptions::default();
    for seed in 0..60 {
        let mut random = Random(fastrand::Rng::with_seed(seed));
        let cameras = 1 + random.below(16) as usize;
        let mut test = Test::new(cameras, options);
        let mut history = vec![Vec::new(); cameras];
        let mut ends = vec![Duration::ZERO; cameras];
        let mut states = vec![Live; cameras];
        let mut changes = vec![0; cameras];
        let mut before: Option<Presence> = None;
        for step in 0..600 {
            let mut frames = [false; 16];
            for camera in 0..cameras {
                if random.below(100) == 0 {
                    ends[camera] = test.now + MS(random.below(2500));
                }
                frames[camera] = test.now >= ends[camera];
                if frames[camera] {
                    history[camera].push(test.now);
                }
            }
            let at = test.now;
            let presence = test.set(frames);
            test.now += MS(random.below(12));
            for event in test.cameras.take_events(at).events {
                assert_ne!(states[event.camera], event.state, "seed {seed}, step {step}");
                states[event.camera] = event.state;
                changes[event.camera] += 1;
            }
            let health = test.cameras.health(at);
            for camera in 0..cameras {
                let context = format!("seed {seed}, step {step}, camera {camera}");
                assert_eq!(health[camera].state, states[camera], "{context}");
                check(states[camera], &history[camera], at, &context);
                assert_eq!(health[camera].entered.total(), changes[camera], "{context}");
                let missing = step + 1 - history[camera].len() as u64;
                assert_eq!(health[camera].missing, missing, "{context}");
            }
            if let Some(before) = before {
                for camera in 0..16 {
                    let rise = presence.presence[camera] - before.presence[camera];
                    assert!((-1.0 / 5.999..1.0 / 11.999).contains(&rise), "{rise}");
                    let rise = presence.cover[camera] - before.cover[camera];
                    assert!((-1.0 / 11.999..1.0 / 23.999).contains(&rise), "{rise}");
                    assert!((0.0..=1.0).contains(&presence.presence[camera]));
                    assert!((0.0..=1.0).contains(&presence.cover[camera]));
                }
            }
            before = Some(presence);
        }
    }
}

#[test]
fn a_thousand_joins_and_leaves_return_to_the_initial_state() {
    let mut test = Test::new(3, FailureOptions::default());
    let initial = test.sets(20, [true; 3]);
    assert_eq!(initial, Presence::FULL);
    let mut random = Random(fastrand::Rng::with_seed(7));
    for i in 0..1000 {
        test.cameras.connect(1, false, test.now);
        test.sets(1 + random.below(120) as u32, [true, i % 2 == 0, true]);
        test.cameras.connect(1, true, test.now);
        test.sets(20, [true; 3]);
        assert_eq!(test.events(), [(1, Gone), (1, Live)]);
    }
    assert_eq!(test.sets(20, [true; 3]), initial);
    assert_eq!(test.states(), [Live; 3]);
    let health = test.cameras.health(test.now);
    let counts = health[1].entered;
    assert_eq!((counts.live, counts.gone, counts.total()), (1000, 1000, 2000));
    assert_eq!(health[0].entered.total(), 0);
    assert_eq!((health[1].strikes, health[1].rejected), (0, 0));
}

#[test]
fn a_gone_camera_fades_out_is_held_and_is_covered() {
    let options = FailureOptions::default();
    let mut test = Test::new(2, options);
    test.sets(5, [true; 2]);
    test.cameras.connect(1, false, test.now);
    let (mut presences, mut covers) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        let Presence { presence, cover } = test.set([true, false]);
        assert_eq!((presence[0], cover[0]), (1.0, 0.0));
        presences.push(presence[1]);
        covers.push(cover[1]);
    }
    for (i, (presence, cover)) in presences.iter().zip(&covers).enumerate() {
        let expected = (1.0 - (i as f32 + 1.0) / 6.0).max(0.0);
        assert!((presence - expected).abs() < 1e-6, "panorama {i}: {presence}");
        // The panorama of frame 0 is the first without the camera; frame 61 is the first after 2 s.
        let expected = ((i as f32 - 60.0) / 24.0).clamp(0.0, 1.0);
        assert!((cover - expected).abs() < 1e-6, "panorama {i}: {cover}");
    }
    // The camera returns with the sixth frame, because the gap before the first one is too long.
    test.cameras.connect(1, true, test.now);
    test.sets(5, [true; 2]);
    for i in 1..=13 {
        let Presence { presence, cover } = test.set([true; 2]);
        let expected = (i as f32 / 12.0).min(1.0);
        assert!((presence[1] - expected).abs() < 1e-6, "panorama {i}: {}", presence[1]);
        assert!((cover[1] - (1.0 - expected)).abs() < 1e-6, "panorama {i}: {}", cover[1]);
    }
}

#[test]
fn a_camera_that_starts_late_fades_in_from_the_colour() {
    let mut test = Test::new(2, FailureOptions::default());
    let first = test.set([true, false]);
    assert_eq!(
        (first.presence[..2].to_vec(), first.cover[..2].to_vec()),
        (vec![1.0, 0.0], vec![0.0, 1.0])
    );
    test.sets(60, [true, false]);
    assert_eq!(test.states(), [Live, Gone]);
    let returned = test.set([true; 2]);
    assert!((returned.presence[1] - 1.0 / 12.0).abs() < 1e-6);
    assert_eq!(test.sets(12, [true; 2]), Presence::FULL);
    assert_eq!(test.events(), [(1, Late), (1, Gone), (1, Live)]);
}

#[test]
fn frames_that_miss_their_sets_make_a_camera_late_but_sets_wait_for_it() {
    let mut test = Test::new(2, FailureOptions::default());
    test.sets(5, [true; 2]);
    for _ in 0..60 {
        test.set([true, false]);
        test.cameras.arrived(1, test.now);
    }
    assert_eq!(test.states(), [Live, Gone]);
    assert!(test.cameras.delivers(1));
}

#[test]
fn three_strikes_make_a_camera_gone_until_it_delivers() {
    let mut test = Test::new(2, FailureOptions::default());
    test.sets(5, [true; 2]);
    test.cameras.rejected(0, test.now);
    test.cameras.rejected(0, test.now);
    test.set([true; 2]);
    test.cameras.rejected(0, test.now);
    test.cameras.rejected(0, test.now);
    assert_eq!((test.states(), test.cameras.health(test.now)[0].strikes), (vec![Live; 2], 2));
    test.cameras.rejected(0, test.now);
    assert_eq!(test.states(), [Gone, Live]);
    assert!(!test.cameras.delivers(0));
    test.sets(5, [true; 2]);
    assert_eq!(test.states(), [Gone, Live]);
    test.set([true; 2]);
    let health = test.cameras.health(test.now)[0];
    assert_eq!((health.state, health.strikes, health.rejected), (Live, 0, 5));
    assert_eq!(test.events(), [(0, Gone), (0, Live)]);
}

/// Sets with an analysis of these pictures every fifth set.
fn analyse(test: &mut Test, count: u32, mut pictures: impl FnMut(u32) -> [Vitals; 2]) -> Presence {
    let mut last = Presence::FULL;
    for i in 0..count {
        last = test.sets(5, [true; 2]);
        test.cameras.analysed(test.now, pictures(i).into_iter().enumerate());
    }
    last
}

#[test]
fn a_frozen_camera_is_reported_and_leaves_only_if_asked() {
    for act_on_frozen in [false, true] {
        let mut test = Test::new(2, FailureOptions { act_on_frozen, ..Default::default() });
        // Analyses are 165 ms apart, so 3 s are 19 of them.
        analyse(&mut test, 10, |i| [picture(i, 90, 30), picture(i, 80, 40)]);
        analyse(&mut test, 18, |i| [picture(i, 90, 30), picture(9, 80, 40)]);
        assert_eq!(test.states(), [Live, Live]);
        let end = analyse(&mut test, 4, |i| [picture(i, 90, 30), picture(9, 80, 40)]);
        assert_eq!(test.states(), [Live, Frozen]);
        assert_eq!(end.presence[1], if act_on_frozen { 0.0 } else { 1.0 });
        assert_eq!(end.presence[0], 1.0);
        // Four changes are not enough to return, five are.
        analyse(&mut test, 4, |i| [picture(i, 90, 30), picture(20 + i, 80, 40)]);
        assert_eq!(test.states(), [Live, Frozen]);
        analyse(&mut test, 4, |i| [picture(i, 90, 30), picture(40 + i, 80, 40)]);
        assert_eq!(test.states(), [Live, Live]);
        assert_eq!(test.sets(12, [true; 2]), Presence::FULL);
        assert_eq!(test.events(), [(1, Frozen), (1, Live)]);
    }
}

#[test]
fn a_picture_that_changes_now_and_then_is_not_frozen() {
    let mut test = Test::new(2, FailureOptions::default());
    analyse(&mut test, 400, |i| [picture(i, 90, 30), picture(i / 15, 80, 40)]);
    assert_eq!(test.events(), []);
}

#[test]
fn a_black_camera_leaves_unless_all_are_black() {
    let mut test = Test::new(2, FailureOptions::default());
    let dark = |i| picture(i, 16, 1);
    let end = analyse(&mut test, 12, |i| [picture(i, 90, 30), dark(i)]);
    assert_eq!((test.states(), end.presence[..2].to_vec()), (vec![Live, Black], vec![1.0, 0.0]));
    // The camera stays black at up to 1.5 times the limit of 2 levels, and returns above it.
    analyse(&mut test, 12, |i| [picture(i, 90, 30), picture(i, 16, 3)]);
    assert_eq!(test.states(), [Live, Black]);
    let end = analyse(&mut test, 12, |i| [picture(i, 90, 30), picture(i, 16, 4)]);
    assert_eq!((test.states(), end), (vec![Live, Live], Presence::FULL));
    // The lights go out: both cameras are black, but stay.
    analyse(&mut test, 12, |i| [dark(i), dark(i)]);
    let end = analyse(&mut test, 12, |i| [dark(i), dark(i)]);
    assert_eq!((test.states(), end), (vec![Black, Black], Presence::FULL));
    let health = test.cameras.health(test.now)[1];
    assert_eq!((health.mean, health.deviation, health.entered.black), (16.0, 1.0, 2));
}

#[test]
fn a_full_queue_loses_the_oldest_events_and_counts_them() {
    let mut test = Test::new(1, FailureOptions::default());
    test.set([true]);
    for _ in 0..200 {
        test.cameras.connect(0, false, test.now);
        test.cameras.connect(0, true, test.now);
        test.sets(6, [true]);
    }
    let CameraEvents { events, lost } = test.cameras.take_events(test.now);
    assert_eq!((events.len(), lost), (EVENTS, 400 - EVENTS as u64));
    assert!(events.iter().zip([Gone, Live].iter().cycle()).all(|(event, &s)| event.state == s));
    assert_eq!(test.cameras.take_events(test.now), CameraEvents::default());
}

#[test]
fn invalid_options_are_rejected() {
    let good = FailureOptions::default();
    for bad in [
        FailureOptions { late: Duration::ZERO, ..good },
        FailureOptions { gone: good.late, ..good },
        FailureOptions { fade_in: 0, ..good },
        FailureOptions { fade_out: 1001, ..good },
        FailureOptions { settle: 0, ..good },
        FailureOptions { every: 0, ..good },
        FailureOptions { deviation: f64::NAN, ..good },
        FailureOptions { deviation: -1.0, ..good },
    ] {
        assert!(matches!(bad.check(), Err(super::super::LiveError::Options(_))), "{bad:?}");
    }
}
