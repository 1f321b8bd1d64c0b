//! Allocations as such: what the owning types are made from.

use std::ffi::c_void;
use std::ptr;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::{CudaError, CudaResult};
use crate::memory::{DeviceCopy, DevicePointer, UnifiedPointer};
use crate::stream::Stream;

/// The alignment that every allocation of the driver has.
const ALIGN: usize = 256;

/// Bytes of so many elements, which are neither none nor beyond the address space, nor aligned to more than
/// an allocation.
pub(super) fn bytes_of<T>(count: usize) -> CudaResult<usize> {
    match count.checked_mul(size_of::<T>()) {
        Some(bytes) if bytes > 0 && align_of::<T>() <= ALIGN => Ok(bytes),
        _ => Err(CudaError::InvalidMemoryAllocation),
    }
}

/// Device memory for `count` elements, its bytes undefined.
///
/// # Safety
/// It is written before anybody reads it.
///
/// # Errors
/// No bytes at all or too many, elements aligned to over 256 bytes, no memory left, or what the driver says.
pub unsafe fn cuda_malloc<T: DeviceCopy>(count: usize) -> CudaResult<DevicePointer<T>> {
    let (mut address, bytes) = (0, bytes_of::<T>(count)?);
    // SAFETY: the address is written.
    unsafe { driver::cuMemAlloc_v2(&raw mut address, bytes) }?;
    Ok(DevicePointer::from_raw(address))
}

/// As [`cuda_malloc`], in stream order.
///
/// # Safety
/// It is written before anybody reads it, and used only by work behind the allocation.
///
/// # Errors
/// As [`cuda_malloc`], and a device without memory pools.
pub unsafe fn cuda_malloc_async<T: DeviceCopy>(
    stream: &Stream,
    count: usize,
) -> CudaResult<DevicePointer<T>> {
    let (mut address, bytes) = (0, bytes_of::<T>(count)?);
    // SAFETY: the address is written.
    unsafe { driver::cuMemAllocAsync(&raw mut address, bytes, stream.as_inner()) }?;
    Ok(DevicePointer::from_raw(address))
}

/// Frees device memory once work that uses it is done.
///
/// # Safety
/// It was allocated by [`cuda_malloc`] or [`cuda_malloc_async`] and is freed once.
///
/// # Errors
/// A null address, or what the driver says.
pub unsafe fn cuda_free<T: DeviceCopy>(pointer: DevicePointer<T>) -> CudaResult<()> {
    if pointer.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: as the caller vouches.
    unsafe { driver::cuMemFree_v2(pointer.as_raw()) }
}

/// Frees device memory in stream order.
///
/// # Safety
/// As [`cuda_free`].
///
/// # Errors
/// A null address, or what the driver says.
pub unsafe fn cuda_free_async<T: DeviceCopy>(
    stream: &Stream,
    pointer: DevicePointer<T>,
) -> CudaResult<()> {
    if pointer.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: as the caller vouches.
    unsafe { driver::cuMemFreeAsync(pointer.as_raw(), stream.as_inner()) }
}

/// Allocates `height` rows of `width` elements, each row at an address that is fast to access. Returns
/// the address of the first row and the pitch in bytes from one row to the next.
///
/// # Safety
/// The caller writes the elements before anything reads them.
///
/// # Errors
/// Returns `InvalidMemoryAllocation` for a size of zero or beyond the address space, `InvalidValue` for
/// elements of other than 4, 8 or 16 bytes, or any other error of the driver.
pub unsafe fn cuda_malloc_pitched<T: DeviceCopy>(
    width: usize,
    height: usize,
) -> CudaResult<(DevicePointer<T>, usize)> {
    let row = bytes_of::<T>(width)?;
    if height == 0 {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    let element = u32::try_from(size_of::<T>()).map_err(|_| CudaError::InvalidMemoryAllocation)?;
    let (mut address, mut pitch) = (0, 0);
    // SAFETY: the results are written.
    unsafe { driver::cuMemAllocPitch_v2(&raw mut address, &raw mut pitch, row, height, element) }?;
    Ok((DevicePointer::from_raw(address), pitch))
}

/// Allocates unified memory for `count` elements and leaves its bytes undefined.
///
/// # Safety
/// The caller writes the elements before anything reads them.
///
/// # Errors
/// Returns `InvalidMemoryAllocation` for a size of zero or beyond the address space and for elements aligned
/// to over 256 bytes, or any error of the driver.
pub unsafe fn cuda_malloc_unified<T: DeviceCopy>(count: usize) -> CudaResult<UnifiedPointer<T>> {
    let (mut address, bytes) = (0, bytes_of::<T>(count)?);
    // SAFETY: the address is written.
    unsafe {
        driver::cuMemAllocManaged(&raw mut address, bytes, sys::CU_MEM_ATTACH_GLOBAL)?;
        Ok(UnifiedPointer::wrap(ptr::with_exposed_provenance_mut(address as usize)))
    }
}

/// Frees unified memory once work that uses it is done.
///
/// # Safety
/// The memory was allocated by [`cuda_malloc_unified`] and is freed once.
///
/// # Errors
/// Returns `InvalidMemoryAllocation` for a null pointer, or any error of the driver.
pub unsafe fn cuda_free_unified<T: DeviceCopy>(pointer: UnifiedPointer<T>) -> CudaResult<()> {
    if pointer.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: as the caller vouches.
    unsafe { driver::cuMemFree_v2(pointer.as_raw().addr() as u64) }
}

/// Page-locked host memory for `count` elements, its bytes undefined.
///
/// # Safety
/// It is written before anybody reads it.
///
/// # Errors
/// No bytes at all or too many, elements aligned to over 256 bytes, no memory left, or what the driver says.
pub unsafe fn cuda_malloc_locked<T>(count: usize) -> CudaResult<*mut T> {
    let (mut data, bytes) = (ptr::null_mut::<c_void>(), bytes_of::<T>(count)?);
    // SAFETY: the address is written.
    unsafe { driver::cuMemHostAlloc(&raw mut data, bytes, 0) }?;
    Ok(data.cast())
}

/// Frees page-locked host memory.
///
/// # Safety
/// It was allocated by [`cuda_malloc_locked`] and is freed once; no copy uses it any more.
///
/// # Errors
/// A null address, or what the driver says.
pub unsafe fn cuda_free_locked<T>(data: *mut T) -> CudaResult<()> {
    if data.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: as the caller vouches.
    unsafe { driver::cuMemFreeHost(data.cast()) }
}
