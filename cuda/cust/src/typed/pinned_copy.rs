//! Asynchronous copies from and to page-locked memory.
//!
//! A [`PinnedCopy`] owns the copy's host memory until the copy is done, so the caller need not keep
//! a borrow alive. If a `PinnedCopy` is passed to `mem::forget`, the memory is leaked, so the copy
//! never uses freed memory.

use super::{DeviceError, Event, Pinned, Stream};

/// An asynchronous copy in a stream, which owns the page-locked memory that the copy reads or
/// writes.
///
/// Dropping this value waits for the device and then frees the memory.
///
/// ```
/// use cust::typed::{Buffer, Device, Pinned};
///
/// let device = Device::cpu();
/// let stream = device.stream()?;
/// let buffer = Buffer::from_slice(&stream, &[1, 2, 3])?;
/// let copy = buffer.download_async(&stream, Pinned::new(&device, 3)?)?;
/// // The host can do other work here.
/// if !copy.is_done()? {
///     println!("still copying");
/// }
/// assert_eq!(copy.wait()?[..], [1, 2, 3]);
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping a copy waits for it; `wait` returns its memory"]
pub struct PinnedCopy<T> {
    memory: Pinned<T>,
    done: Event,
}

impl<T> PinnedCopy<T> {
    /// Records an event after the copy that was just submitted to `stream`, and takes ownership of
    /// the copy's host memory.
    ///
    /// If the event cannot be recorded, waits for the device and frees the memory.
    #[track_caller]
    pub(super) fn submitted(stream: &Stream, memory: Pinned<T>) -> Result<Self, DeviceError> {
        let done = Event::for_order(stream.device())?;
        done.record(stream)?;
        Ok(Self { memory, done })
    }

    /// Returns whether the copy is done.
    #[track_caller]
    pub fn is_done(&self) -> Result<bool, DeviceError> {
        self.done.is_done()
    }

    /// Waits for the copy and returns the memory.
    #[track_caller]
    pub fn wait(self) -> Result<Pinned<T>, DeviceError> {
        self.done.synchronize()?;
        Ok(self.memory)
    }
}
