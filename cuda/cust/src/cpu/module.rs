//! Modules on the CPU, whose kernels are functions linked into this program, and the launch of
//! these kernels.
//!
//! The PTX is not executed. It only provides the names of the module's kernels. Each name is looked
//! up among the kernels linked into the program, first among those of the package that the PTX was
//! compiled from. The module allocates memory for each array that `cuda_std::constant!` declares,
//! and each launch copies these arrays for its threads. Other globals cannot be looked up.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs;
use std::ptr;
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use cuda_std::cpu::{self, ConstantBank};
use cuda_std::launch::{KERNELS, KernelEntry};
use cust_raw::driver_sys::{
    CUdeviceptr, CUfunction, CUfunction_attribute, CUjit_option, CUmodule, CUoccupancyB2DSize,
    CUresult, CUstream,
};

use super::context;
use super::memory::{allocate, code, free};
use crate::error;

/// The prefix of the PTX comment that names the package of the kernels.
const PACKAGE: &str = "// cuda_builder.package ";

/// The maximum shared memory of a block in bytes.
const SHARED: u32 = 227 << 10;

/// The maximum constant memory of a module in bytes.
const CONSTANT: usize = 64 << 10;

/// A loaded module: the package and the names of its kernels, and its constant arrays.
struct Module {
    package: Option<String>,
    names: Vec<String>,
    constants: Arc<Constants>,
    /// The kernels that callers have looked up so far, by name. Each is boxed to keep its address,
    /// which is its handle.
    functions: Mutex<BTreeMap<&'static str, Box<Function>>>,
}

/// A kernel of a module.
struct Function {
    kernel: &'static KernelEntry,
    constants: Arc<Constants>,
}

impl Module {
    /// Creates a module with the kernels and the constants that are declared in a PTX text.
    fn of(ptx: &str) -> Result<Self, CUresult> {
        if !ptx.contains(".version") {
            // This is a cubin or a fatbin, whose kernel names cannot be read.
            return Err(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
        }
        let package = ptx.lines().find_map(|line| line.strip_prefix(PACKAGE));
        let package = package.and_then(|words| words.split_whitespace().next());
        let names = ptx.split(".entry ").skip(1).filter_map(identifier);
        Ok(Self {
            package: package.map(str::to_owned),
            names: names.map(str::to_owned).collect(),
            constants: Arc::new(Constants::of(ptx)?),
            functions: Mutex::default(),
        })
    }

    /// Returns the linked kernel called `name`. If several packages have a kernel of that name,
    /// returns the kernel of the module's own package.
    fn kernel(&self, name: &str) -> Result<&'static KernelEntry, CUresult> {
        if !self.names.iter().any(|known| known == name) {
            return Err(CUresult::CUDA_ERROR_NOT_FOUND);
        }
        let mut named = KERNELS.iter().filter(|kernel| kernel.name == name);
        let own = named.clone().find(|kernel| self.package.as_deref() == Some(kernel.package));
        let why = match (own, named.next(), named.next()) {
            (Some(kernel), ..) | (None, Some(kernel), None) => return Ok(kernel),
            (None, None, _) => "the program does not link its crate; add `use my_kernels as _;`",
            (None, Some(_), Some(_)) => {
                "several crates of the program define it; rename all but one"
            }
        };
        let text = format!("the PTX has a kernel `{name}`, but {why}");
        Err(error::explain(CUresult::CUDA_ERROR_NOT_FOUND, &text))
    }

    fn function(&self, name: &str) -> Result<CUfunction, CUresult> {
        let kernel = self.kernel(name)?;
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        let function = functions.entry(kernel.name).or_insert_with(|| {
            Box::new(Function { kernel, constants: Arc::clone(&self.constants) })
        });
        Ok(ptr::from_ref(&**function).cast_mut().cast())
    }
}

/// Returns the identifier at the start of a text.
fn identifier(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "_$%".contains(c)))?;
    Some(&text[..end])
}

