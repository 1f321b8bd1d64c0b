//! Buffers for frames and panoramas, in page-locked host memory and on the device, and frames in the caller's device
//! memory. The `pool` module reuses the buffers.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use shared_types::stitch::MAX_CAMERAS;

use super::panorama::OutputFrame;
use crate::device::{Device, DeviceError, Event, Pinned, Place, Stream};
use crate::frame::{DeviceFrame, Frame, FrameFormat, FrameView};
use crate::io::video::{DecodedFrame, HostFrame};
use crate::lock::lock;
use crate::ops::frame_statistics::{FrameStatistics, StatisticsSampler};
use crate::pool::Pooled;

/// A frame in device memory that other code owns, for example a camera driver or a decoder.
pub struct ExternalFrame {
    view: FrameView<'static>,
    ready: Option<Arc<Event>>,
    /// A value that is only dropped. The mutex makes the frame `Sync`.
    _keep: Mutex<Box<dyn Any + Send>>,
}

impl ExternalFrame {
    /// Wraps the frame that `view` describes.
    ///
    /// The session drops `keep` after the device has read the frame for the last time. The owner of the frame may then
    /// reuse its memory. The drop runs on a thread of the session and must not block. If the drop panics, the session
    /// stops. The frame of a set that is not stitched is dropped on the thread that submits it.
    ///
    /// While colours are [followed](crate::live::ColourOptions::follow), an analysis keeps its set of frames until the
    /// next set arrives. A camera with external frames therefore needs at least two.
    ///
    /// # Safety
    /// - The memory of the frame must stay valid until `keep` is dropped.
    /// - The frame must be completely written before it is submitted, or, if [`after`](Self::after) sets an event,
    ///   before this event. It must not change from then until `keep` is dropped.
    #[must_use]
    pub unsafe fn new(view: FrameView<'static>, keep: impl Any + Send) -> Self {
        Self { view, ready: None, _keep: Mutex::new(Box::new(keep)) }
    }

    /// Makes the device wait for the event `ready` before it reads the frame. Record the event before you submit the
    /// frame. If you record it again before the session submits the wait, the device waits for the later record.
    #[must_use]
    pub fn after(self, ready: impl Into<Arc<Event>>) -> Self {
        Self { ready: Some(ready.into()), ..self }
    }

    /// Returns the frame's size and pixel format.
    #[must_use]
    pub fn format(&self) -> FrameFormat {
        self.view.format()
    }

    /// Returns whether the chroma plane has half the width and height of the luma plane, rounded up. Always true for
    /// RGBA, which has no chroma plane.
    pub(super) fn is_whole(&self) -> bool {
        self.view.is_whole()
    }

    /// Yields the devices (a GPU or the CPU) that [`FrameView::places`] finds, and the device of the event, if any.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        self.view.places().chain(self.ready.iter().map(|ready| ready.place()))
    }
}

impl From<DecodedFrame> for ExternalFrame {
    fn from(frame: DecodedFrame) -> Self {
        // SAFETY: only the lifetime of the view changes. `keep` is a clone of the frame. It keeps the memory valid, and
        // the decoder, which has completed the frame, does not change it before the last clone is dropped.
        unsafe {
            let view = std::mem::transmute::<FrameView<'_>, FrameView<'static>>(frame.view());
            Self::new(view, frame.clone())
        }
    }
}

/// A frame of one camera, for [`Session::submit`](super::Session::submit) and
/// [`Session::push`](super::Session::push).
#[derive(Debug)]
pub enum CameraFrame<'a> {
    /// A frame in host memory, which is copied to page-locked memory.
    Host(Frame<'a>),
    /// A frame in host memory, which is not copied there. The device reads page-locked memory faster, as that of a
    /// [`HostPool`](crate::io::video::HostPool).
    Shared(HostFrame),
    /// A frame in device memory, which is not copied.
    Device(ExternalFrame),
    /// The camera has no new frame, so a set shows its last one. Requires
    /// [`LiveOptions::failure`](field@super::LiveOptions::failure).
    Missing,
}

impl<'a> From<Frame<'a>> for CameraFrame<'a> {
    fn from(frame: Frame<'a>) -> Self {
        Self::Host(frame)
    }
}

impl<'a> From<&Frame<'a>> for CameraFrame<'a> {
    fn from(frame: &Frame<'a>) -> Self {
        Self::Host(*frame)
    }
}

impl From<HostFrame> for CameraFrame<'_> {
    fn from(frame: HostFrame) -> Self {
        Self::Shared(frame)
    }
}

impl From<ExternalFrame> for CameraFrame<'_> {
    fn from(frame: ExternalFrame) -> Self {
        Self::Device(frame)
    }
}

impl fmt::Debug for ExternalFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExternalFrame({})", self.format())
    }
}

