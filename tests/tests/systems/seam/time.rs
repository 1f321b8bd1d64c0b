//! Tests of a seam in a video. Noise must not move the seam. An object that crosses the overlap may move the seam, but
//! only if the cost of the seam decreases clearly.

use panoweave::device::Device;
use panoweave::io::picture::Picture;
use panoweave::ops::colour::Colours;
use panoweave::ops::seam::{KEEP, Seam, SeamOptions, SeamTracker};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use shared_types::Rgba8;

use crate::seam::{BESIDE, Scene, background, upload};

/// Returns the picture with uniform noise of up to ±`most` levels.
fn noisy(picture: &Picture, random: &mut Random, most: f32) -> Picture {
    let mut level = |level: u8| (f32::from(level) + random.between(-most, most)).round() as u8;
    let pixels = picture.pixels().iter();
    let pixels = pixels.map(|p| Rgba8::opaque(level(p.r), level(p.g), level(p.b))).collect();
    Picture::from_pixels(picture.width(), picture.height(), pixels).unwrap()
}

/// A video of a scene, with a seam search for every frame.
struct Video {
    scene: Scene,
    seam: Seam,
    tracker: SeamTracker,
    device: Device,
}

impl Video {
    /// Creates a scene whose only difference between the cameras is the position of a bar that is near to them.
    fn new(device: &Device) -> Self {
        let stream = device.stream().unwrap();
        let bar = |from: f64| {
            move |x: f64, y: f64| {
                let inside = (from..from + 9.0).contains(&x) && y > 30.0;
                if inside { [30.0, 40.0, 35.0] } else { background(x, y) }
            }
        };
        let (left, right) = (bar(118.0), bar(111.0));
        let scene = Scene::new(&stream, BESIDE, [&left, &right]);
        let seam = Seam::new(&stream, &scene.warp, [0, 1], SeamOptions::default()).unwrap();
        Self { scene, seam, tracker: SeamTracker::default(), device: device.clone() }
    }

    /// Searches the best seam for a pair of pictures and returns whether the seam moves. Checks that the seam, once it
    /// has been found, moves only if this decreases the cost clearly.
    fn frame(&mut self, [left, right]: [&Picture; 2]) -> bool {
        let stream = self.device.stream().unwrap();
        let (left, right) = (upload(&stream, left), upload(&stream, right));
        let warp = &self.scene.warp;
        let first = self.seam.path(&stream).unwrap().is_none();
        let costs = self.seam.look(&stream, warp, &left, &right, Colours::IDENTITY).unwrap();
        let moves = self.tracker.observe(costs, self.seam.grid().cells().y);
        if moves {
            let clear = f64::from(costs.best) <= f64::from(KEEP) * f64::from(costs.current);
            assert!(first || clear, "{costs:?}");
            self.seam.accept();
        }
        self.tracker.advance();
        moves
    }
}

#[test]
fn noise_moves_nothing() {
    for device in panoweave_devices() {
        let mut random = Random::new(9);
        for (most, frames) in [(2.0, 60), (8.0, 300)] {
            let mut video = Video::new(&device);
            let pictures = video.scene.pictures.clone();
            let moves = (0..frames).filter(|_| {
                let [left, right] =
                    pictures.each_ref().map(|picture| noisy(picture, &mut random, most));
                video.frame([&left, &right])
            });
            assert_eq!(moves.count(), 1, "only the first move is allowed, at ±{most} on {device}");
        }
    }
}

/// Returns the numbers of the frames in which the seam moves while an object crosses the overlap. `contrast` is the
/// difference in levels between the object and the background. The object's positions in both cameras are 6 pixels
/// apart.
fn moves(device: &Device, contrast: f64) -> Vec<usize> {
    let mut random = Random::new(10);
    let mut video = Video::new(device);
    let pictures = video.scene.pictures.clone();
    let frames = 160;
    let walking = |picture: &Picture, camera: usize, frame: usize| {
        // The column of the object's left edge, in pixels of the left camera. The object crosses the overlap from right
        // to left.
        let at = 190.0 - frame as f64 - 6.0 * camera as f64;
        let pixels = picture.pixels().iter().enumerate().map(|(i, p)| {
            let x = (i % 160) as f64 + 80.0 * camera as f64;
            let inside = (at..at + 12.0).contains(&x) && (i / 160) > 15;
            let level = |l: u8| (f64::from(l) + contrast * f64::from(u8::from(inside))) as u8;
            Rgba8::opaque(level(p.r), level(p.g), level(p.b))
        });
        Picture::from_pixels(160, 120, pixels.collect()).unwrap()
    };
    let moved = (0..frames).filter(|frame| {
        let [left, right] = [0, 1]
            .map(|camera| noisy(&walking(&pictures[camera], camera, *frame), &mut random, 2.0));
        video.frame([&left, &right])
    });
    moved.collect()
}

#[test]
fn it_gives_way_to_who_crosses_but_not_to_a_shade() {
    for device in panoweave_devices() {
        let crossing = moves(&device, 90.0);
        assert!(crossing.len() > 1, "{crossing:?} on {device}");
        assert!(crossing.len() < 12, "{crossing:?} on {device}");
        let shade = moves(&device, 2.0);
        assert_eq!(shade, [0], "on {device}");
    }
}

/// Returns the columns of the seam, in pixels of the left camera, after a video in which the area around the middle of
/// the overlap changes by `change` levels from frame to frame. Both cameras show the same.
fn columns(device: &Device, change: f64) -> Vec<u32> {
    let mut video = Video::new(device);
    let stream = device.stream().unwrap();
    video.scene = Scene::new(&stream, BESIDE, [&background, &background]);
    video.seam = Seam::new(&stream, &video.scene.warp, [0, 1], SeamOptions::default()).unwrap();
    let pictures = video.scene.pictures.clone();
    for frame in 0..40 {
        let shown = |camera: usize| {
            let pixels = pictures[camera].pixels().iter().enumerate().map(|(i, p)| {
                let x = i % 160 + 80 * camera;
                let changes = (112..128).contains(&x) && frame % 2 == 1;
                let level = |l: u8| (f64::from(l) + if changes { change } else { 0.0 }) as u8;
                Rgba8::opaque(level(p.r), level(p.g), level(p.b))
            });
            Picture::from_pixels(160, 120, pixels.collect()).unwrap()
        };
        let (left, right) = (shown(0), shown(1));
        video.frame([&left, &right]);
    }
    let grid = video.seam.grid();
    let path = video.seam.path(&stream).unwrap().unwrap();
    path.into_iter().map(|cell| grid.min.x + cell * grid.cell).collect()
}

#[test]
fn a_seam_avoids_what_moves_even_if_both_cameras_show_the_same() {
    for device in panoweave_devices() {
        let still = columns(&device, 0.0);
        assert!(still.iter().all(|x| (108..132).contains(x)), "{device}: {still:?}");
        let moving = columns(&device, 60.0);
        assert!(moving.iter().all(|x| !(110..130).contains(x)), "{device}: {moving:?}");
    }
}
