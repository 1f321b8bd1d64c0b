//! The memory of shared arrays: between guard pages, so that a raw pointer beyond the end of an
//! array causes a fault instead of changing other memory.
//!
//! Mapping memory takes longer than running a small block, so an OS thread keeps the memory of its
//! blocks for later blocks, which usually have the same arrays.

use std::alloc::{Layout, handle_alloc_error};
use std::cell::RefCell;
use std::ptr::{self, NonNull};

use crate::{POISON, memory};

/// The alignment of a shared array.
pub(crate) const ALIGN: usize = 16;

/// The maximum number of arrays that an OS thread keeps.
const MAX_KEPT: usize = 16;

thread_local! {
    static KEPT: RefCell<Vec<Pages>> = const { RefCell::new(Vec::new()) };
}

/// Memory from [`memory::allocate_as`].
struct Pages {
    start: NonNull<u8>,
    bytes: usize,
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the memory comes from `allocate_as`, and its owner is gone.
        unsafe { memory::free(self.start.as_ptr(), self.bytes) };
    }
}

/// The memory of one shared array of one block, initially filled with [`POISON`].
pub(crate) struct Array(Option<Pages>);

impl Array {
    /// Takes memory that this OS thread has kept, or allocates it.
    pub(crate) fn new(bytes: usize) -> Self {
        if bytes == 0 {
            return Self(None);
        }
        let take = |kept: &RefCell<Vec<Pages>>| {
            let mut kept = kept.borrow_mut();
            let at = kept.iter().position(|pages| pages.bytes == bytes)?;
            Some(kept.swap_remove(at))
        };
        // `try_with` fails while thread-local destructors run.
        let pages = KEPT.try_with(take).ok().flatten().unwrap_or_else(|| Self::allocate(bytes));
        // SAFETY: the memory has this size, and nothing else uses it.
        unsafe { ptr::write_bytes(pages.start.as_ptr(), POISON, bytes) };
        Self(Some(pages))
    }

    fn allocate(bytes: usize) -> Pages {
        let start = memory::allocate_as("a shared array", bytes, ALIGN).ok().and_then(NonNull::new);
        match (start, Layout::from_size_align(bytes, ALIGN)) {
            (Some(start), _) => Pages { start, bytes },
            (None, Ok(layout)) => handle_alloc_error(layout),
            (None, Err(_)) => unreachable!("a block's shared memory is small"),
        }
    }

    /// Returns the first byte, aligned to [`ALIGN`] bytes.
    pub(crate) fn start(&self) -> *mut u8 {
        self.0.as_ref().map_or(ptr::without_provenance_mut(ALIGN), |pages| pages.start.as_ptr())
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        let Some(pages) = self.0.take() else { return };
        let _ = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.len() == MAX_KEPT {
                kept.swap_remove(0);
            }
            kept.push(pages);
        });
    }
}
