//! Tests of the formats that are converted to NV12 on the device: I420, YUY2, UYVY and GRAY8. The conversions are
//! computed here again, byte by byte, from the description of the formats. Each system sees such frames as NV12, so a
//! live session for them must make the panoramas and the views of one for NV12.

use glam::{UVec2, uvec2};
use panoweave::device::Device;
use panoweave::frame::{
    DeviceFrame, Frame, FrameFormat, PixelFormat, Range, YuvEncoding, YuvMatrix,
};
use panoweave::geometry::Geometry;
use panoweave::geometry::rig::Rig;
use panoweave::live::{ColourOptions, LiveOptions, Output, Session};
use panoweave::ops::blend::Blend;
use panoweave::ops::multiband::MultibandOptions;
use panoweave::ops::seam::SeamOptions;
use panoweave::ops::view::{ViewPose, Viewer};
use panoweave::warp::DeviceWarp;
use panoweave_tests::live::{FRAME, STILL, waiting};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;

const ENCODING: YuvEncoding = YuvEncoding { matrix: YuvMatrix::Bt601, range: Range::Full };
const NV12: PixelFormat = PixelFormat::Nv12(ENCODING);
const FORMATS: [PixelFormat; 4] = [
    PixelFormat::I420(ENCODING),
    PixelFormat::Yuy2(ENCODING),
    PixelFormat::Uyvy(ENCODING),
    PixelFormat::Gray8(ENCODING),
];

fn half(size: UVec2) -> [usize; 2] {
    [size.x.div_ceil(2) as usize, size.y.div_ceil(2) as usize]
}

/// Returns the positions of the luma, Cb and Cr of a pixel in a frame of YUY2 or UYVY.
fn in_pair(format: FrameFormat, x: usize, y: usize) -> [usize; 3] {
    let pair = (y * half(format.size)[0] + x / 2) * 4;
    match format.pixels {
        PixelFormat::Yuy2(_) => [pair + x % 2 * 2, pair + 1, pair + 3],
        _ => [pair + 1 + x % 2 * 2, pair, pair + 2],
    }
}

/// Returns the NV12 frame that kernels must see.
fn to_nv12(format: FrameFormat, bytes: &[u8]) -> Vec<u8> {
    let [width, height] = format.size.to_array().map(|side| side as usize);
    let [columns, rows] = half(format.size);
    let luma = width * height;
    let mut out = bytes[..luma.min(bytes.len())].to_vec();
    for at in 0..columns * rows {
        out.extend(match format.pixels {
            PixelFormat::I420(_) => [bytes[luma + at], bytes[luma + columns * rows + at]],
            PixelFormat::Gray8(_) => [128, 128],
            _ => [1, 2].map(|channel| {
                let of_row = |y: usize| {
                    let at = in_pair(format, at % columns * 2, y.min(height - 1))[channel];
                    f64::from(bytes[at])
                };
                let y = at / columns * 2;
                // Half a level is rounded up.
                ((of_row(y) + of_row(y + 1)) / 2.0 + 0.25).round() as u8
            }),
        });
    }
    if let PixelFormat::Yuy2(_) | PixelFormat::Uyvy(_) = format.pixels {
        for at in 0..luma {
            out[at] = bytes[in_pair(format, at % width, at / width)[0]];
        }
    }
    out
}

/// Returns the frame to which an NV12 frame must be converted.
fn from_nv12(format: FrameFormat, nv12: &[u8]) -> Vec<u8> {
    let [width, height] = format.size.to_array().map(|side| side as usize);
    let (luma, chroma) = nv12.split_at(width * height);
    let every_second = |first: usize| chroma.iter().copied().skip(first).step_by(2);
    match format.pixels {
        PixelFormat::I420(_) => {
            [luma.to_vec(), every_second(0).chain(every_second(1)).collect()].concat()
        }
        PixelFormat::Gray8(_) => luma.to_vec(),
        _ => {
            let columns = half(format.size)[0];
            let mut out = vec![0; format.bytes()];
            for (x, y) in (0..height).flat_map(|y| (0..columns * 2).map(move |x| (x, y))) {
                let [at, cb, cr] = in_pair(format, x, y);
                out[at] = luma[y * width + x.min(width - 1)];
                let pair = (y / 2 * columns + x / 2) * 2;
                (out[cb], out[cr]) = (chroma[pair], chroma[pair + 1]);
            }
            out
        }
    }
}

fn noise(random: &mut Random, format: FrameFormat) -> Vec<u8> {
    (0..format.bytes()).map(|_| random.bits() as u8).collect()
}

