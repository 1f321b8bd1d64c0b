//! Page-locked host memory. The driver copies between page-locked memory and a GPU without a
//! staging buffer, so asynchronous copies return immediately.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::slice;

use bytemuck::Pod;
use cust_raw::driver_sys as sys;

use super::counters::{self, Token};
use super::error::{Check, DeviceError, ErrorKind};
use super::{Device, Kind};

/// A buffer of `len` elements in page-locked host memory, initially zero. On the CPU device, the
/// memory is ordinary host memory.
///
/// ```
/// use cust::typed::{Device, Pinned};
///
/// let mut elements = Pinned::<u32>::new(&Device::cpu(), 3)?;
/// assert_eq!(elements[..], [0, 0, 0]);
/// elements.copy_from_slice(&[1, 2, 3]);
/// assert_eq!(elements.iter().sum::<u32>(), 6);
/// # Ok::<(), cust::typed::DeviceError>(())
/// ```
#[derive(Debug)]
pub struct Pinned<T> {
    storage: Storage,
    len: usize,
    element: PhantomData<T>,
}

#[derive(Debug)]
enum Storage {
    Plain(Box<[u128]>),
    Locked { data: *mut u8, device: Device, counted: Token },
}

// SAFETY: the buffer is the only owner of its memory. The bound `Pod` is enough without `Send`: safe code could make any
// value of a `Pod` type from bytes on the other thread.
unsafe impl<T: Pod> Send for Pinned<T> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl<T: Pod> Sync for Pinned<T> {}

impl<T: Pod> Pinned<T> {
    /// Allocates `len` zero elements for copies from and to `device`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::ImpossibleSize`] if the size is zero or exceeds the address space, or
    /// an error if the allocation fails.
    #[track_caller]
    pub fn new(device: &Device, len: usize) -> Result<Self, DeviceError> {
        const OP: &str = "allocating page-locked memory";
        const { assert!(align_of::<T>() <= 16) };
        let bytes = len
            .checked_mul(size_of::<T>())
            .filter(|&bytes| bytes > 0 && bytes <= isize::MAX as usize)
            .ok_or_else(|| {
                ErrorKind::ImpossibleSize(format!(
                    "{len} elements; the size must be at least 1 byte and fit the address space"
                ))
            })
            .check(OP)?;
        let storage = match device.kind() {
            Kind::Cpu { .. } => {
                let mut words = Vec::new();
                words
                    .try_reserve_exact(bytes.div_ceil(16))
                    .map_err(|_| ErrorKind::OutOfHostMemory(bytes))
                    .check(OP)?;
                words.resize(bytes.div_ceil(16), 0_u128);
                Storage::Plain(words.into_boxed_slice())
            }
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                let mut data = ptr::null_mut();
                // SAFETY: the driver writes the address to a local variable, and `write_bytes` sets
                // only bytes that the driver has just allocated.
                unsafe {
                    sys::cuMemHostAlloc(&raw mut data, bytes, 0).check(OP)?;
                    ptr::write_bytes(data.cast::<u8>(), 0, bytes);
                }
                let counted = Token::new(counters::Kind::PinnedBytes, bytes);
                Ok(Storage::Locked { data: data.cast(), device: device.clone(), counted })
            })?,
        };
        Ok(Self { storage, len, element: PhantomData })
    }
}

impl<T: Pod> Deref for Pinned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let data = match &self.storage {
            Storage::Plain(words) => words.as_ptr().cast(),
            Storage::Locked { data, .. } => data.cast_const(),
        };
        // SAFETY: `new` allocated `len` elements, set them to zero and aligned them to at least 16
        // bytes.
        unsafe { slice::from_raw_parts(data.cast(), self.len) }
    }
}

impl<T: Pod> DerefMut for Pinned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let data = match &mut self.storage {
            Storage::Plain(words) => words.as_mut_ptr().cast(),
            Storage::Locked { data, .. } => *data,
        };
        // SAFETY: `new` allocated `len` elements, set them to zero and aligned them to at least 16
        // bytes. `self` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(data.cast(), self.len) }
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if let Self::Locked { data, device, counted } = self
            && let Kind::Cuda(cuda) = device.kind()
        {
            // SAFETY: `new` allocated the memory, and it is freed only once. `release_idle` first
            // waits until no copy uses it.
            cuda.release_idle(counted, || unsafe { sys::cuMemFreeHost(data.cast()) });
        }
    }
}