/// The constant arrays of a module: the name, address and size in bytes of each array. Each array
/// has its own allocation.
struct Constants(Vec<(&'static str, usize, usize)>);

impl Constants {
    /// Allocates the constants declared in a PTX text, such as `.visible .const .align 16 .b8
    /// TAPS[256];`, and sets them to zero.
    fn of(ptx: &str) -> Result<Self, CUresult> {
        let mut constants = Self(Vec::new());
        for (_, declared) in ptx.lines().filter_map(|line| line.split_once(".const ")) {
            let array = declared.split_once(".b8 ").and_then(|(_, rest)| {
                let name = identifier(rest)?;
                let bytes = rest[name.len()..].strip_prefix('[')?.split_once(']')?.0;
                Some((interned(name), bytes.parse::<usize>().ok()?))
            });
            let Some((name, bytes)) = array.filter(|&(_, bytes)| bytes > 0) else { continue };
            let total =
                constants.0.iter().fold(bytes, |sum, &(_, _, more)| sum.saturating_add(more));
            if total > CONSTANT {
                let text = format!(
                    "the constants of a module need at least {total} bytes, but only {CONSTANT} \
                     are available; make the constants smaller"
                );
                return Err(error::explain(CUresult::CUDA_ERROR_INVALID_PTX, &text));
            }
            let data = allocate(bytes)?;
            constants.0.push((name, data.expose_provenance(), bytes));
            // SAFETY: `data` points to `bytes` bytes that were just allocated.
            unsafe { ptr::write_bytes(data, 0, bytes) };
        }
        Ok(constants)
    }

    /// Returns a copy of the current values of all constant arrays. A launch passes this copy to
    /// its threads.
    fn bank(&self) -> ConstantBank {
        let mut bank = ConstantBank::default();
        for &(name, address, bytes) in &self.0 {
            let data = ptr::with_exposed_provenance(address);
            // SAFETY: only dropping `self` frees the `bytes` bytes at `data`, and the caller of a
            // launch must ensure that nothing writes the constants during the launch call.
            bank.set(name, unsafe { slice::from_raw_parts(data, bytes) });
        }
        bank
    }
}

impl Drop for Constants {
    fn drop(&mut self) {
        for &(_, address, _) in &self.0 {
            // `of` allocated the memory, and only this call frees it, so the call cannot fail.
            let _ = free(address);
        }
    }
}

/// Returns a copy of `name` that is never freed. Each distinct name is stored only once.
fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&kept) = names.get(name) {
        return kept;
    }
    let kept: &'static str = String::leak(name.to_owned());
    names.insert(kept);
    kept
}

