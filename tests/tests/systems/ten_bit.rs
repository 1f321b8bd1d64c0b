//! Tests of 10-bit frames (P010) in all systems: a ramp of all levels, stitches against the formula in f64, and the
//! kernels of the other systems against those for NV12, which their own tests compare with formulas.
//!
//! In limited range, an 8-bit sample and four times this sample in 10 bits are the same colour. So results for such
//! pictures are equal, apart from rounding to 8 bits.

use std::time::Duration;

use glam::{DMat3, DVec2, UVec2, Vec3, dvec2, uvec2};
use panoweave::device::{Device, Stream};
use panoweave::frame::{
    DeviceFrame, Frame, FrameFormat, FrameView, PixelFormat, Range, YuvEncoding, YuvMatrix,
};
use panoweave::geometry::{Camera, Canvas, Geometry};
use panoweave::live::{ColourOptions, FailureOptions, LiveOptions, Output, Pace, Session};
use panoweave::ops::blend::Blend;
use panoweave::ops::colour::{Colours, Overlaps};
use panoweave::ops::frame_statistics::StatisticsSampler;
use panoweave::ops::multiband::{Multiband, MultibandOptions};
use panoweave::ops::seam::{Seam, SeamOptions};
use panoweave::ops::ssim::{Compared, Comparer};
use panoweave::ops::stitch::{Lookup, StitchOptions, stitch};
use panoweave::ops::view::{ViewPose, Viewer};
use panoweave::warp::{DeviceWarp, Plane, Warp};
use panoweave_tests::live::{FRAME, STILL, waiting};
use panoweave_tests::random::Random;
use panoweave_tests::raster::{Pixels, Raster, chroma_size};
use panoweave_tests::{oracle, panoweave_devices, supported};
use shared_types::stitch::{Colour, MIN_WEIGHT};
use shared_types::warp::Projection;
use shared_types::{Chroma10, Rgba8};

const SOURCE: UVec2 = uvec2(44, 38);
const CANVAS: UVec2 = uvec2(102, 44);
/// The upper left corners of the cameras' pictures. Neighbours overlap by 16 columns.
const CORNERS: [DVec2; 3] = [dvec2(1.0, 0.0), dvec2(29.0, 3.0), dvec2(57.0, 6.0)];

const LIMITED: YuvEncoding = YuvEncoding { matrix: YuvMatrix::Bt2020, range: Range::Limited };
const P010: PixelFormat = PixelFormat::P010(LIMITED);
const NV12: PixelFormat = PixelFormat::Nv12(LIMITED);

/// Returns every combination of matrix and range.
fn encodings() -> Vec<YuvEncoding> {
    let matrices = [YuvMatrix::Bt601, YuvMatrix::Bt709, YuvMatrix::Bt2020];
    let of = |matrix| [Range::Limited, Range::Full].map(|range| YuvEncoding { matrix, range });
    matrices.map(of).concat()
}

/// Returns a planar canvas with a focal length of 60 pixels.
fn canvas(size: UVec2) -> Canvas {
    let (centre, projection) = ((size.as_dvec2() - 1.0) / 2.0, Projection::PLANAR);
    Canvas { centre, scale: DVec2::splat(60.0), size, projection, reserved: 0 }
}

/// Returns the geometry of the first `cameras` cameras. Each sees an upright rectangle of the canvas, pixel by pixel.
fn geometry(cameras: usize) -> Geometry {
    let canvas = canvas(CANVAS);
    let camera = |corner: &DVec2| Camera {
        focal: canvas.scale,
        centre: canvas.centre - *corner,
        ..Camera::from_matrix(DMat3::IDENTITY, SOURCE)
    };
    Geometry { canvas, cameras: CORNERS[..cameras].iter().map(camera).collect() }
}

fn warp(stream: &Stream, cameras: usize) -> DeviceWarp {
    DeviceWarp::render(stream, &geometry(cameras)).unwrap()
}

/// Returns the bytes of a frame without padding.
fn bytes(picture: &Raster) -> Vec<u8> {
    match &picture.pixels {
        Pixels::Rgba8(pixels) => bytemuck::cast_slice(pixels).to_vec(),
        Pixels::Nv12 { y, uv, .. } => [&y[..], bytemuck::cast_slice(uv)].concat(),
        Pixels::P010 { y, uv, .. } => [bytemuck::cast_slice(y), bytemuck::cast_slice(uv)].concat(),
    }
}

