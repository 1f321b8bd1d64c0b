//! Extension traits that copy host values and slices to a device.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::util::SliceExt;
//!
//! let _context = cust::quick_init()?;
//! assert_eq!([1, 2, 3].as_dbuf()?.as_host_vec()?, [1, 2, 3]);
//! # Ok::<(), cust::error::CudaError>(())
//! ```

use crate::error::CudaResult;
use crate::memory::array::{ArrayDescriptor, ArrayObject, ArrayObjectFlags, ArrayPrimitive};
use crate::memory::{DeviceBox, DeviceBuffer, DeviceCopy, UnifiedBuffer};
use crate::surface::Surface;
use crate::texture::Texture;

/// Methods that copy a value to the device.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::util::DeviceCopyExt;
///
/// let _context = cust::quick_init()?;
/// let value = 2.5_f64.as_dbox()?;
/// assert_eq!(value.as_host_value()?, 2.5);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub trait DeviceCopyExt: DeviceCopy {
    /// Copies the value to the device.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn as_dbox(&self) -> CudaResult<DeviceBox<Self>> {
        DeviceBox::new(self)
    }
}

impl<T: DeviceCopy> DeviceCopyExt for T {}

/// Methods that copy slices to the device. They are also available on arrays and vectors.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::util::SliceExt;
///
/// let _context = cust::quick_init()?;
/// let texels = [1.0_f32, 2.0, 3.0, 4.0];
/// assert_eq!(texels.as_dbuf()?.len(), 4);
/// assert_eq!(texels.as_unified_buf()?[3], 4.0);
/// assert_eq!(texels.as_1d_array()?.descriptor()?.dims(), [4, 0, 0]);
/// assert_eq!(texels.as_2d_array(2, 2)?.descriptor()?.dims(), [2, 2, 0]);
/// let texture = texels.as_2d_texture(2, 2)?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub trait SliceExt<T: DeviceCopy> {
    /// Copies the elements to the device.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>>;

    /// Copies the elements to unified memory.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn as_unified_buf(&self) -> CudaResult<UnifiedBuffer<T>>;

    /// Copies the elements to a new one-dimensional array with one channel.
    ///
    /// # Errors
    /// Returns the errors of [`ArrayObject::from_descriptor`].
    fn as_1d_array(&self) -> CudaResult<ArrayObject>
    where
        T: ArrayPrimitive;

    /// Copies the elements, row by row, to a new two-dimensional array with one channel.
    ///
    /// # Errors
    /// Returns the errors of [`ArrayObject::from_descriptor`].
    ///
    /// # Panics
    /// Panics if the number of elements is not `width · height`.
    fn as_2d_array(&self, width: usize, height: usize) -> CudaResult<ArrayObject>
    where
        T: ArrayPrimitive;

    /// Copies the elements to a new one-dimensional array, and creates a texture that reads the
    /// array.
    ///
    /// ```no_run
    /// use cust::util::SliceExt;
    ///
    /// let _context = cust::quick_init()?;
    /// let texture = [1.0_f32, 2.0, 3.0].as_1d_texture()?;
    /// # Ok::<(), cust::error::CudaError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Texture::new`].
    fn as_1d_texture(&self) -> CudaResult<Texture>
    where
        T: ArrayPrimitive,
    {
        Texture::from_array(self.as_1d_array()?)
    }

    /// Copies the elements, row by row, to a new two-dimensional array, and creates a texture that
    /// reads the array.
    ///
    /// # Errors
    /// Returns the errors of [`Texture::new`].
    ///
    /// # Panics
    /// Panics if the number of elements is not `width · height`.
    fn as_2d_texture(&self, width: usize, height: usize) -> CudaResult<Texture>
    where
        T: ArrayPrimitive,
    {
        Texture::from_array(self.as_2d_array(width, height)?)
    }

    /// Copies the elements to a new one-dimensional array, and creates a surface for the array.
    ///
    /// ```no_run
    /// use cust::util::SliceExt;
    ///
    /// let _context = cust::quick_init()?;
    /// let surface = [1.0_f32, 2.0, 3.0].as_1d_surface()?;
    /// # Ok::<(), cust::error::CudaError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Surface::new`].
    fn as_1d_surface(&self) -> CudaResult<Surface>
    where
        T: ArrayPrimitive;

    /// Copies the elements, row by row, to a new two-dimensional array, and creates a surface for
    /// the array.
    ///
    /// ```no_run
    /// use cust::util::SliceExt;
    ///
    /// let _context = cust::quick_init()?;
    /// let surface = [1.0_f32, 2.0, 3.0, 4.0].as_2d_surface(2, 2)?;
    /// # Ok::<(), cust::error::CudaError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Surface::new`].
    ///
    /// # Panics
    /// Panics if the number of elements is not `width · height`.
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

/// Creates an array with one channel and copies `elements` into it.
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
