//! Memory of a device.

mod device_box;
mod device_buffer;
mod device_slice;
mod device_variable;

pub use device_box::DeviceBox;
pub use device_buffer::DeviceBuffer;
pub use device_slice::{DeviceSlice, DeviceSliceIndex};
pub use device_variable::DeviceVariable;

use crate::error::CudaResult;
use crate::stream::Stream;

/// Device memory that copies from and to `O`, and waits until the copy is done.
pub trait CopyDestination<O: ?Sized>: crate::private::Sealed {
    /// Copies `source` to the device.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Panics
    /// If the two differ in length.
    fn copy_from(&mut self, source: &O) -> CudaResult<()>;

    /// Copies the device memory to `dest`.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Panics
    /// If the two differ in length.
    fn copy_to(&self, dest: &mut O) -> CudaResult<()>;
}

/// Device memory that copies from and to `O`, and does not wait.
///
/// A copy does not block if the host memory is page-locked; else the driver may copy it aside first.
pub trait AsyncCopyDestination<O: ?Sized>: crate::private::Sealed {
    /// Submits the copy of `source` to the device.
    ///
    /// # Safety
    /// Both live, and nobody writes either, until the stream's work is done.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Panics
    /// If the two differ in length.
    unsafe fn async_copy_from(&mut self, source: &O, stream: &Stream) -> CudaResult<()>;

    /// Submits the copy of the device memory to `dest`.
    ///
    /// # Safety
    /// Both live, nobody touches `dest` and nobody writes the device memory, until the stream's work is
    /// done.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Panics
    /// If the two differ in length.
    unsafe fn async_copy_to(&self, dest: &mut O, stream: &Stream) -> CudaResult<()>;
}