fn upload(stream: &Stream, pictures: &[Raster]) -> Vec<DeviceFrame> {
    let upload = |picture: &Raster| {
        let mut frame = DeviceFrame::new(stream.device(), picture.format()).unwrap();
        frame.upload(stream, &Frame::tight(picture.format(), &bytes(picture)).unwrap()).unwrap();
        frame
    };
    pictures.iter().map(upload).collect()
}

fn views(frames: &[DeviceFrame]) -> Vec<FrameView<'_>> {
    frames.iter().map(DeviceFrame::view).collect()
}

/// Stitches pictures with a warp of as many cameras.
fn stitched(
    stream: &Stream,
    pictures: &[Raster],
    options: &StitchOptions,
    output: PixelFormat,
) -> Raster {
    let frames = upload(stream, pictures);
    let format = FrameFormat { size: CANVAS, pixels: output };
    let mut out = DeviceFrame::new(stream.device(), format).unwrap();
    let warp = warp(stream, pictures.len());
    stitch(stream, &views(&frames), &warp, options, &mut out).unwrap();
    Raster::download(stream, &out)
}

/// Returns one NV12 picture per camera, and the same pictures as P010. The levels are within the R'G'B' range.
fn pictures(random: &mut Random, cameras: usize) -> [Vec<Raster>; 2] {
    let luma = SOURCE.element_product() as usize;
    let nv12 = (0..cameras).map(|_| {
        let mut at = 0;
        Raster::from_bytes(SOURCE, NV12, || {
            at += 1;
            if at <= luma { 60 + random.below(130) as u8 } else { 118 + random.below(20) as u8 }
        })
    });
    let nv12: Vec<_> = nv12.collect();
    let p010 = nv12.iter().map(Raster::to_p010).collect();
    [nv12, p010]
}

fn colours(random: &mut Random) -> Colours {
    let mut colour = |_| Colour {
        gain: Vec3::new(random.between(0.7, 1.1), random.between(0.7, 1.1), 1.0),
        gamma: random.pick(&[1.0, 0.8, 1.2]),
        ..Colour::IDENTITY
    };
    Colours::of([0, 1, 2].map(&mut colour))
}

/// Returns the largest difference between a P010 picture and an NV12 picture, in 8-bit levels.
fn apart(p010: &Raster, nv12: &Raster) -> f64 {
    let (deep, shallow) = (p010.ten_bits(), nv12.to_p010().ten_bits());
    assert_eq!(deep.len(), shallow.len());
    deep.iter().zip(shallow).map(|(a, b)| f64::from(a.abs_diff(b)) / 4.0).fold(0.0, f64::max)
}

/// Stitches two halves of a ramp that has every level of 10 bits once per row. In full range, all 1,024 levels must
/// survive, and in limited range all levels from black to white.
#[test]
fn a_ramp_of_all_levels_survives() {
    let (size, canvas, step) = (uvec2(640, 12), uvec2(1024, 12), 384);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let camera = |x: u32| {
            let to_picture = DMat3::from_translation(-dvec2(f64::from(x), 0.0));
            Camera::from_matrix(to_picture, size)
        };
        let canvas_of = Canvas::of_pixels(DVec2::ZERO, canvas);
        let geometry = Geometry { canvas: canvas_of, cameras: vec![camera(0), camera(step)] };
        let warp = DeviceWarp::render(&stream, &geometry).unwrap();
        for encoding in encodings() {
            let ramp = |first: u32| {
                let row = (0..size.x).map(|x| ((first + x) as u16) << 6);
                let y = (0..size.y).flat_map(|_| row.clone()).collect();
                let neutral = Chroma10 { u: 512 << 6, v: 512 << 6 };
                let uv = vec![neutral; chroma_size(size).element_product() as usize];
                Raster { size, pixels: Pixels::P010 { y, uv, encoding } }
            };
            let frames = upload(&stream, &[ramp(0), ramp(step)]);
            let pixels = PixelFormat::P010(encoding);
            let luma = |x: u16| match encoding.range {
                Range::Full => x,
                Range::Limited => x.clamp(64, 940),
            };
            let pixel = |at: u32| luma((at % canvas.x) as u16);
            let mut expected: Vec<_> = (0..canvas.element_product()).map(pixel).collect();
            expected.resize(expected.len() * 3 / 2, 512);
            for lookup in Lookup::ALL {
                for flip in [false, true] {
                    let options = StitchOptions { lookup, flip, ..StitchOptions::default() };
                    let format = FrameFormat { size: canvas, pixels };
                    let mut out = DeviceFrame::new(&device, format).unwrap();
                    let stitched = stitch(&stream, &views(&frames), &warp, &options, &mut out);
                    if supported(stitched).is_none() {
                        continue;
                    }
                    let mut found = Raster::download(&stream, &out).ten_bits();
                    if flip {
                        found[..canvas.element_product() as usize].reverse();
                    }
                    assert_eq!(found, expected, "{device}, {encoding:?}, {lookup:?}, {flip}");
                }
            }
        }
    }
}

