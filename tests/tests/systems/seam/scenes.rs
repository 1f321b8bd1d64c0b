//! Compares feathering with seams, on generated scenes with a near object and on photos. Feathering shows a near object
//! twice, and a seam shows the object once. If the environment variable `PANOWEAVE_LOOK` names a folder, the tests
//! write two panoramas of each pair of photos to this folder: one with feathering and one with a seam.

use std::path::Path;

use glam::UVec2;
use panoweave::device::Device;
use panoweave::frame::FrameView;
use panoweave::geometry::homography::Homography;
use panoweave::io::picture::Picture;
use panoweave::ops::colour::Colours;
use panoweave::ops::seam::{SeamOptions, seamed};
use panoweave::ops::stitch::{StitchOptions, Vignettes, stitch_pictures};
use panoweave::warp::DeviceWarp;
use panoweave_tests::{by_planes, data, matched_pictures, panoweave_devices};
use shared_types::Rgba8;

use crate::seam::weights::{check, with_seam};
use crate::seam::{BESIDE, Scene, alone, ghost, seen, stitched, with_disc};

/// Returns the number of pixels that show the opaque red disc, and the number of pixels that show it half transparent.
fn red(panorama: &[Rgba8]) -> [f64; 2] {
    let share = |pixel: &Rgba8| ((f64::from(pixel.r) - f64::from(pixel.g) - 40.0) / 170.0).max(0.0);
    let full = panorama.iter().filter(|pixel| share(pixel) > 0.9).count();
    let half = panorama.iter().filter(|pixel| (0.2..0.8).contains(&share(pixel))).count();
    [full as f64, half as f64]
}

/// Checks that feathering shows two ghosts of a disc that the cameras see at different positions, and that a seam shows
/// the disc once. If `once` is false, the seam may also hide the disc.
fn check_disc(device: &Device, homography: [f64; 9], centres: [[f64; 2]; 2], once: bool) {
    const RADIUS: f64 = 14.0;
    let stream = device.stream().unwrap();
    let [left, right] = centres.map(|centre| with_disc(centre, RADIUS));
    let scene = Scene::new(&stream, homography, [&left, &right]);
    let (out, _) = with_seam(&stream, &scene, 8.0);
    let warp = scene.warp.download(&stream).unwrap();
    let seen = seen(&warp);
    let cameras = [0, 1].map(|camera| alone(device, &scene.pictures, &warp, camera));
    let feathered = stitched(&stream, &scene.pictures, &scene.warp);
    let seamed = stitched(&stream, &scene.pictures, &out);
    let area = std::f64::consts::PI * RADIUS * RADIUS;
    // With feathering, the disc appears twice, and both times half transparent.
    let [_, half] = red(&feathered);
    assert!(half > 0.3 * area, "feathering shows no ghost: {half} on {device}");
    let [full, half] = red(&seamed);
    // The rim of the disc also counts as half transparent, because the stitch resamples the camera's pixels.
    let rim = cameras.iter().map(|camera| red(camera)[1]).fold(0.0, f64::max);
    assert!(half < rim + 0.02 * area, "a ghost of {half} pixels of {area} on {device}");
    let (none, one) = (full < 0.1 * area, (full / area - 1.0).abs() < 0.1);
    assert!(one || (none && !once), "{full} pixels of {area} on {device}");
    let [before, after] = [&feathered, &seamed].map(|it| ghost(it, &cameras, &seen));
    assert!(after < 0.1 * before, "{before} levels became {after} on {device}");
}

