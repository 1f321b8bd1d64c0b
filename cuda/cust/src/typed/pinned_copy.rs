//! Copies from and to page-locked memory that a program does not wait for.
//!
//! A copy owns its host memory until it is done, so no borrow has to outlive the call and a forgotten copy
//! leaks memory instead of freeing it too early.

use super::{DeviceError, Event, Pinned, Stream};

/// A copy from or to page-locked memory that was submitted to a stream, together with that memory.
///
/// Dropping it waits for the device and frees the memory.
#[derive(Debug)]
#[must_use = "dropping a copy waits for it; `wait` gives its memory back"]
pub struct PinnedCopy<T> {
    memory: Pinned<T>,
    done: Event,
}

impl<T> PinnedCopy<T> {
    /// Marks the end of the copy that was submitted last.
    ///
    /// If that fails, the memory is freed after the device has been waited for.
    #[track_caller]
    pub(super) fn submitted(stream: &Stream, memory: Pinned<T>) -> Result<Self, DeviceError> {
        let done = Event::for_order(stream.device())?;
        done.record(stream)?;
        Ok(Self { memory, done })
    }

    /// Returns whether the copy is done.
    ///
    /// # Errors
    /// Any error of the driver, of earlier work on the stream too.
    #[track_caller]
    pub fn is_done(&self) -> Result<bool, DeviceError> {
        self.done.is_done()
    }

    /// Waits for the copy and returns the memory.
    ///
    /// # Errors
    /// Any error of the driver, of earlier work on the stream too. The memory is freed then.
    #[track_caller]
    pub fn wait(self) -> Result<Pinned<T>, DeviceError> {
        self.done.synchronize()?;
        Ok(self.memory)
    }
}
