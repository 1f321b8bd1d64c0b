//! Tensor cores: products of small matrices that the 32 lanes of a warp hold together.
//!
//! [`mma_m16n8k16`] adds the product of a 16×16 and a 16×8 matrix of [`bf16`] to a 16×8 matrix of
//! `f32`. [`load_matrices`] and [`load_matrices_transposed`] load 8×8 matrices from shared
//! memory in the layout that the product takes.
//!
//! All functions are warp operations, so they use LLVM intrinsics and never `asm!`, and each lane of
//! the warp must make the same call. On the CPU, the lanes exchange their elements.
//!
//! # Layout
//! An 8×8 matrix of 16-bit elements takes one [`Pair`] per lane: lane `i` holds columns `2(i % 4)`
//! and `2(i % 4) + 1` of row `i / 4`. Larger matrices consist of 8×8 matrices:
//!
//! | matrix | registers per lane | parts |
//! |---|---|---|
//! | A, 16×16 | 4 [`Pair`]s | rows 0–7 and columns 0–7; rows 8–15 and columns 0–7; rows 0–7 and columns 8–15; rows 8–15 and columns 8–15 |
//! | B, 16×8 | 2 [`Pair`]s | rows 0–7 transposed; rows 8–15 transposed |
//! | C and D, 16×8 | 4 `f32` | two columns of rows 0–7; two columns of rows 8–15 |
//!
//! # Example
//! One warp multiplies two matrices in shared memory. All matrices are stored by rows:
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::{bf16, tensor};
//!
//! /// Writes the product of `a`, 16×16, and `b`, 16×8, to `c`, 16×8.
//! #[kernel(launch_bounds(32), block_multiple(32), dims(1))]
//! pub unsafe fn multiply(a: Slice<bf16>, b: Slice<bf16>, c: SliceMut<f32>) {
//!     let (a_tile, b_tile) = (shared_array![bf16; 256], shared_array![bf16; 128]);
//!     let lane = warp::lane_id();
//!     // SAFETY: the caller passes matrices of these sizes and one warp. Each lane writes its own
//!     // elements, and a barrier is between the stores and the loads.
//!     unsafe {
//!         for i in 0..8 {
//!             a_tile.store(i * 32 + lane, a.load(i * 32 + lane));
//!         }
//!         for i in 0..4 {
//!             b_tile.store(i * 32 + lane, b.load(i * 32 + lane));
//!         }
//!         thread::sync_threads();
//!         let a = tensor::load_matrices(a_tile, lane % 16 * 16 + lane / 16 * 8);
//!         let b = tensor::load_matrices_transposed(b_tile, lane % 16 * 8);
//!         let [c0, c1, c2, c3] = tensor::mma_m16n8k16(a, b, [0.0; 4]);
//!         let at = lane / 4 * 8 + lane % 4 * 2;
//!         c.store(at, c0);
//!         c.store(at + 1, c1);
//!         c.store(at + 64, c2);
//!         c.store(at + 65, c3);
//!     }
//! }
//! ```

pub mod warpgroup;

use core::marker::PhantomData;

use bytemuck::Pod;
use half::bf16;

use crate::Shared;

/// Two adjacent 16-bit elements of a matrix in one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Pair<T> {
    bits: u32,
    element: PhantomData<T>,
}

impl<T: Pod> Pair<T> {
    /// Packs two elements.
    #[inline(always)]
    pub fn new(elements: [T; 2]) -> Self {
        const { assert!(size_of::<T>() == 2, "an element must have 16 bits") };
        Self::from_bits(bytemuck::cast(elements))
    }

    /// Returns the two elements.
    #[inline(always)]
    pub fn get(self) -> [T; 2] {
        const { assert!(size_of::<T>() == 2, "an element must have 16 bits") };
        bytemuck::cast(self.bits)
    }
}

impl<T> Pair<T> {
    #[inline(always)]
    fn from_bits(bits: u32) -> Self {
        Self { bits, element: PhantomData }
    }
}

/// A number that tensor cores multiply: [`bf16`].
///
/// The intrinsic for `f16` takes vectors of two halves, which rustc does not pass to functions on
/// this target.
pub trait TensorElement: Pod + sealed::Multiply {}
impl TensorElement for bf16 {}

/// Returns `a · b + c`, where `a` has 16×16, `b` has 16×8, and `c` has 16×8 elements; see
/// [layout](self#layout). The GPU must be `sm_80` or later.
///
/// Products are exact. The order and the rounding of the sums are those of the hardware, so a GPU
/// and the CPU may differ in the last bits. The CPU rounds once.
///
/// # Safety
/// All lanes of the warp must make the same call.
#[inline(always)]
#[track_caller]
pub unsafe fn mma_m16n8k16<T: TensorElement>(
    a: [Pair<T>; 4],
    b: [Pair<T>; 2],
    c: [f32; 4],
) -> [f32; 4] {
    const {
        let has_it = cfg!(any(target_feature = "compute_80", not(target_arch = "nvptx64")));
        assert!(
            has_it,
            "tensor cores for this shape need sm_80: select it with `CudaBuilder::arch`"
        );
    }
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { T::multiply(a.map(|pair| pair.bits), b.map(|pair| pair.bits), c) }
}

