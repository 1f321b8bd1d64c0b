//! The driver functions that the rust-cuda interface calls, on a GPU or on the CPU.
//!
//! Each function calls either NVIDIA's driver or the function of the same name in
//! [`cpu`](crate::cpu), which does the same work with host memory. [`backend`] makes this choice
//! once per process. On the CPU backend, unsupported functions return `NotSupported`.

use std::env;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use cust_raw::driver_sys::*;

use crate::cpu;
use crate::error::CudaResult;

/// The environment variable that selects where kernels run: `gpu` or `cpu`. If the variable is
/// unset, kernels run on the GPU if there is one, and otherwise on the CPU if the program links
/// kernels.
///
/// ```
/// // SAFETY: no other thread accesses the environment yet.
/// unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// assert_eq!(cust::backend(), cust::Backend::Cpu);
/// ```
pub const BACKEND_VARIABLE: &str = "CUST_DEVICE";

/// The backend that runs the kernels that this process launches by name.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::Backend;
///
/// let name = match cust::backend() {
///     Backend::Gpu => "GPU",
///     Backend::Cpu => "CPU",
/// };
/// assert_eq!(name, "CPU");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// NVIDIA's driver runs the kernels on a GPU.
    Gpu,
    /// The CPU runs the kernels, which are functions linked into this program.
    Cpu,
}

/// Returns the backend that runs the kernels of this process: a GPU if there is one, otherwise the
/// CPU if the program links a kernel (`use my_kernels as _;`). If neither exists, returns
/// [`Backend::Gpu`], whose calls then fail. [`BACKEND_VARIABLE`] overrides the choice. The first
/// call fixes the choice for the whole process.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// // The choice is the same for the whole process.
/// assert_eq!(cust::backend(), cust::backend());
/// ```
pub fn backend() -> Backend {
    static BACKEND: OnceLock<Backend> = OnceLock::new();
    *BACKEND.get_or_init(|| {
        let named = env::var(BACKEND_VARIABLE).unwrap_or_default();
        match &*named {
            "cpu" => Backend::Cpu,
            "gpu" => Backend::Gpu,
            _ if has_gpu() || cuda_std::launch::KERNELS.is_empty() => Backend::Gpu,
            _ => Backend::Cpu,
        }
    })
}

fn has_gpu() -> bool {
    let mut count = 0;
    // SAFETY: the driver writes the result to a local variable.
    cust_raw::init().is_ok()
        && unsafe { cust_raw::driver_sys::cuDeviceGetCount(&raw mut count) }.to_result().is_ok()
        && count > 0
}

/// Checks that a launch with `count` arguments passes as many arguments as the kernel has
/// parameters. The check exists only on the CPU. On a GPU, the function always returns `Ok`.
///
/// # Safety
/// The function must belong to a loaded module.
pub(crate) unsafe fn check_arguments(function: CUfunction, count: usize) -> CudaResult<()> {
    match backend() {
        Backend::Gpu => Ok(()),
        // SAFETY: the caller upholds this function's safety contract.
        Backend::Cpu => Ok(unsafe { cpu::check_arguments(function, count) }?),
    }
}

/// Defines one function for each driver function in a list. On a GPU, each of these functions calls
/// NVIDIA's driver. On the CPU, a function of a `cpu` list calls the function of the same name in
/// the module `cpu`, and a function of a `none` list returns `CUDA_ERROR_NOT_SUPPORTED`.
macro_rules! calls {
    ($cpu:ident: $(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {$(
        /// Calls the driver's function of this name, on a GPU or on the CPU.
        ///
        /// # Safety
        /// The arguments must meet the requirements in NVIDIA's manual.
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "the driver's signature")]
        pub(crate) unsafe fn $name($($argument: $type),*) -> CudaResult<()> {
            // SAFETY: the caller upholds this function's safety contract.
            let result = unsafe {
                match backend() {
                    Backend::Gpu => cust_raw::driver_sys::$name($($argument),*),
                    Backend::Cpu => calls!(@cpu $cpu, $name($($argument),*)),
                }
            };
            Ok(result.to_result()?)
        }
    )*};
    (@cpu cpu, $name:ident($($argument:ident),*)) => { cpu::$name($($argument),*) };
    (@cpu none, $name:ident($($argument:ident),*)) => {{
        $(let _ = $argument;)*
        CUresult::CUDA_ERROR_NOT_SUPPORTED
    }};
}

