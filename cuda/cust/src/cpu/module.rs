//! Modules whose kernels are functions of this program, and their launches.
//!
//! PTX is not run here. A module is the list of its kernels' names; each is looked for among the kernels
//! that the program links, those of the package that the PTX was compiled from first.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs;
use std::ptr;
use std::thread;

use cuda_std::cpu::{self, ConstantBank};
use cuda_std::launch::{KERNELS, KernelEntry};
use cust_raw::driver_sys::{
    CUdeviceptr, CUfunction, CUfunction_attribute, CUjit_option, CUmodule, CUoccupancyB2DSize,
    CUresult, CUstream,
};

use super::context;
use super::memory::code;
use crate::error;

/// How the PTX names the package that it was compiled from.
const PACKAGE: &str = "// cuda_builder.package ";

/// Shared memory that a block can have.
const SHARED: u32 = 227 << 10;

/// A module: where its kernels are looked for, and their names.
struct Module {
    package: Option<String>,
    names: Vec<String>,
}

impl Module {
    /// The module of a PTX text.
    fn of(ptx: &str) -> Result<Self, CUresult> {
        if !ptx.contains(".version") {
            // A cubin or a fatbin has no names that could be read.
            return Err(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
        }
        let package = ptx.lines().find_map(|line| line.strip_prefix(PACKAGE));
        let package = package.and_then(|words| words.split_whitespace().next());
        let names = ptx.split(".entry ").skip(1).filter_map(|rest| {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_$%".contains(c)))?;
            Some(rest[..end].to_owned())
        });
        Ok(Self { package: package.map(str::to_owned), names: names.collect() })
    }

    /// The linked kernel of this name. Two of one name are told apart by the package alone.
    fn kernel(&self, name: &str) -> Result<&'static KernelEntry, CUresult> {
        if !self.names.iter().any(|known| known == name) {
            return Err(CUresult::CUDA_ERROR_NOT_FOUND);
        }
        let mut named = KERNELS.iter().filter(|kernel| kernel.name == name);
        let own = named.clone().find(|kernel| self.package.as_deref() == Some(kernel.package));
        match (own, named.next(), named.next()) {
            (Some(kernel), ..) | (None, Some(kernel), None) => Ok(kernel),
            // None is linked, or several are and none is the package's.
            _ => Err(CUresult::CUDA_ERROR_NOT_FOUND),
        }
    }
}

