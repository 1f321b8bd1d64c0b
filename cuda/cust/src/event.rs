//! Events: points in a stream that others can wait for, and between which time can be taken.

use std::mem;
use std::ptr;
use std::time::Duration;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::{CudaError, CudaResult, DropResult};
use crate::stream::Stream;

bitflags::bitflags! {
    /// How an event is waited for, and what it records.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct EventFlags: u32 {
        /// A waiting thread spins; the event takes time.
        const DEFAULT = 0x0;
        /// A waiting thread sleeps.
        const BLOCKING_SYNC = 0x1;
        /// The event takes no time, which makes it cheaper.
        const DISABLE_TIMING = 0x2;
        /// Other processes may use the event; only together with `DISABLE_TIMING`.
        const INTERPROCESS = 0x4;
    }
}

/// Whether an event has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventStatus {
    /// Everything before it is done.
    Ready,
    /// Something before it is not.
    NotReady,
}

/// A point in a stream, once it is [recorded](Self::record).
#[derive(Debug)]
pub struct Event(sys::CUevent);

// SAFETY: an event handle may be used from any thread; the driver locks.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// An event of the current context.
    ///
    /// # Errors
    /// No current context, or what the driver says.
    pub fn new(flags: EventFlags) -> CudaResult<Self> {
        let mut event = ptr::null_mut();
        // SAFETY: the handle is written.
        unsafe { driver::cuEventCreate(&raw mut event, flags.bits()) }?;
        Ok(Self(event))
    }

    /// Puts the event behind all work that `stream` has so far.
    ///
    /// # Errors
    /// A stream of another context, or what the driver says.
    pub fn record(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both handles are alive.
        unsafe { driver::cuEventRecord(self.0, stream.as_inner()) }
    }

    /// Whether everything before the event is done.
    ///
    /// # Errors
    /// What the driver says of that work.
    pub fn query(&self) -> CudaResult<EventStatus> {
        // SAFETY: the handle is alive.
        match unsafe { driver::cuEventQuery(self.0) } {
            Ok(()) => Ok(EventStatus::Ready),
            Err(CudaError::NotReady) => Ok(EventStatus::NotReady),
            Err(error) => Err(error),
        }
    }

    /// Waits until everything before the event is done.
    ///
    /// # Errors
    /// What the driver says of that work.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the handle is alive.
        unsafe { driver::cuEventSynchronize(self.0) }
    }

    /// Milliseconds from `start` to this event, to half a microsecond.
    ///
    /// # Errors
    /// An event that takes no time, is not recorded or has not passed, or what the driver says.
    pub fn elapsed_time_f32(&self, start: &Self) -> CudaResult<f32> {
        let mut milliseconds = 0.0;
        // SAFETY: both handles are alive, the result is written.
        unsafe { driver::cuEventElapsedTime(&raw mut milliseconds, start.0, self.0) }?;
        Ok(milliseconds)
    }

    /// Time from `start` to this event; zero if this one passed first.
    ///
    /// # Errors
    /// As [`elapsed_time_f32`](Self::elapsed_time_f32).
    pub fn elapsed(&self, start: &Self) -> CudaResult<Duration> {
        let milliseconds = f64::from(self.elapsed_time_f32(start)?);
        Ok(Duration::from_secs_f64(milliseconds.max(0.0) / 1e3))
    }

    /// The driver's handle.
    #[must_use]
    pub fn as_inner(&self) -> sys::CUevent {
        self.0
    }

    /// Destroys the event; what drop does without telling.
    ///
    /// # Errors
    /// What the driver says, and the event.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(event: Self) -> DropResult<Self> {
        // SAFETY: made here and destroyed once; the driver lets pending waits finish.
        match unsafe { driver::cuEventDestroy_v2(event.0) } {
            Ok(()) => {
                mem::forget(event);
                Ok(())
            }
            Err(error) => Err((error, event)),
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made here and destroyed once. Nobody is there to tell of a failure.
        let _ = unsafe { driver::cuEventDestroy_v2(self.0) };
    }
}
