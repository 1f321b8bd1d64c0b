//! Checks that colour matching removes most of the colour difference between photos of the same scene with different
//! exposures: at least 60 % or 80 %, depending on the scene.
//!
//! The colour difference is the difference between the mean levels of both pictures in the overlap, as measured by the
//! module `quality`. If the environment variable `PANOWEAVE_LOOK` names a folder, the tests write the panoramas before
//! and after correction to this folder.

use std::fs;
use std::path::PathBuf;

use glam::{UVec2, uvec2};
use panoweave::device::Image;
use panoweave::frame::{Frame, FrameFormat};
use panoweave::geometry::homography::Homography;
use panoweave::io::picture::Picture;
use panoweave::ops::colour::{Colours, Overlap, estimate, matched_pictures};
use panoweave::ops::stitch::{StitchOptions, Vignettes, stitch_pictures};
use panoweave::quality::OverlapMeter;
use panoweave::warp::DeviceWarp;
use panoweave_tests::{by_planes, data, panoweave_devices};

/// Returns the paths of a scene's left and right pictures, and the homography from right to left.
fn scene(name: &str, left: &str) -> Option<([PathBuf; 2], String)> {
    let table = fs::read_to_string(data("stitch_ref/pairs.csv")?).unwrap();
    let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let row = rows.find(|row| row[0] == name && row[1] == left).unwrap();
    let [a, b] = [row[1], row[2]].map(|file| data(format!("scenes/{name}/{file}")));
    Some(([a?, b?], row[9].to_owned()))
}

/// Checks that the estimated correction removes at least the fraction `part` of the colour difference. `found` contains
/// the paths of both pictures and their homography, or is `None` if the test data is missing.
fn check(name: &str, found: Option<([PathBuf; 2], String)>, part: f64) {
    let Some((files, homography)) = found else { return };
    let pictures = files.map(|file| Picture::open(file).unwrap());
    let size = |picture: &Picture| uvec2(picture.width(), picture.height());
    let [a, b]: [UVec2; 2] = [size(&pictures[0]), size(&pictures[1])];
    let geometry = Homography::parse(&homography, name).unwrap().geometry(a, b).unwrap();
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::render(&stream, &geometry).unwrap();
        let overlap = Overlap::find(&stream, &warp, [0, 1]).unwrap().unwrap();
        let images = pictures
            .each_ref()
            .map(|p| Image::from_slice(&stream, p.width(), p.height(), p.pixels()).unwrap());
        let sums = overlap.sums(&stream, &images[0], &images[1]).unwrap();
        let colours = estimate(&sums, &overlap.limits()).expect("enough light");
        let matched =
            matched_pictures(&stream, &[&pictures[0], &pictures[1]], &warp, &Vignettes::NONE, None)
                .unwrap();
        assert_eq!(matched, Some(colours), "{name}");

        let meter = OverlapMeter::new(&stream, &warp, [0, 1]).unwrap().unwrap();
        let frames = pictures.each_ref().map(|picture| {
            let format = FrameFormat::rgba8(picture.width(), picture.height());
            Frame::tight(format, bytemuck::cast_slice(picture.pixels())).unwrap()
        });
        let measure = |colours| meter.measure(&frames, colours, &Vignettes::NONE).unwrap().colour();
        let (before, after) = (measure(&Colours::IDENTITY), measure(&colours));
        let taken = 1.0 - after / before;
        println!(
            "{device}, {name}: {before:.2} levels before, {after:.2} after, {:.1} % removed; gains {} and {}, gammas {:.3} and {:.3}",
            100.0 * taken,
            colours[0].gain,
            colours[1].gain,
            colours[0].gamma,
            colours[1].gamma
        );
        if let Some(folder) = std::env::var_os("PANOWEAVE_LOOK") {
            for (which, colours) in [("before", Colours::IDENTITY), ("after", colours)] {
                let options = StitchOptions { colours, ..by_planes() };
                let [left, right] = &pictures;
                let panorama = stitch_pictures(&stream, &[left, right], &warp, &options).unwrap();
                panorama.save(PathBuf::from(&folder).join(format!("{name}-{which}.jpg"))).unwrap();
            }
        }
        assert!(taken >= part, "{name}: only {:.1} % taken away", 100.0 * taken);
    }
}

#[test]
fn weir_1_and_2() {
    check("weir 1 and 2", scene("weir", "weir_1.jpg"), 0.8);
}

#[test]
fn weir_2_and_3() {
    check("weir 2 and 3", scene("weir", "weir_2.jpg"), 0.8);
}

#[test]
fn cave() {
    check("boof_cave", scene("boof_cave", "cave_01.jpg"), 0.8);
}

#[test]
fn apartment_building() {
    check(
        "boof_apartment_building",
        scene("boof_apartment_building", "apartment_building_01.jpg"),
        0.6,
    );
}

#[test]
fn brussels() {
    let file = |name: &str| data(format!("homography/magsac/Brussels/{name}"));
    let found = (|| {
        let files = [file("BrusselsA.jpg")?, file("BrusselsB.jpg")?];
        Some((files, fs::read_to_string(file("Brussels_model.txt")?).unwrap()))
    })();
    check("Brussels", found, 0.8);
}

/// Checks two exposures of the same scene from the same position. The pictures are aligned, so the homography is the
/// identity.
#[test]
fn memorial() {
    let file = |name: &str| data(format!("exposure/memorial/{name}"));
    let found = (|| {
        let files = [file("memorial05.png")?, file("memorial06.png")?];
        Some((files, "1 0 0 0 1 0 0 0 1".to_owned()))
    })();
    check("memorial", found, 0.8);
}