/// A frame that several sets may share: the next set shows it again if the camera has a lower frame rate or fails. Only
/// the thread that submits sets locks the frame, so that no lock is ever contended.
#[derive(Clone, Debug)]
pub(super) struct SharedFrame(Arc<Mutex<SubmittedOnce>>);

#[derive(Debug)]
pub(super) struct SubmittedOnce {
    memory: Memory,
    /// Whether a set has submitted the frame. Later work on the upload stream is ordered after its upload.
    submitted: bool,
}

#[derive(Debug)]
pub(super) enum Memory {
    /// A frame in host memory, and the buffer in device memory to which it is uploaded.
    Host(Pooled<DeviceFrame>, HostFrame),
    Device(ExternalFrame),
}

impl SharedFrame {
    pub(super) fn new(memory: Memory) -> Self {
        Self(Arc::new(Mutex::new(SubmittedOnce { memory, submitted: false })))
    }

    /// Submits the upload of a frame in host memory, unless an earlier set has done so.
    ///
    /// # Safety
    /// The host and device buffers of the frame must not be dropped or changed before the copy is done. All uploads of
    /// the frame must be submitted to the same stream.
    pub(super) unsafe fn submit_upload(&self, stream: &Stream) -> Result<(), DeviceError> {
        let SubmittedOnce { memory, submitted } = &mut *lock(&self.0);
        if let Memory::Host(buffer, host) = memory
            && !*submitted
        {
            // SAFETY: the caller guarantees that the host and device buffers stay valid and unchanged until the copy
            // is done. The memory of a host frame does not change before its last clone is dropped.
            unsafe { buffer.submit_upload(stream, &host.frame())? };
        }
        *submitted = true;
        Ok(())
    }

    /// Returns whether no earlier set has submitted this frame.
    pub(super) fn is_new(&self) -> bool {
        !lock(&self.0).submitted
    }

    /// Makes `stream` wait for the event of an external frame, if it has one.
    pub(super) fn await_ready(&self, stream: &Stream) -> Result<(), DeviceError> {
        match &lock(&self.0).memory {
            Memory::Device(ExternalFrame { ready: Some(ready), .. }) => stream.wait(ready),
            _ => Ok(()),
        }
    }
}

/// A set of frames, one of each camera. Code that submits device work on the frames must hold a reference to the set
/// until the work is done.
#[derive(Debug)]
pub(super) struct FrameSet {
    pub(super) frames: Vec<SharedFrame>,
    /// A token that limits the number of sets in flight. It is the last field, so that it returns to its pool only
    /// after the frames are released.
    pub(super) _token: Pooled<()>,
}

impl FrameSet {
    /// Locks the frames of the set, so that work on their [`views`] can be submitted.
    pub(super) fn lock(&self) -> Vec<MutexGuard<'_, SubmittedOnce>> {
        self.frames.iter().map(|SharedFrame(frame)| lock(frame)).collect()
    }
}

/// Returns views of locked frames in device memory, in the order of the cameras.
pub(super) fn views<'a>(frames: &'a [MutexGuard<'_, SubmittedOnce>]) -> Vec<FrameView<'a>> {
    let views = frames.iter().map(|frame| match &frame.memory {
        Memory::Host(buffer, _) => buffer.view(),
        Memory::Device(frame) => frame.view,
    });
    views.collect()
}

/// Buffers for the outputs of a set, with one event for each step: upload of the frames, stitch, and download (`done`).
#[derive(Debug)]
pub(super) struct OutputBuffer {
    pub(super) frames: Vec<OutputFrame>,
    pub(super) uploaded: Event,
    pub(super) stitched: Event,
    pub(super) done: Event,
    /// The sampler for the statistics of the frames, and page-locked memory for its results, if cameras that fail are
    /// detected.
    pub(super) statistics: Option<(StatisticsSampler, Pinned<FrameStatistics>)>,
}

impl OutputBuffer {
    /// Allocates the buffer. `samples` is whether the statistics of the frames are sampled, and `downloads` whether the
    /// outputs are copied to host memory.
    pub(super) fn new(
        device: &Device,
        outputs: &[FrameFormat],
        samples: bool,
        downloads: bool,
    ) -> Result<Self, DeviceError> {
        let frame = |format: &FrameFormat| {
            let host = downloads.then(|| Pinned::new(device, format.bytes())).transpose()?;
            Ok::<_, DeviceError>(OutputFrame { device: DeviceFrame::new(device, *format)?, host })
        };
        let statistics = || {
            let results = Pinned::new(device, MAX_CAMERAS)?;
            Ok::<_, DeviceError>((StatisticsSampler::new(device)?, results))
        };
        Ok(Self {
            statistics: samples.then(statistics).transpose()?,
            frames: outputs.iter().map(frame).collect::<Result<_, _>>()?,
            uploaded: Event::for_order(device)?,
            stitched: Event::for_order(device)?,
            done: Event::for_order(device)?,
        })
    }
}
