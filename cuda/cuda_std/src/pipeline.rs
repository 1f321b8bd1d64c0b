//! Asynchronous copies from global to shared memory, which need no registers and run while the
//! thread computes.
//!
//! [`View::memcpy_async`] and [`Slice::memcpy_async`] start a copy. [`commit`] combines the copies
//! that the thread has started since the last call into a group. [`wait_prior`] waits until at most
//! a given number of the thread's latest groups are in flight. Then a barrier makes the copies
//! visible to the other threads of the block. The names are those of CUDA C++'s pipeline
//! primitives.
//!
//! Before `sm_80`, GPUs have no asynchronous copy, and a copy is a load and a store.
//!
//! On the CPU, a copy fills its destination with [`POISON`](cuda_cpu::POISON) at once, and the data
//! arrives in `wait_prior`. The check `shared` treats the start and the arrival as stores, and the
//! bytes as unwritten in between. It therefore reports a thread that reads the destination before
//! the wait, or after it without a barrier, and a copy to memory that other threads still read.
//!
//! # Example
//! Each block adds tiles of 128 values. While it adds one tile, the next one is copied:
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::pipeline;
//!
//! const TILE: u32 = 128;
//!
//! /// Writes to element `t` of `sums` the sum of all elements of `values` whose index modulo 128 is
//! /// `t`.
//! #[kernel(launch_bounds(TILE), dims(1))]
//! pub unsafe fn sum_tiles(values: Slice<f32>, sums: SliceMut<f32>) {
//!     let tiles = shared_array![f32; 2 * TILE as usize];
//!     let t = thread::thread_idx_x();
//!     let count = values.len() / TILE;
//!     // Starts the copy of a tile. The group is empty after the last tile.
//!     let fetch = |tile: u32| {
//!         if tile < count {
//!             // SAFETY: the tile exists, and 4 bytes are aligned for any copy of an f32.
//!             unsafe { values.memcpy_async::<4>(tile * TILE + t, tiles, tile % 2 * TILE + t) };
//!         }
//!         pipeline::commit();
//!     };
//!     let mut sum = 0.0;
//!     fetch(0);
//!     for tile in 0..count {
//!         fetch(tile + 1);
//!         pipeline::wait_prior::<1>();
//!         // Each thread reads only what it has copied itself, so no barrier is needed.
//!         // SAFETY: the element exists, and no other thread writes it.
//!         sum += unsafe { tiles.load(tile % 2 * TILE + t) };
//!     }
//!     // SAFETY: the caller passes one block and an output of 128 elements.
//!     unsafe { sums.store(t, sum) };
//! }
//! ```

use bytemuck::Pod;

use crate::memory::Access;
use crate::{Shared, Slice, View};

/// Combines the copies that the thread has started since the last call into a group. A group may be
/// empty.
#[inline(always)]
pub fn commit() {
    #[cfg(target_feature = "compute_80")]
    // SAFETY: the instruction has no preconditions.
    unsafe {
        core::arch::asm!("cp.async.commit_group;", options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_cpu::commit_copies();
}

/// Waits until at most `N` of the thread's latest groups are in flight. The thread can then read
/// the copies of all earlier groups. Other threads can read them after a barrier.
#[inline(always)]
pub fn wait_prior<const N: usize>() {
    #[cfg(target_feature = "compute_80")]
    // SAFETY: the instruction has no preconditions.
    unsafe {
        core::arch::asm!("cp.async.wait_group {};", const N, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_cpu::wait_for_copies(N);
}

impl<T: Pod> Slice<T> {
    /// Starts an asynchronous copy of `BYTES` bytes, 4, 8 or 16, from the elements from `i` on to
    /// the elements of `to` from `first` on; see [`pipeline`](crate::pipeline). A copy of 16 bytes
    /// bypasses the L1 cache.
    ///
    /// # Safety
    /// - All elements must exist in both memories. The addresses of the first ones must be
    ///   multiples of `BYTES`.
    /// - No other thread may access the destination between the last barrier before this call and
    ///   the first barrier after the copy has arrived.
    /// - This thread may not access the destination until the copy has arrived.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn memcpy_async<const BYTES: usize>(&self, i: u32, to: Shared<T>, first: u32) {
        let count = elements::<BYTES, T>();
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            let _ = self.at(i.saturating_add(count - 1), Access::Load);
            start::<BYTES, T>(self.at(i, Access::Load), None, to, first);
        }
    }

    /// Starts a copy like [`memcpy_async`](Self::memcpy_async), but copies only the first `count`
    /// elements and sets the others to zero.
    ///
    /// # Safety
    /// The requirements are those of [`memcpy_async`](Self::memcpy_async), but only `count` elements
    /// of the source must exist. `count` must be at most the number of elements in `BYTES` bytes.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn memcpy_async_or_zero<const BYTES: usize>(
        &self,
        i: u32,
        count: u32,
        to: Shared<T>,
        first: u32,
    ) {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            if cfg!(not(target_arch = "nvptx64")) && count > 0 {
                let _ = self.at(i.saturating_add(count - 1), Access::Load);
            }
            start::<BYTES, T>(self.wrapping_at(i), Some(count), to, first);
        }
    }
}

