//! Texture objects, through which kernels read an array with the texture unit.
//!
//! A kernel takes [`Texture::handle`] as an argument of `cuda_std`'s type `Texture2d`. On the CPU,
//! textures are two-dimensional, with coordinates in texels. Reads outside the array are clamped to
//! the edge or return zeros. Channels are `u8`, `u16`, `f32` or 32-bit integers. Creating any other
//! texture returns `NotSupported`.

use std::ffi::{c_float, c_uint, c_ulonglong};
use std::mem::ManuallyDrop;
use std::ptr;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::CudaResult;
use crate::memory::array::{ArrayDescriptor, ArrayFormat, ArrayObject};

/// The handle of a texture, which kernels take as an argument.
pub type TextureHandle = c_ulonglong;

/// The value that a read at coordinates outside the array returns.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextureAdressingMode {
    /// The texel of the periodically repeated array. Only for normalised coordinates.
    Wrap = 0,
    /// The texel at the edge.
    Clamp = 1,
    /// The texel of the array repeated periodically, where every second repetition is mirrored.
    /// Only for normalised coordinates.
    Mirror = 2,
    /// The border colour.
    Border = 3,
}

impl TextureAdressingMode {
    fn to_raw(self) -> sys::CUaddress_mode {
        match self {
            Self::Wrap => sys::CUaddress_mode::CU_TR_ADDRESS_MODE_WRAP,
            Self::Clamp => sys::CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP,
            Self::Mirror => sys::CUaddress_mode::CU_TR_ADDRESS_MODE_MIRROR,
            Self::Border => sys::CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER,
        }
    }
}

/// The value that a read between texel centres returns.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextureFilterMode {
    /// The texel that contains the coordinate.
    Point = 0,
    /// The weighted mean of the texels around the coordinate.
    Linear = 1,
}

impl TextureFilterMode {
    fn to_raw(self) -> sys::CUfilter_mode {
        match self {
            Self::Point => sys::CUfilter_mode::CU_TR_FILTER_MODE_POINT,
            Self::Linear => sys::CUfilter_mode::CU_TR_FILTER_MODE_LINEAR,
        }
    }
}

bitflags::bitflags! {
    /// Flags that select how a texture interprets texels and coordinates.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct TextureDescriptorFlags: c_uint {
        /// Reads return integers unchanged instead of converting them to floats from 0 to 1 or from
        /// -1 to 1.
        const READ_AS_INTEGER = sys::CU_TRSF_READ_AS_INTEGER;
        /// Coordinates range from 0 to 1 across the array instead of being in texels.
        const NORMALIZED_COORDINATES = sys::CU_TRSF_NORMALIZED_COORDINATES;
        /// The driver does not use approximations when it filters between mipmap levels.
        const DISABLE_TRILINEAR_OPTIMIZATION = sys::CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
    }
}

/// The read behaviour of a texture. By default, reads are not filtered, coordinates are in texels,
/// and reads outside the array are clamped to the edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextureDescriptor {
    /// The value of reads outside the array, for each dimension.
    pub adress_modes: [TextureAdressingMode; 3],
    /// The value of reads between texel centres.
    pub filter_mode: TextureFilterMode,
    /// The flags that select how coordinates and integer texels are interpreted.
    pub flags: TextureDescriptorFlags,
    /// The maximum ratio for anisotropic filtering, from 1 to 16.
    pub max_anisotropy: c_uint,
    /// The value of reads between mipmap levels.
    pub mipmap_filter_mode: TextureFilterMode,
    /// An offset that is added to the mipmap level that a read requests.
    pub mipmap_level_bias: c_float,
    /// The lowest mipmap level that reads can use.
    pub min_mipmap_level_clamp: c_float,
    /// The highest mipmap level that reads can use.
    pub max_mipmap_level_clamp: c_float,
    /// The colour of reads outside the array in mode [`TextureAdressingMode::Border`]. On the CPU,
    /// that mode requires a colour of zeros.
    pub border_color: [c_float; 4],
}

impl Default for TextureDescriptor {
    fn default() -> Self {
        Self {
            adress_modes: [TextureAdressingMode::Clamp; 3],
            filter_mode: TextureFilterMode::Point,
            flags: TextureDescriptorFlags::empty(),
            max_anisotropy: 1,
            mipmap_filter_mode: TextureFilterMode::Point,
            mipmap_level_bias: 0.0,
            min_mipmap_level_clamp: 0.0,
            max_mipmap_level_clamp: 0.0,
            border_color: [0.0, 0.0, 0.0, 1.0],
        }
    }
}

impl TextureDescriptor {
    /// Converts to the driver's description.
    #[must_use]
    pub fn to_raw(self) -> sys::CUDA_TEXTURE_DESC {
        sys::CUDA_TEXTURE_DESC {
            addressMode: self.adress_modes.map(TextureAdressingMode::to_raw),
            filterMode: self.filter_mode.to_raw(),
            flags: self.flags.bits(),
            maxAnisotropy: self.max_anisotropy,
            mipmapFilterMode: self.mipmap_filter_mode.to_raw(),
            mipmapLevelBias: self.mipmap_level_bias,
            minMipmapLevelClamp: self.min_mipmap_level_clamp,
            maxMipmapLevelClamp: self.max_mipmap_level_clamp,
            borderColor: self.border_color,
            reserved: [0; 12],
        }
    }
}

