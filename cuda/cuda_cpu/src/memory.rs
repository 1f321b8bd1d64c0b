//! Device memory of the CPU device: allocations between guard pages.
//!
//! An access beyond the end of an allocation hits a guard page, and is reported as an
//! [invalid address](crate::FaultKind::InvalidAddress). The end is rounded up to [`ALIGN`] bytes, and
//! the memory starts within a page, so an access that is off by less is not noticed. An access to
//! freed memory is noticed until the addresses are used again.
//!
//! Guards take two of the 65,530 memory mappings that Linux allows a process, which the stacks of
//! threads need, too: at most 8,192 allocations have guards.
//!
//! ```
//! use cuda_cpu::memory;
//!
//! let data = memory::allocate(1000)?;
//! // SAFETY: the allocation has 1000 bytes and is not used after `free`.
//! unsafe {
//!     data.add(999).write(7);
//!     memory::free(data, 1000);
//! }
//! # Ok::<(), std::io::Error>(())
//! ```

use std::alloc::{self, Layout};
use std::collections::BTreeMap;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The alignment of every allocation, equal to a GPU's.
pub const ALIGN: usize = 256;

/// The size in bytes of the guard at each end. It takes address space but no memory, so it is large
/// enough for an index that is wrong by a million.
const GUARD: usize = 8 << 20;

/// The distance in bytes from an allocation up to which a fault mentions it.
const NEAR: usize = 1 << 20;

/// The maximum number of allocations with guards at a time. Each takes two mappings.
const MAX_GUARDED: usize = 8 << 10;

/// The allocations, by address.
static ALLOCATIONS: Mutex<BTreeMap<usize, Allocation>> = Mutex::new(BTreeMap::new());

/// The number of allocations with guards.
static GUARDED: AtomicUsize = AtomicUsize::new(0);

/// A piece of memory that kernels use.
#[derive(Clone, Copy)]
struct Allocation {
    /// The requested size.
    bytes: usize,
    align: usize,
    /// The name in reports.
    what: &'static str,
    is_guarded: bool,
    /// The distance of the memory from the start of its block. 0 if it has guards.
    offset: usize,
}

