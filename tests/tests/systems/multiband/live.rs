//! Multiband blending of live video: the panoramas equal those of the operations, and do not change where the frames do
//! not.

use panoweave::device::Device;
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat};
use panoweave::live::{LiveOptions, Output, Session};
use panoweave::ops::blend::Blend;
use panoweave::ops::colour::Colours;
use panoweave::ops::multiband::{Multiband, MultibandOptions};
use panoweave::ops::seam::{FADE, SeamOptions, seamed};
use panoweave::ops::stitch::{StitchOptions, stitch};
use panoweave::ops::view::{DEFAULT_SIZE, ViewPose, Viewer};
use panoweave::warp::DeviceWarp;
use panoweave_tests::live::{FRAME, SOURCE, device_warp, frame, uploaded, waiting};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::random_rig;

const OPTIONS: MultibandOptions = MultibandOptions { levels: 3, feather: 4.0 };

/// Returns a frame of each camera: the same gradient, with a difference of 30 levels.
fn frames() -> [Vec<u8>; 2] {
    [(0, 0), (36, 30)].map(|(shift, brighter)| {
        let pixel = |at: u32| {
            let level = (60 + at % SOURCE.x + shift + at / SOURCE.x + brighter) as u8;
            [level, level, level, 255]
        };
        (0..SOURCE.element_product()).flat_map(pixel).collect()
    })
}

/// Returns the panorama of [`frames`] with the weights of the best seam.
fn expected(device: &Device) -> Vec<u8> {
    let stream = device.stream().unwrap();
    let frames = uploaded(device, &frames());
    let warp = device_warp(device, 0.0);
    let frames = frames.each_ref().map(DeviceFrame::view);
    let MultibandOptions { levels, feather } = OPTIONS;
    let seam = SeamOptions { feather };
    let (narrow, _) = seamed(&stream, &warp, &frames, Colours::IDENTITY, seam).unwrap();
    let options = StitchOptions::default();
    let format = FrameFormat::rgba8(warp.size().x, warp.size().y);
    let mut out = DeviceFrame::new(device, format).unwrap();
    stitch(&stream, &frames, &narrow, &options, &mut out).unwrap();
    let mut multiband = Multiband::new(&stream, &warp, levels).unwrap().unwrap();
    multiband.submit(&stream, &frames, &narrow, &options, &mut out).unwrap();
    let mut bytes = vec![0; format.bytes()];
    out.download(&stream, &mut bytes).unwrap();
    bytes
}

/// While the seam fades in, no pixel changes by more than its share of the whole change. Then nothing changes any more.
#[test]
fn panoramas_are_steady_and_equal_those_of_the_operations() {
    for device in panoweave_devices() {
        let options = LiveOptions { blend: Blend::Multiband(OPTIONS), ..waiting() };
        let session =
            Session::new(&device, device_warp(&device, 0.0), &[Output::default()], options)
                .unwrap();
        let [left, right] = frames();
        let mut panoramas = session.panoramas();
        let shown: Vec<_> = (0..3 * FADE + 20)
            .map(|i| {
                session.submit([frame(&left), frame(&right)], FRAME * i).unwrap();
                panoramas.next().unwrap().bytes().to_vec()
            })
            .collect();
        let expected = expected(&device);
        assert!(shown[shown.len() - 10..].iter().all(|bytes| *bytes == expected), "{device}");
        let most = 30 / FADE as u8 + 2;
        for (i, pair) in shown.windows(2).enumerate() {
            let jump = pair[0].iter().zip(&pair[1]).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
            assert!(jump <= most, "{device}: {jump} levels at once in frame {i}");
        }
    }
}

/// A view reads the cameras directly, so there is no panorama to blend.
#[test]
fn a_virtual_camera_does_not_support_it() {
    let device = Device::simulator();
    let geometry = random_rig(3).geometry().unwrap();
    let warp = DeviceWarp::render(&device.stream().unwrap(), &geometry).unwrap();
    let viewer = Viewer::new(&geometry, false).unwrap();
    let view = Output::view(PixelFormat::Rgba8, DEFAULT_SIZE, ViewPose::default());
    let options = LiveOptions { blend: Blend::Multiband(OPTIONS), ..waiting() };
    let error = Session::new(&device, (warp, viewer), &[view], options).unwrap_err();
    let expected = "live stitching: the blend `multiband` does not support views";
    assert!(error.to_string().starts_with(expected), "{error}");
}
