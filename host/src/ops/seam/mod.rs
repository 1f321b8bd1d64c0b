//! Seams of live video: narrow blends along a line through the overlap. The line passes through areas in which the
//! pictures of both cameras agree. With a wide blend, near or moving objects would appear twice; with a seam, they
//! appear only once.
//!
//! A [`Seam`] belongs to two cameras of a warp. It compares a pair of frames, and finds the cheapest line through the
//! overlap ([`kernels_gpu::seam`] defines the costs). [`Seams`] has a seam for each overlap of a warp, and writes the
//! weights of all lines to a copy of the warp. [`seamed`] does all of this for one set of frames. For video, a
//! [`SeamTracker`] decides when a better line justifies a change, and controls the fade to it.
//!
//! The search works on cells of a few pixels. Rows are cut along the seam, and a path separates each row in two:
//!
//! ```text
//!    only left ◀─ overlap ─▶ only right        cost(cell)  = 1 + difference of the pictures around it
//!   ┌──┬──┬──┬──┬──┬──┬──┬──┐                  best[row][i] = cheapest path from row 0 that has i cells of `row`
//!   │▒▒│  │  │╲ │  │  │  │░░│  row 0                         on its left
//!   │▒▒│  │  │ ╲│  │  │░░│░░│                  for each row:
//!   │▒▒│▒▒│  │  │╲ │  │░░│░░│                      for each i:
//!   │▒▒│▒▒│  │  │ ╲│  │  │░░│                          from = the cheapest best[row - 1][j], |i - j| ≤ STEP,
//!   └──┴──┴──┴──┴──┴──┴──┴──┘  last row                        plus the cells that the step from j to i crosses
//!                                                      best[row][i] = cost(row, i) + from;  parent[row][i] = j
//!                                              path = the cheapest of the last row, traced back by `parent`
//! ```
//!
//! A cell that only one camera sees has a prohibitive cost on the wrong side of the path. For video, cells near the
//! current path are a little cheaper, so that the path does not jump between equal ones.
//!
//! Match the colours first. A different exposure makes the pictures differ everywhere, and the line would follow dark
//! areas, where the difference is smallest.
//!
//! Panoramas of stills ([`panorama`](crate::panorama)) use a cut instead, which may have any outline.
//!
//! If a warp does not allow a seam, [`SeamError::is_of_warp`] returns true; the warp's feathered weights always work. A
//! warp allows no seam if the cameras do not overlap, if one camera covers the whole area of the other one, or if no
//! single line separates the area that only the left camera sees from the area that only the right camera sees, for
//! instance because the overlap has two parts.
//!
//! A seam cannot hide a large parallax: if the line passes between the two images of one object, each side of the line
//! shows what its camera sees there. An object nearer than the alignment distance may then disappear, and an object
//! that moved between the exposures may appear twice.
//!
//! [Multiband blending](super::multiband) hides differences in brightness at the seam.

mod error;
mod find;
mod grid;
mod gridded;
mod search;
mod several;
mod tracker;

pub use error::SeamError;
pub use find::Seam;
pub use several::{Seams, seamed};
pub use tracker::{CONFIRM, FADE, KEEP, LEAST_GAIN, SeamTracker};

/// Options of a seam.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeamOptions {
    /// The width of the blend between the cameras, in panorama pixels: 1 to 1000.
    pub feather: f32,
}

impl Default for SeamOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl SeamOptions {
    /// A feather of 16 pixels. It hides small differences in exposure, but does not visibly double thin outlines.
    pub const DEFAULT: Self = Self { feather: 16.0 };

    /// Checks the feather.
    ///
    /// # Errors
    /// Returns [`SeamError::Feather`] if the feather is out of range: it must be 1 to 1000 pixels.
    pub fn check(&self) -> Result<(), SeamError> {
        let fine = (1.0..=1000.0).contains(&self.feather);
        if fine { Ok(()) } else { Err(SeamError::Feather(self.feather)) }
    }
}
