//! Relocates inexact correspondences of generated pictures, whose true positions are known.

use std::f64::consts::TAU;

use glam::{DMat2, DVec2, UVec2, dvec2, uvec2};
use panoweave::geometry::calibrate::{CalibrateOptions, Correspondence, Photo};
use panoweave::io::picture::Picture;
use panoweave::ops::matching::relocate;
use panoweave_tests::made_up::pair;
use panoweave_tests::random::Random;
use shared_types::Rgba8;

const SIZE: UVec2 = uvec2(240, 180);

/// Returns a scene as a function from positions to levels: a sum of waves that are 7 to 40 pixels long.
fn scene(seed: u64) -> impl Fn(DVec2) -> f64 {
    let mut random = Random::new(seed);
    let mut next = |low: f32, high: f32| f64::from(random.between(low, high));
    let waves: Vec<_> = (0..24)
        .map(|_| {
            let mut turn = || TAU * next(0.0, 1.0);
            let (angle, phase) = (turn(), turn());
            (DVec2::from_angle(angle) * TAU / next(7.0, 40.0), phase)
        })
        .collect();
    move |at| 128.0 + waves.iter().map(|(k, phase)| 9.0 * (k.dot(at) + phase).sin()).sum::<f64>()
}

fn picture(size: UVec2, level: impl Fn(DVec2) -> f64) -> Picture {
    let at = |i: u32| dvec2((i % size.x).into(), (i / size.x).into());
    let level = |i| level(at(i)).round().clamp(0.0, 255.0) as u8;
    let pixels = (0..size.x * size.y).map(|i| Rgba8::opaque(level(i), level(i), level(i)));
    Picture::from_pixels(size.x, size.y, pixels.collect()).unwrap()
}

/// The map from the left picture to the right one: a turn by 11°, a scale of 0.9 and a shift.
fn map(left: DVec2) -> DVec2 {
    turn() * left + dvec2(14.3, -9.7)
}

fn turn() -> DMat2 {
    DMat2::from_scale_angle(DVec2::splat(0.9), 0.19)
}

/// Returns 80 correspondences, wrong by up to 1.2 pixels along each axis in each picture, at least 30 pixels inside
/// both.
fn inexact() -> Vec<Correspondence> {
    let mut random = Random::new(9);
    let mut next = |low: f32, high: f32| f64::from(random.between(low, high));
    let mut all = Vec::new();
    while all.len() < 80 {
        let left = dvec2(next(30.0, 210.0), next(30.0, 150.0));
        let right = map(left);
        if right.cmpge(DVec2::splat(30.0)).all() && right.cmple(dvec2(210.0, 150.0)).all() {
            let mut off = || dvec2(next(-1.2, 1.2), next(-1.2, 1.2));
            let (left, right) = (left + off(), right + off());
            all.push(Correspondence { left, right, score: next(0.0, 1.0) });
        }
    }
    all
}

fn error(one: &Correspondence) -> f64 {
    map(one.left).distance(one.right)
}

fn all_of(list: &[Correspondence]) -> Vec<usize> {
    (0..list.len()).collect()
}

#[test]
fn inexact_correspondences_become_exact_despite_turn_and_exposure() {
    let scene = scene(1);
    let left = picture(SIZE, &scene);
    let back = turn().inverse();
    let right = picture(SIZE, |at| 20.0 + 0.7 * scene(back * (at - dvec2(14.3, -9.7))));
    let given = inexact();
    let exact = relocate([&left, &right], &given, &all_of(&given), |at| Some(map(at)));
    let mean = given.iter().map(error).sum::<f64>() / given.len() as f64;
    let mut errors: Vec<f64> = exact.iter().map(error).collect();
    errors.sort_by(f64::total_cmp);
    println!("mean {mean:.2} px before; {:.3} and {:.3} px after", errors[40], errors[75]);
    assert!(mean > 0.9);
    // Few of them start so far away that the search finds nothing.
    assert!(errors[40] < 0.02 && errors[75] < 0.05, "{errors:?}");
    for (one, given) in exact.iter().zip(&given) {
        assert_eq!(one.score, given.score);
        let moved = one.left.fract() == DVec2::ZERO && one.left.distance(given.left) <= 0.71;
        assert!(moved || one == given);
    }
    // Only the listed correspondences move, and indices beyond the end are ignored.
    let some = relocate([&left, &right], &given, &[3, 5, 80], |at| Some(map(at)));
    for i in 0..80 {
        assert_eq!(some[i], if [3, 5].contains(&i) { exact[i] } else { given[i] });
    }
    // The fit of a plane becomes more exact, too. Its corners are far outside the points.
    let photos = ["left", "right"].map(|name| Photo::new(name, SIZE));
    let corner_error = |list: &[Correspondence]| {
        let found = pair(list, [&photos[0], &photos[1]], &CalibrateOptions::default()).unwrap();
        let off = |at: DVec2| found.views.map(1, 0, at).unwrap().distance(map(at));
        let corners = [(0.0, 0.0), (239.0, 0.0), (0.0, 179.0), (239.0, 179.0)];
        corners.map(|(x, y)| off(dvec2(x, y))).into_iter().fold(0.0, f64::max)
    };
    let (before, after) = (corner_error(&given), corner_error(&exact));
    println!("corners: {before:.2} px before, {after:.3} px after");
    assert!(after < 0.1 && before > 4.0 * after);
}

