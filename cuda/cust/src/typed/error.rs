//! Errors of device operations. An error contains the operation, the caller's source location and
//! the reason, and states whether the device is still usable.

use std::error::Error;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use cuda_std::cpu::Fault;
use cuda_std::launch::{LaunchError, Place};
use cust_raw::driver_sys::CUresult;

/// An error of a device operation.
///
/// Its `Debug` form is its message, because Rust prints this form if `main` or a test returns the
/// error, or if `expect` panics.
///
/// ```
/// use cust::typed::{Buffer, Device, DeviceError, ErrorKind};
///
/// let stream = Device::cpu().stream()?;
/// let error = Buffer::<u32>::from_slice(&stream, &[]).unwrap_err();
/// assert!(error.to_string().starts_with("allocating a buffer failed at "));
/// assert!(matches!(error.kind, ErrorKind::ImpossibleSize(_)));
/// // The device is still usable, but a retry would fail again.
/// assert!(!error.is_fatal() && !error.may_pass() && !error.is_no_device());
///
/// // A program can report its own errors in the same way.
/// let error = DeviceError::refused("reading a mask", "empty".parse::<u32>().unwrap_err());
/// assert!(error.to_string().ends_with(": invalid digit found in string"));
/// assert_eq!(error.location.file(), file!());
/// # Ok::<(), DeviceError>(())
/// ```
#[derive(Clone, thiserror::Error)]
#[error("{operation} failed at {location}: {kind}")]
pub struct DeviceError {
    /// The operation that failed, as a noun phrase such as `launching a kernel`.
    pub operation: &'static str,
    /// The source location of the call that failed.
    pub location: &'static Location<'static>,
    /// The reason for the failure.
    pub kind: ErrorKind,
}

impl fmt::Debug for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The reason why a device operation failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant describes its fields")]
pub enum ErrorKind {
    /// No NVIDIA driver could be loaded. The field contains the reason and a remedy, to which the
    /// message adds another remedy.
    #[error("{0}, or use the device `cpu`")]
    NoDriver(String),
    /// There is no GPU with the requested ordinal, or it cannot run the kernels. The field contains
    /// the reason and a remedy.
    #[error("{0}")]
    NoDevice(String),
    /// The driver rejected the PTX with the error `cause`. `log` is the output of its PTX compiler.
    #[error(
        "{cause}; update the driver if it is too old for the PTX version, otherwise correct the \
         kernel; the PTX compiler reports: {log}"
    )]
    BadPtx { cause: Box<ErrorKind>, log: String },
    /// The driver returned the `CUresult` `code`, which has this name and description.
    #[error("{name} ({code}): {text}")]
    Cuda { code: u32, name: String, text: String },
    /// An earlier fatal error has made this device unusable for the rest of the process.
    #[error("the device was lost when {0}; restart the process")]
    Lost(Box<DeviceError>),
    /// A check rejected the launch before it reached the device.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A kernel on the CPU did something whose behaviour on a GPU is undefined, such as an
    /// out-of-bounds access.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// `what` has the width and height `found` instead of `expected`, in elements, or in bytes if
    /// `what` says so.
    #[error(
        "{what}: the size is {}×{}, expected {}×{}",
        .found.0, .found.1, .expected.0, .expected.1
    )]
    SizeMismatch { what: &'static str, found: (usize, usize), expected: (usize, usize) },
    /// Code outside this crate rejected the operation. [`DeviceError::refused`] creates this error.
    #[error(transparent)]
    Refused(Arc<dyn Error + Send + Sync>),
    /// The size of an allocation is zero or too large, or the pitch of an image is invalid. The
    /// field describes the requested allocation and the limit.
    #[error("cannot allocate {0}")]
    ImpossibleSize(String),
    /// The host does not have this many bytes of free memory.
    #[error("cannot allocate {0} bytes of host memory; free memory or allocate less")]
    OutOfHostMemory(usize),
    /// The object does not support the operation. The field contains the reason and a remedy.
    #[error("{0}")]
    Invalid(String),
    /// An object of the device `found`, such as memory, was used with an object of `wanted`, such as
    /// a stream.
    #[error("an object on {found} cannot be used on {wanted}; create the object on {wanted}")]
    WrongDevice { found: Place, wanted: Place },
}

impl DeviceError {
    /// Creates an error for the failed `operation`, with the caller's source location.
    #[must_use]
    #[track_caller]
    pub fn new(operation: &'static str, kind: impl Into<ErrorKind>) -> Self {
        Self { operation, location: Location::caller(), kind: kind.into() }
    }

    /// Creates an error for an `operation` that code outside this crate rejected, with the caller's
    /// source location.
    #[must_use]
    #[track_caller]
    pub fn refused(operation: &'static str, reason: impl Error + Send + Sync + 'static) -> Self {
        Self::new(operation, ErrorKind::Refused(Arc::new(reason)))
    }

    /// Returns whether the error is fatal: no later operation on the device can succeed, and CUDA
    /// requires that the process is restarted.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        match &self.kind {
            ErrorKind::Cuda { code, .. } => is_fatal(CUresult(*code)),
            ErrorKind::Lost(_) => true,
            _ => false,
        }
    }

    /// Returns whether a retry may succeed: true for driver errors that are not fatal.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self.kind, ErrorKind::Cuda { .. }) && !self.is_fatal()
    }

    /// Returns whether the error means that there is no usable device.
    #[must_use]
    pub fn is_no_device(&self) -> bool {
        match &self.kind {
            ErrorKind::NoDriver(_) | ErrorKind::NoDevice(_) => true,
            ErrorKind::Cuda { code, .. } => CUresult(*code) == CUresult::CUDA_ERROR_NO_DEVICE,
            _ => false,
        }
    }
}

/// Returns whether `code` is fatal: NVIDIA's manual says of this error that "the process must be
/// terminated and relaunched", or the error means that the context no longer exists.
pub(super) fn is_fatal(code: CUresult) -> bool {
    matches!(
        code,
        CUresult::CUDA_ERROR_DEINITIALIZED
            | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | CUresult::CUDA_ERROR_CONTAINED
            | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
    )
}

impl From<CUresult> for ErrorKind {
    fn from(error: CUresult) -> Self {
        Self::Cuda {
            code: error.0,
            name: error.name().into_owned(),
            text: error.text().into_owned(),
        }
    }
}

/// A driver result code, or a `Result` whose error converts to an [`ErrorKind`].
/// [`check`](Self::check) converts either to a `Result` with a [`DeviceError`].
///
/// `#[track_caller]` has no effect in a closure, so the location of an error that a closure creates
/// is in this crate. [`CudaDevice::enter`](super::cuda::CudaDevice::enter) replaces that location
/// with the caller's.
pub(crate) trait Check {
    type Value;

    /// Adds the operation and the caller's location to an error.
    #[track_caller]
    fn check(self, operation: &'static str) -> Result<Self::Value, DeviceError>;
}

impl<T, E: Into<ErrorKind>> Check for Result<T, E> {
    type Value = T;

    #[track_caller]
    fn check(self, operation: &'static str) -> Result<T, DeviceError> {
        match self {
            Ok(value) => Ok(value),
            Err(reason) => Err(DeviceError::new(operation, reason)),
        }
    }
}

impl Check for CUresult {
    type Value = ();

    #[track_caller]
    fn check(self, operation: &'static str) -> Result<(), DeviceError> {
        self.to_result().check(operation)
    }
}
