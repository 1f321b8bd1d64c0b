//! Compares measured areas with exact ones: of rectangles on a plane, and of pictures around a cylinder.

use std::f64::consts::TAU;

use glam::{DMat3, DVec2, UVec2};
use shared_types::warp::{Camera, Canvas, Projection};

use super::*;
use crate::geometry::rig::{CameraMatrix, LensName, lens_camera, rotation};

/// A planar canvas on which each picture is a rectangle: its left, top, right and bottom edge in pixels from the
/// canvas's top left corner. `scale` is the number of source pixels per canvas pixel.
fn rectangles(size: UVec2, scale: f64, edges: &[[f64; 4]]) -> Geometry {
    let camera = |&[left, top, right, bottom]: &[f64; 4]| {
        let picture = (DVec2::new(right - left, bottom - top) * scale).round().as_uvec2();
        // The ray of the canvas position (left - 0.5, top - 0.5) has the source position 0.
        let at = DVec2::new(left - 0.5, top - 0.5);
        let columns = [scale, 0.0, 0.0, 0.0, scale, 0.0, -at.x * scale, -at.y * scale, 1.0];
        Camera::from_matrix(DMat3::from_cols_array(&columns), picture)
    };
    let canvas = Canvas::of_pixels(DVec2::ZERO, size);
    Geometry { canvas, cameras: edges.iter().map(camera).collect() }
}

/// Returns the exact area of each set of cameras, from the rectangles that all edges together cut the canvas into.
fn exact(size: UVec2, edges: &[[f64; 4]]) -> BTreeMap<u64, f64> {
    let cuts = |low: usize, side: u32| {
        let most = f64::from(side);
        let both = edges.iter().flat_map(|edge| [edge[low], edge[low + 2]]);
        let mut cuts: Vec<f64> = both.chain([0.0, most]).map(|at| at.clamp(0.0, most)).collect();
        cuts.sort_by(f64::total_cmp);
        cuts
    };
    let mut areas = BTreeMap::new();
    for x in cuts(0, size.x).windows(2) {
        for y in cuts(1, size.y).windows(2) {
            let middle = [(x[0] + x[1]) / 2.0, (y[0] + y[1]) / 2.0];
            let covers = |edge: &[f64; 4]| {
                (0..2).all(|axis| edge[axis] <= middle[axis] && middle[axis] < edge[axis + 2])
            };
            let set =
                (0..edges.len()).filter(|&i| covers(&edges[i])).fold(0, |set, i| set | 1 << i);
            *areas.entry(set).or_insert(0.0) += (x[1] - x[0]) * (y[1] - y[0]);
        }
    }
    areas
}

/// Returns random rectangles on a canvas of 1500×700 pixels, each 150 to 750 pixels wide and high. Some of them extend
/// beyond the canvas.
fn random_rectangles(random: &mut fastrand::Rng, many: usize) -> (UVec2, Vec<[f64; 4]>) {
    let size = UVec2::new(1500, 700);
    let mut edge = || {
        // Even sides, so that pictures of half their size have whole pixels.
        let side = (DVec2::new(random.f64(), random.f64()) * 300.0 + 75.0).round() * 2.0;
        let at = DVec2::new(random.f64(), random.f64()) * size.as_dvec2() - side / 3.0;
        [at.x, at.y, at.x + side.x, at.y + side.y]
    };
    let edges = (0..many).map(|_| edge()).collect();
    (size, edges)
}

/// A full circle of `many` cameras, evenly spaced, on a cylinder of 3600 columns and `height` rows. Each picture has
/// 800×600 pixels at a focal length of 500.
fn ring(many: u32, height: u32) -> Geometry {
    let canvas = Canvas {
        centre: DVec2::new(3599.0, f64::from(height) - 1.0) / 2.0,
        scale: DVec2::splat(3600.0 / TAU),
        size: UVec2::new(3600, height),
        projection: Projection::CYLINDRICAL,
        reserved: 0,
    };
    // With this principal point, the picture's range of positions, 0 to the width, is symmetric.
    let matrix = CameraMatrix { fx: 500.0, fy: 500.0, cx: 400.0, cy: 300.0 };
    let camera = |i: u32| {
        let yaw = 360.0 * f64::from(i) / f64::from(many);
        let from_ray = rotation(yaw, 0.0, 0.0).transpose();
        lens_camera(from_ray, UVec2::new(800, 600), LensName::Pinhole, &matrix, &[])
    };
    Geometry { canvas, cameras: (0..many).map(camera).collect() }
}

