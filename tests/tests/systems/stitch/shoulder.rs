//! Tests of the shoulder, which keeps highlights, in every way to stitch with a warp. The pictures consist of patches
//! of one level, so that the results depend only on the levels. The expected levels follow from the formula in f64.

use glam::{UVec2, Vec3, uvec2};
use panoweave::device::Stream;
use panoweave::frame::{
    DeviceFrame, FrameFormat, FrameView, PixelFormat, Range, YuvEncoding, YuvMatrix,
};
use panoweave::ops::stitch::{Colours, Covers, Lookup, StitchOptions, stitch};
use panoweave::warp::{DeviceWarp, Plane, Warp};
use panoweave_tests::raster::{Pixels, Raster, chroma_size};
use panoweave_tests::{oracle, panoweave_devices, supported};
use shared_types::stitch::Colour;
use shared_types::{Chroma, Rgba8};

use super::mesh::case::frame;

/// The side of a patch in pixels.
const PATCH: u32 = 8;

/// The patches of a row. There is a patch for each level.
const ROW: u32 = 16;

const SIZE: UVec2 = UVec2::splat(PATCH * ROW);

const ENCODING: YuvEncoding = YuvEncoding { matrix: YuvMatrix::Bt709, range: Range::Limited };

/// The formats of the pictures and of the panorama.
const FORMATS: [PixelFormat; 3] =
    [PixelFormat::Rgba8, PixelFormat::Nv12(ENCODING), PixelFormat::P010(ENCODING)];

/// Returns the level of the patch at a pixel: red and green of RGBA pictures, or luma.
fn level(at: UVec2) -> u8 {
    let patch = at / PATCH;
    (patch.y * ROW + patch.x) as u8
}

fn pixels() -> impl Iterator<Item = UVec2> {
    (0..SIZE.y).flat_map(|y| (0..SIZE.x).map(move |x| uvec2(x, y)))
}

/// Returns a picture with a patch for each level. Blue differs by up to 5 levels, so that channels are distinguished,
/// and a channel may be clipped where another one is not.
fn picture(format: PixelFormat) -> Raster {
    if format == PixelFormat::Rgba8 {
        let pixel = |at| Rgba8::opaque(level(at), level(at), level(at) ^ 5);
        return Raster { size: SIZE, pixels: Pixels::Rgba8(pixels().map(pixel).collect()) };
    }
    let uv = vec![Chroma { u: 128, v: 128 }; chroma_size(SIZE).element_product() as usize];
    let pixels = Pixels::Nv12 { y: pixels().map(level).collect(), uv, encoding: ENCODING };
    let gray = Raster { size: SIZE, pixels };
    if let PixelFormat::P010(..) = format { gray.to_p010() } else { gray }
}

/// Returns the red, green and blue levels of each pixel. Pictures in Y'CbCr must be gray.
fn levels(picture: &Raster) -> Vec<[f64; 3]> {
    let gray = |luma: f64| [(luma - 16.0) * 255.0 / 219.0; 3];
    match &picture.pixels {
        Pixels::Rgba8(pixels) => {
            pixels.iter().map(|&Rgba8 { r, g, b, .. }| [r, g, b].map(f64::from)).collect()
        }
        Pixels::Nv12 { y, .. } => y.iter().map(|&y| gray(y.into())).collect(),
        Pixels::P010 { y, .. } => y.iter().map(|&y| gray(f64::from(y) / 256.0)).collect(),
    }
}

/// Returns the distance of two levels that a format distinguishes.
fn step(format: PixelFormat) -> f64 {
    match format {
        PixelFormat::Rgba8 => 1.0,
        PixelFormat::Nv12(..) => 255.0 / 219.0,
        PixelFormat::P010(..) => 255.0 / 219.0 / 4.0,
        other => unreachable!("kernels do not see {other}"),
    }
}

