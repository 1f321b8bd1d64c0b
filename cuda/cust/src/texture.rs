//! Texture objects, through which kernels read an array with the texture unit.
//!
//! A kernel takes [`Texture::handle`] as an argument of `cuda_std`'s type `Texture2d`. On the CPU,
//! textures are two-dimensional, with coordinates in texels. Reads outside the array are clamped to
//! the edge or return zeros. Channels are `u8`, `u16`, `f32` or 32-bit integers. Creating any other
//! texture returns `NotSupported`.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::texture::Texture;
//! use cust::util::SliceExt;
//!
//! let _context = cust::quick_init()?;
//! let texture: Texture = [1.0_f32, 2.0, 3.0, 4.0].as_2d_texture(2, 2)?;
//! println!("the kernel's argument: {}", texture.handle());
//! # Ok::<(), cust::error::CudaError>(())
//! ```

mod view;

use std::ffi::{c_float, c_uint, c_ulonglong};
use std::mem::ManuallyDrop;
use std::ptr;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::CudaResult;
use crate::memory::array::ArrayObject;

pub use view::{ResourceViewDescriptor, ResourceViewFormat};

/// The handle of a texture, which kernels take as an argument.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::texture::TextureHandle;
/// use cust::util::SliceExt;
///
/// let _context = cust::quick_init()?;
/// let texture = [1.0_f32, 2.0].as_2d_texture(2, 1)?;
/// let handle: TextureHandle = texture.handle();
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub type TextureHandle = c_ulonglong;

/// The value that a read at coordinates outside the array returns.
///
/// ```
/// use cust::texture::{TextureAdressingMode, TextureDescriptor};
///
/// let mode = TextureAdressingMode::Border;
/// let descriptor = TextureDescriptor { adress_modes: [mode; 3], ..Default::default() };
/// assert_ne!(descriptor.adress_modes, TextureDescriptor::default().adress_modes);
/// ```
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
///
/// ```
/// use cust::texture::{TextureDescriptor, TextureFilterMode};
///
/// let filter_mode = TextureFilterMode::Linear;
/// let descriptor = TextureDescriptor { filter_mode, ..Default::default() };
/// assert_eq!(TextureDescriptor::default().filter_mode, TextureFilterMode::Point);
/// ```
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
    ///
    /// ```
    /// use cust::texture::{TextureDescriptor, TextureDescriptorFlags};
    ///
    /// let flags = TextureDescriptorFlags::READ_AS_INTEGER;
    /// let descriptor = TextureDescriptor { flags, ..Default::default() };
    /// assert!(descriptor.flags.contains(TextureDescriptorFlags::READ_AS_INTEGER));
    /// ```
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
///
/// ```
/// use cust::texture::{TextureAdressingMode, TextureDescriptor, TextureFilterMode};
///
/// // Bilinear interpolation, and zeros outside the array.
/// let descriptor = TextureDescriptor {
///     adress_modes: [TextureAdressingMode::Border; 3],
///     filter_mode: TextureFilterMode::Linear,
///     border_color: [0.0; 4],
///     ..Default::default()
/// };
/// assert_eq!(descriptor.to_raw().borderColor, [0.0; 4]);
/// ```
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

bitflags::bitflags! {
    /// Flags of a [`ResourceDescriptor`]. The driver defines no flags yet.
    ///
    /// ```
    /// assert_eq!(cust::texture::ResourceDescriptorFlags::empty().bits(), 0);
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ResourceDescriptorFlags: c_uint {
        #[doc(hidden)]
        const _ZERO = 0;
    }
}

/// The memory that a texture or a surface accesses, which this value owns.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::texture::ResourceType;
/// use cust::util::SliceExt;
///
/// let _context = cust::quick_init()?;
/// let ResourceType::Array { array } =
///     (ResourceType::Array { array: [1_u8, 2].as_1d_array()? }) else { panic!() };
/// assert_eq!(array.as_host_vec::<u8>()?, [1, 2]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
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
///
/// ```no_run
/// use cust::texture::{ResourceDescriptor, ResourceDescriptorFlags, ResourceType};
/// use cust::util::SliceExt;
///
/// let _context = cust::quick_init()?;
/// let array = [1_u8, 2].as_1d_array()?;
/// let (flags, ty) = (ResourceDescriptorFlags::empty(), ResourceType::Array { array });
/// // The caller must destroy the array.
/// let raw = ResourceDescriptor { flags, ty }.into_raw();
/// # Ok::<(), cust::error::CudaError>(())
/// ```
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
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::texture::{
///     ResourceDescriptor, ResourceDescriptorFlags, ResourceType, Texture, TextureDescriptor,
///     TextureFilterMode,
/// };
/// use cust::util::SliceExt;
///
/// let _context = cust::quick_init()?;
/// let array = [1.0_f32, 2.0, 3.0, 4.0].as_2d_array(2, 2)?;
/// let texture = Texture::from_array(array)?;
/// assert_ne!(texture.handle(), 0);
///
/// // The texture returns its array, for example for a texture with another filter.
/// if let Some(array) = texture.into_array()? {
///     let (flags, ty) = (ResourceDescriptorFlags::empty(), ResourceType::Array { array });
///     let filter_mode = TextureFilterMode::Linear;
///     let descriptor = TextureDescriptor { filter_mode, ..Default::default() };
///     let texture = Texture::new(ResourceDescriptor { flags, ty }, descriptor, None)?;
/// }
/// # Ok::<(), cust::error::CudaError>(())
/// ```
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
