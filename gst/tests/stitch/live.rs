//! Live pipelines: late and lost cameras by a test clock, messages on the bus, latency.

use gst::prelude::*;
use gst_video::VideoFormat;

use crate::support::{Harnesses, PANORAMA, PICTURE, Scene, buffer, bytes, picture_info, time};

const FORMAT: VideoFormat = VideoFormat::Rgba;

/// Returns a frame of one level.
fn plain(level: u8, number: usize) -> gst::Buffer {
    let (width, height) = PICTURE;
    // A little noise, because a camera with pictures of one level is black.
    let pixel = |i: u32| level + (i.wrapping_mul(2_654_435_761) >> 28) as u8;
    let levels = (0..width * height).flat_map(|i| [pixel(i), pixel(i), pixel(i), 255]);
    buffer(levels.collect(), number)
}

/// A live element with a test clock and a bus.
struct Live {
    harnesses: Harnesses,
    bus: gst::Bus,
    number: usize,
}

impl Live {
    fn new(scene: &Scene) -> Self {
        let element = scene.element();
        element.set_property("match-colours", false);
        // Five frames.
        element.set_property("camera-timeout", time(5).nseconds());
        let bus = gst::Bus::new();
        element.set_bus(Some(&bus));
        let mut harnesses = Harnesses::with(&element, 2, true);
        harnesses.cameras[0].use_testclock();
        Self { harnesses, bus, number: 0 }
    }

    /// Pushes the next frame of each camera that has a level, and returns the panorama.
    fn step(&mut self, levels: [Option<u8>; 2]) -> Vec<u8> {
        for (camera, level) in self.harnesses.cameras.iter_mut().zip(levels) {
            if let Some(level) = level {
                camera.push(plain(level, self.number)).unwrap();
            }
        }
        self.number += 1;
        // The element waits for the missing frame until its deadline.
        let late = levels.iter().any(Option::is_none);
        if late {
            self.harnesses.cameras[0].crank_single_clock_wait().unwrap();
        }
        bytes(&self.harnesses.cameras[0].pull().unwrap())
    }

    /// Returns the cameras and states of the messages so far.
    fn events(&self) -> Vec<(u32, String)> {
        let structures = self.structures("panoweave-camera");
        let event = |it: &gst::Structure| (it.get("camera").unwrap(), it.get("state").unwrap());
        structures.iter().map(event).collect()
    }

    fn structures(&self, name: &str) -> Vec<gst::Structure> {
        let mut found = Vec::new();
        while let Some(message) = self.bus.pop() {
            if let gst::MessageView::Error(error) = message.view() {
                panic!("{error:?}");
            }
            let structure = message.structure().filter(|structure| structure.name() == name);
            found.extend(structure.map(ToOwned::to_owned));
        }
        found
    }
}

/// Returns the levels in the middle row of a panorama.
fn row(panorama: &[u8]) -> Vec<u8> {
    let (width, height) = PANORAMA;
    let first = (height / 2 * width * 4) as usize;
    panorama[first..first + 4 * width as usize].chunks(4).map(|pixel| pixel[0]).collect()
}

#[test]
fn a_silent_camera_leaves_the_panorama_and_returns() {
    let scene = Scene::new(2);
    let mut live = Live::new(&scene);
    live.harnesses.play(&picture_info(FORMAT));
    for _ in 0..4 {
        live.step([Some(40), Some(200)]);
    }
    let both = row(&live.step([Some(40), Some(200)]));
    assert_eq!(live.events(), [(0, "live".to_owned()), (1, "live".to_owned())]);
    let overlap: Vec<_> = (0..both.len()).filter(|x| (60..195).contains(&both[*x])).collect();
    assert!(overlap.len() > 10, "{both:?}");
    // The last frame is repeated until the timeout.
    assert_eq!(row(&live.step([Some(40), None])), both);
    assert_eq!(live.events(), []);
    // After the timeout, the camera fades out in 0.4 s.
    let mut last = Vec::new();
    for _ in 0..24 {
        last = row(&live.step([Some(40), None]));
    }
    assert_eq!(live.events(), [(1, "gone".to_owned())]);
    assert!(overlap.iter().all(|x| last[*x] < 60), "{last:?}");
    // It returns after 5 frames in time, and fades in.
    for _ in 0..24 {
        last = row(&live.step([Some(40), Some(200)]));
    }
    assert_eq!(live.events(), [(1, "live".to_owned())]);
    assert_eq!(last, both);
}

