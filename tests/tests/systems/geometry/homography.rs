//! Tests of homographies computed by other programs: the canvas and the overlap that they define, and malformed files.

use std::fs;
use std::path::Path;

use glam::{DVec2, DVec3, UVec2};
use panoweave::geometry::Geometry;
use panoweave::geometry::homography::{Homography, HomographyError};
use panoweave_tests::data;

use crate::malformed::{assert_says, assert_variant, refusal};

/// Computes the bounding box of both pictures on the canvas from the pictures' corners, without using the library.
/// Returns the first column, the first row, the width and the height of the box.
fn expected_box(h: &[f64], left: UVec2, right: UVec2) -> [f64; 4] {
    let (mut x0, mut y0) = (-0.5f64, -0.5f64);
    let (mut x1, mut y1) = (f64::from(left.x) - 0.5, f64::from(left.y) - 0.5);
    for x in [-0.5, f64::from(right.x) - 0.5] {
        for y in [-0.5, f64::from(right.y) - 0.5] {
            let d = h[6] * x + h[7] * y + h[8];
            let u = (h[0] * x + h[1] * y + h[2]) / d;
            let v = (h[3] * x + h[4] * y + h[5]) / d;
            (x0, y0, x1, y1) = (x0.min(u), y0.min(v), x1.max(u), y1.max(v));
        }
    }
    let (first_x, first_y) = ((x0 + 0.5).floor(), (y0 + 0.5).floor());
    [first_x, first_y, (x1 - 0.5).ceil() - first_x + 1.0, (y1 - 0.5).ceil() - first_y + 1.0]
}

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

/// Returns the pixel of the right camera that shows the same point as a pixel of the left camera. Returns `None` if the
/// point is behind the right camera.
fn right_of(g: &Geometry, left: DVec2) -> Option<DVec2> {
    let ray = (left / g.canvas.scale).extend(1.0);
    let seen: DVec3 = g.cameras[1].from_ray * ray;
    (seen.z > 0.0).then(|| seen.truncate() / seen.z)
}

fn check(text: &str, left: UVec2, right: UVec2) -> Geometry {
    let h = numbers(text);
    let g = Homography::parse(text, "h").unwrap().geometry(left, right).unwrap();
    let [x, y, width, height] = expected_box(&h, left, right);
    assert_eq!(g.canvas.centre, DVec2::new(-x, -y));
    assert_eq!(g.canvas.size.as_dvec2(), DVec2::new(width, height));
    // Map pixels of the right picture to the left picture by the formula, and map the results back to the right picture
    // with the library's geometry.
    let far = right.as_dvec2() - 1.0;
    for at in [DVec2::ZERO, far, far / 2.0, DVec2::new(far.x, 0.0), DVec2::new(0.0, far.y)] {
        let d = h[6] * at.x + h[7] * at.y + h[8];
        let u = (h[0] * at.x + h[1] * at.y + h[2]) / d;
        let v = (h[3] * at.x + h[4] * at.y + h[5]) / d;
        let back = right_of(&g, DVec2::new(u, v)).unwrap();
        assert!((back - at).length() < 1e-6, "{back} is not {at}");
    }
    g
}

fn size(path: &Path) -> UVec2 {
    UVec2::from(image::image_dimensions(path).unwrap())
}

#[test]
fn pairs_of_photographs_overlap_as_measured() {
    let Some(pairs) = data("stitch_ref/pairs.csv") else {
        return;
    };
    let mut checked = 0;
    for line in fs::read_to_string(pairs).unwrap().lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [scene, a, b, _, _, overlap, .., h] = fields.as_slice() else { panic!("{line}") };
        let (Some(a), Some(b)) =
            (data(format!("scenes/{scene}/{a}")), data(format!("scenes/{scene}/{b}")))
        else {
            return;
        };
        let (left, right) = (size(&a), size(&b));
        let g = check(h, left, right);
        let (mut inside, mut all) = (0, 0);
        for y in (0..left.y).step_by(4) {
            for x in (0..left.x).step_by(4) {
                all += 1;
                let at = right_of(&g, UVec2::new(x, y).as_dvec2());
                let sees = |p: DVec2| {
                    p.min_element() >= 0.0 && p.x < f64::from(right.x) && p.y < f64::from(right.y)
                };
                inside += u32::from(at.is_some_and(sees));
            }
        }
        let found = f64::from(inside) / f64::from(all);
        let expected: f64 = overlap.parse().unwrap();
        assert!((found - expected).abs() < 0.01, "{line}: overlap {found}");
        checked += 1;
    }
    assert_eq!(checked, 13);
}

