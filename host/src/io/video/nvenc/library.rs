//! The functions of NVENC in `libnvidia-encode.so.1`, which is part of the NVIDIA driver and is loaded at run time.
//!
//! The declarations follow `nvEncodeAPI.h` of NVIDIA's Video Codec SDK 12.0, because drivers of CUDA 12 and later
//! support this version of the interface. Names in comments are those of the header file.

use std::error::Error;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::sync::LazyLock;
use std::{fmt, ptr};

use libloading::Library;

use super::NvencError;
use super::structures::{
    CapsParam, CreateBitstreamBuffer, Guid, INTERFACE, InitializeParams, LockBitstream,
    MapInputResource, OpenSessionParams, PicParams, PresetConfig, RegisterResource, structure,
};

/// The name of the library.
pub(super) const NAME: &str = "libnvidia-encode.so.1";

/// An encoder.
pub(super) type Encoder = *mut c_void;

/// `NVENCSTATUS`, the result of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct NvencStatus(pub(super) u32);

impl NvencStatus {
    pub(super) const SUCCESS: Self = Self(0);
    pub(super) const NO_ENCODE_DEVICE: Self = Self(1);
    pub(super) const UNSUPPORTED_DEVICE: Self = Self(2);
    pub(super) const OUT_OF_MEMORY: Self = Self(10);
    pub(super) const NEED_MORE_INPUT: Self = Self(17);
    pub(super) const ENCODER_BUSY: Self = Self(18);
    pub(super) const INCOMPATIBLE_CLIENT_KEY: Self = Self(21);
}

/// The names of the results, without the prefix `NV_ENC_ERR_`.
const STATUSES: [&str; 26] = [
    "SUCCESS",
    "NO_ENCODE_DEVICE",
    "UNSUPPORTED_DEVICE",
    "INVALID_ENCODERDEVICE",
    "INVALID_DEVICE",
    "DEVICE_NOT_EXIST",
    "INVALID_PTR",
    "INVALID_EVENT",
    "INVALID_PARAM",
    "INVALID_CALL",
    "OUT_OF_MEMORY",
    "ENCODER_NOT_INITIALIZED",
    "UNSUPPORTED_PARAM",
    "LOCK_BUSY",
    "NOT_ENOUGH_BUFFER",
    "INVALID_VERSION",
    "MAP_FAILED",
    "NEED_MORE_INPUT",
    "ENCODER_BUSY",
    "EVENT_NOT_REGISTERD",
    "GENERIC",
    "INCOMPATIBLE_CLIENT_KEY",
    "UNIMPLEMENTED",
    "RESOURCE_REGISTER_FAILED",
    "RESOURCE_NOT_REGISTERED",
    "RESOURCE_NOT_MAPPED",
];

impl fmt::Display for NvencStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match STATUSES.get(self.0 as usize) {
            Some(name) => write!(f, "NV_ENC_ERR_{name}"),
            None => write!(f, "NVENC error {}", self.0),
        }
    }
}

impl fmt::Debug for NvencStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `NV_ENCODE_API_FUNCTION_LIST`
#[repr(C)]
struct FunctionList {
    version: u32,
    reserved: u32,
    functions: [*const c_void; 318],
}

