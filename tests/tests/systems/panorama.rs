//! Compares panoramas of 1 to 18 pictures with a blend of all cameras in f64, on every device. Also checks that the
//! colour corrections do not depend on the order of the pictures, and checks the errors for invalid arguments.

use glam::{DMat3, DVec2, uvec2};
use panoweave::device::Device;
use panoweave::geometry::{Geometry, Vignetting};
use panoweave::io::picture::Picture;
use panoweave::ops::blend::Blend;
use panoweave::ops::refine::RefineOptions;
use panoweave::ops::seam::SeamOptions;
use panoweave::ops::stitch::{Colours, StitchOptions, Vignettes, stitch_pictures};
use panoweave::panorama::{Coverage, PanoramaOptions, stitch_geometry, stitch_warp};
use panoweave::warp::DeviceWarp;
use panoweave_tests::random::Random;
use panoweave_tests::several::{
    CANVAS, all_seen, blend, made_up, made_up_of, noise, project, seen,
};
use panoweave_tests::{by_planes, data, panoweave_devices};
use shared_types::Rgba8;
use shared_types::stitch::Colour;
use shared_types::warp::{Camera, Canvas};

fn stitched(device: &Device, geometry: &Geometry, pictures: &[Picture]) -> (Picture, Coverage) {
    let stream = device.stream().unwrap();
    let options = PanoramaOptions { stitch: by_planes(), ..PanoramaOptions::default() };
    let (panorama, coverage) = stitch_geometry(&stream, pictures, geometry, &options).unwrap();
    (panorama.picture, coverage)
}

/// Returns the cameras and pictures of [`made_up`] for `seed`, and for `more` other seeds.
fn crowd(seed: u64, more: usize) -> (Geometry, Vec<Picture>) {
    let (mut geometry, mut pictures) = made_up(seed, noise);
    for i in 1..=more as u64 {
        let (others, their_pictures) = made_up(seed + 100 * i, noise);
        geometry.cameras.extend(others.cameras);
        pictures.extend(their_pictures);
    }
    (geometry, pictures)
}

#[test]
fn every_camera_counts_by_its_distance_from_the_edge() {
    for device in panoweave_devices() {
        for seed in 0..26 {
            let (geometry, pictures) = match seed {
                25 => made_up_of(seed, 1, noise),
                _ => crowd(seed, seed as usize % 3),
            };
            let (found, coverage) = stitched(&device, &geometry, &pictures);
            let mut covered = [0.0; 2];
            // The bound is half a level for rounding and 0.02 levels for f32 arithmetic. A stitch of two cameras also
            // skips cameras with a weight under 0.001, which changes the result by up to 0.26 levels.
            let allowed = if pictures.len() == 2 { 0.5 + 0.26 + 0.05 } else { 0.52 };
            for y in 0..CANVAS.y {
                for x in 0..CANVAS.x {
                    let all = all_seen(&geometry, &pictures, x, y);
                    covered[0] += f64::from(u8::from(!all.is_empty()));
                    covered[1] += f64::from(u8::from(all.len() > 1));
                    let Rgba8 { r, g, b, a } = found.pixels()[(y * CANVAS.x + x) as usize];
                    assert_eq!(a, 255);
                    for (level, exact) in [r, g, b].into_iter().zip(blend(&all)) {
                        let off = (f64::from(level) - exact).abs();
                        assert!(off < allowed, "{device}, {seed}: {off} levels at {x}, {y}");
                    }
                }
            }
            let pixels = f64::from(CANVAS.element_product());
            assert!((coverage.any - covered[0] / pixels).abs() < 1e-3, "{coverage:?}");
            assert!((coverage.overlap - covered[1] / pixels).abs() < 1e-3, "{coverage:?}");
            assert_eq!(coverage.cameras.len(), pictures.len());
        }
    }
}

