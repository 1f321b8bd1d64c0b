//! Mapped frames of the cameras, in host memory or in CUDA memory.

use gst_video::prelude::*;
use gst_video::video_frame::Readable;
use gst_video::{VideoFrame, VideoInfo};
use panoweave::device::Place;
use panoweave::frame::{Frame, FrameFormat, FrameView, PlaneBytes};
use panoweave::live::ExternalFrame;

use super::cuda::{self, Mapped};
use super::error::StitchFailure;

/// One frame of each camera.
pub(super) enum Inputs {
    Host(Vec<HostInput>),
    /// Frames in the memory of a GPU.
    Device(Vec<(Mapped, FrameFormat)>, Place),
}

impl Inputs {
    /// Maps the buffers of the cameras. Maps them to the device if all of them are in CUDA memory of `context`,
    /// otherwise to host memory, which downloads CUDA memory. A camera without a buffer is black.
    pub(super) fn map(
        buffers: Vec<(Option<gst::Buffer>, VideoInfo, FrameFormat)>,
        context: Option<(&cuda::Context, Place)>,
    ) -> Result<Self, StitchFailure> {
        let is_owned = |buffer: &Option<gst::Buffer>, context: &cuda::Context| {
            buffer.as_ref().is_some_and(|buffer| context.owns(buffer))
        };
        if let Some((context, place)) = context
            && buffers.iter().all(|(buffer, ..)| is_owned(buffer, context))
        {
            let mapped = buffers.iter().enumerate().map(|(camera, (buffer, info, format))| {
                let mapped = buffer.as_ref().and_then(|buffer| Mapped::read(buffer, info));
                Ok((mapped.ok_or(StitchFailure::Map { camera })?, *format))
            });
            return Ok(Self::Device(mapped.collect::<Result<_, StitchFailure>>()?, place));
        }
        let mapped = buffers.into_iter().enumerate().map(|(camera, (buffer, info, format))| {
            let frame = buffer.map(|buffer| VideoFrame::from_buffer_readable(buffer, &info));
            let bytes = match frame {
                None => HostBytes::Black(format.black()),
                Some(Ok(frame)) => HostBytes::Mapped(Box::new(frame)),
                Some(Err(_)) => return Err(StitchFailure::Map { camera }),
            };
            Ok(HostInput { bytes, format })
        });
        Ok(Self::Host(mapped.collect::<Result<_, StitchFailure>>()?))
    }

    /// Returns the formats of the frames.
    pub(super) fn formats(&self) -> Vec<FrameFormat> {
        match self {
            Self::Host(frames) => frames.iter().map(|frame| frame.format).collect(),
            Self::Device(frames, _) => frames.iter().map(|(_, format)| *format).collect(),
        }
    }
}

/// A frame in host memory.
pub(super) struct HostInput {
    bytes: HostBytes,
    format: FrameFormat,
}

enum HostBytes {
    Mapped(Box<VideoFrame<Readable>>),
    /// The bytes of a black frame without padding.
    Black(Vec<u8>),
}

impl HostInput {
    fn frame(&self) -> Result<Frame<'_>, StitchFailure> {
        let frame = match &self.bytes {
            HostBytes::Black(bytes) => return Ok(Frame::tight(self.format, bytes)?),
            HostBytes::Mapped(frame) => frame,
        };
        let planes = (0..frame.n_planes()).zip(frame.plane_stride()).map(|(plane, stride)| {
            let bytes = frame.plane_data(plane).unwrap_or_default();
            PlaneBytes { bytes, pitch: stride.unsigned_abs() as usize }
        });
        Ok(Frame::new(self.format, &planes.collect::<Vec<_>>())?)
    }
}

/// Returns frames in host memory as frames of panoweave.
pub(super) fn host(frames: &[HostInput]) -> Result<Vec<Frame<'_>>, StitchFailure> {
    frames.iter().map(HostInput::frame).collect()
}

/// Returns views of frames on the device.
///
/// # Safety
/// The views must not be used after `frames` are dropped.
pub(super) unsafe fn views(
    frames: &[(Mapped, FrameFormat)],
    place: Place,
) -> Vec<FrameView<'static>> {
    // SAFETY: the caller guarantees that the frames outlive the views.
    frames.iter().map(|(frame, format)| unsafe { frame.view(*format, place) }).collect()
}

/// Returns frames on the device for the stitcher, which releases them after it has read them.
pub(super) fn external(frames: Vec<(Mapped, FrameFormat)>, place: Place) -> Vec<ExternalFrame> {
    let frame = |(frame, format): (Mapped, FrameFormat)| {
        // SAFETY: the external frame owns the mapped frame, so the memory stays valid. Upstream has finished writing
        // the frame before it pushed the buffer, and the reference to the buffer keeps others from writing.
        unsafe { ExternalFrame::new(frame.view(format, place), frame) }
    };
    frames.into_iter().map(frame).collect()
}