#[test]
fn a_camera_that_never_starts_is_left_out() {
    for silent in [0, 1] {
        let scene = Scene::new(2);
        let mut live = Live::new(&scene);
        // The silent camera does not even send caps.
        let caps = picture_info(FORMAT).to_caps().unwrap();
        live.harnesses.cameras[1 - silent].set_src_caps(caps);
        live.harnesses.cameras.iter_mut().for_each(gst_check::Harness::play);
        let mut levels = [Some(90); 2];
        levels[silent] = None;
        let mut last = Vec::new();
        for _ in 0..10 {
            last = row(&live.step(levels));
        }
        let starts = (1 - silent as u32, "live".to_owned());
        assert_eq!(live.events(), [starts, (silent as u32, "gone".to_owned())]);
        let (width, _) = PANORAMA;
        let seen = last[if silent == 1 { 30 } else { width as usize - 30 }];
        assert!((90..106).contains(&seen), "{last:?}");
    }
}

#[test]
fn a_live_panorama_goes_on_until_all_cameras_have_ended() {
    let scene = Scene::new(2);
    let mut live = Live::new(&scene);
    live.harnesses.play(&picture_info(FORMAT));
    for _ in 0..3 {
        live.step([Some(40), Some(200)]);
    }
    live.events();
    assert!(live.harnesses.cameras[1].push_event(gst::event::Eos::new()));
    for number in 3..15 {
        live.harnesses.cameras[0].push(plain(40, number)).unwrap();
        live.harnesses.cameras[0].pull().unwrap();
    }
    assert_eq!(live.events(), [(1, "gone".to_owned())]);
    assert!(live.harnesses.cameras[0].push_event(gst::event::Eos::new()));
    assert!(live.harnesses.cameras[0].pull_until_eos().unwrap().is_none());
}

#[test]
fn health_and_colours_are_reported() {
    let scene = Scene::new(2);
    let element = scene.element();
    element.set_property("report-interval", time(2).nseconds());
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    let mut harnesses = Harnesses::new(&element, 2);
    harnesses.play(&picture_info(FORMAT));
    for number in 0..6 {
        harnesses.push(FORMAT, number);
    }
    harnesses.end();
    assert_eq!(harnesses.rest().len(), 6);
    let messages: Vec<_> = std::iter::from_fn(|| bus.pop()).collect();
    let named = |name: &str| -> Vec<gst::Structure> {
        let structures = messages.iter().filter_map(|message| message.structure());
        structures.filter(|it| it.name() == name).map(ToOwned::to_owned).collect()
    };
    let panoramas: Vec<u64> =
        named("panoweave-health").iter().map(|it| it.get("panoramas").unwrap()).collect();
    assert_eq!(panoramas, [1, 3, 5]);
    let colours = named("panoweave-colours");
    let gains = colours[0].get::<gst::Array>("gains").unwrap();
    let gain = |camera: usize| gains[camera].get::<gst::Array>().unwrap()[0].get::<f32>().unwrap();
    // The second camera is darker.
    assert!(gains.len() == 2 && gain(1) > gain(0), "{gains:?}");
    // Cameras of files do not fail.
    assert!(named("panoweave-camera").is_empty());
}

#[test]
fn the_latency_is_that_of_the_sources_and_a_frame() {
    let scene = Scene::new(2);
    let mut live = Live::new(&scene);
    for camera in &mut live.harnesses.cameras {
        camera.set_upstream_latency(time(3));
    }
    live.harnesses.play(&picture_info(FORMAT));
    live.step([Some(40), Some(200)]);
    let mut query = gst::query::Latency::new();
    assert!(live.harnesses.element.static_pad("src").unwrap().query(&mut query));
    let (is_live, least, _) = query.result();
    assert!(is_live);
    assert_eq!(least, time(3) + time(1));
}