/// A single picture has nothing to be blended, matched or moved with.
#[test]
fn one_picture_keeps_its_levels() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let (geometry, pictures) = made_up_of(7, 1, noise);
        let warp = DeviceWarp::render(&stream, &geometry).unwrap();
        let plain = stitched(&device, &geometry, &pictures).0;
        for blend in [Blend::Seam(SeamOptions::default()), Blend::Multiband(Default::default())] {
            let refine = Some(RefineOptions::default());
            let stitch = by_planes();
            let options =
                PanoramaOptions { stitch, match_colour: true, blend, refine, ..Default::default() };
            let (made, coverage) =
                stitch_geometry(&stream, &pictures, &geometry, &options).unwrap();
            assert_eq!((made.picture.pixels(), coverage.overlap), (plain.pixels(), 0.0));
            let made = stitch_warp(&stream, &[&pictures[0]], &warp, &options).unwrap();
            assert_eq!(made.picture.pixels(), plain.pixels(), "{device}, {blend:?}");
        }
    }
}

#[test]
fn two_pictures_are_stitched_as_two_are() {
    for device in panoweave_devices() {
        let (geometry, pictures) = made_up(5, noise);
        assert_eq!(pictures.len(), 2);
        let stream = device.stream().unwrap();
        let warp = panoweave::warp::DeviceWarp::render(&stream, &geometry).unwrap();
        let options = by_planes();
        let stitched =
            stitch_pictures(&stream, &[&pictures[0], &pictures[1]], &warp, &options).unwrap();
        assert_eq!(self::stitched(&device, &geometry, &pictures).0.pixels(), stitched.pixels());
    }
}

/// Returns four cameras that are side by side, and their pictures, in the given order. Each camera shows a part of a
/// grey scene with its own exposure.
fn exposed(order: &[usize]) -> (Geometry, Vec<Picture>) {
    let (width, step) = (60, 35);
    let exposures = [1.0, 0.8, 0.7, 1.1];
    let canvas = Canvas { size: uvec2(width + 3 * step, 40), ..made_up(0, noise).0.canvas };
    let scene = |x: u32, y: u32| 60.0 + 40.0 * (f64::from(x) * 0.2).sin() + f64::from(y);
    let one = |&i: &usize| {
        let first = i as u32 * step;
        let place = DVec2::new(first.into(), 0.0);
        let mut camera = made_up(0, noise).0.cameras[0];
        camera.from_ray = DMat3::from_translation(-place);
        camera.size = uvec2(width, 40);
        let pixels = (0..width * 40).map(|at| {
            let level = (exposures[i] * scene(first + at % width, at / width)).round() as u8;
            Rgba8::opaque(level, level, level)
        });
        (camera, Picture::from_pixels(width, 40, pixels.collect()).unwrap())
    };
    let (cameras, pictures) = order.iter().map(one).unzip();
    (Geometry { canvas, cameras }, pictures)
}

#[test]
fn colours_do_not_depend_on_the_order() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let options = PanoramaOptions { match_colour: true, ..PanoramaOptions::default() };
        let mut first: Option<Vec<f32>> = None;
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let (geometry, pictures) = exposed(&order);
            let (made, _) = stitch_geometry(&stream, &pictures, &geometry, &options).unwrap();
            assert!(made.unmatched.is_empty());
            let mut gains = vec![0.0; 4];
            order.iter().zip(&made.colours).for_each(|(&i, colour)| gains[i] = colour.gain.y);
            // The gains must compensate the exposures without changing the overall brightness.
            let undone: Vec<f32> =
                gains.iter().zip([1.0, 0.8, 0.7, 1.1]).map(|(gain, by)| gain * by).collect();
            for exposure in &undone {
                assert!((exposure / undone[0] - 1.0).abs() < 0.02, "{device}: {gains:?}");
            }
            let logs: f32 = gains.iter().map(|gain| gain.ln()).sum();
            assert!(logs.abs() < 1e-3, "{device}: {gains:?}");
            let first = first.get_or_insert(gains.clone());
            for (a, b) in gains.iter().zip(first) {
                assert!((a - *b).abs() < 1e-3, "{device}, {order:?}: {gains:?}");
            }
        }
    }
}

