//! Tests of a live session whose cameras deliver different pixel formats: two encodings of NV12, and RGBA. The
//! expected pixels are computed in f64 from the planes of the warp. `view::live` tests views of such cameras.

use glam::{DMat3, DVec2, UVec2, dvec2, uvec2};
use panoweave::device::Device;
use panoweave::frame::{Frame, FrameFormat, PixelFormat, Range, YuvEncoding, YuvMatrix};
use panoweave::geometry::{Camera, Canvas, Geometry};
use panoweave::live::{
    CameraState, ColourOptions, FailureOptions, InputFormats, LiveOptions, Output, Pace, Session,
    Submitted,
};
use panoweave::ops::blend::Blend;
use panoweave::ops::seam::SeamOptions;
use panoweave::ops::stitch::{Lookup, StitchOptions};
use panoweave::warp::{DeviceWarp, Plane, Warp};
use panoweave_tests::live::{FRAME, STILL, waiting};
use panoweave_tests::oracle;
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use panoweave_tests::raster::Raster;
use shared_types::stitch::{Colour, MIN_WEIGHT};

const SOURCE: UVec2 = uvec2(44, 38);
const CANVAS: UVec2 = uvec2(102, 44);
/// The upper left corners of the cameras' pictures. Neighbours overlap by 16 columns.
const CORNERS: [DVec2; 3] = [dvec2(1.0, 0.0), dvec2(29.0, 3.0), dvec2(57.0, 6.0)];

const LIMITED: PixelFormat =
    PixelFormat::Nv12(YuvEncoding { matrix: YuvMatrix::Bt709, range: Range::Limited });
const FULL: PixelFormat =
    PixelFormat::Nv12(YuvEncoding { matrix: YuvMatrix::Bt601, range: Range::Full });
const FORMATS: [PixelFormat; 3] = [LIMITED, PixelFormat::Rgba8, FULL];

fn warp(device: &Device) -> DeviceWarp {
    let camera = |corner: DVec2| Camera::from_matrix(DMat3::from_translation(-corner), SOURCE);
    let cameras = CORNERS.map(camera).to_vec();
    let geometry = Geometry { canvas: Canvas::of_pixels(DVec2::ZERO, CANVAS), cameras };
    DeviceWarp::render(&device.stream().unwrap(), &geometry).unwrap()
}

fn format(pixels: PixelFormat) -> FrameFormat {
    FrameFormat { size: SOURCE, pixels }
}

/// Returns the bytes of a frame without padding, and the picture that they show. The levels are from 16 to 239. All
/// chroma levels are `chroma`, if it is given.
fn noise(random: &mut Random, pixels: PixelFormat, chroma: Option<u8>) -> (Vec<u8>, Raster) {
    let format = format(pixels);
    let mut bytes: Vec<u8> = (0..format.bytes()).map(|_| 16 + random.below(224) as u8).collect();
    if let (PixelFormat::Nv12(_), Some(level)) = (pixels, chroma) {
        bytes[SOURCE.element_product() as usize..].fill(level);
    }
    let mut all = bytes.iter().copied();
    let raster = Raster::from_bytes(SOURCE, pixels, || all.next().unwrap());
    (bytes, raster)
}

/// Returns the exact levels of each panorama pixel, or `None` if no camera sees it.
fn exact(planes: &Warp, pictures: &[Raster]) -> Vec<Option<[f64; 3]>> {
    let pixel = |at: usize| {
        let (mut sum, mut whole) = ([0.0; 3], 0.0);
        for (camera, picture) in pictures.iter().enumerate() {
            let [u, v, weight] = [Plane::X(camera), Plane::Y(camera), Plane::Weight(camera)]
                .map(|plane| planes.plane(plane)[at]);
            if weight <= MIN_WEIGHT || u < 0.0 || v < 0.0 {
                continue;
            }
            let levels = oracle::bilinear(picture, u.into(), v.into());
            for c in 0..3 {
                sum[c] += f64::from(weight) * oracle::grade(&Colour::IDENTITY, c, levels[c]);
            }
            whole += f64::from(weight);
        }
        (whole > 0.0).then(|| sum.map(|sum| sum / whole))
    };
    (0..CANVAS.element_product() as usize).map(pixel).collect()
}

#[test]
fn cameras_of_three_formats_make_the_computed_panoramas() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let planes = warp(&device).download(&stream).unwrap();
        for (output, lookup) in [
            (PixelFormat::Rgba8, Lookup::Mesh),
            (PixelFormat::Rgba8, Lookup::Planes),
            (LIMITED, Lookup::Mesh),
        ] {
            let stitch = StitchOptions { lookup, ..StitchOptions::default() };
            let options = LiveOptions {
                input: InputFormats::each(FORMATS),
                stitch,
                pace: Pace::Live,
                ..waiting()
            };
            let session =
                Session::new(&device, warp(&device), &[Output::panorama(output)], options).unwrap();
            assert_eq!(session.input_formats(), FORMATS.map(format));
            let mut panoramas = session.panoramas();
            let mut random = Random::new(1);
            for n in 0..6 {
                // From NV12 to NV12, 2×2 pixels of a mesh share a chroma sample, so its position is not exact.
                let chroma = (output != PixelFormat::Rgba8).then(|| 118 + random.below(20) as u8);
                let frames = FORMATS.map(|pixels| noise(&mut random, pixels, chroma));
                for (camera, (bytes, picture)) in frames.iter().enumerate() {
                    let frame = Frame::tight(picture.format(), bytes).unwrap();
                    let submitted = session.push(camera, frame, FRAME * n).unwrap();
                    assert_eq!(submitted == Submitted::Set, camera == 2, "{submitted:?}");
                }
                let panorama = panoramas.next().unwrap();
                let mut bytes = panorama.bytes().iter().copied();
                let found = Raster::from_bytes(CANVAS, output, || bytes.next().unwrap());
                let pictures = frames.map(|(_, picture)| picture);
                let worst = oracle::worst(&found, &exact(&planes, &pictures));
                assert!(worst <= 1.0, "{device}, {output}, {lookup:?}, {n}: {worst}");
            }
        }
    }
}

