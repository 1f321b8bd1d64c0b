//! Counts the bytes that Rust code holds on the heap, exactly.
//!
//! Resident memory moves in pages and with the allocator's moods, so that a leak of a few bytes a frame
//! takes hours to show in it. This shows it in seconds. The driver's own memory is not in it; that is
//! what resident memory is measured for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

static LIVE: AtomicI64 = AtomicI64::new(0);

/// Bytes on the heap now.
pub(crate) fn live() -> i64 {
    LIVE.load(Relaxed)
}

/// The system's allocator, counted.
struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

fn count(got: *mut u8, bytes: i64) -> *mut u8 {
    if !got.is_null() {
        LIVE.fetch_add(bytes, Relaxed);
    }
    got
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller vouches.
        count(unsafe { System.alloc(layout) }, layout.size() as i64)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller vouches.
        count(unsafe { System.alloc_zeroed(layout) }, layout.size() as i64)
    }

    unsafe fn dealloc(&self, data: *mut u8, layout: Layout) {
        // SAFETY: as the caller vouches.
        unsafe { System.dealloc(data, layout) };
        LIVE.fetch_sub(layout.size() as i64, Relaxed);
    }

    unsafe fn realloc(&self, data: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller vouches.
        count(unsafe { System.realloc(data, layout, size) }, size as i64 - layout.size() as i64)
    }
}
