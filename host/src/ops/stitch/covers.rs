//! A constant colour that replaces parts of the cameras' pictures, for instance of a camera that has failed.

use glam::Vec3;
use shared_types::stitch::MAX_CAMERAS;

/// A colour that covers each camera's picture by a part from 0 (only the picture is visible) to 1 (only the colour is
/// visible). Only [`Lookup::Mesh`](super::Lookup::Mesh) regards it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Covers {
    /// The R'G'B' colour. Each channel is from 0 to 1.
    pub colour: Vec3,
    /// The part of the colour for each camera, from 0 to 1.
    pub parts: [f32; MAX_CAMERAS],
}

impl Covers {
    /// No camera is covered.
    pub const NONE: Self = Self { colour: Vec3::ZERO, parts: [0.0; MAX_CAMERAS] };
}

impl Default for Covers {
    fn default() -> Self {
        Self::NONE
    }
}