#[test]
fn a_turned_panorama_is_the_panorama_turned() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let (geometry, pictures) = made_up(3, noise);
        assert!(pictures.len() > 3);
        let made = |flip| {
            let stitch = StitchOptions { flip, ..by_planes() };
            let options = PanoramaOptions { stitch, owners: true, ..PanoramaOptions::default() };
            stitch_geometry(&stream, &pictures, &geometry, &options).unwrap().0
        };
        let (upright, turned) = (made(false), made(true));
        assert!(upright.picture.pixels().iter().rev().eq(turned.picture.pixels()), "{device}");
        // `owners` names the camera for which the pixel is farthest from the edge.
        for (i, &owner) in upright.owners.iter().enumerate() {
            let (x, y) = (i as u32 % CANVAS.x, i as u32 / CANVAS.x);
            let edges: Vec<f64> = geometry
                .cameras
                .iter()
                .zip(&pictures)
                .map(|(camera, picture)| seen(camera, picture, x, y).map_or(0.0, |(_, edge)| edge))
                .collect();
            let most = edges.iter().copied().fold(0.0, f64::max);
            assert_eq!(most == 0.0, owner == u8::MAX, "{device}: {x}, {y}");
            assert!(most == 0.0 || edges[usize::from(owner)] > most - 1e-6, "{device}: {x}, {y}");
        }
    }
}

/// Checks a panorama of smooth grey pictures with seams. Each level must be between those of the cameras that see the
/// pixel, and each pixel must have an owner that sees it. If only one camera sees a pixel, its level is exact, however
/// many pictures were added later.
#[test]
fn seams_mix_only_the_cameras_that_see_a_pixel() {
    let waves = |random: &mut Random, x: u32, y: u32| {
        let level = 120 + (x * 3 + y * 2) % 60 + random.below(3) as u32;
        Rgba8::opaque(level as u8, level as u8, level as u8)
    };
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let mut alone = 0;
        for seed in [1, 3, 8, 14] {
            let (geometry, pictures) = made_up(seed, waves);
            assert!(pictures.len() > 2);
            let blend = Blend::Seam(SeamOptions::default());
            let options =
                PanoramaOptions { stitch: by_planes(), blend, owners: true, ..Default::default() };
            let (made, _) = stitch_geometry(&stream, &pictures, &geometry, &options).unwrap();
            for (at, (pixel, owner)) in made.picture.pixels().iter().zip(&made.owners).enumerate() {
                let (x, y) = (at as u32 % CANVAS.x, at as u32 / CANVAS.x);
                let all = all_seen(&geometry, &pictures, x, y);
                let levels = || all.iter().map(|(levels, _)| levels[0]);
                let (least, most) = (levels().fold(255.0, f64::min), levels().fold(0.0, f64::max));
                let found = f64::from(pixel.r);
                alone += u32::from(all.len() == 1);
                if all.is_empty() {
                    assert_eq!((*pixel, *owner), (Rgba8::BLACK, u8::MAX), "{device}: {x}, {y}");
                    continue;
                }
                let fine = (least - 0.52..most + 0.52).contains(&found);
                assert!(fine, "{device}, {seed}: {found} at {x}, {y}: {all:?}");
                let owner = usize::from(*owner);
                assert!(seen(&geometry.cameras[owner], &pictures[owner], x, y).is_some());
            }
        }
        assert!(alone > 1000, "{alone}");
    }
}

