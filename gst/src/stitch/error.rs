//! Errors of the element, and the domains of their messages on the bus.

use glam::UVec2;
use gst::ErrorMessage;
use gst_video::VideoFormat;
use panoweave::device::{DeviceError, DeviceNameError};
use panoweave::frame::FrameError;
use panoweave::geometry::MAX_CANVAS_AREA;
use panoweave::geometry::rig::RigError;
use panoweave::live::LiveError;
use panoweave::ops::stitch::StitchError;
use panoweave::ops::view::{TrackError, ViewError};
use panoweave::warp::{RenderError, WarpError};
use thiserror::Error;

/// The reason why the element cannot stitch.
#[derive(Debug, Error)]
pub(super) enum StitchFailure {
    #[error("no rig: set the property `rig` or `warp` to a file")]
    NoMap,
    #[error("both `rig` and `warp` are set; set only one of them")]
    TwoMaps,
    #[error("`{property}` requires `{needed}`")]
    Needs { property: &'static str, needed: &'static str },
    #[error("`view` cannot be kept inside the area that this rig's cameras cover; set `view-free`")]
    Unlimited,
    #[error(
        "{map} has {expected} cameras, but the pads select cameras {found}; link one pad per camera, sink_0 to sink_{}, and select each camera once",
        expected - 1
    )]
    Cameras { map: String, expected: usize, found: String },
    #[error("`anchor` is {anchor}, but the last camera is {}; set it to a camera, counted from 0, or to -1", cameras - 1)]
    Anchor { anchor: usize, cameras: usize },
    #[error(
        "the caps of {pad} are not supported: {found}; convert the video, for example with videoconvert"
    )]
    Format { pad: String, found: String },
    #[error(
        "{pad} gets pictures of {}×{} pixels, but camera {camera} of {map} has {}×{}; scale the video, or calibrate with \
         pictures of this size",
        found.x, found.y, expected.x, expected.y
    )]
    Size { pad: String, found: UVec2, camera: usize, map: String, expected: UVec2 },
    #[error(
        "{pad} gets {found}, but another camera has {other}; all cameras must have the same number of bits per sample, \
         which cannot change while they run: convert the video, for example with videoconvert"
    )]
    Depth { pad: String, found: VideoFormat, other: VideoFormat },
    #[error(
        "the view is {}×{} pixels, but its area must be at most {MAX_CANVAS_AREA} pixels; reduce `view-width` or \
         `view-height`", size.x, size.y
    )]
    ViewArea { size: UVec2 },
    #[error(
        "cannot read the frame of {pad}: its buffer cannot be mapped, or does not contain all rows of the frame"
    )]
    Map { pad: String },
    #[error(
        "cannot write the panorama: the buffer of the next element cannot be mapped, or is too small"
    )]
    Output,
    #[error("cannot copy the panorama in CUDA memory: {0}")]
    Copy(panoweave::device::DeviceError),
    #[error("the device has rejected the frames at {0} several times")]
    Rejected(gst::ClockTime),
    #[error(transparent)]
    DeviceName(#[from] DeviceNameError),
    #[error(transparent)]
    Rig(#[from] RigError),
    #[error(transparent)]
    Warp(#[from] WarpError),
    #[error(transparent)]
    Render(#[from] RenderError),
    #[error(transparent)]
    Track(#[from] TrackError),
    #[error(transparent)]
    View(#[from] ViewError),
    #[error(transparent)]
    Live(#[from] LiveError),
    #[error(transparent)]
    Stitch(#[from] StitchError),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl StitchFailure {
    /// Returns the message for the bus.
    pub(super) fn message(&self) -> ErrorMessage {
        match self {
            Self::NoMap
            | Self::TwoMaps
            | Self::Needs { .. }
            | Self::Unlimited
            | Self::ViewArea { .. }
            | Self::Cameras { .. }
            | Self::Anchor { .. }
            | Self::DeviceName(_) => gst::error_msg!(gst::ResourceError::Settings, ("{self}")),
            Self::Rig(_) | Self::Warp(_) | Self::Track(_) => {
                gst::error_msg!(gst::ResourceError::OpenRead, ("{self}"))
            }
            Self::Format { .. } | Self::Size { .. } | Self::Depth { .. } | Self::Frame(_) => {
                gst::error_msg!(gst::StreamError::Format, ("{self}"))
            }
            Self::Map { .. }
            | Self::Output
            | Self::Copy(_)
            | Self::Rejected(_)
            | Self::Render(_)
            | Self::View(_)
            | Self::Live(_)
            | Self::Stitch(_)
            | Self::Device(_) => gst::error_msg!(gst::ResourceError::Failed, ("{self}")),
        }
    }
}
