//! [`CudaDevice`], an open GPU with its context and loaded kernels, and a process-wide record of
//! fatal errors.

use std::ffi::c_void;
use std::panic::Location;
use std::ptr;
use std::sync::OnceLock;

use cuda_std::launch::{KernelEntry, LaunchConfig};
use cust_raw::driver_sys as sys;
use cust_raw::driver_sys::CUfunction_attribute as Attribute;

use super::context::{self, Context, Current};
use super::counters::Token;
use super::error::{Check, DeviceError, ErrorKind};
use super::gpu::{CudaInfo, Gpu};
use super::module::{Function, Kernels, Module, Modules};
use super::ptx::{Arch, KernelModule, PtxImage};

/// The maximum sum of static and dynamic shared memory per block in bytes, for a kernel that has
/// not opted in to more.
const PLAIN_SHARED: u32 = 48 << 10;

/// The first fatal error of each GPU, indexed by ordinal. After a fatal error, the GPU is lost for
/// this process: every [`CudaDevice`] with this ordinal rejects further calls.
static LOST: [OnceLock<DeviceError>; 64] = [const { OnceLock::new() }; 64];

/// Returns the slot of a GPU in [`LOST`]. All ordinals from 63 on share the last slot.
fn lost(ordinal: u32) -> &'static OnceLock<DeviceError> {
    &LOST[(ordinal as usize).min(LOST.len() - 1)]
}

/// Returns [`ErrorKind::Lost`] if an earlier fatal error made the GPU with this ordinal unusable.
#[track_caller]
fn check_alive(ordinal: u32, operation: &'static str) -> Result<(), DeviceError> {
    match lost(ordinal).get() {
        Some(error) => Err(DeviceError::new(operation, ErrorKind::Lost(Box::new(error.clone())))),
        None => Ok(()),
    }
}

/// Records `error` in [`LOST`] if it is fatal, which makes the GPU lost for this process.
fn note(ordinal: u32, error: &DeviceError) {
    if error.is_fatal() {
        // `set` does nothing if an error is already stored, so the first error, which caused the
        // later errors, is kept.
        let _ = lost(ordinal).set(error.clone());
    }
}

/// Returns the PTX image of `module` for the newest architecture that runs on `gpu`.
#[track_caller]
fn image_for(module: &KernelModule, gpu: Arch) -> Result<PtxImage, DeviceError> {
    module.newest_for(gpu).ok_or_else(|| {
        let compiled: Vec<_> = module.images.iter().map(|image| image.arch.to_string()).collect();
        let reason = format!(
            "the GPU is {gpu}, but the kernels were compiled for {}; rebuild the kernels with \
             `CudaBuilder::arch` set to an architecture that runs on this GPU",
            compiled.join(", ")
        );
        DeviceError::new("choosing kernels", ErrorKind::NoDevice(reason))
    })
}

/// An open GPU. Fields drop in declaration order, so the modules are unloaded before their context
/// is released.
pub(crate) struct CudaDevice {
    modules: Modules,
    context: Context,
    info: CudaInfo,
}

impl CudaDevice {
    #[track_caller]
    pub(super) fn open(ordinal: u32, modules: &[KernelModule]) -> Result<Self, DeviceError> {
        check_alive(ordinal, "opening a CUDA device")?;
        // Inside a closure, `caller` would be the closure.
        let location = Location::caller();
        let opened = Gpu::get(ordinal).and_then(|gpu| {
            let context = Context::retain(gpu).check("opening a CUDA context")?;
            Self::with_context(ordinal, gpu, context, modules)
        });
        opened
            .map_err(|error| DeviceError { location, ..error })
            .inspect_err(|error| note(ordinal, error))
    }

    /// Opens the GPU of a context that other code owns, and loads the kernels into that context.
    ///
    /// # Safety
    /// The context must not be destroyed before the result is dropped.
    #[track_caller]
    pub(super) unsafe fn from_context(
        context: sys::CUcontext,
        modules: &[KernelModule],
    ) -> Result<Self, DeviceError> {
        const OP: &str = "using a CUDA context";
        let count = Gpu::count()?;
        let found = {
            let _current = Current::enter(context).check(OP)?;
            Gpu::current().check(OP)?
        };
        let is_found = |&ordinal: &u32| Gpu::get(ordinal).is_ok_and(|gpu| gpu == found);
        let ordinal = (0..count).find(is_found);
        let ordinal = ordinal.ok_or(sys::CUresult::CUDA_ERROR_INVALID_DEVICE).check(OP)?;
        check_alive(ordinal, OP)?;
        // SAFETY: the caller upholds this function's safety contract.
        let context = unsafe { Context::from_raw(context) };
        Self::with_context(ordinal, found, context, modules)
            .inspect_err(|error| note(ordinal, error))
    }

