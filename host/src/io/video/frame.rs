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
    /// Returns memory that `fill` has filled, or `None` if it has not. `new` allocates memory if none is free.
    fn filled<E>(
        &self,
        new: impl FnOnce() -> Result<T, E>,
        fill: impl FnOnce(&mut T) -> Result<bool, E>,
    ) -> Result<Option<Arc<Lent<T>>>, E> {
        let free = lock(&self.0).pop();
        let mut memory = free.map_or_else(new, Ok)?;
        let is_filled = fill(&mut memory)?;
        let home = Arc::downgrade(&self.0);
        Ok(is_filled.then(|| Arc::new(Lent { memory: Some(memory), home })))
    }
}

/// The memory of frames that are read to host memory.
pub(super) struct HostPool {
    bytes: usize,
    /// The device that copies the frames. Their memory is page-locked for it, if it is given.
    device: Option<Device>,
    free: Pool<HostMemory>,
}

impl HostPool {
    pub(super) fn new(bytes: usize, device: Option<Device>) -> Self {
        Self { bytes, device, free: Pool(Arc::default()) }
    }

    /// Returns a frame that `fill` has filled, or `None` if it returns false. The memory of the `first` frame is not
    /// page-locked and not reused. Page-locked memory takes space even if nothing is written to it, so a file whose
    /// header claims large frames, but which contains little data, uses little memory.
    pub(super) fn filled<E>(
        &self,
        first: bool,
        fill: impl FnOnce(&mut [u8]) -> Result<bool, E>,
    ) -> Result<Option<HostFrame>, E> {
        let pageable = || -> HostMemory { Box::new(vec![0; self.bytes]) };
        if first {
            let mut memory = pageable();
            let is_filled = fill(&mut memory)?;
            let lent = Lent { memory: Some(memory), home: Weak::new() };
            return Ok(is_filled.then(|| HostFrame(Arc::new(lent))));
        }
        let new = || {
            let locked = self.device.as_ref().map(|device| Pinned::new(device, self.bytes));
            Ok(match locked {
                Some(Ok(memory)) => Box::new(memory) as HostMemory,
                Some(Err(error)) => {
                    tracing::debug!("frames are read to pageable memory: {error}");
                    pageable()
                }
                None => pageable(),
            })
        };
        Ok(self.free.filled(new, |memory| fill(memory))?.map(HostFrame))
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
        let new = || DeviceFrame::new(&self.device, self.format);
        let filled = self.free.filled(new, |frame| fill(frame).map(|()| true))?;
        Ok(DecodedFrame(filled.expect("`fill` has filled the frame")))
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
