//! The driver's errors, by code.
//!
//! An error that the driver does not explain, such as a fault of a kernel on the CPU, is also written
//! to standard error, as a GPU does for a failed assertion in a kernel. [`last_fault`] returns the
//! kernel, the block, the thread and the cause.
//!
//! ```
//! use cust::error::CudaError;
//! use cust::sys::CUresult;
//!
//! assert_eq!(CudaError::InvalidDevice.code(), 101);
//! assert_eq!(CudaError::from(CUresult::CUDA_ERROR_NO_DEVICE), CudaError::NoDevice);
//! println!("{}", CudaError::NoDevice);
//! ```

use std::cell::RefCell;
use std::error::Error;
use std::fmt;

use cuda_std::cpu::{Fault, FaultKind};
use cust_raw::driver_sys::CUresult;

use crate::typed::{DeviceError, ErrorKind};

/// An error code of the driver. The codes that programs compare have a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CudaError(CUresult);

macro_rules! codes {
    ($($raw:ident = $code:literal => $name:ident,)+) => {
        #[allow(missing_docs, non_upper_case_globals, reason = "rust-cuda's variants")]
        impl CudaError {
            $(pub const $name: Self = Self(CUresult::$raw);)+

            fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($name)),)+
                    Self::InvalidMemoryAllocation => Some("InvalidMemoryAllocation"),
                    _ => None,
                }
            }
        }
    };
}

cust_raw::error_codes! { codes }

impl CudaError {
    /// The size of an allocation exceeds the address space, or its elements need an alignment that
    /// memory does not have. rust-cuda defines this code.
    #[allow(non_upper_case_globals, reason = "rust-cuda's variant")]
    pub const InvalidMemoryAllocation: Self = Self(CUresult(100_100));

    /// Returns the driver's code.
    #[must_use]
    pub fn code(self) -> u32 {
        self.0.0
    }
}

impl From<CUresult> for CudaError {
    fn from(code: CUresult) -> Self {
        Self(code)
    }
}

impl fmt::Debug for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => fmt::Debug::fmt(&self.0, f),
        }
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::InvalidMemoryAllocation => f.write_str(
                "invalid allocation: the size exceeds the address space, or the alignment of the \
                 elements exceeds that of the memory",
            ),
            Self(code) => fmt::Display::fmt(&code, f),
        }
    }
}

impl Error for CudaError {}

/// The result of a call that can fail with a [`CudaError`].
pub type CudaResult<T> = Result<T, CudaError>;

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

impl From<DeviceError> for CudaError {
    /// Returns the code that a GPU's driver reports for such an error. An error that does not come
    /// from the driver is also written to standard error, because its code does not explain it.
    fn from(error: DeviceError) -> Self {
        if !matches!(error.kind, ErrorKind::Cuda { .. }) {
            eprintln!("cust: {} failed: {}", error.operation, error.kind);
        }
        if let ErrorKind::Fault(fault) = &error.kind {
            LAST_FAULT.set(Some((**fault).clone()));
        }
        code(&error.kind)
    }
}

fn code(kind: &ErrorKind) -> CudaError {
    match kind {
        ErrorKind::Cuda { code, .. } => CudaError(CUresult(*code)),
        ErrorKind::Lost(first) => code(&first.kind),
        ErrorKind::BadPtx { cause, .. } => code(cause),
        ErrorKind::NoDriver(_) => CudaError::NoDevice,
        ErrorKind::NoDevice(_) => CudaError::InvalidDevice,
        ErrorKind::Fault(fault) => match fault.kind {
            FaultKind::OutOfBounds { .. } => CudaError::IllegalAddress,
            _ => CudaError::LaunchFailed,
        },
        ErrorKind::ImpossibleSize(_) => CudaError::InvalidMemoryAllocation,
        ErrorKind::OutOfHostMemory(_) => CudaError::OutOfMemory,
        ErrorKind::WrongDevice { .. } => CudaError::InvalidContext,
        ErrorKind::Launch(_) | ErrorKind::SizeMismatch { .. } | ErrorKind::Invalid(_) => {
            CudaError::InvalidValue
        }
        ErrorKind::Refused(_) => CudaError::OperatingSystemError,
    }
}
