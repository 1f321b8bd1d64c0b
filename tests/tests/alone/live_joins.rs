//! Checks a session whose cameras leave and join 1,000 times: no frame, buffer or device object is lost, and each
//! camera works at the end. Unit tests of `live::cameras` check the states alone.
//!
//! [`Counters`](panoweave::device::Counters) cover the whole process, so this test runs in its own process.

use std::thread;
use std::time::Duration;

use glam::{DMat3, DVec2, UVec2, dvec2, uvec2};
use panoweave::device::Device;
use panoweave::frame::{Frame, FrameFormat};
use panoweave::geometry::{Camera, Canvas, Geometry};
use panoweave::live::{
    CameraEvent, CameraState, Dropped, FailureOptions, LiveOptions, Output, Session, Submitted,
};
use panoweave::warp::DeviceWarp;
use panoweave_tests::alone::{alone, objects};
use panoweave_tests::live::{FRAME, STILL};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;

const SOURCE: UVec2 = uvec2(12, 10);
const CAMERAS: usize = 3;
/// The minimum number of times that cameras leave, and that they join.
const CHANGES: u64 = 1000;

#[test]
fn a_thousand_leaves_and_joins_lose_nothing() {
    alone(a_thousand_leaves_and_joins_lose_nothing, || {
        for device in panoweave_devices() {
            let before = objects();
            leave_and_join(&device);
            assert_eq!(objects(), before, "{device}");
        }
    });
}

/// Returns a session of cameras side by side, with limits that a slow test machine does not reach.
fn session(device: &Device) -> Session {
    let corner = |camera: usize| dvec2(8.0 * camera as f64, 0.0);
    let camera = |i| Camera::from_matrix(DMat3::from_translation(-corner(i)), SOURCE);
    let canvas = Canvas::of_pixels(DVec2::ZERO, uvec2(8 * CAMERAS as u32 + 4, SOURCE.y));
    let geometry = Geometry { canvas, cameras: (0..CAMERAS).map(camera).collect() };
    let warp = DeviceWarp::render(&device.stream().unwrap(), &geometry).unwrap();
    let failure = FailureOptions {
        gone: 10_000,
        settle: 1,
        every: 3,
        frozen: 10_000,
        black: 10_000,
        fade: 2,
        hold: 3,
        ..FailureOptions::default()
    };
    let options = LiveOptions { colour: STILL, failure: Some(failure), ..LiveOptions::default() };
    Session::new(device, warp, &[Output::default()], options).unwrap()
}

/// Returns the number of free input buffers of each camera after the sets in flight have returned theirs. Counts until
/// 20 results in a row are equal.
fn free_buffers(session: &Session) -> Vec<usize> {
    let (mut counts, mut equal) = (session.free_buffers(), 0);
    while equal < 20 {
        thread::sleep(Duration::from_millis(5));
        let now = session.free_buffers();
        equal = if now == counts { equal + 1 } else { 0 };
        counts = now;
    }
    counts
}

/// Lets cameras leave and join at random times while frames are pushed, and checks the counters at the end.
fn leave_and_join(device: &Device) {
    let session = session(device);
    let buffers = free_buffers(&session);
    let mut panoramas = session.panoramas();
    let mut random = Random::new(3);
    let (mut pushed, mut sets, mut read, mut time) = ([0; CAMERAS], 0, 0, Duration::ZERO);
    let (mut left, mut joined) = ([0; CAMERAS], [0; CAMERAS]);
    let (mut gone, mut lived) = ([0_u64; CAMERAS], [0_u64; CAMERAS]);
    let mut count_events = || {
        for CameraEvent { camera, state } in session.camera_events() {
            *if state == CameraState::Live { &mut lived[camera] } else { &mut gone[camera] } += 1;
        }
    };
    let mut bytes = vec![0; 4 * SOURCE.element_product() as usize];
    // Pushes a frame of each camera, but not always of those that are absent.
    let mut push_all = |random: &mut Random, present: &[bool; CAMERAS]| {
        time += FRAME;
        let mut completed = 0;
        for camera in 0..CAMERAS {
            if !present[camera] && random.below(2) == 0 {
                continue;
            }
            bytes.fill_with(|| random.bits() as u8);
            let frame = Frame::tight(FrameFormat::rgba8(SOURCE.x, SOURCE.y), &bytes).unwrap();
            let submitted = session.push(camera, frame, time).unwrap();
            pushed[camera] += 1;
            assert!(present[camera] || submitted == Submitted::Dropped, "{submitted:?}");
            let now = session.counters().sets;
            completed += now - sets;
            sets = now;
        }
        for _ in 0..completed {
            assert_eq!(
                panoramas.next().unwrap().bytes().len(),
                4 * (8 * CAMERAS + 4) * SOURCE.y as usize
            );
            read += 1;
        }
    };
    let mut present = [true; CAMERAS];
    while left.iter().sum::<u64>() < CHANGES || joined.iter().sum::<u64>() < CHANGES {
        let camera = random.below(CAMERAS);
        present[camera] = !present[camera];
        session.set_present(camera, present[camera]).unwrap();
        if present[camera] {
            joined[camera] += 1;
        } else {
            left[camera] += 1;
        }
        count_events();
        for _ in 0..random.below(6) {
            push_all(&mut random, &present);
        }
    }
    for camera in 0..CAMERAS {
        session.set_present(camera, true).unwrap();
    }
    for _ in 0..20 {
        push_all(&mut random, &[true; CAMERAS]);
    }
    count_events();
    for (camera, health) in session.cameras().iter().enumerate() {
        let name = format!("{device}, camera {camera}: {health:?}");
        let share = (health.presence, health.cover);
        assert_eq!((health.state, share), (CameraState::Live, (1.0, 0.0)), "{name}");
        // Most cameras have returned before they leave again, and none twice.
        assert!(gone[camera].abs_diff(lived[camera]) <= 1, "{name}");
        assert!(2 * gone[camera] > left[camera] && left[camera] > CHANGES / 10, "{name}");
    }
    let counters = session.counters();
    assert_eq!((counters.panoramas, counters.sets), (read, read), "{device}: {counters:?}");
    assert_eq!((counters.dropped, counters.retries), (Dropped::default(), 0), "{device}");
    for (camera, frames) in counters.cameras.iter().enumerate() {
        let name = format!("{device}, camera {camera}: {frames:?}");
        assert_eq!((frames.frames_in, frames.unbuffered), (pushed[camera], 0), "{name}");
        assert_eq!(frames.used + frames.dropped(), frames.frames_in, "{name}");
        assert!(frames.absent > left[camera] / 2, "{name}");
    }
    assert_eq!(free_buffers(&session), buffers, "{device}");
}