#[test]
fn published_homographies() {
    for (matrix, left, right) in [
        ("graf/H1to3p", "graf/img3.png", "graf/img1.png"),
        (
            "magsac/Brussels/Brussels_model.txt",
            "magsac/Brussels/BrusselsA.jpg",
            "magsac/Brussels/BrusselsB.jpg",
        ),
        (
            "magsac/WhiteBoard/WhiteBoard_model.txt",
            "magsac/WhiteBoard/WhiteBoardA.jpg",
            "magsac/WhiteBoard/WhiteBoardB.jpg",
        ),
        ("magsac/adam/adam_model.txt", "magsac/adam/adamA.png", "magsac/adam/adamB.png"),
        ("magsac/city/city_model.txt", "magsac/city/cityA.png", "magsac/city/cityB.png"),
    ] {
        let find = |name| data(Path::new("homography").join(name));
        let (Some(matrix), Some(left), Some(right)) = (find(matrix), find(left), find(right))
        else {
            return;
        };
        let text = fs::read_to_string(&matrix).unwrap();
        check(&text, size(&left), size(&right));
        assert!(Homography::open(&matrix).is_ok());
    }
}

#[test]
fn malformed_files() {
    let dir = tempfile::tempdir().unwrap();
    let error = |content: &str| {
        let path = dir.path().join("h.txt");
        fs::write(&path, content).unwrap();
        refusal(&path, |path| {
            Homography::open(path)?.geometry(UVec2::new(640, 480), UVec2::new(640, 480))
        })
    };
    let missing = refusal(&dir.path().join("missing.txt"), |path| Homography::open(path));
    assert_variant!(missing, HomographyError::Text(_));
    assert_variant!(error("1 0\n0 one"), HomographyError::NotANumber { line: 2, .. });
    for (content, said) in [
        ("", "found 0 numbers"),
        ("1 0 0\n0 1 0\n0 0", "found 8 numbers"),
        ("1 0 0 0 1 0 0 0 1 0", "found 10 numbers"),
        ("1 0 0 0 1 0 0 0 inf", "row 3, column 3 is inf"),
        ("1 0 0 0 1e300 0 0 0 1", "row 2, column 2 is 1"),
        ("1 2 3 4 5 6 7 8 9", "the matrix is singular"),
        ("1 0 0 0 1 0 -0.01 0 1", "at or beyond infinity"),
        ("1 0 0 0 1 0 -0.0015637 0 1", "the panorama would be "),
        ("1 0 1e9 0 1 0 0 0 1", "the panorama would be "),
    ] {
        assert_says(error(content), said);
    }
}

#[test]
fn a_homography_has_no_scale() {
    let text = |scale: f64| {
        format!("\u{feff}{:e} 0 {:e}\n0 {:e} 0\n0 0 {:e}\n", scale, 5.0 * scale, scale, scale)
    };
    let geometry = |scale| {
        let size = UVec2::new(20, 10);
        Homography::parse(&text(scale), "h.txt").unwrap().geometry(size, size).unwrap()
    };
    let plain = geometry(1.0);
    for scale in [1e-150, 1e-103, 1e-21, 1e21, 1e90] {
        let scaled = geometry(scale);
        assert_eq!(scaled.canvas, plain.canvas, "{scale:e}");
        for (a, b) in scaled.cameras.iter().zip(&plain.cameras) {
            let point = |m: glam::DMat3| {
                let p = m * DVec3::new(7.0, 3.0, 1.0);
                p.truncate() / p.z
            };
            assert!((point(a.from_ray) - point(b.from_ray)).length() < 1e-9, "{scale:e}");
        }
    }
}
