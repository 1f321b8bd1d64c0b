//! Compares panoramas of 1 to 16 cameras, which are blended in one kernel launch, with a formula in
//! f64.

use panoweave::device::{Image, Stream};
use panoweave::frame::{DeviceFrame, FrameFormat, FrameView, PixelFormat};
use panoweave::geometry::Geometry;
use panoweave::io::picture::Picture;
use panoweave::ops::seam::Seam;
use panoweave::ops::stitch::{Colours, StitchOptions, stitch};
use panoweave::warp::DeviceWarp;
use panoweave_tests::oracle::{self, bilinear};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use panoweave_tests::raster::Raster;
use panoweave_tests::several::{CANVAS, all_seen, blend, made_up, made_up_of, place, seen};
use shared_types::Rgba8;
use shared_types::stitch::Colour;

use crate::stitch::mesh::case::{FULL, NV12, frame, wave, waves};

/// Returns the pixel of a smooth picture at a column and row.
fn smooth(_: &mut Random, x: u32, y: u32) -> Rgba8 {
    let [r, g, b] = [0, 1, 2].map(|channel| wave(channel, x, y).round() as u8);
    Rgba8::opaque(r, g, b)
}

#[test]
fn several_cameras_are_blended_at_once() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut several = 0;
        for seed in 0..25 {
            let (geometry, pictures) = made_up(seed, smooth);
            let warp = DeviceWarp::render(&stream, &geometry).unwrap();
            several += u32::from(pictures.len() > 2);
            let found = blended(&stream, &warp, &pictures, false);
            for y in 0..CANVAS.y {
                for x in 0..CANVAS.x {
                    let all = all_seen(&geometry, &pictures, x, y);
                    let Rgba8 { r, g, b, a } = found[(y * CANVAS.x + x) as usize];
                    assert_eq!(a, 255);
                    for (level, exact) in [r, g, b].into_iter().zip(blend(&all)) {
                        let off = (f64::from(level) - exact).abs();
                        // The bound covers the error of the mesh, and the error from skipping cameras with a weight
                        // under 0.001.
                        assert!(off < 1.2, "{device}, {seed}: {off} levels at {x}, {y}");
                    }
                }
            }
            let flipped = blended(&stream, &warp, &pictures, true);
            assert!(found.iter().rev().eq(&flipped), "{device}, {seed}");
        }
        assert!(several > 5, "{several}");
    }
}

fn blended(stream: &Stream, warp: &DeviceWarp, pictures: &[Picture], flip: bool) -> Vec<Rgba8> {
    let frames: Vec<_> = pictures.iter().map(|picture| picture.upload(stream).unwrap()).collect();
    let frames: Vec<FrameView<'_>> = frames.iter().map(FrameView::from).collect();
    let mut out = Image::new(stream.device(), CANVAS.x, CANVAS.y).unwrap();
    let options = StitchOptions { flip, ..StitchOptions::default() };
    stitch(stream, &frames, warp, &options, &mut out).unwrap();
    out.download(stream).unwrap()
}

/// Stitches pictures with their colour corrections to panoramas in RGBA and NV12, and raises each element of `worst` to
/// the largest difference of that panorama from `exact`.
fn compare(
    stream: &Stream,
    geometry: &Geometry,
    (pictures, colours): (&[Raster], &[Colour]),
    exact: &[Option<[f64; 3]>],
    worst: &mut [f64; 2],
) {
    let warp = DeviceWarp::render(stream, geometry).unwrap();
    let frames: Vec<_> = pictures.iter().map(|picture| frame(stream, picture)).collect();
    let frames: Vec<_> = frames.iter().map(DeviceFrame::view).collect();
    for (worst, pixels) in worst.iter_mut().zip([PixelFormat::Rgba8, NV12]) {
        let output = FrameFormat { size: CANVAS, pixels };
        let mut out = DeviceFrame::new(stream.device(), output).unwrap();
        let options = StitchOptions { colours: Colours::of(colours), ..StitchOptions::default() };
        stitch(stream, &frames, &warp, &options, &mut out).unwrap();
        *worst = worst.max(oracle::worst(&Raster::download(stream, &out), exact));
    }
}

#[test]
fn several_cameras_in_nv12_are_blended_at_once() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let (mut several, mut worst) = (0, [0.0_f64; 2]);
        // The panorama has an odd width and height, so the chroma samples of the last column and row cover fewer than
        // four pixels.
        for seed in 0..25 {
            let (geometry, _) = made_up(seed, smooth);
            several += u32::from(geometry.cameras.len() > 2);
            let pictures: Vec<_> =
                (0..).zip(&geometry.cameras).map(|(i, at)| waves(at.size, NV12, i)).collect();
            let exact: Vec<_> = (0..CANVAS.element_product())
                .map(|i| {
                    let sees = |(camera, picture)| {
                        let (at, edge) = place(camera, i % CANVAS.x, i / CANVAS.x)?;
                        Some((bilinear(picture, at.x, at.y), edge))
                    };
                    let all: Vec<_> =
                        geometry.cameras.iter().zip(&pictures).filter_map(sees).collect();
                    (!all.is_empty()).then(|| blend(&all))
                })
                .collect();
            let colours = vec![Colour::IDENTITY; pictures.len()];
            compare(&stream, &geometry, (&pictures, &colours), &exact, &mut worst);
        }
        assert!(several > 5, "{several}");
        // In NV12, the error may be larger, because four pixels share one chroma value, which is sampled at the point
        // between these pixels.
        assert!(worst[0] < 1.2 && worst[1] < 2.0, "{device}: {worst:?} levels");
    }
}

