//! Checks that invalid views and arguments that do not match are rejected, with an error that names the cause.

use glam::{UVec2, Vec3};
use panoweave::device::Device;
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat, Range, YuvEncoding, YuvMatrix};
use panoweave::geometry::Geometry;
use panoweave::ops::stitch::{Colours, StitchOptions};
use panoweave::ops::view::{MAX_FOV, MIN_FOV, ViewError, ViewPose, Viewer};
use panoweave::warp::DeviceWarp;
use panoweave_tests::panoweave_devices;
use shared_types::stitch::Colour;

use crate::view::{cylinder, planar, sources};

const OUT: FrameFormat = FrameFormat::rgba8(31, 17);

/// Renders a view of two new frames with the formats `inputs`, and returns the error if it fails.
fn submit(
    device: &Device,
    inputs: [FrameFormat; 2],
    warp: Option<&DeviceWarp>,
    view: &ViewPose,
    options: &StitchOptions,
) -> Result<(), ViewError> {
    let stream = device.stream().unwrap();
    let viewer = Viewer::new(&cylinder().geometry().unwrap(), false).unwrap();
    let frames = inputs.map(|format| DeviceFrame::new(device, format).unwrap());
    let mut out = DeviceFrame::new(device, OUT).unwrap();
    let views = frames.each_ref().map(DeviceFrame::view);
    viewer.submit(&stream, &views, warp, view, options, &mut out)
}

fn formats(pixels: [PixelFormat; 2]) -> [FrameFormat; 2] {
    let [left, right] = sources(&cylinder());
    [FrameFormat { size: left, pixels: pixels[0] }, FrameFormat { size: right, pixels: pixels[1] }]
}

/// Returns invalid views, and a required part of each error message.
fn bad_views() -> Vec<(ViewPose, &'static str)> {
    let view = ViewPose::default();
    let mut bad = Vec::new();
    for (angle, text) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
        bad.push((ViewPose { pan: angle, ..view }, text));
        bad.push((ViewPose { tilt: angle, ..view }, text));
        bad.push((ViewPose { roll: angle, ..view }, text));
        bad.push((ViewPose { fov: angle, ..view }, text));
    }
    for (fov, text) in [
        (0.0, "field of view 0 "),
        (-60.0, "field of view -60 "),
        (MIN_FOV.next_down(), "0.1 to 170"),
        (MAX_FOV.next_up(), "0.1 to 170"),
        (180.0, "field of view 180 "),
    ] {
        bad.push((ViewPose { fov, ..view }, text));
    }
    bad
}

#[test]
fn a_view_that_cannot_be() {
    let rgba = formats([PixelFormat::Rgba8; 2]);
    let options = StitchOptions::default();
    for device in panoweave_devices() {
        for (view, text) in bad_views() {
            let error = submit(&device, rgba, None, &view, &options).unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
        // All finite angles are valid, even large ones.
        for view in [
            ViewPose { fov: MIN_FOV, ..ViewPose::default() },
            ViewPose { fov: MAX_FOV, ..ViewPose::default() },
            ViewPose { pan: 1e300, tilt: -1e300, roll: f64::MAX, fov: 60.0 },
        ] {
            submit(&device, rgba, None, &view, &options).unwrap();
        }
    }
}

#[test]
fn frames_that_do_not_fit() {
    let yuv = |matrix, range| PixelFormat::Nv12(YuvEncoding { matrix, range });
    let (limited, full) =
        (yuv(YuvMatrix::Bt709, Range::Limited), yuv(YuvMatrix::Bt709, Range::Full));
    let (view, options) = (ViewPose::default(), StitchOptions::default());
    for device in panoweave_devices() {
        let submit = |inputs| submit(&device, inputs, None, &view, &options);
        for pixels in
            [[PixelFormat::Rgba8, limited], [limited, PixelFormat::Rgba8], [limited, full]]
        {
            submit(formats(pixels)).unwrap();
        }
        for camera in 0..2 {
            let mut inputs = formats([PixelFormat::Rgba8; 2]);
            inputs[camera].size.x += 1;
            let said = submit(inputs).unwrap_err().to_string();
            assert!(said.contains(&format!("the picture of camera {} is", camera + 1)), "{said}");
        }
        submit(formats([limited; 2])).unwrap();
    }
}

/// Returns an NV12 frame whose chroma plane is too small.
fn without_chroma(device: &Device, size: UVec2) -> DeviceFrame {
    let encoding = YuvEncoding::default();
    let format = |size: UVec2| FrameFormat::nv12(size.x, size.y, encoding);
    let DeviceFrame::Nv12 { y, .. } = DeviceFrame::new(device, format(size)).unwrap() else {
        unreachable!("NV12 was requested")
    };
    let DeviceFrame::Nv12 { uv, .. } = DeviceFrame::new(device, format(size / 2)).unwrap() else {
        unreachable!("NV12 was requested")
    };
    DeviceFrame::Nv12 { y, uv, encoding }
}

#[test]
fn chroma_that_is_not_half_of_luma() {
    let rig = cylinder();
    let geometry = rig.geometry().unwrap();
    let (view, options) = (ViewPose::default(), StitchOptions::default());
    let nv12 = |size: UVec2| FrameFormat::nv12(size.x, size.y, YuvEncoding::default());
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let viewer = Viewer::new(&geometry, false).unwrap();
        let [l, r] = sources(&rig);
        for (i, which) in
            ["the frame of camera 1", "the frame of camera 2", "the output"].into_iter().enumerate()
        {
            let mut frames =
                [l, r, OUT.size].map(|size| DeviceFrame::new(&device, nv12(size)).unwrap());
            frames[i] = without_chroma(&device, [l, r, OUT.size][i]);
            let [left, right, out] = &mut frames;
            let inputs = [left.view(), right.view()];
            let error = viewer.submit(&stream, &inputs, None, &view, &options, out).unwrap_err();
            let said = format!("the chroma plane of {which}");
            assert!(error.to_string().contains(&said), "{error}");
        }
    }
}

