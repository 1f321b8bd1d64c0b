//! The linker, which combines PTX, cubins and fatbins that refer to each other into one cubin.
//!
//! The linker needs a GPU. On the CPU backend, [`Linker::new`] returns `NotSupported`, because the
//! kernels are already linked into the program.
//!
//! ```no_run
//! use cust::link::Linker;
//! use cust::module::Module;
//!
//! let _context = cust::quick_init()?;
//! let mut linker = Linker::new()?;
//! linker.add_ptx(std::fs::read_to_string("kernels.ptx")?)?;
//! linker.add_ptx(std::fs::read_to_string("library.ptx")?)?;
//! let module = Module::from_cubin(linker.complete()?, &[])?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ffi::{CString, c_void};
use std::ptr;
use std::slice;

use cust_raw::driver_sys as sys;
use cust_raw::driver_sys::CUjitInputType as Input;

use crate::driver;
use crate::error::{CudaError, CudaResult};

/// A link operation, to which PTX, cubins and fatbins are added before
/// [`complete`](Self::complete).
///
/// ```no_run
/// use cust::link::Linker;
///
/// let _context = cust::quick_init()?;
/// let mut linker = Linker::new()?;
/// linker.add_cubin(std::fs::read("kernels.cubin")?)?;
/// linker.add_fatbin(std::fs::read("library.fatbin")?)?;
/// let cubin = linker.complete()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Linker {
    state: sys::CUlinkState,
}

// SAFETY: any thread may use the handle, and all methods that use it take `&mut self` or `self`.
unsafe impl Send for Linker {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Linker {}

impl Linker {
    /// Creates a linker for the device of the current context.
    ///
    /// # Errors
    /// Returns the driver's error; `NotSupported` on the CPU.
    pub fn new() -> CudaResult<Self> {
        let mut state = ptr::null_mut();
        // SAFETY: the driver writes the handle to a local variable. The number of options is 0, so
        // the option pointers may be null.
        unsafe { driver::cuLinkCreate_v2(0, ptr::null_mut(), ptr::null_mut(), &raw mut state) }?;
        Ok(Self { state })
    }

    /// Adds a PTX text to the link.
    ///
    /// # Errors
    /// Returns `InvalidValue` if the text contains a zero byte, `InvalidPtx` if the driver rejects
    /// the PTX, or another driver error.
    pub fn add_ptx(&mut self, ptx: impl AsRef<str>) -> CudaResult<()> {
        // The driver requires that PTX is zero-terminated.
        let ptx = CString::new(ptx.as_ref()).map_err(|_| CudaError::InvalidValue)?;
        self.add(Input::CU_JIT_INPUT_PTX, ptx.as_bytes_with_nul())
    }

    /// Adds a cubin to the link.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn add_cubin(&mut self, cubin: impl AsRef<[u8]>) -> CudaResult<()> {
        self.add(Input::CU_JIT_INPUT_CUBIN, cubin.as_ref())
    }

    /// Adds a fatbin to the link.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn add_fatbin(&mut self, fatbin: impl AsRef<[u8]>) -> CudaResult<()> {
        self.add(Input::CU_JIT_INPUT_FATBINARY, fatbin.as_ref())
    }

    fn add(&mut self, kind: Input, data: &[u8]) -> CudaResult<()> {
        // SAFETY: the state is alive and the name is zero-terminated. There are no options. The
        // driver only reads `data`, and only during the call.
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

    /// Links the added code. [`Module::from_cubin`](crate::module::Module::from_cubin) loads the
    /// result.
    ///
    /// # Errors
    /// Returns the driver's error, for example if a symbol is unresolved.
    pub fn complete(self) -> CudaResult<Vec<u8>> {
        let (mut cubin, mut bytes) = (ptr::null_mut::<c_void>(), 0);
        // SAFETY: the state is alive, and the driver writes the results to local variables. The
        // state owns the cubin, which therefore lives until `self` is dropped.
        unsafe {
            driver::cuLinkComplete(self.state, &raw mut cubin, &raw mut bytes)?;
            Ok(slice::from_raw_parts(cubin.cast::<u8>(), bytes).to_vec())
        }
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: the handle is alive and is destroyed only once. Drop cannot report a failure.
        let _ = unsafe { driver::cuLinkDestroy(self.state) };
    }
}
