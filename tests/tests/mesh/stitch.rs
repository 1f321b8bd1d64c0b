//! Stitches by meshes, and the other lookups, against formulas in f64 and against each other, on every device.

use glam::{UVec2, Vec3};
use panoweave::colour::Colours;
use panoweave::device::{Image, Stream};
use panoweave::frame::{
    DeviceFrame, FrameFormat, FrameView, Matrix, PixelFormat, Range, YuvEncoding,
};
use panoweave::homography::Homography;
use panoweave::picture::Picture;
use panoweave::seam::{Seam, SeamOptions, seamed};
use panoweave::stitch::{
    CamerasOptions, Lookup, Power, StitchError, StitchOptions, stitch, stitch_cameras,
    stitch_pictures,
};
use panoweave::warp::{DeviceMesh, DeviceWarp, MESH_ERROR, Mesh, MeshError, Warp};
use panoweave_tests::random::{Random, random_rig};
use panoweave_tests::raster::{Pixels, Raster, chroma_size};
use panoweave_tests::several::{CANVAS, all_seen, blend, made_up};
use panoweave_tests::{data, oracle, panoweave_devices};
use shared_types::stitch::{Colour, StitchParams};
use shared_types::{Chroma, Rgba8};

const NV12: PixelFormat =
    PixelFormat::Nv12(YuvEncoding { matrix: Matrix::Bt709, range: Range::Limited });
const FULL: PixelFormat =
    PixelFormat::Nv12(YuvEncoding { matrix: Matrix::Bt601, range: Range::Full });

/// Pairs of formats, in and out.
const FORMATS: [[PixelFormat; 2]; 5] = [
    [PixelFormat::Rgba8, PixelFormat::Rgba8],
    [NV12, NV12],
    [NV12, PixelFormat::Rgba8],
    [PixelFormat::Rgba8, FULL],
    [FULL, FULL],
];

/// Levels that change by at most 4 from a pixel to the next, so that a place that is 1/32 pixel off shows.
fn wave(seed: u32, x: u32, y: u32) -> f64 {
    let (x, y, s) = (f64::from(x), f64::from(y), f64::from(seed));
    120.0 + 45.0 * (0.05 * x + s).sin() + 45.0 * (0.05 * y + 0.02 * x + 2.0 * s).cos()
}

fn waves(size: UVec2, format: PixelFormat, seed: u32) -> Raster {
    let plane = |size: UVec2| (0..size.y).flat_map(move |y| (0..size.x).map(move |x| (x, y)));
    let level = |channel: u32, (x, y): (u32, u32)| wave(3 * seed + channel, x, y).round() as u8;
    let pixels = match format {
        PixelFormat::Rgba8 => {
            let pixel = |at| Rgba8::opaque(level(0, at), level(1, at), level(2, at));
            Pixels::Rgba8(plane(size).map(pixel).collect())
        }
        PixelFormat::Nv12(encoding) => {
            // Chroma that luma leaves room for.
            let chroma = |channel, (x, y)| {
                (128.0 + (wave(channel, 2 * x, 2 * y) - 120.0) * 0.25).round() as u8
            };
            let y = plane(size).map(|at| level(0, at)).collect();
            let uv = plane(chroma_size(size))
                .map(|at| Chroma { u: chroma(3 * seed + 1, at), v: chroma(3 * seed + 2, at) })
                .collect();
            Pixels::Nv12 { y, uv, encoding }
        }
    };
    Raster { size, pixels }
}

/// A warp with two pictures and options.
struct Case {
    warp: Warp,
    pictures: [Raster; 2],
    output: FrameFormat,
    options: StitchOptions,
}

