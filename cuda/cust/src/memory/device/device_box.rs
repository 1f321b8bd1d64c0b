//! [`DeviceBox`], which owns one value in device memory.

use std::mem::{ManuallyDrop, MaybeUninit};
use std::slice;

use bytemuck::Zeroable;
use cust_raw::driver_sys as sys;

use super::{AsyncCopyDestination, CopyDestination, DeviceBuffer};
use crate::error::{CudaResult, DropResult};
use crate::memory::{DeviceCopy, DevicePointer, memcpy_dtoh};
use crate::stream::Stream;

/// A value of type `T` in device memory: a [`DeviceBuffer`] with one element. If `T` is zero-sized,
/// no memory is allocated and the address is null.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{CopyDestination, DeviceBox};
/// use cust::stream::{Stream, StreamFlags};
///
/// let _context = cust::quick_init()?;
/// let mut value = DeviceBox::new(&1.5)?;
/// value.copy_from(&2.5)?;
/// assert_eq!(value.as_host_value()?, 2.5);
/// assert_eq!(DeviceBox::<u32>::zeroed()?.as_host_value()?, 0);
///
/// // Ownership can pass to another library and back.
/// let address = value.as_device_ptr();
/// let pointer = DeviceBox::into_device(value);
/// assert_eq!(pointer, address);
/// // SAFETY: the pointers come from boxes that released their memory.
/// let value = unsafe {
///     let value = DeviceBox::from_device(pointer);
///     DeviceBox::<f64>::from_raw(DeviceBox::into_device(value).as_raw())
/// };
/// DeviceBox::drop(value).map_err(|(error, _)| error)?;
///
/// // In stream order:
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// // SAFETY: only the stream's work uses the boxes until it is done, and nothing reads the last
/// // two.
/// let boxes = unsafe {
///     [
///         DeviceBox::new_async(&7, &stream)?,
///         DeviceBox::zeroed_async(&stream)?,
///         DeviceBox::uninitialized_async(&stream)?,
///         DeviceBox::uninitialized()?,
///     ]
/// };
/// stream.synchronize()?;
/// assert_eq!((boxes[0].as_host_value()?, boxes[1].as_host_value()?), (7, 0));
/// for one in boxes {
///     one.drop_async(&stream)?;
/// }
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct DeviceBox<T: DeviceCopy>(DeviceBuffer<T>);

impl<T: DeviceCopy> DeviceBox<T> {
    /// Copies `value` to the device.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(value: &T) -> CudaResult<Self> {
        DeviceBuffer::from_slice(slice::from_ref(value)).map(Self)
    }

    /// Copies `value` to the device in stream order.
    ///
    /// # Safety
    /// Until the stream's work is done, `value` must stay alive and unchanged, and only work of the
    /// same stream may use the returned box.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub unsafe fn new_async(value: &T, stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { DeviceBuffer::from_slice_async(slice::from_ref(value), stream) }.map(Self)
    }

    /// Frees the memory after the work submitted to `stream` so far, without waiting for that work.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn drop_async(self, stream: &Stream) -> CudaResult<()> {
        self.0.drop_async(stream)
    }

    /// Copies the value to the host.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn as_host_value(&self) -> CudaResult<T> {
        let mut value = MaybeUninit::<T>::uninit();
        let to = value.as_mut_ptr().cast();
        // SAFETY: the device memory holds a valid `T`, and the copy initialises `value` with it.
        unsafe {
            memcpy_dtoh(to, self.as_device_ptr().as_raw(), size_of::<T>())?;
            Ok(value.assume_init())
        }
    }

    /// Allocates memory for one value and leaves its bytes undefined; on the CPU each byte is
    /// `0x7b`.
    ///
    /// # Safety
    /// The caller must write the value before anything reads it.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { DeviceBuffer::uninitialized(1) }.map(Self)
    }

    /// Allocates like [`uninitialized`](Self::uninitialized), but in stream order.
    ///
    /// # Safety
    /// The caller must write the value before anything reads it. Only work that `stream` runs after
    /// the allocation may use the value.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub unsafe fn uninitialized_async(stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { DeviceBuffer::uninitialized_async(1, stream) }.map(Self)
    }

    /// Takes ownership of the device memory at `pointer`.
    ///
    /// # Safety
    /// `pointer` must be the address that the driver returned for an allocation. The allocation
    /// must contain a valid `T`, and nothing else may free it.
    #[must_use]
    pub unsafe fn from_raw(pointer: sys::CUdeviceptr) -> Self {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { Self::from_device(DevicePointer::from_raw(pointer)) }
    }

    /// Takes ownership of the device memory at `pointer`.
    ///
    /// # Safety
    /// The requirements are the same as for [`from_raw`](Self::from_raw).
    #[must_use]
    pub unsafe fn from_device(pointer: DevicePointer<T>) -> Self {
        // SAFETY: the caller upholds this function's safety contract.
        Self(unsafe { DeviceBuffer::from_raw_parts(pointer, 1) })
    }

    /// Releases ownership of the allocation, which the caller must free.
    #[must_use]
    #[allow(clippy::wrong_self_convention, reason = "rust-cuda's name")]
    pub fn into_device(this: Self) -> DevicePointer<T> {
        ManuallyDrop::new(this).as_device_ptr()
    }

    /// Returns the address of the value.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.0.as_device_ptr()
    }

    /// Frees the memory and returns any error, which `Drop` would ignore.
    ///
    /// # Errors
    /// Returns the driver's error together with the box.
    pub fn drop(this: Self) -> DropResult<Self> {
        DeviceBuffer::drop(this.0).map_err(|(error, buffer)| (error, Self(buffer)))
    }
}

impl<T: DeviceCopy + Zeroable> DeviceBox<T> {
    /// Allocates one value and sets its bytes to zero.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn zeroed() -> CudaResult<Self> {
        DeviceBuffer::zeroed(1).map(Self)
    }

    /// Allocates one value and sets its bytes to zero, in stream order.
    ///
    /// # Safety
    /// Only work that `stream` runs after the allocation may use the returned box.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub unsafe fn zeroed_async(stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { DeviceBuffer::zeroed_async(1, stream) }.map(Self)
    }
}

impl<T: DeviceCopy> crate::private::Sealed for DeviceBox<T> {}

impl<T: DeviceCopy> CopyDestination<T> for DeviceBox<T> {
    fn copy_from(&mut self, value: &T) -> CudaResult<()> {
        self.0.copy_from(slice::from_ref(value))
    }

    fn copy_to(&self, value: &mut T) -> CudaResult<()> {
        self.0.copy_to(slice::from_mut(value))
    }
}

impl<T: DeviceCopy> CopyDestination<Self> for DeviceBox<T> {
    fn copy_from(&mut self, value: &Self) -> CudaResult<()> {
        self.0.copy_from(&value.0)
    }

    fn copy_to(&self, value: &mut Self) -> CudaResult<()> {
        self.0.copy_to(&mut value.0)
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<T> for DeviceBox<T> {
    unsafe fn async_copy_from(&mut self, value: &T, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.0.async_copy_from(slice::from_ref(value), stream) }
    }

    unsafe fn async_copy_to(&self, value: &mut T, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.0.async_copy_to(slice::from_mut(value), stream) }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<Self> for DeviceBox<T> {
    unsafe fn async_copy_from(&mut self, value: &Self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.0.async_copy_from(&value.0, stream) }
    }

    unsafe fn async_copy_to(&self, value: &mut Self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.0.async_copy_to(&mut value.0, stream) }
    }
}
