//! Page-locked and unified host memory. The driver copies between page-locked memory and a GPU
//! without a staging buffer, so asynchronous copies return immediately.

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

// SAFETY: the buffer is the only owner of its memory. The bound `Pod` is enough without `Send`: safe code could make any
// value of a `Pod` type from bytes on the other thread.
unsafe impl<T: Pod> Send for Pinned<T> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl<T: Pod> Sync for Pinned<T> {}

impl<T: Pod> Pinned<T> {
    /// Allocates `len` zero elements for copies from and to `device`.
    #[track_caller]
    pub fn new(device: &Device, len: usize) -> Result<Self, DeviceError> {
        let storage = Storage::new::<T>(device, len, HostKind::Locked)?;
        Ok(Self { storage, len, element: PhantomData })
    }
}

impl<T: Pod> Deref for Pinned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `new` allocated `len` elements, set them to zero and aligned them.
        unsafe { slice::from_raw_parts(self.storage.data().cast(), self.len) }
    }
}

impl<T: Pod> DerefMut for Pinned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: `new` allocated `len` elements, set them to zero and aligned them. `self` is
        // borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.storage.data().cast(), self.len) }
    }
}

/// The kinds of host memory that a GPU can access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostKind {
    /// Page-locked memory.
    Locked,
    /// Memory whose pages the driver moves to the processor that accesses them.
    Unified,
}

/// An owned allocation in host memory, aligned to [`MAX_ALIGN`] and initially zero.
#[derive(Debug)]
pub(crate) struct Storage {
    data: *mut u8,
    owner: Owner,
}

#[derive(Debug)]
enum Owner {
    Plain(#[expect(dead_code, reason = "keeps the memory")] Vec<u128>),
    Driver { kind: HostKind, device: Device, counted: Token },
}

/// The largest alignment of elements in host memory, in bytes.
const MAX_ALIGN: usize = align_of::<u128>();

impl Storage {
    /// Allocates `len` elements of type `T`.
    #[track_caller]
    pub(crate) fn new<T>(device: &Device, len: usize, kind: HostKind) -> Result<Self, DeviceError> {
        const OP: &str = "allocating host memory";
        let bytes = len
            .checked_mul(size_of::<T>())
            .filter(|&bytes| bytes > 0 && bytes <= isize::MAX as usize)
            .filter(|_| align_of::<T>() <= MAX_ALIGN)
            .ok_or_else(|| {
                ErrorKind::ImpossibleSize(format!(
                    "{len} elements; the size must be at least 1 byte and fit the address space, \
                     and an element must be aligned to at most {MAX_ALIGN} bytes"
                ))
            })
            .check(OP)?;
        match device.kind() {
            Kind::Cpu(_) => {
                let mut words = Vec::new();
                words
                    .try_reserve_exact(bytes.div_ceil(16))
                    .map_err(|_| ErrorKind::OutOfHostMemory(bytes))
                    .check(OP)?;
                words.resize(bytes.div_ceil(16), 0_u128);
                Ok(Self { data: words.as_mut_ptr().cast(), owner: Owner::Plain(words) })
            }
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                let data = match kind {
                    HostKind::Locked => {
                        let mut data = ptr::null_mut();
                        // SAFETY: the driver writes the address to a local variable.
                        unsafe { sys::cuMemHostAlloc(&raw mut data, bytes, 0) }.check(OP)?;
                        data.cast::<u8>()
                    }
                    HostKind::Unified => {
                        let (mut address, global) = (0, sys::CU_MEM_ATTACH_GLOBAL);
                        // SAFETY: the driver writes the address to a local variable.
                        unsafe { sys::cuMemAllocManaged(&raw mut address, bytes, global) }
                            .check(OP)?;
                        ptr::with_exposed_provenance_mut(address as usize)
                    }
                };
                // SAFETY: the driver has just allocated the bytes, which the host may write.
                unsafe { data.write_bytes(0, bytes) };
                let counted = Token::new(counters::Kind::PinnedBytes, bytes);
                Ok(Self { data, owner: Owner::Driver { kind, device: device.clone(), counted } })
            }),
        }
    }

    pub(crate) fn data(&self) -> *mut u8 {
        self.data
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if let Owner::Driver { kind, device, counted } = &mut self.owner
            && let Kind::Cuda(cuda) = device.kind()
        {
            // SAFETY: `new` allocated the memory, and it is freed only once. `release_idle` first
            // waits until no copy uses it.
            cuda.release_idle(counted, || unsafe {
                match kind {
                    HostKind::Locked => sys::cuMemFreeHost(self.data.cast()),
                    HostKind::Unified => sys::cuMemFree_v2(self.data.addr() as u64),
                }
            });
        }
    }
}
