//! Checks previews of cameras whose areas on the canvas are known.

use std::f64::consts::TAU;

use glam::{DMat3, DVec2, UVec2};
use shared_types::Rgba8;
use shared_types::warp::{Camera, Canvas, Projection};

use crate::geometry::Geometry;
use crate::geometry::rig::{CameraMatrix, LensName, lens_camera, rotation};
use crate::io::picture::Picture;

/// Returns pictures of `size` pixels on a planar canvas of 800×400 pixels, each with its top left corner at a position.
fn shifted(size: UVec2, corners: &[DVec2]) -> Geometry {
    let camera = |at: &DVec2| Camera::from_matrix(DMat3::from_translation(-(*at - 0.5)), size);
    let canvas = Canvas::of_pixels(DVec2::ZERO, UVec2::new(800, 400));
    Geometry { canvas, cameras: corners.iter().map(camera).collect() }
}

fn at(picture: &Picture, x: u32, y: u32) -> [i32; 3] {
    let Rgba8 { r, g, b, .. } = picture.pixels()[(y * picture.width() + x) as usize];
    [r, g, b].map(i32::from)
}

#[test]
fn areas_overlaps_and_outlines_are_drawn_at_their_positions() {
    let corners = [DVec2::new(10.0, 20.0), DVec2::new(300.0, 50.0), DVec2::new(420.0, 30.0)];
    let picture = shifted(UVec2::new(350, 300), &corners).preview(&[], 800);
    assert_eq!((picture.width(), picture.height()), (800, 400));
    assert_eq!(at(&picture, 4, 4), [0; 3], "no camera");
    assert_eq!(at(&picture, 790, 200), [0; 3]);
    let [orange, blue] = [at(&picture, 60, 300), at(&picture, 410, 100)];
    assert!(orange[0] == 255 && orange[2] == 40, "{orange:?}");
    // Cameras 1 and 2 overlap from column 300 to 360, and 2 and 3 from 420 to 650. There, the colour is paler.
    let (both, single) = (at(&picture, 330, 100), [orange, blue]);
    let least = |colour: [i32; 3]| colour.into_iter().min().unwrap();
    assert!(single.iter().all(|single| least(both) > least(*single) + 30), "{both:?} {single:?}");
    // The left edge of camera 1 is at column 10. Its outline is the first pixel inside.
    let bright = |x| at(&picture, x, 200).iter().all(|&level| level >= 169);
    assert_eq!([8, 9, 10, 11].map(bright), [false, false, true, false]);
    assert_eq!(at(&picture, 9, 200), [0; 3]);
}

#[test]
fn an_outline_continues_across_the_edge_of_a_full_circle() {
    let canvas = Canvas {
        centre: DVec2::new(399.5, 99.5),
        scale: DVec2::splat(800.0 / TAU),
        size: UVec2::new(800, 200),
        projection: Projection::CYLINDRICAL,
        reserved: 0,
    };
    let matrix = CameraMatrix { fx: 100.0, fy: 100.0, cx: 100.0, cy: 50.0 };
    let camera = |yaw: f64| {
        let from_ray = rotation(yaw, 0.0, 0.0).transpose();
        lens_camera(from_ray, UVec2::new(200, 100), LensName::Pinhole, &matrix, &[])
    };
    let geometry = |yaw| Geometry { canvas, cameras: vec![camera(yaw)] };
    // A turn by 180° moves everything by 400 columns. The outline must contribution the same at the edge of the canvas as in its
    // middle.
    let (middle, edge) = (geometry(0.0).preview(&[], 800), geometry(180.0).preview(&[], 800));
    for y in 0..200 {
        for x in 0..800 {
            let (a, b) = (at(&middle, x, y), at(&edge, (x + 400) % 800, y));
            let near = a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1);
            let label = (380..=420).contains(&x) && (88..=112).contains(&y);
            assert!(near || label, "column {x}, row {y}: {a:?} {b:?}");
        }
    }
    // The camera input forward. Towards 90° to the side, its source positions go to infinity, and nothing is drawn.
    let away = (0..200).flat_map(|y| (0..250).map(move |x| (x, y)));
    assert!(away.into_iter().all(|(x, y)| at(&middle, x, y) == [0; 3]));
    // The number is at the edge, where the camera input, and not in the middle.
    assert_eq!(at(&edge, 400, 100), [0; 3]);
    let count = |columns: std::ops::Range<u32>| {
        let pixels = columns.flat_map(|x| (0..200).map(move |y| (x, y)));
        pixels.filter(|&(x, y)| at(&edge, x, y) == [20; 3]).count()
    };
    assert!(count(0..20) + count(780..800) > 20 && count(20..780) == 0);
}

