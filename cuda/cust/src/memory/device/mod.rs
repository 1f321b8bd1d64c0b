//! Device memory: single values, buffers and slices, and the traits that copy them.

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

/// Device memory that can be copied from and to values of type `O`. Each method waits until its
/// copy is done.
pub trait CopyDestination<O: ?Sized>: crate::private::Sealed {
    /// Copies `source` to this device memory.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Panics
    /// Panics if source and destination differ in length.
    fn copy_from(&mut self, source: &O) -> CudaResult<()>;

    /// Copies this device memory to `dest`.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Panics
    /// Panics if source and destination differ in length.
    fn copy_to(&self, dest: &mut O) -> CudaResult<()>;
}

/// Device memory that can be copied from and to values of type `O` in stream order.
///
/// If the host memory is page-locked, the methods return without waiting for the copy. Otherwise
/// they may block while the driver copies the elements through a staging buffer.
pub trait AsyncCopyDestination<O: ?Sized>: crate::private::Sealed {
    /// Submits a copy of `source` to this device memory.
    ///
    /// # Safety
    /// Until the stream's work is done, source and destination must stay allocated, and nothing
    /// else may write to them.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Panics
    /// Panics if source and destination differ in length.
    unsafe fn async_copy_from(&mut self, source: &O, stream: &Stream) -> CudaResult<()>;

    /// Submits a copy of this device memory to `dest`.
    ///
    /// # Safety
    /// Until the stream's work is done, source and destination must stay allocated, nothing else
    /// may access `dest`, and nothing may write to the device memory.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Panics
    /// Panics if source and destination differ in length.
    unsafe fn async_copy_to(&self, dest: &mut O, stream: &Stream) -> CudaResult<()>;
}
