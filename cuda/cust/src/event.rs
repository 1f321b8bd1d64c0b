//! Events, which mark points in a stream and measure the time between them.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::event::{Event, EventFlags, EventStatus};
//! use cust::stream::{Stream, StreamFlags};
//!
//! let _context = cust::quick_init()?;
//! let stream = Stream::new(StreamFlags::DEFAULT, None)?;
//! let [start, end] = [Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?];
//! start.record(&stream)?;
//! end.record(&stream)?;
//! end.synchronize()?;
//! assert_eq!(end.query()?, EventStatus::Ready);
//! println!("{:?}", end.elapsed(&start)?);
//! # Ok::<(), cust::error::CudaError>(())
//! ```

use std::time::Duration;

use crate::context::current;
use crate::error::CudaResult;
use crate::stream::Stream;
use crate::typed;

bitflags::bitflags! {
    /// Options of an event: the wait strategy of host threads, and the uses of the event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct EventFlags: u32 {
        /// A host thread that waits for the event spins. The event can measure time.
        const DEFAULT = 0x0;
        /// A host thread that waits for the event sleeps.
        const BLOCKING_SYNC = 0x1;
        /// The event cannot measure time, which makes waits and queries faster.
        const DISABLE_TIMING = 0x2;
    }
}

/// The state of the work that was submitted to the stream before an event was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventStatus {
    /// All work before the event is done.
    Ready,
    /// Some work before the event is not done.
    NotReady,
}

/// A marker in a stream, which [`record`](Self::record) places after the work submitted so far.
///
/// Each method returns the driver's error, for example if the work before the event failed.
#[derive(Debug)]
pub struct Event(pub(crate) typed::Event);

impl Event {
    /// Creates an event in the current context.
    pub fn new(flags: EventFlags) -> CudaResult<Self> {
        Ok(Self(typed::Event::with_flags(&current()?, flags.bits())?))
    }

    /// Records the event after all work submitted to `stream` so far.
    pub fn record(&self, stream: &Stream) -> CudaResult<()> {
        Ok(self.0.record(&stream.0)?)
    }

    /// Returns whether all work that was submitted before the event is done.
    pub fn query(&self) -> CudaResult<EventStatus> {
        Ok(if self.0.is_done()? { EventStatus::Ready } else { EventStatus::NotReady })
    }

    /// Waits until all work before the event is done.
    pub fn synchronize(&self) -> CudaResult<()> {
        Ok(self.0.synchronize()?)
    }

    /// Returns the milliseconds from `start` to this event, with a resolution of half a microsecond.
    pub fn elapsed_time_f32(&self, start: &Self) -> CudaResult<f32> {
        Ok(self.elapsed(start)?.as_secs_f32() * 1e3)
    }

    /// Returns the time from `start` to this event, or zero if this event was recorded first.
    pub fn elapsed(&self, start: &Self) -> CudaResult<Duration> {
        Ok(self.0.since(&start.0)?)
    }
}
