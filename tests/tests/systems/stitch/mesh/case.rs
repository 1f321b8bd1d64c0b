//! Test cases with random warps and pictures in several pairs of formats, and functions that stitch the pictures and
//! compare the results.

use glam::{UVec2, Vec3};
use panoweave::device::Stream;
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat, Range, YuvEncoding, YuvMatrix};
use panoweave::ops::stitch::{Colours, StitchOptions, stitch};
use panoweave::warp::{DeviceWarp, Warp};
use panoweave_tests::random::{Random, random_rig};
use panoweave_tests::raster::{Pixels, Raster, chroma_size};
use shared_types::stitch::Colour;
use shared_types::{Chroma, Chroma10, Rgba8};

pub(crate) const NV12: PixelFormat =
    PixelFormat::Nv12(YuvEncoding { matrix: YuvMatrix::Bt709, range: Range::Limited });
pub(crate) const FULL: PixelFormat =
    PixelFormat::Nv12(YuvEncoding { matrix: YuvMatrix::Bt601, range: Range::Full });

pub(crate) const P010: PixelFormat =
    PixelFormat::P010(YuvEncoding { matrix: YuvMatrix::Bt2020, range: Range::Limited });

/// The tested pairs of input and output formats.
pub(crate) const FORMATS: [[PixelFormat; 2]; 6] = [
    [PixelFormat::Rgba8, PixelFormat::Rgba8],
    [NV12, NV12],
    [NV12, PixelFormat::Rgba8],
    [PixelFormat::Rgba8, FULL],
    [FULL, FULL],
    [P010, P010],
];

/// Returns the level of a smooth picture at a pixel. Neighbouring pixels differ by at most 4 levels, which is enough to
/// detect a position that is wrong by 1/32 pixel.
pub(crate) fn wave(seed: u32, x: u32, y: u32) -> f64 {
    let (x, y, s) = (f64::from(x), f64::from(y), f64::from(seed));
    120.0 + 45.0 * (0.05 * x + s).sin() + 45.0 * (0.05 * y + 0.02 * x + 2.0 * s).cos()
}

pub(crate) fn waves(size: UVec2, format: PixelFormat, seed: u32) -> Raster {
    let plane = |size: UVec2| (0..size.y).flat_map(move |y| (0..size.x).map(move |x| (x, y)));
    let level = |channel: u32, (x, y): (u32, u32)| wave(3 * seed + channel, x, y).round() as u8;
    let pixels = match format {
        PixelFormat::Rgba8 => {
            let pixel = |at| Rgba8::opaque(level(0, at), level(1, at), level(2, at));
            Pixels::Rgba8(plane(size).map(pixel).collect())
        }
        PixelFormat::Nv12(encoding) => {
            // With this chroma, the RGB colour is within the gamut for every luma that `wave` returns.
            let chroma = |channel, (x, y)| {
                (128.0 + (wave(channel, 2 * x, 2 * y) - 120.0) * 0.25).round() as u8
            };
            let y = plane(size).map(|at| level(0, at)).collect();
            let uv = plane(chroma_size(size))
                .map(|at| Chroma { u: chroma(3 * seed + 1, at), v: chroma(3 * seed + 2, at) })
                .collect();
            Pixels::Nv12 { y, uv, encoding }
        }
        PixelFormat::P010(encoding) => {
            // The same wave in quarters of a level.
            let sample = |level: f64| ((4.0 * level).round() as u16) << 6;
            let chroma =
                |channel, (x, y)| sample(128.0 + (wave(channel, 2 * x, 2 * y) - 120.0) * 0.25);
            let y = plane(size).map(|(x, y)| sample(wave(3 * seed, x, y))).collect();
            let uv = plane(chroma_size(size))
                .map(|at| Chroma10 { u: chroma(3 * seed + 1, at), v: chroma(3 * seed + 2, at) })
                .collect();
            Pixels::P010 { y, uv, encoding }
        }
        other => unreachable!("kernels do not see {other}"),
    };
    Raster { size, pixels }
}

/// A warp, a picture for each camera, the format of the panorama, and the options of the stitch.
pub(crate) struct Case {
    pub(crate) warp: Warp,
    pub(crate) pictures: [Raster; 2],
    pub(crate) output: FrameFormat,
    pub(crate) options: StitchOptions,
}