calls! { cpu:
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGetName(name: *mut c_char, room: c_int, device: CUdevice);
    fn cuDeviceGetAttribute(value: *mut c_int, which: CUdevice_attribute, device: CUdevice);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    fn cuDeviceGetUuid_v2(uuid: *mut CUuuid, device: CUdevice);
    fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    fn cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint);
    fn cuDevicePrimaryCtxReset_v2(device: CUdevice);
    fn cuCtxCreate_v2(context: *mut CUcontext, flags: c_uint, device: CUdevice);
    fn cuCtxDestroy_v2(context: CUcontext);
    fn cuCtxPushCurrent_v2(context: CUcontext);
    fn cuCtxPopCurrent_v2(context: *mut CUcontext);
    fn cuCtxGetCurrent(context: *mut CUcontext);
    fn cuCtxSetCurrent(context: CUcontext);
    fn cuCtxGetApiVersion(context: CUcontext, version: *mut c_uint);
    fn cuCtxGetDevice(device: *mut CUdevice);
    fn cuCtxGetFlags(flags: *mut c_uint);
    fn cuCtxGetLimit(value: *mut usize, limit: c_uint);
    fn cuCtxSetLimit(limit: c_uint, value: usize);
    fn cuCtxGetCacheConfig(config: *mut c_uint);
    fn cuCtxSetCacheConfig(config: c_uint);
    fn cuCtxGetSharedMemConfig(config: *mut c_uint);
    fn cuCtxSetSharedMemConfig(config: c_uint);
    fn cuCtxSynchronize();
    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int);
    fn cuModuleLoad(module: *mut CUmodule, file: *const c_char);
    fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        options: c_uint,
        names: *mut CUjit_option,
        values: *mut *mut c_void,
    );
    fn cuModuleUnload(module: CUmodule);
    fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    fn cuModuleGetGlobal_v2(
        address: *mut CUdeviceptr,
        bytes: *mut usize,
        module: CUmodule,
        name: *const c_char,
    );
    fn cuFuncGetAttribute(value: *mut c_int, which: CUfunction_attribute, function: CUfunction);
    fn cuFuncSetAttribute(function: CUfunction, which: CUfunction_attribute, value: c_int);
    fn cuFuncSetCacheConfig(function: CUfunction, config: c_uint);
    fn cuFuncSetSharedMemConfig(function: CUfunction, config: c_uint);
    fn cuOccupancyAvailableDynamicSMemPerBlock(
        bytes: *mut usize,
        function: CUfunction,
        blocks: c_int,
        block: c_int,
    );
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: CUfunction,
        block: c_int,
        dynamic_shared: usize,
    );
    fn cuOccupancyMaxPotentialBlockSize(
        grid: *mut c_int,
        block: *mut c_int,
        function: CUfunction,
        dynamic_shared_of: CUoccupancyB2DSize,
        dynamic_shared: usize,
        limit: c_int,
    );
    fn cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        dynamic_shared: c_uint,
        stream: CUstream,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    );
    fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int);
    fn cuStreamDestroy_v2(stream: CUstream);
    fn cuStreamGetFlags(stream: CUstream, flags: *mut c_uint);
    fn cuStreamGetPriority(stream: CUstream, priority: *mut c_int);
    fn cuStreamAddCallback(
        stream: CUstream,
        callback: CUstreamCallback,
        data: *mut c_void,
        flags: c_uint,
    );
    fn cuStreamSynchronize(stream: CUstream);
    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    fn cuEventCreate(event: *mut CUevent, flags: c_uint);
    fn cuEventDestroy_v2(event: CUevent);
    fn cuEventRecord(event: CUevent, stream: CUstream);
    fn cuEventQuery(event: CUevent);
    fn cuEventSynchronize(event: CUevent);
    fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
    fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    fn cuMemFree_v2(address: CUdeviceptr);
    fn cuMemAllocAsync(address: *mut CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemFreeAsync(address: CUdeviceptr, stream: CUstream);
    fn cuMemAllocManaged(address: *mut CUdeviceptr, bytes: usize, flags: c_uint);
    fn cuMemAllocPitch_v2(
        address: *mut CUdeviceptr,
        pitch: *mut usize,
        row: usize,
        rows: usize,
        element: c_uint,
    );
    fn cuMemPrefetchAsync(address: CUdeviceptr, bytes: usize, to: CUdevice, stream: CUstream);
    fn cuMemAdvise(address: CUdeviceptr, bytes: usize, advice: CUmem_advise, device: CUdevice);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemHostAlloc(data: *mut *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemFreeHost(data: *mut c_void);
    fn cuMemsetD8_v2(address: CUdeviceptr, value: u8, bytes: usize);
    fn cuMemsetD8Async(address: CUdeviceptr, value: u8, bytes: usize, stream: CUstream);
    fn cuMemsetD16_v2(address: CUdeviceptr, value: u16, count: usize);
    fn cuMemsetD16Async(address: CUdeviceptr, value: u16, count: usize, stream: CUstream);
    fn cuMemsetD32_v2(address: CUdeviceptr, value: u32, count: usize);
    fn cuMemsetD32Async(address: CUdeviceptr, value: u32, count: usize, stream: CUstream);
    fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize);
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize);
    fn cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize);
    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemcpy2D_v2(copy: *const CUDA_MEMCPY2D);
    fn cuMemcpyHtoA_v2(to: CUarray, offset: usize, from: *const c_void, bytes: usize);
    fn cuMemcpyAtoH_v2(to: *mut c_void, from: CUarray, offset: usize, bytes: usize);
    fn cuMemcpy3D_v2(copy: *const CUDA_MEMCPY3D);
    fn cuArray3DCreate_v2(array: *mut CUarray, description: *const CUDA_ARRAY3D_DESCRIPTOR);
    fn cuArrayDestroy(array: CUarray);
    fn cuTexObjectCreate(
        texture: *mut CUtexObject,
        resource: *const CUDA_RESOURCE_DESC,
        description: *const CUDA_TEXTURE_DESC,
        view: *const CUDA_RESOURCE_VIEW_DESC,
    );
    fn cuTexObjectDestroy(texture: CUtexObject);
}

