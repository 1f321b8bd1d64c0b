//! Modules: compiled kernels and globals, loaded into the current context.
//!
//! On the CPU backend, the kernels of a module are functions linked into the program. The PTX is
//! used only for the names of the kernels.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cuda_std::prelude::*;
//! use cust::module::Module;
//!
//! #[kernel]
//! pub unsafe fn quarter(data: &mut [f32]) {
//!     if let Some(value) = data.get_mut(thread::index_1d() as usize) {
//!         *value /= 4.0;
//!     }
//! }
//!
//! # const PTX: &str = ".version 7.0\n.target sm_75\n.visible .entry quarter() { ret; }";
//! // `const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));`
//! let _context = cust::quick_init()?;
//! let module = Module::from_ptx(PTX, &[])?;
//! assert!(module.get_function("quarter").is_ok());
//! assert!(module.get_function("double").is_err());
//! # Ok::<(), cust::error::CudaError>(())
//! ```

use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::{CudaError, CudaResult, DropResult, destroyed};
use crate::function::Function;
use crate::memory::{CopyDestination, DeviceCopy, DevicePointer, memcpy_dtoh, memcpy_htod};

/// The optimisation level of the driver's PTX compiler.
///
/// ```
/// use cust::module::{ModuleJitOption, OptLevel};
///
/// let options = [ModuleJitOption::OptLevel(OptLevel::O2)];
/// assert_eq!(ModuleJitOption::into_raw(&options).0.len(), 1);
/// ```
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "levels")]
pub enum OptLevel {
    O0 = 0,
    O1 = 1,
    O2 = 2,
    O3 = 3,
    O4 = 4,
}

/// An option of the driver's PTX compiler.
///
/// ```
/// use cust::module::{ModuleJitOption, OptLevel};
///
/// let options = [ModuleJitOption::MaxRegisters(64), ModuleJitOption::OptLevel(OptLevel::O4)];
/// let (names, values) = ModuleJitOption::into_raw(&options);
/// assert_eq!((names.len(), values.len()), (2, 2));
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleJitOption {
    /// The maximum number of registers per thread.
    MaxRegisters(u32),
    /// The optimisation level.
    OptLevel(OptLevel),
    /// Whether to generate debug information.
    GenenerateDebugInfo(bool),
    /// Whether to generate line number information for profilers and debuggers.
    GenerateLineInfo(bool),
}

impl ModuleJitOption {
    /// Converts the options to the two lists that the driver expects: the option names and their
    /// values.
    #[must_use]
    pub fn into_raw(options: &[Self]) -> (Vec<sys::CUjit_option>, Vec<*mut c_void>) {
        use sys::CUjit_option as Raw;
        let raw = options.iter().map(|option| {
            let (name, value) = match *option {
                Self::MaxRegisters(registers) => (Raw::CU_JIT_MAX_REGISTERS, registers),
                Self::OptLevel(level) => (Raw::CU_JIT_OPTIMIZATION_LEVEL, level as u32),
                Self::GenenerateDebugInfo(on) => (Raw::CU_JIT_GENERATE_DEBUG_INFO, on.into()),
                Self::GenerateLineInfo(on) => (Raw::CU_JIT_GENERATE_LINE_INFO, on.into()),
            };
            (name, ptr::without_provenance_mut(value as usize))
        });
        raw.unzip()
    }
}

/// A loaded module, which contains kernels and globals.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::module::Module;
/// use cust::error::CudaError;
///
/// # const PTX: &str = ".version 7.0\n.target sm_75\n";
/// let _context = cust::quick_init()?;
/// let path = std::env::temp_dir().join(format!("kernels-{}.ptx", std::process::id()));
/// std::fs::write(&path, PTX).unwrap();
/// let module = Module::from_file(&path)?;
/// assert_eq!(module.get_function("absent").map(drop), Err(CudaError::NotFound));
/// assert_eq!(module.get_global::<f32>(c"ABSENT").map(drop), Err(CudaError::NotFound));
/// Module::drop(module).map_err(|(error, _)| error)?;
///
/// let text = std::ffi::CString::new(PTX).unwrap();
/// let module = Module::from_ptx_cstr(&text, &[])?;
/// # Ok::<(), CudaError>(())
/// ```
#[derive(Debug)]
pub struct Module {
    inner: sys::CUmodule,
}

// SAFETY: the handle of a module may be used from any thread; driver calls are thread-safe.
unsafe impl Send for Module {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Module {}

impl Module {
    /// Loads the PTX, cubin or fatbin in a file.
    ///
    /// # Errors
    /// Returns an error if the file does not exist, or the driver's error.
    pub fn from_file<P: AsRef<Path>>(path: P) -> CudaResult<Self> {
        let path = c_string(path.as_ref().as_os_str().as_bytes())?;
        let mut inner = ptr::null_mut();
        // SAFETY: the driver writes the handle to a local variable, and the path is
        // zero-terminated.
        unsafe { driver::cuModuleLoad(&raw mut inner, path.as_ptr()) }?;
        Ok(Self { inner })
    }

