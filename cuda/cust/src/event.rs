//! Events, which mark points in a stream. Streams and host threads can wait for an event, and two
//! events can measure the time between them.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::event::{Event, EventFlags};
//! use cust::stream::{Stream, StreamFlags};
//!
//! let _context = cust::quick_init()?;
//! let stream = Stream::new(StreamFlags::DEFAULT, None)?;
//! let [start, end] = [Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?];
//! start.record(&stream)?;
//! end.record(&stream)?;
//! end.synchronize()?;
//! println!("{:?}", end.elapsed(&start)?);
//! # Ok::<(), cust::error::CudaError>(())
//! ```

use std::ptr;
use std::time::Duration;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::{CudaError, CudaResult, DropResult, destroyed};
use crate::stream::Stream;

bitflags::bitflags! {
    /// Options of an event: the wait strategy of host threads, and the uses of the event.
    ///
    /// ```
    /// use cust::event::EventFlags;
    ///
    /// let between_processes = EventFlags::INTERPROCESS | EventFlags::DISABLE_TIMING;
    /// assert!(between_processes.contains(EventFlags::DISABLE_TIMING));
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct EventFlags: u32 {
        /// A host thread that waits for the event spins. The event can measure time.
        const DEFAULT = 0x0;
        /// A host thread that waits for the event sleeps.
        const BLOCKING_SYNC = 0x1;
        /// The event cannot measure time, which makes waits and queries faster.
        const DISABLE_TIMING = 0x2;
        /// Other processes may use the event. Requires `DISABLE_TIMING`.
        const INTERPROCESS = 0x4;
    }
}

/// The state of the work that was submitted to the stream before an event was recorded.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::event::{Event, EventFlags, EventStatus};
///
/// let _context = cust::quick_init()?;
/// // There is no work before an event that was never recorded.
/// assert_eq!(Event::new(EventFlags::DEFAULT)?.query()?, EventStatus::Ready);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventStatus {
    /// All work before the event is done.
    Ready,
    /// Some work before the event is not done.
    NotReady,
}

/// A marker in a stream, which [`record`](Self::record) places after the work submitted so far.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::event::{Event, EventFlags, EventStatus};
/// use cust::stream::{Stream, StreamFlags};
///
/// let _context = cust::quick_init()?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// let [start, end] = [Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?];
/// start.record(&stream)?;
/// end.record(&stream)?;
/// end.synchronize()?;
/// assert_eq!(end.query()?, EventStatus::Ready);
/// assert!(end.elapsed_time_f32(&start)? >= 0.0);
/// assert!(!end.as_inner().is_null());
/// Event::drop(end).map_err(|(error, _)| error)?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Event(sys::CUevent);

// SAFETY: an event handle may be used from any thread; driver calls are thread-safe.
unsafe impl Send for Event {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Event {}

impl Event {
    /// Creates an event in the current context.
    ///
    /// # Errors
    /// Returns an error if no context is current, or the driver's error.
    pub fn new(flags: EventFlags) -> CudaResult<Self> {
        let mut event = ptr::null_mut();
        // SAFETY: the driver writes the handle to a local variable.
        unsafe { driver::cuEventCreate(&raw mut event, flags.bits()) }?;
        Ok(Self(event))
    }

    /// Records the event after all work submitted to `stream` so far.
    ///
    /// # Errors
    /// Returns an error if the stream belongs to another context, or the driver's error.
    pub fn record(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both handles are alive.
        unsafe { driver::cuEventRecord(self.0, stream.as_inner()) }
    }

    /// Returns whether all work that was submitted before the event is done.
    ///
    /// # Errors
    /// Returns the driver's error, for example if that work failed.
    pub fn query(&self) -> CudaResult<EventStatus> {
        // SAFETY: the handle is alive.
        match unsafe { driver::cuEventQuery(self.0) } {
            Ok(()) => Ok(EventStatus::Ready),
            Err(CudaError::NotReady) => Ok(EventStatus::NotReady),
            Err(error) => Err(error),
        }
    }

    /// Waits until all work before the event is done.
    ///
    /// # Errors
    /// Returns the driver's error, for example if that work failed.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the handle is alive.
        unsafe { driver::cuEventSynchronize(self.0) }
    }

    /// Returns the milliseconds from `start` to this event, with a resolution of half a
    /// microsecond.
    ///
    /// # Errors
    /// Returns an error if either event cannot measure time, has not been recorded, or is still
    /// waiting for work before it. Otherwise returns the driver's error, if any.
    pub fn elapsed_time_f32(&self, start: &Self) -> CudaResult<f32> {
        let mut milliseconds = 0.0;
        // SAFETY: both handles are alive, and the driver writes the result to a local variable.
        unsafe { driver::cuEventElapsedTime(&raw mut milliseconds, start.0, self.0) }?;
        Ok(milliseconds)
    }

    /// Returns the time from `start` to this event, or zero if this event was recorded first.
    ///
    /// # Errors
    /// Returns the errors of [`elapsed_time_f32`](Self::elapsed_time_f32).
    pub fn elapsed(&self, start: &Self) -> CudaResult<Duration> {
        let milliseconds = f64::from(self.elapsed_time_f32(start)?);
        Ok(Duration::from_secs_f64(milliseconds.max(0.0) / 1e3))
    }

    /// Returns the driver's handle.
    #[must_use]
    pub fn as_inner(&self) -> sys::CUevent {
        self.0
    }

    /// Destroys the event and returns any error, which `Drop` would ignore.
    ///
    /// # Errors
    /// Returns the driver's error together with the event.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(event: Self) -> DropResult<Self> {
        // SAFETY: the handle is alive and is destroyed only once; the driver lets pending waits
        // finish.
        let result = unsafe { driver::cuEventDestroy_v2(event.0) };
        destroyed(event, result)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the handle is alive and is destroyed only once. Drop cannot report a failure.
        let _ = unsafe { driver::cuEventDestroy_v2(self.0) };
    }
}