/// The module of a handle.
///
/// # Safety
/// The handle is null, or of a module that lives.
unsafe fn module<'a>(handle: CUmodule) -> Result<&'a Module, CUresult> {
    // SAFETY: as the caller vouches.
    unsafe { handle.cast::<Module>().as_ref() }.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

/// The kernel of a handle, which is its address.
///
/// # Safety
/// The handle is null, or of a function of a module.
pub(super) unsafe fn kernel<'a>(handle: CUfunction) -> Result<&'a KernelEntry, CUresult> {
    // SAFETY: as the caller vouches.
    unsafe { handle.cast::<KernelEntry>().as_ref() }.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

fn load(to: *mut CUmodule, ptx: &str) -> CUresult {
    code(context::check().and_then(|()| {
        let made = Box::into_raw(Box::new(Module::of(ptx)?));
        // SAFETY: the caller gives a place for the result.
        unsafe { *to = made.cast() };
        Ok(())
    }))
}

pub(crate) unsafe fn cuModuleLoad(to: *mut CUmodule, file: *const c_char) -> CUresult {
    // SAFETY: the caller gives a text that ends with a zero.
    let file = unsafe { CStr::from_ptr(file) };
    match fs::read(&*file.to_string_lossy()) {
        Ok(bytes) => load(to, &String::from_utf8_lossy(&bytes)),
        Err(_) => CUresult::CUDA_ERROR_FILE_NOT_FOUND,
    }
}

pub(crate) unsafe fn cuModuleLoadDataEx(
    to: *mut CUmodule,
    image: *const c_void,
    _options: c_uint,
    _names: *mut CUjit_option,
    _values: *mut *mut c_void,
) -> CUresult {
    // SAFETY: the caller gives a text that ends with a zero, or a binary, which has one.
    let text = unsafe { CStr::from_ptr(image.cast()) };
    load(to, &text.to_string_lossy())
}

pub(crate) unsafe fn cuModuleUnload(handle: CUmodule) -> CUresult {
    if handle.is_null() {
        return CUresult::CUDA_ERROR_INVALID_HANDLE;
    }
    // SAFETY: made by `load`, and unloaded once, as the caller vouches.
    drop(unsafe { Box::from_raw(handle.cast::<Module>()) });
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuModuleGetFunction(
    function: *mut CUfunction,
    handle: CUmodule,
    name: *const c_char,
) -> CUresult {
    // SAFETY: the caller gives a module that lives and a text that ends with a zero.
    let (module, name) = unsafe { (module(handle), CStr::from_ptr(name)) };
    code(module.and_then(|module| module.kernel(&name.to_string_lossy())).map(|kernel| {
        // SAFETY: the caller gives a place for the result.
        unsafe { *function = ptr::from_ref(kernel).cast_mut().cast() };
    }))
}

pub(crate) unsafe fn cuModuleGetGlobal_v2(
    _address: *mut CUdeviceptr,
    _bytes: *mut usize,
    _handle: CUmodule,
    _name: *const c_char,
) -> CUresult {
    CUresult::CUDA_ERROR_NOT_FOUND
}

pub(crate) unsafe fn cuFuncGetAttribute(
    value: *mut c_int,
    which: CUfunction_attribute,
    function: CUfunction,
) -> CUresult {
    // SAFETY: the caller gives a function of a module.
    code(unsafe { kernel(function) }.map(|kernel| {
        let answer = match which {
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => {
                kernel.bounds.max_threads as c_int
            }
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                SHARED as c_int
            }
            // Nothing is measured on the CPU.
            _ => 0,
        };
        // SAFETY: the caller gives a place for the result.
        unsafe { *value = answer };
    }))
}

pub(crate) unsafe fn cuFuncSetAttribute(
    function: CUfunction,
    _which: CUfunction_attribute,
    _value: c_int,
) -> CUresult {
    // SAFETY: as above; so below.
    code(unsafe { kernel(function) }.map(drop))
}

pub(crate) unsafe fn cuFuncSetCacheConfig(function: CUfunction, _config: c_uint) -> CUresult {
    // SAFETY: as above.
    code(unsafe { kernel(function) }.map(drop))
}

pub(crate) unsafe fn cuFuncSetSharedMemConfig(function: CUfunction, _config: c_uint) -> CUresult {
    // SAFETY: as above.
    code(unsafe { kernel(function) }.map(drop))
}

fn cores() -> c_int {
    thread::available_parallelism().map_or(1, |cores| cores.get() as c_int)
}

pub(crate) unsafe fn cuOccupancyAvailableDynamicSMemPerBlock(
    bytes: *mut usize,
    function: CUfunction,
    _blocks: c_int,
    _block: c_int,
) -> CUresult {
    // SAFETY: as above; the caller gives a place for the result, here and below.
    code(unsafe { kernel(function) }.map(|_| unsafe { *bytes = SHARED as usize }))
}

/// A core runs one block at a time.
pub(crate) unsafe fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    function: CUfunction,
    _block: c_int,
    _dynamic_shared: usize,
) -> CUresult {
    // SAFETY: as above.
    code(unsafe { kernel(function) }.map(|_| unsafe { *blocks = 1 }))
}

/// Suggests the largest block up to 256 threads, which a GPU's driver often does too, and one block a core.
pub(crate) unsafe fn cuOccupancyMaxPotentialBlockSize(
    grid: *mut c_int,
    block: *mut c_int,
    function: CUfunction,
    _dynamic_shared_of: CUoccupancyB2DSize,
    _dynamic_shared: usize,
    limit: c_int,
) -> CUresult {
    // SAFETY: as above.
    code(unsafe { kernel(function) }.map(|kernel| {
        let limit = if limit > 0 { limit } else { c_int::MAX };
        let threads = (kernel.bounds.max_threads as c_int).min(256).min(limit);
        // SAFETY: as above.
        unsafe { (*grid, *block) = (cores(), threads) };
    }))
}

pub(crate) unsafe fn cuLaunchKernel(
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    dynamic_shared: c_uint,
    _stream: CUstream,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult {
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    // SAFETY: as the caller vouches.
    code(unsafe { launch(function, grid, block, dynamic_shared, parameters, extra) })
}

/// # Safety
/// The function is of a module, the parameters are the kernel's own, and what the kernel asks for.
pub(super) unsafe fn launch(
    function: CUfunction,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<(), CUresult> {
    context::check()?;
    // SAFETY: as the caller vouches.
    let kernel = unsafe { kernel(function) }?;
    let threads = block.into_iter().fold(1, u32::saturating_mul);
    let too_large = grid[0] > i32::MAX as u32 || grid[1] > 65_535 || grid[2] > 65_535;
    if grid.contains(&0) || block.contains(&0) || too_large || block[2] > 64 || !extra.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    if threads > 1024 || dynamic_shared > SHARED {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    if threads > kernel.bounds.max_threads {
        return Err(CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    }
    let constants = ConstantBank::default();
    let launch = cpu::Launch {
        kernel: kernel.name,
        grid,
        block,
        dynamic_shared: dynamic_shared as usize,
        constants: &constants,
        check_races: cfg!(debug_assertions),
    };
    let parameters = Parameters(parameters);
    // SAFETY: as the caller vouches; all device memory is host memory.
    let thread = || unsafe { (kernel.thread)(parameters.get()) };
    cpu::launch(&launch, &thread).map_err(error::report)
}

/// Pointers to a kernel's parameters, which its threads only read.
struct Parameters(*mut *mut c_void);

impl Parameters {
    fn get(&self) -> *const *const c_void {
        self.0.cast_const().cast()
    }
}

// SAFETY: what is behind them is read, by every thread of the launch, and nobody writes it meanwhile.
unsafe impl Sync for Parameters {}
