//! Frames of the cameras as mapped buffers, in host memory or in CUDA memory.

use std::sync::Arc;
use std::time::Duration;

use gst_video::VideoInfo;
use panoweave::device::Place;
use panoweave::frame::{Frame, FrameFormat, FrameRef};
use panoweave::io::video::HostFrame;
use panoweave::live::{CameraFrame, ExternalFrame, Session, Submitted};

use super::cuda;
use super::error::StitchFailure;
use super::mapped::{Mapped, Target};
use super::pad::Taken;

/// One camera's frame of a set.
pub(super) struct Input {
    /// The format of the frame, or the one that is expected.
    pub(super) format: FrameFormat,
    /// Whether no earlier panorama has used the frame.
    is_new: bool,
    /// The mapped frame, and the device of a frame in CUDA memory. `None` if the camera has not sent a frame.
    mapped: Option<(Arc<Mapped>, Option<Place>)>,
}

impl Input {
    /// Maps the frame of a pad: to the device if it is in CUDA memory of `context`, otherwise to host memory.
    pub(super) fn map(
        pad: &str,
        Taken { frame, is_new }: Taken,
        format: FrameFormat,
        context: Option<(&cuda::Context, Place)>,
    ) -> Result<Self, StitchFailure> {
        let Some((buffer, info)) = frame else { return Ok(Self { format, is_new, mapped: None }) };
        let place = context.filter(|(context, _)| context.owns(&buffer)).map(|(_, place)| place);
        let target = if place.is_some() { Target::Cuda } else { Target::Host };
        let mapped = Mapped::read(&buffer, &info, format, target).ok_or_else(|| {
            StitchFailure::failed(format!(
                "cannot read the frame of {pad}: its buffer cannot be mapped, or does not contain all rows of the frame"
            ))
        })?;
        Ok(Self { format, is_new, mapped: Some((Arc::new(mapped), place)) })
    }

    /// Returns the frame for a session. In a live pipeline that has `started`, frames that an earlier panorama has used
    /// are missing, so that the session notices cameras that fail. Without a frame, a camera of files is black.
    fn submitted(&self, live: bool, started: bool) -> CameraFrame<'static> {
        let host = match &self.mapped {
            Some(_) if live && started && !self.is_new => None,
            Some((frame, Some(place))) => {
                let frame = frame.clone();
                // SAFETY: the external frame owns a reference to the mapped frame, so the memory stays valid.
                // `Mapped::read` has waited until the frame was written, and its reference to the buffer keeps
                // others from writing.
                return CameraFrame::Device(unsafe {
                    ExternalFrame::new(frame.view(*place), frame)
                });
            }
            Some((frame, None)) => HostFrame::new(frame.clone(), Mapped::host),
            None if live => None,
            None => HostFrame::new(Arc::new(self.format.black()), |bytes| {
                Frame::tight(self.format, bytes).ok()
            }),
        };
        host.map_or(CameraFrame::Missing, CameraFrame::Shared)
    }

    fn frame(&self) -> Option<FrameRef<'_>> {
        let (mapped, place) = self.mapped.as_ref()?;
        Some(match place {
            None => FrameRef::Host(mapped.host()?),
            // SAFETY: the view does not outlive `self`, which keeps the frame mapped in CUDA memory.
            Some(place) => FrameRef::Device(unsafe { mapped.view(*place) }),
        })
    }
}

/// Returns references to the frames, or `None` if a camera has not sent one.
pub(super) fn frames(inputs: &[Input]) -> Option<Vec<FrameRef<'_>>> {
    inputs.iter().map(Input::frame).collect()
}

/// Submits the frames to a session where they are. The session releases them after it has read them.
pub(super) fn submit(
    inputs: &[Input],
    session: &Session,
    timestamp: Duration,
    live: bool,
    started: bool,
) -> Result<Submitted, StitchFailure> {
    let frames = inputs.iter().map(|input| input.submitted(live, started));
    Ok(session.submit(frames, timestamp)?)
}

/// Copies a frame in host memory to a buffer with the format `info`. Returns `None` if the buffer cannot be mapped.
pub(super) fn write(frame: &Frame<'_>, info: &VideoInfo, to: &mut gst::BufferRef) -> Option<()> {
    Mapped::write(to, info, frame.format(), Target::Host)?.fill_from_host(frame)
}

#[cfg(test)]
mod tests {
    use gst_video::VideoFormat;

    use super::super::formats::frame_format;
    use super::*;

    #[test]
    fn frames_in_host_memory_are_submitted_without_a_copy() {
        gst::init().unwrap();
        for format in [VideoFormat::Nv12, VideoFormat::I420] {
            let info = VideoInfo::builder(format, 96, 72).build().unwrap();
            let mut buffer = gst::Buffer::with_size(info.size()).unwrap();
            let address = buffer.map_readable().unwrap().as_ptr().addr();
            let taken = Taken { frame: Some((buffer.clone(), info.clone())), is_new: true };
            let input = Input::map("sink_0", taken, frame_format(&info).unwrap(), None).unwrap();
            let CameraFrame::Shared(frame) = input.submitted(false, false) else {
                panic!("a frame that is copied")
            };
            let planes = frame.frame();
            let offsets = planes.planes().iter().map(|it| it.bytes.as_ptr().addr() - address);
            assert_eq!(offsets.collect::<Vec<_>>(), info.offset());
            drop(input);
            assert!(buffer.get_mut().is_none(), "the frame owns its buffer");
            drop(frame);
            assert!(buffer.get_mut().is_some());
        }
    }
}
