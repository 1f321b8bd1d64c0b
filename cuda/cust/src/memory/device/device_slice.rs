//! [`DeviceSlice`], a borrowed slice of device memory: copies and fills.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr;

use bytemuck::{Pod, Zeroable};

use super::{AsyncCopyDestination, CopyDestination, DeviceBuffer};
use crate::driver;
use crate::error::CudaResult;
use crate::memory::{
    DeviceCopy, DeviceMemory, DevicePointer, copy_across, memcpy_dtoh, memcpy_htod,
};
use crate::stream::Stream;

/// A slice of contiguous elements in device memory. A reference consists of a device address and a
/// length. The host cannot access the elements, so the field is a slice of `()`.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{DeviceBuffer, DeviceSlice};
/// use cust::stream::{Stream, StreamFlags};
///
/// let _context = cust::quick_init()?;
/// let mut buffer = DeviceBuffer::from_slice(&[1_u32, 2, 3, 4])?;
/// let slice: &DeviceSlice<u32> = &buffer[1..3];
/// assert_eq!((slice.len(), slice.is_empty()), (2, false));
/// assert_eq!(slice.as_device_ptr(), buffer.as_device_ptr().wrapping_add(1));
/// let (first, last) = buffer.split_at(1);
/// assert_eq!((first.as_host_vec()?, last.as_host_vec()?), (vec![1], vec![2, 3, 4]));
///
/// // Fills with values of 8, 16 and 32 bits. They need not have the elements' size.
/// let (first, last) = buffer.split_at_mut(1);
/// first.set_32(9)?;
/// last[..1].set_16(0x0102)?;
/// last[1..2].set_8(3)?;
/// last[2..].set_zero()?;
/// assert_eq!(buffer.as_host_vec()?, [9, 0x0102_0102, 0x0303_0303, 0]);
///
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// // SAFETY: nothing else accesses the buffer until the stream's work is done.
/// unsafe {
///     buffer[..1].set_8_async(1, &stream)?;
///     buffer[1..2].set_16_async(2, &stream)?;
///     buffer[2..3].set_32_async(3, &stream)?;
///     buffer[3..].set_zero_async(&stream)?;
/// }
/// stream.synchronize()?;
/// assert_eq!(buffer.as_host_vec()?, [0x0101_0101, 0x0002_0002, 3, 0]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[repr(transparent)]
pub struct DeviceSlice<T: DeviceCopy> {
    element: PhantomData<T>,
    slice: [()],
}

// SAFETY: the type stores only an address and a length and does not let the host access the
// elements.
unsafe impl<T: Send + DeviceCopy> Send for DeviceSlice<T> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl<T: Sync + DeviceCopy> Sync for DeviceSlice<T> {}

impl<T: DeviceCopy> fmt::Debug for DeviceSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceSlice")
            .field("ptr", &self.as_device_ptr())
            .field("len", &self.len())
            .finish()
    }
}