    /// Creates a device that uses `context`, and loads the kernels of `modules` into that context.
    #[track_caller]
    fn with_context(
        ordinal: u32,
        gpu: Gpu,
        context: Context,
        modules: &[KernelModule],
    ) -> Result<Self, DeviceError> {
        let info = CudaInfo::of(ordinal, gpu)?;
        let images =
            modules.iter().map(|module| Ok((module.package, image_for(module, info.arch)?)));
        let images = images.collect::<Result<Vec<_>, DeviceError>>()?;
        let device = Self { modules: Modules::default(), context, info };
        let _current = Current::enter(device.context.as_raw()).check("opening a CUDA context")?;
        for (package, image) in images {
            device.modules.add(Kernels::load(&device.context, package, image)?);
        }
        Ok(device)
    }

    /// Loads the kernels of `module` in addition to the kernels that are already loaded.
    #[track_caller]
    pub(super) fn load(&self, module: &KernelModule) -> Result<(), DeviceError> {
        let image = image_for(module, self.info.arch)?;
        self.enter("loading kernels", || {
            self.modules.add(Kernels::load(&self.context, module.package, image)?);
            Ok(())
        })
    }

    /// Compiles the wanted kernels, one after the other: the driver compiles one at a time for a context.
    #[track_caller]
    pub(super) fn prepare(
        &self,
        is_wanted: &dyn Fn(&str) -> bool,
        before: &mut dyn FnMut(&str),
    ) -> Result<(), DeviceError> {
        self.enter("compiling kernels", || {
            self.modules.late(is_wanted).into_iter().try_for_each(|(package, name)| {
                before(name);
                self.modules.function(&self.context, Some(package), name).map(|_| ())
            })
        })
    }

    pub(super) fn context(&self) -> sys::CUcontext {
        self.context.as_raw()
    }

    pub(super) fn info(&self) -> &CudaInfo {
        &self.info
    }

    /// Returns [`ErrorKind::Lost`] if a call through this or any other `CudaDevice` of the same GPU
    /// returned a fatal error.
    #[track_caller]
    pub(super) fn check_alive(&self, operation: &'static str) -> Result<(), DeviceError> {
        check_alive(self.info.ordinal, operation)
    }

    /// Runs `body` with the context current on this thread. A fatal error marks the device as lost.
    /// On a lost device, every call fails without running `body`.
    #[track_caller]
    pub(crate) fn enter<T>(
        &self,
        operation: &'static str,
        body: impl FnOnce() -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        self.check_alive(operation)?;
        let result = match Current::enter(self.context.as_raw()) {
            Ok(_current) => body(),
            Err(error) => Err(error).check(operation),
        };
        match result {
            Ok(value) => Ok(value),
            Err(error) => {
                let error = DeviceError { location: Location::caller(), ..error };
                note(self.info.ordinal, &error);
                Err(error)
            }
        }
    }

    /// Runs an operation that must run even if the device is lost, such as a wait or a free. Tries
    /// up to 3 times, but returns early at a fatal error.
    #[track_caller]
    pub(super) fn insist(
        &self,
        operation: &'static str,
        body: impl FnMut() -> sys::CUresult,
    ) -> Result<(), DeviceError> {
        let result = context::insist_in(self.context.as_raw(), body).check(operation);
        result.inspect_err(|error| note(self.info.ordinal, error))
    }

    /// Releases a driver object by calling `body`. Any thread may call this function. If the driver
    /// fails to release the object, the object stays in the leak counters, and the driver frees it
    /// when the context is destroyed.
    pub(super) fn release(&self, counted: Option<&mut Token>, body: impl FnMut() -> sys::CUresult) {
        let result = self.insist("releasing a driver object", body);
        if let (Err(_), Some(counted)) = (result, counted) {
            counted.keep();
        }
    }

    /// Waits for all work of the context and then releases an object like
    /// [`release`](Self::release). The wait is necessary for objects, such as textures, that the
    /// driver destroys even while kernels use them. If the wait fails, the object is not released.
    pub(super) fn release_idle(
        &self,
        counted: &mut Token,
        mut body: impl FnMut() -> sys::CUresult,
    ) {
        // SAFETY: the call has no preconditions.
        self.release(Some(counted), || match unsafe { sys::cuCtxSynchronize() } {
            sys::CUresult::CUDA_SUCCESS => body(),
            error => error,
        });
    }

    /// Compiles and loads PTX text. The caller keeps the device alive as long as the module.
    #[track_caller]
    pub(crate) fn module(&self, ptx: &str) -> Result<Module, DeviceError> {
        self.enter("loading a module", || Module::load(&self.context, ptx))
    }

    /// Returns the kernel of an entry. The context must be current.
    #[track_caller]
    pub(super) fn function(&self, entry: &KernelEntry) -> Result<Function, DeviceError> {
        self.modules.known_function(&self.context, entry.package, entry.name)
    }

