//! The error of live stitching.

use std::sync::Arc;

use glam::UVec2;
use thiserror::Error;

use super::pairing::Side;
use crate::device::{DeviceError, Place};
use crate::frame::FrameFormat;
use crate::ops::seam::SeamError;
use crate::ops::stitch::StitchError;
use crate::ops::view::ViewError;
use crate::warp::RenderError;

/// A stitcher cannot be made, or rejects its input.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum LiveError {
    /// A frame has another format than the stitcher expects.
    #[error(
        "live stitching: the {camera:?} frame is {found}, but the stitcher was made for {expected}"
    )]
    Format {
        /// The camera of the frame.
        camera: Side,
        /// The format of the frame.
        found: FrameFormat,
        /// The format that the stitcher expects.
        expected: FrameFormat,
    },
    /// The chroma plane of a frame in device memory is not half the size of its luma plane, rounded up.
    #[error(
        "live stitching: the {camera:?} frame's chroma plane is not half the size of its luma plane, rounded up"
    )]
    Chroma {
        /// The camera of the frame.
        camera: Side,
    },
    /// A frame in device memory, or its event, is on another device.
    #[error(
        "live stitching: the {camera:?} frame or its event is on {found}, but the stitcher runs on {expected}; copy it there first"
    )]
    Place {
        /// The camera of the frame.
        camera: Side,
        /// The device of the frame or event.
        found: Place,
        /// The device of the stitcher.
        expected: Place,
    },
    /// A filled buffer belongs to the other camera or to another stitcher.
    #[error(
        "live stitching: the {camera:?} buffer belongs to the other camera or to another stitcher; take it with `Stitcher::buffer`"
    )]
    Buffer {
        /// The camera that the buffer was submitted for.
        camera: Side,
    },
    /// A warp has other source sizes than the stitcher.
    #[error(
        "live stitching: the warp is for sources of {found:?} pixels, but the stitcher expects {expected:?}; make a new stitcher for them"
    )]
    Sources {
        /// The source sizes of the warp.
        found: [UVec2; 2],
        /// The source sizes of the stitcher.
        expected: [UVec2; 2],
    },
    /// An option is invalid.
    #[error("live stitching: {0}")]
    Options(&'static str),
    /// A warp or a setting cannot be used.
    #[error("live stitching: {0}")]
    Unusable(Arc<dyn std::error::Error + Send + Sync>),
    /// The stitcher was closed.
    #[error("live stitching: the stitcher was closed and accepts no more frames")]
    Closed,
    /// The device failed. [`DeviceError::is_fatal`] tells whether the process must be restarted.
    #[error("live stitching: {0}")]
    Device(#[from] DeviceError),
    /// A thread of the stitcher panicked: in the drop of the `keep` value of an
    /// [`ExternalFrame`](super::ExternalFrame), in the path of a virtual camera, or by a bug of the stitcher.
    #[error(
        "live stitching: a thread of the stitcher panicked, see its panic message; make a new stitcher"
    )]
    Panicked,
    /// The operating system cannot start a thread.
    #[error("live stitching: cannot start a thread: {0}")]
    Thread(Arc<std::io::Error>),
}

impl From<StitchError> for LiveError {
    fn from(error: StitchError) -> Self {
        match error {
            StitchError::Device(error) => Self::Device(error),
            error => Self::Unusable(Arc::new(error)),
        }
    }
}

impl From<ViewError> for LiveError {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::Stitch(error) => error.into(),
            error => Self::Unusable(Arc::new(error)),
        }
    }
}

impl From<SeamError> for LiveError {
    fn from(error: SeamError) -> Self {
        match error {
            SeamError::Device(error) => Self::Device(error),
            error => Self::Unusable(Arc::new(error)),
        }
    }
}

impl From<RenderError> for LiveError {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Device(error) => Self::Device(error),
            error => Self::Unusable(Arc::new(error)),
        }
    }
}
