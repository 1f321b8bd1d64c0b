//! Buffers for frames and panoramas, in page-locked host memory and on the device, and frames in the caller's device
//! memory. The `pool` module reuses the buffers.

use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard};
use std::{fmt, thread};

use super::pool::{Pool, Pooled};
use crate::device::{Device, DeviceError, Event, Pinned, Place, Stream};
use crate::frame::{DeviceFrame, Frame, FrameFormat, FrameView};
use crate::io::video::DecodedFrame;
use crate::lock::lock;
use crate::ops::vitals::{MAX_PICTURES, Vitals, VitalsSampler};

/// A buffer for one camera's frame, in page-locked host memory and on the device.
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

    /// Fills the buffer's host memory with black.
    pub(super) fn fill_black(&mut self) {
        self.device.format().fill_black(&mut self.host);
    }

    /// Copies a frame to the buffer's host memory. The frame must have the buffer's format.
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

/// A buffer in page-locked host memory that the caller fills with one frame: the planes in the camera's pixel format,
/// one after the other, without padding.
///
/// Dropping the buffer returns it to the stitcher.
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

/// A frame in device memory that other code owns, for example a camera driver or a decoder.
pub struct ExternalFrame {
    view: FrameView<'static>,
    ready: Option<Arc<Event>>,
    _keep: Keep,
}

/// A value that is kept only until it can be dropped. The mutex makes `Keep` `Sync`.
struct Keep(Mutex<Option<Box<dyn Any + Send>>>);

impl Drop for Keep {
    fn drop(&mut self) {
        let keep = self.0.get_mut().map(Option::take);
        // Ignore a panic of this drop if the thread is already panicking, for instance because the drop of another
        // frame of the set panicked. A second panic would abort the process.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(keep)))
            && !thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}

impl ExternalFrame {
    /// Wraps the frame that `view` describes.
    ///
    /// The stitcher drops `keep` after the device has read the frame for the last time. The owner of the frame may then
    /// reuse its memory. The drop runs on a thread of the stitcher and must not block. If the drop panics, the stitcher
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
        Self { view, ready: None, _keep: Keep(Mutex::new(Some(Box::new(keep)))) }
    }

    /// Makes the device wait for the event `ready` before it reads the frame. Record the event before you submit the
    /// frame. If you record it again before the stitcher submits the wait, the device waits for the later record.
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

/// A frame of one camera, for [`Stitcher::submit_each`](super::Stitcher::submit_each).
#[derive(Debug)]
pub enum CameraFrame<'a> {
    /// A frame in host memory, which is copied.
    Host(Frame<'a>),
    /// A frame in device memory, which is not copied.
    Device(ExternalFrame),
}

impl fmt::Debug for ExternalFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExternalFrame({})", self.format())
    }
}

/// A frame in host memory, which several sets may share: the next set shows it again if the camera has a lower frame
/// rate or fails. Only the thread that submits sets locks the frame, so that no lock is ever contended.
#[derive(Clone, Debug)]
pub(super) struct HostFrame(Arc<Mutex<UploadedOnce>>);

#[derive(Debug)]
struct UploadedOnce {
    buffer: Pooled<InputBuffer>,
    /// Whether the upload was submitted. Later work on the upload stream is ordered after it.
    uploaded: bool,
}

impl From<FrameBuffer> for HostFrame {
    fn from(FrameBuffer { buffer }: FrameBuffer) -> Self {
        Self(Arc::new(Mutex::new(UploadedOnce { buffer, uploaded: false })))
    }
}

impl HostFrame {
    /// Returns whether the buffer of this frame belongs to the pool.
    pub(super) fn is_of(&self, pool: &Pool<InputBuffer>) -> bool {
        pool.owns(&lock(&self.0).buffer)
    }
}

/// One camera's frame of a submitted set.
#[derive(Debug)]
pub(super) enum Input {
    Host(HostFrame),
    External(ExternalFrame),
}