/// Returns the cameras and pictures of a scene with three photographs, and a canvas that contains all of them. The
/// coordinates of the canvas are those of the second photograph.
fn photographs(pairs: &str, scene: &str) -> Option<(Geometry, Vec<Picture>)> {
    let rows: Vec<Vec<&str>> = pairs
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|row| row[0] == scene)
        .collect();
    let [first, second] = &rows[..] else { panic!("{scene} has {} pairs", rows.len()) };
    let files = [first[1], first[2], second[2]];
    let files = files.map(|file| data(format!("scenes/{scene}/{file}")));
    let pictures = files.into_iter().collect::<Option<Vec<_>>>()?;
    let pictures: Vec<_> = pictures.iter().map(|file| Picture::open(file).unwrap()).collect();
    let matrix = |row: &[&str]| {
        let numbers: Vec<f64> =
            row.last().unwrap().split_whitespace().map(|word| word.parse().unwrap()).collect();
        DMat3::from_cols_array(&numbers.try_into().unwrap()).transpose()
    };
    // Both homographies map the later picture of a pair to the earlier one.
    let to_canvas = [matrix(first).inverse(), DMat3::IDENTITY, matrix(second)];
    let corners = to_canvas.iter().zip(&pictures).flat_map(|(to_canvas, picture)| {
        let size = picture.size().as_dvec2();
        [DVec2::ZERO, DVec2::new(size.x, 0.0), DVec2::new(0.0, size.y), size]
            .map(|at| project(to_canvas, at))
    });
    let (least, most) = corners
        .fold((DVec2::INFINITY, DVec2::NEG_INFINITY), |(least, most), at| {
            (least.min(at), most.max(at))
        });
    let cameras = to_canvas.iter().zip(&pictures).map(|(to_canvas, picture)| {
        let from_canvas = to_canvas.inverse() * DMat3::from_translation(least.floor());
        Camera::from_matrix(from_canvas, picture.size())
    });
    let canvas = Canvas::of_pixels(DVec2::ZERO, (most - least).ceil().as_uvec2());
    Some((Geometry { canvas, cameras: cameras.collect() }, pictures))
}

/// Compares panoramas of three photographs, whose homographies were measured by other software, with the blend in f64.
#[test]
fn three_photographs_are_blended_as_in_f64() {
    let Some(pairs) = data("stitch_ref/pairs.csv") else { return };
    let pairs = std::fs::read_to_string(pairs).unwrap();
    for scene in ["weir", "arches_a", "arches_b"] {
        let Some((geometry, pictures)) = photographs(&pairs, scene) else { return };
        for device in panoweave_devices() {
            let (found, coverage) = stitched(&device, &geometry, &pictures);
            assert!(coverage.overlap > 0.1, "{coverage:?}");
            let (mut worst, mut several) = (0.0_f64, 0);
            // A few thousand pixels are enough, because every pixel takes the same path.
            for at in (0..found.pixels().len()).step_by(211) {
                let (x, y) = (at as u32 % found.width(), at as u32 / found.width());
                let edges = geometry.cameras.iter().map(|camera| edge(camera, x, y));
                // Within f32 accuracy of an edge, it is not certain which cameras see the pixel.
                if edges.into_iter().any(|edge| edge.abs() < 0.01) {
                    continue;
                }
                let all = all_seen(&geometry, &pictures, x, y);
                several += u32::from(all.len() > 1);
                let Rgba8 { r, g, b, .. } = found.pixels()[at];
                for (level, exact) in [r, g, b].into_iter().zip(blend(&all)) {
                    worst = worst.max((f64::from(level) - exact).abs());
                }
            }
            println!("{scene} on {device}: {worst:.3} levels, {several} pixels of several cameras");
            // Coordinates in f32 are off by up to 1e-4 pixels, which is up to 0.03 levels.
            assert!(worst < 0.55 && several > 500, "{scene}, {device}: {worst}, {several}");
        }
    }
}

/// Returns the distance in pixels from a canvas pixel to the nearest edge of a camera's picture. It is negative outside
/// the picture.
fn edge(camera: &Camera, x: u32, y: u32) -> f64 {
    let at = project(&camera.from_ray, DVec2::new(x.into(), y.into()));
    at.min(camera.size.as_dvec2() - at).min_element()
}

