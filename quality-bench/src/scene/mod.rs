//! Scenes by formula: the light that arrives at any point, from any direction, at any time.
//!
//! A scene is a background at infinite distance ([`Texture`]) and flat objects ([`Board`]) in front of it. Objects at a
//! finite distance cause parallax between cameras at different places; objects that move appear at different places in
//! pictures taken at different times.

mod noise;
mod texture;

use glam::{DMat3, DVec2, DVec3};

pub(crate) use texture::{Light, Pattern, Texture};

/// A flat object that faces the origin.
#[derive(Clone, Debug)]
pub(crate) struct Board {
    /// Azimuth and elevation of its middle at the time 0, in radians.
    pub(crate) angles: DVec2,
    /// Distance from the origin, in metres.
    pub(crate) distance: f64,
    /// Half its width and height, in radians as seen from the origin.
    pub(crate) half: DVec2,
    /// Radians of azimuth and elevation per unit of time.
    pub(crate) speed: DVec2,
    /// Selects its texture.
    pub(crate) seed: u64,
}

/// A background and the objects in front of it, the nearest first.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    /// The background.
    pub(crate) texture: Texture,
    /// Selects the details of the background.
    pub(crate) seed: u64,
    /// The objects.
    pub(crate) boards: Vec<Board>,
}

impl Board {
    /// Returns the light of the board, or `None` if the ray passes it.
    fn light(&self, from: DVec3, direction: DVec3, time: f64) -> Option<Light> {
        let angles = self.angles + self.speed * time;
        let turn = DMat3::from_rotation_y(angles.x) * DMat3::from_rotation_x(angles.y);
        let (from, direction) = (turn.transpose() * from, turn.transpose() * direction);
        if direction.z <= 0.0 {
            return None;
        }
        let hit = from + direction * ((self.distance - from.z) / direction.z);
        let at = DVec2::new(hit.x, hit.y) / self.distance;
        let inside = (at / self.half).abs();
        // A rectangle with rounded corners.
        if inside.powf(6.0).element_sum() > 1.0 {
            return None;
        }
        let grain = noise::octaves(at.extend(0.5), 14.0, 6, 0.85, self.seed);
        let stripe = (at.y * 90.0 + 40.0 * at.x).sin() > 0.55;
        let colour = DVec3::new(
            noise::hash(1, 0, 0, self.seed),
            noise::hash(2, 0, 0, self.seed),
            noise::hash(3, 0, 0, self.seed),
        );
        let base = if stripe { DVec3::splat(0.75) } else { 0.08 + 0.5 * colour };
        Some(base * (1.0 + 0.8 * grain).max(0.1))
    }
}

impl Scene {
    /// Returns the light that arrives at `from` (metres) from `direction`, a unit vector, and whether it comes from an
    /// object in front of the background.
    pub(crate) fn light(&self, from: DVec3, direction: DVec3, time: f64) -> (Light, bool) {
        let board = self.boards.iter().find_map(|board| board.light(from, direction, time));
        match board {
            Some(light) => (light, true),
            None => (self.texture.light(direction, self.seed), false),
        }
    }
}
