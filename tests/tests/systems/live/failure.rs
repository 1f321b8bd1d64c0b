//! Tests of the live stitcher with cameras that fail: their states, events and counters, and the panoramas.

use std::time::Duration;

use panoweave::frame::{Frame, FrameFormat};
use panoweave::live::{
    CameraState, Dropped, FailureOptions, LiveError, LiveOptions, Pace, StitchedFrames, Stitcher,
    Submitted,
};
use panoweave::ops::seam::{Blend, SeamOptions};
use panoweave_tests::live::{CANVAS, FRAME, SOURCE, STILL, frame, stamp, stitcher};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;

/// Options with limits that a slow test machine does not reach, and with an analysis of every set.
fn options() -> LiveOptions {
    let failure = FailureOptions {
        late: Duration::from_secs(100),
        gone: Duration::from_secs(200),
        settle: 2,
        every: 1,
        frozen: Duration::ZERO,
        black: Duration::ZERO,
        hold: Duration::from_secs(100),
        ..FailureOptions::default()
    };
    LiveOptions { colour: STILL, failure: Some(failure), ..LiveOptions::default() }
}

/// A stitcher of two cameras, whose panoramas are read one by one.
struct Test {
    stitcher: Stitcher,
    panoramas: StitchedFrames,
    sets: u32,
    random: Random,
}

impl Test {
    fn new(stitcher: Stitcher) -> Self {
        Self { panoramas: stitcher.panoramas(), stitcher, sets: 0, random: Random::new(1) }
    }

    fn noise(&mut self) -> Vec<u8> {
        stamp(0).iter().map(|_| self.random.bits() as u8).collect()
    }

    /// Submits a set and returns the bytes of its panorama.
    fn set(&mut self, left: &[u8], right: &[u8]) -> Vec<u8> {
        let submitted = self.stitcher.submit(&[frame(left), frame(right)], FRAME * self.sets);
        assert_eq!(submitted.unwrap(), Submitted::Set);
        self.sets += 1;
        self.panoramas.next().unwrap().bytes().to_vec()
    }

    /// Submits sets of noise.
    fn noise_sets(&mut self, count: u32) {
        for _ in 0..count {
            let [left, right] = [0, 1].map(|_| self.noise());
            self.set(&left, &right);
        }
    }

    fn events(&self) -> Vec<(usize, CameraState)> {
        let events = self.stitcher.camera_events();
        assert_eq!(events.lost, 0);
        events.events.iter().map(|event| (event.camera, event.state)).collect()
    }

    fn states(&self) -> Vec<CameraState> {
        self.stitcher.cameras().iter().map(|camera| camera.state).collect()
    }
}

use CameraState::{Black, Frozen, Gone, Live};

#[test]
fn black_and_frozen_cameras_are_reported() {
    for device in panoweave_devices() {
        let mut test = Test::new(stitcher(&device, options()));
        for i in 0..6 {
            let noise = test.noise();
            test.set(&noise, &stamp(i));
        }
        assert_eq!((test.states(), test.events()), (vec![Live, Black], vec![(1, Black)]));
        let health = test.stitcher.cameras()[1];
        assert_eq!((health.mean, health.deviation, health.entered.black), (5.0, 0.0, 1));
        let still = test.noise();
        for _ in 0..6 {
            let noise = test.noise();
            test.set(&noise, &still);
        }
        assert_eq!(
            (test.states(), test.events()),
            (vec![Live, Frozen], vec![(1, Live), (1, Frozen)])
        );
        test.noise_sets(3);
        assert_eq!((test.states(), test.events()), (vec![Live; 2], vec![(1, Live)]));
        assert_eq!(test.stitcher.cameras()[0].entered.total(), 0);
    }
}

