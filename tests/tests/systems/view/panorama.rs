//! Tests of views of a stitched panorama. They compare views with the projections in f64, and test views across the
//! line where both ends of a 360° panorama meet.

use glam::{UVec2, uvec2};
use panoweave::device::Device;
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat, Range, YuvEncoding, YuvMatrix};
use panoweave::ops::view::{ViewPose, view_panorama};
use panoweave_tests::oracle::{self, bilinear};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use panoweave_tests::raster::Raster;
use shared_types::warp::Canvas;

use crate::view::exact::{Exact, on_canvas};
use crate::view::{ROUNDING, WHITE, plain, rgba, rig, smooth, unwritten};

fn of_panorama(
    device: &Device,
    panorama: &Raster,
    canvas: &Canvas,
    view: &ViewPose,
    format: FrameFormat,
) -> Raster {
    let stream = device.stream().unwrap();
    let panorama = panorama.upload(&stream, 4);
    let mut out: DeviceFrame = unwritten(&stream, format);
    view_panorama(&stream, &panorama, canvas, view, &mut out).unwrap();
    Raster::download(&stream, &out)
}

#[test]
fn a_view_of_a_panorama_follows_its_projection() {
    let devices = panoweave_devices();
    let mut worst = 0.0_f64;
    let mut shows = [0, 0];
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let r = &mut random;
        let projection = ["planar", "cylindrical", "equirectangular"][seed as usize % 3];
        let most = [150.0, 360.0, 360.0][seed as usize % 3];
        let size = uvec2(2 + r.below(300) as u32, 2 + r.below(200) as u32);
        let mut between = |low: f32, high: f32| f64::from(r.between(low, high));
        let canvas = rig(&format!(
            "projection = \"{projection}\"\nwidth = {}\nheight = {}\nfov = {:?}\nfov_vertical = {:?}\ncentre = [{:?}, {:?}]",
            size.x,
            size.y,
            between(30.0, most),
            between(20.0, 140.0),
            f64::from(size.x) * between(0.3, 0.7),
            f64::from(size.y) * between(0.3, 0.7),
        ));
        let canvas = canvas.geometry().unwrap().canvas;
        let view = ViewPose {
            pan: between(-180.0, 180.0) * if seed % 3 == 0 { 0.3 } else { 1.0 },
            tilt: between(-60.0, 60.0),
            roll: between(-180.0, 180.0),
            fov: between(10.0, 150.0),
        };
        let mut format = |nv12: bool| {
            let matrix = r.pick(&[YuvMatrix::Bt601, YuvMatrix::Bt709]);
            let range = r.pick(&[Range::Limited, Range::Full]);
            if nv12 { PixelFormat::Nv12(YuvEncoding { matrix, range }) } else { PixelFormat::Rgba8 }
        };
        let (input, pixels) = (format(seed / 3 % 2 == 1), format(seed / 6 % 2 == 1));
        let panorama = smooth(r, size, input);
        let size = uvec2(1 + r.below(90) as u32, 1 + r.below(70) as u32);
        let exact = Exact::new(&view, false, size, |ray| {
            let (place, sure) = on_canvas(&canvas, ray);
            // Colours outside the RGB gamut are clamped.
            let levels = |at: glam::DVec2| bilinear(&panorama, at.x, at.y);
            (place.map(|at| levels(at).map(|level| level.clamp(0.0, 255.0))), sure)
        });
        shows[0] += exact.seen();
        shows[1] += exact.sure.len();
        for device in &devices {
            let found =
                of_panorama(device, &panorama, &canvas, &view, FrameFormat { size, pixels });
            let off = oracle::worst_where(&found, &exact.colours, &exact.sure);
            assert!(off <= ROUNDING, "seed {seed}: {off} levels, {view} of {canvas:?} on {device}");
            worst = worst.max(off);
        }
    }
    eprintln!("at most {worst} levels; {} of {} pixels show something", shows[0], shows[1]);
    assert!(shows[0] > shows[1] / 4 && shows[0] < shows[1] * 9 / 10, "{shows:?}");
}

/// Checks that a view of a white 360° panorama has no dark pixel on the line where both ends of the panorama meet. The
/// tested views look straight back at the middle of this line, and at its upper and lower end.
#[test]
fn all_round_there_is_no_dark_line() {
    for device in panoweave_devices() {
        for (projection, vertical, steepest) in
            [("equirectangular", 180.0, 90.0), ("cylindrical", 160.0, 20.0)]
        {
            for width in [64, 719, 720, 1023, 4096] {
                let size = UVec2::new(width, 97);
                let canvas = rig(&format!(
                    "projection = \"{projection}\"\nwidth = {width}\nheight = 97\nfov = 360.0\nfov_vertical = {vertical:?}"
                ));
                let canvas = canvas.geometry().unwrap().canvas;
                let panorama = plain(size, WHITE);
                for pan in [180.0, -180.0, 179.99, -179.5, 540.0, 170.0] {
                    for tilt in [0.0, steepest, -steepest, 12.3] {
                        for roll in [0.0, 90.0, 33.0] {
                            let view = ViewPose { pan, tilt, roll, fov: 40.0 };
                            let format = FrameFormat::rgba8(61, 61);
                            let found = of_panorama(&device, &panorama, &canvas, &view, format);
                            let dark = rgba(&found).iter().filter(|p| **p != WHITE).count();
                            assert_eq!(dark, 0, "{view} of {size} {projection} on {device}");
                        }
                    }
                }
            }
        }
    }
}
