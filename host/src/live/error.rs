//! The error type of live stitching.

use std::sync::Arc;

use thiserror::Error;

use crate::device::DeviceError;
use crate::error::{Classify, Kind};
use crate::ops::blend::BlendError;
use crate::ops::frame_statistics::StatisticsError;
use crate::ops::refine::RefineError;
use crate::ops::seam::SeamError;
use crate::ops::stitch::{LookupError, StitchError};
use crate::ops::view::ViewError;
use crate::warp::RenderError;

/// The error of a session that cannot be created, rejects its input, or has failed.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum LiveError {
    /// A frame, a warp, an option or a call is invalid. The text names it and the remedy.
    #[error("live stitching: {0}")]
    Invalid(String),
    /// The requested lookup does not support the frames, the outputs or the options.
    #[error("live stitching: {0}")]
    Lookup(#[from] LookupError),
    /// The requested blend cannot be had.
    #[error("live stitching: {0}")]
    Blend(#[from] BlendError),
    /// The session was closed.
    #[error(
        "live stitching: the session was closed and accepts no more frames; create a new session"
    )]
    Closed,
    /// The device failed. [`DeviceError::is_fatal`] returns whether the process must be restarted.
    #[error("live stitching: {0}")]
    Device(#[from] DeviceError),
    /// A thread of the session panicked, because of the drop of an [`ExternalFrame`](super::ExternalFrame)'s `keep`
    /// value, the caller's path of a virtual camera, or a bug.
    #[error(
        "live stitching: a thread of the session panicked; its panic message on stderr states the cause; create a new session"
    )]
    Panicked,
    /// The operating system cannot start a thread.
    #[error("live stitching: cannot start a thread: {0}")]
    Thread(Arc<std::io::Error>),
}

impl Classify for LiveError {
    fn inner(&self) -> Option<&dyn Classify> {
        let Self::Device(error) = self else { return None };
        Some(error)
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Device(error) => error.kind(),
            // The system had too little memory or too many threads. A later attempt may succeed.
            Self::Thread(_) => Kind::Device,
            _ => Kind::Input,
        }
    }
}

impl LiveError {
    pub(crate) fn invalid(text: impl ToString) -> Self {
        Self::Invalid(text.to_string())
    }

    /// Returns the error for a set that does not have one frame for each camera.
    pub(crate) fn cameras(found: usize, expected: usize) -> Self {
        Self::Invalid(format!(
            "{found} frames or a camera number of {found} were passed, but the session has {expected} cameras; pass one frame per camera"
        ))
    }
}

/// Implements the conversions of errors that contain a device error in these variants.
macro_rules! from {
    ($($error:ident: $($device:ident)|+;)*) => {$(
        impl From<$error> for LiveError {
            fn from(error: $error) -> Self {
                match error {
                    $($error::$device(error) => error.into(),)+
                    error => Self::invalid(error),
                }
            }
        }
    )*};
}

from! {
    StitchError: Device | Lookup;
    ViewError: Stitch;
    SeamError: Device | Stitch;
    StatisticsError: Device;
    RenderError: Device;
    RefineError: Device;
}
