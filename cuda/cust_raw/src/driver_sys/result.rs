//! The driver's return code.

use std::borrow::Cow;
use std::error::Error;
use std::ffi::{CStr, c_char};
use std::fmt;
use std::ptr;

use super::{cuGetErrorName, cuGetErrorString};
use crate::error::DriverResult;

/// What a driver function returns: any number, since newer drivers have newer codes.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "what the driver refuses, it only says here"]
pub struct CUresult(pub u32);

macro_rules! codes {
    ($($name:ident = $code:literal,)+) => {
        #[allow(missing_docs, reason = "the driver's own names")]
        impl CUresult {
            $(pub const $name: Self = Self($code);)+

            /// The name, of the codes above.
            const fn known_name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($name)),)+
                    _ => None,
                }
            }
        }
    };
}

codes! {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
    CUDA_ERROR_CONTAINED = 226,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
    CUDA_ERROR_MISALIGNED_ADDRESS = 716,
    CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
    CUDA_ERROR_INVALID_PC = 718,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_SYSTEM_NOT_READY = 802,
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    CUDA_ERROR_UNKNOWN = 999,
}

impl CUresult {
    /// `Err` of every code but `CUDA_SUCCESS`.
    ///
    /// # Errors
    /// The code itself.
    pub const fn to_result(self) -> DriverResult {
        match self {
            Self::CUDA_SUCCESS => Ok(()),
            error => Err(error),
        }
    }

    /// Its name, such as `CUDA_ERROR_OUT_OF_MEMORY`.
    #[must_use]
    pub fn name(self) -> Cow<'static, str> {
        let name = self.ask(cuGetErrorName);
        name.unwrap_or_else(|| self.known_name().unwrap_or("unknown CUDA error").into())
    }

    /// The driver's description.
    #[must_use]
    pub fn text(self) -> Cow<'static, str> {
        self.ask(cuGetErrorString).unwrap_or("no description".into())
    }

    /// Asks the driver, which may be missing, or not know the code.
    fn ask(
        self,
        function: unsafe fn(Self, *mut *const c_char) -> Self,
    ) -> Option<Cow<'static, str>> {
        let mut text = ptr::null();
        // SAFETY: the driver writes a static string, or leaves or writes null.
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
