//! Copies of rows and slices between host memory, device memory and arrays. Ranges in device memory
//! and arrays are checked against the allocations and array sizes.

use std::ffi::c_void;
use std::ptr;

use cust_raw::driver_sys::{
    CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUarray, CUdeviceptr, CUmemorytype, CUresult,
};

use super::array::array;
use super::context;
use super::memory::{code, device};

/// The source or the destination of a copy, from the driver's description of the copy.
struct Side {
    kind: CUmemorytype,
    host: *mut u8,
    address: CUdeviceptr,
    array: CUarray,
    /// The offset of the copied part: the number of bytes, rows and slices before it.
    start: [usize; 3],
    /// The number of bytes from one row to the next; 0 if rows have no padding.
    pitch: usize,
    /// The number of rows from one slice to the next; 0 if slices have no padding.
    rows: usize,
}

/// The size of a copy: bytes per row, rows per slice, and number of slices.
type Extent = [usize; 3];

/// The address of the first copied byte of a source or destination, and the distances in bytes from
/// row to row and from slice to slice.
struct Place {
    first: *mut u8,
    pitch: usize,
    slice: usize,
}

impl Side {
    /// Returns the address of the first byte of a copied part of the size `extent`, and the
    /// distances between its rows and slices. Returns an error if the allocation or array does not
    /// contain the whole part.
    ///
    /// # Safety
    /// If the side is an array, the array must be alive.
    unsafe fn place(&self, extent: Extent) -> Result<Place, CUresult> {
        let [width, height, depth] = extent;
        let end = |axis: usize| self.start[axis].checked_add(extent[axis]);
        let ends = (end(0), end(1), end(2));
        let (Some(end_x), Some(end_y), Some(end_z)) = ends else {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        };
        let (data, pitch, rows) = match self.kind {
            CUmemorytype::CU_MEMORYTYPE_ARRAY => {
                // SAFETY: the caller upholds this function's safety contract.
                let array = unsafe { array(self.array) }?;
                if end_x > array.pitch || end_y > array.rows || end_z > array.slices {
                    return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
                }
                (array.data, array.pitch, array.rows)
            }
            _ => {
                let pitch = if self.pitch == 0 { end_x } else { self.pitch };
                let rows = if self.rows == 0 { end_y } else { self.rows };
                // The pitch of a single row and the height of a single slice are not used.
                let is_wrong = pitch < end_x && height > 1 || rows < end_y && depth > 1;
                if is_wrong {
                    return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
                }
                (ptr::null_mut(), pitch, rows)
            }
        };
        // `before` is the offset of the first copied byte. `bytes` is the number of bytes from the
        // first to the last copied byte.
        let [x, y, z] = self.start;
        let offset = |slice: usize, y: usize, z: usize| {
            z.checked_mul(slice)?.checked_add(y.checked_mul(pitch)?)
        };
        let sizes = || {
            let slice = pitch.checked_mul(rows)?;
            let before = offset(slice, y, z)?.checked_add(x)?;
            let bytes = offset(slice, height - 1, depth - 1)?.checked_add(width)?;
            Some((slice, before, bytes))
        };
        let (slice, before, bytes) = sizes().ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let first = match self.kind {
            CUmemorytype::CU_MEMORYTYPE_HOST => self.host.wrapping_add(before),
            CUmemorytype::CU_MEMORYTYPE_DEVICE => {
                let address = self.address.checked_add(before as u64);
                device(address.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?, bytes)?
            }
            CUmemorytype::CU_MEMORYTYPE_ARRAY => data.wrapping_add(before),
        };
        Ok(Place { first, pitch, slice })
    }
}

