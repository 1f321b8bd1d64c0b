//! Checks that saturated pixels, dark pixels and noise do not bias the colours. Several cameras see the same scene with
//! known exposures, which burn parts of it to white in some cameras and leave parts of it black in others.

use glam::{UVec2, Vec3, uvec2};
use panoweave::frame::{DeviceFrame, FrameView, PixelFormat, Range, YuvEncoding, YuvMatrix};
use panoweave::io::picture::Picture;
use panoweave::ops::colour::{Colours, Overlaps, solve};
use panoweave::ops::stitch::Vignettes;
use panoweave::warp::{DeviceWarp, Warp};
use panoweave_tests::random::Random;
use panoweave_tests::raster::{Pixels, Raster};
use panoweave_tests::{live, matched_pictures, panoweave_devices};
use shared_types::photometry::Vignette;
use shared_types::stitch::Colour;
use shared_types::{Chroma, Rgba8};

/// The number of columns of the overlap of two neighbours.
pub(super) const BAND: u32 = 96;
const HEIGHT: u32 = 160;

/// Returns a warp in which panorama pixel `(x, y)` is pixel `(x, y)` of every camera. Camera `i` shares a band of
/// columns with camera `i + 1`, and the last camera with the first one. In the rows at the bottom, a third camera has
/// most of the weight.
pub(super) fn ring(cameras: u32) -> Warp {
    let size = uvec2(cameras * BAND, HEIGHT);
    let pixels = || (0..size.y).flat_map(|y| (0..size.x).map(move |x| (x, y)));
    let coordinates = (0..cameras).flat_map(|_| {
        let x = pixels().map(|(x, _)| x as f32).collect();
        [x, pixels().map(|(_, y)| y as f32).collect::<Vec<f32>>()]
    });
    let weights = (0..cameras).map(|camera| {
        let weight = |(x, y): (u32, u32)| {
            let sees = |band: u32| x / BAND == band % cameras;
            let bottom = y >= HEIGHT - 40;
            match (sees(camera) || sees(camera + cameras - 1), sees(camera + cameras - 2)) {
                (true, _) => {
                    if bottom {
                        0.08
                    } else {
                        0.5
                    }
                }
                (false, true) if bottom => 0.84,
                _ => 0.0,
            }
        };
        pixels().map(weight).collect::<Vec<f32>>()
    });
    let planes: Vec<_> = coordinates.chain(weights).collect();
    Warp::new(size, vec![size; cameras as usize], planes).unwrap()
}

/// Returns the light of each pixel: levels from 1 to 600, which exceed the range of a picture at both ends.
fn scene(size: UVec2, grey: bool, random: &mut Random) -> Vec<[f64; 3]> {
    let mut light = || {
        let light = f64::from(random.between(0.0, 600.0_f32.ln())).exp();
        let tint = [0; 3].map(|_| f64::from(random.between(0.7, 1.4)));
        tint.map(|tint| light * if grey { 1.0 } else { tint })
    };
    (0..size.element_product()).map(|_| light()).collect()
}

/// Returns the picture of a camera with this exposure and with normal noise of `noise` levels.
fn picture(
    scene: &[[f64; 3]],
    size: UVec2,
    (exposure, noise): (f64, f64),
    format: PixelFormat,
    random: &mut Random,
) -> Raster {
    // The sum of twelve uniform numbers is nearly normal.
    let mut normal = || (0..12).map(|_| f64::from(random.between(-0.5, 0.5))).sum::<f64>();
    let mut level = |light: f64| (exposure * light + noise * normal()).round().clamp(0.0, 255.0);
    let pixels = match format {
        PixelFormat::Rgba8 => {
            let pixel = |light: &[f64; 3]| {
                let [r, g, b] = light.map(|light| level(light) as u8);
                Rgba8::opaque(r, g, b)
            };
            Pixels::Rgba8(scene.iter().map(pixel).collect())
        }
        // For gray pictures of full range, luma is the level.
        PixelFormat::Nv12(encoding) => Pixels::Nv12 {
            y: scene.iter().map(|light| level(light[0]) as u8).collect(),
            uv: vec![Chroma { u: 128, v: 128 }; (size.x.div_ceil(2) * size.y.div_ceil(2)) as usize],
            encoding,
        },
        other => unreachable!("no test of exposures has {other}"),
    };
    Raster { size, pixels }
}

/// Returns the largest error of a gain relative to the exact gains, which are the reciprocals of the exposures apart
/// from a common factor.
fn error(colours: &Colours, exposures: &[f64]) -> f64 {
    let logs = |c: usize| -> Vec<f64> {
        let log = |(colour, exposure): (&Colour, &f64)| (f64::from(colour.gain[c]) * exposure).ln();
        colours.iter().zip(exposures).map(log).collect()
    };
    let spread = |logs: Vec<f64>| {
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        logs.iter().map(|log| (log - mean).abs()).fold(0.0, f64::max)
    };
    (0..3).map(|c| spread(logs(c))).fold(0.0, f64::max)
}

