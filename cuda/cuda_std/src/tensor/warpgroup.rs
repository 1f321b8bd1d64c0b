//! Asynchronous products of a warpgroup: four warps whose tensor cores read both matrices from
//! shared memory (`wgmma`). Only Hopper has them, in code for `sm_90a`.
//!
//! [`mma_m16n8k16`](super::mma_m16n8k16) reads its inputs from registers, which limits it to about
//! two thirds of the rate that Hopper reaches with a warpgroup.
//!
//! A warpgroup consists of 128 consecutive threads of a block. The rank of the first one is a
//! multiple of 128. [`Product`] holds the sums of a warpgroup for 64 rows and 256 columns:
//!
//! 1. [`Product::add`] starts a product. Tensor cores then read both matrices from shared memory.
//! 2. [`Product::wait_prior`] waits until they have done so.
//! 3. [`Product::finish`] returns the sums.
//!
//! # Layout
//! In shared memory, a matrix consists of panels: 64 rows of 64 elements, aligned to 1024 bytes.
//! The groups of 8 elements in a row are permuted, so that rows start in different banks.
//! [`swizzled`] returns the position of an element in its panel.
//!
//! - A: one panel of 64 rows and 64 columns.
//! - B: four panels of 64 rows and 64 columns each, one after the other: columns 0–63, 64–127,
//!   128–191 and 192–255.
//!
//! [`Shared::aligned`] returns a part of an array that is aligned to 1024 bytes.
//!
//! # Order of memory accesses
//! A warpgroup reads shared memory through what PTX calls the async proxy. It sees the stores of a
//! thread only if that thread has called [`fence`] after them, and a barrier follows. The same is
//! true of asynchronous copies, after the thread has waited for them. The CPU does not report a
//! missing call.
//!
//! # Example
//! A block of one warpgroup multiplies two matrices:
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::bf16;
//! use cuda_std::tensor::warpgroup::{self, PANEL, Product};
//!
//! /// Writes the product of `a`, 64×64, and `b`, 64×256, to `c`, 64×256.
//! #[kernel(launch_bounds(128), block_multiple(128), dims(1))]
//! pub unsafe fn multiply(a: View<bf16>, b: View<bf16>, c: ViewMut<f32>) {
//!     // SAFETY: the caller passes matrices of these sizes, one block of 128 threads and shared
//!     // memory for five panels and 1024 bytes. Each thread writes its own elements.
//!     unsafe {
//!         let a_tile = shared::dynamic_shared_mem::<bf16>().aligned::<1024>();
//!         let b_tile = a_tile.tail(PANEL);
//!         let t = thread::thread_idx_x();
//!         for i in (t..64 * 64).step_by(128) {
//!             let (x, y) = (i % 64, i / 64);
//!             let at = warpgroup::swizzled(y, x);
//!             a_tile.store(at, a.load(x, y));
//!             for panel in 0..4 {
//!                 b_tile.store(panel * PANEL + at, b.load(panel * 64 + x, y));
//!             }
//!         }
//!         warpgroup::fence();
//!         thread::sync_threads();
//!         let mut product = Product::new();
//!         product.add(a_tile, b_tile);
//!         product.finish(|row, column, two| {
//!             c.store(column, row, two[0]);
//!             c.store(column + 1, row, two[1]);
//!         });
//!     }
//! }
//! ```

use core::marker::PhantomData;

use super::TensorElement;
use crate::{Shared, thread};

/// The number of elements in a panel.
pub const PANEL: u32 = 64 * 64;

/// The number of threads in a warpgroup.
pub const THREADS: u32 = 128;

/// Returns the position of an element in its panel; see [layout](self#layout).
#[inline(always)]
pub fn swizzled(row: u32, column: u32) -> u32 {
    let group = (column / 8) ^ (row % 8);
    row * 64 + group * 8 + column % 8
}

/// Makes the thread's earlier stores and arrived copies to shared memory visible to tensor cores,
/// after the next barrier; see [order](self#order-of-memory-accesses).
#[inline(always)]
pub fn fence() {
    #[cfg(target_feature = "compute_90")]
    // SAFETY: the instruction has no preconditions. It acts on one thread, so the compiler may
    // duplicate it in branches.
    unsafe {
        core::arch::asm!("fence.proxy.async.shared::cta;", options(nostack));
    }
}

