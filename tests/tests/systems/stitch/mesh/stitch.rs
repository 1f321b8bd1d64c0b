//! Compares stitches of two cameras with formulas in f64 and with each other, on every device. The stitches look up
//! source positions by mesh, or in another way.

use glam::{UVec2, Vec2, Vec3};
use panoweave::frame::{DeviceFrame, FrameFormat, PixelFormat};
use panoweave::geometry::homography::Homography;
use panoweave::io::picture::Picture;
use panoweave::ops::stitch::{Colours, Lookup, StitchOptions, Vignettes, stitch, stitch_pictures};
use panoweave::warp::{DeviceWarp, Warp};
use panoweave_tests::raster::{Pixels, Raster};
use panoweave_tests::{data, oracle, panoweave_devices};
use shared_types::photometry::Vignette;
use shared_types::stitch::{Colour, MIN_WEIGHT, StitchParams};

use crate::stitch::mesh::case::{Case, FORMATS, NV12, difference, frame, waves};

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
                left: options.colours[0],
                right: options.colours[1],
                ..StitchParams::default()
            };
            let [left, right] = &case.pictures;
            let exact = oracle::stitch(
                case.warp.size(),
                [left, right],
                case.warp.planes(),
                &params,
                oracle::grade_pixel,
            );
            let off = oracle::worst(&found, &exact);
            // The mesh may shift a source position by up to 1/32 pixel, and the texture unit rounds a fraction by up to
            // 1/512. The pictures change by up to 4.5 levels per pixel, or 7 after gain and gamma. Rounding adds half a
            // level.
            assert!(off < 0.5 + 2.0 * 7.0 * (1.0 / 32.0 + 1.0 / 256.0), "{device}, {seed}: {off}");
            worst = worst.max(off);
        }
        assert!(worst > 0.51, "{device}: as exact as the planes? {worst}");
        eprintln!("{device}: {worst} levels off");
    }
}

/// Four pixels share the factor of a vignette. In pictures of 700 columns this changes the levels by up to 0.6, and in
/// 4K pictures by a fifth of that.
#[test]
fn meshes_undo_vignetting() {
    let size = UVec2::new(700, 500);
    let pixels = size.element_product() as usize;
    let along = |axis: usize| {
        (0..pixels as u32).map(move |i| [i % size.x, i / size.x][axis] as f32).collect::<Vec<_>>()
    };
    let left = along(0).into_iter().map(|x| (1.0 - x / 700.0).clamp(0.0, 1.0));
    let left: Vec<f32> = left.collect();
    let right = left.iter().map(|weight| 1.0 - weight).collect();
    let planes = vec![along(0), along(1), along(0), along(1), left, right];
    let warp = Warp::new(size, [size; 2], planes).unwrap();
    let centre = (size.as_vec2() - 1.0) / 2.0;
    let per_corner = centre.length_squared().recip();
    let terms = [Vec3::new(-0.4, -0.15, 0.05), Vec3::new(-0.1, 0.0, -0.25)];
    let vignettes = terms.map(|terms| Vignette { terms, per_corner, centre });
    let [left_vignette, right_vignette] = vignettes;
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for (seed, [input, output]) in FORMATS.into_iter().enumerate() {
            let pictures = [1, 2].map(|seed| waves(size, input, seed));
            let case = Case {
                warp: warp.clone(),
                pictures,
                output: FrameFormat { size, pixels: output },
                options: StitchOptions {
                    vignettes: Vignettes::of(vignettes),
                    ..StitchOptions::default()
                },
            };
            let found = case.stitched(&stream, &case.options);
            let params = StitchParams { left_vignette, right_vignette, ..StitchParams::default() };
            let [left, right] = &case.pictures;
            let exact = oracle::stitch(
                size,
                [left, right],
                case.warp.planes(),
                &params,
                oracle::grade_pixel,
            );
            let off = oracle::worst(&found, &exact);
            // Chroma, which four pixels share, adds to the difference in NV12.
            let allowed = if (input, output) == (FORMATS[0][0], FORMATS[0][1]) { 1.5 } else { 4.0 };
            assert!(off < allowed, "{device}, {seed}: {off} levels");
        }
    }
}

/// The lookups that sample bilinearly.
const BILINEAR: [Lookup; 4] =
    [Lookup::Mesh, Lookup::Planes, Lookup::TexturedPlanes, Lookup::HardwareBilinear];

