//! PTX modules loaded into a context, and the lookup of their kernels and constants.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::{PoisonError, RwLock};

use cuda_std::launch::KernelEntry;
use cust_raw::driver_sys as sys;

use super::context::{Context, insist_in};
use super::counters::{self, Token};
use super::error::{Check, DeviceError, ErrorKind};
use super::ptx::{PtxImage, PtxText, SplitPtx};

/// The size in bytes of the buffer for the PTX compiler's error log.
const LOG_BYTES: usize = 8 << 10;

/// A loaded PTX module. Its context outlives the module and is current whenever the module is used.
pub(crate) struct Module {
    raw: sys::CUmodule,
    context: sys::CUcontext,
    /// Whether the kernels contain `griddepcontrol.wait`, which waits for the preceding kernel in
    /// the stream. `cuda_builder` adds this instruction for Hopper and later architectures.
    waits: bool,
    counted: Token,
}

// SAFETY: any thread whose context is current may use handles of a module and its functions.
unsafe impl Send for Module {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Module {}

impl Module {
    /// Compiles and loads PTX text. `context` must be current on this thread.
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
        // SAFETY: the text is zero-terminated; each option has a value, and the log buffer has
        // `LOG_BYTES` bytes.
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
        Ok(Self { raw, context: context.as_raw(), waits, counted })
    }

    /// Returns the kernel called `name`, or `None` if the module has no such kernel.
    #[track_caller]
    pub(crate) fn function(&self, name: &str) -> Result<Option<Function>, DeviceError> {
        let c_name = c_string(name);
        let mut function = ptr::null_mut();
        // SAFETY: the module is alive, the name is zero-terminated, and the driver writes the
        // result to a local variable.
        match unsafe { sys::cuModuleGetFunction(&raw mut function, self.raw, c_name.as_ptr()) } {
            sys::CUresult::CUDA_ERROR_NOT_FOUND => Ok(None),
            result => {
                let function = Function { raw: function, waits: self.waits };
                result.check("looking up a kernel").map(|()| Some(function))
            }
        }
    }

    /// Returns the address and the size in bytes of the global or constant called `name`, or `None`
    /// if the module has no such global.
    #[track_caller]
    pub(crate) fn global(&self, name: &str) -> Result<Option<(u64, usize)>, DeviceError> {
        let c_name = c_string(name);
        let (mut address, mut size) = (0, 0);
        // SAFETY: the module is alive, the name is zero-terminated, and the driver writes the
        // results to local variables.
        let result = unsafe {
            sys::cuModuleGetGlobal_v2(&raw mut address, &raw mut size, self.raw, c_name.as_ptr())
        };
        match result {
            sys::CUresult::CUDA_ERROR_NOT_FOUND => Ok(None),
            result => result.check("looking up a constant").map(|()| Some((address, size))),
        }
    }
}

/// A kernel of a loaded module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    pub(crate) raw: sys::CUfunction,
    /// Whether the kernel may start before the preceding kernel in the stream has ended, because it
    /// waits for that kernel itself.
    pub(super) waits: bool,
}

// SAFETY: any thread whose context is current may use the handle of a function.
unsafe impl Send for Function {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Function {}

/// A kernel that was found by its name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NamedKernel {
    Cpu(&'static KernelEntry),
    Cuda(Function),
}

/// The kernels of one package on a device.
pub(super) enum Kernels {
    /// A module with all kernels.
    Whole { package: &'static str, module: Module },
    /// Kernels that are loaded at their first use, each as a module of its own.
    Split { package: &'static str, ptx: &'static SplitPtx, loaded: RwLock<HashMap<String, Module>> },
}

impl Kernels {
    /// Loads an image of a package, or prepares to load its kernels one by one.
    #[track_caller]
    pub(super) fn load(
        context: &Context,
        package: &'static str,
        image: PtxImage,
    ) -> Result<Self, DeviceError> {
        match image.text {
            PtxText::Static(text) => {
                Module::load(context, text).map(|module| Self::Whole { package, module })
            }
            PtxText::Split(ptx) => {
                Ok(Self::Split { package, ptx: ptx(), loaded: RwLock::default() })
            }
        }
    }

    fn package(&self) -> &'static str {
        match self {
            Self::Whole { package, .. } | Self::Split { package, .. } => package,
        }
    }

