//! A constant colour that replaces parts of the cameras' pictures, for instance of a camera that has failed.

use glam::Vec3;
use shared_types::stitch::mesh::Grading;
use shared_types::stitch::{Colour, MAX_CAMERAS};

/// A colour that covers each camera's picture by a part from 0 (only the picture is visible) to 1 (only the colour is
/// visible).
///
/// If a part is above 0, [`Lookup::Mesh`](super::Lookup::Mesh) still takes one launch. All other lookups take one launch
/// per camera and one more.
///
/// The colour has no vignetting, so the vignetting correction of a covered camera is reduced in proportion to the part of
/// its picture. This is exact for the parts 0 and 1. Between them, the correction is too weak in the corners of the
/// picture: by up to 15 levels for vignettes that keep two thirds of the light.
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

    /// Returns whether any of the first `cameras` cameras is covered.
    pub(crate) fn covers_any(&self, cameras: usize) -> bool {
        self.parts.iter().take(cameras).any(|&part| part > 0.0)
    }

    /// Returns the conversion of a camera's samples, mixed with the colour if the camera is covered.
    pub(super) fn grade(&self, camera: usize, grading: Grading) -> Grading {
        match self.parts[camera] {
            part if part > 0.0 => grading.mixed(self.colour, part.min(1.0)),
            _ => grading,
        }
    }

    /// Returns the colour correction of a camera as kernels with a constant colour take it: the correction with gains
    /// and a shoulder that are multiplied by the part of the picture, and the offset that is added before the power.
    pub(super) fn mixed(&self, camera: usize, colour: Colour) -> (Colour, Vec3) {
        let grading = self.grade(camera, Grading::rgb(colour));
        let keep = 1.0 - self.parts[camera].clamp(0.0, 1.0);
        let shoulder = colour.shoulder * keep;
        (Colour { gain: grading.gain(), shoulder, ..colour }, grading.offset)
    }
}

impl Default for Covers {
    fn default() -> Self {
        Self::NONE
    }
}
