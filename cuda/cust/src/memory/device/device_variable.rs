//! [`DeviceVariable`], a value that is stored on both host and device.

use std::ops::{Deref, DerefMut};

use super::{CopyDestination, DeviceBox};
use crate::error::CudaResult;
use crate::memory::{DeviceCopy, DevicePointer};

/// A value on the host with a copy on the device. [`copy_htod`](Self::copy_htod) updates the
/// device's copy, and [`copy_dtoh`](Self::copy_dtoh) updates the host's value.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::DeviceVariable;
///
/// let _context = cust::quick_init()?;
/// let mut count = DeviceVariable::new(1_u32)?;
/// *count = 7;
/// count.copy_htod()?;
/// // A kernel that takes `count.as_device_ptr()` reads the 7 and may write another number.
/// assert!(!count.as_device_ptr().is_null());
/// count.copy_dtoh()?;
/// assert_eq!(*count, 7);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct DeviceVariable<T: DeviceCopy> {
    on_device: DeviceBox<T>,
    on_host: T,
}

impl<T: DeviceCopy> DeviceVariable<T> {
    /// Stores `value` on the host and on the device.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(value: T) -> CudaResult<Self> {
        Ok(Self { on_device: DeviceBox::new(&value)?, on_host: value })
    }

    /// Copies the host's value to the device.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn copy_htod(&mut self) -> CudaResult<()> {
        self.on_device.copy_from(&self.on_host)
    }

    /// Copies the device's value to the host.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn copy_dtoh(&mut self) -> CudaResult<()> {
        self.on_device.copy_to(&mut self.on_host)
    }

    /// Returns the address of the device's value.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.on_device.as_device_ptr()
    }
}

impl<T: DeviceCopy> Deref for DeviceVariable<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.on_host
    }
}

impl<T: DeviceCopy> DerefMut for DeviceVariable<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.on_host
    }
}