#[test]
fn every_camera_has_its_own_number() {
    // Twelve cameras in three rows of four, none of which overlap.
    let corners: Vec<DVec2> =
        (0..12).map(|i| DVec2::new(f64::from(i % 4) * 200.0, f64::from(i / 4) * 130.0)).collect();
    let picture = shifted(UVec2::new(190, 120), &corners).preview(&[], 800);
    // The white pixels of a number, relative to the first one.
    let ink = |corner: &DVec2| {
        let first = corner.as_uvec2();
        let pixels = (first.y + 30..first.y + 90)
            .flat_map(|y| (first.x + 60..first.x + 130).map(move |x| UVec2::new(x, y)));
        let white = |p: &UVec2| at(&picture, p.x, p.y) == [255; 3];
        pixels.filter(white).map(|p| p - first).collect::<Vec<_>>()
    };
    let numbers: Vec<Vec<UVec2>> = corners.iter().map(ink).collect();
    for (i, a) in numbers.iter().enumerate() {
        // A font pixel is 2×2 pixels, and a digit has at least 7 of them.
        assert!(a.len() >= 28 && a.len() % 4 == 0, "{i}: {a:?}");
        assert!(numbers[..i].iter().all(|b| a != b), "{i}");
        let middle = a.iter().fold(DVec2::ZERO, |sum, p| sum + p.as_dvec2()) / a.len() as f64;
        assert!((middle - DVec2::new(95.0, 60.0)).length() < 8.0, "{i}: {middle}");
    }
    // All cameras at the same place: their numbers must not cover each other.
    let same = shifted(UVec2::new(190, 120), &[DVec2::new(300.0, 50.0); 6]).preview(&[], 800);
    let paper = same.pixels().iter().filter(|pixel| **pixel == Rgba8::opaque(20, 20, 20)).count();
    let one = shifted(UVec2::new(190, 120), &[DVec2::new(300.0, 50.0)]).preview(&[], 800);
    let single = one.pixels().iter().filter(|pixel| **pixel == Rgba8::opaque(20, 20, 20)).count();
    assert!(paper > 5 * single, "{paper} {single}");
}

#[test]
fn pictures_lie_under_the_outlines() {
    let geometry = shifted(UVec2::new(400, 400), &[DVec2::ZERO, DVec2::new(400.0, 0.0)]);
    // The left half of the picture is black, and the right half is white. It is half as large as the camera's pictures.
    let pixels = (0..200 * 200).map(|at| if at % 200 < 100 { 0 } else { 255 });
    let pixels = pixels.map(|level| Rgba8::opaque(level, level, level)).collect();
    let picture = Picture::from_pixels(200, 200, pixels).unwrap();
    let drawn = geometry.preview(&[picture], 400);
    assert_eq!((drawn.width(), drawn.height()), (400, 200));
    let tint = at(&geometry.preview(&[], 400), 20, 20);
    // Both colours are rounded.
    let close = |found: [i32; 3], level: i32| {
        let mixed =
            tint.map(|tint| (f64::from(tint) * 0.3 + f64::from(level) * 0.7).round() as i32);
        assert!(found.iter().zip(mixed).all(|(a, b)| (a - b).abs() <= 1), "{found:?} {mixed:?}");
    };
    close(at(&drawn, 20, 20), 0);
    close(at(&drawn, 170, 20), 255);
    // The second camera has no picture.
    assert_eq!(at(&drawn, 370, 20), at(&geometry.preview(&[], 400), 370, 20));
}

#[test]
fn small_and_empty_canvases_have_previews() {
    let mut geometry = shifted(UVec2::new(400, 400), &[DVec2::ZERO]);
    let small = geometry.preview(&[], 1);
    assert_eq!((small.width(), small.height()), (1, 1));
    geometry.canvas.size = UVec2::ZERO;
    geometry.cameras.clear();
    assert_eq!(geometry.preview(&[], 0).width(), 1);
}