#[track_caller]
fn within_percent(found: f64, exact: f64) {
    assert!((found - exact).abs() <= 0.01 * exact, "{found} is not within 1 % of {exact}");
}

#[test]
fn random_rectangles_have_their_exact_areas() {
    let mut random = fastrand::Rng::with_seed(11);
    for round in 0..12 {
        let many = 2 + round % 7;
        let scale = [0.5, 1.0, 2.0][round % 3];
        let (size, edges) = random_rectangles(&mut random, many);
        let found = rectangles(size, scale, &edges).overlaps();
        let exact = exact(size, &edges);
        let total = size.as_dvec2().element_product();
        let common = |set: u64| -> f64 {
            exact.iter().filter(|(seen, _)| *seen & set == set).map(|(_, area)| area).sum()
        };
        // An edge is off by at most half a cell, which is smaller than a pixel, so the area is off by at most half of its perimeter.
        let perimeter = 2.0 * 1500.0;
        let close = |share: f64, area: f64| {
            assert!((share * total - area).abs() <= perimeter / 2.0, "{share} of {total}: {area}");
        };
        for (i, camera) in found.cameras.iter().enumerate() {
            let area = common(1 << i);
            close(camera.canvas, area);
            let [left, top, right, bottom] = edges[i];
            let whole = (right - left) * (bottom - top);
            assert!((camera.picture - area / whole).abs() < 0.01, "{camera:?} {area} {whole}");
        }
        let mut pairs = 0;
        for b in 0..many {
            for a in 0..b {
                let area = common(1 << a | 1 << b);
                let pair = found.pairs.iter().find(|pair| pair.cameras == [a, b]);
                close(pair.map_or(0.0, |pair| pair.canvas), area);
                let Some(pair) = pair else { continue };
                pairs += 1;
                let smaller = common(1 << a).min(common(1 << b));
                assert!((pair.smaller - area / smaller).abs() < 0.01, "{pair:?}");
                // The box of two rectangles' overlap on the canvas.
                let [lefts, tops] = [0, 1].map(|axis| edges[a][axis].max(edges[b][axis]).max(0.0));
                let right = edges[a][2].min(edges[b][2]).min(1500.0);
                let bottom = edges[a][3].min(edges[b][3]).min(700.0);
                let bounds = pair.bounds;
                let off = [
                    bounds.x - lefts,
                    bounds.y - tops,
                    bounds.x + bounds.width - right,
                    bounds.y + bounds.height - bottom,
                ];
                assert!(off.iter().all(|off| off.abs() <= 0.5), "{off:?}");
            }
        }
        assert_eq!(found.pairs.len(), pairs, "no pair twice");
        close(found.uncovered, exact.get(&0).copied().unwrap_or(0.0));
        for (set, &area) in exact.iter().filter(|(set, _)| set.count_ones() > 2) {
            let meeting = found
                .meetings
                .iter()
                .find(|m| m.cameras.iter().fold(0, |set, i| set | 1 << i) == *set);
            close(meeting.map_or(0.0, |meeting| meeting.canvas), area);
        }
        // Every point belongs to one set, so the shares of all sets add up to the whole canvas. Counted by the number
        // of cameras: one camera − pairs + meetings counted once for each pair beyond the first …
        let once: f64 = found.cameras.iter().map(|camera| camera.canvas).sum();
        let surplus: f64 = found.pairs.iter().map(|pair| pair.canvas).sum();
        let more: f64 = found
            .meetings
            .iter()
            .map(|m| {
                let n = m.cameras.len() as f64;
                m.canvas * (1.0 - n + n * (n - 1.0) / 2.0)
            })
            .sum();
        assert!((once - surplus + more + found.uncovered - 1.0).abs() < 1e-9);
    }
}

#[test]
fn overlaps_within_a_percent() {
    // Two pictures overlap by 200 of 4000 columns, which are 100 cells. One picture is larger than the other.
    let edges = [[0.3, 0.0, 2020.3, 900.0], [1820.3, 200.0, 3052.3, 700.0]];
    let found = rectangles(UVec2::new(4000, 900), 1.0, &edges).overlaps();
    let [pair] = &found.pairs[..] else { panic!("{found:?}") };
    within_percent(pair.canvas, 200.0 * 500.0 / (4000.0 * 900.0));
    within_percent(pair.smaller, 200.0 / 1232.0);
    within_percent(pair.pictures[0], 200.0 * 500.0 / (2020.0 * 900.0));
    within_percent(pair.pictures[1], 200.0 / 1232.0);
    assert_eq!(found.groups, [[0, 1]]);
    assert!(found.meetings.is_empty());
}

