//! Sizes of shared memory, and with the feature `alloc` an allocator.
//!
//! With the feature a kernel uses `Vec`, `Box`, `String` and the rest of the crate `alloc`. On the GPU
//! they live on the device's heap, of 8 megabytes unless the host changes `MallocHeapSize`; an
//! allocation takes a lock, so it is for what cannot be sized before the launch. What a kernel leaks
//! stays until the module is unloaded. On the CPU it is the program's own allocator.

/// Bytes of dynamic shared memory that the launch gives each block.
#[inline(always)]
#[must_use]
pub fn dynamic_smem_size() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let bytes: u32;
        // SAFETY: reads a special register.
        unsafe {
            core::arch::asm!("mov.u32 {}, %dynamic_smem_size;", out(reg32) bytes,
                options(pure, nomem, nostack, preserves_flags));
        }
        bytes
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        cuda_cpu::shared_dynamic().bytes as u32
    }
}

/// Bytes of static and dynamic shared memory of each block, rounded up to what the GPU allocates.
///
/// The CPU counts static arrays from the moment that a thread of the block has reached them, in units
/// of 128 bytes.
#[inline(always)]
#[must_use]
pub fn total_smem_size() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let bytes: u32;
        // SAFETY: reads a special register.
        unsafe {
            core::arch::asm!("mov.u32 {}, %total_smem_size;", out(reg32) bytes,
                options(pure, nomem, nostack, preserves_flags));
        }
        bytes
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        cuda_cpu::shared_bytes().next_multiple_of(128) as u32
    }
}

#[cfg(all(target_arch = "nvptx64", feature = "alloc"))]
pub use heap::{CUDAAllocator, GLOBAL_ALLOCATOR, free, malloc};

#[cfg(all(target_arch = "nvptx64", feature = "alloc"))]
mod heap {
    use core::alloc::{GlobalAlloc, Layout};
    use core::ffi::c_void;

    /// The alignment of every allocation.
    const ALIGN: usize = 16;

    unsafe extern "C" {
        /// Allocates from the device's heap; null if that is full.
        ///
        /// # Safety
        /// None.
        pub fn malloc(size: usize) -> *mut c_void;

        /// Gives an allocation back.
        ///
        /// # Safety
        /// `ptr` is null or [`malloc`]'s, of the same context, and not freed before.
        pub fn free(ptr: *mut c_void);
    }

    /// The device's heap as Rust's allocator.
    #[derive(Debug, Clone, Copy)]
    pub struct CUDAAllocator;

    // SAFETY: `malloc` gives memory that nobody else has, aligned to 16 bytes. For more, the pointer moves
    // up to the next such address, which is at least 16 bytes on; the 8 before it keep the original.
    unsafe impl GlobalAlloc for CUDAAllocator {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if layout.align() <= ALIGN {
                // SAFETY: no precondition.
                return unsafe { malloc(layout.size()) }.cast();
            }
            // A layout's size, rounded up to its alignment, fits an `isize`: no overflow.
            // SAFETY: no precondition.
            let original = unsafe { malloc(layout.size() + layout.align()) }.cast::<u8>();
            if original.is_null() {
                return original;
            }
            let ahead = layout.align() - original.addr() % layout.align();
            // SAFETY: `ahead` is at least 16 and at most the alignment, so the allocation has it and
            // the size behind it.
            unsafe {
                let aligned = original.add(ahead);
                aligned.cast::<*mut u8>().sub(1).write(original);
                aligned
            }
        }

        unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
            // SAFETY: `ptr` is from `alloc` with this layout, as the caller vouches.
            unsafe {
                let original =
                    if layout.align() <= ALIGN { ptr } else { ptr.cast::<*mut u8>().sub(1).read() };
                free(original.cast());
            }
        }
    }

    /// The allocator of every kernel crate.
    #[global_allocator]
    pub static GLOBAL_ALLOCATOR: CUDAAllocator = CUDAAllocator;
}
