//! A PTX module loaded into a context.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::{PoisonError, RwLock};

use cust::context::Context;
use cust::sys;

use super::context::insist_in;
use super::counters::{self, Token};
use super::error::{Check, DeviceError, ErrorKind};

/// Room for the PTX compiler's complaints.
const LOG_BYTES: usize = 8 << 10;

/// A loaded module. Its context outlives it, and is current whenever it is used.
pub(super) struct Module {
    raw: sys::CUmodule,
    context: sys::CUcontext,
    /// Whether its kernels wait for the one before themselves, as cuda_builder makes them from Hopper on.
    waits: bool,
    /// Kernels that were looked up.
    found: RwLock<HashMap<&'static str, sys::CUfunction>>,
    counted: Token,
}

// SAFETY: handles of a module and of its functions may be used from any thread whose context is current.
unsafe impl Send for Module {}
// SAFETY: as above; the driver locks.
unsafe impl Sync for Module {}

impl Module {
    /// Compiles and loads PTX text. The context is current.
    #[track_caller]
    pub(super) fn load(context: &Context, ptx: &str) -> Result<Self, DeviceError> {
        const OP: &str = "loading the kernels";
        use sys::CUjit_option as Option;
        let text = c_string(ptx);
        let mut log = vec![0_u8; LOG_BYTES];
        let mut options =
            [Option::CU_JIT_ERROR_LOG_BUFFER, Option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values =
            [log.as_mut_ptr().cast(), ptr::without_provenance_mut::<c_void>(LOG_BYTES)];
        let mut raw = ptr::null_mut();
        // SAFETY: the text ends with a zero; options and values are two each, and the log has the
        // size that they state.
        let result = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut raw,
                text.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        result.check(OP).map_err(|mut e| {
            let end = log.iter().position(|&b| b == 0).unwrap_or(LOG_BYTES);
            let log = String::from_utf8_lossy(&log[..end]).trim().to_owned();
            if !log.is_empty() {
                e.kind = ErrorKind::BadPtx { cause: Box::new(e.kind), log };
            }
            e
        })?;
        let counted = Token::new(counters::Kind::Modules, 1);
        let waits = ptx.contains("griddepcontrol.wait;");
        Ok(Self { raw, context: context.as_raw(), waits, found: RwLock::default(), counted })
    }

    /// Whether its kernels may be launched before the one before them has ended.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// A kernel that is launched over and over: looked up once.
    #[track_caller]
    pub(super) fn known_function(
        &self,
        name: &'static str,
    ) -> Result<sys::CUfunction, DeviceError> {
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner).get(name).copied();
        if let Some(function) = found {
            return Ok(function);
        }
        let function = self.function(name)?;
        self.found.write().unwrap_or_else(PoisonError::into_inner).insert(name, function);
        Ok(function)
    }

    /// A kernel by name.
    #[track_caller]
    pub(super) fn function(&self, name: &str) -> Result<sys::CUfunction, DeviceError> {
        let c_name = c_string(name);
        let mut function = ptr::null_mut();
        // SAFETY: the module is alive, the name ends with a zero, the result is written.
        unsafe { sys::cuModuleGetFunction(&raw mut function, self.raw, c_name.as_ptr()) }
            .to_result()
            .map_err(|error| match error {
                sys::CUresult::CUDA_ERROR_NOT_FOUND => ErrorKind::UnknownKernel(name.to_owned()),
                error => error.into(),
            })
            .check("looking up a kernel")?;
        Ok(function)
    }

    /// Address and size of a global or constant by name.
    #[track_caller]
    pub(super) fn global(&self, name: &str) -> Result<(u64, usize), DeviceError> {
        let c_name = c_string(name);
        let (mut address, mut size) = (0, 0);
        // SAFETY: as in `function`.
        unsafe {
            sys::cuModuleGetGlobal_v2(&raw mut address, &raw mut size, self.raw, c_name.as_ptr())
        }
        .check("looking up a constant")?;
        Ok((address, size))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded here and unloaded once.
        if insist_in(self.context, || unsafe { sys::cuModuleUnload(self.raw) }).is_err() {
            self.counted.keep();
        }
    }
}

/// The text up to its first zero byte, which neither PTX nor a name has.
fn c_string(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}
