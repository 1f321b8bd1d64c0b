//! The error type of calibrations. Its messages state the reason and a remedy.

use thiserror::Error;

use super::Photo;
use crate::geometry::homography::HomographyError;
use crate::geometry::rig::{MAX_RIG_CAMERAS, RigError};
use crate::io::picture::MAX_SIDE;

/// Minimum number of agreeing correspondences. Four of them determine a homography. The other six give twelve equations
/// to verify it, the fewest that allow an estimate of the noise.
pub(super) const MIN_INLIERS: usize = 10;

/// Maximum ratio of the scales of two pictures: a pixel of one picture may cover the square of this number of pixels of
/// the other.
pub(super) const MOST_SCALE: f64 = 6.0;

/// The reason why pictures cannot be calibrated, or why a rig cannot be built or checked.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum Refusal {
    /// The number of pictures is out of range.
    #[error("cannot calibrate {found} pictures; 2 to {MAX_RIG_CAMERAS} are allowed")]
    Pictures { found: usize },
    /// A picture has no pixels or too many.
    #[error(
        "cannot calibrate picture {name:?} of {width}×{height} pixels; each side must be 1 to {MAX_SIDE} pixels"
    )]
    PictureSize { name: String, width: u32, height: u32 },
    /// A pair has the index of a picture that does not exist, or the same index twice.
    #[error(
        "cannot calibrate the pair of pictures {} and {} of {pictures}; give the indices of two different pictures", left.saturating_add(1), right.saturating_add(1)
    )]
    Link { left: usize, right: usize, pictures: usize },
    /// A correspondence lies outside the pictures.
    #[error(
        "cannot calibrate: correspondence {index} is at ({x}, {y}), outside picture {name:?} of {width}×{height} pixels; give positions in pixels of the full pictures"
    )]
    Correspondence { index: usize, name: String, x: f64, y: f64, width: u32, height: u32 },
    /// A known lens has a parameter that is out of range.
    #[error(
        "cannot calibrate picture {name:?}: its known lens has {field} = {value}, which is out of range; check the calibration of the lens"
    )]
    Lens { name: String, field: &'static str, value: f64 },
    /// A known lens has more distortion coefficients than its lens model.
    #[error(
        "cannot calibrate picture {name:?}: its known lens has {found} distortion coefficients, but the lens model uses {most}; calibrate the lens with {most} coefficients"
    )]
    Coefficients { name: String, found: usize, most: usize },
    /// There are too few distinct correspondences.
    #[error(
        "only {found} distinct correspondences between the pictures; at least {MIN_INLIERS} are needed: take pictures with more texture in the overlap"
    )]
    TooFew { found: usize },
    /// Chance explains the number of agreeing correspondences, or a pattern that repeats does.
    #[error(
        "no common view found: at most {inliers} of {matches} correspondences agree, no more than by chance or on a pattern that repeats; use pictures of one scene that overlap in something unique"
    )]
    Chance { matches: usize, inliers: usize },
    /// One picture is mirrored.
    #[error(
        "one of the pictures is mirrored: {inliers} of {matches} correspondences agree after flipping it; switch off mirroring in that camera"
    )]
    Mirrored { matches: usize, inliers: usize },
    /// All pictures show the same view.
    #[error(
        "the pictures are the same view: they are shifted by at most {shift_px:.1} px; turn one camera until the pictures overlap by a fifth to a half"
    )]
    SameView { shift_px: f64 },
    /// The pictures barely overlap.
    #[error("the pictures overlap by {percent:.1} %; at least {least:.1} % are needed; turn the cameras towards each other", percent = 100.0 * overlap, least = 100.0 * least)]
    Overlap { overlap: f64, least: f64 },
    /// The model folds a picture, or scales the picture up or down by more than a factor of 6.
    #[error(
        "the pictures do not fit together: in the overlap, a pixel of one would cover {ratio:.3} pixels of the other; most correspondences are on a repeated pattern or a moving object, so use other pictures"
    )]
    Implausible { ratio: f64 },
    /// The pictures do not fit, and their sizes differ by more than a factor of 6.
    #[error(
        "no common view found: the sizes of the pictures differ {ratio:.0} times; use pictures whose sizes differ at most {MOST_SCALE:.0} times"
    )]
    Sizes { ratio: f64 },
    /// The agreeing correspondences are in too small a part of the overlap.
    #[error("the {inliers} agreeing correspondences cover {percent:.0} % of the overlap; at least {least:.0} % are needed: use pictures with texture across the overlap, and without moving objects, logos or clocks", percent = 100.0 * coverage, least = 100.0 * least)]
    Clumped { inliers: usize, coverage: f64, least: f64 },
    /// The expected misalignment is too large.
    #[error(
        "the expected misalignment at the seam is {}; at most {most_px:.1} px are allowed: the correspondences are too few, on a line, or at different distances (parallax); move the cameras closer together or use a more distant scene",
        about(*seam_error_px)
    )]
    Loose { seam_error_px: f64, most_px: f64 },
    /// Rotating cameras were requested, but the pictures contradict them.
    #[error(
        "the pictures do not fit rotating cameras ({reason}); allow a homography, or provide the lens calibration of each camera"
    )]
    NotTurning { reason: String },
    /// No two pictures fit together.
    #[error(
        "no two of the {pictures} pictures fit together: take pictures with more overlap between neighbours{}",
        told(reasons)
    )]
    Disconnected { pictures: usize, reasons: Vec<String> },
    /// The pictures show one plane, and a flat panorama would stretch one of them too far.
    #[error(
        "a flat panorama cannot show picture {name:?}, because the picture was taken at too large an angle to the other one; use a smaller angle; if the camera only rotated between the pictures, set the model to rotating cameras"
    )]
    Stretched { name: String },
    /// The requested projection cannot show the view.
    #[error(
        "a {projection} panorama would span {degrees:.0}°, but it must span less than {most:.0}°: use {suits}, or omit the projection"
    )]
    Projection { projection: &'static str, degrees: f64, most: f64, suits: &'static str },
    /// A plane cannot have the requested projection.
    #[error(
        "the pictures show one plane, which needs a planar panorama, not {projection}; omit the projection; if the cameras only rotated between the pictures, set the model to rotating cameras"
    )]
    ProjectionOfPlane { projection: &'static str },
    /// The pictures cover no rectangle of the panorama completely.
    #[error(
        "cannot crop the panorama: the pictures cover no rectangle of it completely; do not crop it"
    )]
    Crop,
    /// The two indices are equal, or the rig has no camera with one of them.
    #[error(
        "cannot check cameras {} and {}: the rig has {cameras} cameras; give the indices of two different cameras", left.saturating_add(1), right.saturating_add(1)
    )]
    NoSuchCamera { cameras: usize, left: usize, right: usize },
    /// The rig to check, or the rig that was built, is invalid.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The panorama of pictures that show one plane would extend to infinity or be too large.
    #[error(transparent)]
    Plane(#[from] HomographyError),
}

impl Refusal {
    /// Returns the refusal, or that the sizes of the pictures differ if they differ too much for a match.
    pub(super) fn or_sizes(self, pictures: [&Photo; 2]) -> Self {
        let [a, b] = pictures.map(|picture| f64::from(picture.size.max_element()));
        let ratio = (a / b).max(b / a);
        if ratio > MOST_SCALE { Self::Sizes { ratio } } else { self }
    }
}

/// Formats the expected misalignment, which is infinite if the fit is not determined.
fn about(pixels: f64) -> String {
    if pixels.is_finite() { format!("about {pixels:.1} px") } else { "unbounded".to_owned() }
}

/// Returns the reasons in parentheses, separated by semicolons, or an empty text if there are none.
fn told(reasons: &[String]) -> String {
    if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) }
}