/// Returns the module that a handle refers to.
///
/// # Safety
/// The handle must be null or belong to a live module.
unsafe fn module<'a>(handle: CUmodule) -> Result<&'a Module, CUresult> {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { handle.cast::<Module>().as_ref() }.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

/// Returns the function that a handle refers to. The handle is the function's address.
///
/// # Safety
/// The handle must be null or belong to a function whose module is loaded.
unsafe fn function<'a>(handle: CUfunction) -> Result<&'a Function, CUresult> {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { handle.cast::<Function>().as_ref() }.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

/// Returns the kernel of the function that a handle refers to.
///
/// # Safety
/// The handle must be null or belong to a function whose module is loaded.
unsafe fn kernel(handle: CUfunction) -> Result<&'static KernelEntry, CUresult> {
    // SAFETY: the caller upholds this function's safety contract.
    Ok(unsafe { function(handle) }?.kernel)
}

/// Checks that a launch passes as many arguments as the kernel has parameters. The driver API
/// itself does not pass the number of arguments.
///
/// # Safety
/// The handle must be null or belong to a function whose module is loaded.
pub(crate) unsafe fn check_arguments(handle: CUfunction, count: usize) -> Result<(), CUresult> {
    // SAFETY: the caller upholds this function's safety contract.
    let KernelEntry { name, params, .. } = unsafe { kernel(handle) }?;
    if params.len() == count {
        return Ok(());
    }
    let text = format!(
        "kernel `{name}` has {} parameters, but the launch has {count} arguments; pass a slice as \
         two arguments, its pointer and its length",
        params.len()
    );
    Err(error::explain(CUresult::CUDA_ERROR_INVALID_VALUE, &text))
}

fn load(to: *mut CUmodule, ptx: &str) -> CUresult {
    code(context::check().and_then(|()| {
        let made = Box::into_raw(Box::new(Module::of(ptx)?));
        // SAFETY: the caller passes a valid address for the result.
        unsafe { *to = made.cast() };
        Ok(())
    }))
}

pub(crate) unsafe fn cuModuleLoad(to: *mut CUmodule, file: *const c_char) -> CUresult {
    // SAFETY: the caller passes a zero-terminated string.
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
    // SAFETY: the caller passes a zero-terminated string, or a binary, which contains a zero byte.
    let text = unsafe { CStr::from_ptr(image.cast()) };
    load(to, &text.to_string_lossy())
}

pub(crate) unsafe fn cuModuleUnload(handle: CUmodule) -> CUresult {
    if handle.is_null() {
        return CUresult::CUDA_ERROR_INVALID_HANDLE;
    }
    // SAFETY: the handle comes from `load`, and the caller guarantees that it is unloaded only
    // once.
    drop(unsafe { Box::from_raw(handle.cast::<Module>()) });
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuModuleGetFunction(
    function: *mut CUfunction,
    handle: CUmodule,
    name: *const c_char,
) -> CUresult {
    // SAFETY: the caller passes a live module and a zero-terminated string.
    let (module, name) = unsafe { (module(handle), CStr::from_ptr(name)) };
    code(module.and_then(|module| module.function(&name.to_string_lossy())).map(|found| {
        // SAFETY: the caller passes a valid address for the result.
        unsafe { *function = found };
    }))
}

pub(crate) unsafe fn cuModuleGetGlobal_v2(
    address: *mut CUdeviceptr,
    bytes: *mut usize,
    handle: CUmodule,
    name: *const c_char,
) -> CUresult {
    // SAFETY: the caller passes a live module and a zero-terminated string.
    let (module, name) = unsafe { (module(handle), CStr::from_ptr(name)) };
    code(module.and_then(|module| {
        let mut named =
            module.constants.0.iter().filter(|(known, ..)| known.as_bytes() == name.to_bytes());
        let &(_, found, size) = named.next().ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        // SAFETY: the caller passes a valid address for each result.
        unsafe { (*address, *bytes) = (found as CUdeviceptr, size) };
        Ok(())
    }))
}

pub(crate) unsafe fn cuFuncGetAttribute(
    value: *mut c_int,
    which: CUfunction_attribute,
    function: CUfunction,
) -> CUresult {
    // SAFETY: the caller passes the handle of a function whose module is loaded.
    code(unsafe { kernel(function) }.map(|kernel| {
        let answer = match which {
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => {
                kernel.bounds.max_threads as c_int
            }
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                SHARED as c_int
            }
            // The CPU has no value for these attributes.
            _ => 0,
        };
        // SAFETY: the caller passes a valid address for the result.
        unsafe { *value = answer };
    }))
}

pub(crate) unsafe fn cuFuncSetAttribute(
    function: CUfunction,
    _which: CUfunction_attribute,
    _value: c_int,
) -> CUresult {
    // SAFETY: the caller passes the handle of a function whose module is loaded.
    code(unsafe { kernel(function) }.map(drop))
}

fn cores() -> c_int {
    thread::available_parallelism().map_or(1, |cores| cores.get() as c_int)
}

/// Suggests a grid of one block per CPU core, and blocks of 256 threads, or fewer if `limit` or the
/// kernel's launch bounds require fewer.
pub(crate) unsafe fn cuOccupancyMaxPotentialBlockSize(
    grid: *mut c_int,
    block: *mut c_int,
    function: CUfunction,
    _dynamic_shared_of: CUoccupancyB2DSize,
    _dynamic_shared: usize,
    limit: c_int,
) -> CUresult {
    // SAFETY: the caller passes the handle of a function whose module is loaded.
    code(unsafe { kernel(function) }.map(|kernel| {
        let limit = if limit > 0 { limit } else { c_int::MAX };
        let threads = (kernel.bounds.max_threads as c_int).min(256).min(limit);
        // SAFETY: the caller passes valid addresses for both results.
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
    // SAFETY: the caller meets the requirements of `launch`.
    code(unsafe { launch(function, grid, block, dynamic_shared, parameters, extra) })
}

/// Checks the grid and block sizes of a kernel launch, then runs the kernel.
///
/// # Safety
/// The function must belong to a loaded module, the parameters must match the kernel, and the
/// caller must meet the safety requirements of the kernel.
unsafe fn launch(
    function: CUfunction,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<(), CUresult> {
    context::check()?;
    // SAFETY: the caller upholds this function's safety contract.
    let Function { kernel, constants } = unsafe { self::function(function) }?;
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
    let constants = constants.bank();
    let launch = cpu::Launch {
        kernel: kernel.name,
        grid,
        block,
        dynamic_shared: dynamic_shared as usize,
        constants: &constants,
        checks: cpu::Checks::of_process(),
    };
    let count = kernel.params.len();
    let params = match count {
        // The pointer may be null.
        0 => &[],
        // SAFETY: the caller guarantees that the parameters match the kernel.
        _ => unsafe { std::slice::from_raw_parts(parameters, count) },
    };
    // SAFETY: the caller meets the kernel's safety requirements, and keeps the memory of the arguments
    // until no thread uses it. Device addresses are valid here, because device memory is host memory.
    unsafe { kernel.simulate(&launch, params) }.map_err(error::report)
}