/// Compares stitches by planes with the formula in f64, for all encodings, several cameras, and other formats on either
/// side.
#[test]
fn planes_are_the_formula() {
    let mut random = Random::new(5);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 0..24 {
            let cameras = 2 + seed % 2;
            let encoding = |i: usize| encodings()[(seed + i) % 6];
            let other = [PixelFormat::Rgba8, PixelFormat::Nv12(encoding(3))][seed / 2 % 2];
            let [input, output] = match seed % 3 {
                0 => [PixelFormat::P010(encoding(0)); 2],
                1 => [PixelFormat::P010(encoding(0)), other],
                _ => [other, PixelFormat::P010(encoding(1))],
            };
            let picture = |i| {
                let mixed = seed % 8 == 3 && i == 1;
                Raster::noise(&mut random, SOURCE, if mixed { P010 } else { input })
            };
            let pictures: Vec<_> = (0..cameras).map(picture).collect();
            let options = StitchOptions {
                colours: colours(&mut random),
                lookup: Lookup::Planes,
                ..StitchOptions::default()
            };
            let found = stitched(&stream, &pictures, &options, output);
            let planes = warp(&stream, cameras).download(&stream).unwrap();
            let worst = oracle::worst(&found, &exact(&planes, &pictures, &options.colours));
            assert!(worst <= 0.53, "{device}, {seed}, {input} to {output}: {worst}");
        }
    }
}

/// Returns the exact levels of each panorama pixel, or `None` if no camera sees it.
fn exact(planes: &Warp, pictures: &[Raster], colours: &Colours) -> Vec<Option<[f64; 3]>> {
    let pixel = |at: usize| {
        let (mut sum, mut whole) = ([0.0; 3], 0.0);
        for (camera, picture) in pictures.iter().enumerate() {
            let [u, v, weight] = [Plane::X(camera), Plane::Y(camera), Plane::Weight(camera)]
                .map(|plane| planes.plane(plane)[at]);
            let [w, h] = SOURCE.as_vec2().to_array();
            if weight <= MIN_WEIGHT || u < 0.0 || v < 0.0 || u >= w || v >= h {
                continue;
            }
            let levels = oracle::bilinear(picture, u.into(), v.into());
            for c in 0..3 {
                sum[c] += f64::from(weight) * oracle::grade(&colours[camera], c, levels[c]);
            }
            whole += f64::from(weight);
        }
        (whole > 0.0).then(|| sum.map(|sum| sum / whole))
    };
    (0..CANVAS.element_product() as usize).map(pixel).collect()
}

/// Rounding to 8 bits changes a sample by half a level, and rounding to 10 bits by an eighth.
const ROUNDING: f64 = 0.5 + 0.125 + 0.05;

#[test]
fn meshes_are_those_of_nv12() {
    let mut random = Random::new(6);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 0..8 {
            let cameras = 2 + seed % 2;
            let [nv12, p010] = pictures(&mut random, cameras);
            let options = StitchOptions {
                colours: colours(&mut random),
                flip: seed % 4 > 1,
                edge_boost: seed % 3 == 1,
                ..StitchOptions::default()
            };
            let found = stitched(&stream, &p010, &options, P010);
            let expected = stitched(&stream, &nv12, &options, NV12);
            let most = apart(&found, &expected);
            assert!(most <= ROUNDING, "{device}, {seed}: {most}");
        }
    }
}

