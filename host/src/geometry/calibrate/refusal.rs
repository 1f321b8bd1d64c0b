//! Why pictures give no calibration, each with what to do about it.

use thiserror::Error;

use crate::geometry::homography::HomographyError;
use crate::geometry::rig::{MAX_CAMERAS, RigError};
use crate::io::picture::MAX_SIDE;

/// Fewest correspondences that must agree. A homography is determined by four; ten leave twelve equations
/// to check it by, the fewest with which noise can be told at all.
pub(super) const MIN_INLIERS: usize = 10;

/// Pictures that give no calibration which could be trusted.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum Refusal {
    /// Not a number of pictures that a rig can have.
    #[error("calibrating {found} pictures: 2 to {MAX_CAMERAS} are allowed")]
    Pictures { found: usize },
    /// A picture has no pixels or too many.
    #[error(
        "calibrating: picture {name:?} is {width}×{height} pixels; 1 to {MAX_SIDE} a side are allowed"
    )]
    PictureSize { name: String, width: u32, height: u32 },
    /// A pair names a picture that is not there, or the same one twice.
    #[error(
        "calibrating: a pair of pictures {left} and {right}, of {pictures}; two different ones, counted from 0, are needed"
    )]
    Link { left: usize, right: usize, pictures: usize },
    /// A correspondence is no pair of places in the pictures.
    #[error(
        "calibrating: correspondence {index} lies at ({x}, {y}) in the {side} picture, which is {width}×{height}; are these pixels of the full pictures?"
    )]
    Correspondence { index: usize, side: &'static str, x: f64, y: f64, width: u32, height: u32 },
    /// A lens that is said to be known is none.
    #[error(
        "calibrating: the known lens of picture {name:?} has {field} = {value}, which no lens has"
    )]
    Lens { name: String, field: &'static str, value: f64 },
    /// Nothing to work with.
    #[error(
        "only {found} different correspondences between the pictures, at least {MIN_INLIERS} are needed: take pictures with more texture in what both see"
    )]
    TooFew { found: usize },
    /// What agrees could agree by chance.
    #[error(
        "no common view found: of {matches} correspondences at most {inliers} agree, which chance does too; are the pictures of one scene, and do they overlap?"
    )]
    Chance { matches: usize, inliers: usize },
    /// One picture is mirrored.
    #[error(
        "one of the pictures is mirrored: {inliers} of {matches} correspondences agree if it is turned over; switch mirroring off in that camera"
    )]
    Mirrored { matches: usize, inliers: usize },
    /// Both pictures show the same.
    #[error(
        "the two pictures are the same view: they differ by {shift_px:.1} px at most; turn one camera so that they overlap by a fifth to a half"
    )]
    SameView { shift_px: f64 },
    /// The pictures hardly overlap.
    #[error("the pictures overlap by {percent:.1} %, at least {least:.1} % are needed; turn the cameras towards each other", percent = 100.0 * overlap, least = 100.0 * least)]
    Overlap { overlap: f64, least: f64 },
    /// The model folds a picture over, or blows it up.
    #[error(
        "the pictures do not fit together: a pixel of one would cover {ratio:.3} pixels of the other where they overlap; most correspondences lie on a repeated pattern or a moving thing"
    )]
    Implausible { ratio: f64 },
    /// What agrees lies in one place.
    #[error("the {inliers} correspondences that agree cover {percent:.0} % of what both pictures see, at least {least:.0} % are needed: there is texture in one place only, or something moved between the pictures", percent = 100.0 * coverage, least = 100.0 * least)]
    Clumped { inliers: usize, coverage: f64, least: f64 },
    /// The pictures would not meet.
    #[error(
        "the pictures would be off by {} where they meet, at most {most_px:.1} px are allowed: the correspondences are too few, on a line, or at different distances (parallax); move the cameras' lenses nearer together or look at something further away",
        about(*seam_error_px)
    )]
    Loose { seam_error_px: f64, most_px: f64 },
    /// Cameras that only turn were asked for, and they do not.
    #[error(
        "the pictures are not those of cameras that only turn ({reason}); allow a homography, or give the lenses"
    )]
    NotTurning { reason: String },
    /// A pair that holds by itself but that the other pairs contradict, or one of those that do not.
    #[error(
        "pictures {left} and {right} fit by themselves, but not with what the other pairs say ({source}): take out whatever both show that is not one thing, such as a poster or a repeated pattern, or give other pictures"
    )]
    Pair { left: String, right: String, source: Box<Refusal> },
    /// Some pictures have no way to the others.
    #[error("{} {} not fit to the others: take pictures with more overlap between neighbours, or leave {} out{}", names.join(", "), if names.len() == 1 { "does" } else { "do" }, if names.len() == 1 { "it" } else { "them" }, told(reasons))]
    Disconnected { names: Vec<String>, reasons: Vec<String> },
    /// The projection that was asked for cannot show the view.
    #[error(
        "a {projection} panorama would be {degrees:.0}° across or high, under {most:.0}° are allowed: take {suits}, or leave the projection open"
    )]
    Projection { projection: &'static str, degrees: f64, most: f64, suits: &'static str },
    /// Another projection than that of a plane was asked for.
    #[error(
        "the pictures lie on one plane, not around one place: that is planar, not {projection}; leave the projection open, or ask for cameras that turn"
    )]
    ProjectionOfPlane { projection: &'static str },
    /// Nothing to crop to.
    #[error(
        "no rectangle of the panorama is wholly seen, so that there is nothing to crop it to: leave cropping out"
    )]
    Crop,
    /// The rig has no such cameras.
    #[error(
        "checking a rig of {cameras} cameras against pictures {left} and {right}: it has no such cameras"
    )]
    NoSuchCamera { cameras: usize, left: usize, right: usize },
    /// The rig is wrong, or would be.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The panorama of a plane cannot be made.
    #[error(transparent)]
    Plane(#[from] HomographyError),
}

/// Pixels for people: a fit that leaves something open has no number.
fn about(pixels: f64) -> String {
    if pixels.is_finite() { format!("about {pixels:.1} px") } else { "any amount".to_owned() }
}

/// The most telling reasons, where there are any.
fn told(reasons: &[String]) -> String {
    if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) }
}
