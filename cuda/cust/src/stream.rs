//! Streams: queues of copies and launches that run in order.

use std::ffi::c_void;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::{CudaResult, DropResult};
use crate::event::Event;
use crate::function::{BlockSize, Function, GridSize};

bitflags::bitflags! {
    /// How a stream stands to the default stream.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct StreamFlags: u32 {
        /// Waits for the default stream, and is waited for by it.
        const DEFAULT = 0x00;
        /// Does neither.
        const NON_BLOCKING = 0x01;
    }
}

bitflags::bitflags! {
    /// Reserved by the driver.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct StreamWaitEventFlags: u32 {
        /// The only value.
        const DEFAULT = 0x0;
    }
}

/// A queue of work. Two streams run side by side; [`Event`]s make order between them.
#[derive(Debug)]
pub struct Stream {
    inner: sys::CUstream,
    is_owned: bool,
}

// SAFETY: a stream handle may be used from any thread; the driver locks.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A stream of the current context. Priorities are those of
    /// [`CurrentContext::get_stream_priority_range`](crate::context::CurrentContext::get_stream_priority_range);
    /// the driver takes the nearest one, and without a wish 0.
    ///
    /// As in rust-cuda `NON_BLOCKING` has no effect: copies that wait, such as `copy_from`, are made on
    /// the default stream, and kernels must see what they wrote.
    ///
    /// # Errors
    /// No current context, or what the driver says.
    pub fn new(mut flags: StreamFlags, priority: Option<i32>) -> CudaResult<Self> {
        flags.remove(StreamFlags::NON_BLOCKING);
        let mut inner = ptr::null_mut();
        let priority = priority.unwrap_or(0);
        // SAFETY: the handle is written.
        unsafe { driver::cuStreamCreateWithPriority(&raw mut inner, flags.bits(), priority) }?;
        Ok(Self { inner, is_owned: true })
    }

    /// A stream that another library made, such as a C library or `cudarc`, and destroys itself.
    ///
    /// # Safety
    /// The stream belongs to the context that is current when this one is used, and outlives it.
    #[must_use]
    pub unsafe fn from_raw(inner: sys::CUstream) -> Self {
        Self { inner, is_owned: false }
    }

    /// What it was made with.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_flags(&self) -> CudaResult<StreamFlags> {
        let mut bits = 0;
        // SAFETY: the handle is alive, the result is written.
        unsafe { driver::cuStreamGetFlags(self.inner, &raw mut bits) }?;
        Ok(StreamFlags::from_bits_truncate(bits))
    }

    /// Its priority; a smaller number goes before a greater.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_priority(&self) -> CudaResult<i32> {
        let mut priority = 0;
        // SAFETY: the handle is alive, the result is written.
        unsafe { driver::cuStreamGetPriority(self.inner, &raw mut priority) }?;
        Ok(priority)
    }

    /// Calls `callback` on a thread of the driver's once all work so far is done, with its result. The
    /// callback must not call the driver. If it panics, the panic ends there.
    ///
    /// The callback may run after this call has returned, so it borrows nothing; in rust-cuda it may:
    ///
    /// ```compile_fail
    /// # fn f(stream: &cust::stream::Stream) {
    /// let mut done = false;
    /// stream.add_callback(Box::new(|_| done = true)).unwrap();
    /// # }
    /// ```
    ///
    /// # Errors
    /// What the driver says; then the callback is not called.
    pub fn add_callback<T>(&self, callback: Box<T>) -> CudaResult<()>
    where
        T: FnOnce(CudaResult<()>) + Send + 'static,
    {
        let data = Box::into_raw(callback);
        // SAFETY: the handle is alive; the wrapper takes the box back, once.
        let result =
            unsafe { driver::cuStreamAddCallback(self.inner, Some(call::<T>), data.cast(), 0) };
        if result.is_err() {
            // SAFETY: the driver did not take it.
            mem::drop(unsafe { Box::from_raw(data) });
        }
        result
    }

    /// Waits until all work so far is done.
    ///
    /// # Errors
    /// What the driver says of that work.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the handle is alive.
        unsafe { driver::cuStreamSynchronize(self.inner) }
    }

    /// Makes work from now on wait for `event`, which may be another stream's.
    ///
    /// # Errors
    /// What the driver says.
    pub fn wait_event(&self, event: &Event, flags: StreamWaitEventFlags) -> CudaResult<()> {
        // SAFETY: both handles are alive.
        unsafe { driver::cuStreamWaitEvent(self.inner, event.as_inner(), flags.bits()) }
    }

    /// Launches a kernel; [`launch!`](crate::launch) calls it.
    ///
    /// # Safety
    /// `args` are pointers to the kernel's parameters, in their order and of their types, and the rest is
    /// what the kernel asks for.
    ///
    /// # Errors
    /// A shape that the kernel or the device does not allow; on the CPU a fault of the kernel; what the
    /// driver says, of earlier work too.
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
        // SAFETY: the function borrows its module.
        unsafe { driver::check_arguments(function.to_raw(), args.len()) }?;
        // SAFETY: the handles are alive; the rest is the caller's.
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

    /// The driver's handle.
    #[must_use]
    pub fn as_inner(&self) -> sys::CUstream {
        self.inner
    }

    /// Destroys the stream; what drop does without telling.
    ///
    /// # Errors
    /// What the driver says, and the stream.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(stream: Self) -> DropResult<Self> {
        if !stream.is_owned {
            return Ok(());
        }
        // SAFETY: made here and destroyed once; the driver lets its work finish.
        match unsafe { driver::cuStreamDestroy_v2(stream.inner) } {
            Ok(()) => {
                mem::forget(stream);
                Ok(())
            }
            Err(error) => Err((error, stream)),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.is_owned {
            // SAFETY: made here and destroyed once. Nobody is there to tell of a failure.
            let _ = unsafe { driver::cuStreamDestroy_v2(self.inner) };
        }
    }
}

/// Calls a callback that `add_callback` boxed.
///
/// # Safety
/// `data` is the box, which is not used again.
unsafe extern "C" fn call<T: FnOnce(CudaResult<()>) + Send>(
    _stream: sys::CUstream,
    status: sys::CUresult,
    data: *mut c_void,
) {
    // SAFETY: as the caller vouches.
    let callback = unsafe { Box::from_raw(data.cast::<T>()) };
    // A panic must not cross into the driver. The hook has reported it.
    let _ = panic::catch_unwind(AssertUnwindSafe(|| {
        callback(status.to_result().map_err(Into::into));
    }));
}