#[test]
fn views_are_those_of_nv12() {
    let mut random = Random::new(7);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 0..12 {
            let cameras = 2 + seed % 2;
            let rig = geometry(cameras);
            let viewer = Viewer::new(&rig, false).unwrap();
            let view = ViewPose {
                pan: random.between(-4.0, 4.0).into(),
                tilt: random.between(-2.0, 2.0).into(),
                roll: random.between(-20.0, 20.0).into(),
                fov: random.between(40.0, 90.0).into(),
            };
            let warp = (seed % 4 > 1).then(|| warp(&stream, cameras));
            let size = uvec2(20 + random.below(60) as u32, 20 + random.below(40) as u32);
            let options =
                StitchOptions { colours: colours(&mut random), ..StitchOptions::default() };
            let pictures = pictures(&mut random, cameras);
            let mut shown = [NV12, P010].iter().zip(&pictures).map(|(&pixels, pictures)| {
                let frames = upload(&stream, pictures);
                let mut out = DeviceFrame::new(&device, FrameFormat { size, pixels }).unwrap();
                let (frames, warp) = (views(&frames), warp.as_ref());
                viewer.submit(&stream, &frames, warp, &view, &options, &mut out).unwrap();
                Raster::download(&stream, &out)
            });
            let (nv12, p010) = (shown.next().unwrap(), shown.next().unwrap());
            let most = apart(&p010, &nv12);
            assert!(most <= ROUNDING, "{device}, {seed}: {most}");
            let levels = p010.ten_bits();
            assert!(levels.iter().any(|level| *level > 200), "{device}, {seed}: the view is black");
        }
    }
}

/// The pyramids are in half precision, and the 8-bit panorama below them is rounded, so the differences are larger than
/// those of one rounding.
#[test]
fn multiband_blends_are_those_of_nv12() {
    let mut random = Random::new(8);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 0..6 {
            let cameras = 2 + seed % 2;
            let pictures = pictures(&mut random, cameras);
            let options = StitchOptions {
                colours: colours(&mut random),
                flip: seed % 3 == 1,
                lookup: Lookup::Planes,
                ..StitchOptions::default()
            };
            let warp = warp(&stream, cameras);
            let mut blended = [NV12, P010].iter().zip(&pictures).map(|(&pixels, pictures)| {
                let frames = upload(&stream, pictures);
                let mut out =
                    DeviceFrame::new(&device, FrameFormat { size: CANVAS, pixels }).unwrap();
                stitch(&stream, &views(&frames), &warp, &options, &mut out).unwrap();
                let before = Raster::download(&stream, &out);
                let mut multiband = Multiband::new(&stream, &warp, 3).unwrap().unwrap();
                let frames = views(&frames);
                multiband.submit(&stream, &frames, &warp, &options, &mut out).unwrap();
                [before, Raster::download(&stream, &out)]
            });
            let ([_, nv12], [before, p010]) = (blended.next().unwrap(), blended.next().unwrap());
            let most = apart(&p010, &nv12);
            assert!(most <= 1.7, "{device}, {seed}: {most}");
            assert!(before.largest_difference(&p010) > 8, "{device}, {seed}: nothing blended");
        }
    }
}

