//! What a pair of frames lies in on its way: memory of the host that a GPU copies from and to, and of
//! the device.

use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};
use std::{fmt, thread};

use super::pool::Pooled;
use crate::device::{Device, DeviceError, Event, Pinned, Place, Stream};
use crate::frame::{DeviceFrame, Frame, FrameFormat, FrameView};

/// Room for one camera's frame, page-locked and on the device.
#[derive(Debug)]
pub(super) struct InputBuffer {
    pub(super) host: Pinned<u8>,
    device: DeviceFrame,
}

impl InputBuffer {
    pub(super) fn new(device: &Device, format: FrameFormat) -> Result<Self, DeviceError> {
        let host = Pinned::new(device, format.bytes())?;
        Ok(Self { host, device: DeviceFrame::new(device, format)? })
    }

    /// Copies a frame of the buffer's format to the host's side.
    pub(super) fn fill(&mut self, frame: &Frame<'_>) {
        let planes = frame.format().split_mut(&mut self.host);
        for (from, (to, extent)) in frame.planes().iter().zip(planes) {
            if from.pitch == extent.row {
                to.copy_from_slice(&from.bytes[..extent.bytes()]);
                continue;
            }
            for (to, from) in to.chunks_exact_mut(extent.row).zip(from.bytes.chunks(from.pitch)) {
                to.copy_from_slice(&from[..extent.row]);
            }
        }
    }
}

/// Room for a frame that is filled in place, without a copy: tight bytes of the camera's format.
///
/// Given back when dropped.
#[derive(Debug)]
pub struct FrameBuffer {
    pub(super) buffer: Pooled<InputBuffer>,
}

impl Deref for FrameBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer.host
    }
}

impl DerefMut for FrameBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer.host
    }
}

/// A frame that already lies on the device, in memory of someone else: a camera or a decoder.
pub struct ExternalFrame {
    view: FrameView<'static>,
    ready: Option<Arc<Event>>,
    _keep: Keep,
}

/// What is only dropped. The lock makes it `Sync`.
struct Keep(Mutex<Option<Box<dyn Any + Send>>>);

impl Drop for Keep {
    fn drop(&mut self) {
        let keep = self.0.get_mut().map(Option::take);
        // Where both frames of a pair panic, the second is one too many: the process would end.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(keep)))
            && !thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}

impl ExternalFrame {
    /// The frame that `view` describes. `keep` is dropped when the device has read it for the last
    /// time: that is when its owner may use the memory again. It is dropped on a thread of the
    /// stitcher's, which should not be held up. A panic there ends the stitcher.
    ///
    /// # Safety
    /// - The memory stays valid, and nothing writes to it, until `keep` is dropped.
    /// - What fills it is done before the stitcher reads it: by now, or by the event of
    ///   [`after`](Self::after).
    #[must_use]
    pub unsafe fn new(view: FrameView<'static>, keep: impl Any + Send) -> Self {
        Self { view, ready: None, _keep: Keep(Mutex::new(Some(Box::new(keep)))) }
    }

    /// The device waits for `ready`, which was recorded before, when it reads the frame. An event that is
    /// recorded again meanwhile is waited for there.
    #[must_use]
    pub fn after(self, ready: impl Into<Arc<Event>>) -> Self {
        Self { ready: Some(ready.into()), ..self }
    }

    /// Size and format.
    #[must_use]
    pub fn format(&self) -> FrameFormat {
        self.view.format()
    }

    /// Whether its chroma is as large as luma asks for.
    pub(super) fn is_whole(&self) -> bool {
        self.view.is_whole()
    }

    /// Where it lies, and where the event is.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        self.view.places().chain(self.ready.iter().map(|ready| ready.place()))
    }
}

impl fmt::Debug for ExternalFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExternalFrame({})", self.format())
    }
}

/// One camera's frame on its way.
#[derive(Debug)]
pub(super) enum Input {
    Host(Pooled<InputBuffer>),
    External(ExternalFrame),
}

impl Input {
    pub(super) fn view(&self) -> FrameView<'_> {
        match self {
            Self::Host(buffer) => buffer.device.view(),
            Self::External(frame) => frame.view,
        }
    }

    /// Submits what brings the frame to the device, if it is not there.
    ///
    /// # Safety
    /// The input is not dropped, and not filled, until the copy is done.
    pub(super) unsafe fn submit_upload(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        match self {
            Self::Host(buffer) => {
                let InputBuffer { host, device } = &mut **buffer;
                let frame = Frame::of_tight(device.format(), host);
                // SAFETY: as the caller vouches.
                unsafe { device.submit_upload(stream, &frame) }
            }
            Self::External(_) => Ok(()),
        }
    }

    /// Makes `stream` wait until an external frame is there.
    pub(super) fn await_ready(&self, stream: &Stream) -> Result<(), DeviceError> {
        match self {
            Self::External(ExternalFrame { ready: Some(ready), .. }) => stream.wait(ready),
            _ => Ok(()),
        }
    }
}

/// Both cameras' frames. Whoever reads them on the device holds on to them until it is done.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) left: Input,
    pub(super) right: Input,
    /// That so many are under way. Given back last.
    pub(super) _token: Pooled<()>,
}

/// Room for a panorama, and the points of its way.
#[derive(Debug)]
pub(super) struct OutputBuffer {
    pub(super) device: DeviceFrame,
    pub(super) host: Pinned<u8>,
    pub(super) uploaded: Event,
    pub(super) stitched: Event,
    pub(super) done: Event,
}

impl OutputBuffer {
    pub(super) fn new(device: &Device, format: FrameFormat) -> Result<Self, DeviceError> {
        Ok(Self {
            device: DeviceFrame::new(device, format)?,
            host: Pinned::new(device, format.bytes())?,
            uploaded: Event::for_order(device)?,
            stitched: Event::for_order(device)?,
            done: Event::for_order(device)?,
        })
    }
}
