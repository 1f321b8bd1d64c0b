//! A test of one of three cameras that stops and returns. Each pixel of each panorama is compared with a computation in
//! f64 from the planes of the warp and the frames.
//!
//! The shares of the cameras follow the documentation of `presence`: the presence multiplies a camera's weight, and the
//! cover mixes the colour of failed cameras with its picture. The presence and the cover of each panorama come from
//! [`Stitcher::cameras`]; the test checks that they change by the steps and after the time that the options state.
//! `failure` tests the other reasons for which a camera fails.

use std::thread;
use std::time::{Duration, Instant};

use glam::{DMat3, DVec2, UVec2, dvec2, uvec2};
use panoweave::device::Device;
use panoweave::frame::{Frame, FrameFormat};
use panoweave::geometry::{Camera, Canvas, Geometry};
use panoweave::live::{
    CameraHealth, CameraState, Dropped, FailureOptions, LiveOptions, StitchedFrames, Stitcher,
};
use panoweave::warp::{DeviceWarp, Plane, Warp};
use panoweave_tests::live::{FRAME, STILL};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use shared_types::Rgba8;
use shared_types::stitch::MIN_WEIGHT;

const SOURCE: UVec2 = uvec2(48, 40);
const CANVAS: UVec2 = uvec2(110, 46);
/// The upper left corners of the cameras' pictures. Neighbours overlap by 17 columns.
const CORNERS: [DVec2; 3] = [dvec2(0.0, 2.0), dvec2(31.0, 0.0), dvec2(62.0, 5.0)];
const CAMERAS: usize = CORNERS.len();
const COLOUR: [u8; 3] = [10, 180, 90];

/// Options with times that are long for a slow test machine, but short for a test.
const FAILURE: FailureOptions = FailureOptions {
    late: Duration::from_secs(1),
    gone: Duration::from_secs(2),
    settle: 3,
    every: 1,
    frozen: Duration::from_secs(100),
    black: Duration::from_secs(100),
    deviation: 2.0,
    act_on_frozen: false,
    act_on_black: true,
    fade_out: 5,
    fade_in: 7,
    hold: Duration::from_secs(2),
    fade_colour: 4,
    colour: Rgba8::opaque(COLOUR[0], COLOUR[1], COLOUR[2]),
};

/// Returns the warp of three cameras side by side, whose pictures keep their size.
fn warp(device: &Device) -> (DeviceWarp, Warp) {
    let camera = |corner: DVec2| Camera::from_matrix(DMat3::from_translation(-corner), SOURCE);
    let cameras = CORNERS.map(camera).to_vec();
    let geometry = Geometry { canvas: Canvas::of_pixels(DVec2::ZERO, CANVAS), cameras };
    let stream = device.stream().unwrap();
    let warp = DeviceWarp::render(&stream, &geometry).unwrap();
    let planes = warp.download(&stream).unwrap();
    (warp, planes)
}

/// The frames of a stitcher, one of whose cameras stops, and the figures of its newest panorama.
struct Test {
    stitcher: Stitcher,
    panoramas: StitchedFrames,
    planes: Warp,
    random: Random,
    /// The camera that stops.
    lost: usize,
    /// The frames that were pushed at each time, for each camera.
    frames: Vec<[Option<Vec<u8>>; CAMERAS]>,
    /// The frames in the newest panorama.
    shown: [Vec<u8>; CAMERAS],
    /// The state of the lost camera in the newest panorama.
    health: CameraHealth,
    panorama_count: u64,
}

/// The change of a share of a camera over some panoramas.
struct Fade {
    start: f64,
    step: f64,
    steps: u64,
}

impl Fade {
    /// Returns the fade whose step is the one of `steps` that leads from `before` to `now`.
    fn between(before: f32, now: f32, steps: [f64; 2]) -> Self {
        let (start, change) = (f64::from(before), f64::from(now - before));
        let fade = steps.map(|step| (step, (change / step).round().max(0.0)));
        let (step, steps) = fade.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert!((change - step * steps).abs() < 1e-6, "from {before} to {now} in steps of {step}");
        Self { start, step, steps: steps as u64 }
    }

    /// Returns the share `panoramas` panoramas before the last one. The fade may start after the first of them.
    fn before_last(&self, panoramas: u64) -> f64 {
        self.start + self.step * self.steps.saturating_sub(panoramas) as f64
    }
}

impl Test {
    fn new(device: &Device, lost: usize) -> Self {
        let (warp, planes) = warp(device);
        let options =
            LiveOptions { colour: STILL, failure: Some(FAILURE), ..LiveOptions::default() };
        let stitcher = Stitcher::new(device, warp, options).unwrap();
        let health = CameraHealth { presence: 1.0, ..CameraHealth::default() };
        Self {
            panoramas: stitcher.panoramas(),
            stitcher,
            planes,
            random: Random::new(lost as u64),
            lost,
            frames: Vec::new(),
            shown: Default::default(),
            health,
            panorama_count: 0,
        }
    }