/// The analysis uses the upper 8 bits, which are all bits of these pictures, so the results are equal.
#[test]
fn analyses_are_those_of_nv12() {
    let mut random = Random::new(9);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = warp(&stream, 3);
        let overlaps = Overlaps::find(&stream, &warp).unwrap();
        let mut seam = Seam::new(&stream, &warp, [0, 1], SeamOptions::default()).unwrap();
        let mut sampler = StatisticsSampler::new(&device).unwrap();
        let mut comparer = Comparer::new(&stream, SOURCE).unwrap();
        for _ in 0..4 {
            let pictures = pictures(&mut random, 3).map(|pictures| upload(&stream, &pictures));
            let colours = colours(&mut random);
            let [nv12, p010] = pictures.each_ref().map(|frames| views(frames));
            let [expected, found] = [&nv12, &p010].map(|f| overlaps.sums(&stream, f).unwrap());
            assert_eq!(found, expected, "{device}");
            assert!(found[0].weight > 100.0);
            let [expected, found] =
                [&nv12, &p010].map(|f| seam.look(&stream, &warp, f[0], f[1], colours).unwrap());
            assert_eq!(found, expected, "{device}");
            let [expected, found] = [&nv12, &p010].map(|f| sampler.sample(&stream, f).unwrap());
            for (found, expected) in found.iter().zip(&expected) {
                let values = |it: &panoweave::ops::frame_statistics::FrameStatistics| {
                    (it.mean(), it.variance())
                };
                assert_eq!(values(found), values(expected), "{device}");
                assert_ne!(found.checksum, expected.checksum, "{device}: of both bytes");
            }
            let [FrameView::P010(a, _), FrameView::P010(b, _), ..] = p010[..] else { panic!() };
            let [FrameView::Nv12(c, _), FrameView::Nv12(d, _), ..] = nv12[..] else { panic!() };
            comparer.submit(&stream, Compared::P010(a.y, b.y), None).unwrap();
            let found = comparer.result(&stream).unwrap();
            comparer.submit(&stream, Compared::Luma8(c.y, d.y), None).unwrap();
            let shallow = comparer.result(&stream).unwrap();
            // 1023 is not four times 255, so the constants and the peak differ by this factor.
            let factor = 20.0 * (1023.0_f64 / 1020.0).log10();
            assert!((found.psnr - shallow.psnr - factor).abs() < 1e-9, "{found:?} {shallow:?}");
            assert!((found.ssim - shallow.ssim).abs() < 1e-3, "{found:?} {shallow:?}");
            assert_eq!(found.psnr_rgb, None);
        }
    }
}

/// Compares the SSIM of P010 with that of the same numbers in the lower bits, for all 10 bits.
#[test]
fn ssim_is_that_of_ten_bit_luma() {
    let mut random = Random::new(10);
    let a = Raster::noise(&mut random, SOURCE, P010);
    let Pixels::P010 { y, uv, encoding } = &a.pixels else { panic!() };
    let near = |sample: &u16| (sample >> 6).saturating_add(random.below(40) as u16).min(1023) << 6;
    let y = y.iter().map(near).collect();
    let b =
        Raster { size: SOURCE, pixels: Pixels::P010 { y, uv: uv.clone(), encoding: *encoding } };
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut comparer = Comparer::new(&stream, SOURCE).unwrap();
        let frames = upload(&stream, &[a.clone(), b.clone()]);
        let [FrameView::P010(left, _), FrameView::P010(right, _)] = views(&frames)[..] else {
            panic!()
        };
        comparer.submit(&stream, Compared::P010(left.y, right.y), None).unwrap();
        let found = comparer.result(&stream).unwrap();
        let luma = |picture: &Raster| {
            let pixels = SOURCE.element_product() as usize;
            let luma = &picture.ten_bits()[..pixels];
            panoweave::device::Image::from_slice(&stream, SOURCE.x, SOURCE.y, luma).unwrap()
        };
        let (a, b) = (luma(&a), luma(&b));
        let pair = Compared::Luma16 { a: a.view(), b: b.view(), bits: 10 };
        comparer.submit(&stream, pair, None).unwrap();
        let expected = comparer.result(&stream).unwrap();
        assert!((found.ssim - expected.ssim).abs() < 1e-5, "{device}: {found:?} {expected:?}");
        assert!((found.psnr - expected.psnr).abs() < 1e-9, "{device}: {found:?} {expected:?}");
        assert!((0.2..0.999).contains(&found.ssim), "{found:?}");
    }
}

