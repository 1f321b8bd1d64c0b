//! [`DeviceBuffer`] and [`DeviceBox`], which own elements or one value in device memory.

use std::marker::PhantomData;
use std::slice;

use bytemuck::Zeroable;

use super::{AsyncCopyDestination, CopyDestination, DeviceCopy, DevicePointer, copy_now};
use crate::context::current;
use crate::error::{CudaError, CudaResult};
use crate::stream::Stream;
use crate::typed;
use crate::typed::memory::{ALIGN, Memory};
use crate::typed::rows::Side;

/// A buffer of `len` elements on a device. An empty buffer and a buffer of a zero-sized type have no
/// memory, and a null address.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::memory::{CopyDestination, DeviceBuffer};
///
/// let _context = cust::quick_init()?;
/// let mut buffer = DeviceBuffer::from_slice(&[1.0_f32, 2.0, 3.0])?;
/// assert_eq!((buffer.len(), buffer.as_host_vec()?), (3, vec![1.0, 2.0, 3.0]));
/// buffer.copy_from(&[4.0, 5.0, 6.0])?;
/// let mut values = [0.0; 3];
/// buffer.copy_to(&mut values)?;
/// assert_eq!(values, [4.0, 5.0, 6.0]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct DeviceBuffer<T: DeviceCopy> {
    memory: Option<Memory>,
    len: usize,
    element: PhantomData<T>,
}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Creates a buffer with the memory that `allocate` returns for its number of bytes.
    fn with(
        len: usize,
        allocate: fn(&typed::Device, usize) -> Result<Memory, typed::DeviceError>,
    ) -> CudaResult<Self> {
        let bytes = len.checked_mul(size_of::<T>()).filter(|_| align_of::<T>() <= ALIGN);
        let memory = match bytes.ok_or(CudaError::InvalidMemoryAllocation)? {
            0 => None,
            bytes => Some(allocate(&current()?, bytes)?),
        };
        Ok(Self { memory, len, element: PhantomData })
    }

    /// Allocates memory for `len` elements and leaves their bytes undefined; on the CPU each byte
    /// is `0x7b`.
    ///
    /// # Safety
    /// The caller must write the elements before anything reads them.
    pub unsafe fn uninitialized(len: usize) -> CudaResult<Self> {
        Self::with(len, Memory::uninitialized)
    }

    /// Allocates `len` elements and sets their bytes to zero.
    pub fn zeroed(len: usize) -> CudaResult<Self>
    where
        T: Zeroable,
    {
        Self::with(len, Memory::zeroed)
    }

    /// Copies `slice` to the device.
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        let mut made = Self::with(slice.len(), Memory::uninitialized)?;
        made.copy_from(slice)?;
        Ok(made)
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the buffer is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the address of the first element.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.memory.as_ref().map_or(0, Memory::address))
    }

    /// Copies the elements to the host.
    pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
        let mut elements = Vec::<T>::with_capacity(self.len);
        // SAFETY: `elements` has room for `self.len` elements, and the copy initialises all of them.
        unsafe {
            self.download(elements.as_mut_ptr())?;
            elements.set_len(self.len);
        }
        Ok(elements)
    }

    /// Copies the elements to `to` and waits.
    ///
    /// # Safety
    /// `to` must have room for `self.len` elements.
    unsafe fn download(&self, to: *mut T) -> CudaResult<()> {
        let Some(memory) = &self.memory else { return Ok(()) };
        // SAFETY: the memory has all elements. The caller guarantees the room at `to`.
        unsafe {
            let (from, to) = (Side::device(memory, 0, 0), Side::host(to.cast()));
            copy_now(memory.device(), from, to, self.len * size_of::<T>())
        }
    }

    #[track_caller]
    fn check_len(&self, len: usize) {
        let own = self.len;
        assert!(
            own == len,
            "a buffer of {own} elements cannot be copied from or to {len} elements"
        );
    }
}

impl<T: DeviceCopy, I: AsRef<[T]> + AsMut<[T]> + ?Sized> CopyDestination<I> for DeviceBuffer<T> {
    #[track_caller]
    fn copy_from(&mut self, source: &I) -> CudaResult<()> {
        let source = source.as_ref();
        self.check_len(source.len());
        let Some(memory) = &self.memory else { return Ok(()) };
        // SAFETY: source and destination have `self.len` elements each.
        unsafe {
            let from = Side::host(source.as_ptr().cast_mut().cast());
            copy_now(memory.device(), from, Side::device(memory, 0, 0), size_of_val(source))
        }
    }

    #[track_caller]
    fn copy_to(&self, dest: &mut I) -> CudaResult<()> {
        let dest = dest.as_mut();
        self.check_len(dest.len());
        // SAFETY: source and destination have `self.len` elements each.
        unsafe { self.download(dest.as_mut_ptr()) }
    }
}

impl<T: DeviceCopy, I: AsRef<[T]> + AsMut<[T]> + ?Sized> AsyncCopyDestination<I>
    for DeviceBuffer<T>
{
    #[track_caller]
    unsafe fn async_copy_from(&mut self, source: &I, stream: &Stream) -> CudaResult<()> {
        let source = source.as_ref();
        self.check_len(source.len());
        let Some(memory) = &self.memory else { return Ok(()) };
        let from = Side::host(source.as_ptr().cast_mut().cast());
        // SAFETY: source and destination have `self.len` elements each. The caller upholds the rest
        // of this function's safety contract.
        Ok(unsafe { stream.0.copy(from, Side::device(memory, 0, 0), size_of_val(source), 1) }?)
    }

    #[track_caller]
    unsafe fn async_copy_to(&self, dest: &mut I, stream: &Stream) -> CudaResult<()> {
        let dest = dest.as_mut();
        self.check_len(dest.len());
        let Some(memory) = &self.memory else { return Ok(()) };
        let to = Side::host(dest.as_mut_ptr().cast());
        // SAFETY: source and destination have `self.len` elements each. The caller upholds the rest
        // of this function's safety contract.
        Ok(unsafe { stream.0.copy(Side::device(memory, 0, 0), to, size_of_val(dest), 1) }?)
    }
}

/// A value in device memory: a [`DeviceBuffer`] with one element.
#[derive(Debug)]
pub struct DeviceBox<T: DeviceCopy>(DeviceBuffer<T>);

impl<T: DeviceCopy> DeviceBox<T> {
    /// Copies `value` to the device.
    pub fn new(value: &T) -> CudaResult<Self> {
        DeviceBuffer::from_slice(slice::from_ref(value)).map(Self)
    }

    /// Copies the value to the host.
    pub fn as_host_value(&self) -> CudaResult<T> {
        Ok(self.0.as_host_vec()?[0])
    }

    /// Returns the address of the value.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.0.as_device_ptr()
    }
}

impl<T: DeviceCopy> CopyDestination<T> for DeviceBox<T> {
    fn copy_from(&mut self, value: &T) -> CudaResult<()> {
        self.0.copy_from(slice::from_ref(value))
    }

    fn copy_to(&self, value: &mut T) -> CudaResult<()> {
        self.0.copy_to(slice::from_mut(value))
    }
}
