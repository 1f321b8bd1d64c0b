//! Seams: in place of a wide blend of both cameras, a line through the overlap along which they agree, so
//! that what stands nearer or moves is shown once.
//!
//! A [`Seam`] belongs to a warp. It compares a pair of frames, finds the cheapest line through the overlap
//! ([`kernels_gpu::seam`] has the costs), and turns it into the weights of another warp that any stitch
//! takes. [`seamed`] does that for a pair of stills. For videos a [`SeamTracker`] says when a better line
//! is worth moving to, and fades from one to the other.
//!
//! Colours come first: what is exposed differently is different everywhere, and the line would go where
//! pictures are dark.
//!
//! Where there is no good line, [`SeamError::is_of_warp`] says so, and the warp's own weights, feathered
//! from edge to edge, are the answer. That is so where one picture lies inside of the other, where
//! one line cannot part what each camera sees alone, as when the overlap is in two parts, and where there
//! is no overlap.
//!
//! What a line cannot do: where the two places of one thing are so far apart that it fits between them, each
//! camera shows its own side. Of a thing nearer than what the cameras are aligned for that is nothing; of one
//! that moved between the two exposures it may be both.
//!
//! Not here: blending in frequency bands. It hides differences of exposure that are already matched, costs a
//! pyramid of both cameras a frame, and would need stitch kernels of its own.

mod error;
mod find;
mod grid;
mod tracker;

pub use error::SeamError;
pub use find::{Seam, seamed, seamed_pictures};
pub use tracker::{CONFIRM, FADE, KEEP, LEAST_GAIN, SeamTracker};

/// How a seam becomes weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeamOptions {
    /// Panorama pixels over which one camera fades into the other, 1 to 1000.
    pub feather: f32,
}

impl Default for SeamOptions {
    /// 16 pixels: a step of exposure fades, and a thin outline is not doubled visibly.
    fn default() -> Self {
        Self { feather: 16.0 }
    }
}

impl SeamOptions {
    /// Checks the width.
    ///
    /// # Errors
    /// [`SeamError::Feather`].
    pub fn check(&self) -> Result<(), SeamError> {
        let fine = (1.0..=1000.0).contains(&self.feather);
        if fine { Ok(()) } else { Err(SeamError::Feather { pixels: self.feather }) }
    }
}

/// How the overlap of two cameras is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Blend {
    /// By the warp's weights.
    #[default]
    Feather,
    /// By a seam, where the warp has one.
    Seam(SeamOptions),
}

impl Blend {
    /// Whether seams are looked for.
    pub(crate) fn is_seam(self) -> bool {
        matches!(self, Self::Seam(_))
    }
}