/// A live session of P010 with a seam, colour correction and the detection of failures.
#[test]
fn live_panoramas_are_the_formula() {
    let mut random = Random::new(11);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let planes = warp(&stream, 3).download(&stream).unwrap();
        for (lookup, bound) in [(Lookup::Planes, 0.53), (Lookup::Mesh, 2.0)] {
            let stitch = StitchOptions { lookup, ..StitchOptions::default() };
            let options = LiveOptions { input: P010.into(), stitch, pace: Pace::Live, ..waiting() };
            let session =
                Session::new(&device, warp(&stream, 3), &[Output::panorama(P010)], options)
                    .unwrap();
            let mut panoramas = session.panoramas();
            for n in 0..3 {
                let [_, pictures] = pictures(&mut random, 3);
                submit(&session, &pictures, 0..3, n);
                let panorama = panoramas.next().unwrap();
                let mut bytes = panorama.bytes().iter().copied();
                let found = Raster::from_bytes(CANVAS, P010, || bytes.next().unwrap());
                assert!(panorama.to_picture().is_none());
                let exact = exact(&planes, &pictures, &Colours::IDENTITY);
                // Only the mesh shares chroma samples, so compare its luma.
                let worst = if lookup == Lookup::Mesh {
                    let pixels = CANVAS.element_product() as usize;
                    let by_planes = StitchOptions { lookup: Lookup::Planes, ..stitch };
                    let planes = stitched(&stream, &pictures, &by_planes, P010).ten_bits();
                    let found = found.ten_bits();
                    let luma = found[..pixels].iter().zip(&planes);
                    luma.map(|(a, b)| f64::from(a.abs_diff(*b))).fold(0.0, f64::max)
                } else {
                    oracle::worst(&found, &exact)
                };
                assert!(worst <= bound, "{device}, {lookup:?}, {n}: {worst}");
            }
        }
        for blend in
            [Blend::Seam(SeamOptions::default()), Blend::Multiband(MultibandOptions::default())]
        {
            let options = LiveOptions {
                input: P010.into(),
                colour: ColourOptions { follow: true, every: 1, ..STILL },
                blend,
                failure: Some(failure()),
                ..LiveOptions::default()
            };
            let session =
                Session::new(&device, warp(&stream, 3), &[Output::panorama(P010)], options)
                    .unwrap();
            let mut panoramas = session.panoramas();
            let [_, pictures] = pictures(&mut random, 3);
            for n in 0..40 {
                submit(&session, &pictures, 0..3, n);
                let panorama = panoramas.next().unwrap();
                let mut bytes = panorama.bytes().iter().copied();
                let found = Raster::from_bytes(CANVAS, P010, || bytes.next().unwrap());
                // The pictures have no level near black, so only pixels without a camera are black.
                let seen = found.ten_bits().iter().filter(|level| **level > 150).count();
                assert!(seen > 3000, "{device}, {blend:?}, {n}: {seen}");
            }
            session.health().unwrap();
            let counters = session.counters();
            assert!(counters.analyses > 0 && counters.strikes == 0, "{device}: {counters:?}");
            for (health, picture) in session.cameras().iter().zip(&pictures) {
                let samples = picture.ten_bits();
                let luma = &samples[..SOURCE.element_product() as usize];
                let mean = luma.iter().map(|sample| f64::from(sample / 4)).sum::<f64>();
                let mean = mean / luma.len() as f64;
                assert!((health.mean - mean).abs() < 5.0, "{device}: {health:?}, {mean}");
            }
        }
    }
}

/// A camera fails and is covered by a colour, in panoramas with every lookup and in views.
#[test]
fn lost_cameras_are_those_of_nv12() {
    let mut random = Random::new(13);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let pictures = pictures(&mut random, 3);
        for (lookup, viewed) in
            [(Lookup::Planes, false), (Lookup::Mesh, false), (Lookup::Mesh, true)]
        {
            let mut last = [NV12, P010].iter().zip(&pictures).map(|(&pixels, pictures)| {
                let options = LiveOptions {
                    input: pixels.into(),
                    stitch: StitchOptions { lookup, ..StitchOptions::default() },
                    colour: STILL,
                    failure: Some(failure()),
                    ..LiveOptions::default()
                };
                let warp = warp(&stream, 3);
                let session = if viewed {
                    let viewer = Viewer::new(&geometry(3), false).unwrap();
                    let view =
                        Output::view(pixels, CANVAS, ViewPose { fov: 70.0, ..ViewPose::default() });
                    Session::new(&device, (warp, viewer), &[view], options)
                } else {
                    Session::new(&device, warp, &[Output::panorama(pixels)], options)
                };
                let session = session.unwrap();
                let mut panoramas = session.panoramas();
                let mut bytes = Vec::new();
                for n in 0..40 {
                    let before = session.counters().sets;
                    if n == 3 {
                        session.set_present(1, false).unwrap();
                    }
                    submit(&session, pictures, 0..1, n);
                    if n < 3 {
                        submit(&session, pictures, 1..2, n);
                    }
                    submit(&session, pictures, 2..3, n);
                    let completed = session.counters().sets - before;
                    for panorama in panoramas.by_ref().take(completed as usize) {
                        bytes = panorama.bytes().to_vec();
                    }
                }
                assert_eq!(session.cameras()[1].cover, 1.0, "{device}, {lookup:?}");
                let mut bytes = bytes.into_iter();
                Raster::from_bytes(CANVAS, pixels, || bytes.next().unwrap())
            });
            let (nv12, p010) = (last.next().unwrap(), last.next().unwrap());
            let most = apart(&p010, &nv12);
            assert!(most <= ROUNDING, "{device}, {lookup:?}, {viewed}: {most}");
            // The lost camera alone sees the middle, where its cover is shown. It is neither gray nor the picture.
            let at = (CANVAS.y / 4 * chroma_size(CANVAS).x + 25) as usize;
            let chroma = &p010.ten_bits()[CANVAS.element_product() as usize + 2 * at..][..2];
            let chroma = chroma.iter().map(|sample| sample.abs_diff(512)).max();
            assert!(chroma > Some(120), "{device}, {lookup:?}, {viewed}: {chroma:?}");
        }
    }
}

