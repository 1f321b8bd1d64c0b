//! Asynchronous copies from and to page-locked memory.
//!
//! A copy owns its host memory until it is done, so no borrow has to outlive the call. A forgotten
//! copy leaks its memory instead of freeing it too early.

use super::{DeviceError, Event, Pinned, Stream};

/// A copy submitted to a stream, together with its page-locked memory.
///
/// Dropping it waits for the device and frees the memory.
#[derive(Debug)]
#[must_use = "dropping a copy waits for it; `wait` gives its memory back"]
pub struct PinnedCopy<T> {
    memory: Pinned<T>,
    done: Event,
}

impl<T> PinnedCopy<T> {
    /// Marks the end of the most recently submitted copy.
    ///
    /// If that fails, waits for the device and frees the memory.
    #[track_caller]
    pub(super) fn submitted(stream: &Stream, memory: Pinned<T>) -> Result<Self, DeviceError> {
        let done = Event::for_order(stream.device())?;
        done.record(stream)?;
        Ok(Self { memory, done })
    }

    /// Returns whether the copy is done.
    ///
    /// # Errors
    /// Returns the driver's error, which may come from earlier work on the stream.
    #[track_caller]
    pub fn is_done(&self) -> Result<bool, DeviceError> {
        self.done.is_done()
    }

    /// Waits for the copy and returns the memory.
    ///
    /// # Errors
    /// Returns the driver's error, which may come from earlier work on the stream. The memory is
    /// then freed.
    #[track_caller]
    pub fn wait(self) -> Result<Pinned<T>, DeviceError> {
        self.done.synchronize()?;
        Ok(self.memory)
    }
}