/// Loads `N` 8×8 matrices of 16-bit elements from shared memory, `N` being 1, 2 or 4.
///
/// Lane `i` passes the index `first` of the first element of row `i % 8` of matrix `i / 8`. A row is
/// eight adjacent elements. The index of lanes from `8 N` on is not used. The result has one
/// [`Pair`] per matrix, in the [layout](self#layout) of an 8×8 matrix. The GPU must be `sm_75` or
/// later.
///
/// # Safety
/// - All lanes of the warp must make the same call, each with the same array or a part of it.
/// - Each `first` that is used must be at most `len - 8`, and the address of its element must be a
///   multiple of 16.
/// - A barrier must separate this call from writes to the rows by other threads.
#[inline(always)]
#[track_caller]
pub unsafe fn load_matrices<const N: usize, T: Pod>(array: Shared<T>, first: u32) -> [Pair<T>; N] {
    const { assert!(size_of::<T>() == 2, "an element must have 16 bits") };
    const { assert!(N == 1 || N == 2 || N == 4, "1, 2 or 4 matrices can be loaded") };
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds this function's safety contract.
    return unsafe { gpu::load::<N, false>(array.shared_address(first)) }.map(Pair::from_bits);
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the reason is the same.
    unsafe {
        cpu::load(array, first, |lane| [(lane / 4, lane % 4 * 2), (lane / 4, lane % 4 * 2 + 1)])
    }
}

/// Loads like [`load_matrices`] and transposes each matrix: lane `i` receives rows `2(i % 4)` and
/// `2(i % 4) + 1` of column `i / 4`.
///
/// This is the layout of matrix B of a product, if B is stored by rows.
///
/// # Safety
/// The requirements are those of [`load_matrices`].
#[inline(always)]
#[track_caller]
pub unsafe fn load_matrices_transposed<const N: usize, T: Pod>(
    array: Shared<T>,
    first: u32,
) -> [Pair<T>; N] {
    const { assert!(size_of::<T>() == 2, "an element must have 16 bits") };
    const { assert!(N == 1 || N == 2 || N == 4, "1, 2 or 4 matrices can be loaded") };
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds this function's safety contract.
    return unsafe { gpu::load::<N, true>(array.shared_address(first)) }.map(Pair::from_bits);
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the reason is the same.
    unsafe {
        cpu::load(array, first, |lane| [(lane % 4 * 2, lane / 4), (lane % 4 * 2 + 1, lane / 4)])
    }
}

mod sealed {
    use super::bf16;

    pub trait Multiply: Sized {
        /// Multiplies matrices whose elements have this type; see
        /// [`mma_m16n8k16`](super::mma_m16n8k16).
        ///
        /// # Safety
        /// The requirements are those of [`mma_m16n8k16`](super::mma_m16n8k16).
        unsafe fn multiply(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4];

        /// Starts to add a product of matrices at addresses in the shared space; see
        /// [`Product::add`](super::warpgroup::Product::add).
        ///
        /// # Safety
        /// The requirements are those of [`Product::add`](super::warpgroup::Product::add). Until
        /// the product has been waited for, nothing may access `sums`.
        #[cfg(target_arch = "nvptx64")]
        unsafe fn multiply_panels(sums: &mut [f32; 128], a: u64, b: u64);

        /// Returns the number with these bits.
        #[cfg(not(target_arch = "nvptx64"))]
        fn widen(bits: u16) -> f32;
    }

    macro_rules! multiply {
        ($type:ty, $gpu:ident, $panels:ident) => {
            impl Multiply for $type {
                #[inline(always)]
                #[track_caller]
                unsafe fn multiply(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
                    #[cfg(target_arch = "nvptx64")]
                    // SAFETY: the caller upholds this function's safety contract.
                    return unsafe { super::gpu::$gpu(a, b, c) };
                    #[cfg(not(target_arch = "nvptx64"))]
                    super::cpu::multiply(a, b, c, Self::widen)
                }

                #[cfg(target_arch = "nvptx64")]
                #[inline(always)]
                unsafe fn multiply_panels(sums: &mut [f32; 128], a: u64, b: u64) {
                    // SAFETY: the caller upholds this function's safety contract.
                    unsafe { super::warpgroup::gpu::$panels(sums, a, b) };
                }

                #[cfg(not(target_arch = "nvptx64"))]
                fn widen(bits: u16) -> f32 {
                    Self::from_bits(bits).to_f32()
                }
            }
        };
    }
    multiply!(bf16, multiply_bf16, multiply_bf16);
}

#[cfg(target_arch = "nvptx64")]
mod gpu;

#[cfg(not(target_arch = "nvptx64"))]
mod cpu;