impl Case {
    pub(crate) fn new(stream: &Stream, seed: u64, [input, output]: [PixelFormat; 2]) -> Self {
        let rig = random_rig(seed);
        let warp = DeviceWarp::render(stream, &rig.geometry().unwrap()).unwrap();
        let warp = warp.download(stream).unwrap();
        let mut random = Random::new(seed);
        let mut colour = || Colour {
            gain: Vec3::new(
                random.between(0.7, 1.2),
                random.between(0.7, 1.2),
                random.between(0.7, 1.2),
            ),
            gamma: random.between(0.8, 1.2),
            ..Colour::IDENTITY
        };
        let colours = Colours::of([colour(), colour()]);
        let options = StitchOptions {
            colours,
            edge_boost: seed.is_multiple_of(3),
            ..StitchOptions::default()
        };
        let [left, right] = [0, 1].map(|camera| warp.sources()[camera]);
        let pictures = [waves(left, input, 1), waves(right, input, 2)];
        let output = FrameFormat { size: warp.size(), pixels: output };
        Self { warp, pictures, output, options }
    }

    /// Uploads the warp and stitches the pictures.
    pub(crate) fn stitched(&self, stream: &Stream, options: &StitchOptions) -> Raster {
        let warp = DeviceWarp::upload(stream, &self.warp).unwrap();
        self.stitched_by(stream, &warp, options)
    }

    pub(crate) fn stitched_by(
        &self,
        stream: &Stream,
        warp: &DeviceWarp,
        options: &StitchOptions,
    ) -> Raster {
        let [left, right] = self.frames(stream);
        let mut out = DeviceFrame::new(stream.device(), self.output).unwrap();
        stitch(stream, &[(&left).into(), (&right).into()], warp, options, &mut out).unwrap();
        Raster::download(stream, &out)
    }

    /// Uploads the pictures of both cameras. The rows are aligned so that a texture can read them.
    pub(crate) fn frames(&self, stream: &Stream) -> [DeviceFrame; 2] {
        self.pictures.each_ref().map(|picture| frame(stream, picture))
    }
}

/// Uploads a picture to the stream's device. The rows are aligned so that a texture can read them.
pub(crate) fn frame(stream: &Stream, picture: &Raster) -> DeviceFrame {
    let mut frame = DeviceFrame::new(stream.device(), picture.format()).unwrap();
    match (&mut frame, &picture.pixels) {
        (DeviceFrame::Rgba8(image), Pixels::Rgba8(pixels)) => image.upload(stream, pixels).unwrap(),
        (DeviceFrame::Nv12 { y, uv, .. }, Pixels::Nv12 { y: luma, uv: chroma, .. }) => {
            y.upload(stream, luma).unwrap();
            uv.upload(stream, chroma).unwrap();
        }
        (DeviceFrame::P010 { y, uv, .. }, Pixels::P010 { y: luma, uv: chroma, .. }) => {
            y.upload(stream, luma).unwrap();
            uv.upload(stream, chroma).unwrap();
        }
        _ => unreachable!("the frame was made for the picture"),
    }
    frame
}

/// Returns the bytes of all planes of a picture, one plane after another. Samples of 10 bits are rounded to 8.
pub(crate) fn levels(picture: &Raster) -> Vec<u8> {
    match &picture.pixels {
        Pixels::Rgba8(pixels) => bytemuck::cast_slice(pixels).to_vec(),
        Pixels::Nv12 { y, uv, .. } => [&y[..], bytemuck::cast_slice(uv)].concat(),
        Pixels::P010 { .. } => {
            picture.ten_bits().iter().map(|sample| ((sample + 2) / 4).min(255) as u8).collect()
        }
    }
}

/// Returns the largest difference between two pictures in levels, and the PSNR in dB.
pub(crate) fn difference(a: &Raster, b: &Raster) -> (u8, f64) {
    let (a, b) = (levels(a), levels(b));
    assert_eq!(a.len(), b.len());
    let squares: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum();
    let worst = a.iter().zip(&b).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0);
    (worst, 10.0 * (255.0_f64.powi(2) * a.len() as f64 / squares).log10())
}
