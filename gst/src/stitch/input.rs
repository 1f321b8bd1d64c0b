//! Frames of the cameras and of panoramas as mapped buffers, in host memory or in CUDA memory.

use std::sync::Arc;
use std::time::Duration;

use gst_video::VideoInfo;
use panoweave::device::Place;
use panoweave::frame::{Frame, FrameFormat, FrameRef};
use panoweave::live::{CameraFrame, ExternalFrame, Stitcher, Submitted};

use super::cuda;
use super::error::StitchFailure;
use super::mapped::{Mapped, Target};

/// The buffer of one camera's frame of a set.
pub(super) struct CameraBuffer {
    /// The name of the camera's pad.
    pub(super) pad: String,
    pub(super) buffer: gst::Buffer,
    pub(super) info: VideoInfo,
    pub(super) format: FrameFormat,
}

/// One frame of each camera, mapped where its memory is.
pub(super) struct Inputs(Vec<Input>);

struct Input {
    pad: String,
    frame: Arc<Mapped>,
    /// The device of a frame in CUDA memory.
    place: Option<Place>,
}

impl Inputs {
    /// Maps the buffers of the cameras: to the device if they are in CUDA memory of `context`, otherwise to host
    /// memory.
    pub(super) fn map(
        frames: Vec<CameraBuffer>,
        context: Option<(&cuda::Context, Place)>,
    ) -> Result<Self, StitchFailure> {
        let mapped = frames.into_iter().map(|CameraBuffer { pad, buffer, info, format }| {
            let place =
                context.filter(|(context, _)| context.owns(&buffer)).map(|(_, place)| place);
            let target = if place.is_some() { Target::Cuda } else { Target::Host };
            match Mapped::read(&buffer, &info, format, target) {
                Some(frame) => Ok(Input { pad, frame: Arc::new(frame), place }),
                None => Err(StitchFailure::Map { pad }),
            }
        });
        Ok(Self(mapped.collect::<Result<_, StitchFailure>>()?))
    }

    /// Returns the formats of the frames.
    pub(super) fn formats(&self) -> Vec<FrameFormat> {
        self.0.iter().map(|input| input.frame.format()).collect()
    }

    /// Returns references to the frames.
    pub(super) fn frames(&self) -> Result<Vec<FrameRef<'_>>, StitchFailure> {
        let frames = self.0.iter().map(|input| {
            Ok(match input.place {
                None => FrameRef::Host(input.host()?),
                // SAFETY: the view does not outlive `self`, which keeps the frame mapped in CUDA memory.
                Some(place) => FrameRef::Device(unsafe { input.frame.view(place) }),
            })
        });
        frames.collect()
    }

    /// Submits the frames to a stitcher, which copies those in host memory, and releases those in device memory after
    /// it has read them.
    pub(super) fn submit(
        &self,
        stitcher: &Stitcher,
        timestamp: Duration,
    ) -> Result<Submitted, StitchFailure> {
        let frames = self.0.iter().map(|input| {
            Ok(match input.place {
                None => CameraFrame::Host(input.host()?),
                Some(place) => {
                    let frame = input.frame.clone();
                    // SAFETY: the external frame owns a reference to the mapped frame, so the memory stays valid.
                    // `Mapped::read` has waited until the frame was written, and its reference to the buffer keeps
                    // others from writing.
                    CameraFrame::Device(unsafe { ExternalFrame::new(frame.view(place), frame) })
                }
            })
        });
        let frames = frames.collect::<Result<Vec<_>, StitchFailure>>()?;
        Ok(stitcher.submit_each(frames, timestamp)?)
    }
}

impl Input {
    fn host(&self) -> Result<Frame<'_>, StitchFailure> {
        self.frame.host().ok_or_else(|| StitchFailure::Map { pad: self.pad.clone() })
    }
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
    Mapped::write(to, info, frame.format(), Target::Host)?.fill_from_host(frame)
}
