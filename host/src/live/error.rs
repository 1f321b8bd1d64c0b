//! The error type of live stitching.

use std::sync::Arc;

use glam::UVec2;
use thiserror::Error;

use crate::device::{DeviceError, Place};
use crate::frame::{FrameFormat, PixelFormat};
use crate::ops::seam::SeamError;
use crate::ops::stitch::StitchError;
use crate::ops::view::ViewError;
use crate::ops::vitals::VitalsError;
use crate::warp::RenderError;

/// The error of a stitcher that cannot be created, rejects its input, or has failed.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum LiveError {
    /// A frame does not have the format that the stitcher expects.
    #[error(
        "live stitching: the {camera} camera's frame is {found}; it must be {expected}, the format for which the stitcher was created"
    )]
    Format {
        /// The name of the camera, such as `left` or `third`.
        camera: &'static str,
        /// The format of the frame.
        found: FrameFormat,
        /// The format that the stitcher expects.
        expected: FrameFormat,
    },
    /// The chroma plane of a frame in device memory does not have half the width and height of the luma plane, rounded
    /// up.
    #[error(
        "live stitching: the {camera} camera's chroma plane must have half the width and height of its luma plane, rounded up"
    )]
    Chroma {
        /// The name of the camera, such as `left` or `third`.
        camera: &'static str,
    },
    /// A frame in device memory, or its event, is on another device.
    #[error(
        "live stitching: the {camera} camera's frame or its event is on {found}, but the stitcher runs on {expected}; copy the frame to {expected} first"
    )]
    Place {
        /// The name of the camera, such as `left` or `third`.
        camera: &'static str,
        /// The device of the frame or event.
        found: Place,
        /// The device of the stitcher.
        expected: Place,
    },
    /// A submitted buffer belongs to another camera or to another stitcher.
    #[error(
        "live stitching: the buffer submitted for the {camera} camera belongs to another camera or to another stitcher; get a buffer with `Stitcher::buffer`"
    )]
    Buffer {
        /// The name of the camera that the buffer was submitted for.
        camera: &'static str,
    },
    /// A set does not have one frame for each camera, or a camera's index is too large.
    #[error(
        "live stitching: {found} frames or a camera number of {found} were passed, but the stitcher has {expected} cameras; pass one frame per camera"
    )]
    Cameras {
        /// The number of frames, or the number of the camera, counted from 1.
        found: usize,
        /// The number of the stitcher's cameras.
        expected: usize,
    },
    /// The number of input formats differs from the number of cameras.
    #[error(
        "live stitching: {found} input formats were passed, but the warp has {expected} cameras; pass one format per camera, or one `PixelFormat` for all"
    )]
    InputFormats {
        /// The number of formats.
        found: usize,
        /// The number of cameras of the warp.
        expected: usize,
    },
    /// Two cameras with a seam between them have different pixel formats.
    #[error(
        "live stitching: the frames of the {} and {} cameras are {} and {}, but a seam requires one pixel format; use feathered blending, or convert the frames of one camera",
        cameras[0], cameras[1], formats[0], formats[1]
    )]
    SeamFormats {
        /// The names of the cameras, such as `left` or `third`.
        cameras: [&'static str; 2],
        /// The pixel formats of the cameras.
        formats: [PixelFormat; 2],
    },
    /// The source sizes of a warp differ from those of the stitcher.
    #[error(
        "live stitching: the warp is for pictures of {} pixels, but the stitcher is for pictures of {}; create a stitcher for this warp",
        sizes(found),
        sizes(expected)
    )]
    Sources {
        /// The source sizes of the warp.
        found: Vec<UVec2>,
        /// The source sizes of the stitcher.
        expected: Vec<UVec2>,
    },
    /// An option or a call is invalid. The contained text states the cause and the remedy.
    #[error("live stitching: {0}")]
    Options(&'static str),
    /// The stitcher cannot use a warp or an option. The contained error states the reason.
    #[error("live stitching: {0}")]
    Unusable(Arc<dyn std::error::Error + Send + Sync>),
    /// In [`Pace::Wait`](super::Pace::Wait), the readers held all panorama buffers for
    /// [`LiveOptions::held_limit`](super::LiveOptions::held_limit), while one of them waited for the next panorama or
    /// the stitcher was closed.
    #[error(
        "live stitching: the readers have held all {slots} panoramas for {} s, so no other panorama can be made; drop each panorama before you wait for the next, or raise `slots` in `LiveOptions`",
        limit.as_secs_f64()
    )]
    Held {
        /// The number of panorama buffers, which is [`LiveOptions::slots`](field@super::LiveOptions::slots).
        slots: usize,
        /// The time limit.
        limit: std::time::Duration,
    },
    /// The stitcher was closed.
    #[error(
        "live stitching: the stitcher was closed and accepts no more frames; create a new stitcher"
    )]
    Closed,
    /// The device failed. [`DeviceError::is_fatal`] returns whether the process must be restarted.
    #[error("live stitching: {0}")]
    Device(#[from] DeviceError),
    /// A thread of the stitcher panicked. The cause is one of:
    /// - the drop of an [`ExternalFrame`](super::ExternalFrame)'s `keep` value,
    /// - the caller's path of a virtual camera,
    /// - a bug in the stitcher.
    #[error(
        "live stitching: a thread of the stitcher panicked; its panic message on stderr states the cause; create a new stitcher"
    )]
    Panicked,
    /// The operating system cannot start a thread.
    #[error("live stitching: cannot start a thread: {0}")]
    Thread(Arc<std::io::Error>),
}

/// Returns the sizes as a text, such as `3840×2160 and 1920×1080`.
fn sizes(sizes: &[UVec2]) -> String {
    let texts: Vec<_> = sizes.iter().map(|size| format!("{}×{}", size.x, size.y)).collect();
    texts.join(" and ")
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

impl From<VitalsError> for LiveError {
    fn from(error: VitalsError) -> Self {
        match error {
            VitalsError::Device(error) => Self::Device(error),
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
