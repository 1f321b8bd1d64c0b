//! Limits of a virtual camera: views that show nothing but what the cameras cover.
//!
//! What they cover has a ragged outline. Of it, the largest upright rectangle on a cylinder counts: pan is then
//! limited by the rectangle's ends, tilt by its rows, each on its own, so that a view that is kept moves as
//! steadily as the one asked for. What lies beside the rectangle is never shown.

use std::f64::consts::PI;

use glam::{DVec2, DVec3, UVec2};
use shared_types::warp::{Camera, Canvas, Projection};

use super::{MAX_FOV, MIN_FOV, View};
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
pub struct Limits {
    /// Angles of its ends, in radians to the right.
    across: [f64; 2],
    /// Tangents of its upper and lower end, positive down.
    down: [f64; 2],
}

impl Limits {
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
    pub fn keep(&self, view: &View, size: UVec2) -> View {
        let widest = view.fov.clamp(MIN_FOV, MAX_FOV);
        let narrower = |fov: f64| self.turned(&View { fov, ..*view }, size);
        narrower(widest).unwrap_or_else(|| {
            let (mut fits, mut too_wide) = (MIN_FOV, widest);
            for _ in 0..STEPS {
                let middle = f64::midpoint(fits, too_wide);
                if narrower(middle).is_some() { fits = middle } else { too_wide = middle }
            }
            // Where nothing fits, the rectangle has no size: as narrow as can be, at its middle.
            narrower(fits).unwrap_or_else(|| {
                let [pan, tilt] = self.middle();
                View { pan, tilt, fov: MIN_FOV, ..*view }
            })
        })
    }

    /// Degrees to the right and up.
    fn middle(&self) -> [f64; 2] {
        let [a, b] = [self.across, self.down].map(|[from, to]| f64::midpoint(from, to));
        [a.to_degrees(), -libm::atan(b).to_degrees()]
    }

    /// The view tilted, then panned, until it is inside; `None` if it is too wide for that.
    fn turned(&self, view: &View, size: UVec2) -> Option<View> {
        let at = |tilt: f64| Outline::of(&View { pan: 0.0, tilt, ..*view }, size);
        // Tilting up moves both ends up: the lowest tilt at which the lower end is inside, and the highest for
        // the upper one.
        let edge = |inside: &dyn Fn(&Outline) -> bool, mut good: f64, mut bad: f64| {
            if at(bad).is_some_and(|outline| inside(&outline)) {
                return bad;
            }
            for _ in 0..STEPS {
                let middle = f64::midpoint(good, bad);
                let fits = at(middle).is_some_and(|outline| inside(&outline));
                if fits { good = middle } else { bad = middle }
            }
            good
        };
        let lowest = edge(&|outline| outline.down[1] <= self.down[1], STEEPEST, -STEEPEST);
        let highest = edge(&|outline| outline.down[0] >= self.down[0], -STEEPEST, STEEPEST);
        if lowest > highest {
            return None;
        }
        let tilt = view.tilt.clamp(lowest, highest);
        let outline = at(tilt)?;
        let from = (self.across[0] - outline.across[0]).to_degrees();
        let to = (self.across[1] - outline.across[1]).to_degrees();
        let inside = outline.down[0] >= self.down[0] && outline.down[1] <= self.down[1];
        (inside && from <= to).then(|| View { pan: view.pan.clamp(from, to), tilt, ..*view })
    }
}

/// Where a view's edges lie on the cylinder.
struct Outline {
    across: [f64; 2],
    down: [f64; 2],
}

impl Outline {
    /// `None` where the view shows a pole.
    fn of(view: &View, size: UVec2) -> Option<Self> {
        let (turn, focal) = (view.turn(), view.focal(size.x));
        let half = size.as_dvec2() / 2.0;
        let (mut across, mut down) = ([f64::MAX, f64::MIN], [f64::MAX, f64::MIN]);
        for i in 0..=PLACES {
            let t = 2.0 * f64::from(i) / f64::from(PLACES) - 1.0;
            for place in [(t, -1.0), (t, 1.0), (-1.0, t), (1.0, t)] {
                let place = DVec2::from(place) * half / focal;
                let DVec3 { x, y, z } = turn * place.extend(1.0);
                let (angle, tangent) = (libm::atan2(x, z), y / libm::hypot(x, z));
                across = [across[0].min(angle), across[1].max(angle)];
                down = [down[0].min(tangent), down[1].max(tangent)];
            }
        }
        // Around a pole the angles go all the way round.
        (across[1] - across[0] < 1.9 * PI).then_some(Self { across, down })
    }
}
