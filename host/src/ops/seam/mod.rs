//! Seams: a line through the overlap along which the cameras agree, instead of a wide blend, so that near or moving
//! objects appear once.
//!
//! A [`Seam`] belongs to a warp. It compares a pair of frames, finds the cheapest line through the overlap
//! ([`kernels_gpu::seam`] defines the costs), and converts it to the weights of another warp that any stitch accepts.
//! [`seamed`] does that for a pair of stills. For video, a [`SeamTracker`] decides when a better line is worth a move,
//! and fades to it.
//!
//! Correct colours first: a difference in exposure is a difference everywhere, and the line would run through dark
//! areas.
//!
//! If there is no good line, [`SeamError::is_of_warp`] returns true, and the warp's own feathered weights are the
//! fallback. That is the case without an overlap, if one picture lies inside the other, or if one line cannot separate
//! the areas of the cameras, as in an overlap of two parts.
//!
//! Limits: if the two images of one object are so far apart that the line fits between them, each camera shows its own
//! side. An object nearer than the alignment distance may vanish; one that moved between the exposures may appear
//! twice.
//!
//! Not supported: multi-band blending. It hides exposure differences that are already matched, costs a pyramid of both
//! cameras per frame, and would need stitch kernels of its own.

mod error;
mod find;
mod grid;
mod gridded;
mod search;
mod tracker;

pub use error::SeamError;
pub use find::{Seam, seamed, seamed_pictures};
pub use tracker::{CONFIRM, FADE, KEEP, LEAST_GAIN, SeamTracker};

/// Options of a seam's weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeamOptions {
    /// Width of the fade between the cameras, in panorama pixels, 1 to 1000.
    pub feather: f32,
}

impl Default for SeamOptions {
    /// Returns 16 pixels: an exposure step fades, and a thin outline is not visibly doubled.
    fn default() -> Self {
        Self { feather: 16.0 }
    }
}

impl SeamOptions {
    /// Checks the feather.
    ///
    /// # Errors
    /// Returns [`SeamError::Feather`] if it is out of range.
    pub fn check(&self) -> Result<(), SeamError> {
        let fine = (1.0..=1000.0).contains(&self.feather);
        if fine { Ok(()) } else { Err(SeamError::Feather { pixels: self.feather }) }
    }
}

/// Blending in the overlap of two cameras.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Blend {
    /// The warp's weights.
    #[default]
    Feather,
    /// A seam, if the warp has one.
    Seam(SeamOptions),
}

impl Blend {
    /// Returns whether seams are searched.
    pub(crate) fn is_seam(self) -> bool {
        matches!(self, Self::Seam(_))
    }
}
