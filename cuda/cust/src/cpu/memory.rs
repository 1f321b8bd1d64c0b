//! Allocations, fills and copies in host memory, each checked against the list of allocations.

use std::collections::BTreeMap;
use std::ffi::{c_uint, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use cuda_std::cpu::{POISON, memory};
use cust_raw::driver_sys::{CUdeviceptr, CUresult, CUstream};

use super::context;
use super::device::available;

/// The size in bytes of each live allocation, by address.
static ALLOCATED: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

fn allocated<R>(body: impl FnOnce(&mut BTreeMap<usize, usize>) -> R) -> R {
    body(&mut ALLOCATED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The smallest allocation, in bytes, whose size is checked against the available host memory.
/// Without this check, Linux would grant more memory than exists and kill the process when the
/// memory is written.
const LARGE: usize = 1 << 30;

/// Allocates memory that the caller must treat as uninitialised, although each byte is set to
/// [`POISON`].
pub(super) fn allocate(bytes: usize) -> Result<*mut u8, CUresult> {
    context::check()?;
    if bytes == 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    if bytes >= LARGE && available().is_some_and(|available| bytes > available) {
        return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    }
    let data = memory::allocate(bytes).map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    // SAFETY: `data` points to `bytes` bytes that were just allocated.
    unsafe { ptr::write_bytes(data, POISON, bytes) };
    allocated(|all| all.insert(data.expose_provenance(), bytes));
    Ok(data)
}

/// Frees memory from [`allocate`].
pub(super) fn free(address: usize) -> Result<(), CUresult> {
    if address == 0 {
        return Ok(());
    }
    let bytes = allocated(|all| all.remove(&address)).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    // SAFETY: `address` was in `ALLOCATED`, so `allocate` allocated it with this size, and it has
    // not been freed yet.
    unsafe { memory::free(ptr::with_exposed_provenance_mut(address), bytes) };
    Ok(())
}

/// Converts a device address to a pointer. Returns `CUDA_ERROR_INVALID_VALUE` if the `bytes` bytes
/// that start at the address are not all in the same allocation.
pub(super) fn device(address: CUdeviceptr, bytes: usize) -> Result<*mut u8, CUresult> {
    context::check()?;
    let address = address as usize;
    let holds = |(start, size): (&usize, &usize)| {
        address.checked_add(bytes).is_some_and(|end| end <= start + size)
    };
    let inside = allocated(|all| all.range(..=address).next_back().is_some_and(holds));
    match inside || bytes == 0 {
        true => Ok(ptr::with_exposed_provenance_mut(address)),
        false => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
}

/// Converts a result to the driver's result code.
pub(super) fn code(result: Result<(), CUresult>) -> CUresult {
    result.err().unwrap_or(CUresult::CUDA_SUCCESS)
}

pub(crate) unsafe fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize) -> CUresult {
    code(allocate(bytes).map(|data| {
        // SAFETY: the caller passes a valid address for the result.
        unsafe { *address = data.expose_provenance() as CUdeviceptr };
    }))
}

pub(crate) unsafe fn cuMemFree_v2(address: CUdeviceptr) -> CUresult {
    code(free(address as usize))
}

pub(crate) unsafe fn cuMemAllocManaged(
    address: *mut CUdeviceptr,
    bytes: usize,
    _flags: c_uint,
) -> CUresult {
    // SAFETY: the caller meets the requirements of `cuMemAlloc_v2`.
    unsafe { cuMemAlloc_v2(address, bytes) }
}

pub(crate) unsafe fn cuMemHostAlloc(
    data: *mut *mut c_void,
    bytes: usize,
    _flags: c_uint,
) -> CUresult {
    code(allocate(bytes).map(|found| {
        // SAFETY: the caller passes a valid address for the result.
        unsafe { *data = found.cast() };
    }))
}

pub(crate) unsafe fn cuMemFreeHost(data: *mut c_void) -> CUresult {
    code(free(data.addr()))
}

/// Sets `count` elements of type `T` at a device address to `value`.
fn fill<T: Copy>(address: CUdeviceptr, value: T, count: usize) -> CUresult {
    let bytes = count.saturating_mul(size_of::<T>());
    code(device(address, bytes).and_then(|data| {
        let data = data.cast::<T>();
        if !data.is_aligned() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        for i in 0..count {
            // SAFETY: `device` checked that `count` elements from `data` on are allocated, and
            // `data` is aligned for `T`.
            unsafe { data.add(i).write(value) };
        }
        Ok(())
    }))
}

pub(crate) unsafe fn cuMemsetD8_v2(address: CUdeviceptr, value: u8, bytes: usize) -> CUresult {
    fill(address, value, bytes)
}

pub(crate) unsafe fn cuMemsetD16_v2(address: CUdeviceptr, value: u16, count: usize) -> CUresult {
    fill(address, value, count)
}

pub(crate) unsafe fn cuMemsetD32_v2(address: CUdeviceptr, value: u32, count: usize) -> CUresult {
    fill(address, value, count)
}

pub(crate) unsafe fn cuMemcpyHtoD_v2(
    to: CUdeviceptr,
    from: *const c_void,
    bytes: usize,
) -> CUresult {
    code(device(to, bytes).map(|to| {
        // SAFETY: the caller guarantees that `from` is valid for reads of `bytes` bytes, and
        // `device` checked that the bytes at `to` are allocated. `ptr::copy` accepts overlapping
        // ranges.
        unsafe { ptr::copy(from.cast(), to, bytes) };
    }))
}

pub(crate) unsafe fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize) -> CUresult {
    code(device(from, bytes).map(|from| {
        // SAFETY: the caller guarantees that `to` is valid for writes of `bytes` bytes, and
        // `device` checked that the bytes at `from` are allocated. `ptr::copy` accepts overlapping
        // ranges.
        unsafe { ptr::copy(from, to.cast(), bytes) };
    }))
}

pub(crate) unsafe fn cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) -> CUresult {
    code(device(from, bytes).and_then(|from| {
        let to = device(to, bytes)?;
        // SAFETY: `device` checked that the `bytes` bytes at `from` and at `to` are allocated.
        // `ptr::copy` accepts overlapping ranges.
        unsafe { ptr::copy(from, to, bytes) };
        Ok(())
    }))
}

/// Defines functions that do the same as others and have a stream as their last argument.
macro_rules! in_stream {
    ($($name:ident = $now:ident($($argument:ident: $type:ty),*);)+) => {$(
        pub(crate) unsafe fn $name($($argument: $type,)* _stream: CUstream) -> CUresult {
            // SAFETY: the caller meets the requirements of the function without a stream.
            unsafe { $now($($argument),*) }
        }
    )+};
}

in_stream! {
    cuMemAllocAsync = cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    cuMemFreeAsync = cuMemFree_v2(address: CUdeviceptr);
    cuMemsetD8Async = cuMemsetD8_v2(address: CUdeviceptr, value: u8, bytes: usize);
    cuMemsetD16Async = cuMemsetD16_v2(address: CUdeviceptr, value: u16, count: usize);
    cuMemsetD32Async = cuMemsetD32_v2(address: CUdeviceptr, value: u32, count: usize);
    cuMemcpyHtoDAsync_v2 = cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize);
    cuMemcpyDtoHAsync_v2 = cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize);
    cuMemcpyDtoDAsync_v2 = cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize);
}