#[test]
fn what_is_no_panorama() {
    let stream = Device::cpu().stream().unwrap();
    let (geometry, pictures) = made_up(3, noise);
    let options = PanoramaOptions { stitch: by_planes(), ..PanoramaOptions::default() };
    let error = |pictures: &[Picture], geometry: &Geometry, options: &PanoramaOptions| {
        stitch_geometry(&stream, pictures, geometry, options).unwrap_err().to_string()
    };
    for count in [0, 65] {
        let cameras = geometry.cameras.iter().copied().cycle().take(count).collect();
        let said = error(&pictures, &Geometry { cameras, ..geometry }, &options);
        assert!(said.contains(&format!("{count} cameras; it must have 1 to 64")), "{said}");
    }
    let said = error(&pictures[1..], &geometry, &options);
    assert!(said.contains("4 pictures for a geometry of 5 cameras"), "{said}");
    let mut others = pictures.clone();
    others.swap(0, 1);
    let said = error(&others, &geometry, &options);
    assert!(said.contains("picture 1 is"), "{said}");
    let colour = Colour { gamma: 0.9, ..Colour::IDENTITY };
    let stitch = StitchOptions { colours: Colours::of([Colour::IDENTITY, colour]), ..by_planes() };
    let options = PanoramaOptions { stitch, ..options };
    let (panorama, _) = stitch_geometry(&stream, &pictures, &geometry, &options).unwrap();
    assert_eq!(panorama.colours[..3], [Colour::IDENTITY, colour, Colour::IDENTITY]);
    let wrong = Colour { gain: glam::Vec3::NAN, ..Colour::IDENTITY };
    let stitch = StitchOptions { colours: Colours::of([wrong]), ..by_planes() };
    let said = error(&pictures, &geometry, &PanoramaOptions { stitch, ..options });
    assert!(said.contains("gain"), "{said}");
    // Colours can be given for at most 16 pictures.
    let pictures: Vec<_> = pictures.iter().cloned().cycle().take(17).collect();
    let cameras = geometry.cameras.iter().copied().cycle().take(17).collect();
    let geometry = Geometry { cameras, ..geometry };
    let said = error(&pictures, &geometry, &options);
    assert!(said.contains("gains and gammas can be given for at most 16 pictures"), "{said}");
    // So can vignettes, also if colours are matched.
    let vignette = Vignetting([-0.3, 0.0, 0.0]).vignette(pictures[0].size());
    let stitch = StitchOptions { vignettes: Vignettes::of([vignette]), ..by_planes() };
    for match_colour in [false, true] {
        let options = PanoramaOptions { stitch, match_colour, ..PanoramaOptions::default() };
        let said = error(&pictures, &geometry, &options);
        assert!(said.contains("vignettes can be given for at most 16 pictures"), "{said}");
    }
}

/// A warp computes its mesh when it is first needed. Masked pictures must have the same panorama before and after.
#[test]
fn masked_pixels_are_left_out_with_any_mesh() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let size = uvec2(40, 30);
        let camera =
            |x: f64| Camera::from_matrix(DMat3::from_translation(DVec2::new(-x, 0.0)), size);
        let geometry = Geometry {
            canvas: Canvas::of_pixels(DVec2::ZERO, uvec2(70, 30)),
            cameras: vec![camera(0.0), camera(30.0)],
        };
        let warp = DeviceWarp::render(&stream, &geometry).unwrap();
        let colours = [Rgba8::opaque(10, 20, 30), Rgba8::opaque(200, 0, 7)];
        let whole = colours.map(|colour| Picture::filled(40, 30, colour));
        let mut masked = whole.clone();
        // A hole in the left picture that reaches beyond the right one.
        for (at, pixel) in masked[0].pixels_mut().iter_mut().enumerate() {
            if (20..36).contains(&(at % 40)) && (8..22).contains(&(at / 40)) {
                pixel.a = 0;
            }
        }
        let options = PanoramaOptions::default();
        let stitch = |[left, right]: &[Picture; 2]| {
            stitch_warp(&stream, &[left, right], &warp, &options).unwrap().picture
        };
        let before = stitch(&masked);
        stitch(&whole);
        warp.mesh(&stream).unwrap();
        assert!(stitch(&masked) == before, "{device}");
        // No camera sees the middle of the hole.
        assert_eq!(before.pixels()[15 * 70 + 25].r, 0, "{device}");
    }
}
