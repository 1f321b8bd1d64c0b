//! The CPU as a device: its name, memory and attributes.

use std::ffi::{c_char, c_int, c_uint};
use std::fs;
use std::ptr;
use std::thread;

use cust_raw::driver_sys::{CUdevice, CUdevice_attribute, CUresult};

/// The CUDA version of the emulated driver: 12.8, as 1000 times the major version plus 10 times the
/// minor version.
const VERSION: c_int = 12_080;

pub(crate) unsafe fn cuInit(_flags: c_uint) -> CUresult {
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuDriverGetVersion(version: *mut c_int) -> CUresult {
    // SAFETY: the caller passes a valid address for the result.
    unsafe { *version = VERSION };
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuDeviceGetCount(count: *mut c_int) -> CUresult {
    // SAFETY: the caller passes a valid address for the result.
    unsafe { *count = 1 };
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) -> CUresult {
    if ordinal != 0 {
        return CUresult::CUDA_ERROR_INVALID_DEVICE;
    }
    // SAFETY: the caller passes a valid address for the result.
    unsafe { *device = 0 };
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuDeviceGetName(
    name: *mut c_char,
    room: c_int,
    _device: CUdevice,
) -> CUresult {
    let text = c"CPU";
    let bytes = text.to_bytes_with_nul();
    if (room as usize) < bytes.len() {
        return CUresult::CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: the caller passes a buffer `name` of `room` bytes, which is large enough for `bytes`,
    // as checked above.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr().cast(), name, bytes.len()) };
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: CUdevice) -> CUresult {
    // SAFETY: the caller passes a valid address for the result.
    unsafe { *bytes = memory("MemTotal:") };
    CUresult::CUDA_SUCCESS
}

pub(crate) unsafe fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> CUresult {
    // SAFETY: the caller passes a valid address for the result.
    unsafe { (*free, *total) = (memory("MemAvailable:"), memory("MemTotal:")) };
    CUresult::CUDA_SUCCESS
}

/// Returns the host memory in bytes that the process can still use, if the system reports it.
pub(super) fn available() -> Option<usize> {
    Some(memory("MemAvailable:")).filter(|&bytes| bytes > 0)
}

/// Returns the entry `name` of `/proc/meminfo` in bytes. Returns 0 if the file or the entry does
/// not exist.
fn memory(name: &str) -> usize {
    let table = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = table.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Returns an attribute of the CPU. The launch limits are the ones that `cuda_cpu` and the emulated
/// driver enforce. The other limits are typical of current GPUs. An attribute that has no meaning
/// on the CPU is 0.
pub(crate) unsafe fn cuDeviceGetAttribute(
    value: *mut c_int,
    which: CUdevice_attribute,
    _device: CUdevice,
) -> CUresult {
    let answer = match which.0 {
        // Maximum threads per block, in total (1) and along the x and y axes (2 and 3).
        1..=3 => 1024,
        // Maximum threads per block along the z axis.
        4 => 64,
        // Maximum blocks per grid, along the x axis (5) and along the y and z axes (6 and 7).
        5 => i32::MAX,
        6 | 7 => 65_535,
        // Memory sizes in bytes: shared memory per block without opt-in (8), constant memory (9),
        // and shared memory per multiprocessor (81) and per block with opt-in (97).
        8 => 48 << 10,
        9 => 64 << 10,
        81 | 97 => 227 << 10,
        // Threads per warp.
        10 => 32,
        // Largest row pitch that a copy accepts, in bytes.
        11 => i32::MAX,
        // Registers per block and per multiprocessor.
        12 | 82 => 65_536,
        // Number of multiprocessors, which is the number of CPU cores.
        16 => thread::available_parallelism().map_or(1, |cores| cores.get() as c_int),
        // Maximum threads per multiprocessor.
        39 => 2048,
        // Supported features: memory shared with the host (18), mapped host memory (19), unified
        // addressing (41), stream priorities (78), managed memory (83), access to pageable memory
        // (88), concurrent access to managed memory (89), and host pointers to registered memory
        // (91).
        18 | 19 | 41 | 78 | 83 | 88 | 89 | 91 => 1,
        // Compute capability 9.0: the major and the minor version.
        75 => 9,
        76 => 0,
        _ => 0,
    };
    // SAFETY: the caller passes a valid address for the result.
    unsafe { *value = answer };
    CUresult::CUDA_SUCCESS
}
