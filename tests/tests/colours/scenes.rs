//! Photos of the same thing in different exposure, and what the estimated colours leave of the difference.
//!
//! The difference is that of the cameras' means over all of the overlap, with the colours applied by the
//! specification's formula in f64. `PANOWEAVE_LOOK` names a folder for panoramas before and after.

use std::fs;
use std::path::PathBuf;

use glam::{UVec2, uvec2};
use panoweave::colour::{Colours, Overlap, estimate, matched_pictures};
use panoweave::device::Image;
use panoweave::homography::Homography;
use panoweave::picture::Picture;
use panoweave::stitch::{Power, StitchOptions, stitch_pictures};
use panoweave::warp::DeviceWarp;
use panoweave_tests::{data, panoweave_devices};
use shared_types::Rgba8;
use shared_types::stitch::Colour;

/// Means of red, green and blue.
type Means = [f64; 3];

fn apply(colour: Colour, pixel: Rgba8) -> Means {
    let channel = |c: usize, level: u8| {
        let gained = (f64::from(colour.gain[c]) * f64::from(level) / 255.0).clamp(0.0, 1.0);
        255.0 * gained.powf(colour.gamma.into())
    };
    [channel(0, pixel.r), channel(1, pixel.g), channel(2, pixel.b)]
}

/// Mean difference of both cameras' means, and mean of both.
fn difference(pairs: &[[Rgba8; 2]], colours: &Colours) -> f64 {
    let mut sum = [0.0; 3];
    for [left, right] in pairs {
        let (l, r) = (apply(colours.left, *left), apply(colours.right, *right));
        (0..3).for_each(|c| sum[c] += l[c] - r[c]);
    }
    sum.iter().map(|sum| sum.abs() / pairs.len() as f64).sum::<f64>() / 3.0
}

/// Left and right picture of a scene, and the homography right to left.
fn scene(name: &str, left: &str) -> Option<([PathBuf; 2], String)> {
    let table = fs::read_to_string(data("stitch_ref/pairs.csv")?).unwrap();
    let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let row = rows.find(|row| row[0] == name && row[1] == left).unwrap();
    let [a, b] = [row[1], row[2]].map(|file| data(format!("scenes/{name}/{file}")));
    Some(([a?, b?], row[9].to_owned()))
}

/// Checks that the colours take away at least `part` of the difference.
fn check(name: &str, found: Option<([PathBuf; 2], String)>, part: f64) {
    let Some((files, homography)) = found else { return };
    let pictures = files.map(|file| Picture::open(file).unwrap());
    let size = |picture: &Picture| uvec2(picture.width(), picture.height());
    let [a, b]: [UVec2; 2] = [size(&pictures[0]), size(&pictures[1])];
    let geometry = Homography::parse(&homography, name).unwrap().geometry(a, b).unwrap();
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::render(&stream, &geometry).unwrap();
        let overlap = Overlap::find(&stream, &warp).unwrap().unwrap();
        let images = pictures
            .each_ref()
            .map(|p| Image::from_slice(&stream, p.width(), p.height(), p.pixels()).unwrap());
        let sums = overlap.sums(&stream, &images[0], &images[1]).unwrap();
        let colours = estimate(&sums, &overlap.limits()).expect("enough light");
        let matched = matched_pictures(&stream, &pictures[0], &pictures[1], &warp).unwrap();
        assert_eq!(matched, Some(colours), "{name}");

        let on_host = warp.download(&stream).unwrap();
        let at = |camera: usize, at: usize| {
            let [u, v] = [2 * camera, 2 * camera + 1].map(|plane| on_host.planes()[plane][at]);
            let (size, weight) = ([a, b][camera].as_vec2(), on_host.planes()[4 + camera][at]);
            let inside = u >= 0.0 && u < size.x && v >= 0.0 && v < size.y && weight > 0.1;
            let nearest = |at: f32, size: f32| at.round_ties_even().min(size - 1.0) as usize;
            inside.then(|| {
                let (x, y) = (nearest(u, size.x), nearest(v, size.y));
                pictures[camera].pixels()[y * size.x as usize + x]
            })
        };
        let pixels = on_host.size().element_product() as usize;
        let pairs: Vec<_> = (0..pixels).filter_map(|i| Some([at(0, i)?, at(1, i)?])).collect();
        let before = difference(&pairs, &Colours::IDENTITY);
        let after = difference(&pairs, &colours);
        let taken = 1.0 - after / before;
        println!(
            "{device}, {name}: {before:.2} levels before, {after:.2} after, {:.1} % taken away; gains {} and {}, gammas {:.3} and {:.3}",
            100.0 * taken,
            colours.left.gain,
            colours.right.gain,
            colours.left.gamma,
            colours.right.gamma
        );
        if let Some(folder) = std::env::var_os("PANOWEAVE_LOOK") {
            for (which, Colours { left, right }) in
                [("before", Colours::IDENTITY), ("after", colours)]
            {
                let options =
                    StitchOptions { left, right, power: Power::Exact, ..StitchOptions::default() };
                let [left, right] = &pictures;
                let panorama = stitch_pictures(&stream, left, right, &warp, &options).unwrap();
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

/// Registered exposures: the homography is no motion.
#[test]
fn memorial() {
    let file = |name: &str| data(format!("exposure/memorial/{name}"));
    let found = (|| {
        let files = [file("memorial05.png")?, file("memorial06.png")?];
        Some((files, "1 0 0 0 1 0 0 0 1".to_owned()))
    })();
    check("memorial", found, 0.8);
}
