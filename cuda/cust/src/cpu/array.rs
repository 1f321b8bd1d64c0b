//! CUDA arrays in host memory. An array stores its two-dimensional slices one after another, as
//! rows without padding.
//!
//! Every kind of array can be created and copied. Kernels can read only some kinds, which the
//! module `texture` lists.

use cust_raw::driver_sys::{CUDA_ARRAY3D_DESCRIPTOR, CUarray, CUarray_format as Format, CUresult};

use super::memory::{allocate, code, free};

/// An array in host memory.
pub(super) struct Array {
    pub(super) description: CUDA_ARRAY3D_DESCRIPTOR,
    /// The number of bytes per row.
    pub(super) pitch: usize,
    /// The number of rows per slice, at least one.
    pub(super) rows: usize,
    /// The number of slices, at least one.
    pub(super) slices: usize,
    pub(super) data: *mut u8,
}

impl Array {
    fn new(description: CUDA_ARRAY3D_DESCRIPTOR) -> Result<Self, CUresult> {
        let channels = description.NumChannels as usize;
        if description.Width == 0 || !matches!(channels, 1 | 2 | 4) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let texel = channel_bytes(description.Format)? * channels;
        let (rows, slices) = (description.Height.max(1), description.Depth.max(1));
        let pitch = description.Width.checked_mul(texel);
        let bytes = pitch.and_then(|pitch| pitch.checked_mul(rows)?.checked_mul(slices));
        let (Some(pitch), Some(bytes)) = (pitch, bytes) else {
            return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        };
        Ok(Self { description, pitch, rows, slices, data: allocate(bytes)? })
    }
}

/// Returns the size of one channel of a texel in bytes.
fn channel_bytes(format: Format) -> Result<usize, CUresult> {
    match format {
        Format::CU_AD_FORMAT_UNSIGNED_INT8 | Format::CU_AD_FORMAT_SIGNED_INT8 => Ok(1),
        Format::CU_AD_FORMAT_UNSIGNED_INT16
        | Format::CU_AD_FORMAT_SIGNED_INT16
        | Format::CU_AD_FORMAT_HALF => Ok(2),
        Format::CU_AD_FORMAT_UNSIGNED_INT32
        | Format::CU_AD_FORMAT_SIGNED_INT32
        | Format::CU_AD_FORMAT_FLOAT => Ok(4),
        _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
}

/// Returns the array that a handle refers to.
///
/// # Safety
/// The handle must be null or belong to a live array.
pub(super) unsafe fn array<'a>(handle: CUarray) -> Result<&'a Array, CUresult> {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { handle.cast::<Array>().as_ref() }.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

pub(crate) unsafe fn cuArray3DCreate_v2(
    to: *mut CUarray,
    description: *const CUDA_ARRAY3D_DESCRIPTOR,
) -> CUresult {
    // SAFETY: the caller passes a complete description and a valid address for the result.
    code(Array::new(unsafe { *description }).map(|array| unsafe {
        *to = Box::into_raw(Box::new(array)).cast();
    }))
}

pub(crate) unsafe fn cuArrayDestroy(handle: CUarray) -> CUresult {
    if handle.is_null() {
        return CUresult::CUDA_ERROR_INVALID_HANDLE;
    }
    // SAFETY: the handle comes from `cuArray3DCreate_v2`, and the caller guarantees that it is
    // destroyed only once.
    let array = unsafe { Box::from_raw(handle.cast::<Array>()) };
    code(free(array.data.addr()))
}
