//! Streams: queues of copies and launches that run in order.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::memory::{AsyncCopyDestination, DeviceBuffer};
//! use cust::stream::{Stream, StreamFlags};
//!
//! let _context = cust::quick_init()?;
//! let stream = Stream::new(StreamFlags::DEFAULT, None)?;
//! let mut buffer = DeviceBuffer::zeroed(3)?;
//! // SAFETY: the source stays alive until the stream's work is done.
//! unsafe { buffer.async_copy_from(&[1, 2, 3], &stream) }?;
//! stream.synchronize()?;
//! assert_eq!(buffer.as_host_vec()?, [1, 2, 3]);
//! # Ok::<(), cust::error::CudaError>(())
//! ```

use std::ffi::c_void;
use std::ptr;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::{CudaResult, DropResult, destroyed};
use crate::event::Event;
use crate::function::{BlockSize, Function, GridSize};

bitflags::bitflags! {
    /// Flags that select whether a stream and the default stream wait for each other.
    ///
    /// ```
    /// use cust::stream::StreamFlags;
    ///
    /// assert_eq!(StreamFlags::DEFAULT.bits(), 0);
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct StreamFlags: u32 {
        /// The stream and the default stream wait for each other's earlier work.
        const DEFAULT = 0x00;
        /// The stream and the default stream do not wait for each other. [`Stream::new`] ignores
        /// this flag.
        const NON_BLOCKING = 0x01;
    }
}

bitflags::bitflags! {
    /// Flags of [`Stream::wait_event`]. The driver defines no flags yet.
    ///
    /// ```
    /// use cust::stream::StreamWaitEventFlags;
    ///
    /// assert_eq!(StreamWaitEventFlags::DEFAULT, StreamWaitEventFlags::empty());
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct StreamWaitEventFlags: u32 {
        /// No flags. This is the only valid value.
        const DEFAULT = 0x0;
    }
}

/// A queue of work. Work in different streams can run concurrently. Use [`Event`]s to order work
/// across streams.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::event::{Event, EventFlags};
/// use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
///
/// let _context = cust::quick_init()?;
/// let first = Stream::new(StreamFlags::DEFAULT, None)?;
/// let second = Stream::new(StreamFlags::DEFAULT, Some(-1))?;
/// assert_eq!(second.get_priority()?, -1);
///
/// // `second` waits for the work that `first` has so far.
/// let event = Event::new(EventFlags::DISABLE_TIMING)?;
/// event.record(&first)?;
/// second.wait_event(&event, StreamWaitEventFlags::DEFAULT)?;
/// second.synchronize()?;
///
/// // SAFETY: `first` outlives `same`, which does not destroy the stream.
/// let same = unsafe { Stream::from_raw(first.as_inner()) };
/// Stream::drop(same).map_err(|(error, _)| error)?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Stream {
    inner: sys::CUstream,
    is_owned: bool,
}

// SAFETY: a stream handle may be used from any thread; driver calls are thread-safe.
unsafe impl Send for Stream {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Stream {}

impl Stream {
    /// Creates a stream in the current context. The default priority is 0. The driver clamps
    /// `priority` to the range that
    /// [`CurrentContext::get_stream_priority_range`](crate::context::CurrentContext::get_stream_priority_range)
    /// returns.
    ///
    /// `NON_BLOCKING` has no effect, as in rust-cuda: synchronous copies such as `copy_from` run on
    /// the default stream, and kernels must see the copied data.
    ///
    /// # Errors
    /// Returns an error if no context is current, or the driver's error.
    pub fn new(mut flags: StreamFlags, priority: Option<i32>) -> CudaResult<Self> {
        flags.remove(StreamFlags::NON_BLOCKING);
        let mut inner = ptr::null_mut();
        let priority = priority.unwrap_or(0);
        // SAFETY: the driver writes the handle to a local variable.
        unsafe { driver::cuStreamCreateWithPriority(&raw mut inner, flags.bits(), priority) }?;
        Ok(Self { inner, is_owned: true })
    }

    /// Wraps a stream that another library, such as a C library or `cudarc`, created and destroys.
    ///
    /// # Safety
    /// `inner` must belong to the context that is current whenever the result is used. The stream
    /// must not be destroyed before the result is dropped.
    #[must_use]
    pub unsafe fn from_raw(inner: sys::CUstream) -> Self {
        Self { inner, is_owned: false }
    }

    /// Returns the priority. A smaller number is a higher priority.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_priority(&self) -> CudaResult<i32> {
        let mut priority = 0;
        // SAFETY: the handle is alive, and the driver writes the result to a local variable.
        unsafe { driver::cuStreamGetPriority(self.inner, &raw mut priority) }?;
        Ok(priority)
    }

    /// Waits until all work submitted so far is done.
    ///
    /// # Errors
    /// Returns the driver's error, for example if that work failed.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the handle is alive.
        unsafe { driver::cuStreamSynchronize(self.inner) }
    }

    /// Makes all work that is submitted to this stream later wait for `event`. Another stream may
    /// have recorded the event.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn wait_event(&self, event: &Event, flags: StreamWaitEventFlags) -> CudaResult<()> {
        // SAFETY: both handles are alive.
        unsafe { driver::cuStreamWaitEvent(self.inner, event.as_inner(), flags.bits()) }
    }

    /// Launches a kernel. [`launch!`](crate::launch) expands to a call of this method.
    ///
    /// # Safety
    /// Each pointer in `args` must point to a value of the type of the kernel parameter at the same
    /// position. The caller must also meet the kernel's safety requirements.
    ///
    /// # Errors
    /// Returns an error if the kernel or the device does not support the grid and block sizes, or
    /// if the kernel causes a fault on the CPU. Otherwise returns the driver's error, which may
    /// come from earlier work.
    #[doc(hidden)]
    pub unsafe fn launch<G, B>(
        &self,
        function: &Function<'_>,
        grid: G,
        block: B,
        dynamic_shared: u32,
        args: &[*mut c_void],
    ) -> CudaResult<()>
    where
        G: Into<GridSize>,
        B: Into<BlockSize>,
    {
        let (grid, block): (GridSize, BlockSize) = (grid.into(), block.into());
        // SAFETY: the module of `function` is loaded, because `function` borrows the module.
        unsafe { driver::check_arguments(function.to_raw(), args.len()) }?;
        // SAFETY: the handles are alive. The caller upholds the rest of this function's safety
        // contract.
        unsafe {
            driver::cuLaunchKernel(
                function.to_raw(),
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                dynamic_shared,
                self.inner,
                args.as_ptr().cast_mut(),
                ptr::null_mut(),
            )
        }
    }

    /// Returns the driver's handle.
    #[must_use]
    pub fn as_inner(&self) -> sys::CUstream {
        self.inner
    }

    /// Destroys the stream and returns any error, which `Drop` would ignore.
    ///
    /// # Errors
    /// Returns the driver's error together with the stream.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(stream: Self) -> DropResult<Self> {
        if !stream.is_owned {
            return Ok(());
        }
        // SAFETY: the handle is alive and is destroyed only once; the driver lets the stream's work
        // finish.
        let result = unsafe { driver::cuStreamDestroy_v2(stream.inner) };
        destroyed(stream, result)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.is_owned {
            // SAFETY: the handle is alive and is destroyed only once. Drop cannot report a failure.
            let _ = unsafe { driver::cuStreamDestroy_v2(self.inner) };
        }
    }
}