/// Copies a part of the size `extent` from `from` to `to`.
///
/// # Safety
/// Host memory in `from` and `to` must hold the copied part, and arrays must be alive.
unsafe fn copy(from: &Side, to: &Side, extent: Extent) -> Result<(), CUresult> {
    context::check()?;
    let [width, height, depth] = extent;
    if extent.contains(&0) {
        return Ok(());
    }
    // SAFETY: the caller upholds this function's safety contract.
    let (from, to) = unsafe { (from.place(extent)?, to.place(extent)?) };
    for z in 0..depth {
        for y in 0..height {
            let from = from.first.wrapping_add(z * from.slice + y * from.pitch);
            let to = to.first.wrapping_add(z * to.slice + y * to.pitch);
            // SAFETY: the caller guarantees that host memory holds the copied part. `place` has
            // checked this for device memory and arrays. `ptr::copy` allows the two ranges to
            // overlap.
            unsafe { ptr::copy(from, to, width) };
        }
    }
    Ok(())
}

/// Runs the copy that the driver's struct `copied` describes.
///
/// # Safety
/// Host memory must hold the copied part, and arrays must be alive.
pub(super) unsafe fn slices(copied: &CUDA_MEMCPY3D) -> Result<(), CUresult> {
    let from = Side {
        kind: copied.srcMemoryType,
        host: copied.srcHost.cast_mut().cast(),
        address: copied.srcDevice,
        array: copied.srcArray,
        start: [copied.srcXInBytes, copied.srcY, copied.srcZ],
        pitch: copied.srcPitch,
        rows: copied.srcHeight,
    };
    let to = Side {
        kind: copied.dstMemoryType,
        host: copied.dstHost.cast(),
        address: copied.dstDevice,
        array: copied.dstArray,
        start: [copied.dstXInBytes, copied.dstY, copied.dstZ],
        pitch: copied.dstPitch,
        rows: copied.dstHeight,
    };
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { copy(&from, &to, [copied.WidthInBytes, copied.Height, copied.Depth]) }
}

pub(crate) unsafe fn cuMemcpy3D_v2(copied: *const CUDA_MEMCPY3D) -> CUresult {
    // SAFETY: the caller passes a complete and valid description.
    code(unsafe { slices(&*copied) })
}

pub(crate) unsafe fn cuMemcpy2D_v2(copied: *const CUDA_MEMCPY2D) -> CUresult {
    // SAFETY: the caller passes a complete and valid description.
    let copied = unsafe { &*copied };
    let copied = CUDA_MEMCPY3D {
        srcXInBytes: copied.srcXInBytes,
        srcY: copied.srcY,
        srcMemoryType: copied.srcMemoryType,
        srcHost: copied.srcHost,
        srcDevice: copied.srcDevice,
        srcArray: copied.srcArray,
        srcPitch: copied.srcPitch,
        dstXInBytes: copied.dstXInBytes,
        dstY: copied.dstY,
        dstMemoryType: copied.dstMemoryType,
        dstHost: copied.dstHost,
        dstDevice: copied.dstDevice,
        dstArray: copied.dstArray,
        dstPitch: copied.dstPitch,
        WidthInBytes: copied.WidthInBytes,
        Height: copied.Height,
        Depth: 1,
        ..Default::default()
    };
    // SAFETY: the caller guarantees that host memory holds the copied part and that the array is
    // alive.
    code(unsafe { slices(&copied) })
}

pub(crate) unsafe fn cuMemcpyHtoA_v2(
    to: CUarray,
    offset: usize,
    from: *const c_void,
    bytes: usize,
) -> CUresult {
    let copied = CUDA_MEMCPY3D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: from,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_ARRAY,
        dstArray: to,
        dstXInBytes: offset,
        WidthInBytes: bytes,
        Height: 1,
        Depth: 1,
        ..Default::default()
    };
    // SAFETY: the caller guarantees that host memory holds the copied part and that the array is
    // alive.
    code(unsafe { slices(&copied) })
}

pub(crate) unsafe fn cuMemcpyAtoH_v2(
    to: *mut c_void,
    from: CUarray,
    offset: usize,
    bytes: usize,
) -> CUresult {
    let copied = CUDA_MEMCPY3D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_ARRAY,
        srcArray: from,
        srcXInBytes: offset,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        dstHost: to,
        WidthInBytes: bytes,
        Height: 1,
        Depth: 1,
        ..Default::default()
    };
    // SAFETY: the caller guarantees that host memory holds the copied part and that the array is
    // alive.
    code(unsafe { slices(&copied) })
}
