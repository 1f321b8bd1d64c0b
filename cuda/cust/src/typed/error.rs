//! What can go wrong on a device: which operation, where in the caller's source, and whether the
//! device is still usable afterwards.

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
    /// What was attempted.
    pub operation: &'static str,
    /// Where in the calling source.
    pub location: &'static Location<'static>,
    /// Why it failed.
    pub kind: ErrorKind,
}

/// Why a device operation failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No NVIDIA driver could be loaded.
    #[error("{0}, or name the device `cpu`")]
    NoDriver(String),
    /// There is a driver, but not this device.
    #[error("there is no CUDA device {ordinal}: the driver reports {count}")]
    NoDevice {
        /// The ordinal asked for.
        ordinal: u32,
        /// How many there are.
        count: u32,
    },
    /// The GPU is older than every architecture that the kernels were compiled for.
    #[error(
        "the GPU is {gpu} but the kernels were compiled for {compiled}; build them with `CudaBuilder::arch` for it"
    )]
    NoKernelImage {
        /// The GPU's architecture.
        gpu: String,
        /// Those in the binary.
        compiled: String,
    },
    /// No loaded module has this kernel.
    #[error("no loaded PTX module has a kernel `{0}`; load the module it was compiled into")]
    UnknownKernel(String),
    /// The driver refused the PTX.
    #[error("{cause}; the PTX compiler says: {log}")]
    BadPtx {
        /// The driver's error.
        cause: Box<ErrorKind>,
        /// What its compiler wrote.
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
    /// The launch was refused before it reached the device.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A kernel did on the CPU what is undefined on a GPU.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// Source and destination of a copy differ in size.
    #[error("{what}: {found:?} given, {expected:?} needed")]
    SizeMismatch {
        /// What is of the wrong size.
        what: &'static str,
        /// The size given, in elements.
        found: (usize, usize),
        /// The size needed.
        expected: (usize, usize),
    },
    /// A layer above refused the operation, for a reason of its own.
    #[error(transparent)]
    Refused(Arc<dyn Error + Send + Sync>),
    /// A size that no allocation can have.
    #[error("an allocation of {0} is empty or larger than the address space")]
    ImpossibleSize(String),
    /// Host memory ran out.
    #[error("out of host memory allocating {0} bytes")]
    OutOfHostMemory(usize),
    /// Time was asked of an event that was never recorded.
    #[error("the event was not recorded; record it on a stream first")]
    NotRecorded,
    /// Whole integers cannot be filtered, and floats cannot be read as integers.
    #[error(
        "integers as they are can only be read by point from an integer format; read as `Vec4` instead"
    )]
    UnreadableTexture,
    /// Memory and stream belong to different devices.
    #[error("the memory lies on {found} but the stream runs on {wanted}; copy it there first")]
    WrongDevice {
        /// Where the memory lies.
        found: Place,
        /// Where the stream runs.
        wanted: Place,
    },
}

impl DeviceError {
    /// An error of `operation`, located at the caller.
    #[must_use]
    #[track_caller]
    pub fn new(operation: &'static str, kind: impl Into<ErrorKind>) -> Self {
        Self { operation, location: Location::caller(), kind: kind.into() }
    }

    /// A refusal of `operation` by a layer above, located at the caller.
    #[must_use]
    #[track_caller]
    pub fn refused(operation: &'static str, reason: impl Error + Send + Sync + 'static) -> Self {
        Self::new(operation, ErrorKind::Refused(Arc::new(reason)))
    }

    /// Whether CUDA says that the process must be restarted: nothing on this device can succeed.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        match &self.kind {
            ErrorKind::Cuda { code, .. } => is_fatal(CUresult(*code)),
            ErrorKind::Lost(_) => true,
            _ => false,
        }
    }

    /// Whether the same may succeed if it is done again: an error of the driver's that is not fatal.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self.kind, ErrorKind::Cuda { .. }) && !self.is_fatal()
    }

    /// Whether there simply is no usable device.
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

/// Whether by the driver API's description "the process must be terminated and relaunched", or the
/// context is gone.
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

/// Results that lack the operation and the caller's place in the source: the driver's, and plain
/// reasons.
///
/// A closure has no caller, so what is checked inside one is located in this crate, until
/// [`CudaDevice::enter`](super::cuda::CudaDevice::enter) puts that right.
pub(crate) trait Check {
    type Value;

    /// Adds both.
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
