//! A made-up picture against itself, turned, darkened and shrunk.

use glam::{DVec2, UVec2, uvec2};
use panoweave::device::{Image, Stream};
use panoweave::matching::{Describer, MatchError, MatchOptions, matches};
use panoweave_tests::panoweave_devices;
use panoweave_tests::random::Random;
use shared_types::Rgba8;

const SIZE: UVec2 = uvec2(200, 160);

/// Level at a place of the scene: overlapping rectangles, smooth over a pixel.
fn scene() -> impl Fn(DVec2) -> f64 {
    let mut random = Random::new(5);
    let mut next = |low: f32, high: f32| f64::from(random.between(low, high));
    let blobs: Vec<_> = (0..300)
        .map(|_| {
            let at = DVec2::new(next(0.0, 200.0), next(0.0, 160.0));
            (at, DVec2::new(next(2.0, 14.0), next(2.0, 14.0)), next(-60.0, 60.0))
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

fn picture(stream: &Stream, size: UVec2, level: impl Fn(DVec2) -> f64) -> Image<Rgba8> {
    let pixels: Vec<_> = (0..size.x * size.y)
        .map(|i| {
            let level = level(DVec2::new((i % size.x).into(), (i / size.x).into())).round() as u8;
            Rgba8::opaque(level, level, level)
        })
        .collect();
    Image::from_slice(stream, size.x, size.y, &pixels).unwrap()
}

#[test]
fn turned_darkened_and_shrunk_pictures_are_matched() {
    let scene = scene();
    let middle = SIZE.as_dvec2() * 0.5 - 0.5;
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let left = picture(&stream, SIZE, &scene);
        for (degrees, scale, gain) in [
            (0.0, 1.0, 0.3),
            (90.0, 1.0, 1.0),
            (180.0, 1.0, 0.8),
            (37.0, 1.0, 0.6),
            (-12.0, 0.7, 1.0),
        ] {
            // From the right picture to the left one.
            let turn = DVec2::from_angle(f64::to_radians(degrees));
            let to_left = |at: DVec2| turn.rotate(at - middle) / scale + middle;
            let right = picture(&stream, SIZE, |at| gain * scene(to_left(at)));
            let found =
                matches(&stream, left.view(), right.view(), &MatchOptions::default()).unwrap();
            let good = found.iter().filter(|m| to_left(m.right).distance(m.left) < 2.0 / scale);
            let good = good.count();
            println!("{device}: {degrees}°, ×{scale}, gain {gain}: {good} of {}", found.len());
            assert!(good >= 40 && good * 10 >= found.len() * 6, "{good} of {}", found.len());
            assert!(found.is_sorted_by(|a, b| a.score >= b.score));
        }
    }
}

#[test]
fn pictures_of_any_size_are_described_and_wrong_sizes_refused() {
    let scene = scene();
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for size in [uvec2(1, 1), uvec2(3, 500), uvec2(17, 16), uvec2(49, 48)] {
            let image = picture(&stream, size, &scene);
            let found = matches(&stream, image.view(), image.view(), &MatchOptions::default());
            assert!(found.unwrap().iter().all(|m| m.left == m.right));
        }
        let mut describer = Describer::new(&stream, SIZE, &MatchOptions::default()).unwrap();
        let wrong = picture(&stream, uvec2(5, 5), &scene);
        let found = describer.describe(&stream, wrong.view());
        assert!(matches!(found, Err(MatchError::Size { .. })));
    }
}
