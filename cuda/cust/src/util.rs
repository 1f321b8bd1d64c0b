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
use crate::memory::{DeviceBox, DeviceBuffer, DeviceCopy, UnifiedBuffer};

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
/// let values = [1.0_f32, 2.0, 3.0, 4.0];
/// assert_eq!(values.as_dbuf()?.len(), 4);
/// assert_eq!(values.as_unified_buf()?[3], 4.0);
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
}

impl<T: DeviceCopy> SliceExt<T> for [T] {
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>> {
        DeviceBuffer::from_slice(self)
    }

    fn as_unified_buf(&self) -> CudaResult<UnifiedBuffer<T>> {
        UnifiedBuffer::from_slice(self)
    }
}
