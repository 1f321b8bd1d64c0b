//! Limits of a virtual camera, which keep a view within the area that the cameras cover.
//!
//! The covered area has an irregular outline. It is projected on a cylinder around the cameras, and the limits are the
//! largest upright rectangle inside the projection. The rectangle limits pan and tilt independently, so that a limited
//! view moves as steadily as the requested view. A limited view never shows anything outside the rectangle.
//!
//! If cameras see the direction behind the panorama, the rectangle may lie across it, so the search covers two turns of
//! the cylinder. If the rectangle spans a whole turn, pan is unlimited. A rectangle of two turns has twice the area of
//! one turn, so an unlimited pan is preferred to a larger range of tilt.

use std::f64::consts::PI;

use glam::{DVec2, DVec3, UVec2};
use shared_types::warp::{Camera, Canvas, Projection};

use super::{MAX_FOV, MIN_FOV, ViewPose};
use crate::geometry::{Geometry, rectangle_of_cells, seen};

/// The resolution, in pixels per radian, of the cylinder on which the largest rectangle is searched for.
const SCALE: f64 = 500.0;

/// The side in pixels of the cells of this search.
const STEP: u32 = 4;

/// The upper and lower end of the cylinder (at a radius of 1). It is the tangent of the elevation, so the ends are at
/// ±76°.
const HIGHEST: f64 = 4.0;

/// The number of intervals into which each side of a view is divided to sample rays along it.
const PLACES: u32 = 32;

/// The number of steps of a bisection. 30 steps determine the result to a billionth of the range.
const STEPS: u32 = 30;

/// The maximum tilt of a limited view, in degrees. A view with more tilt would contain the pole if its vertical field
/// of view exceeded 20°.
const STEEPEST: f64 = 80.0;

/// The rectangle, on a cylinder around the cameras, within which a limited view stays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewLimits {
    /// The angles of the rectangle's left and right side, in radians, positive to the right. `None` if the rectangle
    /// spans a whole turn.
    across: Option<[f64; 2]>,
    /// The tangents of the elevation of the rectangle's upper and lower side, positive down.
    down: [f64; 2],
}

impl ViewLimits {
    /// Computes the limits for a number of cameras, or returns `None` if the cameras cover no rectangle. `flip` rotates
    /// the panorama by 180°.
    pub(super) fn of(cameras: &[Camera], flip: bool) -> Option<Self> {
        let cylinder = |turns: f64| {
            let width = (2.0 * PI * SCALE * turns).ceil() as u32;
            let size = UVec2::new(width, (2.0 * HIGHEST * SCALE) as u32);
            let canvas = Canvas {
                centre: (size - 1).as_dvec2() / 2.0,
                scale: DVec2::splat(SCALE),
                size,
                projection: Projection::CYLINDRICAL,
                reserved: 0,
            };
            Geometry { canvas, cameras: cameras.to_vec() }
        };
        let mut geometry = cylinder(1.0);
        let mut rows = (0..geometry.canvas.size.y).step_by(STEP as usize);
        if rows.any(|y| seen(&geometry, DVec2::new(-0.5, y.into()))) {
            geometry = cylinder(2.0);
        }
        let (first, size) = rectangle_of_cells(&geometry, STEP)?;
        let canvas = &geometry.canvas;
        let place = |pixel: UVec2| (pixel.as_dvec2() - canvas.centre) / canvas.scale;
        let (from, to) = (place(first), place(first + size - 1));
        let (from, to) = if flip { (-to, -from) } else { (from, to) };
        let across = (to.x - from.x < 2.0 * PI).then_some([from.x, to.x]);
        Some(Self { across, down: [from.y, to.y] })
    }

    /// Returns the pose nearest to `view` for which a view of `size` pixels is within the limits. Changes tilt and pan
    /// as little as possible, and reduces the field of view only if the view would exceed the limits at every tilt and
    /// pan.
    #[must_use]
    pub fn keep(&self, view: &ViewPose, size: UVec2) -> ViewPose {
        let widest = view.fov.clamp(MIN_FOV, MAX_FOV);
        let narrower = |fov: f64| self.turned(&ViewPose { fov, ..*view }, size);
        narrower(widest).unwrap_or_else(|| {
            let (mut fits, mut too_wide) = (MIN_FOV, widest);
            for _ in 0..STEPS {
                let middle = f64::midpoint(fits, too_wide);
                if narrower(middle).is_some() { fits = middle } else { too_wide = middle }
            }
            // If even the narrowest view does not fit, the rectangle is almost empty. In this case, return the
            // narrowest view in the direction of the rectangle's centre.
            narrower(fits).unwrap_or_else(|| {
                let middle = |[from, to]: [f64; 2]| f64::midpoint(from, to);
                let pan = self.across.map_or(view.pan, |across| middle(across).to_degrees());
                let tilt = -libm::atan(middle(self.down)).to_degrees();
                ViewPose { pan, tilt, fov: MIN_FOV, ..*view }
            })
        })
    }

