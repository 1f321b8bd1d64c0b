//! A frame of a video, in host memory or in device memory. The memory returns to the video when nobody uses it any more.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, Weak};

use crate::device::{Device, DeviceError, Pinned};
use crate::frame::{DeviceFrame, FrameFormat};
use crate::lock::lock;

/// A frame of a video.
#[derive(Debug)]
pub enum VideoFrame {
    /// A frame in host memory.
    Host(HostFrame),
    /// A frame in device memory.
    Device(DecodedFrame),
}

/// The planes of a frame in host memory, one after the other, without padding. Clones share the memory.
#[derive(Clone)]
pub struct HostFrame(Arc<Lent<HostMemory>>);

/// A frame in device memory that a decoder has filled. Clones share the memory, which returns to the decoder when the
/// last clone is dropped. Wait for all device work that reads the frame before you drop the last clone, because the
/// decoder then overwrites the memory.
#[derive(Clone)]
pub struct DecodedFrame(Arc<Lent<DeviceFrame>>);

/// Pageable or page-locked memory.
type HostMemory = Box<dyn DerefMut<Target = [u8]> + Send + Sync>;

/// Memory that returns home when it is dropped.
struct Lent<T> {
    /// The memory; `None` only while it is returned.
    memory: Option<T>,
    home: Weak<Mutex<Vec<T>>>,
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        if let (Some(memory), Some(home)) = (self.memory.take(), self.home.upgrade()) {
            lock(&home).push(memory);
        }
    }
}

impl<T> Deref for Lent<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.memory.as_ref().expect("the memory is taken out only when it is dropped")
    }
}

impl Deref for HostFrame {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
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
        write!(f, "HostFrame({} bytes)", self.len())
    }
}

impl fmt::Debug for DecodedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecodedFrame({})", self.format())
    }
}

/// The memory of a video's frames. It has as many frames as were in use at the same time.
struct Pool<T>(Arc<Mutex<Vec<T>>>);

impl<T> Pool<T> {
    /// Returns free memory, if there is any.
    fn take(&self) -> Option<T> {
        lock(&self.0).pop()
    }

    /// Lends memory, which becomes free when the last clone is dropped.
    fn lend(&self, memory: T) -> Arc<Lent<T>> {
        Arc::new(Lent { memory: Some(memory), home: Arc::downgrade(&self.0) })
    }
}

/// The memory of frames in host memory, which are filled in place and reused. A session uploads them without a copy.
pub struct HostPool {
    bytes: usize,
    /// The device that copies the frames. Their memory is page-locked for it, if it is given.
    device: Option<Device>,
    free: Pool<HostMemory>,
}

impl HostPool {
    /// Creates an empty pool for frames of `bytes` bytes. Their memory is page-locked for `device`, if it is given.
    #[must_use]
    pub fn new(bytes: usize, device: Option<Device>) -> Self {
        Self { bytes, device, free: Pool(Arc::default()) }
    }

    /// Returns a frame that `fill` has filled. Its contents before are unspecified. Allocates memory only if that of all
    /// frames so far is in use.
    pub fn filled(&self, fill: impl FnOnce(&mut [u8])) -> HostFrame {
        let mut memory = self.free.take().unwrap_or_else(|| self.allocated(true));
        fill(&mut memory);
        HostFrame(self.free.lend(memory))
    }

    /// Returns a frame that `fill` has filled, or `None` if it returns false. The memory of the `first` frame is not
    /// page-locked and not reused. Page-locked memory takes space even if nothing is written to it, so a file whose
    /// header claims large frames, but which contains little data, uses little memory.
    pub(super) fn read<E>(
        &self,
        first: bool,
        fill: impl FnOnce(&mut [u8]) -> Result<bool, E>,
    ) -> Result<Option<HostFrame>, E> {
        let mut memory = self.free.take().unwrap_or_else(|| self.allocated(!first));
        let is_filled = fill(&mut memory)?;
        let lent = match first {
            true => Arc::new(Lent { memory: Some(memory), home: Weak::new() }),
            false => self.free.lend(memory),
        };
        Ok(is_filled.then(|| HostFrame(lent)))
    }

    /// Allocates a frame of zeros, in page-locked memory if it may and can be.
    fn allocated(&self, may_lock: bool) -> HostMemory {
        if let Some(device) = self.device.as_ref().filter(|_| may_lock) {
            match Pinned::new(device, self.bytes) {
                Ok(memory) => return Box::new(memory),
                Err(error) => tracing::debug!("frames are read to pageable memory: {error}"),
            }
        }
        Box::new(vec![0; self.bytes])
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
        Self { device: device.clone(), format, free: Pool(Arc::default()) }
    }

    pub(super) fn format(&self) -> FrameFormat {
        self.format
    }

    /// Returns a frame that `fill` has filled.
    pub(super) fn filled(
        &self,
        fill: impl FnOnce(&mut DeviceFrame) -> Result<(), DeviceError>,
    ) -> Result<DecodedFrame, DeviceError> {
        let mut frame = match self.free.take() {
            Some(frame) => frame,
            None => DeviceFrame::new(&self.device, self.format)?,
        };
        fill(&mut frame)?;
        Ok(DecodedFrame(self.free.lend(frame)))
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
        assert_eq!(lock(&pool.free.0).len(), 0);
        drop(clone);
        assert_eq!(lock(&pool.free.0).len(), 1);
        let late = pool.filled(|_| Ok(())).unwrap();
        assert_eq!(lock(&pool.free.0).len(), 0);
        drop(pool);
        assert_eq!(late.format(), FrameFormat::rgba8(4, 2));
    }
}
