//! Frames of the cameras and of panoramas as mapped buffers, in host memory or in CUDA memory.

use std::sync::Arc;
use std::time::Duration;

use gst_video::prelude::*;
use gst_video::video_frame::Readable;
use gst_video::{VideoFrame, VideoFrameRef, VideoInfo};
use panoweave::device::Place;
use panoweave::frame::{Frame, FrameFormat, FrameRef, PlaneBytes};
use panoweave::live::{CameraFrame, ExternalFrame, Stitcher, Submitted};

use super::cuda::{self, Mapped};
use super::error::StitchFailure;

/// The buffer of one camera's frame of a set.
pub(super) struct CameraBuffer {
    /// The name of the camera's pad.
    pub(super) pad: String,
    pub(super) buffer: gst::Buffer,
    pub(super) info: VideoInfo,
    pub(super) format: FrameFormat,
}

/// One frame of each camera, mapped where its memory is.
pub(super) struct Inputs(Vec<(Memory, FrameFormat)>);

/// A mapped frame.
enum Memory {
    Host(Box<VideoFrame<Readable>>),
    /// A frame in the memory of a GPU.
    Device(Arc<Mapped>, Place),
}

impl Inputs {
    /// Maps the buffers of the cameras: to the device if they are in CUDA memory of `context`, otherwise to host memory.
    pub(super) fn map(
        frames: Vec<CameraBuffer>,
        context: Option<(&cuda::Context, Place)>,
    ) -> Result<Self, StitchFailure> {
        let mapped = frames.into_iter().map(|CameraBuffer { pad, buffer, info, format }| {
            let memory = match context.filter(|(context, _)| context.owns(&buffer)) {
                Some((_, place)) => Mapped::read(&buffer, &info)
                    .map(|mapped| Memory::Device(Arc::new(mapped), place)),
                None => VideoFrame::from_buffer_readable(buffer, &info)
                    .ok()
                    .map(|mapped| Memory::Host(mapped.into())),
            };
            Ok((memory.ok_or(StitchFailure::Map { pad })?, format))
        });
        Ok(Self(mapped.collect::<Result<_, StitchFailure>>()?))
    }

    /// Returns the formats of the frames.
    pub(super) fn formats(&self) -> Vec<FrameFormat> {
        self.0.iter().map(|(_, format)| *format).collect()
    }

    /// Returns references to the frames.
    pub(super) fn frames(&self) -> Result<Vec<FrameRef<'_>>, StitchFailure> {
        let frames = self.0.iter().map(|(memory, format)| {
            Ok(match memory {
                Memory::Host(frame) => FrameRef::Host(host_frame(frame, *format)?),
                // SAFETY: the view does not outlive `self`, which keeps the frame mapped.
                Memory::Device(frame, place) => unsafe {
                    FrameRef::Device(frame.view(*format, *place))
                },
            })
        });
        frames.collect()
    }

    /// Submits the frames to a stitcher, which copies those in host memory, and releases those in device memory after it
    /// has read them.
    pub(super) fn submit(
        &self,
        stitcher: &Stitcher,
        timestamp: Duration,
    ) -> Result<Submitted, StitchFailure> {
        let frames = self.0.iter().map(|(memory, format)| {
            Ok(match memory {
                Memory::Host(frame) => CameraFrame::Host(host_frame(frame, *format)?),
                Memory::Device(frame, place) => {
                    // SAFETY: the external frame owns a reference to the mapped frame, so the memory stays valid.
                    // `Mapped::read` has waited until the frame was written, and its reference to the buffer keeps others
                    // from writing.
                    let external =
                        unsafe { ExternalFrame::new(frame.view(*format, *place), frame.clone()) };
                    CameraFrame::Device(external)
                }
            })
        });
        let frames = frames.collect::<Result<Vec<_>, StitchFailure>>()?;
        Ok(stitcher.submit_each(frames, timestamp)?)
    }
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
