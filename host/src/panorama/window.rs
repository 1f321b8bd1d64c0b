//! The part of the canvas in which a camera may see pixels, so that nothing is computed outside it.

use glam::{UVec2, uvec2};
use shared_types::colour::OverlapBox;

use super::sources::place;
use crate::geometry::{Geometry, is_full_circle};

/// The distance in pixels between the positions at which a camera is tested.
const STEP: u32 = 32;

/// Returns a box that contains every canvas pixel that a camera sees. Its first column and row are even.
///
/// The box surrounds the positions of a coarse grid that the camera sees, with a margin of two steps. An area between
/// the positions is narrower than a step, so it lies in the margin, unless the camera sees pixels of the box's border.
/// The box is then the whole canvas, and also if the camera sees no position.
pub(super) fn window(geometry: &Geometry, camera: usize) -> OverlapBox {
    let size = geometry.canvas.size;
    let whole = OverlapBox { min: UVec2::ZERO, max: size };
    let sees = |at: UVec2| place(geometry, camera, at).is_some();
    // A panorama of 360° shows a picture at both ends, so the last column counts, too.
    let steps = |side: u32| (0..side).step_by(STEP as usize).chain([side - 1]);
    let mut seen = OverlapBox::EMPTY;
    for y in steps(size.y) {
        for at in steps(size.x).map(|x| uvec2(x, y)).filter(|at| sees(*at)) {
            seen = OverlapBox { min: seen.min.min(at), max: seen.max.max(at + 1) };
        }
    }
    if seen.is_empty() {
        return whole;
    }
    let min = seen.min.saturating_sub(UVec2::splat(2 * STEP)) / 2 * 2;
    let max = seen.max.saturating_add(UVec2::splat(2 * STEP)).min(size);
    let rows = [(min.y > 0).then_some(min.y), (max.y < size.y).then(|| max.y - 1)];
    let columns = [(min.x > 0).then_some(min.x), (max.x < size.x).then(|| max.x - 1)];
    // The ends of a full circle touch, so a picture at one end may appear at the other one.
    let ends = is_full_circle(&geometry.canvas).then_some([0, size.x - 1]);
    let along_ends = ends.into_iter().flatten().filter(|x| !(min.x..max.x).contains(x));
    let along_ends = along_ends.flat_map(|x| (0..size.y).map(move |y| uvec2(x, y)));
    let along_rows =
        rows.into_iter().flatten().flat_map(|y| (min.x..max.x).map(move |x| uvec2(x, y)));
    let along_columns =
        columns.into_iter().flatten().flat_map(|x| (min.y..max.y).map(move |y| uvec2(x, y)));
    if along_rows.chain(along_columns).chain(along_ends).any(sees) {
        whole
    } else {
        OverlapBox { min, max }
    }
}

#[cfg(test)]
mod tests {
    use glam::{DMat3, DVec2};

    use super::*;
    use crate::geometry::{Camera, Canvas};

    /// Checks that a window contains all pixels that the camera sees, and how much of the canvas it is.
    #[track_caller]
    fn check(canvas: Canvas, camera: Camera) -> f64 {
        let geometry = Geometry { canvas, cameras: vec![camera] };
        let found = window(&geometry, 0);
        assert!(found.min % 2 == UVec2::ZERO, "{found:?}");
        for y in 0..canvas.size.y {
            for at in (0..canvas.size.x).map(|x| uvec2(x, y)) {
                let is_seen = place(&geometry, 0, at).is_some();
                assert!(!is_seen || found.contains(at), "{at} is not in {found:?}");
            }
        }
        f64::from(found.size().element_product()) / f64::from(canvas.size.element_product())
    }

    fn planar(left: f64, top: f64, turn: f64, size: UVec2) -> Camera {
        let place = DMat3::from_translation(DVec2::new(-left, -top));
        Camera::from_matrix(DMat3::from_angle(turn) * place, size)
    }

    #[test]
    fn a_window_contains_what_a_camera_sees() {
        let canvas = Canvas::of_pixels(DVec2::ZERO, uvec2(900, 500));
        for turn in [0.0, 0.3, 0.785, 1.2] {
            assert!(check(canvas, planar(300.3, 200.0, turn, uvec2(130, 90))) < 0.5);
        }
        // At an edge of the canvas, and outside of it.
        assert!(check(canvas, planar(-40.0, 100.0, 0.1, uvec2(130, 90))) < 0.5);
        assert_eq!(check(canvas, planar(5000.0, 0.0, 0.0, uvec2(130, 90))), 1.0);
        // A strip between two positions of the grid.
        check(canvas, planar(101.0, 0.0, 0.0, uvec2(20, 500)));
        // A picture around the seam of a cylinder.
        let mut canvas = Canvas::of_pixels(DVec2::new(450.0, 250.0), uvec2(900, 500));
        canvas.projection = shared_types::warp::Projection::CYLINDRICAL;
        canvas.scale = DVec2::splat(900.0 / std::f64::consts::TAU);
        let mut camera = planar(0.0, 0.0, 0.0, uvec2(200, 150));
        camera.from_ray = DMat3::from_rotation_y(std::f64::consts::PI);
        (camera.focal, camera.centre) = (DVec2::splat(150.0), DVec2::new(100.0, 75.0));
        check(canvas, camera);
        // The tip of a picture that is turned by 45° crosses the seam between two rows of the grid.
        let turn = DMat3::from_rotation_z(std::f64::consts::FRAC_PI_4);
        for yaw in 0..72 {
            let yaw = f64::from(5 * yaw).to_radians();
            camera.from_ray = turn * DMat3::from_rotation_y(-yaw);
            check(canvas, camera);
        }
    }
}