impl<T: Pod> View<T> {
    /// Starts an asynchronous copy of `BYTES` bytes, 4, 8 or 16, from the elements of row `y` from
    /// column `x` on to the elements of `to` from `first` on; see [`pipeline`](crate::pipeline). A
    /// copy of 16 bytes bypasses the L1 cache.
    ///
    /// # Safety
    /// The requirements are those of [`Slice::memcpy_async`]. The source is aligned if rows are
    /// [aligned](View::is_aligned) to `BYTES` and column `x` is a multiple of the number of elements
    /// in `BYTES` bytes.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn memcpy_async<const BYTES: usize>(
        &self,
        x: u32,
        y: u32,
        to: Shared<T>,
        first: u32,
    ) {
        let count = elements::<BYTES, T>();
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            let _ = self.at(x.saturating_add(count - 1), y, Access::Load);
            start::<BYTES, T>(self.at(x, y, Access::Load), None, to, first);
        }
    }

    /// Starts a copy like [`memcpy_async`](Self::memcpy_async), but copies only the first `count`
    /// elements and sets the others to zero.
    ///
    /// # Safety
    /// The requirements are those of [`Slice::memcpy_async_or_zero`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn memcpy_async_or_zero<const BYTES: usize>(
        &self,
        x: u32,
        y: u32,
        count: u32,
        to: Shared<T>,
        first: u32,
    ) {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            if cfg!(not(target_arch = "nvptx64")) && count > 0 {
                let _ = self.at(x.saturating_add(count - 1), y, Access::Load);
            }
            start::<BYTES, T>(self.wrapping_at(x, y), Some(count), to, first);
        }
    }
}

/// Returns the number of elements in `BYTES` bytes.
const fn elements<const BYTES: usize, T>() -> u32 {
    assert!(BYTES == 4 || BYTES == 8 || BYTES == 16, "4, 8 or 16 bytes can be copied");
    assert!(BYTES.is_multiple_of(size_of::<T>()), "the copy must consist of whole elements");
    (BYTES / size_of::<T>()) as u32
}

/// Starts a copy of `BYTES` bytes. If `count` is given, only that many elements are copied, and the
/// others are set to zero.
///
/// # Safety
/// The requirements are those of [`Slice::memcpy_async`] or [`Slice::memcpy_async_or_zero`].
#[inline(always)]
#[track_caller]
unsafe fn start<const BYTES: usize, T: Pod>(
    from: *const T,
    count: Option<u32>,
    to: Shared<T>,
    first: u32,
) {
    const { elements::<BYTES, T>() };
    #[cfg(target_feature = "compute_80")]
    // SAFETY: the caller guarantees that the elements exist and are aligned.
    unsafe {
        gpu_start::<BYTES>(
            from.cast(),
            count.map(|count| count * size_of::<T>() as u32),
            to.shared_address(first),
        );
    }
    #[cfg(all(target_arch = "nvptx64", not(target_feature = "compute_80")))]
    // SAFETY: the caller guarantees that the elements exist and are aligned.
    unsafe {
        let count = count.unwrap_or(elements::<BYTES, T>());
        for i in 0..elements::<BYTES, T>() {
            let copied = i < count;
            let element = if copied {
                crate::memory::load_read_only(from.add(i as usize))
            } else {
                T::zeroed()
            };
            to.store(first + i, element);
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the source and the destination have been checked, and both outlive the launch.
    unsafe {
        let all = elements::<BYTES, T>();
        let count = count.unwrap_or(all).min(all);
        if count > 0 {
            crate::memory::check_aligned_to(from.addr(), BYTES, Access::Load);
        }
        let (region, offset) = to.range(first, all, BYTES, Access::Store);
        let bytes = count as usize * size_of::<T>();
        cuda_cpu::start_copy(from.cast(), bytes, region, offset, BYTES);
    }
}

/// Starts a copy of `BYTES` bytes, or of the first `bytes` bytes followed by zeros.
///
/// # Safety
/// - `from` must point to global memory, and `to` be an address in the shared space. Both must be
///   multiples of `BYTES`.
/// - The copied bytes must exist in both memories.
#[cfg(target_feature = "compute_80")]
#[inline(always)]
unsafe fn gpu_start<const BYTES: usize>(from: *const u8, bytes: Option<u32>, to: u64) {
    use core::arch::asm;
    // SAFETY: the caller upholds this function's safety contract. The instruction acts on one
    // thread, so the compiler may duplicate it in branches.
    unsafe {
        match (BYTES, bytes) {
            (16, None) => asm!("cp.async.cg.shared.global [{}], [{}], 16;",
                in(reg64) to, in(reg64) from, options(nostack)),
            (16, Some(bytes)) => asm!("cp.async.cg.shared.global [{}], [{}], 16, {};",
                in(reg64) to, in(reg64) from, in(reg32) bytes, options(nostack)),
            (_, None) => asm!("cp.async.ca.shared.global [{}], [{}], {};",
                in(reg64) to, in(reg64) from, const BYTES, options(nostack)),
            (_, Some(bytes)) => asm!("cp.async.ca.shared.global [{}], [{}], {}, {};",
                in(reg64) to, in(reg64) from, const BYTES, in(reg32) bytes, options(nostack)),
        }
    }
}
