//! Frames of the cameras and of panoramas as mapped buffers, in host memory or in CUDA memory.

use gst_video::prelude::*;
use gst_video::video_frame::Readable;
use gst_video::{VideoFrame, VideoFrameRef, VideoInfo};
use panoweave::device::Place;
use panoweave::frame::{Frame, FrameFormat, FrameView, PlaneBytes};
use panoweave::live::ExternalFrame;

use super::cuda::{self, Mapped};
use super::error::StitchFailure;

/// One camera's frame of a set.
pub(super) struct CameraFrame {
    /// The name of the camera's pad.
    pub(super) pad: String,
    pub(super) buffer: gst::Buffer,
    pub(super) info: VideoInfo,
    pub(super) format: FrameFormat,
}

/// One frame of each camera.
pub(super) enum Inputs {
    Host(Vec<(VideoFrame<Readable>, FrameFormat)>),
    /// Frames in the memory of a GPU.
    Device(Vec<(Mapped, FrameFormat)>, Place),
}

impl Inputs {
    /// Maps the buffers of the cameras. Maps them to the device if all of them are in CUDA memory of `context`,
    /// otherwise to host memory, which downloads CUDA memory.
    pub(super) fn map(
        frames: Vec<CameraFrame>,
        context: Option<(&cuda::Context, Place)>,
    ) -> Result<Self, StitchFailure> {
        if let Some((context, place)) = context
            && frames.iter().all(|frame| context.owns(&frame.buffer))
        {
            let mapped = frames.into_iter().map(|frame| {
                let mapped = Mapped::read(&frame.buffer, &frame.info);
                Ok((mapped.ok_or(StitchFailure::Map { pad: frame.pad })?, frame.format))
            });
            return Ok(Self::Device(mapped.collect::<Result<_, StitchFailure>>()?, place));
        }
        let mapped = frames.into_iter().map(|frame| {
            let mapped = VideoFrame::from_buffer_readable(frame.buffer, &frame.info);
            Ok((mapped.map_err(|_| StitchFailure::Map { pad: frame.pad })?, frame.format))
        });
        Ok(Self::Host(mapped.collect::<Result<_, StitchFailure>>()?))
    }

    /// Returns the formats of the frames.
    pub(super) fn formats(&self) -> Vec<FrameFormat> {
        match self {
            Self::Host(frames) => frames.iter().map(|(_, format)| *format).collect(),
            Self::Device(frames, _) => frames.iter().map(|(_, format)| *format).collect(),
        }
    }
}

/// Returns frames in host memory as frames of panoweave.
pub(super) fn host(
    frames: &[(VideoFrame<Readable>, FrameFormat)],
) -> Result<Vec<Frame<'_>>, StitchFailure> {
    frames.iter().map(|(frame, format)| host_frame(frame, *format)).collect()
}

fn host_frame(
    frame: &VideoFrame<Readable>,
    format: FrameFormat,
) -> Result<Frame<'_>, StitchFailure> {
    let planes = (0..frame.n_planes()).zip(frame.plane_stride()).map(|(plane, stride)| {
        let bytes = frame.plane_data(plane).unwrap_or_default();
        PlaneBytes { bytes, pitch: stride.unsigned_abs() as usize }
    });
    Ok(Frame::new(format, &planes.collect::<Vec<_>>())?)
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
        // SAFETY: the external frame owns the mapped frame, so the memory stays valid. `Mapped::read` has waited until
        // the frame was written, and the reference to the buffer keeps others from writing.
        unsafe { ExternalFrame::new(frame.view(format, place), frame) }
    };
    frames.into_iter().map(frame).collect()
}

/// Returns a black frame, in CUDA memory if `context` is given.
pub(super) fn black(
    info: &VideoInfo,
    format: FrameFormat,
    context: Option<&cuda::Context>,
) -> Option<gst::Buffer> {
    let mut buffer = match context {
        Some(context) => context.buffer(info)?,
        None => gst::Buffer::with_size(info.size()).ok()?,
    };
    let bytes = format.black();
    write(&Frame::tight(format, &bytes).ok()?, info, buffer.get_mut()?)?;
    Some(buffer)
}

/// Copies a frame in host memory to a buffer with the format `info`. Returns `None` if the buffer cannot be mapped.
pub(super) fn write(frame: &Frame<'_>, info: &VideoInfo, to: &mut gst::BufferRef) -> Option<()> {
    let mut to = VideoFrameRef::from_buffer_ref_writable(to, info).ok()?;
    let strides: Vec<_> = to.plane_stride().iter().map(|s| s.unsigned_abs() as usize).collect();
    let planes = frame.planes().iter().zip(frame.format().planes()).zip(strides);
    for (plane, ((from, extent), stride)) in (0..).zip(planes) {
        let to = to.plane_data_mut(plane).ok()?;
        for (to, from) in to.chunks_mut(stride).zip(from.bytes.chunks(from.pitch)) {
            to.get_mut(..extent.row)?.copy_from_slice(&from[..extent.row]);
        }
    }
    Some(())
}
