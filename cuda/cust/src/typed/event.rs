//! Events, which mark points in a stream. Streams and host threads can wait for an event, and two
//! events can measure the time between them.

use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cuda_std::launch::Place;
use cust_raw::driver_sys::{self as sys, CUresult};

use super::counters::{self, Token};
use super::error::{Check, DeviceError, ErrorKind};
use super::{Device, Kind, Stream};

/// A marker in a stream, which [`record`](Self::record) places after the work submitted so far.
///
/// ```
/// use cust::typed::{Device, Event, Place};
///
/// let device = Device::cpu();
/// let (first, second) = (device.stream()?, device.stream()?);
/// let (start, end) = (Event::new(&device)?, Event::new(&device)?);
/// start.record(&first)?;
/// // Work that is submitted to `second` from here on waits for the work before `start`.
/// second.wait(&start)?;
/// end.record(&second)?;
/// end.synchronize()?;
/// assert!(end.is_done()?);
/// println!("{:?}", end.since(&start)?);
///
/// // An event that only orders work is cheaper.
/// let order = Event::for_order(&device)?;
/// assert_eq!(order.place(), Place::Cpu);
/// assert!(order.as_raw().is_null(), "the CPU has no handle");
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
#[derive(Debug)]
pub struct Event {
    point: Point,
    device: Device,
    counted: Option<Token>,
}

#[derive(Debug)]
enum Point {
    /// The time of the latest recording. On the CPU, all work submitted before the recording was
    /// already done, so the event needs no other state.
    Cpu(Mutex<Option<Instant>>),
    Cuda(sys::CUevent, Passed),
}

/// A record of whether the event's latest recording is known to have completed. Recordings are
/// numbered from 1. `recorded` is the number of the latest recording, and `passed` is the number of
/// the latest recording that is known to have completed.
#[derive(Debug, Default)]
struct Passed {
    recorded: AtomicU64,
    passed: AtomicU64,
}

impl Passed {
    /// Returns `Ok` if the latest recording is known to have completed. Otherwise returns the
    /// number of that recording, which the caller passes to [`set`](Self::set) when it has
    /// completed.
    fn is_known(&self) -> Result<(), u64> {
        let recorded = self.recorded.load(Ordering::Acquire);
        if self.passed.load(Ordering::Acquire) == recorded { Ok(()) } else { Err(recorded) }
    }

    /// Marks the recording with number `recorded` as completed. The caller must read that number
    /// before it asks the driver whether the event has completed.
    fn set(&self, recorded: u64) {
        self.passed.fetch_max(recorded, Ordering::AcqRel);
    }

    /// Counts a new recording. Call this only after the driver has recorded the event, so that a
    /// query of the previous recording cannot mark this one as completed.
    fn reset(&self) {
        self.recorded.fetch_add(1, Ordering::AcqRel);
    }
}

// SAFETY: an event handle may be used from any thread whose context is current; driver calls are
// thread-safe.
unsafe impl Send for Event {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Event {}

impl Event {
    /// Creates an event that can measure time.
    #[track_caller]
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Self::with_flags(device, 0)
    }

    /// Creates an event without timing. A thread that waits for the event sleeps instead of
    /// spinning.
    #[track_caller]
    pub fn for_order(device: &Device) -> Result<Self, DeviceError> {
        Self::with_flags(device, sys::CU_EVENT_BLOCKING_SYNC | sys::CU_EVENT_DISABLE_TIMING)
    }