#[test]
fn frames_are_converted_to_nv12_and_back() {
    let mut random = Random::new(1);
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for size in [(1, 1), (2, 1), (1, 2), (5, 3), (64, 48), (127, 65), (300, 4)] {
            for pixels in FORMATS {
                let format = FrameFormat { size: size.into(), pixels };
                let bytes = noise(&mut random, format);
                let mut frame = DeviceFrame::new(&device, format).unwrap();
                assert_eq!(frame.format(), format);
                assert_eq!(frame.view().format(), FrameFormat { pixels: NV12, ..format });
                frame.upload(&stream, &Frame::tight(format, &bytes).unwrap()).unwrap();
                let expected = to_nv12(format, &bytes);
                let DeviceFrame::Converted(inside) = &frame else { panic!("{format}") };
                let mut found = vec![0; expected.len()];
                inside.stored().download(&stream, &mut found).unwrap();
                assert!(found == expected, "{device}, {format}");
                let mut back = vec![0; format.bytes()];
                frame.download(&stream, &mut back).unwrap();
                assert!(back == from_nv12(format, &expected), "{device}, {format}: the way back");
            }
        }
    }
}

#[test]
fn black_frames_are_those_of_nv12() {
    for pixels in FORMATS {
        for range in [Range::Full, Range::Limited] {
            let pixels = pixels.with_encoding(YuvEncoding { range, ..ENCODING });
            let format = FrameFormat { size: uvec2(7, 5), pixels };
            let nv12 = FrameFormat { pixels: pixels.stored(), ..format };
            assert_eq!(to_nv12(format, &format.black()), nv12.black(), "{format}");
        }
    }
}

/// Two cameras with distortion, 60° apart, whose pictures are 96×64 pixels.
const RIG: &str = r#"
[panorama]
width = 180
height = 64
projection = "cylindrical"
fov = 140.0

[[camera]]
name = "left"
size = [96, 64]
lens = "pinhole"
matrix = { fx = 48.0, fy = 48.0, cx = 47.5, cy = 31.5 }
yaw = -30.0

[[camera]]
name = "right"
size = [96, 64]
lens = "pinhole"
matrix = { fx = 48.0, fy = 48.0, cx = 47.5, cy = 31.5 }
yaw = 30.0
"#;

pub(crate) fn geometry() -> Geometry {
    Rig::parse(RIG, "rig.toml").unwrap().geometry().unwrap()
}

/// Stitches three sets, and returns the bytes of all panoramas or views.
fn stitched(
    device: &Device,
    sets: &[[Vec<u8>; 2]],
    output: &Output,
    options: LiveOptions,
) -> Vec<Vec<u8>> {
    let geometry = geometry();
    let warp = DeviceWarp::render(&device.stream().unwrap(), &geometry).unwrap();
    let viewer = Viewer::new(&geometry, false).unwrap();
    let output = std::slice::from_ref(output);
    let session = Session::new(device, (warp, viewer), output, options).unwrap();
    let mut panoramas = session.panoramas();
    let stitch = |(n, set): (u32, &[Vec<u8>; 2])| {
        let frames = set.iter().zip(session.input_formats());
        let frames: Vec<_> =
            frames.map(|(bytes, format)| Frame::tight(*format, bytes).unwrap()).collect();
        session.submit(&frames, FRAME * n).unwrap();
        panoramas.next().unwrap().bytes().to_vec()
    };
    (0..).zip(sets).map(stitch).collect()
}

#[test]
fn every_system_sees_the_frames_as_nv12() {
    let mut random = Random::new(2);
    let (input, output) = (uvec2(96, 64), uvec2(180, 64));
    for device in panoweave_devices() {
        for pixels in FORMATS {
            let format = |size, pixels| FrameFormat { size, pixels };
            let sets: Vec<[Vec<u8>; 2]> =
                (0..3).map(|_| [0, 1].map(|_| noise(&mut random, format(input, pixels)))).collect();
            let as_nv12: Vec<_> = sets
                .iter()
                .map(|set| set.each_ref().map(|bytes| to_nv12(format(input, pixels), bytes)))
                .collect();
            let seam = SeamOptions::default();
            for (blend, has_view) in [
                (Blend::Feather, false),
                (Blend::Feather, true),
                (Blend::Seam(seam), false),
                (Blend::Multiband(MultibandOptions::default()), false),
            ] {
                // On a GPU, it depends on the time in which set a colour or a seam is first used.
                let is_still = blend == Blend::Feather || device.to_string().contains("cuda:");
                if is_still && blend != Blend::Feather {
                    continue;
                }
                let colour = ColourOptions { follow: !is_still, every: 1, ..STILL };
                let options = |pixels: PixelFormat| LiveOptions {
                    input: pixels.into(),
                    blend,
                    colour,
                    ..waiting()
                };
                let pose = ViewPose { pan: 8.0, tilt: 1.0, roll: 0.0, fov: 60.0 };
                let shown = |pixels: PixelFormat| match has_view {
                    true => Output::view(pixels, output, pose),
                    false => Output::panorama(pixels).sized(output),
                };
                let found = stitched(&device, &sets, &shown(pixels), options(pixels));
                let expected = stitched(&device, &as_nv12, &shown(NV12), options(NV12));
                for (found, expected) in found.iter().zip(&expected) {
                    let expected = from_nv12(format(output, pixels), expected);
                    assert!(*found == expected, "{device}, {pixels}, {blend:?}, {has_view}");
                }
            }
        }
    }
}
