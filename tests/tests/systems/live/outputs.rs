//! Tests of several outputs of one set: they are bit for bit those of sessions with one output each, and each view can
//! be steered while the session runs.

use std::time::Duration;

use glam::{UVec2, uvec2};
use panoweave::device::Device;
use panoweave::frame::{Frame, FrameFormat, PixelFormat, YuvEncoding};
use panoweave::live::{LiveOptions, LiveRig, Output, OutputKind, Session, StitchedFrame};
use panoweave::ops::blend::Blend;
use panoweave::ops::seam::SeamOptions;
use panoweave::ops::view::{ViewPath, ViewPose, Viewer};
use panoweave::warp::DeviceWarp;
use panoweave_tests::live::{FRAME, waiting};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;

use crate::formats::geometry;

const SOURCE: UVec2 = uvec2(96, 64);

fn nv12() -> PixelFormat {
    PixelFormat::Nv12(YuvEncoding::default())
}

/// Returns a path that begins at `pan` and turns by 40 degrees per second.
fn turning(pan: f64) -> ViewPath {
    let pose = move |pan| ViewPose { pan, tilt: 1.0, roll: 2.0, fov: 50.0 };
    ViewPath::new(move |time: Duration| pose(pan + 40.0 * time.as_secs_f64()))
}

fn outputs() -> [Output; 4] {
    [
        Output::view(PixelFormat::Rgba8, uvec2(70, 50), turning(-30.0)),
        Output::panorama(nv12()),
        Output::view(PixelFormat::I420(YuvEncoding::default()), uvec2(64, 36), turning(0.0)),
        Output::view(nv12(), uvec2(41, 33), turning(25.0)),
    ]
}

fn options(blend: Blend) -> LiveOptions {
    LiveOptions { input: nv12().into(), blend, ..waiting() }
}

fn session(device: &Device, outputs: &[Output], blend: Blend) -> Session {
    let geometry = geometry();
    let warp = DeviceWarp::render(&device.stream().unwrap(), &geometry).unwrap();
    let viewer = Viewer::new(&geometry, false).unwrap();
    Session::new(device, (warp, viewer), outputs, options(blend)).unwrap()
}

/// Submits a set of noise that depends on `seed` and waits for its outputs.
fn submitted(session: &Session, seed: u32) -> StitchedFrame {
    let mut random = Random::new(seed.into());
    let format = FrameFormat { size: SOURCE, pixels: nv12() };
    let frames =
        [0, 1].map(|_| -> Vec<u8> { (0..format.bytes()).map(|_| random.bits() as u8).collect() });
    let frames = frames.each_ref().map(|bytes| Frame::tight(format, bytes).unwrap());
    session.submit(frames, FRAME * seed).unwrap();
    session.panoramas().next().unwrap()
}

#[test]
fn several_outputs_are_those_of_one_session_each() {
    for device in panoweave_devices() {
        for blend in [Blend::Feather, Blend::Seam(SeamOptions::default())] {
            if device.to_string().contains("cuda:") && blend != Blend::Feather {
                // It depends on the time in which set a seam is first used.
                continue;
            }
            let together = session(&device, &outputs(), blend);
            let apart = outputs().map(|output| session(&device, &[output], blend));
            for seed in 0..4 {
                let found = submitted(&together, seed);
                assert_eq!(found.outputs().len(), apart.len());
                for (output, single) in found.outputs().iter().zip(&apart) {
                    let expected = submitted(single, seed);
                    let is_same = output.bytes() == expected.bytes();
                    assert_eq!(output.format(), single.output_format());
                    assert!(is_same, "{device}, {blend:?}, {seed}, {}", output.format());
                }
            }
        }
    }
}

#[test]
fn a_view_is_steered_from_the_next_set_on() {
    for device in panoweave_devices() {
        let together = session(&device, &outputs(), Blend::Feather);
        let mut others = outputs();
        for (output, pan) in [(0, 10.0), (3, -15.0)] {
            others[output].kind = OutputKind::View(turning(pan));
        }
        let steered = session(&device, &others, Blend::Feather);
        let bytes = |frame: &StitchedFrame, output: usize| frame.outputs()[output].bytes().to_vec();
        let before = submitted(&together, 1);
        together.steer(0, turning(10.0)).unwrap();
        together.steer(3, turning(-15.0)).unwrap();
        let (after, expected) = (submitted(&together, 1), submitted(&steered, 1));
        for output in 0..4 {
            assert!(bytes(&after, output) == bytes(&expected, output), "{device}, {output}");
            let is_steered = output % 3 == 0;
            assert_eq!(bytes(&after, output) != bytes(&before, output), is_steered, "{output}");
        }
        for output in [1, 4] {
            let refused = together.steer(output, turning(0.0)).unwrap_err().to_string();
            assert!(refused.contains(&format!("output {output} is no view")), "{refused}");
        }
    }
}

#[test]
fn impossible_outputs_are_refused() {
    let device = Device::cpu();
    let refused = |outputs: &[Output], with_viewer: bool| {
        let geometry = geometry();
        let warp = DeviceWarp::render(&device.stream().unwrap(), &geometry).unwrap();
        let viewer = with_viewer.then(|| Viewer::new(&geometry, false).unwrap());
        let made =
            Session::new(&device, LiveRig { warp, viewer }, outputs, options(Blend::Feather));
        made.unwrap_err().to_string()
    };
    let sized = |size| Output::panorama(nv12()).sized(size);
    let view = &outputs()[0];
    for (said, part) in [
        (refused(&[], true), "at least one output"),
        (refused(std::slice::from_ref(view), false), "needs a viewer"),
        (refused(&[sized(uvec2(90, 32)), sized(uvec2(180, 64))], true), "the same size"),
        (refused(&[sized(uvec2(90, 32)), view.clone()], true), "that of the warp"),
    ] {
        assert!(said.contains(part), "{said}");
    }
}