impl Case {
    fn new(stream: &Stream, seed: u64, [input, output]: [PixelFormat; 2]) -> Self {
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
        };
        let options = StitchOptions {
            left: colour(),
            right: colour(),
            edge_boost: seed.is_multiple_of(3),
            ..StitchOptions::default()
        };
        let [left, right] = warp.sources();
        let pictures = [waves(left, input, 1), waves(right, input, 2)];
        let output = FrameFormat { size: warp.size(), pixels: output };
        Self { warp, pictures, output, options }
    }

    fn stitched(&self, stream: &Stream, options: &StitchOptions) -> Raster {
        let warp = DeviceWarp::upload(stream, &self.warp).unwrap();
        let [left, right] = self.pictures.each_ref().map(|picture| {
            let mut frame = DeviceFrame::new(stream.device(), picture.format()).unwrap();
            fill(stream, &mut frame, picture);
            frame
        });
        let mut out = DeviceFrame::new(stream.device(), self.output).unwrap();
        stitch(stream, &left, &right, &warp, options, &mut out).unwrap();
        Raster::download(stream, &out)
    }
}

fn fill(stream: &Stream, frame: &mut DeviceFrame, picture: &Raster) {
    match (frame, &picture.pixels) {
        (DeviceFrame::Rgba8(image), Pixels::Rgba8(pixels)) => image.upload(stream, pixels).unwrap(),
        (DeviceFrame::Nv12 { y, uv, .. }, Pixels::Nv12 { y: luma, uv: chroma, .. }) => {
            y.upload(stream, luma).unwrap();
            uv.upload(stream, chroma).unwrap();
        }
        _ => unreachable!("the frame was made for the picture"),
    }
}

/// All levels of a picture, plane by plane.
fn levels(picture: &Raster) -> Vec<u8> {
    match &picture.pixels {
        Pixels::Rgba8(pixels) => bytemuck::cast_slice(pixels).to_vec(),
        Pixels::Nv12 { y, uv, .. } => [&y[..], bytemuck::cast_slice(uv)].concat(),
    }
}

/// The largest difference in levels, and PSNR in dB.
fn difference(a: &Raster, b: &Raster) -> (u8, f64) {
    let (a, b) = (levels(a), levels(b));
    assert_eq!(a.len(), b.len());
    let squares: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum();
    let worst = a.iter().zip(&b).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0);
    (worst, 10.0 * (255.0_f64.powi(2) * a.len() as f64 / squares).log10())
}

#[test]
fn meshes_show_what_the_formula_says() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut worst = 0.0_f64;
        for seed in 0..40 {
            let case = Case::new(&stream, seed, FORMATS[0]);
            let options = StitchOptions { edge_boost: false, ..case.options };
            let found = case.stitched(&stream, &options);
            let params = StitchParams {
                left: options.left,
                right: options.right,
                ..StitchParams::default()
            };
            let [left, right] = &case.pictures;
            let exact = oracle::stitch(
                case.warp.size(),
                [left, right],
                case.warp.planes(),
                &params,
                oracle::grade,
            );
            let off = oracle::worst(&found, &exact);
            // A place is off by up to 1/32 pixel, a weight of the texture unit by 1/512, of slopes of up to 4.5 levels,
            // which gamma and gain make up to 7; one half is the rounding.
            assert!(off < 0.5 + 2.0 * 7.0 * (1.0 / 32.0 + 1.0 / 256.0), "{device}, {seed}: {off}");
            worst = worst.max(off);
        }
        assert!(worst > 0.51, "{device}: as exact as the planes? {worst}");
        eprintln!("{device}: {worst} levels off");
    }
}

#[test]
fn every_lookup_gives_the_same_picture() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut least = [f64::INFINITY; 4];
        for seed in 0..30 {
            let case = Case::new(&stream, seed, FORMATS[seed as usize % FORMATS.len()]);
            let by = |lookup| case.stitched(&stream, &StitchOptions { lookup, ..case.options });
            let planes = by(Lookup::Planes);
            for (lookup, least) in Lookup::ALL.into_iter().zip(&mut least) {
                let (worst, psnr) = difference(&by(lookup), &planes);
                let most = match lookup {
                    Lookup::Planes | Lookup::TexturedPlanes => 0,
                    Lookup::HardwareBilinear => 3,
                    // Where chroma is shared, it is sampled once for four pixels, however far apart they look.
                    Lookup::Mesh => 6,
                };
                assert!(worst <= most, "{device}, {seed}, {lookup:?}: {worst} levels, {psnr} dB");
                *least = least.min(psnr);
            }
        }
        assert!(least[0] >= 50.0 && least[3] >= 50.0, "{device}: {least:?} dB");
        eprintln!("{device}: {least:?} dB at least by {:?}", Lookup::ALL);
    }
}