    /// Pushes one frame of each camera, without the lost one if `lost_delivers` is false. Compares each panorama that
    /// this completes with the computation.
    fn push(&mut self, lost_delivers: bool) {
        let time = self.frames.len();
        let random = &mut self.random;
        let frames: [Option<Vec<u8>>; CAMERAS] = std::array::from_fn(|camera| {
            let mut bytes: Vec<_> =
                (0..4 * SOURCE.element_product()).map(|_| random.bits() as u8).collect();
            bytes.iter_mut().skip(3).step_by(4).for_each(|alpha| *alpha = 255);
            (camera != self.lost || lost_delivers).then_some(bytes)
        });
        self.frames.push(frames);
        // The lost camera delivers first, so that the frames of the others complete the set.
        let others = (0..CAMERAS).filter(|&camera| camera != self.lost);
        for camera in std::iter::once(self.lost).chain(others) {
            let Some(bytes) = &self.frames[time][camera] else { continue };
            let frame = Frame::tight(FrameFormat::rgba8(SOURCE.x, SOURCE.y), bytes).unwrap();
            self.stitcher.push(camera, frame, FRAME * time as u32).unwrap();
        }
        self.compare();
    }

    /// Compares all panoramas that can be read with the computation.
    fn compare(&mut self) {
        let counters = self.stitcher.counters();
        assert_eq!(counters.dropped, Dropped::default());
        let count = counters.sets - self.panorama_count;
        self.panorama_count = counters.sets;
        let panoramas: Vec<_> = self.panoramas.by_ref().take(count as usize).collect();
        let cameras = self.stitcher.cameras();
        let (before, now) = (self.health, cameras[self.lost]);
        self.health = now;
        // A call completes several sets only if it stops the wait for the lost camera. None of them then has a frame of
        // this camera.
        let missing = now.missing - before.missing;
        assert!(missing == 0 || missing == count, "{missing} of {count} sets lack a frame");
        assert!(count < 2 || missing == count || now.presence == 1.0);
        let presence = Fade::between(before.presence, now.presence, [-1.0 / 5.0, 1.0 / 7.0]);
        let cover = Fade::between(before.cover, now.cover, [1.0 / 4.0, -1.0 / 7.0]);
        assert!(presence.steps.max(cover.steps) <= count, "{count} sets: {before:?}, {now:?}");
        for (i, panorama) in (1..).zip(&panoramas) {
            let time = (panorama.timestamp().as_nanos() / FRAME.as_nanos()) as usize;
            for (camera, shown) in self.shown.iter_mut().enumerate() {
                if camera != self.lost || missing == 0 {
                    shown.clone_from(self.frames[time][camera].as_ref().unwrap());
                }
            }
            let left = count - i;
            self.check_pixels(
                panorama.bytes(),
                presence.before_last(left),
                cover.before_last(left),
            );
        }
        for (camera, health) in cameras.iter().enumerate() {
            let share = (health.presence, health.cover);
            assert!(camera == self.lost || share == (1.0, 0.0), "camera {camera}: {share:?}");
        }
    }

    /// Compares the pixels of a panorama with the computation. `presence` and `cover` are those of the lost camera.
    fn check_pixels(&self, panorama: &[u8], presence: f64, cover: f64) {
        for (at, found) in panorama.chunks_exact(4).enumerate() {
            let (mut sum, mut whole) = ([0.0; 3], 0.0);
            // The camera that is alone in a pixel is not replaced, so it counts even if its presence is 0.
            let mut alone = None;
            for camera in 0..CAMERAS {
                let [u, v, weight] = [Plane::X(camera), Plane::Y(camera), Plane::Weight(camera)]
                    .map(|plane| self.planes.plane(plane)[at]);
                if weight <= MIN_WEIGHT || u < 0.0 || v < 0.0 {
                    continue;
                }
                let pixel = v.round() as usize * SOURCE.x as usize + u.round() as usize;
                let (presence, cover) =
                    if camera == self.lost { (presence, cover) } else { (1.0, 0.0) };
                let weight = presence * f64::from(weight);
                let level = |c: usize| {
                    let picture = f64::from(self.shown[camera][4 * pixel + c]);
                    picture + cover * (f64::from(COLOUR[c]) - picture)
                };
                let levels = [0, 1, 2].map(level);
                alone = Some(levels);
                sum = std::array::from_fn(|c| sum[c] + weight * levels[c]);
                whole += weight;
            }
            let exact = match alone {
                _ if whole > 0.0 => sum.map(|sum| sum / whole),
                Some(levels) => levels,
                None => [0.0; 3],
            };
            for (c, exact) in exact.into_iter().enumerate() {
                let found = f64::from(found[c]);
                assert!(
                    (found - exact).abs() <= 1.0,
                    "pixel {at}, presence {presence}, cover {cover}: {found} is not {exact}"
                );
            }
        }
    }