/// Declares the functions that are called, each with its index in [`FunctionList`].
macro_rules! functions {
    ($($field:ident = $index:literal $name:literal: fn($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions of the library.
        pub(in crate::io::video) struct Functions {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> $result,)*
            _library: Library,
        }

        impl Functions {
            fn new(list: &FunctionList, library: Library) -> Result<Self, NvencError> {
                $(
                    let function = list.functions[$index];
                    if function.is_null() {
                        return Err(NvencError::NoFunction($name));
                    }
                    // SAFETY: the library has stored a function with the signature of the header file.
                    let $field = unsafe {
                        std::mem::transmute::<
                            *const c_void,
                            unsafe extern "C" fn($($argument),*) -> $result,
                        >(function)
                    };
                )*
                Ok(Self { $($field,)* _library: library })
            }
        }
    };
}

functions! {
    get_encode_caps = 7 "nvEncGetEncodeCaps":
        fn(Encoder, Guid, *mut CapsParam, *mut c_int) -> NvencStatus;
    initialize_encoder = 11 "nvEncInitializeEncoder": fn(Encoder, *mut InitializeParams) -> NvencStatus;
    create_bitstream_buffer = 14 "nvEncCreateBitstreamBuffer":
        fn(Encoder, *mut CreateBitstreamBuffer) -> NvencStatus;
    destroy_bitstream_buffer = 15 "nvEncDestroyBitstreamBuffer": fn(Encoder, *mut c_void) -> NvencStatus;
    encode_picture = 16 "nvEncEncodePicture": fn(Encoder, *mut PicParams) -> NvencStatus;
    lock_bitstream = 17 "nvEncLockBitstream": fn(Encoder, *mut LockBitstream) -> NvencStatus;
    unlock_bitstream = 18 "nvEncUnlockBitstream": fn(Encoder, *mut c_void) -> NvencStatus;
    map_input_resource = 25 "nvEncMapInputResource": fn(Encoder, *mut MapInputResource) -> NvencStatus;
    unmap_input_resource = 26 "nvEncUnmapInputResource": fn(Encoder, *mut c_void) -> NvencStatus;
    destroy_encoder = 27 "nvEncDestroyEncoder": fn(Encoder) -> NvencStatus;
    open_encode_session_ex = 29 "nvEncOpenEncodeSessionEx":
        fn(*mut OpenSessionParams, *mut Encoder) -> NvencStatus;
    register_resource = 30 "nvEncRegisterResource": fn(Encoder, *mut RegisterResource) -> NvencStatus;
    unregister_resource = 31 "nvEncUnregisterResource": fn(Encoder, *mut c_void) -> NvencStatus;
    get_last_error_string = 37 "nvEncGetLastErrorString": fn(Encoder) -> *const c_char;
    get_encode_preset_config_ex = 39 "nvEncGetEncodePresetConfigEx":
        fn(Encoder, Guid, Guid, u32, *mut PresetConfig) -> NvencStatus;
}

impl Functions {
    /// Loads the library `name`, and checks that the driver supports this version of the interface.
    pub(in crate::io::video) fn load(name: impl AsRef<OsStr>) -> Result<Self, NvencError> {
        // The source of the error names the file and the reason.
        let unloadable = |error: libloading::Error| {
            NvencError::Library(error.source().map_or(error.to_string(), ToString::to_string))
        };
        // SAFETY: loading the library of the driver has no side effects that other code could observe.
        let library = unsafe { Library::new(name.as_ref()) }.map_err(unloadable)?;
        type MaxVersion = unsafe extern "C" fn(*mut u32) -> NvencStatus;
        type CreateInstance = unsafe extern "C" fn(*mut FunctionList) -> NvencStatus;
        // SAFETY: the signature is that of the header file.
        let max_version: MaxVersion =
            *unsafe { library.get("NvEncodeAPIGetMaxSupportedVersion") }.map_err(unloadable)?;
        // SAFETY: the signature is that of the header file.
        let create_instance: CreateInstance =
            *unsafe { library.get("NvEncodeAPICreateInstance") }.map_err(unloadable)?;
        let mut newest = 0;
        // SAFETY: the result is a local variable.
        let status = unsafe { max_version(&raw mut newest) };
        check("NvEncodeAPIGetMaxSupportedVersion", status)?;
        let found = [newest >> 4, newest & 15];
        if found < INTERFACE {
            return Err(NvencError::OldDriver { found, required: INTERFACE });
        }
        let mut list =
            FunctionList { version: structure(2), reserved: 0, functions: [ptr::null(); 318] };
        // SAFETY: the list is a local variable of the version that it states.
        let status = unsafe { create_instance(&raw mut list) };
        check("NvEncodeAPICreateInstance", status)?;
        Self::new(&list, library)
    }

    /// Returns the library's description of the last error of an encoder.
    pub(super) fn last_error(&self, encoder: Encoder) -> String {
        // SAFETY: the encoder exists.
        let text = unsafe { (self.get_last_error_string)(encoder) };
        if text.is_null() {
            return String::new();
        }
        // SAFETY: the library returns a string that is valid until the next call for this encoder.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        text.chars().filter(|c| !c.is_control()).collect::<String>().trim().to_owned()
    }
}

const _: () = assert!(size_of::<FunctionList>() == 2552);

/// Returns the functions, or the reason why NVENC cannot be used.
pub(super) fn functions() -> Result<&'static Functions, NvencError> {
    static FUNCTIONS: LazyLock<Result<Functions, NvencError>> =
        LazyLock::new(|| Functions::load(NAME));
    FUNCTIONS.as_ref().map_err(Clone::clone)
}

/// Converts the result of a function that belongs to no encoder.
fn check(function: &'static str, status: NvencStatus) -> Result<(), NvencError> {
    match status {
        NvencStatus::SUCCESS => Ok(()),
        status => Err(NvencError::Call { function, status, detail: String::new() }),
    }
}
