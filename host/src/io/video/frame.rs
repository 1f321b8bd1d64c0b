//! A frame of a video, in host memory or in device memory. The memory returns to the video when nobody uses it any more.

use std::any::Any;
use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::device::{Device, DeviceError, Pinned};
use crate::frame::{DeviceFrame, Frame, FrameFormat};
use crate::pool::{Pool, Pooled};

/// A frame of a video.
#[derive(Debug)]
pub enum VideoFrame {
    /// A frame in host memory.
    Host(HostFrame),
    /// A frame in device memory.
    Device(DecodedFrame),
}

/// A frame in host memory that does not change. Clones share the memory.
#[derive(Clone)]
pub struct HostFrame {
    frame: Frame<'static>,
    /// The owner of the memory.
    _owner: Arc<dyn Any + Send + Sync>,
}

/// A frame in device memory that a decoder has filled. Clones share the memory, which returns to the decoder when the
/// last clone is dropped. Wait for all device work that reads the frame before you drop the last clone, because the
/// decoder then overwrites the memory.
#[derive(Clone)]
pub struct DecodedFrame(Arc<Pooled<DeviceFrame>>);

/// Pageable or page-locked memory.
type HostMemory = Box<dyn DerefMut<Target = [u8]> + Send + Sync>;

impl HostFrame {
    /// Returns the frame that `frame` borrows from `owner`, which is dropped when nobody uses the frame any more. For a
    /// frame that a device reads, that is on a thread of the device's session.
    pub fn new<T: Any + Send + Sync>(
        owner: Arc<T>,
        frame: impl FnOnce(&T) -> Option<Frame<'_>>,
    ) -> Option<Self> {
        // SAFETY: only the lifetime changes. The frame is borrowed from the contents of `owner`. They stay in place and
        // are not borrowed mutably as long as this value has a reference to them.
        let frame = unsafe { mem::transmute::<Frame<'_>, Frame<'static>>(frame(&owner)?) };
        Some(Self { frame, _owner: owner })
    }

    /// Returns the frame as one of `format`, which may have another encoding.
    pub(super) fn tagged(self, format: FrameFormat) -> Self {
        Self { frame: self.frame.tagged(format), ..self }
    }

    /// Returns the planes of the frame.
    #[must_use]
    pub fn frame(&self) -> Frame<'_> {
        self.frame
    }
}

impl Deref for DecodedFrame {
    type Target = DeviceFrame;

    fn deref(&self) -> &DeviceFrame {
        &self.0
    }
}

impl fmt::Debug for HostFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostFrame({})", self.frame.format())
    }
}

impl fmt::Debug for DecodedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecodedFrame({})", self.format())
    }
}

/// The memory of frames in host memory, which are filled in place and reused. A session uploads them without a copy.
pub struct HostPool {
    format: FrameFormat,
    /// The device that copies the frames. Their memory is page-locked for it, if it is given.
    device: Option<Device>,
    free: Pool<HostMemory>,
}

impl HostPool {
    /// Creates an empty pool for frames of `format`. Their memory is page-locked for `device`, if it is given.
    #[must_use]
    pub fn new(format: FrameFormat, device: Option<Device>) -> Self {
        Self { format, device, free: Pool::new(Vec::new()) }
    }

    /// Returns a frame whose planes `fill` has filled, one after the other, without padding. Their contents before are
    /// unspecified. Allocates memory only if that of all frames so far is in use.
    pub fn filled(&self, fill: impl FnOnce(&mut [u8])) -> HostFrame {
        let mut memory = self.memory();
        fill(&mut memory);
        self.frame(memory)
    }

    fn frame(&self, memory: Pooled<HostMemory>) -> HostFrame {
        HostFrame::new(Arc::new(memory), |memory| Some(Frame::of_tight(self.format, memory)))
            .expect("there is a frame")
    }

    /// Returns a frame that `fill` has filled, or `None` if it returns false. The memory of the `first` frame is not
    /// page-locked and not reused. Page-locked memory takes space even if nothing is written to it, so a file whose
    /// header claims large frames, but which contains little data, uses little memory.
    pub(super) fn read<E>(
        &self,
        first: bool,
        fill: impl FnOnce(&mut [u8]) -> Result<bool, E>,
    ) -> Result<Option<HostFrame>, E> {
        let mut memory = match first {
            true => Pool::new(Vec::new()).lend(self.pageable()),
            false => self.memory(),
        };
        Ok(fill(&mut memory)?.then(|| self.frame(memory)))
    }

    fn memory(&self) -> Pooled<HostMemory> {
        self.free.try_take().unwrap_or_else(|| self.free.lend(self.allocated()))
    }

    /// Allocates a frame of zeros, in page-locked memory if possible.
    fn allocated(&self) -> HostMemory {
        match self.device.as_ref().map(|device| Pinned::new(device, self.format.bytes())) {
            Some(Ok(memory)) => return Box::new(memory),
            Some(Err(error)) => tracing::debug!("frames are read to pageable memory: {error}"),
            None => {}
        }
        self.pageable()
    }

    fn pageable(&self) -> HostMemory {
        Box::new(vec![0; self.format.bytes()])
    }
}

/// The memory of a decoder's frames.
pub(super) struct FramePool {
    device: Device,
    format: FrameFormat,
    free: Pool<DeviceFrame>,
}

impl FramePool {
    pub(super) fn new(device: &Device, format: FrameFormat) -> Self {
        Self { device: device.clone(), format, free: Pool::new(Vec::new()) }
    }

    pub(super) fn format(&self) -> FrameFormat {
        self.format
    }

    /// Returns a frame that `fill` has filled.
    pub(super) fn filled(
        &self,
        fill: impl FnOnce(&mut DeviceFrame) -> Result<(), DeviceError>,
    ) -> Result<DecodedFrame, DeviceError> {
        let mut frame = match self.free.try_take() {
            Some(frame) => frame,
            None => self.free.lend(DeviceFrame::new(&self.device, self.format)?),
        };
        fill(&mut frame)?;
        Ok(DecodedFrame(Arc::new(frame)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_returns_when_the_last_clone_is_dropped() {
        let device = Device::cpu();
        let pool = FramePool::new(&device, FrameFormat::rgba8(4, 2));
        let frame = pool.filled(|_| Ok(())).unwrap();
        let clone = frame.clone();
        drop(frame);
        assert_eq!(pool.free.free(), 0);
        drop(clone);
        assert_eq!(pool.free.free(), 1);
        let late = pool.filled(|_| Ok(())).unwrap();
        assert_eq!(pool.free.free(), 0);
        drop(pool);
        assert_eq!(late.format(), FrameFormat::rgba8(4, 2));
    }
}
