//! Functions that allocate and free raw memory. The owning types, such as
//! [`DeviceBuffer`](super::DeviceBuffer), call these functions.

use std::ffi::c_void;
use std::ptr;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::{CudaError, CudaResult};
use crate::memory::{DeviceCopy, DevicePointer, UnifiedPointer};
use crate::stream::Stream;

/// The alignment of every driver allocation in bytes.
const ALIGN: usize = 256;

/// Returns the size of `count` elements in bytes. Returns an error if the size is zero, if it
/// exceeds the address space, or if `T` needs a larger alignment than allocations have.
pub(super) fn bytes_of<T>(count: usize) -> CudaResult<usize> {
    match count.checked_mul(size_of::<T>()) {
        Some(bytes) if bytes > 0 && align_of::<T>() <= ALIGN => Ok(bytes),
        _ => Err(CudaError::InvalidMemoryAllocation),
    }
}

/// Allocates device memory for `count` elements and leaves its bytes undefined.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{cuda_free, cuda_malloc, memcpy_htod};
///
/// let _context = cust::quick_init()?;
/// // SAFETY: the copy initialises all elements, and the memory is not used after `cuda_free`.
/// unsafe {
///     let data = cuda_malloc::<u32>(3)?;
///     memcpy_htod(data.as_raw(), [1_u32, 2, 3].as_ptr().cast(), 12)?;
///     cuda_free(data)?;
/// }
/// # Ok::<(), cust::error::CudaError>(())
/// ```
///
/// # Safety
/// The caller must write the elements before anything reads them.
///
/// # Errors
/// Returns `InvalidMemoryAllocation` if the size is zero, if the size exceeds the address space, or
/// if `T` needs an alignment of more than 256 bytes. Otherwise returns the driver's error, for
/// example if there is not enough memory.
pub unsafe fn cuda_malloc<T: DeviceCopy>(count: usize) -> CudaResult<DevicePointer<T>> {
    let (mut address, bytes) = (0, bytes_of::<T>(count)?);
    // SAFETY: the driver writes the address to a local variable.
    unsafe { driver::cuMemAlloc_v2(&raw mut address, bytes) }?;
    Ok(DevicePointer::from_raw(address))
}

/// Allocates like [`cuda_malloc`], but in stream order.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{cuda_free_async, cuda_malloc_async};
/// use cust::stream::{Stream, StreamFlags};
///
/// let _context = cust::quick_init()?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// // SAFETY: nothing reads the memory, which is freed once.
/// unsafe {
///     let data = cuda_malloc_async::<u32>(&stream, 3)?;
///     cuda_free_async(&stream, data)?;
/// }
/// stream.synchronize()?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
///
/// # Safety
/// The caller must write the elements before anything reads them. Only work that `stream` runs
/// after the allocation may use the elements.
///
/// # Errors
/// Returns the errors of [`cuda_malloc`], or an error if the device has no memory pools.
pub unsafe fn cuda_malloc_async<T: DeviceCopy>(
    stream: &Stream,
    count: usize,
) -> CudaResult<DevicePointer<T>> {
    let (mut address, bytes) = (0, bytes_of::<T>(count)?);
    // SAFETY: the driver writes the address to a local variable.
    unsafe { driver::cuMemAllocAsync(&raw mut address, bytes, stream.as_inner()) }?;
    Ok(DevicePointer::from_raw(address))
}

/// Frees device memory. The driver first waits for submitted work that uses the memory.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::error::CudaError;
/// use cust::memory::{DevicePointer, cuda_free, cuda_malloc};
///
/// let _context = cust::quick_init()?;
/// // SAFETY: nothing reads the memory, which is freed once.
/// unsafe {
///     cuda_free(cuda_malloc::<u32>(3)?)?;
///     let null = DevicePointer::<u32>::null();
///     assert_eq!(cuda_free(null), Err(CudaError::InvalidMemoryAllocation));
/// }
/// # Ok::<(), CudaError>(())
/// ```
///
/// # Safety
/// The memory must come from [`cuda_malloc`] or [`cuda_malloc_async`] and be freed only once.
///
/// # Errors
/// Returns `InvalidMemoryAllocation` for a null pointer, or the driver's error.
pub unsafe fn cuda_free<T: DeviceCopy>(pointer: DevicePointer<T>) -> CudaResult<()> {
    if pointer.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { driver::cuMemFree_v2(pointer.as_raw()) }
}

