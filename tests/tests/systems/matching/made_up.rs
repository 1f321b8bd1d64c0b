//! Matches a generated picture with rotated, darkened and downscaled versions of the same picture, for which the
//! correct correspondences are known.

use glam::{DVec2, UVec2, uvec2};
use panoweave::device::{Device, Image, Stream};
use panoweave::geometry::calibrate::Correspondence;
use panoweave::io::picture::Picture;
use panoweave::ops::matching::{Describer, links, pairs};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use shared_types::Rgba8;

use crate::malformed::assert_says;

const SIZE: UVec2 = uvec2(200, 160);

/// Returns a scene of overlapping rectangles with edges one pixel wide, as a function from positions to levels.
fn scene() -> impl Fn(DVec2) -> f64 {
    rectangles(5, 300, [200.0, 160.0], 14.0)
}

/// Returns a scene of `count` rectangles, whose middles are in an area from (0, 0) to `extent`. Their half sides are at
/// most `largest`.
fn rectangles(seed: u64, count: usize, extent: [f32; 2], largest: f32) -> impl Fn(DVec2) -> f64 {
    let mut random = Random::new(seed);
    let mut next = |low: f32, high: f32| f64::from(random.between(low, high));
    let blobs: Vec<_> = (0..count)
        .map(|_| {
            let at = DVec2::new(next(0.0, extent[0]), next(0.0, extent[1]));
            (at, DVec2::new(next(2.0, largest), next(2.0, largest)), next(-60.0, 60.0))
        })
        .collect();
    move |at| {
        let inside = |d: f64, half: f64| (half - d.abs() + 0.5).clamp(0.0, 1.0);
        let level = blobs.iter().fold(128.0, |level, (middle, half, height)| {
            let d = at - *middle;
            level + height * inside(d.x, half.x) * inside(d.y, half.y)
        });
        level.clamp(0.0, 255.0)
    }
}

fn picture(size: UVec2, level: impl Fn(DVec2) -> f64) -> Picture {
    let pixels: Vec<_> = (0..size.x * size.y)
        .map(|i| {
            let level = level(DVec2::new((i % size.x).into(), (i / size.x).into())).round() as u8;
            Rgba8::opaque(level, level, level)
        })
        .collect();
    Picture::from_pixels(size.x, size.y, pixels).unwrap()
}

/// Returns the matches of two pictures.
fn matches(stream: &Stream, left: &Picture, right: &Picture) -> Vec<Correspondence> {
    let pictures = [left.clone(), right.clone()];
    let mut found = links(stream, &pictures).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].left, found[0].right), (0, 1));
    found.remove(0).correspondences
}

fn image(stream: &Stream, picture: &Picture) -> Image<Rgba8> {
    Image::from_slice(stream, picture.width(), picture.height(), picture.pixels()).unwrap()
}

/// The functions for the CPU compute the same points and matches as the kernels, in pictures of several blocks and
/// levels.
#[test]
fn the_cpu_matches_like_the_simulator() {
    let size = uvec2(613, 397);
    let scene = rectangles(9, 2000, [700.0, 400.0], 14.0);
    let left = picture(size, &scene);
    let right = picture(size, |at| scene(at + DVec2::new(71.3, 4.6)));
    let found = [Device::simulator(), Device::cpu()].map(|device| {
        let stream = device.stream().unwrap();
        let mut describer = Describer::new(&stream, size).unwrap();
        let described = [&left, &right]
            .map(|picture| describer.describe(&stream, image(&stream, picture).view()).unwrap());
        let matches = pairs(&stream, &described[0], &described[1]).unwrap();
        (described.map(|one| one.points().to_vec()), matches)
    });
    assert!(found[0].0[0].len() > 500 && found[0].1.len() > 100);
    assert_eq!(found[0], found[1]);
}

