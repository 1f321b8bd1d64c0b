//! [`ArrayDescriptor`], which describes the size, format and flags of an array.

use std::ffi::c_uint;

use cust_raw::driver_sys as sys;

use super::format::ArrayFormat;
use crate::error::CudaResult;

bitflags::bitflags! {
    /// Flags that select the kind of an array and the uses that it supports.
    ///
    /// ```
    /// use cust::memory::array::ArrayObjectFlags;
    ///
    /// let flags = ArrayObjectFlags::LAYERED | ArrayObjectFlags::CUBEMAP;
    /// assert!(flags.contains(ArrayObjectFlags::CUBEMAP));
    /// assert_eq!(ArrayObjectFlags::new(), ArrayObjectFlags::empty());
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ArrayObjectFlags: c_uint {
        /// The array consists of one- or two-dimensional layers. The depth of the array is the
        /// number of layers.
        const LAYERED = sys::CUDA_ARRAY3D_LAYERED;
        /// Kernels can access the array through a surface.
        const SURFACE_LDST = sys::CUDA_ARRAY3D_SURFACE_LDST;
        /// The array consists of the six sides of a cube or, with [`LAYERED`](Self::LAYERED), of
        /// several cubes.
        const CUBEMAP = sys::CUDA_ARRAY3D_CUBEMAP;
        /// Kernels can read the array with texture gather instructions.
        const TEXTURE_GATHER = sys::CUDA_ARRAY3D_TEXTURE_GATHER;
    }
}

impl ArrayObjectFlags {
    /// Returns the empty set of flags.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// The size, format and flags of an array.
///
/// ```
/// use cust::memory::array::{ArrayDescriptor, ArrayFormat, ArrayObjectFlags};
/// use cust::sys::{CUDA_ARRAY3D_DESCRIPTOR, CUarray_format};
///
/// let layered = ArrayObjectFlags::LAYERED;
/// let mut array = ArrayDescriptor::new([64, 32, 3], ArrayFormat::U8, 4, layered);
/// assert_eq!((array.width(), array.height(), array.depth()), (64, 32, 3));
/// assert_eq!((array.num_channels(), array.flags()), (4, layered));
///
/// array.set_dims([16, 16, 0]);
/// array.set_width(8);
/// array.set_height(4);
/// array.set_depth(2);
/// array.set_format(ArrayFormat::F32);
/// array.set_num_channels(1);
/// array.set_flags(ArrayObjectFlags::new());
/// assert_eq!((array.dims(), array.format()), ([8, 4, 2], ArrayFormat::F32));
///
/// let plain = ArrayDescriptor::from_dims_format([8, 4, 0], ArrayFormat::F32);
/// assert_eq!(plain.num_channels(), 1);
/// let raw = ArrayDescriptor::from_raw(CUDA_ARRAY3D_DESCRIPTOR {
///     Width: 8,
///     Height: 4,
///     Depth: 0,
///     Format: CUarray_format::CU_AD_FORMAT_FLOAT,
///     NumChannels: 1,
///     Flags: 0,
/// });
/// assert_eq!(raw.dims(), plain.dims());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayDescriptor {
    dims: [usize; 3],
    format: ArrayFormat,
    num_channels: c_uint,
    flags: ArrayObjectFlags,
}

impl ArrayDescriptor {
    /// Describes an array whose width, height and depth in texels are `dims`. A height or depth of
    /// 0 omits that dimension.
    #[must_use]
    pub fn new(
        dims: [usize; 3],
        format: ArrayFormat,
        num_channels: c_uint,
        flags: ArrayObjectFlags,
    ) -> Self {
        Self { dims, format, num_channels, flags }
    }

    /// Describes an array with one channel and no flags.
    #[must_use]
    pub fn from_dims_format(dims: [usize; 3], format: ArrayFormat) -> Self {
        Self::new(dims, format, 1, ArrayObjectFlags::default())
    }

    /// Converts from the driver's description.
    ///
    /// # Panics
    /// Panics if the channel format has no variant in [`ArrayFormat`].
    #[must_use]
    pub fn from_raw(raw: sys::CUDA_ARRAY3D_DESCRIPTOR) -> Self {
        Self {
            dims: [raw.Width, raw.Height, raw.Depth],
            format: ArrayFormat::from_raw(raw.Format),
            num_channels: raw.NumChannels,
            flags: ArrayObjectFlags::from_bits_truncate(raw.Flags),
        }
    }

    pub(super) fn to_raw(self) -> CudaResult<sys::CUDA_ARRAY3D_DESCRIPTOR> {
        let [width, height, depth] = self.dims;
        Ok(sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: width,
            Height: height,
            Depth: depth,
            Format: self.format.try_to_raw()?,
            NumChannels: self.num_channels,
            Flags: self.flags.bits(),
        })
    }

    /// Returns the width, height and depth in texels.
    #[must_use]
    pub fn dims(&self) -> [usize; 3] {
        self.dims
    }

    /// Sets the width, height and depth in texels.
    pub fn set_dims(&mut self, dims: [usize; 3]) {
        self.dims = dims;
    }

    /// Returns the width in texels.
    #[must_use]
    pub fn width(&self) -> usize {
        self.dims[0]
    }

    /// Sets the width in texels.
    pub fn set_width(&mut self, width: usize) {
        self.dims[0] = width;
    }

    /// Returns the height in texels, or 0 if the array has one dimension.
    #[must_use]
    pub fn height(&self) -> usize {
        self.dims[1]
    }

    /// Sets the height in texels. 0 makes the array one-dimensional.
    pub fn set_height(&mut self, height: usize) {
        self.dims[1] = height;
    }

    /// Returns the depth in texels or the number of layers, or 0 if the array has neither.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.dims[2]
    }

    /// Sets the depth in texels or the number of layers.
    pub fn set_depth(&mut self, depth: usize) {
        self.dims[2] = depth;
    }

    /// Returns the format of a channel.
    #[must_use]
    pub fn format(&self) -> ArrayFormat {
        self.format
    }

    /// Sets the format of a channel.
    pub fn set_format(&mut self, format: ArrayFormat) {
        self.format = format;
    }

    /// Returns the number of channels: 1, 2 or 4.
    #[must_use]
    pub fn num_channels(&self) -> c_uint {
        self.num_channels
    }

    /// Sets the number of channels: 1, 2 or 4.
    pub fn set_num_channels(&mut self, num_channels: c_uint) {
        self.num_channels = num_channels;
    }

    /// Returns the flags.
    #[must_use]
    pub fn flags(&self) -> ArrayObjectFlags {
        self.flags
    }

    /// Sets the flags.
    pub fn set_flags(&mut self, flags: ArrayObjectFlags) {
        self.flags = flags;
    }

    /// Returns the size of a row in bytes.
    pub(super) fn row_bytes(&self) -> usize {
        self.width() * self.num_channels as usize * self.format.mem_size()
    }

    /// Returns the size of the array in bytes. The product cannot overflow if an array with this
    /// descriptor has been created.
    pub(super) fn bytes(&self) -> usize {
        self.row_bytes() * self.height().max(1) * self.depth().max(1)
    }
}
