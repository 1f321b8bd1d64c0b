//! Tests of seams for different arrangements of the pictures (above each other, rolled, trapezoidal, mirrored), and of
//! pairs of pictures between which there can be no seam.

use panoweave::ops::seam::{Seam, SeamError, SeamOptions};
use panoweave_tests::panoweave_devices;
use shared_types::seam::SeamGrid;

use crate::seam::weights::{check, with_seam};
use crate::seam::{BESIDE, Scene, background};

/// Returns a homography that maps pixels of the right picture to pixels of the left picture: a rotation by `degrees`,
/// then a scaling by `scale`, then a translation by `to`.
fn moved(degrees: f64, scale: f64, to: [f64; 2]) -> [f64; 9] {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let (s, c) = (scale * sin, scale * cos);
    [c, -s, to[0], s, c, to[1], 0.0, 0.0, 1.0]
}

#[test]
fn any_outline_has_a_seam_without_steps() {
    let outlines = [
        ("beside", BESIDE, [0, 0]),
        ("mirrored", moved(0.0, 1.0, [-75.0, 7.0]), [0, 1]),
        ("above", moved(0.0, 1.0, [6.0, -60.0]), [1, 1]),
        ("below", moved(0.0, 1.0, [-9.0, 66.0]), [1, 0]),
        ("rolled", moved(14.0, 1.0, [90.0, -10.0]), [0, 0]),
        ("rolled far", moved(-28.0, 1.1, [70.0, 45.0]), [0, 0]),
        ("diagonal", moved(0.0, 1.0, [80.0, 60.0]), [2, 2]),
        ("trapezoid", [0.9, 0.05, 80.0, -0.1, 0.95, 12.0, -0.0012, 0.0002, 1.0], [0, 0]),
    ];
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        for (name, homography, way) in outlines {
            let scene = Scene::new(&stream, homography, [&background, &background]);
            let (out, seam) = with_seam(&stream, &scene, 16.0);
            let grid = seam.grid();
            // If the pictures are diagonal to each other, the seam may be horizontal or vertical.
            let found = [grid.transposed, grid.swapped];
            assert!(way[0] == 2 || way == found, "{name} on {device}: {found:?}");
            let (former, out) =
                (scene.warp.download(&stream).unwrap(), out.download(&stream).unwrap());
            assert_eq!(check(&former, &out), 0, "{name} on {device}");
        }
    }
}

#[test]
fn what_has_no_seam_says_why() {
    for device in panoweave_devices() {
        let stream = device.stream().unwrap();
        let seam = |homography: [f64; 9]| {
            let scene = Scene::new(&stream, homography, [&background, &background]);
            Seam::new(&stream, &scene.warp, [0, 1], SeamOptions::default()).map(|seam| seam.grid())
        };
        let says = |found: &Result<SeamGrid, SeamError>, text: &str| {
            let said = found.as_ref().unwrap_err().to_string();
            assert!(said.contains(text), "{said}");
        };
        let inside = seam(moved(5.0, 0.5, [40.0, 30.0]));
        says(&inside, "camera 1 covers the whole area of camera 2");
        let inside = seam(moved(5.0, 2.0, [-60.0, -70.0]));
        says(&inside, "camera 2 covers the whole area of camera 1");
        let same = seam(moved(0.0, 1.0, [0.0, 0.0]));
        says(&same, "covers the whole area");
        // The pictures form a cross. Only the left camera covers the left and the right arm of the cross, and only the
        // right camera covers the upper and the lower arm.
        let cross = seam(moved(90.0, 1.0, [140.0, -20.0]));
        says(&cross, "cross or overlap in several places");
        let apart = seam(moved(0.0, 1.0, [200.0, 0.0]));
        assert!(matches!(apart, Err(SeamError::NoOverlap)), "{apart:?}");
        for error in [inside, same, cross, apart] {
            assert!(error.unwrap_err().is_of_warp());
        }
        let scene = Scene::new(&stream, BESIDE, [&background, &background]);
        for feather in [0.0, f32::NAN, 2000.0] {
            let refused = Seam::new(&stream, &scene.warp, [0, 1], SeamOptions { feather });
            assert!(matches!(refused, Err(SeamError::Feather(_))), "{refused:?}");
        }
    }
}