#[test]
fn turned_darkened_and_shrunk_pictures_are_matched() {
    let scene = scene();
    let middle = SIZE.as_dvec2() * 0.5 - 0.5;
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let left = picture(SIZE, &scene);
        for (degrees, scale, gain) in [
            (0.0, 1.0, 0.3),
            (90.0, 1.0, 1.0),
            (180.0, 1.0, 0.8),
            (37.0, 1.0, 0.6),
            (-12.0, 0.7, 1.0),
        ] {
            // `to_left` maps positions in the right picture to positions in the left picture.
            let turn = DVec2::from_angle(f64::to_radians(degrees));
            let to_left = |at: DVec2| turn.rotate(at - middle) / scale + middle;
            let right = picture(SIZE, |at| gain * scene(to_left(at)));
            let found = matches(&stream, &left, &right);
            let good = found.iter().filter(|m| to_left(m.right).distance(m.left) < 2.0 / scale);
            let good = good.count();
            println!("{device}: {degrees}°, ×{scale}, gain {gain}: {good} of {}", found.len());
            assert!(good >= 40 && good * 10 >= found.len() * 6, "{good} of {}", found.len());
            assert!(found.is_sorted_by(|a, b| a.score >= b.score));
        }
    }
}

/// A picture of a large set is matched with those that look like it.
#[test]
fn neighbours_in_a_large_set_are_matched() {
    // Twelve pictures of 120 pixels, each of which overlaps with the next one by half; the scene repeats nothing.
    let scene = rectangles(8, 1200, [800.0, 100.0], 9.0);
    let pictures: Vec<_> = (0..12)
        .map(|i| picture(uvec2(120, 100), |at| scene(at + DVec2::new(60.0 * f64::from(i), 0.0))))
        .collect();
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let found = links(&stream, &pictures).unwrap();
        assert_eq!(found.len(), 12 * 11 / 2);
        let unmatched = found.iter().filter(|pair| pair.correspondences.is_empty()).count();
        assert!(unmatched > 0, "pairs that do not overlap were not left out");
        for pair in found.iter().filter(|pair| pair.right - pair.left == 1) {
            let shift = DVec2::new(60.0, 0.0);
            let good = |m: &&Correspondence| (m.left - m.right).distance(shift) < 1.5;
            let good = pair.correspondences.iter().filter(good).count();
            assert!(good > 15, "{device}: {} {}: {good}", pair.left, pair.right);
        }
    }
}

#[test]
fn pictures_of_any_size_are_described_and_wrong_sizes_refused() {
    let scene = scene();
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for size in [uvec2(1, 1), uvec2(3, 500), uvec2(17, 16), uvec2(49, 48)] {
            let picture = picture(size, &scene);
            let found = matches(&stream, &picture, &picture);
            assert!(found.iter().all(|m| m.left == m.right));
        }
        let mut describer = Describer::new(&stream, SIZE).unwrap();
        let wrong = picture(uvec2(5, 5), &scene);
        let found = describer.describe(&stream, image(&stream, &wrong).view());
        assert_says(found.unwrap_err(), "the picture is 5×5 pixels");
    }
}

/// Checks that `links`, which uses one `Describer` for all pictures of the same size, returns the same matches as a
/// separate `Describer` for each picture.
#[test]
fn every_two_of_several_pictures_are_matched() {
    let scene = scene();
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let shifted = |size, by: f64| picture(size, |at| scene(at + DVec2::new(by, 2.0)));
        let (large, small) = (uvec2(160, 120), uvec2(150, 130));
        let pictures =
            [(large, 0.0), (small, 5.0), (large, 9.0), (small, 14.0)].map(|(s, by)| shifted(s, by));
        let described = pictures.each_ref().map(|picture| {
            let size = uvec2(picture.width(), picture.height());
            let mut describer = Describer::new(&stream, size).unwrap();
            describer.describe(&stream, image(&stream, picture).view()).unwrap()
        });
        let found = links(&stream, &pictures).unwrap();
        let order: Vec<_> = found.iter().map(|pair| (pair.left, pair.right)).collect();
        assert_eq!(order, [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]);
        for pair in found {
            let alone = pairs(&stream, &described[pair.left], &described[pair.right]).unwrap();
            assert!(alone.len() > 20 && alone == pair.correspondences, "{device}");
        }
    }
}