#[test]
fn colours_that_no_stitch_takes() {
    let rgba = formats([PixelFormat::Rgba8; 2]);
    let colour = |gain, gamma| Colour { gain: Vec3::splat(gain), gamma, ..Colour::IDENTITY };
    for device in panoweave_devices() {
        let refusal = |left, right| {
            let options =
                StitchOptions { colours: Colours::of([left, right]), ..StitchOptions::default() };
            submit(&device, rgba, None, &ViewPose::default(), &options).unwrap_err().to_string()
        };
        let said = refusal(colour(-1.0, 1.0), Colour::IDENTITY);
        assert!(said.contains("camera 1: gains are"), "{said}");
        let said = refusal(Colour::IDENTITY, colour(1.0, f32::NAN));
        assert!(said.contains("camera 2: gamma is NaN"), "{said}");
    }
}

#[test]
fn weights_of_another_warp() {
    let rgba = formats([PixelFormat::Rgba8; 2]);
    let (view, options) = (ViewPose::default(), StitchOptions::default());
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let submit = |geometry: &Geometry| {
            let warp = DeviceWarp::render(&stream, geometry).unwrap();
            submit(&device, rgba, Some(&warp), &view, &options)
        };
        submit(&cylinder().geometry().unwrap()).unwrap();
        let error = submit(&planar(&view, UVec2::new(400, 180)).geometry().unwrap()).unwrap_err();
        assert!(
            error.to_string().contains("is 400×180 pixels, but the canvas is 401×180"),
            "{error}"
        );
        let mut other = cylinder();
        other.cameras[1].size = [172, 117];
        let error = submit(&other.geometry().unwrap()).unwrap_err();
        assert!(error.to_string().contains("the picture of camera 2 is"), "{error}");
    }
}

#[test]
fn a_view_looks_through_1_to_16_cameras() {
    let geometry = cylinder().geometry().unwrap();
    let viewer = |many: usize| {
        let cameras = geometry.cameras.iter().copied().cycle().take(many).collect();
        Viewer::new(&Geometry { cameras, ..geometry.clone() }, false)
    };
    for many in [0, 17] {
        let error = viewer(many).unwrap_err();
        let said = format!("{many} cameras; it must have 1 to 16");
        assert!(error.to_string().contains(&said), "{error}");
    }
    for many in [1, 2, 16] {
        assert_eq!(viewer(many).unwrap().sources().len(), many);
    }
    let viewer = Viewer::new(&geometry, false).unwrap();
    assert_eq!(viewer.sources(), sources(&cylinder()));
}
