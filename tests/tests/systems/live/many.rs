//! Live stitching of 1 to 16 cameras: each pixel against a computation in f64, and the counters under random faults.

use std::thread;
use std::time::Duration;

use glam::{DMat3, DVec2, UVec2, dvec2, uvec2};
use panoweave::device::Device;
use panoweave::frame::{Frame, FrameFormat};
use panoweave::geometry::{Camera, Canvas, Geometry};
use panoweave::live::{FailureOptions, LiveOptions, Output, Pace, Session, Submitted};
use panoweave::ops::stitch::{Lookup, StitchOptions};
use panoweave::warp::{DeviceWarp, Plane};
use panoweave_tests::live::STILL;
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;

const SOURCE: UVec2 = uvec2(48, 40);
const CANVAS: UVec2 = uvec2(220, 130);
const FRAME: Duration = Duration::from_millis(33);

/// Returns a geometry with cameras at random whole positions, each of which sees an upright rectangle of the canvas.
fn geometry(random: &mut Random, cameras: usize) -> Geometry {
    let camera = |_| {
        let room = CANVAS - SOURCE;
        let corner =
            dvec2(random.below(room.x as usize) as f64, random.below(room.y as usize) as f64);
        Camera::from_matrix(DMat3::from_translation(-corner), SOURCE)
    };
    let cameras = (0..cameras).map(camera).collect();
    Geometry { canvas: Canvas::of_pixels(DVec2::ZERO, CANVAS), cameras }
}

/// Returns the bytes of an RGBA frame with random levels.
fn noise(random: &mut Random) -> Vec<u8> {
    (0..4 * SOURCE.element_product())
        .map(|i| if i % 4 == 3 { 255 } else { random.bits() as u8 })
        .collect()
}

fn frame(bytes: &[u8]) -> Frame<'_> {
    Frame::tight(FrameFormat::rgba8(SOURCE.x, SOURCE.y), bytes).unwrap()
}

fn options(lookup: Lookup) -> LiveOptions {
    let stitch = StitchOptions { lookup, ..StitchOptions::default() };
    LiveOptions { pace: Pace::Wait, colour: STILL, stitch, ..LiveOptions::default() }
}

#[test]
fn each_pixel_is_the_weighted_mean_of_its_cameras() {
    for device in panoweave_devices() {
        for (seed, cameras) in [1, 2, 3, 4, 5, 7, 11, 16].into_iter().enumerate() {
            let mut random = Random::new(seed as u64);
            let geometry = geometry(&mut random, cameras);
            let stream = device.stream().unwrap();
            let warp = DeviceWarp::render(&stream, &geometry).unwrap();
            let planes = warp.download(&stream).unwrap();
            let lookup = [Lookup::Mesh, Lookup::Planes][seed % 2];
            let session =
                Session::new(&device, warp, &[Output::default()], options(lookup)).unwrap();
            let mut panoramas = session.panoramas();
            for n in 1..4 {
                let frames: Vec<_> = (0..cameras).map(|_| noise(&mut random)).collect();
                let views: Vec<_> = frames.iter().map(|bytes| frame(bytes)).collect();
                assert_eq!(session.submit(&views, FRAME * n).unwrap(), Submitted::Set);
                let panorama = panoramas.next().unwrap();
                for at in 0..CANVAS.element_product() as usize {
                    let (mut sum, mut whole) = ([0.0; 3], 0.0);
                    for (camera, bytes) in frames.iter().enumerate() {
                        let [u, v, weight] =
                            [Plane::X(camera), Plane::Y(camera), Plane::Weight(camera)]
                                .map(|plane| planes.plane(plane)[at]);
                        if weight <= shared_types::stitch::MIN_WEIGHT || u < 0.0 || v < 0.0 {
                            continue;
                        }
                        let pixel = v.round() as usize * SOURCE.x as usize + u.round() as usize;
                        for (sum, level) in sum.iter_mut().zip(&bytes[4 * pixel..]) {
                            *sum += f64::from(weight) * f64::from(*level);
                        }
                        whole += f64::from(weight);
                    }
                    for (c, sum) in sum.into_iter().enumerate() {
                        let exact = if whole > 0.0 { sum / whole } else { 0.0 };
                        let found = f64::from(panorama.bytes()[4 * at + c]);
                        assert!(
                            (found - exact).abs() <= 1.0,
                            "{device}, {cameras} cameras, {lookup:?}, pixel {at}: {found} is not {exact}"
                        );
                    }
                }
            }
        }
    }
}

/// Pushes frames with random gaps, repetitions, late frames and clocks that are set back, from one thread per camera.
/// At the end, each frame is in a panorama or counted with a reason, and so is each set.
#[test]
fn no_frame_is_lost_without_a_reason() {
    let device = Device::cpu();
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let cameras = 1 + random.below(16);
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::render(&stream, &geometry(&mut random, cameras)).unwrap();
        let failure = (seed % 2 == 1).then(FailureOptions::default);
        let live = LiveOptions { pace: Pace::Live, failure, ..options(Lookup::Mesh) };
        let session = Session::new(&device, warp, &[Output::default()], live).unwrap();
        let panoramas = session.panoramas();
        let (pushed, read) = thread::scope(|scope| {
            let reader = scope.spawn(|| panoramas.count() as u64);
            let push = |camera: usize| {
                let (session, mut random) = (&session, Random::new(seed << 8 | camera as u64));
                scope.spawn(move || {
                    let bytes = noise(&mut random);
                    let mut pushed = 0;
                    let mut time = Duration::from_secs(5);
                    for _ in 0..60 {
                        let jitter = Duration::from_micros(random.below(4000) as u64);
                        match random.below(20) {
                            0 => time += FRAME * random.below(4) as u32,
                            1 => time = time.saturating_sub(FRAME * 2),
                            2 if random.below(10) == 0 => time = Duration::from_millis(1),
                            3 => thread::sleep(Duration::from_millis(3)),
                            _ => time += FRAME,
                        }
                        session.push(camera, frame(&bytes), time + jitter).unwrap();
                        pushed += 1;
                    }
                    pushed
                })
            };
            let threads: Vec<_> = (0..cameras).map(push).collect();
            let pushed: Vec<u64> = threads.into_iter().map(|t| t.join().unwrap()).collect();
            session.close();
            (pushed, reader.join().unwrap())
        });
        let counters = session.counters();
        for (frames, pushed) in counters.cameras.iter().zip(pushed) {
            assert_eq!(frames.frames_in, pushed, "{seed}: {counters:?}");
            assert_eq!(frames.used + frames.dropped(), pushed, "{seed}: {counters:?}");
        }
        assert_eq!(
            counters.sets,
            counters.panoramas + counters.dropped.sets() - counters.dropped.unread
        );
        assert_eq!(counters.panoramas, read + counters.dropped.unread, "{seed}: {counters:?}");
    }
}
