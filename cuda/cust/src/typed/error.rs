//! Errors of device operations: the operation, the caller's source location, and whether the device
//! is still usable afterwards.

use std::error::Error;
use std::panic::Location;
use std::sync::Arc;

use cuda_std::cpu::Fault;
use cuda_std::launch::{LaunchError, Place};
use cust_raw::driver_sys::CUresult;

/// A device operation failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{operation} failed at {location}: {kind}")]
pub struct DeviceError {
    /// The attempted operation.
    pub operation: &'static str,
    /// The location in the caller's source.
    pub location: &'static Location<'static>,
    /// The reason for the failure.
    pub kind: ErrorKind,
}

/// The reason why a device operation failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No NVIDIA driver could be loaded.
    #[error("{0}, or use the device `cpu`")]
    NoDriver(String),
    /// The driver does not have this device.
    #[error("there is no CUDA device {ordinal}: the driver reports {count}")]
    NoDevice {
        /// The requested ordinal.
        ordinal: u32,
        /// The number of devices.
        count: u32,
    },
    /// The GPU is older than every architecture that the kernels were compiled for.
    #[error(
        "the GPU is {gpu} but the kernels were compiled for {compiled}; rebuild them with `CudaBuilder::arch` set for this GPU"
    )]
    NoKernelImage {
        /// The GPU's architecture.
        gpu: String,
        /// The architectures in the binary.
        compiled: String,
    },
    /// No loaded module has this kernel.
    #[error("no loaded PTX module has a kernel `{0}`; load the module it was compiled into")]
    UnknownKernel(String),
    /// The driver rejected the PTX.
    #[error("{cause}; the PTX compiler says: {log}")]
    BadPtx {
        /// The driver's error.
        cause: Box<ErrorKind>,
        /// The output of its compiler.
        log: String,
    },
    /// The driver returned an error.
    #[error("{name} ({code}): {text}")]
    Cuda {
        /// The `CUresult`.
        code: u32,
        /// Its name, such as `CUDA_ERROR_OUT_OF_MEMORY`.
        name: String,
        /// The driver's description.
        text: String,
    },
    /// An earlier fatal error has ended this device for the process.
    #[error("the device was lost when {0}; restart the process")]
    Lost(Box<DeviceError>),
    /// A check rejected the launch before it reached the device.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A kernel on the CPU did something that is undefined on a GPU.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// Source and destination of a copy differ in size.
    #[error("{what}: {found:?} given, {expected:?} needed")]
    SizeMismatch {
        /// The object with the wrong size.
        what: &'static str,
        /// The size given, in elements.
        found: (usize, usize),
        /// The size needed.
        expected: (usize, usize),
    },
    /// A layer above rejected the operation for a reason of its own.
    #[error(transparent)]
    Refused(Arc<dyn Error + Send + Sync>),
    /// A size that no allocation can have.
    #[error("an allocation of {0} is empty or larger than the address space")]
    ImpossibleSize(String),
    /// Host memory ran out.
    #[error("out of host memory allocating {0} bytes")]
    OutOfHostMemory(usize),
    /// The event whose time was requested was never recorded.
    #[error("the event was not recorded; record it on a stream first")]
    NotRecorded,
    /// The texture unit cannot filter whole integers or read floats as integers.
    #[error("reads as `UVec4` need point filtering and an integer format; read as `Vec4` instead")]
    UnreadableTexture,
    /// The memory and the stream belong to different devices.
    #[error("the memory lies on {found} but the stream runs on {wanted}; copy it there first")]
    WrongDevice {
        /// The device of the memory.
        found: Place,
        /// The device of the stream.
        wanted: Place,
    },
}

impl DeviceError {
    /// Creates an error of `operation`, located at the caller.
    #[must_use]
    #[track_caller]
    pub fn new(operation: &'static str, kind: impl Into<ErrorKind>) -> Self {
        Self { operation, location: Location::caller(), kind: kind.into() }
    }

    /// Creates an error for an `operation` that a layer above rejected, located at the caller.
    #[must_use]
    #[track_caller]
    pub fn refused(operation: &'static str, reason: impl Error + Send + Sync + 'static) -> Self {
        Self::new(operation, ErrorKind::Refused(Arc::new(reason)))
    }

    /// Returns whether, according to CUDA, the process must be restarted because nothing on this
    /// device can succeed.
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
            ErrorKind::NoDriver(_)
            | ErrorKind::NoDevice { .. }
            | ErrorKind::NoKernelImage { .. } => true,
            ErrorKind::Cuda { code, .. } => CUresult(*code) == CUresult::CUDA_ERROR_NO_DEVICE,
            _ => false,
        }
    }
}

/// Returns whether the driver API documents this error with "the process must be terminated and
/// relaunched", or the context is gone.
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

/// A result that lacks the operation and the caller's location: the driver's results and plain
/// reasons.
///
/// A closure has no caller, so an error inside one is located in this crate until
/// [`CudaDevice::enter`](super::cuda::CudaDevice::enter) sets the location.
pub(crate) trait Check {
    type Value;

    /// Adds the operation and the location.
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
