//! Checks that offline views and live views free all their memory. The test runs in its own process, because
//! [`Counters`](panoweave::device::Counters) cover the whole process.

use panoweave_tests::alone::{alone, objects};

use glam::uvec2;
use panoweave::device::Device;
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat};
use panoweave::geometry::rig::Rig;
use panoweave::live::{Output, Session};
use panoweave::ops::stitch::StitchOptions;
use panoweave::ops::view::{ViewPose, Viewer};
use panoweave::warp::DeviceWarp;
use panoweave_tests::live::{FRAME, SOURCE, frame, stamp, waiting};
use panoweave_tests::panoweave_devices;

const RIG: &str = r#"
[panorama]
projection = "cylindrical"
width = 32
height = 16
fov = 90.0

[[camera]]
name = "left"
size = [65, 47]
lens = "pinhole"
matrix = { fx = 60.0, fy = 60.0, cx = 32.0, cy = 23.0 }
yaw = -15.0

[[camera]]
name = "right"
size = [65, 47]
lens = "fisheye"
matrix = { fx = 60.0, fy = 60.0, cx = 32.0, cy = 23.0 }
yaw = 15.0
"#;

/// Renders a view of two cameras and a view of a panorama. In some rounds, the first view uses the weights of a warp.
/// In every fourth round, runs a live session with a virtual camera instead.
fn round(device: &Device, rig: &Rig, i: u32) {
    let stream = device.stream().unwrap();
    let geometry = rig.geometry().unwrap();
    let viewer = Viewer::new(&geometry, i.is_multiple_of(2)).unwrap();
    let warp = DeviceWarp::render(&stream, &geometry).unwrap();
    let view = ViewPose { pan: f64::from(i % 20), ..ViewPose::default() };
    let (size, options) = (uvec2(16, 9), StitchOptions::default());
    if i.is_multiple_of(4) {
        let view = Output::view(PixelFormat::Rgba8, size, view);
        let session = Session::new(device, (warp, viewer), &[view], waiting()).unwrap();
        let bytes = stamp(50);
        // Drop the session with zero, one or two pairs in flight.
        for n in 0..i / 4 % 3 {
            session.submit([frame(&bytes), frame(&bytes)], FRAME * n).unwrap();
        }
        if i.is_multiple_of(16) {
            let warp = DeviceWarp::render(&stream, &geometry).unwrap();
            session.swap((warp, Viewer::new(&geometry, false).unwrap())).unwrap();
        }
        return;
    }
    let new =
        |size: glam::UVec2| DeviceFrame::new(device, FrameFormat::rgba8(size.x, size.y)).unwrap();
    let (left, right, mut out) = (new(SOURCE), new(SOURCE), new(size));
    let weights = (i % 4 == 1).then_some(&warp);
    let frames = [left.view(), right.view()];
    viewer.submit(&stream, &frames, weights, &view, &options, &mut out).unwrap();
    // In every third round, do not wait, so that the objects are dropped while work is in flight.
    if !i.is_multiple_of(3) {
        stream.synchronize().unwrap();
    }
}

#[test]
fn a_thousand_views_leave_nothing() {
    alone(a_thousand_views_leave_nothing, || {
        let rig = Rig::parse(RIG, "made up").unwrap();
        for device in panoweave_devices() {
            let before = objects();
            for i in 0..1000 {
                round(&device, &rig, i);
            }
            assert_eq!(objects(), before, "{device}");
        }
    });
}