#[test]
fn a_ring_has_its_exact_angles() {
    // Each picture covers this half angle on the horizon, and the full height of a canvas this low.
    let half = libm::atan(400.0 / 500.0);
    for many in [5, 6, 8] {
        let found = ring(many, 300).overlaps();
        for camera in &found.cameras {
            within_percent(camera.canvas, 2.0 * half / TAU);
        }
        let spacing = TAU / f64::from(many);
        let overlap = 2.0 * half - spacing;
        let neighbours = |pair: &&PairOverlap| {
            let [a, b] = pair.cameras.map(|i| i as u32);
            b - a == 1 || b - a == many - 1
        };
        let pairs: Vec<_> = found.pairs.iter().filter(neighbours).collect();
        assert_eq!(pairs.len() as u32, many);
        for pair in pairs {
            // A cell has 2 of the 3600 columns, and an overlap is off by at most half a cell at each end.
            let columns = overlap * 3600.0 / TAU;
            let close = |found: f64| assert!((found - columns).abs() <= 2.0, "{found} {columns}");
            close(pair.canvas * 3600.0);
            close(pair.smaller * 2.0 * half * 3600.0 / TAU);
            close(pair.bounds.width);
            // The first camera looks at the middle of the canvas. The middle of two neighbours is half a spacing
            // further.
            let [a, b] = pair.cameras.map(|i| i as f64);
            let middle = if b - a > 1.0 { -0.5 } else { (a + b) / 2.0 };
            let expected = (1800.0 + middle * spacing * 3600.0 / TAU).rem_euclid(3600.0);
            let found = (pair.bounds.x + pair.bounds.width / 2.0).rem_euclid(3600.0);
            let off = (found - expected).abs();
            assert!(off.min(3600.0 - off) < 2.0, "{found} {expected}");
        }
        assert_eq!(found.groups.len(), 1);
        // Every second camera overlaps too if the pictures span more than two spacings.
        assert_eq!(found.meetings.is_empty(), 2.0 * half < 2.0 * spacing, "{many}");
        assert!(found.uncovered < 1e-9);
    }
}

#[test]
fn a_picture_on_a_tall_cylinder_has_its_exact_area() {
    // At the angle t from the viewing direction, a picture of 600 rows at a focal length of 500 reaches ±0.6·cos t.
    let found = ring(3, 900).overlaps();
    let half = libm::atan(400.0 / 500.0);
    let area = 2.0 * 0.6 * 2.0 * libm::sin(half);
    for camera in &found.cameras {
        within_percent(camera.canvas, area / (TAU * 900.0 * TAU / 3600.0));
        within_percent(camera.picture, 1.0);
    }
    assert!(found.pairs.is_empty());
    assert_eq!(found.groups, [[0], [1], [2]]);
    within_percent(found.uncovered, 1.0 - 3.0 * found.cameras[0].canvas);
}

#[test]
fn cameras_that_the_canvas_does_not_show() {
    let edges = [[0.0, 0.0, 90.0, 50.0], [2000.0, 0.0, 2100.0, 50.0]];
    let found = rectangles(UVec2::new(100, 50), 1.0, &edges).overlaps();
    assert_eq!(found.cameras[1], CameraArea { canvas: 0.0, picture: 0.0, bounds: None });
    assert_eq!((found.pairs.len(), found.groups.len()), (0, 2));
    within_percent(found.uncovered, 0.1);
    let found = rectangles(UVec2::new(100, 50), 1.0, &[edges[0]; 64]).overlaps();
    assert_eq!((found.pairs.len(), found.meetings.len(), found.groups.len()), (2016, 1, 1));
    let nothing = rectangles(UVec2::ZERO, 1.0, &edges).overlaps();
    assert_eq!((nothing.uncovered, nothing.groups.len()), (0.0, 2));
}

#[test]
fn the_extent_on_a_circle_is_the_shortest() {
    let extent = |set: &[usize], circle| {
        let is_set: Vec<bool> = (0..16).map(|i| set.contains(&i)).collect();
        super::extent(&is_set, circle)
    };
    assert_eq!(extent(&[0, 1, 15], true), (15.0, 3.0));
    assert_eq!(extent(&[0, 1, 15], false), (0.0, 16.0));
    assert_eq!(extent(&[3, 4], true), (3.0, 2.0));
    assert_eq!(extent(&[], true), (0.0, 0.0));
}