/// Frees device memory after the work submitted to `stream` so far, without waiting for that work.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{cuda_free_async, cuda_malloc};
/// use cust::stream::{Stream, StreamFlags};
///
/// let _context = cust::quick_init()?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// // SAFETY: nothing reads the memory, which is freed once.
/// unsafe { cuda_free_async(&stream, cuda_malloc::<u32>(3)?) }?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
///
/// # Safety
/// The requirements are the same as for [`cuda_free`].
///
/// # Errors
/// Returns `InvalidMemoryAllocation` for a null pointer, or the driver's error.
pub unsafe fn cuda_free_async<T: DeviceCopy>(
    stream: &Stream,
    pointer: DevicePointer<T>,
) -> CudaResult<()> {
    if pointer.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { driver::cuMemFreeAsync(pointer.as_raw(), stream.as_inner()) }
}

/// Allocates unified memory for `count` elements and leaves its bytes undefined.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{cuda_free_unified, cuda_malloc_unified};
///
/// let _context = cust::quick_init()?;
/// // SAFETY: the value is written before it is read, and the memory is freed once.
/// unsafe {
///     let mut value = cuda_malloc_unified::<u32>(1)?;
///     value.as_raw_mut().write(7);
///     assert_eq!(*value.as_raw(), 7);
///     cuda_free_unified(value)?;
/// }
/// # Ok::<(), cust::error::CudaError>(())
/// ```
///
/// # Safety
/// The caller must write the elements before anything reads them.
///
/// # Errors
/// Returns `InvalidMemoryAllocation` if the size is zero, if the size exceeds the address space, or
/// if `T` needs an alignment of more than 256 bytes. Otherwise returns the driver's error, if any.
pub unsafe fn cuda_malloc_unified<T: DeviceCopy>(count: usize) -> CudaResult<UnifiedPointer<T>> {
    let (mut address, bytes) = (0, bytes_of::<T>(count)?);
    // SAFETY: the driver writes the address to a local variable.
    unsafe {
        driver::cuMemAllocManaged(&raw mut address, bytes, sys::CU_MEM_ATTACH_GLOBAL)?;
        Ok(UnifiedPointer::wrap(ptr::with_exposed_provenance_mut(address as usize)))
    }
}

/// Frees unified memory. The driver first waits for submitted work that uses the memory.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{cuda_free_unified, cuda_malloc_unified};
///
/// let _context = cust::quick_init()?;
/// // SAFETY: nothing reads the memory, which is freed once.
/// unsafe { cuda_free_unified(cuda_malloc_unified::<u32>(3)?) }?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
///
/// # Safety
/// The memory must come from [`cuda_malloc_unified`] and be freed only once.
///
/// # Errors
/// Returns `InvalidMemoryAllocation` for a null pointer, or the driver's error.
pub unsafe fn cuda_free_unified<T: DeviceCopy>(pointer: UnifiedPointer<T>) -> CudaResult<()> {
    if pointer.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { driver::cuMemFree_v2(pointer.as_raw().addr() as u64) }
}

/// Allocates page-locked host memory for `count` elements and leaves its bytes undefined.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{cuda_free_locked, cuda_malloc_locked};
///
/// let _context = cust::quick_init()?;
/// // SAFETY: the value is written before it is read, and the memory is freed once.
/// unsafe {
///     let value = cuda_malloc_locked::<u32>(1)?;
///     value.write(7);
///     assert_eq!(value.read(), 7);
///     cuda_free_locked(value)?;
/// }
/// # Ok::<(), cust::error::CudaError>(())
/// ```
///
/// # Safety
/// The caller must write the elements before anything reads them.
///
/// # Errors
/// Returns `InvalidMemoryAllocation` if the size is zero, if the size exceeds the address space, or
/// if `T` needs an alignment of more than 256 bytes. Otherwise returns the driver's error, for
/// example if there is not enough memory.
pub unsafe fn cuda_malloc_locked<T>(count: usize) -> CudaResult<*mut T> {
    let (mut data, bytes) = (ptr::null_mut::<c_void>(), bytes_of::<T>(count)?);
    // SAFETY: the driver writes the address to a local variable.
    unsafe { driver::cuMemHostAlloc(&raw mut data, bytes, 0) }?;
    Ok(data.cast())
}

/// Frees page-locked host memory.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{cuda_free_locked, cuda_malloc_locked};
///
/// let _context = cust::quick_init()?;
/// // SAFETY: nothing reads the memory, which is freed once.
/// unsafe { cuda_free_locked(cuda_malloc_locked::<u32>(3)?) }?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
///
/// # Safety
/// The memory must come from [`cuda_malloc_locked`] and be freed only once. No copy that uses the
/// memory may still be in flight.
///
/// # Errors
/// Returns `InvalidMemoryAllocation` for a null pointer, or the driver's error.
pub unsafe fn cuda_free_locked<T>(data: *mut T) -> CudaResult<()> {
    if data.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { driver::cuMemFreeHost(data.cast()) }
}
