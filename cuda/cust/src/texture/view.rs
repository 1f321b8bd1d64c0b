//! Views through which a texture reads an array.

use std::ffi::c_uint;

use cust_raw::driver_sys as sys;

use crate::memory::array::{ArrayDescriptor, ArrayFormat};

/// The texel format in which a resource view reads an array.
///
/// ```
/// use cust::memory::array::ArrayFormat;
/// use cust::texture::ResourceViewFormat;
///
/// let format = ResourceViewFormat::from_array_format(ArrayFormat::U8, 4);
/// assert_eq!(format, ResourceViewFormat::U8x4);
/// ```
#[repr(u32)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "type of a channel and number of channels, or a block compression")]
pub enum ResourceViewFormat {
    None = 0,
    U8x1 = 1,
    U8x2 = 2,
    U8x4 = 3,
    I8x1 = 4,
    I8x2 = 5,
    I8x4 = 6,
    U16x1 = 7,
    U16x2 = 8,
    U16x4 = 9,
    I16x1 = 10,
    I16x2 = 11,
    I16x4 = 12,
    U32x1 = 13,
    U32x2 = 14,
    U32x4 = 15,
    I32x1 = 16,
    I32x2 = 17,
    I32x4 = 18,
    F16x1 = 19,
    F16x2 = 20,
    F16x4 = 21,
    F32x1 = 22,
    F32x2 = 23,
    F32x4 = 24,
    BC1 = 25,
    BC2 = 26,
    BC3 = 27,
    BC4U = 28,
    BC4S = 29,
    BC5U = 30,
    BC5S = 31,
    BC6HU = 32,
    BC6HS = 33,
    BC7 = 34,
}

impl ResourceViewFormat {
    /// Returns the view format for reading an array in its own texel format.
    ///
    /// # Panics
    /// Panics if the number of channels is not 1, 2 or 4, and for [`ArrayFormat::F64`], which
    /// textures do not support.
    #[must_use]
    pub fn from_array_format(format: ArrayFormat, num_channels: c_uint) -> Self {
        let formats = match format {
            ArrayFormat::U8 => [Self::U8x1, Self::U8x2, Self::U8x4],
            ArrayFormat::U16 => [Self::U16x1, Self::U16x2, Self::U16x4],
            ArrayFormat::U32 => [Self::U32x1, Self::U32x2, Self::U32x4],
            ArrayFormat::I8 => [Self::I8x1, Self::I8x2, Self::I8x4],
            ArrayFormat::I16 => [Self::I16x1, Self::I16x2, Self::I16x4],
            ArrayFormat::I32 => [Self::I32x1, Self::I32x2, Self::I32x4],
            ArrayFormat::F16 => [Self::F16x1, Self::F16x2, Self::F16x4],
            ArrayFormat::F32 => [Self::F32x1, Self::F32x2, Self::F32x4],
            ArrayFormat::F64 => panic!("textures cannot read F64; use U32 with two channels"),
        };
        match num_channels {
            1 => formats[0],
            2 => formats[1],
            4 => formats[2],
            other => panic!("a texel must have 1, 2 or 4 channels, not {other}"),
        }
    }
}

/// A view through which a texture reads an array. The view can have another texel format of the
/// same size, or cover only some mipmap levels and layers of the array.
///
/// ```
/// use cust::memory::array::{ArrayDescriptor, ArrayFormat};
/// use cust::texture::ResourceViewDescriptor;
///
/// let array = ArrayDescriptor::from_dims_format([8, 4, 0], ArrayFormat::F32);
/// let view = ResourceViewDescriptor::from_array_desc(&array);
/// assert_eq!((view.width, view.height), (8, 4));
/// assert_eq!(view.to_raw().width, 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the driver's fields")]
pub struct ResourceViewDescriptor {
    pub format: ResourceViewFormat,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub first_mipmap_level: c_uint,
    pub last_mipmap_level: c_uint,
    pub first_layer: c_uint,
    pub last_layer: c_uint,
}

impl ResourceViewDescriptor {
    /// Describes a view of the whole array in its own format.
    ///
    /// # Panics
    /// Panics like [`ResourceViewFormat::from_array_format`].
    #[must_use]
    pub fn from_array_desc(desc: &ArrayDescriptor) -> Self {
        Self {
            format: ResourceViewFormat::from_array_format(desc.format(), desc.num_channels()),
            width: desc.width(),
            height: desc.height(),
            depth: desc.depth(),
            first_mipmap_level: 0,
            last_mipmap_level: 0,
            first_layer: 0,
            last_layer: 0,
        }
    }

    /// Converts to the driver's description.
    #[must_use]
    pub fn to_raw(self) -> sys::CUDA_RESOURCE_VIEW_DESC {
        sys::CUDA_RESOURCE_VIEW_DESC {
            format: sys::CUresourceViewFormat(self.format as u32),
            width: self.width,
            height: self.height,
            depth: self.depth,
            firstMipmapLevel: self.first_mipmap_level,
            lastMipmapLevel: self.last_mipmap_level,
            firstLayer: self.first_layer,
            lastLayer: self.last_layer,
            reserved: [0; 16],
        }
    }
}
