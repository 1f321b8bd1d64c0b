//! The pictures that a panorama may be: a plane, a cylinder or a sphere, seen from any side at any scale.

use glam::{DMat3, DVec2, DVec3};

/// The surface on which a panorama is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    /// A flat picture: straight lines stay straight.
    Plane,
    /// Columns are angles around the axis, rows are tangents of the angle to the equator.
    Cylinder,
    /// Columns and rows are angles (equirectangular).
    Sphere,
}

impl Surface {
    pub(crate) const ALL: [Self; 3] = [Self::Plane, Self::Cylinder, Self::Sphere];
}

/// The mapping between directions of the world and pixels of a panorama.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Projection {
    pub(crate) surface: Surface,
    /// Pixels per radian at the middle.
    pub(crate) focal: f64,
    /// The pixel of the panorama's forward direction.
    pub(crate) centre: DVec2,
    /// Turns directions of the world into those of the panorama.
    pub(crate) turn: DMat3,
}

impl Projection {
    /// Returns the pixel of a direction, or `None` for a direction behind the plane or along the axis.
    pub(crate) fn pixel(&self, direction: DVec3) -> Option<DVec2> {
        let d = self.turn * direction;
        let around = d.x.hypot(d.z);
        let q = match self.surface {
            Surface::Plane if d.z > 0.05 => DVec2::new(d.x, d.y) / d.z,
            Surface::Cylinder if around > 0.05 => DVec2::new(d.x.atan2(d.z), d.y / around),
            Surface::Sphere if around > 1e-9 => DVec2::new(d.x.atan2(d.z), d.y.atan2(around)),
            _ => return None,
        };
        Some(q * self.focal + self.centre)
    }

    /// Returns the direction, a unit vector, that a pixel shows.
    pub(crate) fn direction(&self, pixel: DVec2) -> DVec3 {
        let q = (pixel - self.centre) / self.focal;
        let d = match self.surface {
            Surface::Plane => q.extend(1.0),
            Surface::Cylinder => DVec3::new(q.x.sin(), q.y, q.x.cos()),
            Surface::Sphere => DVec3::new(q.x.sin() * q.y.cos(), q.y.sin(), q.x.cos() * q.y.cos()),
        };
        self.turn.transpose() * d.normalize()
    }
}
