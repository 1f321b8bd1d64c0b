//! Counts the bytes that Rust code holds on the heap, exactly and at any time.
//!
//! Resident memory changes by whole pages and depends on the allocator, so it shows a leak of a few bytes per frame
//! only after hours. The count in this module shows such a leak within seconds. Unlike resident memory, the count does
//! not include the memory of the GPU driver.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

static LIVE: AtomicI64 = AtomicI64::new(0);

/// Returns the number of bytes that Rust code holds on the heap.
pub(crate) fn live() -> i64 {
    LIVE.load(Relaxed)
}

/// The system allocator with a byte counter.
struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

fn count(got: *mut u8, bytes: i64) -> *mut u8 {
    if !got.is_null() {
        LIVE.fetch_add(bytes, Relaxed);
    }
    got
}

// SAFETY: every call is forwarded unchanged to the system allocator.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`.
        count(unsafe { System.alloc(layout) }, layout.size() as i64)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc_zeroed`.
        count(unsafe { System.alloc_zeroed(layout) }, layout.size() as i64)
    }

    unsafe fn dealloc(&self, data: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `GlobalAlloc::dealloc`. `System` allocated `data`.
        unsafe { System.dealloc(data, layout) };
        LIVE.fetch_sub(layout.size() as i64, Relaxed);
    }

    unsafe fn realloc(&self, data: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `GlobalAlloc::realloc`. `System` allocated `data`.
        count(unsafe { System.realloc(data, layout, size) }, size as i64 - layout.size() as i64)
    }
}
