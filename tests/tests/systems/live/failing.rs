//! Cameras that fail, return, have bad pictures or unequal rates: states, events, and which frames the panoramas show.

use std::time::Duration;

use panoweave::live::{
    CameraState, FailureOptions, LiveOptions, Session, StitchedFrame, StitchedFrames, Submitted,
};
use panoweave_tests::live::{FRAME, STILL, frame, session, stamp};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use shared_types::Rgba8;

use CameraState::{Black, Frozen, Gone, Live};

/// Options with an analysis of every set.
fn options() -> LiveOptions {
    let failure = FailureOptions {
        gone: 6,
        settle: 2,
        every: 1,
        frozen: 3,
        black: 3,
        fade: 4,
        hold: 8,
        colour: Rgba8::opaque(40, 40, 40),
        ..FailureOptions::default()
    };
    LiveOptions { colour: STILL, failure: Some(failure), ..LiveOptions::default() }
}

/// Returns the levels of the first and the last pixel: each is covered by one camera alone.
fn levels(panorama: &StitchedFrame) -> [u8; 2] {
    let bytes = panorama.bytes();
    [bytes[0], bytes[bytes.len() - 4]]
}

fn states(session: &Session) -> Vec<CameraState> {
    session.cameras().iter().map(|camera| camera.state).collect()
}

fn events(session: &Session) -> Vec<(usize, CameraState)> {
    session.camera_events().iter().map(|event| (event.camera, event.state)).collect()
}

/// What the camera under test does for some frames.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    Deliver,
    Stop,
    /// The camera is set absent, and delivers frames.
    Leave,
}

/// A sequence of what a camera does, each for a number of frames, and the events of this camera.
struct Scenario {
    steps: &'static [(Does, u32)],
    events: &'static [CameraState],
}

/// One camera fails; the other one delivers. Each frame has a level of its own. All panoramas show the newest frame of
/// the other camera. The camera under test is shown with its newest or last frame, which the colour of failed cameras
/// covers as [`Session::cameras`] states. At the end, all frames are counted.
#[test]
fn the_panorama_goes_on_without_a_camera() {
    let scenarios = [
        Scenario { steps: &[(Does::Deliver, 20)], events: &[Live] },
        Scenario {
            steps: &[(Does::Deliver, 10), (Does::Stop, 4), (Does::Deliver, 6)],
            events: &[Live],
        },
        Scenario {
            steps: &[(Does::Deliver, 10), (Does::Stop, 30), (Does::Deliver, 20)],
            events: &[Live, Gone, Live],
        },
        Scenario {
            steps: &[(Does::Deliver, 10), (Does::Leave, 30), (Does::Deliver, 20)],
            events: &[Live, Gone, Live],
        },
        Scenario { steps: &[(Does::Stop, 20), (Does::Deliver, 20)], events: &[Gone, Live] },
    ];
    for device in panoweave_devices() {
        for (Scenario { steps, events: expected }, lost) in
            scenarios.iter().flat_map(|scenario| [(scenario, 0), (scenario, 1)])
        {
            let name = format!("{device}, camera {lost}, {steps:?}");
            // Frames of one level are black, and equal.
            let failure = options().failure;
            let failure = failure.map(|it| FailureOptions { black: 10_000, frozen: 10_000, ..it });
            let session = session(&device, LiveOptions { failure, ..options() });
            let mut panoramas = session.panoramas();
            let (mut i, mut read, mut last, mut covered) = (0_u8, 0, 0, false);
            for &(does, count) in *steps {
                session.set_present(lost, does != Does::Leave).unwrap();
                for _ in 0..count {
                    i += 1;
                    let push = |camera, level| {
                        session.push(camera, frame(&stamp(level)), FRAME * i.into()).unwrap();
                    };
                    if does != Does::Stop {
                        push(lost, 100 + i);
                    }
                    if does == Does::Deliver {
                        last = 100 + i;
                    }
                    push(1 - lost, 100 + i);
                    let sets = session.counters().sets;
                    let Some(newest) = panoramas.by_ref().take((sets - read) as usize).last()
                    else {
                        continue;
                    };
                    read = sets;
                    let (found, health) = (levels(&newest), session.cameras()[lost]);
                    covered |= health.cover == 1.0;
                    let shown = f32::from(last) + health.cover * (40.0 - f32::from(last));
                    assert_eq!(found[1 - lost], 100 + i, "{name}, frame {i}");
                    assert!((f32::from(found[lost]) - shown).abs() <= 1.0, "{name}, frame {i}");
                }
            }
            let mut found = events(&session);
            found.retain(|(camera, _)| *camera == lost);
            let found: Vec<_> = found.into_iter().map(|(_, state)| state).collect();
            assert_eq!((&found[..], states(&session)), (*expected, vec![Live; 2]), "{name}");
            let health = session.cameras();
            assert!(health.iter().all(|camera| (camera.presence, camera.cover) == (1.0, 0.0)));
            assert_eq!(covered, expected.contains(&Gone), "{name}");
            session.close();
            let counters = session.counters();
            assert_eq!((counters.sets, read), (i.into(), i.into()), "{name}: {counters:?}");
            let missing = |camera: usize| counters.cameras[camera].used + health[camera].missing;
            assert_eq!([missing(0), missing(1)], [counters.sets; 2], "{name}: {counters:?}");
        }
    }
}