impl<T: DeviceCopy> DeviceSlice<T> {
    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slice.len()
    }

    /// Returns whether the slice is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the address of the first element, or null if the slice has no memory.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        // A reference is never null, so a slice without memory has the address `NO_MEMORY`.
        let address = self.slice.as_ptr().addr() as u64;
        DevicePointer::from_raw(if address == NO_MEMORY { 0 } else { address })
    }

    /// Copies the elements to the host.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
        let mut elements = Vec::<T>::with_capacity(self.len());
        // SAFETY: `elements` has room for `self.len()` elements, and the copy initialises all of
        // them.
        unsafe {
            memcpy_dtoh(elements.as_mut_ptr().cast(), self.as_raw_ptr(), self.size_in_bytes())?;
            elements.set_len(self.len());
        }
        Ok(elements)
    }

    /// Returns the slice of `len` elements at a device address.
    ///
    /// ```
    /// # // SAFETY: only the standard library accesses the environment.
    /// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
    /// use cust::memory::{DeviceBuffer, DeviceSlice};
    ///
    /// let _context = cust::quick_init()?;
    /// let buffer = DeviceBuffer::from_slice(&[1, 2, 3])?;
    /// // SAFETY: the buffer has three elements, outlives the slice, and nothing writes it.
    /// let slice = unsafe { DeviceSlice::from_raw_parts(buffer.as_device_ptr(), 2) };
    /// assert_eq!(slice.as_host_vec()?, [1, 2]);
    /// # Ok::<(), cust::error::CudaError>(())
    /// ```
    ///
    /// # Safety
    /// The elements must stay valid while the result is used, and nothing may write them.
    #[must_use]
    pub unsafe fn from_raw_parts<'a>(pointer: DevicePointer<T>, len: usize) -> &'a Self {
        let slice = ptr::slice_from_raw_parts(address(pointer), len);
        // SAFETY: `[()]` occupies no memory, so it is valid at any address except null. `Self` is a
        // transparent wrapper of `[()]`.
        unsafe { &*(slice as *const Self) }
    }

    /// Returns the mutable slice of `len` elements at a device address.
    ///
    /// ```
    /// # // SAFETY: only the standard library accesses the environment.
    /// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
    /// use cust::memory::{CopyDestination, DeviceBuffer, DeviceSlice};
    ///
    /// let _context = cust::quick_init()?;
    /// let buffer = DeviceBuffer::from_slice(&[1, 2, 3])?;
    /// // SAFETY: the buffer has three elements, outlives the slice, and nothing else accesses it.
    /// let slice = unsafe { DeviceSlice::from_raw_parts_mut(buffer.as_device_ptr(), 2) };
    /// slice.copy_from(&[8, 9])?;
    /// assert_eq!(buffer.as_host_vec()?, [8, 9, 3]);
    /// # Ok::<(), cust::error::CudaError>(())
    /// ```
    ///
    /// # Safety
    /// The elements must stay valid while the result is used, and nothing else may access them.
    #[must_use]
    pub unsafe fn from_raw_parts_mut<'a>(pointer: DevicePointer<T>, len: usize) -> &'a mut Self {
        let slice = ptr::slice_from_raw_parts_mut(address(pointer), len);
        // SAFETY: `[()]` occupies no memory, so it is valid at any address except null. `Self` is a
        // transparent wrapper of `[()]`.
        unsafe { &mut *(slice as *mut Self) }
    }

    /// Returns two slices: the elements before `mid`, and the elements from `mid` on.
    ///
    /// # Panics
    /// Panics if `mid` is greater than the length of the slice.
    #[must_use]
    pub fn split_at(&self, mid: usize) -> (&Self, &Self) {
        (&self[..mid], &self[mid..])
    }

    /// Returns two mutable slices: the elements before `mid`, and the elements from `mid` on.
    ///
    /// # Panics
    /// Panics if `mid` is greater than the length of the slice.
    #[must_use]
    pub fn split_at_mut(&mut self, mid: usize) -> (&mut Self, &mut Self) {
        let (start, len) = (self.as_device_ptr(), self.len());
        assert!(mid <= len, "cannot split a device slice of {len} elements at {mid}");
        // SAFETY: the parts before and after `mid` are within `self` and do not overlap.
        unsafe {
            let second = start.wrapping_add(mid);
            (Self::from_raw_parts_mut(start, mid), Self::from_raw_parts_mut(second, len - mid))
        }
    }

    /// Returns the part of the slice in `range`.
    ///
    /// # Safety
    /// `range` must be within the bounds of the slice.
    pub(super) unsafe fn part(&self, range: Range<usize>) -> &Self {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            let first = self.as_device_ptr().wrapping_add(range.start);
            Self::from_raw_parts(first, range.end - range.start)
        }
    }

    /// Returns the part of the slice in `range` as a mutable slice.
    ///
    /// # Safety
    /// `range` must be within the bounds of the slice.
    pub(super) unsafe fn part_mut(&mut self, range: Range<usize>) -> &mut Self {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            let first = self.as_device_ptr().wrapping_add(range.start);
            Self::from_raw_parts_mut(first, range.end - range.start)
        }
    }

    #[track_caller]
    fn check_len(&self, len: usize) {
        assert!(
            self.len() == len,
            "a device slice of {} elements cannot be copied from or to {len} elements",
            self.len()
        );
    }
}

/// The address that a reference stores if the slice has no memory. A reference cannot be null.
const NO_MEMORY: u64 = 1;