#[test]
fn every_lookup_gives_the_same_picture() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut least = [f64::INFINITY; 4];
        for seed in 0..30 {
            let case = Case::new(&stream, seed, FORMATS[seed as usize % FORMATS.len()]);
            let flip = seed % 4 == 3;
            let by =
                |lookup| case.stitched(&stream, &StitchOptions { lookup, flip, ..case.options });
            let is_rgba = FORMATS[seed as usize % FORMATS.len()] == [PixelFormat::Rgba8; 2];
            let planes = by(Lookup::Planes);
            let lookups = if is_rgba { &BILINEAR[..] } else { &[Lookup::Auto, Lookup::Planes] };
            for (&lookup, least) in lookups.iter().zip(&mut least) {
                let (worst, psnr) = difference(&by(lookup), &planes);
                let most = match lookup {
                    Lookup::Planes => 0,
                    // The powers of the others are fast.
                    Lookup::TexturedPlanes => 1,
                    Lookup::HardwareBilinear => 3,
                    // In NV12, the mesh samples chroma once for four pixels, even if their source positions are far
                    // apart, so the difference can be larger.
                    _ => 6,
                };
                assert!(worst <= most, "{device}, {seed}, {lookup:?}: {worst} levels, {psnr} dB");
                *least = least.min(psnr);
            }
        }
        assert!(least[0] >= 50.0 && least[3] >= 50.0, "{device}: {least:?} dB");
        eprintln!("{device}: {least:?} dB at least by {BILINEAR:?}");
    }
}

/// Checks stitches of photographs, which have very sharp edges. Compared with a stitch with exact sampling and exact
/// powers, they must have a PSNR of at least 50 dB.
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
        let colour = |gain, gamma| Colour { gain: Vec3::splat(gain), gamma, ..Colour::IDENTITY };
        let (left, right) = (colour(1.1, 0.9), colour(0.9, 1.1));
        let options =
            StitchOptions { colours: Colours::of([left, right]), ..StitchOptions::default() };
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let warp = DeviceWarp::render(&stream, &geometry).unwrap();
            let by = |lookup| {
                let options = StitchOptions { lookup, ..options };
                let [left, right] = &pictures;
                stitch_pictures(&stream, &[left, right], &warp, &options).unwrap().into_pixels()
            };
            let exact = by(Lookup::Planes);
            for lookup in [Lookup::Mesh, Lookup::HardwareBilinear] {
                let (worst, psnr) = oracle::compare(&by(lookup), &exact);
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
                let shares_chroma = !matches!(flipped.pixels, Pixels::Rgba8(_));
                if shares_chroma && (case.output.size % 2).max_element() > 0 {
                    // If an NV12 panorama with an odd width or height is flipped, other groups of pixels share a chroma
                    // sample. A mesh does not support this, so `auto` selects planes.
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
        Pixels::P010 { y, uv, encoding } => {
            Pixels::P010 { y: backwards(y), uv: backwards(uv), encoding: *encoding }
        }
    };
    Raster { size: picture.size, pixels }
}

/// Checks that the panorama is the same for any row pitch. The kernel writes several pixels in one store only if the
/// address of the row is aligned.
#[test]
fn panoramas_are_the_same_whatever_their_pitch() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut odd = 0;
        for seed in 0..12 {
            let case = Case::new(&stream, seed, FORMATS[seed as usize % FORMATS.len()]);
            let warp = DeviceWarp::upload(&stream, &case.warp).unwrap();
            let [left, right] = case.frames(&stream);
            for flip in [false, true] {
                let options = StitchOptions { flip, ..case.options };
                let by = |mut out: DeviceFrame| {
                    stitch(&stream, &[(&left).into(), (&right).into()], &warp, &options, &mut out)
                        .unwrap();
                    Raster::download(&stream, &out)
                };
                let expected = by(DeviceFrame::new(&device, case.output).unwrap());
                for padding in [0, 4, 8] {
                    let out = by(expected.upload(&stream, padding));
                    assert_eq!(out, expected, "{device}, {seed}, {padding}, flipped: {flip}");
                }
            }
            let is_nv12 = matches!(case.output.pixels, PixelFormat::Nv12(_));
            odd += u32::from(is_nv12 && !case.output.size.x.is_multiple_of(4));
        }
        assert!(odd > 2, "{odd} with rows that do not begin at multiples of four");
    }
}

