//! Tests with a textured scene of two planes, whose displacement is known.

use glam::{IVec2, UVec2, Vec2, uvec2, vec2};
use shared_types::Rgba8;

use super::*;
use crate::io::picture::Picture;

const SIZE: UVec2 = uvec2(640, 400);

/// A smooth random texture: the sum of waves in many directions.
fn level(at: Vec2) -> f32 {
    let wave = |i: i32| {
        let (angle, length) = (2.4 * i as f32, 9.0 + 2.3 * (i % 7) as f32);
        (at.dot(Vec2::from_angle(angle)) * std::f32::consts::TAU / length + i as f32).sin()
    };
    128.0 + 14.0 * (0..14).map(wave).sum::<f32>()
}

/// Returns a picture of the texture. `content` returns the position in the texture at each pixel.
fn picture(size: UVec2, content: impl Fn(Vec2) -> Vec2, gain: f32) -> Picture {
    let pixel = |at: UVec2| {
        let level = (gain * level(content(at.as_vec2()))).clamp(0.0, 255.0) as u8;
        Rgba8::opaque(level, level, level)
    };
    Picture::from_pixels(size.x, size.y, points(size).map(pixel).collect()).unwrap()
}

/// The first picture shows the columns up to 440 of the panorama, the second one those from 200 on.
fn place(camera: usize, at: UVec2) -> Option<Vec2> {
    let at = at.as_ivec2() - IVec2::new(if camera == 0 { 0 } else { 200 }, 0);
    let inside = at.min_element() >= 0 && at.x < 440 && at.y < SIZE.y as i32;
    inside.then(|| at.as_vec2())
}

fn measured(
    pictures: [&Picture; 2],
    options: &RefineOptions,
    place: &dyn Fn(usize, UVec2) -> Option<Vec2>,
) -> Result<Refinement, RefineError> {
    measure(&pictures.map(Source::of_picture), SIZE, options, place)
}

/// Returns the displacement of the cameras against each other at a panorama position, by bilinear interpolation.
fn relative(refinement: &Refinement, at: Vec2) -> Vec2 {
    let at = at / refinement.spacing();
    let (low, part) = (at.floor().as_uvec2(), at.fract());
    let node = |x: u32, y: u32| {
        let i = (y * refinement.nodes().x + x) as usize;
        refinement.shifts(0)[i] - refinement.shifts(1)[i]
    };
    let above = node(low.x, low.y).lerp(node(low.x + 1, low.y), part.x);
    let below = node(low.x, low.y + 1).lerp(node(low.x + 1, low.y + 1), part.x);
    above.lerp(below, part.y)
}

#[test]
fn displacements_are_measured_despite_exposure() {
    for moved in [Vec2::ZERO, vec2(3.0, -1.5), vec2(-6.25, 2.0), vec2(0.4, 0.7)] {
        let a = picture(uvec2(440, 400), |at| at, 0.9);
        let b = picture(uvec2(440, 400), |at| at + vec2(200.0, 0.0) + moved, 0.6);
        let found = measured([&a, &b], &RefineOptions::default(), &place).unwrap();
        for at in points(uvec2(5, 10)).map(|at| vec2(240.0, 20.0) + 40.0 * at.as_vec2()) {
            let off = relative(&found, at) - moved;
            assert!(off.length() < 0.25, "{moved} at {at}: off by {off}");
        }
        // Where only one camera sees the panorama, it does not move, not even at the upper and the lower edge.
        for (i, node) in points(found.nodes()).enumerate() {
            let x = node.as_vec2().x * found.spacing();
            let alone = [x < 200.0 - found.spacing(), x > 440.0];
            for camera in (0..2).filter(|&camera| alone[camera]) {
                assert_eq!(found.shifts(camera)[i], Vec2::ZERO, "{moved} at {node}");
            }
        }
        assert!(found.largest() <= moved.length() + 0.25, "{moved}: {}", found.largest());
    }
}

#[test]
fn a_near_object_moves_by_itself() {
    let moved = vec2(5.0, 0.0);
    let a = picture(uvec2(440, 400), |at| at, 1.0);
    let near = |at: Vec2| at.y > 200.0;
    let content = |at: Vec2| at + vec2(200.0, 0.0) + if near(at) { moved } else { Vec2::ZERO };
    let b = picture(uvec2(440, 400), content, 1.0);
    let found = measured([&a, &b], &RefineOptions::default(), &place).unwrap();
    assert!(relative(&found, vec2(320.0, 100.0)).length() < 0.3);
    assert!((relative(&found, vec2(320.0, 310.0)) - moved).length() < 0.3);
}

#[test]
fn limits_hold() {
    let a = picture(uvec2(440, 400), |at| at, 1.0);
    let b = picture(uvec2(440, 400), |at| at + vec2(206.0, 0.0), 1.0);
    let options = RefineOptions { limit: 3.0 };
    let found = measured([&a, &b], &options, &place).unwrap();
    assert!(found.largest() <= 3.0, "{}", found.largest());
    for limit in [0.0, 0.5, 257.0, f32::NAN] {
        let refused = measured([&a, &b], &RefineOptions { limit }, &place);
        assert!(refused.is_err(), "{limit}");
    }
}

#[test]
fn pictures_without_texture_or_overlap_stay() {
    let flat = Picture::filled(440, 400, Rgba8::opaque(90, 90, 90));
    let found = measured([&flat, &flat], &RefineOptions::default(), &place).unwrap();
    assert_eq!(found.largest(), 0.0);
    let apart =
        |camera: usize, at: UVec2| place(0, at).filter(|at| (at.x < 200.0) == (camera == 0));
    let a = picture(uvec2(440, 400), |at| at, 1.0);
    let found = measured([&a, &a], &RefineOptions::default(), &apart).unwrap();
    assert_eq!(found.largest(), 0.0);
}

#[test]
fn steps_over_time_are_bounded() {
    let grid =
        |x: f32| Refinement::new(uvec2(32, 32), uvec2(2, 1), 32.0, vec![vec![vec2(x, 0.0); 2]]);
    let (from, to) = (grid(0.0), grid(8.0));
    assert_eq!(from.towards(&to, 0.25, 1.0), grid(1.0));
    assert_eq!(from.towards(&to, 0.25, 10.0), grid(2.0));
    assert_eq!(from.towards(&to, 1.0, 10.0), to);
}
