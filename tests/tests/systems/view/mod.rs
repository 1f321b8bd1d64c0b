//! Tests of the virtual camera. They compare views with camera models and formulas in f64 and with stitched panoramas,
//! and test limits, tracks, live views and rejected arguments. They run on the CPU, and on a GPU if there is one.

mod cameras;
mod exact;
mod limits;
mod live;
mod many;
mod panorama;
mod refusals;
mod track;
mod weights;

use bytemuck::Pod;
use glam::UVec2;
use panoweave::device::{Image, Stream};
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat};
use panoweave::geometry::rig::Rig;
use panoweave::ops::stitch::StitchOptions;
use panoweave::ops::view::{ViewPose, Viewer};
use panoweave::warp::DeviceWarp;
use panoweave_tests::random::Random;
use panoweave_tests::raster::{Pixels, Raster, chroma_size, upload_plane};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use shared_types::{Chroma, Rgba8};

/// Two overlapping cameras, a pinhole and a fisheye, with all lens and mount parameters.
const CAMERAS: &str = r#"
[[camera]]
name = "left"
size = [161, 121]
lens = "pinhole"
matrix = { fx = 120.0, fy = 121.0, cx = 79.3, cy = 60.8 }
distortion = [-0.08, 0.02, 0.001, -0.0005, 0.001]
yaw = -22.0
pitch = 2.0
roll = 3.0

[[camera]]
name = "right"
size = [173, 117]
lens = "fisheye"
matrix = { fx = 99.0, fy = 98.0, cx = 86.5, cy = 57.6 }
distortion = [0.02, -0.01, 0.002, 0.0005]
yaw = 24.0
pitch = -3.0
roll = -2.0
"#;

/// The allowed error in levels that is caused by rounding to a whole level and by arithmetic in f32.
const ROUNDING: f64 = 0.55;

/// The allowed error in levels for pictures without sharp edges that are read through textures. It consists of
/// [`ROUNDING`] and of the error because textures round positions to 8 fraction bits.
const TEXTURED: f64 = 0.65;

/// Returns a proptest runner for `cases` cases with a fixed seed.
fn runner(cases: u32) -> TestRunner {
    let rng_seed = RngSeed::Fixed(20_261_121);
    TestRunner::new(Config { cases, rng_seed, failure_persistence: None, ..Config::default() })
}