/// Converts a device address to the pointer that a reference stores: null becomes [`NO_MEMORY`].
fn address<T: DeviceCopy>(pointer: DevicePointer<T>) -> *mut () {
    ptr::without_provenance_mut(pointer.as_raw().max(NO_MEMORY) as usize)
}

/// Defines two methods for each value type: one fills a slice and waits, one submits the fill.
macro_rules! fills {
    ($($set:ident $set_async:ident $value:ty: $call:ident $call_async:ident;)+) => {$(
        /// Fills the slice with copies of `value` and waits until the fill is done.
        ///
        /// # Errors
        /// Returns the driver's error.
        ///
        /// # Panics
        /// Panics if the slice's size or address is not a multiple of the value's size.
        #[track_caller]
        pub fn $set(&mut self, value: $value) -> CudaResult<()> {
            match self.count_of::<$value>() {
                0 => Ok(()),
                // SAFETY: the slice has room for `count` values of this type.
                count => unsafe { driver::$call(self.as_raw_ptr(), value, count) },
            }
        }

        /// Submits a fill of the slice with copies of `value` to `stream` and does not wait for it.
        ///
        /// # Safety
        /// Nothing may access the slice until the stream's work is done.
        ///
        /// # Errors
        /// Returns the driver's error.
        ///
        /// # Panics
        /// Panics if the slice's size or address is not a multiple of the value's size.
        #[track_caller]
        pub unsafe fn $set_async(&mut self, value: $value, stream: &Stream) -> CudaResult<()> {
            match self.count_of::<$value>() {
                0 => Ok(()),
                // SAFETY: the slice has room for `count` values of this type. The caller upholds
                // the rest of this function's safety contract.
                count => unsafe {
                    driver::$call_async(self.as_raw_ptr(), value, count, stream.as_inner())
                },
            }
        }
    )+};
}

impl<T: DeviceCopy + Pod> DeviceSlice<T> {
    fills! {
        set_8 set_8_async u8: cuMemsetD8_v2 cuMemsetD8Async;
        set_16 set_16_async u16: cuMemsetD16_v2 cuMemsetD16Async;
        set_32 set_32_async u32: cuMemsetD32_v2 cuMemsetD32Async;
    }

    /// Returns the number of values of type `V` that the slice's bytes hold. Panics if the size or
    /// the address is not a multiple of the size of `V`.
    #[track_caller]
    fn count_of<V>(&self) -> usize {
        let (bytes, size) = (self.size_in_bytes(), size_of::<V>());
        assert!(
            bytes.is_multiple_of(size),
            "the size of a device slice, {bytes} bytes, must be a multiple of {size} bytes"
        );
        let address = self.as_raw_ptr();
        assert!(
            address.is_multiple_of(size as u64),
            "the address of a device slice, {address:#x}, must be aligned to {size} bytes"
        );
        bytes / size
    }
}

impl<T: DeviceCopy + Zeroable> DeviceSlice<T> {
    /// Sets every byte to zero and waits until the fill is done.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn set_zero(&mut self) -> CudaResult<()> {
        self.bytes_mut().set_8(0)
    }

    /// Submits a fill of the slice with zero bytes to `stream` and does not wait for it.
    ///
    /// # Safety
    /// Nothing may access the slice until the stream's work is done.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub unsafe fn set_zero_async(&mut self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.bytes_mut().set_8_async(0, stream) }
    }

    fn bytes_mut(&mut self) -> &mut DeviceSlice<u8> {
        // SAFETY: the new slice covers the same bytes as `self`, which is borrowed exclusively.
        unsafe {
            DeviceSlice::from_raw_parts_mut(self.as_device_ptr().cast(), self.size_in_bytes())
        }
    }
}

impl<T: DeviceCopy> crate::private::Sealed for DeviceSlice<T> {}

impl<T: DeviceCopy, I: AsRef<[T]> + AsMut<[T]> + ?Sized> CopyDestination<I> for DeviceSlice<T> {
    #[track_caller]
    fn copy_from(&mut self, source: &I) -> CudaResult<()> {
        let source = source.as_ref();
        self.check_len(source.len());
        // SAFETY: source and destination have `self.len()` elements each.
        unsafe { memcpy_htod(self.as_raw_ptr(), source.as_ptr().cast(), self.size_in_bytes()) }
    }

