//! A decoded frame of a video, in host memory or in device memory.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, Weak};

use crate::device::{Device, DeviceError};
use crate::frame::{DeviceFrame, FrameFormat};
use crate::lock::lock;

/// A decoded frame of a video.
#[derive(Debug)]
pub enum VideoFrame {
    /// The planes of a frame in host memory, one after the other, without padding.
    Host(Vec<u8>),
    /// A frame in device memory.
    Device(DecodedFrame),
}

/// A frame in device memory that a decoder has filled. Clones share the memory, which returns to the decoder when the
/// last clone is dropped. Wait for all device work that reads the frame before you drop the last clone, because the
/// decoder then overwrites the memory.
#[derive(Clone)]
pub struct DecodedFrame(Arc<Lent>);

struct Lent {
    /// The frame; `None` only while it is returned.
    frame: Option<DeviceFrame>,
    home: Weak<Mutex<Vec<DeviceFrame>>>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(frame), Some(home)) = (self.frame.take(), self.home.upgrade()) {
            lock(&home).push(frame);
        }
    }
}

impl Deref for DecodedFrame {
    type Target = DeviceFrame;

    fn deref(&self) -> &DeviceFrame {
        // The frame is taken out only when the last clone is dropped.
        self.0.frame.as_ref().expect("a decoded frame holds its memory")
    }
}

impl fmt::Debug for DecodedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecodedFrame({})", self.format())
    }
}

/// The memory of a decoder's frames. It has as many frames as were in use at the same time.
pub(super) struct FramePool {
    device: Device,
    format: FrameFormat,
    free: Arc<Mutex<Vec<DeviceFrame>>>,
}

impl FramePool {
    pub(super) fn new(device: &Device, format: FrameFormat) -> Self {
        Self { device: device.clone(), format, free: Arc::default() }
    }

    pub(super) fn format(&self) -> FrameFormat {
        self.format
    }

    /// Returns a frame that `fill` has filled.
    pub(super) fn filled(
        &self,
        fill: impl FnOnce(&mut DeviceFrame) -> Result<(), DeviceError>,
    ) -> Result<DecodedFrame, DeviceError> {
        let free = lock(&self.free).pop();
        let mut frame = match free {
            Some(frame) => frame,
            None => DeviceFrame::new(&self.device, self.format)?,
        };
        fill(&mut frame)?;
        Ok(DecodedFrame(Arc::new(Lent { frame: Some(frame), home: Arc::downgrade(&self.free) })))
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
        assert_eq!(lock(&pool.free).len(), 0);
        drop(clone);
        assert_eq!(lock(&pool.free).len(), 1);
        let late = pool.filled(|_| Ok(())).unwrap();
        assert_eq!(lock(&pool.free).len(), 0);
        drop(pool);
        assert_eq!(late.format(), FrameFormat::rgba8(4, 2));
    }
}
