//! The error of stitches, and the checks of their inputs.

use glam::UVec2;
use shared_types::stitch::Colour;
use thiserror::Error;

use super::lookup::LookupError;
use crate::device::DeviceError;
use crate::error::passes_on;
use crate::frame::FrameFormat;
use crate::warp::RenderError;

/// The error if pictures, warp and options do not match, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StitchError {
    /// Pictures, warp, output and options do not match, or an option is out of range.
    #[error("stitching: {0}")]
    Invalid(String),
    /// The requested lookup does not support the stitch.
    #[error("stitching: {0}")]
    Lookup(#[from] LookupError),
    /// The warp's mesh could not be computed.
    #[error("stitching: cannot compute the warp's mesh: {0}")]
    Mesh(#[source] RenderError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

passes_on!(StitchError: Device);

impl StitchError {
    fn count(found: usize, expected: usize) -> Self {
        Self::Invalid(format!(
            "{found} frames or colours were passed, but there are {expected} cameras; pass one frame and one colour per \
             camera"
        ))
    }

    pub(crate) fn chroma(which: &str) -> Self {
        Self::Invalid(format!(
            "the chroma plane of {which} must have half the width and height of its luma plane, rounded up"
        ))
    }

    pub(crate) fn formats(left: FrameFormat, right: FrameFormat) -> Self {
        Self::Invalid(format!(
            "the pictures have different formats, {left} and {right}; convert one of them"
        ))
    }

    pub(crate) fn depths(first: FrameFormat, other: FrameFormat) -> Self {
        Self::Invalid(format!(
            "{first} and {other} cannot be combined here; use P010 for all frames and for the output, or for none of them"
        ))
    }

    /// Returns the error for a frame that the device cannot read as textures.
    pub(crate) fn unaligned(frame: usize) -> Self {
        Self::Invalid(format!(
            "the rows of the frame of camera {} are on another device, or not aligned for textures on this device; copy it \
             to a `DeviceFrame`",
            frame + 1
        ))
    }
}

/// Checks the gains, the gamma and the shoulder of the camera with this index.
pub(super) fn check_colour((camera, colour): (usize, &Colour)) -> Result<(), StitchError> {
    let Colour { gain, gamma, shoulder } = *colour;
    let fault = if !gain.to_array().iter().all(|g| (0.0..=1000.0).contains(g)) {
        format!("gains are {gain}; each must be 0 to 1000")
    } else if !(gamma > 0.0 && gamma <= 100.0) {
        format!("gamma is {gamma}; it must be greater than 0 and at most 100")
    } else if !(0.0..=1.0).contains(&shoulder) {
        format!("shoulder is {shoulder}; it must be 0 to 1")
    } else {
        return Ok(());
    };
    Err(StitchError::Invalid(format!("camera {}: {fault}", camera + 1)))
}

/// Checks that there is one picture for each camera of a warp, and that the pictures have the cameras' source sizes.
pub(crate) fn check_sources(found: &[UVec2], expected: &[UVec2]) -> Result<(), StitchError> {
    if found.len() != expected.len() {
        return Err(StitchError::count(found.len(), expected.len()));
    }
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        Some(camera) => Err(StitchError::Invalid(format!(
            "the picture of camera {} is {}×{} pixels, but the warp was made for {}×{}; make a warp for this size",
            camera + 1,
            found[camera].x,
            found[camera].y,
            expected[camera].x,
            expected[camera].y
        ))),
        None => Ok(()),
    }
}

/// Checks that an output has the size of the panorama.
pub(crate) fn check_size(found: UVec2, expected: UVec2) -> Result<(), StitchError> {
    if found == expected {
        return Ok(());
    }
    Err(StitchError::Invalid(format!(
        "the output is {}×{} pixels; it must have the warp's size, {}×{}",
        found.x, found.y, expected.x, expected.y
    )))
}

/// Checks that either all or none of the formats are P010.
pub(crate) fn check_depths(
    formats: impl IntoIterator<Item = FrameFormat>,
) -> Result<(), StitchError> {
    let mut formats = formats.into_iter();
    let Some(first) = formats.next() else { return Ok(()) };
    match formats.find(|format| format.pixels.bits() != first.pixels.bits()) {
        Some(other) => Err(StitchError::depths(first, other)),
        None => Ok(()),
    }
}
