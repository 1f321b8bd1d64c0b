//! What can go wrong on a device: which operation, where in the caller's source, and whether the
//! device is still usable afterwards.

use std::ffi::{CStr, c_char};
use std::panic::Location;
use std::ptr;

use cuda_std::cpu::Fault;
use cuda_std::launch::{LaunchError, Place};
use cust::error::CudaError;
use cust::sys;
use thiserror::Error;

use crate::frame::FrameFormat;

/// A device operation failed.
#[derive(Clone, Debug, Error)]
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
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No NVIDIA driver could be loaded.
    #[error("{0}, or use the CPU")]
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
    #[error("the device was lost to an earlier fatal error; restart the process")]
    Lost,
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
    /// A frame of one format was given where another is needed.
    #[error("{found} given, {expected} needed")]
    FormatMismatch {
        /// The format given.
        found: FrameFormat,
        /// The format needed.
        expected: FrameFormat,
    },
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
    #[track_caller]
    pub(crate) fn new(operation: &'static str, kind: impl Into<ErrorKind>) -> Self {
        Self { operation, location: Location::caller(), kind: kind.into() }
    }

    /// Whether CUDA says that the process must be restarted: nothing on this device can succeed.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        match &self.kind {
            ErrorKind::Cuda { code, .. } => is_fatal(*code),
            ErrorKind::Lost => true,
            _ => false,
        }
    }

    /// Whether there simply is no usable device.
    #[must_use]
    pub fn is_no_device(&self) -> bool {
        match &self.kind {
            ErrorKind::NoDriver(_)
            | ErrorKind::NoDevice { .. }
            | ErrorKind::NoKernelImage { .. } => true,
            ErrorKind::Cuda { code, .. } => *code == NO_DEVICE,
            _ => false,
        }
    }
}

const NO_DEVICE: u32 = 100;

/// The codes after which "the process must be terminated and relaunched", or after which the context
/// is gone, by the CUDA driver API's description of `CUresult`: uncorrectable ECC (214), NVLink
/// (220), illegal address, timeout, context destroyed, assert, and the hardware exceptions.
fn is_fatal(code: u32) -> bool {
    matches!(code, 4 | 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719)
}

impl ErrorKind {
    /// Asks the driver for name and description of a code.
    fn cuda(code: u32) -> Self {
        // `cust` has codes of its own from 100100 on, which the driver does not know.
        let text =
            |ask: unsafe extern "C" fn(sys::CUresult, *mut *const c_char) -> sys::CUresult| {
                // The driver is asked with the code as a number: `CUresult` of these bindings is an enum
                // that lacks newer codes.
                // SAFETY: same signature but for the enum's representation, a `u32`.
                let ask: unsafe extern "C" fn(u32, *mut *const c_char) -> u32 =
                    unsafe { std::mem::transmute(ask) };
                let mut text = ptr::null();
                // SAFETY: the driver writes a static string or leaves null.
                unsafe {
                    ask(code, &raw mut text);
                    (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
                }
            };
        Self::Cuda {
            code,
            name: text(sys::cuGetErrorName).unwrap_or_else(|| "unknown CUDA error".into()),
            text: text(sys::cuGetErrorString).unwrap_or_else(|| "no description".into()),
        }
    }
}

impl From<sys::CUresult> for ErrorKind {
    fn from(error: sys::CUresult) -> Self {
        Self::cuda(error as u32)
    }
}

impl From<CudaError> for ErrorKind {
    fn from(error: CudaError) -> Self {
        Self::cuda(error as u32)
    }
}

/// Results that lack the operation and the caller's place in the source: those of `cust`, of the
/// raw driver API, and plain reasons.
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

impl Check for sys::CUresult {
    type Value = ();

    #[track_caller]
    fn check(self, operation: &'static str) -> Result<(), DeviceError> {
        match self {
            Self::CUDA_SUCCESS => Ok(()),
            error => Err(error),
        }
        .check(operation)
    }
}