#[test]
fn disconnected_and_rejected_cameras_are_gone_until_they_deliver() {
    for device in panoweave_devices() {
        let mut test = Test::new(stitcher(&device, options()));
        test.noise_sets(1);
        test.stitcher.set_present(1, false).unwrap();
        assert_eq!(test.states(), [Live, Gone]);
        test.noise_sets(1);
        assert_eq!(test.states(), [Live, Gone]);
        test.stitcher.set_present(1, true).unwrap();
        test.noise_sets(3);
        assert_eq!((test.states(), test.events()), (vec![Live; 2], vec![(1, Gone), (1, Live)]));

        let small = Frame::tight(FrameFormat::rgba8(2, 2), &[0; 16]).unwrap();
        for strikes in 1..=3 {
            let error = test.stitcher.push(0, small, FRAME).unwrap_err();
            assert!(matches!(error, LiveError::Format { .. }), "{error}");
            let health = test.stitcher.cameras()[0];
            assert_eq!((health.strikes, health.rejected), (strikes, strikes.into()));
            assert_eq!(health.state, if strikes == 3 { Gone } else { Live });
        }
        let json = serde_json::to_value(test.stitcher.cameras()).unwrap();
        assert_eq!((&json[0]["state"], &json[0]["strikes"]), (&"gone".into(), &3.into()));
        let json = serde_json::to_value(test.stitcher.camera_events()).unwrap();
        assert_eq!((&json["events"][0]["state"], &json["lost"]), (&"gone".into(), &0.into()));
        test.noise_sets(3);
        let health = test.stitcher.cameras()[0];
        assert_eq!((health.state, health.strikes, health.rejected), (Live, 0, 3));
    }
}

#[test]
fn the_panoramas_of_live_cameras_do_not_depend_on_the_option() {
    for device in panoweave_devices() {
        let without = LiveOptions { failure: None, ..options() };
        let [mut with, mut without] =
            [options(), without].map(|options| Test::new(stitcher(&device, options)));
        for _ in 0..8 {
            let [left, right] = [0, 1].map(|_| with.noise());
            assert_eq!(with.set(&left, &right), without.set(&left, &right), "{device}");
        }
        assert_eq!((without.states(), without.events()), (vec![], vec![]));
        let error = without.stitcher.set_present(0, false).unwrap_err();
        assert!(matches!(error, LiveError::Options(_)), "{error}");
        assert!(matches!(with.stitcher.set_present(2, false), Err(LiveError::Cameras { .. })));
    }
}

/// The pixel levels in the first and the last column of each panorama. Only camera 0 covers the first one, and only
/// camera 1 the last one.
type Levels = Vec<(u8, u8)>;

impl Test {
    /// Pushes a frame of camera 0 and, if `right` is given, a frame of camera 1 of this level. Returns the levels of
    /// all panoramas that this completes.
    fn push(&mut self, right: Option<u8>) -> Levels {
        let levels = |bytes: Vec<u8>| (bytes[0], bytes[bytes.len() - 4]);
        self.completed(right).into_iter().map(levels).collect()
    }

    /// Pushes frames like [`push`](Self::push). Returns the bytes of all panoramas that this completes.
    fn completed(&mut self, right: Option<u8>) -> Vec<Vec<u8>> {
        self.sets += 1;
        let time = FRAME * self.sets;
        let read = self.read();
        if let Some(level) = right {
            self.stitcher.push(1, frame(&stamp(level)), time).unwrap();
        }
        self.stitcher.push(0, frame(&stamp(200)), time).unwrap();
        let completed = self.read() - read;
        let panoramas = self.panoramas.by_ref().take(completed as usize);
        panoramas.map(|panorama| panorama.bytes().to_vec()).collect()
    }

    /// Returns the number of panoramas that can be read.
    fn read(&self) -> u64 {
        let counters = self.stitcher.counters();
        assert_eq!(counters.dropped, Dropped::default());
        counters.sets
    }
}

