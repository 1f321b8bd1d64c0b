//! Checks that saturated pixels, dark pixels and noise do not bias the colours. Several cameras see the same scene with
//! known exposures, which burn parts of it to white in some cameras and leave parts of it black in others.

use glam::{UVec2, uvec2};
use panoweave::frame::{DeviceFrame, FrameView, PixelFormat, Range, YuvEncoding, YuvMatrix};
use panoweave::ops::colour::{Colours, EstimateLimits, Overlaps, matched, solve};
use panoweave::warp::{DeviceWarp, Warp};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use panoweave_tests::raster::{Pixels, Raster};
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
        PixelFormat::P010(_) => unreachable!("no test of exposures has 10 bits"),
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
            let colours = matched(&stream, &views, &on_device, None).unwrap().unwrap();
            let error = error(&colours, &exposures);
            println!("{device}, noise of {noise} levels: gains are within {:.3} %", 100.0 * error);
            assert!(error < most, "{device}, {noise}: {error}");
            // The sums of all overlaps in one call equal those of each overlap alone.
            let sums = overlaps.sums(&stream, &views).unwrap();
            for (overlap, sums) in overlaps.all().iter().zip(&sums) {
                let [a, b] = overlap.cameras();
                assert_eq!(overlap.sums(&stream, views[a], views[b]).unwrap(), *sums);
            }
            let edges = overlaps.edges(&sums);
            let solved = solve(5, &edges, &EstimateLimits::default(), None, &[]);
            assert_eq!(Colours::of(solved.colours), colours);
        }
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
