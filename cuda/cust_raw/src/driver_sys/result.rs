//! The driver's return code.

use std::borrow::Cow;
use std::error::Error;
use std::ffi::{CStr, c_char};
use std::fmt;
use std::ptr;

use super::{cuGetErrorName, cuGetErrorString};
use crate::error::DriverResult;

/// The result of a driver function. The code may be a number that has no constant below, because
/// newer drivers have more codes.
///
/// ```
/// use cust_raw::driver_sys::CUresult;
///
/// assert!(CUresult::CUDA_SUCCESS.to_result().is_ok());
/// let error = CUresult(2).to_result().unwrap_err();
/// assert_eq!(error, CUresult::CUDA_ERROR_OUT_OF_MEMORY);
/// assert_eq!(error.name(), "CUDA_ERROR_OUT_OF_MEMORY");
/// println!("{}", error.text());
/// ```
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "the driver reports errors only through this value"]
pub struct CUresult(pub u32);

macro_rules! codes {
    ($($name:ident = $code:literal => $rust:ident,)+) => {
        #[allow(missing_docs, reason = "the driver's own names")]
        impl CUresult {
            pub const CUDA_SUCCESS: Self = Self(0);
            $(pub const $name: Self = Self($code);)+

            /// Returns the name of the code, or `None` if this list does not declare it.
            const fn known_name(self) -> Option<&'static str> {
                match self {
                    Self::CUDA_SUCCESS => Some("CUDA_SUCCESS"),
                    $(Self::$name => Some(stringify!($name)),)+
                    _ => None,
                }
            }
        }
    };
}

/// Calls the macro `$callback` with the error codes that programs compare, and their names in `cust`.
#[doc(hidden)]
#[macro_export]
macro_rules! error_codes {
    ($callback:ident) => {
        $callback! {
            CUDA_ERROR_INVALID_VALUE = 1 => InvalidValue,
            CUDA_ERROR_OUT_OF_MEMORY = 2 => OutOfMemory,
            CUDA_ERROR_NOT_INITIALIZED = 3 => NotInitialized,
            CUDA_ERROR_DEINITIALIZED = 4 => Deinitialized,
            CUDA_ERROR_STUB_LIBRARY = 34 => StubLibrary,
            CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER = 36 => CallRequiresNewerDriver,
            CUDA_ERROR_DEVICE_UNAVAILABLE = 46 => DeviceUnavailable,
            CUDA_ERROR_NO_DEVICE = 100 => NoDevice,
            CUDA_ERROR_INVALID_DEVICE = 101 => InvalidDevice,
            CUDA_ERROR_INVALID_IMAGE = 200 => InvalidImage,
            CUDA_ERROR_INVALID_CONTEXT = 201 => InvalidContext,
            CUDA_ERROR_NO_BINARY_FOR_GPU = 209 => NoBinaryForGpu,
            CUDA_ERROR_ECC_UNCORRECTABLE = 214 => EccUncorrectable,
            CUDA_ERROR_UNSUPPORTED_LIMIT = 215 => UnsupportedLimit,
            CUDA_ERROR_INVALID_PTX = 218 => InvalidPtx,
            CUDA_ERROR_NVLINK_UNCORRECTABLE = 220 => NvlinkUncorrectable,
            CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221 => JitCompilerNotFound,
            CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222 => UnsupportedPtxVersion,
            CUDA_ERROR_CONTAINED = 226 => Contained,
            CUDA_ERROR_FILE_NOT_FOUND = 301 => FileNotFound,
            CUDA_ERROR_OPERATING_SYSTEM = 304 => OperatingSystemError,
            CUDA_ERROR_INVALID_HANDLE = 400 => InvalidHandle,
            CUDA_ERROR_ILLEGAL_STATE = 401 => IllegalState,
            CUDA_ERROR_NOT_FOUND = 500 => NotFound,
            CUDA_ERROR_NOT_READY = 600 => NotReady,
            CUDA_ERROR_ILLEGAL_ADDRESS = 700 => IllegalAddress,
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701 => LaunchOutOfResources,
            CUDA_ERROR_LAUNCH_TIMEOUT = 702 => LaunchTimeout,
            CUDA_ERROR_CONTEXT_IS_DESTROYED = 709 => ContextIsDestroyed,
            CUDA_ERROR_ASSERT = 710 => AssertError,
            CUDA_ERROR_HARDWARE_STACK_ERROR = 714 => HardwareStackError,
            CUDA_ERROR_ILLEGAL_INSTRUCTION = 715 => IllegalInstruction,
            CUDA_ERROR_MISALIGNED_ADDRESS = 716 => MisalignedAddress,
            CUDA_ERROR_INVALID_ADDRESS_SPACE = 717 => InvalidAddressSpace,
            CUDA_ERROR_INVALID_PC = 718 => InvalidProgramCounter,
            CUDA_ERROR_LAUNCH_FAILED = 719 => LaunchFailed,
            CUDA_ERROR_NOT_PERMITTED = 800 => NotPermitted,
            CUDA_ERROR_NOT_SUPPORTED = 801 => NotSupported,
            CUDA_ERROR_SYSTEM_NOT_READY = 802 => SystemNotReady,
            CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803 => SystemDriverMismatch,
            CUDA_ERROR_UNKNOWN = 999 => UnknownError,
        }
    };
}

error_codes! { codes }

impl CUresult {
    /// Returns `Err` for every code except `CUDA_SUCCESS`.
    ///
    /// # Errors
    /// Returns the code itself.
    pub const fn to_result(self) -> DriverResult {
        match self {
            Self::CUDA_SUCCESS => Ok(()),
            error => Err(error),
        }
    }

    /// Returns the name of the code, such as `CUDA_ERROR_OUT_OF_MEMORY`, or `unknown CUDA error`.
    #[must_use]
    pub fn name(self) -> Cow<'static, str> {
        let name = self.ask(cuGetErrorName);
        name.unwrap_or_else(|| self.known_name().unwrap_or("unknown CUDA error").into())
    }

    /// Returns the driver's description of the code, or `no description` without a driver.
    #[must_use]
    pub fn text(self) -> Cow<'static, str> {
        self.ask(cuGetErrorString).unwrap_or("no description".into())
    }

    /// Returns the text that the driver function `function` returns for the code. Returns `None` if
    /// there is no driver or the driver does not define the code.
    fn ask(
        self,
        function: unsafe fn(Self, *mut *const c_char) -> Self,
    ) -> Option<Cow<'static, str>> {
        let mut text = ptr::null();
        // SAFETY: the driver sets `text` to the address of a static string or to null, or leaves it
        // null.
        unsafe {
            let _ = function(self, &raw mut text);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy())
        }
    }
}

impl fmt::Debug for CUresult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known_name() {
            Some(name) => f.write_str(name),
            None => write!(f, "CUresult({})", self.0),
        }
    }
}

impl fmt::Display for CUresult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.name(), self.0, self.text())
    }
}

impl Error for CUresult {}