impl Input {
    /// Submits the upload of a frame in host memory, unless an earlier set has done so. Does nothing for an external
    /// frame, which is already on the device.
    ///
    /// # Safety
    /// The host and device buffers of the input must not be dropped or changed before the copy is done. All uploads of
    /// the input must be submitted to the same stream.
    pub(super) unsafe fn submit_upload(&self, stream: &Stream) -> Result<(), DeviceError> {
        let Self::Host(HostFrame(frame)) = self else { return Ok(()) };
        let UploadedOnce { buffer, uploaded } = &mut *lock(frame);
        if !*uploaded {
            let InputBuffer { host, device } = &mut **buffer;
            let frame = Frame::of_tight(device.format(), host);
            // SAFETY: the caller guarantees that the host and device buffers stay valid and unchanged until the copy
            // is done.
            unsafe { device.submit_upload(stream, &frame)? };
            *uploaded = true;
        }
        Ok(())
    }

    /// Returns whether no earlier set has submitted this frame. External frames always count as new, because the
    /// stitcher cannot recognise the frames of other code.
    pub(super) fn is_new(&self) -> bool {
        match self {
            Self::Host(HostFrame(frame)) => !lock(frame).uploaded,
            Self::External(_) => true,
        }
    }

    /// Makes `stream` wait for the event of an external frame, if it has one.
    pub(super) fn await_ready(&self, stream: &Stream) -> Result<(), DeviceError> {
        match self {
            Self::External(ExternalFrame { ready: Some(ready), .. }) => stream.wait(ready),
            _ => Ok(()),
        }
    }
}

/// A set of frames, one of each camera. Code that submits device work on the frames must hold a reference to the set
/// until the work is done.
#[derive(Debug)]
pub(super) struct FrameSet {
    pub(super) frames: Vec<Input>,
    /// A token that limits the number of sets in flight. It is the last field, so that it returns to its pool only
    /// after the frames are released.
    pub(super) _token: Pooled<()>,
}

impl FrameSet {
    /// Locks the frames of the set, so that work on them can be submitted.
    pub(super) fn lock(&self) -> LockedFrames<'_> {
        let frames = self.frames.iter().map(|input| match input {
            Input::Host(HostFrame(frame)) => LockedFrame::Host(lock(frame)),
            Input::External(frame) => LockedFrame::External(frame.view),
        });
        LockedFrames(frames.collect())
    }
}

enum LockedFrame<'a> {
    Host(MutexGuard<'a, UploadedOnce>),
    External(FrameView<'a>),
}

/// The locked frames of a set.
pub(super) struct LockedFrames<'a>(Vec<LockedFrame<'a>>);

impl LockedFrames<'_> {
    /// Returns views of the frames in device memory, in the order of the cameras.
    pub(super) fn views(&self) -> Vec<FrameView<'_>> {
        let views = self.0.iter().map(|frame| match frame {
            LockedFrame::Host(frame) => frame.buffer.device.view(),
            LockedFrame::External(view) => *view,
        });
        views.collect()
    }
}

/// A buffer for a panorama, with one event for each step: upload of the frames, stitch, and download (`done`).
#[derive(Debug)]
pub(super) struct OutputBuffer {
    pub(super) device: DeviceFrame,
    /// The host memory of the panorama, if it is downloaded.
    pub(super) host: Option<Pinned<u8>>,
    pub(super) uploaded: Event,
    pub(super) stitched: Event,
    pub(super) done: Event,
    /// The memory for the vitals of the frames, if cameras that fail are detected.
    pub(super) vitals: Option<VitalsBuffer>,
}

/// The sampler for the vitals of a set of frames, and page-locked host memory for its results.
#[derive(Debug)]
pub(super) struct VitalsBuffer {
    pub(super) sampler: VitalsSampler,
    pub(super) results: Pinned<Vitals>,
}

impl VitalsBuffer {
    fn new(device: &Device) -> Result<Self, DeviceError> {
        let results = Pinned::new(device, MAX_PICTURES as usize)?;
        Ok(Self { sampler: VitalsSampler::new(device)?, results })
    }
}

impl OutputBuffer {
    /// Allocates the buffer. `samples` is whether the vitals of the frames are sampled, and `downloads` whether the
    /// panorama is copied to host memory.
    pub(super) fn new(
        device: &Device,
        format: FrameFormat,
        samples: bool,
        downloads: bool,
    ) -> Result<Self, DeviceError> {
        Ok(Self {
            vitals: samples.then(|| VitalsBuffer::new(device)).transpose()?,
            device: DeviceFrame::new(device, format)?,
            host: downloads.then(|| Pinned::new(device, format.bytes())).transpose()?,
            uploaded: Event::for_order(device)?,
            stitched: Event::for_order(device)?,
            done: Event::for_order(device)?,
        })
    }
}
