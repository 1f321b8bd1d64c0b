//! Streams: queues of copies and launches that run in order.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::event::{Event, EventFlags};
//! use cust::stream::{Stream, StreamFlags};
//!
//! let _context = cust::quick_init()?;
//! let first = Stream::new(StreamFlags::DEFAULT, None)?;
//! let second = Stream::new(StreamFlags::DEFAULT, Some(-1))?;
//!
//! // `second` waits for the work that `first` has so far.
//! let event = Event::new(EventFlags::DISABLE_TIMING)?;
//! event.record(&first)?;
//! second.wait_event(&event)?;
//! second.synchronize()?;
//! # Ok::<(), cust::error::CudaError>(())
//! ```

use std::ffi::c_void;

use cuda_std::launch::LaunchConfig;
use cust_raw::driver_sys as sys;

use crate::context::current;
use crate::error::CudaResult;
use crate::event::Event;
use crate::function::{BlockSize, Function, GridSize};
use crate::typed::{self, Priority};

bitflags::bitflags! {
    /// Flags that select whether a stream and the default stream wait for each other.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct StreamFlags: u32 {
        /// The stream and the default stream wait for each other's earlier work.
        const DEFAULT = 0x00;
        /// Has no effect, as in rust-cuda: synchronous copies such as `copy_from` run on the default
        /// stream, and kernels must see the copied data.
        const NON_BLOCKING = 0x01;
    }
}

/// A queue of work. Work in different streams can run concurrently. Use [`Event`]s to order work
/// across streams.
///
/// Each method returns the driver's error, which may come from earlier work.
#[derive(Debug)]
pub struct Stream(pub(crate) typed::Stream);

impl Stream {
    /// Creates a stream in the current context. A negative priority is the driver's highest one,
    /// any other its lowest.
    pub fn new(_flags: StreamFlags, priority: Option<i32>) -> CudaResult<Self> {
        let is_urgent = priority.is_some_and(|priority| priority < 0);
        let priority = if is_urgent { Priority::High } else { Priority::Default };
        Ok(Self(typed::Stream::with_flags(&current()?, priority, 0)?))
    }

    /// Waits until all work submitted so far is done.
    pub fn synchronize(&self) -> CudaResult<()> {
        Ok(self.0.synchronize()?)
    }

    /// Makes all work that is submitted to this stream later wait for `event`. Another stream may
    /// have recorded the event.
    pub fn wait_event(&self, event: &Event) -> CudaResult<()> {
        Ok(self.0.wait(&event.0)?)
    }

    /// Launches a kernel. [`launch!`](crate::launch) expands to a call of this method.
    ///
    /// # Safety
    /// Each pointer in `args` must point to a value of the type of the kernel parameter at the same
    /// position. The caller must also meet the kernel's safety requirements.
    ///
    /// # Errors
    /// Returns an error if the kernel or the device does not support the grid and block sizes, if
    /// the kernel causes a fault on the CPU, or the driver's error.
    #[doc(hidden)]
    pub unsafe fn launch(
        &self,
        function: &Function<'_>,
        grid: impl Into<GridSize>,
        block: impl Into<BlockSize>,
        dynamic_shared: u32,
        args: &[*mut c_void],
    ) -> CudaResult<()> {
        let (grid, block): (GridSize, BlockSize) = (grid.into(), block.into());
        let config = LaunchConfig {
            grid: [grid.x, grid.y, grid.z],
            block: [block.x, block.y, block.z],
            dynamic_shared,
        };
        // SAFETY: the module of `function` is loaded, because `function` borrows the module. The
        // caller upholds the rest of this function's safety contract.
        Ok(unsafe { self.0.launch_named(&config, function.kernel, args) }?)
    }

    /// Returns the driver's handle, or null on the CPU.
    #[must_use]
    pub fn as_inner(&self) -> sys::CUstream {
        self.0.as_raw()
    }
}