/// Returns whether a camera is shown at a pixel. Each row of patches shows one of the cameras in turn, and every fourth
/// row shows all of them.
fn is_shown(camera: usize, at: UVec2, cameras: usize) -> bool {
    let row = (at.y / PATCH) as usize;
    row % 4 == 3 || row % cameras == camera
}

/// Returns a warp that shows every picture as it is.
fn warp(cameras: usize) -> Warp {
    let mut planes = vec![Vec::new(); 3 * cameras];
    for at in pixels() {
        for camera in 0..cameras {
            let is_shown = is_shown(camera, at, cameras);
            for (plane, value) in [
                (Plane::X(camera), at.x as f32),
                (Plane::Y(camera), at.y as f32),
                (Plane::Weight(camera), f32::from(u8::from(is_shown))),
            ] {
                planes[plane.index(cameras)].push(value);
            }
        }
    }
    Warp::new(SIZE, vec![SIZE; cameras], planes).unwrap()
}

/// Returns the expected levels of a pixel if `part` of the camera is covered with `cover`, which is from 0 to 1.
fn expected(colour: &Colour, levels: [f64; 3], cover: [f64; 3], part: f64) -> [f64; 3] {
    let (gamma, keep) = (f64::from(colour.gamma), 1.0 - part);
    let offset = cover.map(|cover| cover.powf(1.0 / gamma) * part);
    let mixed = |levels: [f64; 3]| -> [f64; 3] {
        std::array::from_fn(|c| keep * f64::from(colour.gain[c]) * levels[c] / 255.0 + offset[c])
    };
    let (mixed, white) = (mixed(levels), mixed([255.0; 3]));
    let least = levels.into_iter().fold(f64::INFINITY, f64::min) / 255.0;
    std::array::from_fn(|c| {
        let limit = keep * f64::from(colour.shoulder) + offset[c];
        let limited = match colour.shoulder {
            0.0 => mixed[c],
            _ => oracle::shoulder(mixed[c], white[c], limit, least),
        };
        255.0 * limited.clamp(0.0, 1.0).powf(gamma)
    })
}

/// Stitches pictures with patches, and returns the largest difference from the formula in levels. Ignores the borders
/// of patches, where samples between two pixels mix two levels. Returns 0 if the lookup does not support the stitch.
fn worst(
    stream: &Stream,
    cameras: usize,
    formats: [PixelFormat; 2],
    options: &StitchOptions,
) -> f64 {
    let [input, output] = formats;
    let source = picture(input);
    let frames: Vec<DeviceFrame> = (0..cameras).map(|_| frame(stream, &source)).collect();
    let frames: Vec<FrameView<'_>> = frames.iter().map(DeviceFrame::view).collect();
    let warp = DeviceWarp::upload(stream, &warp(cameras)).unwrap();
    let format = FrameFormat { size: SIZE, pixels: output };
    let mut out = DeviceFrame::new(stream.device(), format).unwrap();
    if supported(stitch(stream, &frames, &warp, options, &mut out)).is_none() {
        return 0.0;
    }
    let found = levels(&Raster::download(stream, &out));
    let source = levels(&source);
    let mut worst = 0.0_f64;
    for (i, at) in pixels().enumerate() {
        let inner = at % PATCH;
        if inner.min_element() < 2 || inner.max_element() > PATCH - 3 {
            continue;
        }
        let shown = (0..cameras).filter(|camera| is_shown(*camera, at, cameras));
        let Covers { colour: cover, parts } = options.covers;
        let cover = cover.to_array().map(f64::from);
        let shown: Vec<[f64; 3]> = shown
            .map(|of| expected(&options.colours[of], source[i], cover, parts[of].into()))
            .collect();
        for channel in 0..3 {
            let sum: f64 = shown.iter().map(|levels| levels[channel]).sum();
            let mean = sum / shown.len() as f64;
            worst = worst.max((found[i][channel] - mean).abs());
        }
    }
    worst
}