/// Photographs, whose edges are as sharp as edges come, against exact samples and powers.
#[test]
fn photographs_keep_fifty_decibels() {
    let Some(table) = data("stitch_ref/pairs.csv") else { return };
    let table = std::fs::read_to_string(table).unwrap();
    for row in table.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>()).take(6) {
        let files = [row[1], row[2]].map(|file| data(format!("scenes/{}/{file}", row[0])));
        let [Some(left), Some(right)] = files else { return };
        let pictures = [left, right].map(|file| Picture::open(file).unwrap());
        let geometry = Homography::parse(row[9], row[0]).unwrap();
        let geometry = geometry.geometry(pictures[0].size(), pictures[1].size()).unwrap();
        let colour = |gain, gamma| Colour { gain: Vec3::splat(gain), gamma };
        let (left, right) = (colour(1.1, 0.9), colour(0.9, 1.1));
        let options = StitchOptions { left, right, ..StitchOptions::default() };
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let warp = DeviceWarp::render(&stream, &geometry).unwrap();
            let by = |lookup, power| {
                let options = StitchOptions { lookup, power, ..options };
                let [left, right] = &pictures;
                stitch_pictures(&stream, left, right, &warp, &options).unwrap().into_pixels()
            };
            let exact = by(Lookup::Planes, Power::Exact);
            for lookup in [Lookup::Mesh, Lookup::HardwareBilinear] {
                let (worst, psnr) = oracle::compare(&by(lookup, Power::Fast), &exact);
                eprintln!("{} on {device}, {lookup:?}: {psnr:.2} dB, {worst} levels", row[0]);
                assert!(psnr >= 50.0, "{} on {device}, {lookup:?}: {psnr} dB", row[0]);
            }
        }
    }
}

#[test]
fn flipped_panoramas_are_turned() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 0..20 {
            for formats in FORMATS {
                let case = Case::new(&stream, seed, formats);
                let flipped = StitchOptions { flip: true, edge_boost: false, ..case.options };
                let upright = StitchOptions { flip: false, ..flipped };
                let (flipped, upright) =
                    (case.stitched(&stream, &flipped), case.stitched(&stream, &upright));
                let shares_chroma = matches!(flipped.pixels, Pixels::Nv12 { .. });
                if shares_chroma && (case.output.size % 2).max_element() > 0 {
                    // What shares chroma differs: by planes.
                    let planes = StitchOptions {
                        flip: true,
                        lookup: Lookup::Planes,
                        edge_boost: false,
                        ..case.options
                    };
                    assert_eq!(flipped, case.stitched(&stream, &planes), "{device}, {seed}");
                } else {
                    assert_eq!(turned(&flipped), upright, "{device}, {seed}, {formats:?}");
                }
            }
        }
    }
}

fn turned(picture: &Raster) -> Raster {
    fn backwards<T: Copy>(plane: &[T]) -> Vec<T> {
        plane.iter().rev().copied().collect()
    }
    let pixels = match &picture.pixels {
        Pixels::Rgba8(pixels) => Pixels::Rgba8(backwards(pixels)),
        Pixels::Nv12 { y, uv, encoding } => {
            Pixels::Nv12 { y: backwards(y), uv: backwards(uv), encoding: *encoding }
        }
    };
    Raster { size: picture.size, pixels }
}

