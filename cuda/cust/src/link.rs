//! The linker: makes one cubin from PTX, cubins and fatbins that refer to each other.
//!
//! A GPU is needed. On the CPU kernels are linked into the program, and each call here returns
//! `NotSupported`.

use std::ffi::{CString, c_void};
use std::ptr;
use std::slice;

use cust_raw::driver_sys as sys;
use cust_raw::driver_sys::CUjitInputType as Input;

use crate::driver;
use crate::error::{CudaError, CudaResult};

/// Code that is being linked.
#[derive(Debug)]
pub struct Linker {
    state: sys::CUlinkState,
}

// SAFETY: the handle may be used from any thread, and every use of it borrows the linker exclusively.
unsafe impl Send for Linker {}
// SAFETY: as above.
unsafe impl Sync for Linker {}

impl Linker {
    /// Makes a linker for the device of the current context.
    ///
    /// # Errors
    /// Returns any error of the driver. On the CPU `NotSupported`.
    pub fn new() -> CudaResult<Self> {
        let mut state = ptr::null_mut();
        // SAFETY: the handle is written; there are no options.
        unsafe { driver::cuLinkCreate_v2(0, ptr::null_mut(), ptr::null_mut(), &raw mut state) }?;
        Ok(Self { state })
    }

    /// Adds PTX.
    ///
    /// # Errors
    /// Returns `InvalidValue` for a text with a zero in it, `InvalidPtx` for PTX that the driver rejects,
    /// or any other error of the driver.
    pub fn add_ptx(&mut self, ptx: impl AsRef<str>) -> CudaResult<()> {
        // The driver takes PTX with the zero at its end.
        let ptx = CString::new(ptx.as_ref()).map_err(|_| CudaError::InvalidValue)?;
        self.add(Input::CU_JIT_INPUT_PTX, ptx.as_bytes_with_nul())
    }

    /// Adds a cubin.
    ///
    /// # Errors
    /// Returns any error of the driver.
    pub fn add_cubin(&mut self, cubin: impl AsRef<[u8]>) -> CudaResult<()> {
        self.add(Input::CU_JIT_INPUT_CUBIN, cubin.as_ref())
    }

    /// Adds a fatbin.
    ///
    /// # Errors
    /// Returns any error of the driver.
    pub fn add_fatbin(&mut self, fatbin: impl AsRef<[u8]>) -> CudaResult<()> {
        self.add(Input::CU_JIT_INPUT_FATBINARY, fatbin.as_ref())
    }

    fn add(&mut self, kind: Input, data: &[u8]) -> CudaResult<()> {
        // SAFETY: the state is alive. The driver reads the data before it returns, and writes nothing to
        // it; the name ends with a zero; there are no options.
        unsafe {
            driver::cuLinkAddData_v2(
                self.state,
                kind,
                data.as_ptr().cast_mut().cast(),
                data.len(),
                c"".as_ptr(),
                0,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        }
    }

    /// Links what was added. [`Module::from_cubin`](crate::module::Module::from_cubin) loads the result.
    ///
    /// # Errors
    /// Returns any error of the driver, such as an unresolved symbol.
    pub fn complete(self) -> CudaResult<Vec<u8>> {
        let (mut cubin, mut bytes) = (ptr::null_mut::<c_void>(), 0);
        // SAFETY: the state is alive, the results are written, and the state owns the cubin, so that it
        // is there until `self` is dropped.
        unsafe {
            driver::cuLinkComplete(self.state, &raw mut cubin, &raw mut bytes)?;
            Ok(slice::from_raw_parts(cubin.cast::<u8>(), bytes).to_vec())
        }
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once. A failure cannot be reported from here.
        let _ = unsafe { driver::cuLinkDestroy(self.state) };
    }
}
