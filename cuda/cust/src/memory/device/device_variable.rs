//! One value that host and device both have.

use std::ops::{Deref, DerefMut};

use super::{CopyDestination, DeviceBox};
use crate::error::CudaResult;
use crate::memory::{DeviceCopy, DevicePointer};

/// One value on the host and a copy of it on the device; the two are made equal when asked for.
#[derive(Debug)]
pub struct DeviceVariable<T: DeviceCopy> {
    on_device: DeviceBox<T>,
    on_host: T,
}

impl<T: DeviceCopy> DeviceVariable<T> {
    /// The value on both sides.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(value: T) -> CudaResult<Self> {
        Ok(Self { on_device: DeviceBox::new(&value)?, on_host: value })
    }

    /// Copies the host's value to the device.
    ///
    /// # Errors
    /// What the driver says.
    pub fn copy_htod(&mut self) -> CudaResult<()> {
        self.on_device.copy_from(&self.on_host)
    }

    /// Copies the device's value to the host.
    ///
    /// # Errors
    /// What the driver says.
    pub fn copy_dtoh(&mut self) -> CudaResult<()> {
        self.on_device.copy_to(&mut self.on_host)
    }

    /// Address of the device's value.
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