calls! { none:
    fn cuImportExternalMemory(
        memory: *mut CUexternalMemory,
        description: *const CUDA_EXTERNAL_MEMORY_HANDLE_DESC,
    );
    fn cuExternalMemoryGetMappedBuffer(
        address: *mut CUdeviceptr,
        memory: CUexternalMemory,
        description: *const CUDA_EXTERNAL_MEMORY_BUFFER_DESC,
    );
    fn cuDestroyExternalMemory(memory: CUexternalMemory);
    fn cuLinkCreate_v2(
        options: c_uint,
        names: *mut CUjit_option,
        values: *mut *mut c_void,
        state: *mut CUlinkState,
    );
    fn cuLinkAddData_v2(
        state: CUlinkState,
        kind: CUjitInputType,
        data: *mut c_void,
        bytes: usize,
        name: *const c_char,
        options: c_uint,
        names: *mut CUjit_option,
        values: *mut *mut c_void,
    );
    fn cuLinkComplete(state: CUlinkState, cubin: *mut *mut c_void, bytes: *mut usize);
    fn cuLinkDestroy(state: CUlinkState);
    fn cuSurfObjectCreate(surface: *mut CUsurfObject, resource: *const CUDA_RESOURCE_DESC);
    fn cuSurfObjectDestroy(surface: CUsurfObject);
}
