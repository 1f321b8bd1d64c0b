//! Device memory: single values, buffers and slices, and the traits that copy them.

mod device_box;
mod device_buffer;
mod device_slice;
mod slice_index;

pub use device_box::DeviceBox;
pub use device_buffer::DeviceBuffer;
pub use device_slice::DeviceSlice;

use crate::error::CudaResult;
use crate::stream::Stream;

/// Device memory that can be copied from and to values of type `O`. Each method waits until its
/// copy is done.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{CopyDestination, DeviceBuffer};
///
/// let _context = cust::quick_init()?;
/// let mut buffer = DeviceBuffer::zeroed(3)?;
/// buffer.copy_from(&[1, 2, 3])?;
/// // Parts can be copied, too.
/// buffer[..1].copy_from(&[9])?;
/// let mut values = [0; 3];
/// buffer.copy_to(&mut values)?;
/// assert_eq!(values, [9, 2, 3]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
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
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
/// use cust::stream::{Stream, StreamFlags};
///
/// let _context = cust::quick_init()?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// let (from, mut to) = (LockedBuffer::from_slice(&[1, 2, 3])?, LockedBuffer::new(&0, 3)?);
/// let mut buffer = DeviceBuffer::zeroed(3)?;
/// // SAFETY: the memory stays allocated and is not used until the stream's work is done.
/// unsafe {
///     buffer.async_copy_from(&from, &stream)?;
///     buffer.async_copy_to(&mut to, &stream)?;
/// }
/// stream.synchronize()?;
/// assert_eq!(to[..], [1, 2, 3]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
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
