//! Untyped device memory: one allocation and its release.

use std::alloc::{self, Layout};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use cuda_std::launch::Place;
use cust_raw::driver_sys as sys;

use super::counters::{self, Token};
use super::error::{Check, DeviceError, ErrorKind};
use super::{Device, Kind};

/// The alignment of every allocation and of every row of an image. Textures need it, and it is a
/// multiple of the 128-byte cache line.
pub(super) const ALIGN: usize = 256;

/// Returns the layout of `bytes`, rounded up to [`ALIGN`].
fn layout(bytes: usize) -> Result<Layout, ErrorKind> {
    let rounded = bytes.checked_next_multiple_of(ALIGN).filter(|&bytes| bytes > 0);
    rounded
        .and_then(|rounded| Layout::from_size_align(rounded, ALIGN).ok())
        .ok_or_else(|| ErrorKind::ImpossibleSize(format!("{bytes} bytes")))
}

/// An allocation of bytes on a device, initially zero.
pub struct Memory {
    address: u64,
    layout: Layout,
    device: Device,
    counted: Option<Token>,
}

// SAFETY: plain bytes, accessed through `&self` or `&mut self` like other memory; on a GPU the
// address is a number.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates `bytes`, rounded up to [`ALIGN`], and sets them to zero.
    #[track_caller]
    pub(super) fn zeroed(device: &Device, bytes: usize) -> Result<Self, DeviceError> {
        const OP: &str = "allocating device memory";
        let layout = layout(bytes).check(OP)?;
        match device.kind() {
            Kind::Cpu { .. } => {
                // SAFETY: the layout is not empty.
                let data = NonNull::new(unsafe { alloc::alloc_zeroed(layout) })
                    .ok_or(ErrorKind::OutOfHostMemory(bytes))
                    .check(OP)?;
                let address = data.as_ptr().expose_provenance() as u64;
                Ok(Self { address, layout, device: device.clone(), counted: None })
            }
            Kind::Cuda(cuda) => cuda.enter(OP, || {
                let mut address = 0;
                // SAFETY: the address is written.
                unsafe { sys::cuMemAlloc_v2(&raw mut address, layout.size()) }.check(OP)?;
                let counted = Some(Token::new(counters::Kind::DeviceBytes, layout.size()));
                // From here on drop frees the memory if a call fails.
                let memory = Self { address, layout, device: device.clone(), counted };
                // SAFETY: the memory was just allocated. The null stream does not order other
                // streams after the memset, so the next call waits for it.
                unsafe {
                    sys::cuMemsetD8_v2(address, 0, layout.size()).check(OP)?;
                    sys::cuStreamSynchronize(ptr::null_mut()).check(OP)?;
                }
                Ok(memory)
            }),
        }
    }

    /// Takes ownership of an allocation of `bytes`.
    ///
    /// # Safety
    /// The allocation must come from [`into_raw`](Self::into_raw) of memory of this device with as
    /// many bytes, or on a GPU from `cuMemAlloc` in the device's context. Nothing else may free it.
    #[track_caller]
    pub(super) unsafe fn from_raw(
        device: &Device,
        address: u64,
        bytes: usize,
    ) -> Result<Self, DeviceError> {
        let layout = layout(bytes).check("taking over device memory")?;
        let counted = match device.kind() {
            Kind::Cpu { .. } => None,
            Kind::Cuda(_) => Some(Token::new(counters::Kind::DeviceBytes, layout.size())),
        };
        Ok(Self { address, layout, device: device.clone(), counted })
    }

    /// Releases ownership of the allocation; the caller frees it.
    pub(super) fn into_raw(self) -> u64 {
        let mut memory = ManuallyDrop::new(self);
        drop(memory.counted.take());
        // SAFETY: the field is read once; nothing drops it again.
        drop(unsafe { ptr::read(&raw const memory.device) });
        memory.address
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn place(&self) -> Place {
        self.device.place()
    }

    /// Returns the address in the device's address space; on the CPU an exposed pointer.
    pub(super) fn address(&self) -> u64 {
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
            // SAFETY: allocated with this layout.
            Kind::Cpu { .. } => unsafe { alloc::dealloc(self.pointer(), self.layout) },
            Kind::Cuda(cuda) => cuda.release(self.counted.as_mut(), || {
                // SAFETY: allocated in this context; the driver waits for work that uses it.
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