#[test]
fn large_pictures_are_reduced() {
    let scene = scene(2);
    // 1900 × 1300 pixels exceed the limit by 12 %, so the factor rounds to 1. It is 2 for 2900 × 1900 pixels.
    for (size, factor) in [(uvec2(1900, 1300), 1.0), (uvec2(2900, 1900), 2.0)] {
        let at = dvec2(800.2, 700.7);
        // Only the surroundings of the point are searched, so the pictures are gray elsewhere.
        let level =
            |place: DVec2| if place.distance(at) < 300.0 { scene(place / factor) } else { 128.0 };
        let left = picture(size, level);
        let right = picture(size, |at| level(at - dvec2(3.4, 0.3)));
        let given = Correspondence { left: at, right: at + dvec2(2.4, 1.3), score: 0.5 };
        let exact = relocate([&left, &right], &[given], &[0], Some)[0];
        let off = (exact.right - exact.left).distance(dvec2(3.4, 0.3));
        println!("{size}: off by {off:.3} px");
        assert!(off < 0.05 * factor, "{size}: {off}");
        // The left point is the centre of a pixel of the reduced picture.
        assert_eq!(exact.left.x.fract(), if factor == 1.0 { 0.0 } else { 0.5 });
    }
}

#[test]
fn what_cannot_be_located_stays_where_it_is() {
    let scene = scene(3);
    let left = picture(SIZE, &scene);
    let stays = |right: &Picture, one: Correspondence, map: &dyn Fn(DVec2) -> Option<DVec2>| {
        assert_eq!(relocate([&left, right], &[one], &[0], map), [one]);
    };
    let at = |left: DVec2, right: DVec2| Correspondence { left, right, score: 0.1 };
    let middle = dvec2(120.3, 90.4);
    let same = at(middle, middle);
    // The same correspondence moves if nothing is wrong.
    assert_ne!(relocate([&left, &left], &[same], &[0], Some), [same]);
    stays(&picture(SIZE, self::scene(4)), same, &Some);
    stays(&picture(SIZE, |_| 90.0), same, &Some);
    stays(&picture(SIZE, |at| 255.0 - scene(at)), same, &Some);
    // The true position is more than three pixels away.
    stays(&left, at(middle, middle + dvec2(4.5, 0.0)), &Some);
    stays(&left, same, &|_| None);
    stays(&left, same, &|_| Some(DVec2::NAN));
    stays(&left, same, &|at| Some(at * 1e12));
    stays(&left, same, &|_| Some(DVec2::ZERO));
    for edge in [dvec2(5.0, 90.0), dvec2(120.0, 175.0)] {
        stays(&left, at(edge, middle), &|place| Some(place - edge + middle));
        stays(&left, at(middle, edge), &|place| Some(place - middle + edge));
    }
    for odd in [DVec2::NAN, DVec2::INFINITY, dvec2(-1e300, 0.0)] {
        let one = relocate([&left, &left], &[at(odd, middle)], &[0], Some)[0];
        assert_eq!(one.right, middle);
    }
    // A transparent pixel in the window.
    let mut pixels = left.pixels().to_vec();
    pixels[(94 * SIZE.x + 115) as usize].a = 0;
    let holed = Picture::from_pixels(SIZE.x, SIZE.y, pixels).unwrap();
    stays(&holed, same, &Some);
    assert_eq!(relocate([&holed, &left], &[same], &[0], Some), [same]);
    // Straight edges, of which noise shows parts: the position along them is unknown.
    let mut noise = Random::new(8);
    let mut level = |at: DVec2| {
        let edge = 60.0 * ((at.x + 0.7 * at.y) / 9.0).sin();
        128.0 + edge + f64::from(noise.between(-1.0, 1.0))
    };
    let pixels = (0..SIZE.x * SIZE.y).map(|i| {
        let level = level(dvec2((i % SIZE.x).into(), (i / SIZE.x).into())).round() as u8;
        Rgba8::opaque(level, level, level)
    });
    let striped = Picture::from_pixels(SIZE.x, SIZE.y, pixels.collect()).unwrap();
    assert_eq!(relocate([&striped, &striped], &[same], &[0], Some), [same]);
    // The right picture is much larger or smaller.
    for scale in [1e-3, 5.0] {
        stays(&left, same, &|at| Some((at - middle) * scale + middle));
    }
    // A picture smaller than the window.
    stays(&picture(uvec2(9, 9), &scene), at(middle, dvec2(4.0, 4.0)), &Some);
}
