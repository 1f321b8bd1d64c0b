//! Checks that a view that uses the weights of a warp has its seam at the same position as a stitch with the warp.

use std::cell::RefCell;

use glam::{DVec2, UVec2, uvec2};
use panoweave::device::Stream;
use panoweave::frame::{FrameFormat, PixelFormat};
use panoweave::geometry::rig::Rig;
use panoweave::ops::colour::Colours;
use panoweave::ops::seam::{SeamOptions, seamed};
use panoweave::ops::stitch::StitchOptions;
use panoweave::ops::view::{ViewPose, Viewer};
use panoweave::warp::{DeviceWarp, Plane};
use panoweave_tests::oracle::{self, mix};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use panoweave_tests::raster::Raster;
use shared_types::Rgba8;

use crate::view::exact::{Exact, ExactCameras, on_canvas};
use crate::view::{
    ROUNDING, cylinder, differing, plain, planar, rgba, shown, smooth, sources, stitched,
};

/// Returns two smooth but different pictures, and a warp with the weights of a seam between them.
fn with_seam(stream: &Stream, rig: &Rig, feather: f32) -> (DeviceWarp, [Raster; 2]) {
    let mut random = Random::new(11);
    let pictures = sources(rig).map(|size| smooth(&mut random, size, PixelFormat::Rgba8));
    let frames = pictures.each_ref().map(|picture| picture.upload(stream, 0));
    let warp = DeviceWarp::render(stream, &rig.geometry().unwrap()).unwrap();
    let [left, right] = &frames;
    let options = SeamOptions { feather };
    let seamed =
        seamed(stream, &warp, &[left.into(), right.into()], Colours::IDENTITY, options).unwrap().0;
    (seamed, pictures)
}

#[test]
fn on_the_views_own_canvas_it_is_the_stitch_with_that_seam() {
    let view = ViewPose { pan: 2.0, tilt: -1.0, roll: 0.0, fov: 90.0 };
    let size = uvec2(241, 141);
    let rig = planar(&view, size);
    let (ahead, options) =
        (ViewPose { fov: view.fov, ..ViewPose::default() }, StitchOptions::default());
    let format = FrameFormat::rgba8(size.x, size.y);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for feather in [2.0, 16.0] {
            let (warp, pictures) = with_seam(&stream, &rig, feather);
            let pictures = pictures.each_ref();
            let viewer = Viewer::new(&rig.geometry().unwrap(), false).unwrap();
            let expected = stitched(&stream, &warp, pictures, &options);
            let look = |warp: Option<&DeviceWarp>| {
                shown(&stream, &viewer, pictures, warp, &ahead, &options, format)
            };
            let off = differing(&look(Some(&warp)), &expected);
            assert!(off <= 3, "{off} pixels differ, feather {feather} on {device}");
            // Without the warp's weights, the view has a feathered overlap, and must differ clearly. This proves that
            // the comparison can detect wrong weights.
            let feathered = differing(&look(None), &expected);
            assert!(feathered > 1000, "{feathered} pixels differ without the seam on {device}");
        }
    }
}

/// Checks that a view blends both cameras with the warp's weights for the ray of each pixel. Each picture has a single
/// colour, so the colour of a pixel shows the weights.
#[test]
fn on_a_cylinder_the_hand_over_lies_where_the_seam_lies() {
    let rig = cylinder();
    let geometry = rig.geometry().unwrap();
    let viewer = Viewer::new(&geometry, false).unwrap();
    let pictures = [Rgba8::opaque(240, 20, 20), Rgba8::opaque(20, 20, 240)];
    let [left, right] = sources(&rig);
    let pictures = [plain(left, pictures[0]), plain(right, pictures[1])];
    let (size, options) = (uvec2(161, 121), StitchOptions::default());
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let (warp, _) = with_seam(&stream, &rig, 3.0);
        let planes = warp.download(&stream).unwrap();
        let UVec2 { x: width, y: height } = warp.size();
        let weight = |plane, at: DVec2| {
            let plane = planes.plane(plane);
            let [weight] =
                mix(width as usize, height as usize, at.x, at.y, |i| [f64::from(plane[i])]);
            weight
        };
        // The views point at the position where the seam crosses the middle row.
        let row =
            &planes.plane(Plane::Weight(0))[(height / 2 * width) as usize..][..width as usize];
        let first = row.iter().rposition(|weight| *weight > 0.5).unwrap();
        let pan = (first as f64 - geometry.canvas.centre.x) / geometry.canvas.scale.x;
        let pan = pan.to_degrees();
        for view in [
            ViewPose { pan, fov: 70.0, ..ViewPose::default() },
            ViewPose { pan: pan - 4.0, tilt: 8.0, roll: 25.0, fov: 40.0 },
            ViewPose { pan: pan + 2.0, tilt: -5.0, roll: -100.0, fov: 75.0 },
        ] {
            // The numbers of pixels in the overlap that show only the left camera, a mixture, and only the right
            // camera.
            let count = RefCell::new([0; 3]);
            let weigh = |ray, margins: &[f64]| {
                let (place, _) = on_canvas(&geometry.canvas, ray);
                let Some(at) = place.filter(|_| margins[0] > 0.0 && margins[1] > 0.0) else {
                    return margins.to_vec();
                };
                let weights = [Plane::Weight(0), Plane::Weight(1)].map(|p| weight(p, at));
                if weights[0] + weights[1] == 0.0 {
                    return margins.to_vec();
                }
                let [left, right] = weights.map(|weight| weight < 1e-6);
                count.borrow_mut()[if right { 0 } else { 1 + usize::from(left) }] += 1;
                weights.to_vec()
            };
            let cameras = ExactCameras::new(&rig, pictures.each_ref(), &options);
            let exact = Exact::new(&view, false, size, |ray| cameras.show(ray, weigh));
            let format = FrameFormat::rgba8(size.x, size.y);
            let found =
                shown(&stream, &viewer, pictures.each_ref(), Some(&warp), &view, &options, format);
            let off = oracle::worst_where(&found, &exact.colours, &exact.sure);
            // The weights change from 0 to 1 over 3 canvas pixels, and the colours of the pictures differ by 220
            // levels. Positions in f32 have an error of a few ten-thousandths of a pixel, so most of the allowed error
            // is for the rounding to whole levels.
            assert!(off <= ROUNDING, "{off} levels: {view} on {device}");
            let counts = count.into_inner();
            let [left, between, right] = counts;
            assert!(left > 300 && right > 300 && between > 100, "{counts:?}: {view} on {device}");
            let reds = rgba(&found).iter().filter(|pixel| pixel.r == 240).count();
            assert!(reds > left / 2, "{reds} red pixels: {view} on {device}");
        }
    }
}