    /// Changes the tilt and then the pan of the view so that the view is within the limits. Returns `None` if the view
    /// is too wide or too high for the limits.
    fn turned(&self, view: &ViewPose, size: UVec2) -> Option<ViewPose> {
        let ahead = ViewPose { pan: 0.0, ..*view };
        let fits = |tilt: f64, end: fn([f64; 2], [f64; 2]) -> bool| {
            down(&ViewPose { tilt, ..ahead }, size).is_some_and(|down| end(down, self.down))
        };
        // Tilting up moves the upper and the lower end of the view up. Find the lowest tilt at which the lower end of
        // the view is inside the rectangle, and the highest tilt at which the upper end is inside.
        let edge = |end, mut good: f64, mut bad: f64| {
            if fits(bad, end) {
                return bad;
            }
            for _ in 0..STEPS {
                let middle = f64::midpoint(good, bad);
                if fits(middle, end) { good = middle } else { bad = middle }
            }
            good
        };
        let lowest = edge(|found, limit| found[1] <= limit[1], STEEPEST, -STEEPEST);
        let highest = edge(|found, limit| found[0] >= limit[0], -STEEPEST, STEEPEST);
        let tilt = view.tilt.clamp(lowest, highest.max(lowest));
        let inside =
            |found: [f64; 2], limit: [f64; 2]| found[0] >= limit[0] && found[1] <= limit[1];
        if lowest > highest || !fits(tilt, inside) {
            return None;
        }
        let Some(limit) = self.across else { return Some(ViewPose { tilt, ..*view }) };
        let across = across(&ViewPose { tilt, ..ahead }, size);
        let [from, to] = [0, 1].map(|end| (limit[end] - across[end]).to_degrees());
        // Remove full turns from the requested pan before clamping it.
        let turns = ((view.pan - f64::midpoint(from, to)) / 360.0).round();
        (from <= to).then(|| ViewPose {
            pan: (view.pan - 360.0 * turns).clamp(from, to),
            tilt,
            ..*view
        })
    }
}

/// Yields rays along the edges of a view, in the coordinate system of the panorama.
fn edges(view: &ViewPose, size: UVec2) -> impl Iterator<Item = DVec3> {
    let (turn, half) = (view.turn(), half(view, size));
    (0..=PLACES).flat_map(move |i| {
        let t = 2.0 * f64::from(i) / f64::from(PLACES) - 1.0;
        let places = [(t, -1.0), (t, 1.0), (-1.0, t), (1.0, t)];
        places.map(|place| turn * (DVec2::from(place) * half).extend(1.0))
    })
}

/// Returns half the width and height of a view at a focal length of 1.
fn half(view: &ViewPose, size: UVec2) -> DVec2 {
    size.as_dvec2() / 2.0 / view.focal(size.x)
}

/// Returns the upper and the lower end of a view on the cylinder, as tangents of the elevation. Returns `None` if the
/// view contains a pole.
fn down(view: &ViewPose, size: UVec2) -> Option<[f64; 2]> {
    // Compute the direction of the lower pole in the view's coordinate system. The upper pole has the opposite
    // direction. Both directions intersect the view's plane at the same position, `pole`.
    let DVec3 { x, y, z } = view.turn().transpose() * DVec3::Y;
    let pole = DVec2::new(x, y) / z;
    if z != 0.0 && pole.abs().cmple(half(view, size)).all() {
        return None;
    }
    let tangents = edges(view, size).map(|ray| ray.y / (ray.x * ray.x + ray.z * ray.z).sqrt());
    Some(tangents.fold([f64::MAX, f64::MIN], |[a, b], y| [a.min(y), b.max(y)]))
}

/// Returns the angles in radians of the left and right end of a view on the cylinder. The view must not contain a pole.
fn across(view: &ViewPose, size: UVec2) -> [f64; 2] {
    let angles = edges(view, size).map(|ray| libm::atan2(ray.x, ray.z));
    angles.fold([f64::MAX, f64::MIN], |[a, b], angle| [a.min(angle), b.max(angle)])
}
