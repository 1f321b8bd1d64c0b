//! Limits of a virtual camera: views that show nothing but what the cameras cover.
//!
//! What they cover has a ragged outline. Of it, the largest upright rectangle on a cylinder counts: pan is then
//! limited by the rectangle's ends, tilt by its rows, each on its own, so that a view that is kept moves as
//! steadily as the one asked for. What lies beside the rectangle is never shown. Where it goes all round, pan is not
//! limited.

use std::f64::consts::PI;

use glam::{DVec2, DVec3, UVec2};
use shared_types::warp::{Camera, Canvas, Projection};

use super::{MAX_FOV, MIN_FOV, ViewPose};
use crate::geometry::{Geometry, largest_rectangle};

/// Pixels a radian of the cylinder on which the rectangle is looked for.
const SCALE: f64 = 500.0;

/// How far up and down the cylinder goes, as the tangent of the angle: 76°.
const HIGHEST: f64 = 4.0;

/// Places along each side of a view at which its outline is looked at.
const PLACES: u32 = 32;

/// Steps of a bisection: a billionth of the range.
const STEPS: u32 = 30;

/// Tilts between which views are kept, in degrees: beyond, they may show the pole.
const STEEPEST: f64 = 80.0;

/// The rectangle that views are kept in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewLimits {
    /// Angles of its ends, in radians to the right.
    across: [f64; 2],
    /// Tangents of its upper and lower end, positive down.
    down: [f64; 2],
}

impl ViewLimits {
    /// Of cameras as a geometry has them, whose panorama may be turned by 180°.
    pub(super) fn of(cameras: &[Camera; 2], flip: bool) -> Option<Self> {
        let size = UVec2::new((2.0 * PI * SCALE).ceil() as u32, (2.0 * HIGHEST * SCALE) as u32);
        let canvas = Canvas {
            centre: (size - 1).as_dvec2() / 2.0,
            scale: DVec2::splat(SCALE),
            size,
            projection: Projection::CYLINDRICAL,
            reserved: 0,
        };
        let geometry = Geometry { canvas, cameras: cameras.to_vec() };
        let (first, size) = largest_rectangle(&geometry)?;
        let place = |pixel: UVec2| (pixel.as_dvec2() - canvas.centre) / canvas.scale;
        let (from, to) = (place(first), place(first + size - 1));
        let (from, to) = if flip { (-to, -from) } else { (from, to) };
        Some(Self { across: [from.x, to.x], down: [from.y, to.y] })
    }

    /// The view of `size` pixels that is nearest to `view` and inside: tilted and panned as little as possible, and
    /// narrower only where no other helps.
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
            // Where nothing fits, the rectangle has no size: as narrow as can be, at its middle.
            narrower(fits).unwrap_or_else(|| {
                let [pan, tilt] = self.middle();
                ViewPose { pan, tilt, fov: MIN_FOV, ..*view }
            })
        })
    }

    /// Degrees to the right and up.
    fn middle(&self) -> [f64; 2] {
        let [a, b] = [self.across, self.down].map(|[from, to]| f64::midpoint(from, to));
        [a.to_degrees(), -libm::atan(b).to_degrees()]
    }

    /// The view tilted, then panned, until it is inside; `None` if it is too wide for that.
    fn turned(&self, view: &ViewPose, size: UVec2) -> Option<ViewPose> {
        let ahead = ViewPose { pan: 0.0, ..*view };
        let fits = |tilt: f64, end: fn([f64; 2], [f64; 2]) -> bool| {
            down(&ViewPose { tilt, ..ahead }, size).is_some_and(|down| end(down, self.down))
        };
        // Tilting up moves both ends up: the lowest tilt at which the lower end is inside, and the highest for
        // the upper one.
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
        if self.across[1] - self.across[0] > 2.0 * PI - 3.0 / SCALE {
            return Some(ViewPose { tilt, ..*view });
        }
        let across = across(&ViewPose { tilt, ..ahead }, size);
        let [from, to] = [0, 1].map(|end| (self.across[end] - across[end]).to_degrees());
        // The same direction, however often around.
        let turns = ((view.pan - f64::midpoint(from, to)) / 360.0).round();
        (from <= to).then(|| ViewPose {
            pan: (view.pan - 360.0 * turns).clamp(from, to),
            tilt,
            ..*view
        })
    }
}

/// Rays along the edges of a view.
fn edges(view: &ViewPose, size: UVec2) -> impl Iterator<Item = DVec3> {
    let (turn, half) = (view.turn(), half(view, size));
    (0..=PLACES).flat_map(move |i| {
        let t = 2.0 * f64::from(i) / f64::from(PLACES) - 1.0;
        let places = [(t, -1.0), (t, 1.0), (-1.0, t), (1.0, t)];
        places.map(|place| turn * (DVec2::from(place) * half).extend(1.0))
    })
}

/// Half of a view's sides, a focal length away.
fn half(view: &ViewPose, size: UVec2) -> DVec2 {
    size.as_dvec2() / 2.0 / view.focal(size.x)
}

/// Where a view's upper and lower end lie on the cylinder; `None` where the view shows a pole.
fn down(view: &ViewPose, size: UVec2) -> Option<[f64; 2]> {
    // As the view sees the pole below; the other is behind where this one is ahead.
    let DVec3 { x, y, z } = view.turn().transpose() * DVec3::Y;
    let pole = DVec2::new(x, y) / z;
    if z != 0.0 && pole.abs().cmple(half(view, size)).all() {
        return None;
    }
    let tangents = edges(view, size).map(|ray| ray.y / (ray.x * ray.x + ray.z * ray.z).sqrt());
    Some(tangents.fold([f64::MAX, f64::MIN], |[a, b], y| [a.min(y), b.max(y)]))
}

/// Where a view's left and right end lie on the cylinder, of one that shows no pole.
fn across(view: &ViewPose, size: UVec2) -> [f64; 2] {
    let angles = edges(view, size).map(|ray| libm::atan2(ray.x, ray.z));
    angles.fold([f64::MAX, f64::MIN], |[a, b], angle| [a.min(angle), b.max(angle)])
}