/// Checks the analysis of the colours and of the pictures. Each camera shows a grey of its own, which its format stores
/// exactly or not: the expected levels are those of the stored samples.
#[test]
fn colours_and_pictures_of_three_formats_are_analysed() {
    let greys = [0, 1, 2].map(|camera| f64::from(100 + 20 * camera));
    // The bytes of a frame, and the level that it shows.
    let flat = |camera: usize| -> (Vec<u8>, f64) {
        let format = format(FORMATS[camera]);
        let PixelFormat::Nv12(encoding) = FORMATS[camera] else {
            return (vec![greys[camera] as u8; format.bytes()], greys[camera]);
        };
        let [luma, ..] = oracle::from_rgb(encoding, [greys[camera]; 3]).map(f64::round);
        let mut bytes = vec![128; format.bytes()];
        bytes[..SOURCE.element_product() as usize].fill(luma as u8);
        (bytes, oracle::to_rgb(encoding, luma, [128.0; 2])[0])
    };
    let frames = [0, 1, 2].map(flat);
    let failure =
        FailureOptions { frozen: 10_000, black: 1, every: 1, ..FailureOptions::default() };
    for device in panoweave_devices() {
        let colour = ColourOptions { follow: true, every: 1, ..STILL };
        let input = InputFormats::each(FORMATS);
        let failure = Some(failure);
        let options = LiveOptions { input, colour, failure, ..LiveOptions::default() };
        let session = Session::new(&device, warp(&device), &[Output::default()], options).unwrap();
        let mut panoramas = session.panoramas();
        for n in 0..40 {
            let frame =
                |camera: usize| Frame::tight(format(FORMATS[camera]), &frames[camera].0).unwrap();
            let submitted = session.submit([0, 1, 2].map(frame), FRAME * n).unwrap();
            assert_eq!(submitted, Submitted::Set);
            drop(panoramas.next().unwrap());
            let Some(analysis) = session.colour().analysis else { continue };
            assert_eq!(analysis.overlaps.len(), 2);
            for overlap in analysis.overlaps.iter() {
                let sums = [overlap.sums.left, overlap.sums.right];
                for (sum, camera) in sums.into_iter().zip(overlap.cameras) {
                    for channel in sum {
                        let exact = frames[camera].1 * f64::from(overlap.sums.weight);
                        let error = f64::from(channel) / exact - 1.0;
                        assert!(error.abs() < 1e-5, "{device}, camera {camera}: {overlap:?}");
                    }
                }
            }
        }
        let counters = session.counters();
        assert!(counters.analyses > 0 && counters.strikes == 0, "{device}: {counters:?}");
        let colours = session.colour().colours;
        let gains = [0, 1, 2].map(|camera| colours[camera].gain.x);
        assert!(gains[0] > gains[1] && gains[1] > gains[2], "{device}: {gains:?}");
        for (camera, health) in session.cameras().iter().enumerate() {
            // The luma of the statistics is that of the stored samples.
            let luma = f64::from(frames[camera].0[0]);
            assert!((health.mean - luma).abs() < 1.0, "{device}, camera {camera}: {health:?}");
            assert_eq!((health.state, health.deviation), (CameraState::Black, 0.0), "{device}");
        }
    }
}

/// Checks that a list of the wrong length, a frame of another camera's format and a seam between two formats are
/// errors.
#[test]
fn formats_that_do_not_match_are_refused() {
    let device = Device::cpu();
    let new = |input, blend| {
        Session::new(
            &device,
            warp(&device),
            &[Output::default()],
            LiveOptions { input, blend, ..waiting() },
        )
    };
    let short = InputFormats::each([LIMITED, FULL]);
    let error = new(short, Blend::Feather).unwrap_err();
    assert!(error.to_string().contains("2 input formats"), "{error}");

    let seam = Blend::Seam(SeamOptions::default());
    let error = new(InputFormats::each(FORMATS), seam).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("cameras 1 and 2") && text.contains("`feather`"), "{text}");
    new(InputFormats::each([FULL; 3]), seam).unwrap();

    let session = new(InputFormats::each(FORMATS), Blend::Feather).unwrap();
    let (bytes, _) = noise(&mut Random::new(1), FULL, None);
    let error = session.push(0, Frame::tight(format(FULL), &bytes).unwrap(), FRAME).unwrap_err();
    assert!(error.to_string().contains("camera 1: its frame is"), "{error}");
    assert_eq!(session.input_formats(), FORMATS.map(format));
}