/// The colours of a ring of cameras with an exposure ramp of ×4, without and with noise. Neighbours differ by ×1.41,
/// and the first and the last camera by ×4. If saturated pixels counted, the gains would be wrong by 10 % and more.
#[test]
fn a_ramp_of_exposures_is_undone() {
    let exposures = [0.5, 0.71, 1.0, 1.41, 2.0];
    let warp = ring(5);
    let size = warp.size();
    let full = YuvEncoding { matrix: YuvMatrix::Bt709, range: Range::Full };
    let [rgba, nv12] = [PixelFormat::Rgba8, PixelFormat::Nv12(full)];
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let on_device = DeviceWarp::upload(&stream, &warp).unwrap();
        let overlaps = Overlaps::find(&stream, &on_device).unwrap();
        let pairs: Vec<_> = overlaps.all().iter().map(|overlap| overlap.cameras()).collect();
        for pair in [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]] {
            assert!(pairs.contains(&pair), "{pairs:?}");
        }
        for (formats, noise, most) in [
            ([rgba; 5], 0.0, 0.004),
            ([rgba; 5], 2.0, 0.01),
            ([rgba, nv12, rgba, nv12, nv12], 1.0, 0.01),
        ] {
            let mut random = Random::new(11);
            let scene = scene(size, formats[1] != rgba, &mut random);
            let frames: Vec<DeviceFrame> = (0..5)
                .map(|i| {
                    let camera = (exposures[i], noise);
                    picture(&scene, size, camera, formats[i], &mut random).upload(&stream, 0)
                })
                .collect();
            let views: Vec<FrameView<'_>> = frames.iter().map(DeviceFrame::view).collect();
            let sums = overlaps.sums(&stream, &views).unwrap();
            let edges = overlaps.edges(&sums, &Vignettes::NONE);
            let colours = Colours::of(solve(5, &edges, None, &[]));
            let error = error(&colours, &exposures);
            println!("{device}, noise of {noise} levels: gains are within {:.3} %", 100.0 * error);
            assert!(error < most, "{device}, {noise}: {error}");
        }
    }
}

/// The same scene, through a lens with vignetting and one without. Its gradient is weak, because the correction of the
/// sums assumes that light and dark parts are distributed evenly.
#[test]
fn vignetting_does_not_change_the_colours() {
    let vignette = Vignette {
        terms: Vec3::new(-0.7, 0.0, 0.05),
        per_corner: (live::SOURCE.as_vec2() / 2.0).length_squared().recip(),
        centre: (live::SOURCE.as_vec2() - 1.0) / 2.0,
    };
    let factor = |x: u32, y: u32| {
        let q = (uvec2(x, y).as_vec2() - vignette.centre).length_squared();
        let q = f64::from(q * vignette.per_corner);
        (1.0 - 0.7 * q + 0.05 * q * q * q).powf(-1.0 / 2.2)
    };
    let step = live::CANVAS.x - live::SOURCE.x;
    let picture = |first: u32, has_vignette: bool| {
        let size = live::SOURCE;
        let pixels = (0..size.y).flat_map(|y| (0..size.x).map(move |x| (x, y))).map(|(x, y)| {
            let scene = 130.0 + 0.1 * f64::from(first + x) + 0.1 * f64::from(y);
            let level = (if has_vignette { scene / factor(x, y) } else { scene }).round() as u8;
            Rgba8::opaque(level, level, level)
        });
        Picture::from_pixels(size.x, size.y, pixels.collect()).unwrap()
    };
    let (left, right) = (picture(0, true), picture(step, false));
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = live::device_warp(&device, 0.0);
        let gains = |vignettes: &Vignettes| {
            let colours = matched_pictures(&stream, &[&left, &right], &warp, vignettes).unwrap();
            [colours[0].gain.x, colours[1].gain.x]
        };
        let found = gains(&Vignettes::of([vignette]));
        assert!(found.iter().all(|gain| (gain - 1.0).abs() < 0.004), "{device}: {found:?}");
        let stored = gains(&Vignettes::NONE);
        assert!(stored[0] - stored[1] > 0.1, "{device}: {stored:?}");
    }
}

/// Where a third camera has most of the weight, the two other cameras are still compared.
#[test]
fn overlaps_include_pixels_where_three_cameras_meet() {
    let warp = ring(4);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let on_device = DeviceWarp::upload(&stream, &warp).unwrap();
        let overlaps = Overlaps::find(&stream, &on_device).unwrap();
        let overlap = overlaps.all().iter().find(|overlap| overlap.cameras() == [0, 1]).unwrap();
        assert_eq!(overlap.place().size(), uvec2(BAND, HEIGHT), "{device}");
    }
}
