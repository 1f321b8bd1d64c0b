//! [`SliceExt`], whose method copies a slice to a device.
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
use crate::memory::{DeviceBuffer, DeviceCopy};

/// A method that copies slices, arrays and vectors to the device.
pub trait SliceExt<T: DeviceCopy> {
    /// Copies the elements to the device.
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>>;
}

impl<T: DeviceCopy> SliceExt<T> for [T] {
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>> {
        DeviceBuffer::from_slice(self)
    }
}