    /// Loads PTX from a zero-terminated string.
    ///
    /// # Errors
    /// Returns `InvalidPtx` if the driver rejects the PTX, or another driver error.
    pub fn from_ptx_cstr(ptx: &CStr, options: &[ModuleJitOption]) -> CudaResult<Self> {
        let mut inner = ptr::null_mut();
        let (mut names, mut values) = ModuleJitOption::into_raw(options);
        let (names, values, count) = (names.as_mut_ptr(), values.as_mut_ptr(), names.len() as u32);
        let ptx = ptx.as_ptr().cast();
        // SAFETY: the driver writes the handle to a local variable; `names` and `values` have
        // `count` elements each, and the text is zero-terminated.
        unsafe { driver::cuModuleLoadDataEx(&raw mut inner, ptx, count, names, values) }?;
        Ok(Self { inner })
    }

    /// Loads PTX.
    ///
    /// # Errors
    /// Returns `InvalidValue` if the PTX contains a zero byte, `InvalidPtx` if the driver rejects
    /// it, or another driver error.
    pub fn from_ptx<T: AsRef<str>>(ptx: T, options: &[ModuleJitOption]) -> CudaResult<Self> {
        Self::from_ptx_cstr(&c_string(ptx.as_ref())?, options)
    }

    /// Returns the global variable or constant called `name`.
    ///
    /// # Errors
    /// Returns an error if the module has no such global, or if the size of the global differs from
    /// the size of `T`. Otherwise returns the driver's error, if any.
    pub fn get_global<'a, T: DeviceCopy>(&'a self, name: &CStr) -> CudaResult<Symbol<'a, T>> {
        let (mut address, mut size) = (0, 0);
        // SAFETY: the module is alive, the name is zero-terminated, and the driver writes the
        // results to local variables.
        unsafe {
            driver::cuModuleGetGlobal_v2(&raw mut address, &raw mut size, self.inner, name.as_ptr())
        }?;
        if size != size_of::<T>() {
            return Err(CudaError::InvalidValue);
        }
        Ok(Symbol { pointer: DevicePointer::from_raw(address), module: PhantomData })
    }

    /// Returns the kernel called `name`.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such kernel, or the driver's error. On the CPU, also
    /// returns `NotFound` if the program does not link the crate that the PTX was compiled from. To
    /// link a kernel crate, write `use my_kernels as _;`.
    pub fn get_function<T: AsRef<str>>(&self, name: T) -> CudaResult<Function<'_>> {
        let name = c_string(name.as_ref())?;
        let mut function = ptr::null_mut();
        // SAFETY: the module is alive, the name is zero-terminated, and the driver writes the
        // result to a local variable.
        unsafe { driver::cuModuleGetFunction(&raw mut function, self.inner, name.as_ptr()) }?;
        Ok(Function::new(function, self))
    }

    /// Unloads the module and returns any error, which `Drop` would ignore.
    ///
    /// # Errors
    /// Returns the driver's error together with the module.
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name")]
    pub fn drop(module: Self) -> DropResult<Self> {
        // SAFETY: `module.inner` is a loaded module and is unloaded only once. Functions and
        // symbols borrow the `Module`, so none exists any more.
        let result = unsafe { driver::cuModuleUnload(module.inner) };
        destroyed(module, result)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: `self.inner` is a loaded module and is unloaded only once. Drop cannot report a
        // failure.
        let _ = unsafe { driver::cuModuleUnload(self.inner) };
    }
}

/// Converts `text` to a C string. Returns an error if `text` contains a zero byte.
fn c_string(text: impl Into<Vec<u8>>) -> CudaResult<CString> {
    CString::new(text).map_err(|_| CudaError::InvalidValue)
}

/// A global variable or constant of a module.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::CopyDestination;
/// use cust::module::Module;
///
/// cuda_std::constant! {
///     pub static TAPS: [f32; 4];
/// }
/// # #[cuda_std::kernel]
/// # pub fn any() {}
///
/// # const PTX: &str = ".version 7.0\n.target sm_75\n.visible .const .align 16 .b8 TAPS[16];";
/// let _context = cust::quick_init()?;
/// let module = Module::from_ptx(PTX, &[])?;
/// let mut taps = module.get_global::<[f32; 4]>(c"TAPS")?;
/// taps.copy_from(&[0.1, 0.4, 0.4, 0.1])?;
/// let mut values = [0.0; 4];
/// taps.copy_to(&mut values)?;
/// assert_eq!(values, [0.1, 0.4, 0.4, 0.1]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Symbol<'a, T: DeviceCopy> {
    pointer: DevicePointer<T>,
    module: PhantomData<&'a Module>,
}

impl<T: DeviceCopy> crate::private::Sealed for Symbol<'_, T> {}

impl<T: DeviceCopy> fmt::Pointer for Symbol<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.pointer, f)
    }
}

impl<T: DeviceCopy> CopyDestination<T> for Symbol<'_, T> {
    fn copy_from(&mut self, value: &T) -> CudaResult<()> {
        // SAFETY: `get_global` checked that the global has the size of `T`.
        unsafe { memcpy_htod(self.pointer.as_raw(), ptr::from_ref(value).cast(), size_of::<T>()) }
    }

    fn copy_to(&self, value: &mut T) -> CudaResult<()> {
        // SAFETY: `get_global` checked that the global has the size of `T`.
        unsafe { memcpy_dtoh(ptr::from_mut(value).cast(), self.pointer.as_raw(), size_of::<T>()) }
    }
}
