//! The allocator of kernels, if the feature `alloc` is enabled. A kernel can use `Vec`, `Box`, `String`
//! and the rest of the crate `alloc`. On the GPU, they allocate from the device's heap, which has 8 MB
//! unless the host changes `MallocHeapSize`. Each allocation takes a lock, so use the heap only for
//! data whose size is unknown before the launch. Memory that a kernel leaks stays allocated until the
//! module is unloaded. On the CPU, kernels use the program's own allocator.
//!
//! ```
//! # extern crate alloc;
//! use alloc::vec::Vec;
//! use cuda_std::prelude::*;
//!
//! #[kernel(dims(1))]
//! pub fn sums(out: SliceMut<u32>) {
//!     let i = thread::unique_1d();
//!     let below: Vec<u32> = (0..i.index()).collect();
//!     out.set(i, below.iter().sum());
//! }
//! ```

#[cfg(all(target_arch = "nvptx64", feature = "alloc"))]
pub use heap::{CUDAAllocator, GLOBAL_ALLOCATOR, free, malloc};

#[cfg(all(target_arch = "nvptx64", feature = "alloc"))]
mod heap {
    use core::alloc::{GlobalAlloc, Layout};
    use core::ffi::c_void;

    /// The alignment in bytes of every address that `malloc` returns.
    const ALIGN: usize = 16;

    unsafe extern "C" {
        /// Allocates from the device's heap. Returns null if the heap is full.
        ///
        /// # Safety
        /// There are no requirements.
        pub fn malloc(size: usize) -> *mut c_void;

        /// Frees an allocation.
        ///
        /// # Safety
        /// `ptr` must be null, or returned by [`malloc`] in the same context and not yet freed.
        pub fn free(ptr: *mut c_void);
    }

    /// A global allocator that uses the device's heap.
    #[derive(Debug, Clone, Copy)]
    pub struct CUDAAllocator;

    // SAFETY: `malloc` returns unused memory, aligned to 16 bytes. For a larger alignment, the
    // pointer moves up to the next aligned address, which is at least 16 bytes further. The 8 bytes
    // before that address store the original pointer.
    unsafe impl GlobalAlloc for CUDAAllocator {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if layout.align() <= ALIGN {
                // SAFETY: `malloc` has no precondition.
                return unsafe { malloc(layout.size()) }.cast();
            }
            // The sum cannot overflow, because a layout's size rounded up to its alignment fits an
            // `isize`.
            // SAFETY: `malloc` has no precondition.
            let original = unsafe { malloc(layout.size() + layout.align()) }.cast::<u8>();
            if original.is_null() {
                return original;
            }
            let ahead = layout.align() - original.addr() % layout.align();
            // SAFETY: `ahead` is at least 16 and at most the alignment, so `ahead` bytes and the
            // layout's size fit in the allocation.
            unsafe {
                let aligned = original.add(ahead);
                aligned.cast::<*mut u8>().sub(1).write(original);
                aligned
            }
        }

        unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
            // SAFETY: the caller guarantees that `alloc` returned `ptr` for this layout.
            unsafe {
                let original =
                    if layout.align() <= ALIGN { ptr } else { ptr.cast::<*mut u8>().sub(1).read() };
                free(original.cast());
            }
        }
    }

    /// The global allocator of every kernel crate.
    #[global_allocator]
    pub static GLOBAL_ALLOCATOR: CUDAAllocator = CUDAAllocator;
}