/// Weights that are written on the device make the mesh that is made of them on the host.
#[test]
fn meshes_follow_a_seam() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let (mut seams, mut moved) = (0, 0);
        for seed in 0..12 {
            let case = Case::new(&stream, 3 * seed, FORMATS[0]);
            let warp = if seed % 2 == 0 {
                let warp = DeviceWarp::upload(&stream, &case.warp).unwrap();
                warp.mesh(&stream).unwrap();
                warp
            } else {
                let meshed = case.warp.clone().with_mesh(MESH_ERROR).unwrap();
                DeviceWarp::upload(&stream, &meshed).unwrap()
            };
            let [left, right] = case.pictures.each_ref().map(|picture| picture.upload(&stream, 0));
            let Ok(seam) = seamed(
                &stream,
                &warp,
                &left,
                &right,
                Colours::IDENTITY,
                SeamOptions { feather: 4.0 },
            ) else {
                continue;
            };
            seams += 1;
            let followed = by_mesh(&stream, &case, &seam);
            let seam = seam.download(&stream).unwrap();
            let anew = DeviceWarp::upload(&stream, &seam).unwrap();
            let (worst, _) = difference(&followed, &by_mesh(&stream, &case, &anew));
            assert!(worst <= 1, "{device}, {seed}: {worst} levels");
            let (change, _) = difference(&followed, &by_mesh(&stream, &case, &warp));
            moved += u32::from(change > 1);
        }
        assert!(seams > 3 && moved > 3, "{device}: {seams} seams, {moved} that show");
    }
}

/// The mesh that a warp comes with is taken, unless it is coarser than one that would be made.
#[test]
fn meshes_that_come_with_a_warp_are_taken() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let (mut finer, mut coarser) = (0, 0);
        for seed in 0..12 {
            let case = Case::new(&stream, seed, FORMATS[0]);
            let with = |error| {
                let warp = case.warp.clone().with_mesh(error).unwrap();
                let coarse = DeviceWarp::upload(&stream, &warp).unwrap();
                (by_mesh(&stream, &case, &coarse), warp)
            };
            let made = DeviceWarp::upload(&stream, &case.warp).unwrap();
            let made = by_mesh(&stream, &case, &made);
            assert_eq!(with(MESH_ERROR).0, made, "{device}, {seed}");
            let (found, fine) = with(1e-5);
            finer += u32::from(found != made && fine.mesh() != with(MESH_ERROR).1.mesh());
            assert!(difference(&found, &made).0 <= 2, "{device}, {seed}");
            let (found, coarse) = with(3.0);
            assert_eq!(found, made, "{device}, {seed}");
            coarser += u32::from(coarse.mesh().unwrap().bytes() < fine.mesh().unwrap().bytes());
        }
        // Few differ by a level on a GPU, whose samples lie on a grid of 1/256 pixel.
        assert!(finer > 0 && coarser > 3, "{device}: {finer}, {coarser}");
    }
}

/// What has no mesh yet when its weights are written gets one of the new weights, again and again.
#[test]
fn meshes_are_made_of_the_weights_that_there_are() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let case = Case::new(&stream, 0, FORMATS[0]);
        let warp = DeviceWarp::upload(&stream, &case.warp).unwrap();
        let [left, right] = case.pictures.each_ref().map(|picture| picture.upload(&stream, 0));
        let mut seam = Seam::new(&stream, &warp, SeamOptions::default()).unwrap();
        // SAFETY: the seam is new, and all is done on this stream.
        unsafe {
            seam.submit(&stream, &warp, left.view(), right.view(), Colours::IDENTITY).unwrap()
        };
        seam.accept();
        let mut out = Seam::copy(&stream, &warp).unwrap();
        for part in [0.0, 0.5, 1.0] {
            seam.weigh(&stream, &warp, part, &mut out).unwrap();
            let found = by_mesh(&stream, &case, &out);
            let anew = DeviceWarp::upload(&stream, &out.download(&stream).unwrap()).unwrap();
            assert_eq!(found, by_mesh(&stream, &case, &anew), "{device}, {part}");
        }
    }
}

fn by_mesh(stream: &Stream, case: &Case, warp: &DeviceWarp) -> Raster {
    let [left, right] = case.pictures.each_ref().map(|picture| {
        let mut frame = DeviceFrame::new(stream.device(), picture.format()).unwrap();
        fill(stream, &mut frame, picture);
        frame
    });
    let mut out = DeviceFrame::new(stream.device(), case.output).unwrap();
    stitch(stream, &left, &right, warp, &case.options, &mut out).unwrap();
    Raster::download(stream, &out)
}

