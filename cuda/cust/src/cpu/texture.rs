//! Texture objects for 2-D arrays and pitched memory. Kernels on the CPU read these textures
//! through `cuda_cpu`.
//!
//! Textures have channels of `u8`, `u16`, `f32` or 32-bit integers, coordinates in texels, and
//! point or linear filtering. Reads outside the texture are clamped to its edge or return zeros.
//! All other features return `CUDA_ERROR_NOT_SUPPORTED`: 1-D, 3-D, layered and cube textures,
//! signed small integers, `f16`, normalised coordinates, wrapping, mirroring, border colours and
//! resource views.

use std::ptr;

use cuda_std::cpu::texture::{Address, Channel, Filter, Format, Texture};
use cust_raw::driver_sys::{
    CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION, CU_TRSF_READ_AS_INTEGER, CUDA_RESOURCE_DESC,
    CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC, CUaddress_mode, CUarray_format, CUfilter_mode,
    CUresourcetype, CUresult, CUtexObject,
};

use super::array::array;
use super::context;
use super::memory::{code, device};

/// The texels of a texture: rows in host memory, `pitch` bytes apart.
struct Texels {
    data: *const u8,
    size: [usize; 2],
    pitch: usize,
    format: CUarray_format,
    channels: u32,
}

/// Returns the texels of a resource.
///
/// # Safety
/// If the resource is an array, the array must be alive.
unsafe fn texels(resource: &CUDA_RESOURCE_DESC) -> Result<Texels, CUresult> {
    match resource.resType {
        CUresourcetype::CU_RESOURCE_TYPE_ARRAY => {
            // SAFETY: `resType` states that the resource is an array, and the caller guarantees
            // that the array is alive.
            let array = unsafe { array(resource.res.array.hArray) }?;
            let description = array.description;
            let is_2d = description.Height > 0 && description.Depth == 0;
            is_2d.then_some(()).ok_or(CUresult::CUDA_ERROR_NOT_SUPPORTED)?;
            Ok(Texels {
                data: array.data,
                size: [description.Width, description.Height],
                pitch: array.pitch,
                format: description.Format,
                channels: description.NumChannels,
            })
        }
        CUresourcetype::CU_RESOURCE_TYPE_PITCH2D => {
            // SAFETY: `resType` states that the resource is pitched memory.
            let rows = unsafe { resource.res.pitch2D };
            let bytes = rows.pitchInBytes.checked_mul(rows.height);
            let bytes =
                bytes.filter(|&bytes| bytes > 0).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
            Ok(Texels {
                data: device(rows.devPtr, bytes)?,
                size: [rows.width, rows.height],
                pitch: rows.pitchInBytes,
                format: rows.format,
                channels: rows.numChannels,
            })
        }
    }
}

/// Creates a texture. Returns an error for a texture feature that the CPU does not support.
///
/// # Safety
/// The resource must live as long as the texture.
unsafe fn make(
    resource: &CUDA_RESOURCE_DESC,
    description: &CUDA_TEXTURE_DESC,
) -> Result<Texture, CUresult> {
    let unsupported = CUresult::CUDA_ERROR_NOT_SUPPORTED;
    // SAFETY: the caller upholds this function's safety contract.
    let texels = unsafe { texels(resource) }?;
    let reads_integers = description.flags & CU_TRSF_READ_AS_INTEGER != 0;
    let known = CU_TRSF_READ_AS_INTEGER | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
    if description.flags & !known != 0 {
        return Err(unsupported);
    }
    let (channel, is_wide_integer) = match texels.format {
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8 => (Channel::U8, false),
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16 => (Channel::U16, false),
        CUarray_format::CU_AD_FORMAT_FLOAT => (Channel::F32, false),
        // Kernels read the bits of a 32-bit integer unchanged, so the channel type `F32`, which
        // also has 4 bytes, can represent the integer.
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32 | CUarray_format::CU_AD_FORMAT_SIGNED_INT32 => {
            (Channel::F32, true)
        }
        _ => return Err(unsupported),
    };
    let filter = match description.filterMode {
        CUfilter_mode::CU_TR_FILTER_MODE_POINT => Filter::Point,
        // Integers that are read unconverted cannot be filtered.
        _ if reads_integers || is_wide_integer => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        CUfilter_mode::CU_TR_FILTER_MODE_LINEAR => Filter::Linear,
    };
    let [x, y, _] = description.addressMode;
    let address = match x {
        _ if x != y => return Err(unsupported),
        CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP => Address::Clamp,
        CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER if description.borderColor == [0.0; 4] => {
            Address::Border
        }
        _ => return Err(unsupported),
    };
    let texel = (channel.bytes() * texels.channels) as usize;
    let fits = texels.size[0].checked_mul(texel).is_some_and(|row| row <= texels.pitch);
    let aligned = [texels.data.addr(), texels.pitch]
        .into_iter()
        .all(|at| at.is_multiple_of(channel.bytes() as usize));
    let small = |number: usize| u32::try_from(number).ok().filter(|&number| number > 0);
    let numbers = (small(texels.size[0]), small(texels.size[1]), small(texels.pitch));
    let (Some(width), Some(height), Some(pitch), true, true) =
        (numbers.0, numbers.1, numbers.2, fits, aligned)
    else {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    };
    if !matches!(texels.channels, 1 | 2 | 4) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let format = Format { channel, channels: texels.channels };
    // SAFETY: the texels are allocated, and the caller guarantees that they live as long as the
    // texture. Width and height are not 0. The address and the pitch of the texels are multiples of
    // the size of a channel.
    Ok(unsafe { Texture::new(texels.data, [width, height], pitch, format, filter, address) })
}

pub(crate) unsafe fn cuTexObjectCreate(
    texture: *mut CUtexObject,
    resource: *const CUDA_RESOURCE_DESC,
    description: *const CUDA_TEXTURE_DESC,
    view: *const CUDA_RESOURCE_VIEW_DESC,
) -> CUresult {
    code(context::check().and_then(|()| {
        if !view.is_null() {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        // SAFETY: the caller passes complete descriptions of a resource that outlives the texture,
        // and a valid address for the result.
        unsafe {
            let made = Box::new(make(&*resource, &*description)?);
            // Kernels use the handle as the address of the `Texture`.
            *texture = Box::into_raw(made).expose_provenance() as CUtexObject;
        }
        Ok(())
    }))
}

pub(crate) unsafe fn cuTexObjectDestroy(texture: CUtexObject) -> CUresult {
    if texture == 0 {
        return CUresult::CUDA_ERROR_INVALID_HANDLE;
    }
    let made = ptr::with_exposed_provenance_mut::<Texture>(texture as usize);
    // SAFETY: the handle comes from `cuTexObjectCreate`, and the caller guarantees that it is
    // destroyed only once.
    drop(unsafe { Box::from_raw(made) });
    CUresult::CUDA_SUCCESS
}