    /// Pushes frames until `is_done` returns true for the state of the lost camera. Sleeps between two frames, so that
    /// the time for which a camera is silent does not need many of them.
    fn push_until(&mut self, lost_delivers: bool, is_done: impl Fn(&CameraHealth) -> bool) {
        for _ in 0..2000 {
            self.push(lost_delivers);
            if is_done(&self.health) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the camera does not reach the expected state: {:?}", self.health);
    }

    /// Stops a camera until the panorama shows the colour of failed cameras, and then lets it return.
    fn run(mut self) {
        let share = |health: &CameraHealth| (health.presence, health.cover);
        for _ in 0..20 {
            self.push(true);
        }
        assert!(self.panorama_count >= 18 && share(&self.health) == (1.0, 0.0));
        // The last frame stays until the camera is gone, and the neighbours then replace it where they can.
        let mut failed = Instant::now();
        self.push_until(false, |health| health.state == CameraState::Gone);
        while self.health.presence == 1.0 {
            failed = Instant::now();
            self.push(false);
        }
        assert!(self.health.missing >= 2, "{:?}", self.health);
        self.push_until(false, |health| health.presence == 0.0);
        assert_eq!(self.health.cover, 0.0, "the camera is not held");
        // Then the colour of failed cameras replaces it where no neighbour sees the pixel.
        self.push_until(false, |health| health.cover > 0.0);
        assert!(failed.elapsed() >= FAILURE.hold, "held for {:?}", failed.elapsed());
        self.push_until(false, |health| health.cover == 1.0);
        for _ in 0..3 {
            self.push(false);
        }
        assert_eq!(share(&self.health), (0.0, 1.0));
        let gone = self.frames.len();
        // The camera returns only after it has delivered several frames, and fades in.
        self.push_until(true, |health| health.state == CameraState::Live);
        let settled = self.frames.len() - gone;
        assert!(settled >= FAILURE.settle as usize, "returned after {settled} frames");
        self.push_until(true, |health| share(health) == (1.0, 0.0));
        for _ in 0..3 {
            self.push(true);
        }
        self.check_counts();
    }

    /// Compares the events and the counters with the frames that were pushed.
    fn check_counts(&self) {
        let cameras = self.stitcher.cameras();
        let events = self.stitcher.camera_events();
        assert_eq!(events.lost, 0);
        // A slow test machine can make all cameras late, which changes no panorama.
        let events = events.events.iter().filter(|event| event.state != CameraState::Late);
        let events: Vec<_> = events.map(|event| (event.camera, event.state)).collect();
        let expected = [CameraState::Gone, CameraState::Live].map(|state| (self.lost, state));
        let is_change = |(camera, state): &(usize, CameraState)| {
            *camera == self.lost || *state != CameraState::Live
        };
        let events: Vec<_> = events.into_iter().filter(is_change).collect();
        assert_eq!(events, expected);
        let entered = cameras[self.lost].entered;
        assert!(entered.gone == 1 && entered.late >= 1, "{entered:?}");
        assert!(cameras.iter().all(|camera| camera.state == CameraState::Live));
        let counters = self.stitcher.counters();
        // The reader has received all panoramas, so all sets are counted.
        assert_eq!((counters.panoramas, counters.sets), (self.panorama_count, self.panorama_count));
        assert_eq!((counters.strikes, counters.retries), (0, 0));
        for (camera, timing) in self.stitcher.timing().iter().enumerate() {
            let pushed = self.frames.iter().filter(|frames| frames[camera].is_some()).count();
            let (counts, frames) = (counters.cameras[camera], timing.frames);
            assert_eq!(counts.frames_in, pushed as u64, "camera {camera}");
            assert_eq!(counts.alone, frames.dropped(), "camera {camera}");
            assert_eq!(frames.used + frames.dropped(), counts.frames_in, "camera {camera}");
            // Each set has a new frame of the camera, or lacks its frame.
            assert_eq!(frames.used + cameras[camera].missing, counters.sets, "camera {camera}");
            let lost = if camera == self.lost { frames.absent } else { 0 };
            assert_eq!((frames.dropped(), cameras[camera].rejected), (lost, 0), "camera {camera}");
        }
        assert!(counters.cameras[self.lost].alone > 0);
    }
}

#[test]
fn the_panorama_of_a_lost_camera_is_the_computed_one_at_each_step() {
    for device in panoweave_devices() {
        // The last camera has one neighbour, and the middle one has two.
        thread::scope(|scope| {
            for lost in [CAMERAS - 1, 1] {
                let device = &device;
                scope.spawn(move || Test::new(device, lost).run());
            }
        });
    }
}