/// Checks random rigs of 1 to 16 cameras, each with its own colour correction. In each third rig, all frames are RGBA,
/// all are NV12 with several encodings, or both kinds are mixed.
#[test]
fn up_to_sixteen_cameras_may_have_different_formats() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut worst = [[0.0_f64; 2]; 3];
        for seed in 0..30 {
            let count = 1 + (7 * seed as usize) % 16;
            let (geometry, _) = made_up_of(seed, count, smooth);
            let random = &mut Random::new(seed);
            let pictures: Vec<_> = (0..)
                .zip(&geometry.cameras)
                .map(|(camera, at)| {
                    let nv12 = random.pick(&[NV12, FULL]);
                    let pixels = match seed % 3 {
                        0 => PixelFormat::Rgba8,
                        1 => nv12,
                        _ if camera % 2 == random.below(2) as u32 => PixelFormat::Rgba8,
                        _ => nv12,
                    };
                    waves(at.size, pixels, camera)
                })
                .collect();
            let colours: Vec<_> = (0..count)
                .map(|_| {
                    let gain = [0; 3].map(|_| random.between(0.8, 1.1)).into();
                    Colour { gain, gamma: random.between(0.9, 1.1), ..Colour::IDENTITY }
                })
                .collect();
            let exact: Vec<_> = (0..CANVAS.element_product())
                .map(|i| {
                    let sees = |((camera, picture), colour)| {
                        let (at, edge) = place(camera, i % CANVAS.x, i / CANVAS.x)?;
                        let levels = bilinear(picture, at.x, at.y);
                        let graded = |c| oracle::grade(colour, c, levels[c]);
                        Some(([0, 1, 2].map(graded), edge))
                    };
                    let cameras = geometry.cameras.iter().zip(&pictures).zip(&colours);
                    let all: Vec<_> = cameras.filter_map(sees).collect();
                    (!all.is_empty()).then(|| blend(&all))
                })
                .collect();
            let worst = &mut worst[seed as usize % 3];
            compare(&stream, &geometry, (&pictures, &colours), &exact, worst);
        }
        eprintln!("{device}: {worst:?} levels");
        // The bounds are those for identical formats, times the largest slope of gain and gamma.
        for [rgba8, nv12] in worst {
            assert!(rgba8 < 1.4 && nv12 < 2.3, "{device}: {worst:?} levels");
        }
    }
}

/// Checks that the neighbours of missing cameras fill the pixels that they see, that the missing cameras stay visible
/// at all other pixels, and that a rig whose cameras have returned gives the same bytes as before.
#[test]
fn neighbours_fill_missing_cameras() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let (mut worst, mut filled) = (0.0_f64, 0);
        for seed in 0..16 {
            let count = 2 + seed as usize % 15;
            let (geometry, pictures) = made_up_of(seed, count, smooth);
            let random = &mut Random::new(seed);
            let presences: Vec<_> =
                (0..count).map(|_| [0.0, 1.0, random.between(0.0, 1.0)][random.below(3)]).collect();
            let frames: Vec<_> =
                pictures.iter().map(|picture| picture.upload(&stream).unwrap()).collect();
            let frames: Vec<FrameView<'_>> = frames.iter().map(FrameView::from).collect();
            let base = DeviceWarp::render(&stream, &geometry).unwrap();
            base.mesh(&stream).unwrap();
            let mut warp = Seam::copy(&stream, &base).unwrap();
            let stitched = |warp: &DeviceWarp| {
                let output = FrameFormat { size: CANVAS, pixels: PixelFormat::Rgba8 };
                let mut out = DeviceFrame::new(&device, output).unwrap();
                stitch(&stream, &frames, warp, &StitchOptions::default(), &mut out).unwrap();
                Raster::download(&stream, &out)
            };
            let before = stitched(&warp);
            warp.set_presences(&stream, &base, &presences).unwrap();
            let found = stitched(&warp);
            let (mut exact, mut sure) = (Vec::new(), Vec::new());
            for i in 0..CANVAS.element_product() {
                let (x, y) = (i % CANVAS.x, i / CANVAS.x);
                let cameras = geometry.cameras.iter().zip(&pictures).zip(&presences);
                let mut all: Vec<_> = cameras
                    .filter_map(|((camera, picture), presence)| {
                        let (levels, edge) = seen(camera, picture, x, y)?;
                        Some(((levels, edge), edge * f64::from(*presence)))
                    })
                    .collect();
                let whole: f64 = all.iter().map(|((_, edge), _)| edge).sum();
                let present: f64 = all.iter().map(|(_, edge)| edge).sum();
                // Weights below 0.001 are ignored, so a camera that barely sees a pixel may not fill it.
                sure.push(present == 0.0 || present > 0.05 * whole);
                filled += u32::from(present > 0.05 * whole && present < 0.95 * whole);
                // With unchanged weights, a share is the presence times the weight, normalised.
                if present > 0.0 {
                    all.iter_mut().for_each(|((_, edge), present)| *edge = *present);
                }
                let all: Vec<_> = all.into_iter().map(|(camera, _)| camera).collect();
                exact.push((!all.is_empty()).then(|| blend(&all)));
            }
            worst = worst.max(oracle::worst_where(&found, &exact, &sure));
            warp.set_presences(&stream, &base, &[]).unwrap();
            assert!(stitched(&warp) == before, "{device}, {seed}");
        }
        eprintln!("{device}: {worst} levels");
        assert!(worst < 1.5 && filled > 10_000, "{device}: {worst} levels, {filled} pixels");
    }
}