/// Returns gray gains, and gammas, for the cameras.
fn colours(cameras: usize, gamma: f32) -> Colours {
    let colour = |camera| {
        let gain = Vec3::splat([1.7, 0.8, 1.0, 1.15][camera % 4]);
        Colour { gain, gamma, ..Colour::IDENTITY }.with_shoulder()
    };
    Colours::of((0..cameras).map(colour).collect::<Vec<_>>())
}

/// Returns the tested pairs of formats. A panorama in Y'CbCr is gray, as `levels` requires, if the pictures are.
fn formats() -> impl Iterator<Item = [PixelFormat; 2]> {
    let pairs = FORMATS.into_iter().flat_map(|input| FORMATS.map(|output| [input, output]));
    pairs.filter(|[input, output]| *input != PixelFormat::Rgba8 || input == output)
}

#[test]
fn every_stitch_keeps_highlights() {
    let ways =
        || Lookup::ALL.into_iter().flat_map(|lookup| [1.0, 0.8].map(|gamma| (lookup, gamma)));
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for (cameras, formats) in [2, 5].into_iter().flat_map(|c| formats().map(move |f| (c, f))) {
            for (lookup, gamma) in ways() {
                let colours = colours(cameras, gamma);
                let options = StitchOptions { colours, lookup, ..StitchOptions::default() };
                let off = worst(&stream, cameras, formats, &options);
                // Half a step, and the error of a fast power.
                let most = 0.5 * step(formats[1]) + 0.02;
                let case = format!("{device}, {cameras} cameras, {formats:?}, {lookup:?}");
                assert!(off <= most, "{case}, {gamma}: {off} levels");
            }
        }
    }
}

/// A camera that disappears behind a colour does so evenly: the shoulder maps white to the mix of white and the colour.
#[test]
fn covered_cameras_keep_highlights() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for (part, lookup) in [0.0, 0.3, 0.9, 1.0]
            .into_iter()
            .flat_map(|part| [Lookup::Planes, Lookup::Auto].map(|lookup| (part, lookup)))
        {
            let mut covers = Covers { colour: Vec3::splat(0.1), ..Covers::NONE };
            (covers.parts[0], covers.parts[1]) = (part, 1.0 - part);
            let colours = colours(3, 0.8);
            let options = StitchOptions { colours, covers, lookup, ..StitchOptions::default() };
            for format in FORMATS {
                let off = worst(&stream, 3, [format, format], &options);
                let most = 0.5 * step(format) + 0.02;
                assert!(off <= most, "{device}, {format:?}, {part}, {lookup:?}: {off} levels");
            }
        }
    }
}

/// White stays white whatever the gain is, and no two levels are swapped.
#[test]
fn levels_stay_in_order_and_white_stays_white() {
    for gain in [0.0, 0.01, 0.5, 0.95, 1.0, 1.01, 1.3, 2.0, 4.0, 1000.0] {
        let colour = Colour { gain: Vec3::splat(gain), ..Colour::IDENTITY }.with_shoulder();
        let of =
            |level: u8| kernels_gpu::colour::corrected(&colour, Vec3::splat(level.into()), 1.0).x;
        let all: Vec<f32> = (0..=255).map(of).collect();
        assert!(all.is_sorted(), "{gain}: {all:?}");
        let white = if gain == 0.0 { 0.0 } else { 1.0 };
        assert!((all[255] - white).abs() < 1e-5, "{gain}: {}", all[255]);
    }
}

#[test]
fn shoulders_that_cannot_be_are_refused() {
    for shoulder in [-0.1, 1.1, f32::NAN] {
        let colours = Colours::of([Colour::IDENTITY, Colour { shoulder, ..Colour::IDENTITY }]);
        let options = StitchOptions { colours, ..StitchOptions::default() };
        let error = options.check(2).unwrap_err();
        assert!(error.to_string().contains("camera 2: shoulder is"), "{error}");
    }
}
