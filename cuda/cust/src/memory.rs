//! Memory on devices and on the host, and copies between them.
//!
//! | type | location | contents |
//! |---|---|---|
//! | [`DeviceBuffer`], [`DeviceBox`] | device | elements, one value |
//! | [`LockedBuffer`] | host, page-locked for fast copies | elements |
//! | [`UnifiedBuffer`] | host or device, migrates on use | elements |
//!
//! Each function returns the driver's error, or `InvalidMemoryAllocation` if a size exceeds the
//! address space or elements need an alignment that the memory does not have.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
//! use cust::stream::{Stream, StreamFlags};
//!
//! let _context = cust::quick_init()?;
//! let stream = Stream::new(StreamFlags::DEFAULT, None)?;
//! let (from, mut to) = (LockedBuffer::from_slice(&[1, 2, 3])?, LockedBuffer::new(&0, 3)?);
//! let mut buffer = DeviceBuffer::zeroed(3)?;
//! // SAFETY: the memory stays allocated and is not used until the stream's work is done.
//! unsafe {
//!     buffer.async_copy_from(&from, &stream)?;
//!     buffer.async_copy_to(&mut to, &stream)?;
//! }
//! stream.synchronize()?;
//! assert_eq!(to[..], [1, 2, 3]);
//! # Ok::<(), cust::error::CudaError>(())
//! ```

mod device;
mod host;

use std::ptr;

pub use bytemuck;
pub use cuda_std::launch::DevicePointer;
pub use cust_core::_hidden::DeviceCopy;
pub use cust_derive::DeviceCopy;

pub use device::{DeviceBox, DeviceBuffer};
pub use host::{HostBuffer, LockedBuffer, UnifiedBuffer};

use crate::error::CudaResult;
use crate::stream::Stream;
use crate::typed;
use crate::typed::rows::Side;

/// Device memory that can be copied from and to values of type `O`. Each method waits until its
/// copy is done, and panics if source and destination differ in length.
pub trait CopyDestination<O: ?Sized> {
    /// Copies `source` to this device memory.
    fn copy_from(&mut self, source: &O) -> CudaResult<()>;

    /// Copies this device memory to `dest`.
    fn copy_to(&self, dest: &mut O) -> CudaResult<()>;
}

/// Device memory that can be copied from and to values of type `O` in stream order. Each method
/// panics if source and destination differ in length.
///
/// If the host memory is page-locked, the methods return without waiting for the copy. Otherwise
/// they may block while the driver copies the elements through a staging buffer.
pub trait AsyncCopyDestination<O: ?Sized> {
    /// Submits a copy of `source` to this device memory.
    ///
    /// # Safety
    /// Until the stream's work is done, source and destination must stay allocated, and nothing
    /// else may write to them.
    unsafe fn async_copy_from(&mut self, source: &O, stream: &Stream) -> CudaResult<()>;

    /// Submits a copy of this device memory to `dest`.
    ///
    /// # Safety
    /// Until the stream's work is done, source and destination must stay allocated, nothing else
    /// may access `dest`, and nothing may write to the device memory.
    unsafe fn async_copy_to(&self, dest: &mut O, stream: &Stream) -> CudaResult<()>;
}

/// Copies `bytes` bytes in the default stream, for which all other streams wait, and waits.
///
/// # Safety
/// Both sides must have `bytes` bytes.
pub(crate) unsafe fn copy_now(
    device: &typed::Device,
    from: Side,
    to: Side,
    bytes: usize,
) -> CudaResult<()> {
    // SAFETY: the null handle is the default stream. The caller upholds the rest of this function's
    // safety contract.
    unsafe {
        let stream = typed::Stream::from_raw(device, ptr::null_mut());
        stream.copy(from, to, bytes, 1)?;
        Ok(stream.finish_copy()?)
    }
}