#[test]
fn what_is_near_is_shown_once() {
    let rolled = {
        let (sin, cos) = 12.0_f64.to_radians().sin_cos();
        [cos, -sin, 85.0, sin, cos, -10.0, 0.0, 0.0, 1.0]
    };
    for device in panoweave_devices() {
        // The discs of both cameras overlap in the panorama, so a seam cannot pass between the discs. It must show the
        // disc of one camera completely.
        check_disc(&device, BESIDE, [[126.0, 60.0], [111.0, 60.0]], true);
        check_disc(&device, BESIDE, [[112.0, 40.0], [124.0, 48.0]], true);
        check_disc(&device, rolled, [[126.0, 55.0], [112.0, 60.0]], true);
        let below = [1.0, 0.0, 0.0, 0.0, 1.0, 50.0, 0.0, 0.0, 1.0];
        check_disc(&device, below, [[80.0, 92.0], [82.0, 80.0]], true);
        // This disc is even nearer to the cameras, so the discs of both cameras do not overlap in the panorama. A seam
        // can pass between the discs and hide both.
        check_disc(&device, BESIDE, [[139.0, 60.0], [101.0, 60.0]], false);
    }
}

/// Checks a pair of photos: a seam must remove at least the fraction `least` of the ghosting that feathering causes.
fn check_photos(scene: &str, left: &str, least: f64) {
    let Some(table) = data("stitch_ref/pairs.csv") else { return };
    let table = std::fs::read_to_string(table).unwrap();
    let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let row = rows.find(|row| row[0] == scene && row[1] == left).unwrap();
    let files = [row[1], row[2]].map(|file| data(format!("scenes/{scene}/{file}")));
    let [Some(left), Some(right)] = files else { return };
    let files = [left, right];
    let pictures = files.map(|file| Picture::open(file).unwrap());
    let [a, b] = pictures.each_ref().map(|p| UVec2::new(p.width(), p.height()));
    let geometry = Homography::parse(row[9], scene).unwrap().geometry(a, b).unwrap();
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::render(&stream, &geometry).unwrap();
        let matched = matched_pictures(&stream, &pictures.each_ref(), &warp, &Vignettes::NONE);
        let colours = matched.expect("enough light");
        let (left, right) = (colours[0], colours[1]);
        let options = StitchOptions { colours: Colours::of([left, right]), ..by_planes() };
        let [l, r] = &pictures;
        let seam = SeamOptions::default();
        let images = [l, r].map(|picture| picture.upload(&stream).unwrap());
        let frames = images.each_ref().map(FrameView::from);
        let seamed = seamed(&stream, &warp, &frames, options.colours, seam).unwrap().0;
        let on_host = warp.download(&stream).unwrap();
        assert_eq!(check(&on_host, &seamed.download(&stream).unwrap()), 0, "{scene} on {device}");
        let show = |warp: &DeviceWarp| stitch_pictures(&stream, &[l, r], warp, &options).unwrap();
        let found = [show(&warp), show(&seamed)];
        let seen = seen(&on_host);
        // Stitch the picture of each camera alone, with the same colour corrections as the panoramas.
        let cameras = [0, 1].map(|camera| {
            let mut planes = on_host.planes().to_vec();
            for (at, seen) in seen.iter().enumerate() {
                planes[4][at] = f32::from(camera == 0 && seen[0]);
                planes[5][at] = f32::from(camera == 1 && seen[1]);
            }
            let one =
                panoweave::warp::Warp::new(on_host.size(), on_host.sources(), planes).unwrap();
            show(&DeviceWarp::upload(&stream, &one).unwrap()).into_pixels()
        });
        let [before, after] =
            found.each_ref().map(|picture| ghost(picture.pixels(), &cameras, &seen));
        eprintln!("{scene} on {device}: {before:.2} levels of ghosting become {after:.2}");
        assert!(after < (1.0 - least) * before, "{scene} on {device}: {before} to {after}");
        if let Some(folder) = std::env::var_os("PANOWEAVE_LOOK") {
            for (picture, what) in found.iter().zip(["feather", "seam"]) {
                picture.save(Path::new(&folder).join(format!("{scene}_{what}.png"))).unwrap();
            }
        }
    }
}

#[test]
fn roofs() {
    check_photos("roofs", "roofs1.jpg", 0.8);
}

#[test]
fn mountains() {
    check_photos("mex_b", "b1.jpg", 0.8);
}

#[test]
fn river() {
    check_photos("river", "river1.jpg", 0.8);
}