/// Returns a rig of [`CAMERAS`]. `panorama` is the content of the table `[panorama]`.
fn rig(panorama: &str) -> Rig {
    let text = format!("[panorama]\n{panorama}\n{CAMERAS}");
    Rig::parse(&text, "made up").unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a rig whose cylindrical panorama shows all of [`CAMERAS`].
fn cylinder() -> Rig {
    rig("projection = \"cylindrical\"\nwidth = 401\nheight = 180\nfov = 150.0")
}

/// Returns a rig of [`CAMERAS`] whose planar panorama of `size` equals `view` without its roll.
fn planar(view: &ViewPose, size: UVec2) -> Rig {
    let ViewPose { pan, tilt, fov, .. } = view;
    let UVec2 { x, y } = size;
    rig(&format!(
        "projection = \"planar\"\nwidth = {x}\nheight = {y}\nfov = {fov:?}\nyaw = {pan:?}\npitch = {tilt:?}"
    ))
}

fn sources(rig: &Rig) -> [UVec2; 2] {
    [0, 1].map(|camera| UVec2::from(rig.cameras[camera].size))
}

/// Returns a picture without sharp edges: neighbouring samples of a channel or plane differ by at most 7 levels.
fn smooth(random: &mut Random, size: UVec2, format: PixelFormat) -> Raster {
    let mut wave = || {
        let [a, b] = [(); 2].map(|()| f64::from(random.between(-0.1, 0.1)));
        let [amplitude, phase] =
            [(20.0, 60.0), (0.0, 6.3)].map(|(low, high)| f64::from(random.between(low, high)));
        move |x: u32, y: u32| {
            (128.0 + amplitude * (a * f64::from(x) + b * f64::from(y) + phase).sin()).round() as u8
        }
    };
    let (first, second, third) = (wave(), wave(), wave());
    let places =
        |size: UVec2| (0..size.element_product()).map(move |at| (at % size.x, at / size.x));
    let pixels = match format {
        PixelFormat::Rgba8 => Pixels::Rgba8(
            places(size)
                .map(|(x, y)| Rgba8::opaque(first(x, y), second(x, y), third(x, y)))
                .collect(),
        ),
        PixelFormat::Nv12(encoding) => Pixels::Nv12 {
            y: places(size).map(|(x, y)| first(x, y)).collect(),
            uv: places(chroma_size(size))
                .map(|(x, y)| Chroma { u: second(x, y), v: third(x, y) })
                .collect(),
            encoding,
        },
        other => unreachable!("other modules test {other}"),
    };
    Raster { size, pixels }
}

/// Returns a picture of one colour.
fn plain(size: UVec2, colour: Rgba8) -> Raster {
    Raster { size, pixels: Pixels::Rgba8(vec![colour; size.element_product() as usize]) }
}

const WHITE: Rgba8 = Rgba8::opaque(255, 255, 255);

fn rgba(raster: &Raster) -> &[Rgba8] {
    match &raster.pixels {
        Pixels::Rgba8(pixels) => pixels,
        Pixels::Nv12 { .. } | Pixels::P010 { .. } => panic!("{}", raster.format()),
    }
}

/// Returns a frame on the device that is filled with a pattern, so that pixels that a kernel does not write make a test
/// fail.
fn unwritten(stream: &Stream, format: FrameFormat) -> DeviceFrame {
    let mut count = 0_u8;
    let byte = || {
        count = count.wrapping_add(1);
        count
    };
    Raster::from_bytes(format.size, format.pixels, byte).upload(stream, 12)
}

/// Uploads a picture to a device. The rows are aligned so that a GPU's texture can read them.
fn aligned(stream: &Stream, picture: &Raster) -> DeviceFrame {
    fn plane<T: Pod>(stream: &Stream, size: UVec2, elements: &[T]) -> Image<T> {
        let row = u64::from(size.x) * size_of::<T>() as u64;
        upload_plane(stream, size, elements, row.next_multiple_of(512) - row)
    }
    match &picture.pixels {
        Pixels::Rgba8(pixels) => DeviceFrame::Rgba8(plane(stream, picture.size, pixels)),
        Pixels::Nv12 { y, uv, encoding } => DeviceFrame::Nv12 {
            y: plane(stream, picture.size, y),
            uv: plane(stream, chroma_size(picture.size), uv),
            encoding: *encoding,
        },
        Pixels::P010 { y, uv, encoding } => DeviceFrame::P010 {
            y: plane(stream, picture.size, y),
            uv: plane(stream, chroma_size(picture.size), uv),
            encoding: *encoding,
        },
    }
}

/// Renders a view of one picture per camera with a viewer. If `warp` is given, uses the weights of this warp.
fn shown<'p>(
    stream: &Stream,
    viewer: &Viewer,
    pictures: impl AsRef<[&'p Raster]>,
    warp: Option<&DeviceWarp>,
    view: &ViewPose,
    options: &StitchOptions,
    format: FrameFormat,
) -> Raster {
    let frames: Vec<_> = pictures.as_ref().iter().map(|picture| aligned(stream, picture)).collect();
    let frames: Vec<_> = frames.iter().map(DeviceFrame::view).collect();
    let mut out = unwritten(stream, format);
    viewer.submit(stream, &frames, warp, view, options, &mut out).unwrap();
    Raster::download(stream, &out)
}

/// Stitches the pictures to an RGBA panorama.
fn stitched(
    stream: &Stream,
    warp: &DeviceWarp,
    pictures: [&Raster; 2],
    options: &StitchOptions,
) -> Raster {
    let [left, right] = pictures.map(|picture| picture.upload(stream, 8));
    let mut out = unwritten(stream, FrameFormat::rgba8(warp.size().x, warp.size().y));
    panoweave::ops::stitch::stitch(
        stream,
        &[(&left).into(), (&right).into()],
        warp,
        options,
        &mut out,
    )
    .unwrap();
    Raster::download(stream, &out)
}

/// Returns the number of pixels that differ between two pictures by more than one level.
fn differing(a: &Raster, b: &Raster) -> usize {
    assert_eq!(a.size, b.size);
    let far = |a: &Rgba8, b: &Rgba8| {
        [(a.r, b.r), (a.g, b.g), (a.b, b.b)].iter().any(|(a, b)| a.abs_diff(*b) > 1)
    };
    rgba(a).iter().zip(rgba(b)).filter(|(a, b)| far(a, b)).count()
}