    #[track_caller]
    fn copy_to(&self, dest: &mut I) -> CudaResult<()> {
        let dest = dest.as_mut();
        self.check_len(dest.len());
        // SAFETY: source and destination have `self.len()` elements each.
        unsafe { memcpy_dtoh(dest.as_mut_ptr().cast(), self.as_raw_ptr(), self.size_in_bytes()) }
    }
}

impl<T: DeviceCopy> CopyDestination<Self> for DeviceSlice<T> {
    #[track_caller]
    fn copy_from(&mut self, source: &Self) -> CudaResult<()> {
        self.check_len(source.len());
        // SAFETY: source and destination have `self.len()` elements each.
        unsafe { copy_across(self.as_raw_ptr(), source.as_raw_ptr(), self.size_in_bytes()) }
    }

    #[track_caller]
    fn copy_to(&self, dest: &mut Self) -> CudaResult<()> {
        self.check_len(dest.len());
        // SAFETY: source and destination have `self.len()` elements each.
        unsafe { copy_across(dest.as_raw_ptr(), self.as_raw_ptr(), self.size_in_bytes()) }
    }
}

impl<T: DeviceCopy> CopyDestination<DeviceBuffer<T>> for DeviceSlice<T> {
    #[track_caller]
    fn copy_from(&mut self, source: &DeviceBuffer<T>) -> CudaResult<()> {
        self.copy_from(source.as_slice())
    }

    #[track_caller]
    fn copy_to(&self, dest: &mut DeviceBuffer<T>) -> CudaResult<()> {
        self.copy_to(&mut **dest)
    }
}

impl<T: DeviceCopy, I: AsRef<[T]> + AsMut<[T]> + ?Sized> AsyncCopyDestination<I>
    for DeviceSlice<T>
{
    unsafe fn async_copy_from(&mut self, source: &I, stream: &Stream) -> CudaResult<()> {
        let source = source.as_ref();
        self.check_len(source.len());
        let (to, from, stream) = (self.as_raw_ptr(), source.as_ptr().cast(), stream.as_inner());
        match self.size_in_bytes() {
            0 => Ok(()),
            // SAFETY: source and destination have `self.len()` elements each. The caller upholds
            // the rest of this function's safety contract.
            bytes => unsafe { driver::cuMemcpyHtoDAsync_v2(to, from, bytes, stream) },
        }
    }

    unsafe fn async_copy_to(&self, dest: &mut I, stream: &Stream) -> CudaResult<()> {
        let dest = dest.as_mut();
        self.check_len(dest.len());
        let (to, from, stream) = (dest.as_mut_ptr().cast(), self.as_raw_ptr(), stream.as_inner());
        match self.size_in_bytes() {
            0 => Ok(()),
            // SAFETY: source and destination have `self.len()` elements each. The caller upholds
            // the rest of this function's safety contract.
            bytes => unsafe { driver::cuMemcpyDtoHAsync_v2(to, from, bytes, stream) },
        }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<Self> for DeviceSlice<T> {
    unsafe fn async_copy_from(&mut self, source: &Self, stream: &Stream) -> CudaResult<()> {
        self.check_len(source.len());
        let (to, from, stream) = (self.as_raw_ptr(), source.as_raw_ptr(), stream.as_inner());
        match self.size_in_bytes() {
            0 => Ok(()),
            // SAFETY: source and destination have `self.len()` elements each. The caller upholds
            // the rest of this function's safety contract.
            bytes => unsafe { driver::cuMemcpyDtoDAsync_v2(to, from, bytes, stream) },
        }
    }

    unsafe fn async_copy_to(&self, dest: &mut Self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: source and destination have `self.len()` elements each. The caller upholds the
        // rest of this function's safety contract.
        unsafe { dest.async_copy_from(self, stream) }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<DeviceBuffer<T>> for DeviceSlice<T> {
    unsafe fn async_copy_from(
        &mut self,
        source: &DeviceBuffer<T>,
        stream: &Stream,
    ) -> CudaResult<()> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.async_copy_from(source.as_slice(), stream) }
    }

    unsafe fn async_copy_to(&self, dest: &mut DeviceBuffer<T>, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.async_copy_to(&mut **dest, stream) }
    }
}