    #[track_caller]
    pub(crate) fn with_flags(device: &Device, flags: u32) -> Result<Self, DeviceError> {
        const OP: &str = "creating an event";
        let (point, counted) = match device.kind() {
            Kind::Cpu(_) => (Point::Cpu(Mutex::default()), None),
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                let mut event = ptr::null_mut();
                // SAFETY: the driver writes the handle to a local variable.
                unsafe { sys::cuEventCreate(&raw mut event, flags) }.check(OP)?;
                Ok((
                    Point::Cuda(event, Passed::default()),
                    Some(Token::new(counters::Kind::Events, 1)),
                ))
            })?,
        };
        Ok(Self { point, device: device.clone(), counted })
    }

    /// Records the event after all work submitted to `stream` so far.
    #[track_caller]
    pub fn record(&self, stream: &Stream) -> Result<(), DeviceError> {
        const OP: &str = "recording an event";
        self.same_device(OP, stream)?;
        match &self.point {
            Point::Cpu(time) => {
                *time.lock().unwrap_or_else(|e| e.into_inner()) = Some(Instant::now());
                Ok(())
            }
            Point::Cuda(event, passed) => self.enter(OP, || {
                // SAFETY: both handles are alive.
                unsafe { sys::cuEventRecord(*event, stream.as_raw()) }.check(OP)?;
                passed.reset();
                Ok(())
            }),
        }
    }

    /// Returns whether all work before the event is done. Returns `true` if the event was never
    /// recorded.
    #[track_caller]
    pub fn is_done(&self) -> Result<bool, DeviceError> {
        const OP: &str = "querying an event";
        match &self.point {
            Point::Cpu(_) => Ok(true),
            // SAFETY: the handle is alive.
            Point::Cuda(event, _) => self.enter(OP, || unsafe { is_passed(*event, OP) }),
        }
    }

    /// Waits until all work before the event is done.
    #[track_caller]
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        const OP: &str = "waiting for an event";
        match &self.point {
            Point::Cpu(_) => Ok(()),
            Point::Cuda(event, _) => self.enter(OP, || {
                // SAFETY: the handle is alive.
                unsafe { sys::cuEventSynchronize(*event) }.check(OP)
            }),
        }
    }

    /// Returns the time from `earlier` to this event. On a GPU, the device measures the time with a
    /// resolution of half a microsecond.
    ///
    /// # Errors
    /// Returns an error if either event has not been recorded or is still waiting for work before
    /// it. Otherwise returns the driver's error, if any.
    #[track_caller]
    pub fn since(&self, earlier: &Self) -> Result<Duration, DeviceError> {
        const OP: &str = "timing between events";
        match (&self.point, &earlier.point) {
            (Point::Cpu(end), Point::Cpu(start)) => {
                let read =
                    |time: &Mutex<Option<Instant>>| *time.lock().unwrap_or_else(|e| e.into_inner());
                match (read(end), read(start)) {
                    (Some(end), Some(start)) => Ok(end.saturating_duration_since(start)),
                    _ => {
                        let reason = "the event was not recorded; record it on a stream first";
                        Err(DeviceError::new(OP, ErrorKind::Invalid(reason.to_owned())))
                    }
                }
            }
            (Point::Cuda(end, _), Point::Cuda(start, _)) => self.enter(OP, || {
                let mut milliseconds = 0.0_f32;
                // SAFETY: both handles are alive, and the driver writes the result to a local
                // variable.
                unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, *start, *end) }
                    .check(OP)?;
                Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
            }),
            _ => {
                let (found, wanted) = (earlier.device.place(), self.device.place());
                Err(DeviceError::new(OP, ErrorKind::WrongDevice { found, wanted }))
            }
        }
    }

    /// Returns the raw handle for use with other libraries. Returns null on the CPU.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUevent {
        match self.point {
            Point::Cpu(_) => ptr::null_mut(),
            Point::Cuda(event, _) => event,
        }
    }

    /// Returns the [`Place`] that identifies the event's device.
    #[must_use]
    pub fn place(&self) -> Place {
        self.device.place()
    }

    #[track_caller]
    pub(super) fn make_wait(&self, stream: &Stream) -> Result<(), DeviceError> {
        const OP: &str = "making a stream wait";
        self.same_device(OP, stream)?;
        match &self.point {
            Point::Cpu(_) => Ok(()),
            // No wait is submitted if the event has already completed, because any wait in the
            // stream prevents the next kernel from starting before the preceding kernel has ended.
            Point::Cuda(event, passed) => match passed.is_known() {
                Ok(()) => Ok(()),
                Err(recorded) => self.enter(OP, || {
                    // SAFETY: the handle is alive.
                    if unsafe { is_passed(*event, OP) }? {
                        passed.set(recorded);
                        return Ok(());
                    }
                    // SAFETY: both handles are alive. The driver copies the event's state during
                    // the call, so the event may be dropped before the stream reaches the wait.
                    unsafe { sys::cuStreamWaitEvent(stream.as_raw(), *event, 0) }.check(OP)
                }),
            },
        }
    }

    #[track_caller]
    fn enter<T>(
        &self,
        operation: &'static str,
        body: impl FnOnce() -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        match self.device.kind() {
            Kind::Cpu(_) => body(),
            Kind::Cuda(cuda) => cuda.enter(operation, body),
        }
    }

    #[track_caller]
    fn same_device(&self, operation: &'static str, stream: &Stream) -> Result<(), DeviceError> {
        let (found, wanted) = (self.device.place(), stream.device().place());
        if found == wanted {
            return Ok(());
        }
        Err(DeviceError::new(operation, ErrorKind::WrongDevice { found, wanted }))
    }
}

/// Returns whether the driver reports an event as completed.
///
/// # Safety
/// `event` must be alive, and its context must be current on this thread.
#[track_caller]
unsafe fn is_passed(event: sys::CUevent, operation: &'static str) -> Result<bool, DeviceError> {
    // SAFETY: the caller upholds this function's safety contract.
    match unsafe { sys::cuEventQuery(event) } {
        CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        result => result.check(operation).map(|()| true),
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let (Point::Cuda(event, _), Kind::Cuda(cuda)) = (&self.point, self.device.kind()) {
            // SAFETY: the handle is alive and is destroyed only once; the driver lets pending waits
            // finish.
            cuda.release(self.counted.as_mut(), || unsafe { sys::cuEventDestroy_v2(*event) });
        }
    }
}