/// Checks that a camera's source position at a pixel does not affect the panorama if the camera's weight there is too
/// small. The position must not even affect a neighbouring pixel that shares a chroma sample with this pixel.
#[test]
fn places_where_a_camera_does_not_count_show_nowhere() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut hidden = 0;
        for seed in 0..20 {
            let case = Case::new(&stream, seed, [NV12, NV12]);
            let mut planes = case.warp.planes().to_vec();
            let [x, y, other_x, other_y, weights, other_weights] = &mut planes[..] else {
                unreachable!("a warp of two cameras")
            };
            for ([x, y], weights) in [([x, y], weights), ([other_x, other_y], other_weights)] {
                for ((x, y), weight) in x.iter_mut().zip(y).zip(weights) {
                    if *weight <= MIN_WEIGHT {
                        (*x, *y) = if seed % 2 == 0 { (-1.0, -1.0) } else { (1e6, 7.0) };
                        hidden += 1;
                    }
                }
            }
            let warp = Warp::new(case.warp.size(), case.warp.sources(), planes).unwrap();
            let case = Case { warp, ..case };
            let [mesh, planes] = [Lookup::Mesh, Lookup::Planes]
                .map(|lookup| case.stitched(&stream, &StitchOptions { lookup, ..case.options }));
            let (worst, psnr) = difference(&mesh, &planes);
            assert!(worst <= 6, "{device}, {seed}: {worst} levels, {psnr} dB");
        }
        assert!(hidden > 10_000, "{hidden}");
    }
}

/// Checks that the source position of a chroma sample, which four pixels share, does not depend on positions with a
/// weight of 0. This is difficult in a tile that is only two or three pixels wide: a patch can fit all positions there
/// exactly, including those with a weight of 0.
#[test]
fn columns_of_a_last_tile_that_do_not_count_show_nowhere() {
    for size in [UVec2::new(34, 40), UVec2::new(40, 34), UVec2::new(34, 34), UVec2::new(35, 33)] {
        let pixels = (0..size.element_product()).map(|i| UVec2::new(i % size.x, i / size.x));
        let is_seen = |at: UVec2| at.max_element() <= 32;
        // Pixels without weight have the position (−1, −1). The other positions are so far from it that chroma sampled
        // halfway between them would differ clearly.
        let place = |at: UVec2| if is_seen(at) { at.as_vec2() + 60.25 } else { Vec2::NEG_ONE };
        let hidden: Vec<_> = pixels.clone().map(place).collect();
        let seen: Vec<_> = pixels.clone().map(|at| at.as_vec2() + 60.0).collect();
        let [x, y] = [|at: &Vec2| at.x, |at: &Vec2| at.y];
        let plane = |places: &[Vec2], axis: fn(&Vec2) -> f32| places.iter().map(axis).collect();
        let weights = pixels.map(|at| if is_seen(at) { 0.5 } else { 0.0 }).collect();
        let planes = [
            plane(&hidden, x),
            plane(&hidden, y),
            plane(&seen, x),
            plane(&seen, y),
            weights,
            vec![0.5; seen.len()],
        ];
        let source = UVec2::splat(120);
        let case = Case {
            warp: Warp::new(size, [source; 2], planes).unwrap(),
            pictures: [1, 2].map(|seed| waves(source, NV12, seed)),
            output: FrameFormat { size, pixels: NV12 },
            options: StitchOptions::default(),
        };
        for device in panoweave_devices() {
            let stream = device.stream().unwrap();
            let by = |lookup| case.stitched(&stream, &StitchOptions { lookup, ..case.options });
            let (worst, psnr) = difference(&by(Lookup::Mesh), &by(Lookup::Planes));
            assert!(worst <= 6, "{device}, {size}: {worst} levels, {psnr} dB");
        }
    }
}

/// Checks that a frame can be the picture of both cameras at once, and can be stitched repeatedly.
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
            let frame = frame(&stream, &picture);
            let by = |lookup| {
                let options = StitchOptions { lookup, ..StitchOptions::default() };
                let mut out = DeviceFrame::new(&device, picture.format()).unwrap();
                stitch(&stream, &[(&frame).into(), (&frame).into()], &warp, &options, &mut out)
                    .unwrap();
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