    /// Submits a launch. The caller has already made the context current and checked that all memory
    /// arguments are on this device.
    ///
    /// # Safety
    /// `params` must point to the kernel's parameters, and the caller must meet the kernel's safety
    /// requirements.
    #[track_caller]
    pub(super) unsafe fn launch(
        &self,
        stream: sys::CUstream,
        config: &LaunchConfig,
        function: Function,
        params: *mut *mut c_void,
    ) -> Result<(), DeviceError> {
        const OP: &str = "launching a kernel";
        if config.dynamic_shared > 0 {
            self.allow_shared(function.raw, config.dynamic_shared)?;
        }
        let ([gx, gy, gz], [bx, by, bz]) = (config.grid, config.block);
        let (shared, none) = (config.dynamic_shared, ptr::null_mut());
        let mut early = [sys::CUlaunchAttribute {
            id: sys::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: 1,
            rest: [0; 15],
        }];
        let config = sys::CUlaunchConfig {
            gridDimX: gx,
            gridDimY: gy,
            gridDimZ: gz,
            blockDimX: bx,
            blockDimY: by,
            blockDimZ: bz,
            sharedMemBytes: shared,
            hStream: stream,
            attrs: early.as_mut_ptr(),
            numAttrs: 1,
        };
        // SAFETY: the caller guarantees that `params` matches the kernel's parameters,
        // and the driver copies the values before the call returns. If `function.waits` is set, the
        // kernel may start before the preceding kernel in the stream has ended, but it waits for
        // that kernel itself. The caller upholds the rest of this function's safety contract.
        unsafe {
            if function.waits {
                sys::cuLaunchKernelEx(&raw const config, function.raw, params, none)
            } else {
                let function = function.raw;
                sys::cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, params, none)
            }
        }
        .check(OP)
    }

    /// Raises the kernel's dynamic shared memory limit to the maximum if the launch needs more than
    /// the default. Always sets the maximum, so that a concurrent launch of the same kernel never
    /// finds a limit that is too low.
    #[track_caller]
    fn allow_shared(&self, function: sys::CUfunction, dynamic: u32) -> Result<(), DeviceError> {
        const OP: &str = "raising the shared memory limit";
        let fixed = attribute(function, Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, OP)?;
        if fixed + dynamic <= PLAIN_SHARED {
            return Ok(());
        }
        let most = self.info.shared_per_block.saturating_sub(fixed);
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: `function` belongs to a module that is loaded.
        unsafe { sys::cuFuncSetAttribute(function, attribute, most as i32) }.check(OP)
    }

    /// Returns the resource usage of a kernel as compiled for this GPU.
    #[track_caller]
    pub(super) fn resources(&self, kernel: &str) -> Result<KernelResources, DeviceError> {
        const OP: &str = "reading a kernel's resources";
        self.enter(OP, || {
            let function = self.modules.function(&self.context, None, kernel)?.raw;
            let read = |which| attribute(function, which, OP);
            Ok(KernelResources {
                registers: read(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
                shared_bytes: read(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
                local_bytes: read(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
                max_threads: read(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            })
        })
    }

    #[track_caller]
    pub(super) fn set_constant(
        &self,
        symbol: &'static str,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        const OP: &str = "setting a constant";
        self.enter(OP, || {
            let (address, size) = self.modules.global(symbol)?;
            if bytes.len() > size {
                let what = "bytes of a constant";
                let (found, expected) = ((bytes.len(), 1), (size, 1));
                let kind = ErrorKind::SizeMismatch { what, found, expected };
                return Err(DeviceError::new(OP, kind));
            }
            // The copy runs in the default stream, which non-blocking streams do not wait for. The
            // context is therefore synchronised before and after the copy.
            // SAFETY: the context is current.
            let synchronize = || unsafe { sys::cuCtxSynchronize() }.check(OP);
            synchronize()?;
            // SAFETY: the constant at `address` has room for `bytes`, as checked above.
            unsafe { sys::cuMemcpyHtoD_v2(address, bytes.as_ptr().cast(), bytes.len()) }
                .check(OP)?;
            synchronize()
        })
    }
}

/// Returns an attribute of a kernel.
#[track_caller]
fn attribute(
    function: sys::CUfunction,
    which: Attribute,
    operation: &'static str,
) -> Result<u32, DeviceError> {
    let mut value = 0;
    // SAFETY: `function` belongs to a module that is loaded. The driver writes the result to a
    // local variable.
    unsafe { sys::cuFuncGetAttribute(&raw mut value, which, function) }.check(operation)?;
    Ok(value as u32)
}

/// The resource usage of one kernel as compiled by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct KernelResources {
    /// The number of registers per thread.
    pub registers: u32,
    /// The static shared memory per block in bytes.
    pub shared_bytes: u32,
    /// The local memory per thread in bytes, including spilled registers.
    pub local_bytes: u32,
    /// The maximum number of threads per block.
    pub max_threads: u32,
}