/// The sums of a warpgroup for a part of the result with 64 rows and 256 columns.
#[derive(Debug)]
pub struct Product<T> {
    /// Element `4 j + 2 h + e` belongs to row `16 w + l / 4 + 8 h` and column `8 j + l % 4 · 2 + e`,
    /// for lane `l` of warp `w` of the warpgroup.
    sums: [f32; 128],
    #[cfg(not(target_arch = "nvptx64"))]
    in_flight: std::collections::VecDeque<cpu::Operands>,
    element: PhantomData<T>,
}

impl<T: TensorElement> Default for Product<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: TensorElement> Product<T> {
    /// Creates sums of zero.
    #[inline(always)]
    pub fn new() -> Self {
        Self {
            sums: [0.0; 128],
            #[cfg(not(target_arch = "nvptx64"))]
            in_flight: std::collections::VecDeque::new(),
            element: PhantomData,
        }
    }

    /// Starts to add the product of `a`, with 64 rows and 64 columns, and `b`, with 64 rows and 256
    /// columns, in the [layout](self#layout) of panels.
    ///
    /// Products are exact. The order and the rounding of the sums are those of the hardware.
    ///
    /// # Safety
    /// - All threads of the warpgroup must make the same call.
    /// - `a` must contain one panel and `b` four, aligned to 1024 bytes.
    /// - Until the product has been [waited](Self::wait_prior) for, no thread may write the panels.
    ///   After earlier writes, there must be a [`fence`] and a barrier.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn add(&mut self, a: Shared<T>, b: Shared<T>) {
        const {
            let has_it = cfg!(any(target_feature = "compute_90a", not(target_arch = "nvptx64")));
            assert!(has_it, "warpgroups need sm_90a: select it with `CudaBuilder::arch`");
        }
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller upholds this function's safety contract. `self.sums` is private, and
        // `finish` waits before it reads them.
        unsafe {
            let (a, b) = (a.shared_address(0), b.shared_address(0));
            T::multiply_panels(&mut self.sums, a, b);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        self.in_flight.push_back(cpu::Operands::new(a, b));
    }

    /// Waits until at most `N` of the warpgroup's latest products are in flight. The panels of all
    /// earlier products may then be written, after a barrier if they are shared with other
    /// warpgroups.
    ///
    /// # Safety
    /// All threads of the warpgroup must make the same call.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn wait_prior<const N: u64>(&mut self) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            gpu::wait_prior::<N>();
        }
        #[cfg(not(target_arch = "nvptx64"))]
        while self.in_flight.len() > N as usize {
            if let Some(operands) = self.in_flight.pop_front() {
                operands.multiply(&mut self.sums, T::widen);
            }
        }
    }

    /// Waits for all products and calls `write` for each pair of adjacent elements that this thread
    /// holds, with the row, the column of the first element and both values.
    ///
    /// # Safety
    /// All threads of the warpgroup must make the same call.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn finish(mut self, mut write: impl FnMut(u32, u32, [f32; 2])) {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.wait_prior::<0>() };
        #[cfg(target_arch = "nvptx64")]
        gpu::settle(&mut self.sums);
        let rank = thread::rank() % THREADS;
        let (row, column) = (rank / 32 * 16 + rank % 32 / 4, rank % 4 * 2);
        let halves: [[[f32; 2]; 2]; 32] = bytemuck::cast(self.sums);
        // The sums stay in registers only if all indices are constants.
        macro_rules! parts {
            ($($part:literal)+) => {$(
                let [upper, lower] = halves[$part];
                write(row, column + 8 * $part, upper);
                write(row + 8, column + 8 * $part, lower);
            )+};
        }
        parts!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        parts!(16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
    }
}

#[cfg(target_arch = "nvptx64")]
pub(super) mod gpu;

#[cfg(not(target_arch = "nvptx64"))]
mod cpu;