/// Returns options with which cameras never count as late, frozen or black, only as gone.
fn failure() -> FailureOptions {
    FailureOptions {
        deadline: Duration::from_secs(100),
        gone: 10_000,
        frozen: 10_000,
        black: 10_000,
        every: 1,
        settle: 2,
        fade: 5,
        hold: 0,
        colour: Rgba8::opaque(200, 30, 90),
        ..FailureOptions::default()
    }
}

/// Pushes the `n`-th frame of some cameras.
fn submit(session: &Session, pictures: &[Raster], cameras: std::ops::Range<usize>, n: u32) {
    for camera in cameras {
        let picture = &pictures[camera];
        let bytes = bytes(picture);
        let frame = Frame::tight(picture.format(), &bytes).unwrap();
        session.push(camera, frame, FRAME * n).unwrap();
    }
}

/// Combinations of P010 with other formats that no kernel supports are errors that name both formats and the remedy.
#[test]
fn unsupported_combinations_are_errors() {
    let mut random = Random::new(12);
    let device = Device::cpu();
    let stream = device.stream().unwrap();
    let [nv12, p010] = pictures(&mut random, 2);
    let [nv12, p010] = [nv12, p010].map(|pictures| upload(&stream, &pictures));
    let warp = warp(&stream, 2);
    let out_of = |pixels| DeviceFrame::new(&device, FrameFormat { size: CANVAS, pixels }).unwrap();
    let mixed = [nv12[0].view(), p010[1].view()];
    let check = |error: &dyn std::fmt::Display| {
        let text = error.to_string();
        assert!(text.contains("NV12") && text.contains("P010"), "{text}");
        assert!(text.contains("use P010 for all frames and for the output"), "{text}");
    };
    for (frames, output) in [(&mixed[..], NV12), (&mixed, P010), (&views(&p010), NV12)] {
        let mut out = out_of(output);
        let view = ViewPose { pan: 0.0, tilt: 0.0, roll: 0.0, fov: 60.0 };
        let viewer = Viewer::new(&geometry(2), false).unwrap();
        let options = StitchOptions::default();
        let error = viewer.submit(&stream, frames, None, &view, &options, &mut out).unwrap_err();
        check(&error);
        let mut multiband = Multiband::new(&stream, &warp, 2).unwrap().unwrap();
        let error = multiband.submit(&stream, frames, &warp, &options, &mut out).unwrap_err();
        check(&error);
    }
    let overlaps = Overlaps::find(&stream, &warp).unwrap();
    check(&overlaps.sums(&stream, &mixed).unwrap_err());
    let error = StatisticsSampler::new(&device).unwrap().sample(&stream, &mixed).unwrap_err();
    assert!(error.to_string().contains("picture 2 differs"), "{error}");
    let options = LiveOptions { input: P010.into(), ..LiveOptions::default() };
    let error = Session::new(&device, warp, &[Output::panorama(NV12)], options).unwrap_err();
    check(&error);
}
