//! The driver's errors, as an enum with a variant for each code.
//!
//! If a kernel fails on the CPU, [`last_fault`] returns more than an error code: the kernel, the
//! block, the thread and the cause. The launch also writes these details to standard error, as a
//! GPU does for a failed assertion in a kernel.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::device::Device;
//! use cust::error::{CudaError, CudaResult};
//!
//! fn name(ordinal: u32) -> CudaResult<String> {
//!     Device::get_device(ordinal)?.name()
//! }
//!
//! cust::init(cust::CudaFlags::empty())?;
//! assert_eq!(name(99), Err(CudaError::InvalidDevice));
//! # Ok::<(), CudaError>(())
//! ```

use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::mem;

use cuda_std::cpu::{Fault, FaultKind};
use cust_raw::driver_sys::CUresult;

pub use cust_raw::error::DriverError;

macro_rules! codes {
    ($($raw:ident = $code:literal => $name:ident,)+) => {
        /// An error code of the driver.
        ///
        /// ```
        /// use cust::error::CudaError;
        /// use cust::sys::CUresult;
        ///
        /// assert_eq!(CudaError::InvalidDevice.code(), 101);
        /// assert_eq!(CudaError::from(CUresult::CUDA_ERROR_NO_DEVICE), CudaError::NoDevice);
        /// println!("{}", CudaError::NoDevice);
        /// ```
        #[repr(u32)]
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the driver's own names, which NVIDIA's manual explains")]
        pub enum CudaError {
            $($name = $code,)+
            /// The size of an allocation is zero or exceeds the address space, the alignment of its
            /// elements exceeds 256 bytes, or the pointer to free is null. This code is defined by
            /// rust-cuda and is not a driver code.
            InvalidMemoryAllocation = 100_100,
            /// An OptiX error. This code is defined by rust-cuda and is not a driver code. No
            /// function of this crate returns it.
            OptixError = 100_101,
        }

        impl From<CUresult> for CudaError {
            /// Converts a driver result code. A code that this crate does not know becomes
            /// [`UnknownError`](Self::UnknownError).
            fn from(code: CUresult) -> Self {
                match code {
                    $(CUresult::$raw => Self::$name,)+
                    _ => Self::UnknownError,
                }
            }
        }
    };
}

cust_raw::error_codes! { codes }

impl CudaError {
    /// Returns the driver's code.
    #[must_use]
    pub fn code(self) -> u32 {
        self as u32
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidMemoryAllocation => f.write_str(
                "invalid size or pointer: a size is zero or exceeds the address space, elements \
                 are aligned to more than 256 bytes, or the pointer to free is null",
            ),
            Self::OptixError => f.write_str("OptiX error; this crate does not support OptiX"),
            driver => fmt::Display::fmt(&CUresult(driver.code()), f),
        }
    }
}

impl Error for CudaError {}

/// The result of a call that can fail with a [`CudaError`].
///
/// ```
/// use cust::error::{CudaError, CudaResult};
///
/// fn half(bytes: usize) -> CudaResult<usize> {
///     if bytes % 2 == 0 { Ok(bytes / 2) } else { Err(CudaError::InvalidValue) }
/// }
///
/// assert_eq!(half(3), Err(CudaError::InvalidValue));
/// ```
pub type CudaResult<T> = Result<T, CudaError>;

/// The result of an explicit drop. On failure, it contains the driver's error and the value that
/// could not be dropped.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::DeviceBuffer;
///
/// let _context = cust::quick_init()?;
/// let buffer = DeviceBuffer::from_slice(&[1, 2, 3])?;
/// match DeviceBuffer::drop(buffer) {
///     Ok(()) => println!("freed"),
///     // The buffer is still alive, so the program can try again later.
///     Err((error, buffer)) => println!("{error}: {} elements leak", buffer.len()),
/// }
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub type DropResult<T> = Result<(), (CudaError, T)>;

/// Returns the result of destroying `object`. An object that the driver has destroyed is not dropped
/// again; any other goes back to the caller.
pub(crate) fn destroyed<T>(object: T, result: CudaResult<()>) -> DropResult<T> {
    match result {
        Ok(()) => {
            mem::forget(object);
            Ok(())
        }
        Err(error) => Err((error, object)),
    }
}

thread_local! {
    static LAST_FAULT: RefCell<Option<Fault>> = const { RefCell::new(None) };
}

/// Returns the most recent fault among the kernels that this thread launched by name on the CPU.
/// The fault names the kernel, the block, the thread and the cause.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cuda_std::prelude::*;
/// use cust::error::{CudaError, last_fault};
/// use cust::launch;
/// use cust::module::Module;
/// use cust::stream::{Stream, StreamFlags};
///
/// #[kernel]
/// pub fn give_up() {
///     trap();
/// }
///
/// # const PTX: &str = ".version 7.0\n.target sm_75\n.visible .entry give_up() { ret; }";
/// let _context = cust::quick_init()?;
/// let module = Module::from_ptx(PTX, &[])?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// // SAFETY: the kernel takes no arguments.
/// let result = unsafe { launch!(module.give_up<<<1, 1, 0, stream>>>()) };
/// assert_eq!(result, Err(CudaError::LaunchFailed));
/// assert_eq!(last_fault().map(|fault| fault.kernel), Some("give_up"));
/// # Ok::<(), CudaError>(())
/// ```
#[must_use]
pub fn last_fault() -> Option<Fault> {
    LAST_FAULT.with_borrow(Clone::clone)
}

/// Stores `fault` for [`last_fault`], writes it to standard error, and returns the code that a
/// GPU's driver reports for such a fault.
pub(crate) fn report(fault: Fault) -> CUresult {
    eprintln!("{fault}");
    let code = match fault.kind {
        FaultKind::OutOfBounds { .. } => CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
        _ => CUresult::CUDA_ERROR_LAUNCH_FAILED,
    };
    LAST_FAULT.set(Some(fault));
    code
}

/// Writes `text`, which explains the error `code`, to standard error and returns `code`.
pub(crate) fn explain(code: CUresult, text: &str) -> CUresult {
    eprintln!("cust: {text}");
    code
}