/// The texel format in which a resource view reads an array.
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

bitflags::bitflags! {
    /// Flags of a [`ResourceDescriptor`]. The driver defines no flags yet.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ResourceDescriptorFlags: c_uint {
        #[doc(hidden)]
        const _ZERO = 0;
    }
}

/// The memory that a texture or a surface accesses, which this value owns.
#[non_exhaustive]
#[derive(Debug)]
pub enum ResourceType {
    /// A CUDA array.
    Array {
        /// The array that the texture or surface accesses.
        array: ArrayObject,
    },
}

/// The memory that a texture or a surface accesses, with flags.
#[derive(Debug)]
pub struct ResourceDescriptor {
    /// Flags. The driver defines no flags yet.
    pub flags: ResourceDescriptorFlags,
    /// The type of the memory, and the memory itself.
    pub ty: ResourceType,
}

impl ResourceDescriptor {
    /// Converts to the driver's description and releases ownership of the memory, which the caller
    /// must destroy.
    #[must_use]
    pub fn into_raw(self) -> sys::CUDA_RESOURCE_DESC {
        let raw = self.as_raw();
        let ResourceType::Array { array } = self.ty;
        // The caller destroys the array through the handle in `raw`, so drop must not destroy it.
        let _ = array.into_raw();
        raw
    }

    /// Converts to the driver's description, which is valid until `self` is dropped.
    pub(crate) fn as_raw(&self) -> sys::CUDA_RESOURCE_DESC {
        let ResourceType::Array { array } = &self.ty;
        sys::CUDA_RESOURCE_DESC {
            flags: self.flags.bits(),
            ..sys::CUDA_RESOURCE_DESC::array(array.as_raw())
        }
    }
}

/// A texture object, which owns the array that it reads.
#[derive(Debug)]
pub struct Texture {
    handle: sys::CUtexObject,
    resource: ManuallyDrop<ResourceDescriptor>,
}

impl Texture {
    /// Returns the handle that a kernel takes as an argument. The handle is valid until the texture
    /// is dropped.
    #[must_use]
    pub fn handle(&self) -> TextureHandle {
        self.handle
    }

    /// Creates a texture that reads the array in `resource_desc`.
    ///
    /// # Errors
    /// On the CPU, returns `NotSupported` for a texture that the CPU does not support. Otherwise
    /// returns the driver's error, if any. On an error, the array is destroyed.
    pub fn new(
        resource_desc: ResourceDescriptor,
        texture_desc: TextureDescriptor,
        resource_view_desc: Option<ResourceViewDescriptor>,
    ) -> CudaResult<Self> {
        let (resource, texture) = (resource_desc.as_raw(), texture_desc.to_raw());
        let view = resource_view_desc.map(ResourceViewDescriptor::to_raw);
        let mut handle = 0;
        // SAFETY: the driver writes the handle to a local variable, all required fields of the
        // descriptions are set, and the texture stores `resource_desc`, which keeps the array
        // alive.
        unsafe {
            driver::cuTexObjectCreate(
                &raw mut handle,
                &raw const resource,
                &raw const texture,
                view.as_ref().map_or(ptr::null(), ptr::from_ref),
            )
        }?;
        Ok(Self { handle, resource: ManuallyDrop::new(resource_desc) })
    }

    /// Creates a texture for an array with the default [`TextureDescriptor`]: no filtering, clamped
    /// to the edge, coordinates in texels.
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new).
    pub fn from_array(array: ArrayObject) -> CudaResult<Self> {
        let flags = ResourceDescriptorFlags::empty();
        let resource = ResourceDescriptor { flags, ty: ResourceType::Array { array } };
        Self::new(resource, TextureDescriptor::default(), None)
    }

    /// Destroys the texture and returns its array.
    ///
    /// # Errors
    /// Returns the driver's error. On an error, the array is not destroyed.
    pub fn into_array(self) -> CudaResult<Option<ArrayObject>> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: the handle is alive and is destroyed only once; `this` is `ManuallyDrop`, so the
        // array is not dropped a second time.
        unsafe {
            driver::cuTexObjectDestroy(this.handle)?;
            let ResourceType::Array { array } = ManuallyDrop::take(&mut this.resource).ty;
            Ok(Some(array))
        }
    }
}

impl Drop for Texture {
    fn drop(&mut self) {
        // SAFETY: the handle is alive and is destroyed only once. If the driver cannot destroy the
        // texture, the array is leaked, because the texture may still use it.
        unsafe {
            if driver::cuTexObjectDestroy(self.handle).is_ok() {
                ManuallyDrop::drop(&mut self.resource);
            }
        }
    }
}