    #[track_caller]
    fn function(&self, context: &Context, name: &str) -> Result<Option<Function>, DeviceError> {
        match self {
            Self::Whole { module, .. } => module.function(name),
            Self::Split { ptx, loaded, .. } => {
                let of = |loaded: &HashMap<String, Module>| {
                    loaded.get(name).map(|module| module.function(name)).transpose()
                };
                if let Some(function) = of(&loaded.read().unwrap_or_else(PoisonError::into_inner))?
                {
                    return Ok(function);
                }
                let Some(text) = ptx.kernel(name) else { return Ok(None) };
                // Several threads may load kernels at the same time. If two load the same one, the second module is
                // unloaded again.
                let module = Module::load(context, &text)?;
                let mut loaded = loaded.write().unwrap_or_else(PoisonError::into_inner);
                loaded.entry(name.to_owned()).or_insert(module).function(name)
            }
        }
    }

    #[track_caller]
    fn global(&self, name: &str) -> Result<Option<(u64, usize)>, DeviceError> {
        match self {
            Self::Whole { module, .. } => module.global(name),
            // The host must not write the variables of these kernels, because each kernel has its own.
            Self::Split { .. } => Ok(None),
        }
    }
}

/// The kernels of one device, and a cache of those that launches have looked up.
///
/// No module is unloaded before the device is closed, so a cached kernel stays valid.
#[derive(Default)]
pub(super) struct Modules {
    all: RwLock<Vec<Kernels>>,
    found: RwLock<HashMap<(&'static str, &'static str), Function>>,
}

impl Modules {
    /// Adds kernels, which later launches can use.
    pub(super) fn add(&self, kernels: Kernels) {
        self.all.write().unwrap_or_else(PoisonError::into_inner).push(kernels);
    }

    /// Returns the kernel `name` of `package` for a launch, and caches the result of the lookup.
    #[track_caller]
    pub(super) fn known_function(
        &self,
        context: &Context,
        package: &'static str,
        name: &'static str,
    ) -> Result<Function, DeviceError> {
        let key = (package, name);
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        if let Some(function) = found {
            return Ok(function);
        }
        let function = self.function(context, Some(package), name)?;
        self.found.write().unwrap_or_else(PoisonError::into_inner).insert(key, function);
        Ok(function)
    }

    /// Returns the kernel called `name`. Searches the kernels of `package` first and then all
    /// others, because the module of a kernel crate may contain the kernels of the crate's
    /// dependencies.
    #[track_caller]
    pub(super) fn function(
        &self,
        context: &Context,
        package: Option<&str>,
        name: &str,
    ) -> Result<Function, DeviceError> {
        self.find(package, |kernels| kernels.function(context, name))?.ok_or_else(|| {
            let reason = format!(
                "no loaded PTX module has a kernel `{name}`; load its module with `Device::load`"
            );
            DeviceError::new("looking up a kernel", ErrorKind::Invalid(reason))
        })
    }

    /// Returns the kernels that are loaded at their first use and whose names are wanted, with their packages.
    pub(super) fn late(
        &self,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Vec<(&'static str, &'static str)> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let of = |kernels: &Kernels| match kernels {
            Kernels::Whole { .. } => Vec::new(),
            Kernels::Split { package, ptx, .. } => {
                ptx.names().filter(|name| is_wanted(name)).map(|name| (*package, name)).collect()
            }
        };
        all.iter().flat_map(of).collect()
    }

    /// Returns the address and the size in bytes of the global or constant called `name`.
    #[track_caller]
    pub(super) fn global(&self, name: &str) -> Result<(u64, usize), DeviceError> {
        self.find(None, |kernels| kernels.global(name))?
            .ok_or(sys::CUresult::CUDA_ERROR_NOT_FOUND)
            .check("looking up a constant")
    }

    /// Calls `look` on the kernels of one package after another and returns the first `Some`. The
    /// kernels of `package` come first.
    #[track_caller]
    fn find<T>(
        &self,
        package: Option<&str>,
        look: impl Fn(&Kernels) -> Result<Option<T>, DeviceError>,
    ) -> Result<Option<T>, DeviceError> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let is_own = |kernels: &&Kernels| package == Some(kernels.package());
        let own = all.iter().filter(is_own);
        let others = all.iter().filter(|kernels| !is_own(kernels));
        for kernels in own.chain(others) {
            if let Some(found) = look(kernels)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: `self.raw` is a loaded module and is unloaded only once.
        if insist_in(self.context, || unsafe { sys::cuModuleUnload(self.raw) }).is_err() {
            self.counted.keep();
        }
    }
}

/// Converts `text` to a C string, which ends at the first zero byte. Valid PTX and names contain no
/// zero byte.
fn c_string(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}