/// Frames that are pushed one by one. Camera 1 delivers nothing, then frames, then is absent, and then returns. The
/// panorama goes on. Where only camera 1 covers it, it shows the colour of failed cameras, the frames that fade in, or
/// the last frame.
#[test]
fn panoramas_go_on_without_a_camera() {
    for device in panoweave_devices() {
        let limit = Duration::from_secs(100);
        let failure =
            options().failure.map(|o| FailureOptions { frozen: limit, black: limit, ..o });
        let mut test = Test::new(stitcher(&device, LiveOptions { failure, ..options() }));
        let levels: Levels = (0..6).flat_map(|_| test.push(None)).collect();
        assert!(
            levels.len() >= 2 && levels.iter().all(|&levels| levels == (200, 40)),
            "{levels:?}"
        );
        let levels: Levels = (40..60).flat_map(|level| test.push(Some(level))).collect();
        assert_eq!(levels.last(), Some(&(200, 59)), "{levels:?}");
        test.stitcher.set_present(1, false).unwrap();
        // The stitcher does not wait for an absent camera, and drops its frames.
        for right in [None, None, Some(80), None, None] {
            assert_eq!(test.push(right), [(200, 59)]);
        }
        test.stitcher.set_present(1, true).unwrap();
        let levels: Levels = (81..91).flat_map(|level| test.push(Some(level))).collect();
        assert!(levels.starts_with(&[(200, 59)]), "{levels:?}");
        assert_eq!(levels.last(), Some(&(200, 90)), "{levels:?}");
        assert_eq!((test.states(), test.events()), (vec![Live; 2], vec![(1, Gone), (1, Live)]));
        let [left, right] = test.stitcher.cameras()[..] else { panic!() };
        assert_eq!(left.missing, 0);
        // At least two sets before the first frame of camera 1, the five while it is absent, and the first after that.
        assert!(right.missing >= 8, "{}", right.missing);
    }
}

#[test]
fn cameras_cannot_fail_if_the_stitcher_waits_for_them() {
    let device = panoweave_devices().remove(0);
    let warp = panoweave_tests::live::device_warp(&device, 0.0);
    let options = LiveOptions { pace: Pace::Wait, ..options() };
    let error = Stitcher::new(&device, warp, options).unwrap_err();
    assert!(matches!(error, LiveError::Options(_)), "{error}");
}

/// Checks that the neighbour of a lost camera fills all pixels that it sees, with and without a seam. All other pixels
/// fade to the colour of failed cameras. When the camera returns, the panorama becomes what it was.
#[test]
fn neighbours_fill_lost_cameras() {
    for device in panoweave_devices() {
        for blend in [Blend::Feather, Blend::Seam(SeamOptions::default())] {
            let failure = options().failure.map(|o| FailureOptions { hold: Duration::ZERO, ..o });
            let options = LiveOptions { failure, blend, ..options() };
            let mut test = Test::new(stitcher(&device, options));
            let of_last = |test: &mut Test, sets: u32, right: Option<u8>| {
                (0..sets).flat_map(|_| test.completed(right)).last().unwrap()
            };
            let before = of_last(&mut test, 40, Some(100));
            test.stitcher.set_present(1, false).unwrap();
            // The panorama before the last step of the fades is not the final one.
            let during = of_last(&mut test, 3, None);
            let lost = of_last(&mut test, 40, None);
            assert!(during != before && during != lost, "{device}, {blend:?}");
            for (i, pixel) in lost.chunks_exact(4).enumerate() {
                let level = if i as u32 % CANVAS.x < SOURCE.x { 200 } else { 40 };
                assert_eq!(pixel, [level, level, level, 255], "{device}, {blend:?}, {i}");
            }
            test.stitcher.set_present(1, true).unwrap();
            let after = of_last(&mut test, 40, Some(100));
            let ends = |bytes: &[u8]| (bytes[0], bytes[bytes.len() - 4]);
            assert_eq!((ends(&before), ends(&after)), ((200, 100), (200, 100)));
            // The time at which a seam is found depends on the machine.
            assert!(blend != Blend::Feather || before == after, "{device}");
        }
    }
}
