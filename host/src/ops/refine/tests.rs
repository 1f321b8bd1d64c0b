//! Tests with a textured scene of two planes, whose displacement is known.

use std::f32::consts::TAU;

use glam::{IVec2, UVec2, Vec2, uvec2, vec2};
use shared_types::Rgba8;

use super::*;
use crate::geometry::inside;
use crate::io::picture::Picture;

const SIZE: UVec2 = uvec2(440, 400);

/// Returns a picture of a random texture. `content` returns the position in the texture at each pixel.
fn picture(content: impl Fn(Vec2) -> Vec2, gain: f32) -> Picture {
    let pixel = |at: UVec2| {
        let at = content(at.as_vec2());
        let wave = |i: i32| {
            let (angle, length) = (2.4 * i as f32, 9.0 + 2.3 * (i % 7) as f32);
            (at.dot(Vec2::from_angle(angle)) * TAU / length + i as f32).sin()
        };
        let level = (gain * (128.0 + 14.0 * (0..14).map(wave).sum::<f32>())) as u8;
        Rgba8::opaque(level, level, level)
    };
    Picture::from_pixels(SIZE.x, SIZE.y, points(SIZE).map(pixel).collect()).unwrap()
}

/// Measures two pictures, of which the first one shows the columns up to 440 of the panorama, and the second one those
/// from 200 on.
fn measured(pictures: [&Picture; 2], limit: f32) -> Refinement {
    let place = |camera: usize, at: UVec2| {
        let at = at.as_ivec2() - IVec2::new(200 * camera as i32, 0);
        inside(at.as_dvec2(), SIZE).then(|| at.as_vec2())
    };
    Comparison::new(uvec2(640, 400), &[SIZE; 2], RefineOptions { limit }, place)
        .measure(&pictures.map(Source::of_picture))
}

#[test]
fn displacements_are_measured() {
    let a = picture(|at| at, 0.9);
    for (moved, limit) in [
        (Vec2::ZERO, 24.0),
        (vec2(3.0, -1.5), 24.0),
        (vec2(-6.25, 2.0), 24.0),
        (vec2(0.4, 0.7), 1.0),
        (vec2(6.0, 0.0), 3.0),
    ] {
        let near = |at: Vec2| if at.y > 200.0 { moved } else { Vec2::ZERO };
        let b = picture(|at| at + vec2(200.0, 0.0) + near(at), 0.6);
        let found = measured([&a, &b], limit);
        let shifts = found.shifts[0].iter().zip(&found.shifts[1]);
        for (node, (a, b)) in points(found.nodes).zip(shifts) {
            let at = found.spacing * node.as_vec2();
            assert!((*a - *b).length() <= limit + 1e-3, "{moved} at {at}: {a}, {b}");
            let is_clear = (at.y - 200.0).abs() > 90.0 && (230.0..410.0).contains(&at.x);
            if is_clear && moved.length() <= limit {
                let off = *a - *b - near(at);
                assert!(off.length() < 0.3, "{moved} at {at}: off by {off}");
            }
            // Where only one camera sees the panorama, it does not move, not even at the upper and the lower edge.
            for (shift, alone) in [(a, at.x < 200.0 - found.spacing), (b, at.x > 440.0)] {
                assert!(!alone || *shift == Vec2::ZERO, "{moved} at {at}: {shift}");
            }
        }
    }
}

#[test]
fn pictures_without_texture_stay_and_steps_are_bounded() {
    let flat = Picture::filled(SIZE.x, SIZE.y, Rgba8::opaque(90, 90, 90));
    let found = measured([&flat, &flat], 24.0);
    assert!(found.shifts.iter().flatten().all(|shift| *shift == Vec2::ZERO));
    let grid = |x: f32| Refinement { shifts: vec![vec![vec2(x, 0.0); 2]], ..found.clone() };
    for (part, most, x) in [(0.25, 1.0, 1.0), (0.25, 10.0, 2.0), (1.0, 10.0, 8.0)] {
        assert_eq!(grid(0.0).towards(&grid(8.0), part, most), grid(x));
    }
}
