//! Hints to the driver about the pages of unified memory. The hints affect only speed. On the CPU
//! they have no effect.

use std::slice;

use cust_raw::driver_sys as sys;

use super::{UnifiedBox, UnifiedBuffer};
use crate::device::Device;
use crate::driver;
use crate::error::CudaResult;
use crate::memory::{DeviceCopy, private};
use crate::stream::Stream;

/// Unified memory that accepts hints about its pages: prefetches, access patterns and preferred
/// locations.
///
/// The hints need a device with concurrent access to managed memory
/// ([`ConcurrentManagedAccess`](crate::device::DeviceAttribute::ConcurrentManagedAccess)).
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::device::Device;
/// use cust::memory::{MemoryAdvise, UnifiedBuffer};
/// use cust::stream::{Stream, StreamFlags};
///
/// let _context = cust::quick_init()?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// let table = UnifiedBuffer::from_slice(&[1, 2, 3])?;
/// // The kernels will only read the table.
/// table.advise_read_mostly(true)?;
/// table.preferred_location(Some(Device::get_device(0)?))?;
/// table.prefetch_to_device(&stream, &Device::get_device(0)?)?;
/// // The host uses the table next.
/// table.prefetch_to_host(&stream)?;
/// table.unset_preferred_location()?;
/// stream.synchronize()?;
/// assert_eq!(MemoryAdvise::as_slice(&table), [1, 2, 3]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub trait MemoryAdvise<T: DeviceCopy>: private::Sealed {
    /// Returns the memory as a slice.
    fn as_slice(&self) -> &[T];

    /// Submits work to `stream` that moves the pages to the host before the host uses them.
    ///
    /// # Errors
    /// Returns `InvalidDevice` if the device does not support concurrent access to managed memory,
    /// or the driver's error.
    fn prefetch_to_host(&self, stream: &Stream) -> CudaResult<()> {
        prefetch(self.as_slice(), sys::CU_DEVICE_CPU, stream)
    }

    /// Submits work to `stream` that moves the pages to `device` before the device uses them.
    ///
    /// # Errors
    /// Returns `InvalidDevice` if the device does not support concurrent access to managed memory,
    /// or the driver's error.
    fn prefetch_to_device(&self, stream: &Stream, device: &Device) -> CudaResult<()> {
        prefetch(self.as_slice(), device.as_raw(), stream)
    }

    /// Sets the hint that the memory is read much more often than written. The driver then gives
    /// each device that reads a page its own copy of the page.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn advise_read_mostly(&self, read_mostly: bool) -> CudaResult<()> {
        use sys::CUmem_advise::{CU_MEM_ADVISE_SET_READ_MOSTLY, CU_MEM_ADVISE_UNSET_READ_MOSTLY};
        let advice = match read_mostly {
            true => CU_MEM_ADVISE_SET_READ_MOSTLY,
            false => CU_MEM_ADVISE_UNSET_READ_MOSTLY,
        };
        advise(self.as_slice(), advice, 0)
    }

    /// Sets the preferred location of the pages: a device, or the host for `None`.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn preferred_location(&self, preferred_location: Option<Device>) -> CudaResult<()> {
        let advice = sys::CUmem_advise::CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
        let place = preferred_location.map_or(sys::CU_DEVICE_CPU, |device| device.as_raw());
        advise(self.as_slice(), advice, place)
    }

    /// Removes the hint set by [`preferred_location`](Self::preferred_location).
    ///
    /// # Errors
    /// Returns the driver's error.
    fn unset_preferred_location(&self) -> CudaResult<()> {
        advise(self.as_slice(), sys::CUmem_advise::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 0)
    }
}

impl<T: DeviceCopy> MemoryAdvise<T> for UnifiedBox<T> {
    fn as_slice(&self) -> &[T] {
        slice::from_ref(self)
    }
}

impl<T: DeviceCopy> MemoryAdvise<T> for UnifiedBuffer<T> {
    fn as_slice(&self) -> &[T] {
        self
    }
}

fn prefetch<T>(memory: &[T], to: sys::CUdevice, stream: &Stream) -> CudaResult<()> {
    match size_of_val(memory) {
        0 => Ok(()),
        // SAFETY: the memory is a driver allocation; moving its pages does not change its contents.
        bytes => unsafe {
            driver::cuMemPrefetchAsync(memory.as_ptr().addr() as u64, bytes, to, stream.as_inner())
        },
    }
}

fn advise<T>(memory: &[T], advice: sys::CUmem_advise, device: sys::CUdevice) -> CudaResult<()> {
    match size_of_val(memory) {
        0 => Ok(()),
        // SAFETY: the memory is a driver allocation, and a hint does not change its contents.
        bytes => unsafe {
            driver::cuMemAdvise(memory.as_ptr().addr() as u64, bytes, advice, device)
        },
    }
}