/// What cannot be done by a mesh is done by planes, to the byte.
#[test]
fn what_a_mesh_cannot_do_is_done_by_planes() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for seed in 0..8 {
            let case = Case::new(&stream, seed, FORMATS[seed as usize % FORMATS.len()]);
            for power in [Power::Exact, Power::Table] {
                for lookup in Lookup::ALL {
                    let options = StitchOptions { power, ..case.options };
                    let planes = StitchOptions { lookup: Lookup::Planes, ..options };
                    let found = case.stitched(&stream, &StitchOptions { lookup, ..options });
                    assert_eq!(found, case.stitched(&stream, &planes), "{device}, {power:?}");
                }
            }
            // Rows that begin where no texture does.
            let warp = DeviceWarp::upload(&stream, &case.warp).unwrap();
            let [left, right] = case.pictures.each_ref().map(|picture| picture.upload(&stream, 4));
            let by = |lookup| {
                let mut out = DeviceFrame::new(&device, case.output).unwrap();
                let options = StitchOptions { lookup, ..case.options };
                stitch(&stream, &left, &right, &warp, &options, &mut out).unwrap();
                Raster::download(&stream, &out)
            };
            assert_eq!(by(Lookup::Mesh), by(Lookup::Planes), "{device}, {seed}");
        }
    }
}

/// A pixel of a smooth picture.
fn smooth(random: &mut Random, x: u32, y: u32) -> Rgba8 {
    let _ = random;
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
            let mesh = Mesh::render(&stream, &geometry, MESH_ERROR);
            if pictures.len() > 4 {
                assert!(matches!(mesh, Err(MeshError::Cameras(5 | 6))), "{mesh:?}");
                continue;
            }
            let mesh = DeviceMesh::upload(&stream, &mesh.unwrap()).unwrap();
            several += u32::from(pictures.len() > 2);
            let found = blended(&stream, &mesh, &pictures, CamerasOptions::default());
            for y in 0..CANVAS.y {
                for x in 0..CANVAS.x {
                    let all = all_seen(&geometry, &pictures, x, y);
                    let Rgba8 { r, g, b, a } = found[(y * CANVAS.x + x) as usize];
                    assert_eq!(a, 255);
                    for (level, exact) in [r, g, b].into_iter().zip(blend(&all)) {
                        let off = (f64::from(level) - exact).abs();
                        // As above; a camera that counts less than a thousandth is left out.
                        assert!(off < 1.2, "{device}, {seed}: {off} levels at {x}, {y}");
                    }
                }
            }
            let flipped = blended(
                &stream,
                &mesh,
                &pictures,
                CamerasOptions { flip: true, edge_boost: false },
            );
            assert!(found.iter().rev().eq(&flipped), "{device}, {seed}");
        }
        assert!(several > 5, "{several}");
    }
}

fn blended(
    stream: &Stream,
    mesh: &DeviceMesh,
    pictures: &[Picture],
    options: CamerasOptions,
) -> Vec<Rgba8> {
    let frames: Vec<_> =
        pictures.iter().map(|picture| Image::from_picture(stream, picture).unwrap()).collect();
    let frames: Vec<FrameView<'_>> = frames.iter().map(FrameView::from).collect();
    let colours = vec![Colour::IDENTITY; frames.len()];
    let mut out = Image::new(stream.device(), CANVAS.x, CANVAS.y).unwrap();
    stitch_cameras(stream, &frames, mesh, &colours, options, &mut out).unwrap();
    out.download(stream).unwrap()
}

