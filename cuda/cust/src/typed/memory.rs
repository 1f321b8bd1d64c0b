//! [`Memory`], an owned allocation of bytes in device memory.

use std::alloc::Layout;
use std::mem::ManuallyDrop;
use std::ptr;

use cuda_std::cpu::{self, POISON};
use cuda_std::launch::Place;
use cust_raw::driver_sys as sys;

use super::counters::{self, Token};
use super::error::{Check, DeviceError, ErrorKind};
use super::{Device, Kind, Stream};

/// The alignment in bytes of every allocation, and of every row of an image with the default pitch.
/// Textures need this alignment, and it is a multiple of the 128-byte cache line.
pub(crate) const ALIGN: usize = 256;

const OP: &str = "allocating device memory";

/// Returns the layout of an allocation of `bytes` bytes, rounded up to a multiple of [`ALIGN`].
fn layout(bytes: usize) -> Result<Layout, ErrorKind> {
    let rounded = bytes.checked_next_multiple_of(ALIGN).filter(|&bytes| bytes > 0);
    rounded.and_then(|rounded| Layout::from_size_align(rounded, ALIGN).ok()).ok_or_else(|| {
        let size =
            format!("{bytes} bytes; the size must be at least 1 byte and fit the address space");
        ErrorKind::ImpossibleSize(size)
    })
}

/// An owned allocation in device memory. All bytes are initially zero.
pub struct Memory {
    address: u64,
    layout: Layout,
    device: Device,
    counted: Option<Token>,
}

// SAFETY: the type owns its bytes, and Rust's borrow rules control access to them. On a GPU, the
// host only stores the address and never dereferences it.
unsafe impl Send for Memory {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates `bytes` bytes, rounded up to a multiple of [`ALIGN`], and sets them to zero.
    #[track_caller]
    pub(crate) fn zeroed(device: &Device, bytes: usize) -> Result<Self, DeviceError> {
        // On the CPU, new memory is zero.
        let memory = Self::allocated(device, bytes)?;
        if let Some(gpu) = device.gpu() {
            // SAFETY: `layout.size()` bytes at `address` were just allocated. The memset runs on the
            // null stream, for which other streams do not wait, so the second call waits for it.
            gpu.enter(OP, || unsafe {
                sys::cuMemsetD8_v2(memory.address, 0, memory.layout.size()).check(OP)?;
                sys::cuStreamSynchronize(ptr::null_mut()).check(OP)
            })?;
        }
        Ok(memory)
    }

    /// Allocates memory that must be written before it is read. On the CPU, each byte is [`POISON`].
    #[track_caller]
    pub(crate) fn uninitialized(device: &Device, bytes: usize) -> Result<Self, DeviceError> {
        let memory = Self::allocated(device, bytes)?;
        if device.gpu().is_none() {
            // SAFETY: the bytes were just allocated in host memory.
            unsafe { memory.pointer::<u8>().write_bytes(POISON, bytes) };
        }
        Ok(memory)
    }

    #[track_caller]
    fn allocated(device: &Device, bytes: usize) -> Result<Self, DeviceError> {
        let layout = layout(bytes).check(OP)?;
        let address = match device.kind() {
            Kind::Cpu(on_cpu) => {
                // Guards find faults of kernels, but mapping them takes longer than a short launch. A
                // debug build has them on both devices, because tests of kernels use both.
                let allocate = if on_cpu.simulates || cfg!(debug_assertions) {
                    cpu::memory::allocate
                } else {
                    cpu::memory::allocate_unguarded
                };
                let data = allocate(layout.size())
                    .map_err(|_| ErrorKind::OutOfHostMemory(bytes))
                    .check(OP)?;
                data.expose_provenance() as u64
            }
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                let mut address = 0;
                // SAFETY: the driver writes the address to a local variable.
                unsafe { sys::cuMemAlloc_v2(&raw mut address, layout.size()) }.check(OP)?;
                Ok(address)
            })?,
        };
        let counted = Some(Token::new(counters::Kind::DeviceBytes, layout.size()));
        Ok(Self { address, layout, device: device.clone(), counted })
    }

    /// Submits a write of zero to the first `bytes` bytes.
    ///
    /// # Safety
    /// The memory must have `bytes` bytes.
    #[track_caller]
    pub(super) unsafe fn clear(
        &mut self,
        stream: &Stream,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        const OP: &str = "clearing device memory";
        let (found, wanted) = (stream.device().place(), self.place());
        if found != wanted {
            return Err(DeviceError::new(OP, ErrorKind::WrongDevice { found, wanted }));
        }
        match self.device.kind() {
            Kind::Cpu(_) => {
                // SAFETY: the caller guarantees the size, and `self` is borrowed exclusively.
                unsafe { self.pointer::<u8>().write_bytes(0, bytes) };
                Ok(())
            }
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                // SAFETY: the caller guarantees the size. Freeing the memory first waits for the memset.
                unsafe { sys::cuMemsetD8Async(self.address, 0, bytes, stream.as_raw()) }.check(OP)
            }),
        }
    }

    /// Creates a `Memory` that owns the existing allocation of `bytes` bytes at `address`.
    ///
    /// # Safety
    /// The allocation must come from [`into_raw`](Self::into_raw) of a `Memory` of this device with
    /// the same number of bytes, or on a GPU from `cuMemAlloc` in the device's context. Nothing
    /// else may free the allocation.
    #[track_caller]
    pub(super) unsafe fn from_raw(
        device: &Device,
        address: u64,
        bytes: usize,
    ) -> Result<Self, DeviceError> {
        let layout = layout(bytes).check("taking over device memory")?;
        let counted = Some(Token::new(counters::Kind::DeviceBytes, layout.size()));
        Ok(Self { address, layout, device: device.clone(), counted })
    }

    /// Releases ownership of the allocation, which the caller must free.
    pub(super) fn into_raw(self) -> u64 {
        let mut memory = ManuallyDrop::new(self);
        drop(memory.counted.take());
        // SAFETY: `memory` is `ManuallyDrop`, so `device` is not dropped a second time.
        drop(unsafe { ptr::read(&raw const memory.device) });
        memory.address
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn place(&self) -> Place {
        self.device.place()
    }

    /// Returns the device address. On the CPU, it is the address of a host pointer whose provenance
    /// was exposed.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Returns a pointer to the first element, for views and for host access on the CPU.
    pub(super) fn pointer<T>(&self) -> *mut T {
        ptr::with_exposed_provenance_mut(self.address as usize)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match self.device.kind() {
            // SAFETY: the memory was allocated with this size, and nothing accesses it any longer.
            Kind::Cpu(_) => unsafe { cpu::memory::free(self.pointer(), self.layout.size()) },
            Kind::Cuda(cuda) => cuda.release(self.counted.as_mut(), || {
                // SAFETY: the memory was allocated in this context, and the driver waits for work
                // that uses the memory before it frees the memory.
                unsafe { sys::cuMemFree_v2(self.address) }
            }),
        }
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes on {}", self.layout.size(), self.device)
    }
}