/// A session of two cameras, whose sets are submitted and whose panoramas are read one by one.
struct Test {
    session: Session,
    panoramas: StitchedFrames,
    sets: u32,
    random: Random,
}

impl Test {
    fn new(session: Session) -> Self {
        Self { panoramas: session.panoramas(), session, sets: 0, random: Random::new(1) }
    }

    fn noise(&mut self) -> Vec<u8> {
        stamp(0).iter().map(|_| self.random.bits() as u8).collect()
    }

    /// Submits a set and returns the bytes of its panorama.
    fn set(&mut self, left: &[u8], right: &[u8]) -> Vec<u8> {
        let submitted = self.session.submit([frame(left), frame(right)], FRAME * self.sets);
        assert_eq!(submitted.unwrap(), Submitted::Set);
        self.sets += 1;
        self.panoramas.next().unwrap().bytes().to_vec()
    }
}

#[test]
fn black_and_frozen_cameras_are_reported() {
    for device in panoweave_devices() {
        let mut test = Test::new(session(&device, options()));
        let mut run = |right: &dyn Fn(u8, Vec<u8>) -> Vec<u8>| {
            for i in 0..8 {
                let [left, noise] = [0, 1].map(|_| test.noise());
                test.set(&left, &right(i, noise));
            }
            let health = test.session.cameras()[1];
            (states(&test.session), events(&test.session), health.mean, health.deviation)
        };
        let (state, _, mean, deviation) = run(&|i, _| stamp(i));
        assert_eq!((state, mean, deviation), (vec![Live, Black], 7.0, 0.0), "{device}");
        let still = Random::new(2).bits() as u8;
        let still: Vec<_> = stamp(0).iter().zip(0_u8..=255).map(|(_, i)| still ^ i).collect();
        let still = still.repeat(stamp(0).len().div_ceil(still.len()));
        let (state, found, ..) = run(&|_, noise| still[..noise.len()].to_vec());
        assert_eq!((state, found), (vec![Live, Frozen], vec![(1, Live), (1, Frozen)]), "{device}");
        let (state, found, ..) = run(&|_, noise| noise);
        assert_eq!((state, found), (vec![Live; 2], vec![(1, Live)]), "{device}");
    }
}

#[test]
fn the_panoramas_of_live_cameras_do_not_depend_on_the_option() {
    for device in panoweave_devices() {
        let without = LiveOptions { failure: None, ..options() };
        let [mut with, mut without] =
            [options(), without].map(|options| Test::new(session(&device, options)));
        for _ in 0..8 {
            let [left, right] = [0, 1].map(|_| with.noise());
            assert_eq!(with.set(&left, &right), without.set(&left, &right), "{device}");
        }
        assert_eq!((states(&without.session), events(&without.session)), (vec![], vec![]));
    }
}

/// The reference camera has 30 frames/s, the other camera 25, and its frames are 5 ms later. There is one panorama for
/// each reference frame, with the nearest frame of the other camera.
#[test]
fn cameras_with_25_and_30_frames_per_second() {
    let left = |i: u64| Duration::from_micros(i * 1_000_000 / 30);
    let right = |i: u64| Duration::from_micros(i * 40_000 + 5000);
    for device in panoweave_devices() {
        let session = session(&device, LiveOptions { colour: STILL, ..LiveOptions::default() });
        let mut frames: Vec<_> = (0..150).map(|i| (left(i), 0, i)).collect();
        frames.extend((0..125).map(|i| (right(i), 1, i)));
        frames.sort_unstable();
        let (mut reader, mut panoramas) = (session.panoramas(), Vec::new());
        for (time, camera, i) in frames {
            session.push(camera, frame(&stamp(i as u8 + 1)), time).unwrap();
            let missing = session.counters().sets as usize - panoramas.len();
            let new = reader.by_ref().take(missing);
            panoramas.extend(new.map(|seen| (seen.timestamp(), levels(&seen))));
        }
        session.close();
        assert!(panoramas.len() >= 147, "{device}: {}", panoramas.len());
        for (time, found) in &panoramas {
            let i = (0..150).find(|i| left(*i) == *time).unwrap();
            let nearest = (0..125).min_by_key(|j| right(*j).abs_diff(*time)).unwrap();
            assert_eq!(*found, [i as u8 + 1, nearest as u8 + 1], "{device}");
        }
        let counters = session.counters();
        let [frames, others] = counters.cameras[..] else { panic!() };
        assert!(others.repeated >= 20, "{device}: {others:?}");
        assert_eq!((frames.used + frames.dropped(), others.used + others.dropped()), (150, 125));
        assert_eq!(counters.sets, panoramas.len() as u64);
    }
}
