//! Frames of the cameras as mapped buffers, in host memory or in CUDA memory.

use std::sync::Arc;
use std::time::Duration;

use gst_video::VideoInfo;
use panoweave::device::Place;
use panoweave::frame::{Frame, FrameFormat, FrameRef};
use panoweave::live::{CameraFrame, ExternalFrame, LiveError, Stitcher, Submitted};

use super::cuda;
use super::error::StitchFailure;
use super::mapped::{Mapped, Target};

/// One camera's frame of a set.
pub(super) struct CameraBuffer {
    /// The name of the camera's pad.
    pub(super) pad: String,
    /// The buffer and its format, or `None` if the camera has not sent a frame.
    pub(super) buffer: Option<(gst::Buffer, VideoInfo)>,
    /// Whether no earlier panorama has used the frame.
    pub(super) is_new: bool,
    /// The format of the frame, or the one that is expected.
    pub(super) format: FrameFormat,
}

/// One frame of each camera, mapped where its memory is.
pub(super) struct Inputs(Vec<Input>);

struct Input {
    format: FrameFormat,
    is_new: bool,
    /// The mapped frame, and the device of a frame in CUDA memory.
    mapped: Option<(Arc<Mapped>, Option<Place>)>,
}

impl Input {
    fn frame(&self) -> Option<FrameRef<'_>> {
        let (mapped, place) = self.mapped.as_ref()?;
        Some(match place {
            None => FrameRef::Host(mapped.host()?),
            // SAFETY: the view does not outlive `self`, which keeps the frame mapped in CUDA memory.
            Some(place) => FrameRef::Device(unsafe { mapped.view(*place) }),
        })
    }
}

impl Inputs {
    /// Maps the buffers of the cameras: to the device if they are in CUDA memory of `context`, otherwise to host
    /// memory.
    pub(super) fn map(
        frames: Vec<CameraBuffer>,
        context: Option<(&cuda::Context, Place)>,
    ) -> Result<Self, StitchFailure> {
        let map = |CameraBuffer { pad, buffer, is_new, format }| {
            let Some((buffer, info)) = buffer else {
                return Ok(Input { format, is_new, mapped: None });
            };
            let place =
                context.filter(|(context, _)| context.owns(&buffer)).map(|(_, place)| place);
            let target = if place.is_some() { Target::Cuda } else { Target::Host };
            let frame = Mapped::read(&buffer, &info, format, target).ok_or_else(|| {
                StitchFailure::failed(format!(
                    "cannot read the frame of {pad}: its buffer cannot be mapped, or does not contain all rows of the frame"
                ))
            })?;
            Ok(Input { format, is_new, mapped: Some((Arc::new(frame), place)) })
        };
        Ok(Self(frames.into_iter().map(map).collect::<Result<_, StitchFailure>>()?))
    }

    /// Returns the formats of the frames.
    pub(super) fn formats(&self) -> Vec<FrameFormat> {
        self.0.iter().map(|input| input.format).collect()
    }

    /// Returns references to the frames, or `None` if a camera has not sent one.
    pub(super) fn frames(&self) -> Option<Vec<FrameRef<'_>>> {
        self.0.iter().map(Input::frame).collect()
    }

    /// Submits the frames to a stitcher, which copies those in host memory, and releases those in device memory after
    /// it has read them. If `only_new`, frames that an earlier panorama has used are missing, so that the stitcher
    /// notices cameras that fail.
    pub(super) fn submit(
        &self,
        stitcher: &Stitcher,
        timestamp: Duration,
        only_new: bool,
    ) -> Result<Submitted, LiveError> {
        let frames = self.0.iter().map(|input| match &input.mapped {
            Some((frame, None)) if input.is_new || !only_new => {
                frame.host().map_or(CameraFrame::Missing, CameraFrame::Host)
            }
            Some((frame, Some(place))) if input.is_new || !only_new => {
                let frame = frame.clone();
                // SAFETY: the external frame owns a reference to the mapped frame, so the memory stays valid.
                // `Mapped::read` has waited until the frame was written, and its reference to the buffer keeps
                // others from writing.
                CameraFrame::Device(unsafe { ExternalFrame::new(frame.view(*place), frame) })
            }
            _ => CameraFrame::Missing,
        });
        stitcher.submit(frames, timestamp)
    }
}

/// Copies a frame in host memory to a buffer with the format `info`. Returns `None` if the buffer cannot be mapped.
pub(super) fn write(frame: &Frame<'_>, info: &VideoInfo, to: &mut gst::BufferRef) -> Option<()> {
    Mapped::write(to, info, frame.format(), Target::Host)?.fill_from_host(frame)
}