#[test]
fn what_does_not_fit_several_cameras_is_refused() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let seed = (0..25).find(|seed| made_up(*seed, smooth).1.len() == 3).unwrap();
        let (geometry, pictures) = made_up(seed, smooth);
        let mesh = Mesh::render(&stream, &geometry, MESH_ERROR).unwrap();
        let mesh = DeviceMesh::upload(&stream, &mesh).unwrap();
        let frames: Vec<_> =
            pictures.iter().map(|picture| Image::from_picture(&stream, picture).unwrap()).collect();
        let frames: Vec<FrameView<'_>> = frames.iter().map(FrameView::from).collect();
        let mut out = Image::new(&device, CANVAS.x, CANVAS.y).unwrap();
        let mut refused = |frames: &[FrameView<'_>], colours: &[Colour]| {
            let options = CamerasOptions::default();
            stitch_cameras(&stream, frames, &mesh, colours, options, &mut out).unwrap_err()
        };
        let colours = [Colour::IDENTITY; 3];
        let error = refused(&frames[..2], &colours);
        assert!(matches!(error, StitchError::Cameras { found: 2, expected: 3 }), "{error}");
        let error = refused(&frames, &colours[..1]);
        assert!(matches!(error, StitchError::Cameras { found: 1, expected: 3 }), "{error}");
        let error = refused(&[frames[1], frames[0], frames[2]], &colours);
        assert!(matches!(error, StitchError::SourceSize { .. }), "{error}");
        let dark = Colour { gamma: 0.0, ..Colour::IDENTITY };
        let error = refused(&frames, &[Colour::IDENTITY, dark, Colour::IDENTITY]);
        assert!(matches!(error, StitchError::Gamma { .. }), "{error}");
        let padded = Raster {
            size: geometry.cameras[0].size,
            pixels: Pixels::Rgba8(pictures[0].pixels().to_vec()),
        };
        let padded = padded.upload(&stream, 4);
        let error = refused(&[padded.view(), frames[1], frames[2]], &colours);
        assert!(matches!(error, StitchError::Unaligned(0)), "{error}");
        let mut small = Image::<Rgba8>::new(&device, CANVAS.x - 1, CANVAS.y).unwrap();
        let options = CamerasOptions::default();
        let error =
            stitch_cameras(&stream, &frames, &mesh, &colours, options, &mut small).unwrap_err();
        assert!(matches!(error, StitchError::OutputSize { .. }), "{error}");
        // Its sides are odd.
        let format = FrameFormat { size: CANVAS, pixels: NV12 };
        let mut chroma = DeviceFrame::new(&device, format).unwrap();
        let options = CamerasOptions { flip: true, edge_boost: false };
        let error =
            stitch_cameras(&stream, &frames, &mesh, &colours, options, &mut chroma).unwrap_err();
        assert!(matches!(error, StitchError::Flip(_)), "{error}");
    }
}

/// A frame may be that of both cameras, and stitched again after other frames.
#[test]
fn one_frame_may_be_both_cameras() {
    let size = UVec2::new(70, 50);
    let planes = |shift: f32| {
        let place = |x: u32| x as f32 + shift;
        let row = |y: u32| (0..size.x).map(move |x| (x, y));
        let pixels: Vec<_> = (0..size.y).flat_map(row).collect();
        let x = pixels.iter().map(|(x, _)| place(*x)).collect::<Vec<_>>();
        (x, pixels.iter().map(|(_, y)| *y as f32).collect::<Vec<_>>())
    };
    let ((left_x, left_y), (right_x, right_y)) = (planes(-0.25), planes(0.25));
    let half = vec![0.5; left_x.len()];
    let planes = [left_x, left_y, right_x, right_y, half.clone(), half];
    let warp = Warp::new(size, [size; 2], planes).unwrap();
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::upload(&stream, &warp).unwrap();
        for format in [PixelFormat::Rgba8, NV12] {
            let picture = waves(size, format, 1);
            let mut frame = DeviceFrame::new(&device, picture.format()).unwrap();
            fill(&stream, &mut frame, &picture);
            let by = |lookup| {
                let options = StitchOptions { lookup, ..StitchOptions::default() };
                let mut out = DeviceFrame::new(&device, picture.format()).unwrap();
                stitch(&stream, &frame, &frame, &warp, &options, &mut out).unwrap();
                Raster::download(&stream, &out)
            };
            let planes = by(Lookup::Planes);
            for _ in 0..300 {
                let (worst, _) = difference(&by(Lookup::Mesh), &planes);
                assert!(worst <= 2, "{device}: {worst} levels");
            }
        }
    }
}