impl Allocation {
    /// Returns the layout of the block that contains the memory if it has no guards.
    ///
    /// The layout requests an alignment of 1, because an allocator that has to align a block writes the zeros itself, and
    /// then one thread touches all memory pages. Otherwise, it takes new pages, which are zero.
    fn layout(&self) -> io::Result<Layout> {
        let bytes = self.bytes.checked_add(self.align).filter(|_| self.bytes > 0);
        let layout = bytes.and_then(|bytes| Layout::from_size_align(bytes, 1).ok());
        layout.ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}

fn allocations() -> MutexGuard<'static, BTreeMap<usize, Allocation>> {
    ALLOCATIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Allocates `bytes` bytes of zeros, aligned to [`ALIGN`]. [`free`] frees them.
///
/// # Errors
/// Returns the system's error, or [`io::ErrorKind::InvalidInput`] if `bytes` is 0 or larger than
/// the address space.
pub fn allocate(bytes: usize) -> io::Result<*mut u8> {
    allocate_as("an allocation", bytes, ALIGN)
}

/// Allocates memory like [`allocate`], but without guards. The system's allocator can use freed memory
/// again, so this takes less time.
///
/// # Errors
/// Returns the errors of [`allocate`].
pub fn allocate_unguarded(bytes: usize) -> io::Result<*mut u8> {
    let what = "an allocation";
    add(Allocation { bytes, align: ALIGN, what, is_guarded: false, offset: 0 }, ptr::null_mut())
}

/// Allocates memory like [`allocate`], with an alignment of at most [`ALIGN`], and a name for
/// reports.
pub(crate) fn allocate_as(what: &'static str, bytes: usize, align: usize) -> io::Result<*mut u8> {
    let mut allocation = Allocation { bytes, align, what, is_guarded: true, offset: 0 };
    allocation.layout()?;
    let has_room = GUARDED.fetch_add(1, Relaxed) < MAX_GUARDED;
    let guarded = has_room.then(|| map(bytes, align).ok()).flatten();
    allocation.is_guarded = guarded.is_some();
    if guarded.is_none() {
        GUARDED.fetch_sub(1, Relaxed);
    }
    add(allocation, guarded.unwrap_or(ptr::null_mut()))
}

/// Adds an allocation to the list. If it has no guards, allocates it from the system's allocator, and
/// otherwise it is at `guarded`.
fn add(mut allocation: Allocation, guarded: *mut u8) -> io::Result<*mut u8> {
    let layout = allocation.layout()?;
    let mut address = guarded;
    if !allocation.is_guarded {
        // SAFETY: the layout is not empty.
        let block = unsafe { alloc::alloc_zeroed(layout) };
        if block.is_null() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        allocation.offset = block.addr().next_multiple_of(allocation.align) - block.addr();
        // SAFETY: the block is larger than the memory by the alignment.
        address = unsafe { block.add(allocation.offset) };
    }
    allocations().insert(address.addr(), allocation);
    Ok(address)
}

/// Frees memory from [`allocate`].
///
/// # Safety
/// - `address` must come from `allocate` with the same number of bytes.
/// - Nothing may access the memory afterwards.
pub unsafe fn free(address: *mut u8, bytes: usize) {
    let Some(allocation) = allocations().remove(&address.addr()) else { return };
    debug_assert_eq!(allocation.bytes, bytes);
    // SAFETY: guaranteed by the caller; the memory comes from `map` or `alloc_zeroed`.
    unsafe {
        match allocation.layout() {
            _ if allocation.is_guarded => {
                GUARDED.fetch_sub(1, Relaxed);
                unmap(address, bytes, allocation.align);
            }
            Ok(layout) => alloc::dealloc(address.sub(allocation.offset), layout),
            Err(_) => {}
        }
    }
}

/// Returns whether an address is in the guard of an allocation. Returns `false` if the allocations
/// are being changed, because the caller is a signal handler.
pub(crate) fn is_guard(address: usize) -> bool {
    let Ok(allocations) = ALLOCATIONS.try_lock() else { return false };
    let guarded = |(_, allocation): &(&usize, &Allocation)| allocation.is_guarded;
    let mut below = allocations.range(..=address).rev();
    let mut above = allocations.range(address..);
    below.next().filter(guarded).is_some_and(|(start, allocation)| {
        (allocation.bytes..allocation.bytes + GUARD).contains(&(address - start))
    }) || above.next().filter(guarded).is_some_and(|(start, _)| start - address <= GUARD)
}

/// Describes the position of an address relative to the nearest allocation, if it is close.
pub(crate) fn near(address: usize) -> Option<String> {
    let allocations = allocations();
    let below = allocations.range(..=address).next_back().map(|(start, allocation)| {
        let (past, Allocation { bytes, what, .. }) = (address - start, allocation);
        let text = format!("{past} bytes after the start of {what} of {bytes} bytes");
        (past.saturating_sub(*bytes), text)
    });
    let above = allocations.range(address..).next().map(|(start, allocation)| {
        let (before, Allocation { bytes, what, .. }) = (start - address, allocation);
        (before, format!("{before} bytes before {what} of {bytes} bytes"))
    });
    let nearest = below.into_iter().chain(above).min_by_key(|(distance, _)| *distance);
    nearest.filter(|(distance, _)| *distance <= NEAR).map(|(_, text)| text)
}

/// Returns the size of a memory page in bytes.
fn page() -> usize {
    static PAGE: OnceLock<usize> = OnceLock::new();
    // SAFETY: `sysconf` only reads a constant.
    *PAGE.get_or_init(|| unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize)
}

/// Returns the number of bytes of the memory between the guards, and of the memory in use.
fn sizes(bytes: usize, align: usize) -> io::Result<[usize; 2]> {
    let used = bytes.checked_next_multiple_of(align);
    let between = bytes.checked_next_multiple_of(page());
    match (used, between) {
        (Some(used), Some(between)) if used > 0 && between < isize::MAX as usize / 2 => {
            Ok([between, used])
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Maps memory that ends at a guard.
fn map(bytes: usize, align: usize) -> io::Result<*mut u8> {
    let [between, used] = sizes(bytes, align)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping of memory without access, whose middle then becomes accessible.
    unsafe {
        let all = between + 2 * GUARD;
        let start = libc::mmap(ptr::null_mut(), all, libc::PROT_NONE, flags, -1, 0);
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let first = start.byte_add(GUARD);
        if libc::mprotect(first, between, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            let error = io::Error::last_os_error();
            libc::munmap(start, all);
            return Err(error);
        }
        Ok(first.byte_add(between - used).cast())
    }
}

/// Unmaps memory from [`map`].
///
/// # Safety
/// `address` must come from `map` with the same arguments.
unsafe fn unmap(address: *mut u8, bytes: usize, align: usize) {
    if let Ok([between, used]) = sizes(bytes, align) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let start = address.byte_sub(between - used).byte_sub(GUARD);
            libc::munmap(start.cast(), between + 2 * GUARD);
        }
    }
}
