//! Shortcuts that copy host values and slices to a device.

use crate::error::CudaResult;
use crate::memory::array::{ArrayDescriptor, ArrayObject, ArrayObjectFlags, ArrayPrimitive};
use crate::memory::{DeviceBox, DeviceBuffer, DeviceCopy, UnifiedBuffer};
use crate::surface::Surface;
use crate::texture::Texture;

/// Shortcuts of a value.
pub trait DeviceCopyExt: DeviceCopy {
    /// Copies the value to the device.
    ///
    /// # Errors
    /// Returns any error of the driver.
    fn as_dbox(&self) -> CudaResult<DeviceBox<Self>> {
        DeviceBox::new(self)
    }
}

impl<T: DeviceCopy> DeviceCopyExt for T {}

/// Shortcuts of slices, and of arrays and vectors, which dereference to them.
pub trait SliceExt<T: DeviceCopy> {
    /// Copies the elements to the device.
    ///
    /// # Errors
    /// Returns any error of the driver.
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>>;

    /// Copies the elements to unified memory.
    ///
    /// # Errors
    /// Returns any error of the driver.
    fn as_unified_buf(&self) -> CudaResult<UnifiedBuffer<T>>;

    /// Copies the elements to an array of one channel and one dimension.
    ///
    /// # Errors
    /// As [`ArrayObject::from_descriptor`].
    fn as_1d_array(&self) -> CudaResult<ArrayObject>
    where
        T: ArrayPrimitive;

    /// Copies the elements, row after row, to an array of one channel and two dimensions.
    ///
    /// # Errors
    /// As [`ArrayObject::from_descriptor`].
    ///
    /// # Panics
    /// Panics if there are other than `width · height` elements.
    fn as_2d_array(&self, width: usize, height: usize) -> CudaResult<ArrayObject>
    where
        T: ArrayPrimitive;

    /// Copies the elements to a texture of one dimension.
    ///
    /// # Errors
    /// As [`Texture::new`].
    fn as_1d_texture(&self) -> CudaResult<Texture>
    where
        T: ArrayPrimitive,
    {
        Texture::from_array(self.as_1d_array()?)
    }

    /// Copies the elements, row after row, to a texture of two dimensions.
    ///
    /// # Errors
    /// As [`Texture::new`].
    ///
    /// # Panics
    /// Panics if there are other than `width · height` elements.
    fn as_2d_texture(&self, width: usize, height: usize) -> CudaResult<Texture>
    where
        T: ArrayPrimitive,
    {
        Texture::from_array(self.as_2d_array(width, height)?)
    }

    /// Copies the elements to a surface of one dimension.
    ///
    /// # Errors
    /// As [`Surface::new`].
    fn as_1d_surface(&self) -> CudaResult<Surface>
    where
        T: ArrayPrimitive;

    /// Copies the elements, row after row, to a surface of two dimensions.
    ///
    /// # Errors
    /// As [`Surface::new`].
    ///
    /// # Panics
    /// Panics if there are other than `width · height` elements.
    fn as_2d_surface(&self, width: usize, height: usize) -> CudaResult<Surface>
    where
        T: ArrayPrimitive;
}

impl<T: DeviceCopy> SliceExt<T> for [T] {
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>> {
        DeviceBuffer::from_slice(self)
    }

    fn as_unified_buf(&self) -> CudaResult<UnifiedBuffer<T>> {
        UnifiedBuffer::from_slice(self)
    }

    fn as_1d_array(&self) -> CudaResult<ArrayObject>
    where
        T: ArrayPrimitive,
    {
        filled(self, [self.len(), 0], ArrayObjectFlags::empty())
    }

    fn as_2d_array(&self, width: usize, height: usize) -> CudaResult<ArrayObject>
    where
        T: ArrayPrimitive,
    {
        filled(self, [width, height], ArrayObjectFlags::empty())
    }

    fn as_1d_surface(&self) -> CudaResult<Surface>
    where
        T: ArrayPrimitive,
    {
        Surface::from_array(filled(self, [self.len(), 0], ArrayObjectFlags::SURFACE_LDST)?)
    }

    fn as_2d_surface(&self, width: usize, height: usize) -> CudaResult<Surface>
    where
        T: ArrayPrimitive,
    {
        Surface::from_array(filled(self, [width, height], ArrayObjectFlags::SURFACE_LDST)?)
    }
}

/// An array of one channel with these elements.
fn filled<T: ArrayPrimitive>(
    elements: &[T],
    [width, height]: [usize; 2],
    flags: ArrayObjectFlags,
) -> CudaResult<ArrayObject> {
    let dims = [width, height, 0];
    let descriptor = ArrayDescriptor::new(dims, T::array_format(), 1, flags);
    let mut array = ArrayObject::from_descriptor(&descriptor)?;
    array.copy_from::<T, [T]>(elements)?;
    Ok(array)
}
