//! Products of matrices that are stored by rows.
//!
//! - [`simt`]: `f32`, on the ordinary arithmetic units.
//! - [`tensor_cores`]: `bf16` with sums in `f32`, on the tensor cores of Ampere and later GPUs.
//! - [`hopper`]: `bf16` with sums in `f32`, on the tensor cores of Hopper.
//!
//! All kernels have the same structure. A block computes one tile of the result. It walks along the
//! inner dimension in steps, and copies the next parts of both inputs to shared memory with
//! [`pipeline`](cuda_std::pipeline) while it multiplies the current parts. The sums stay in
//! registers until the end.
//!
//! An element of a tile of `m` rows and `n` columns is read `1 / m + 1 / n` times per product, so
//! large tiles need less bandwidth. The size of a tile is limited by the registers for its sums:
//! 128×256 sums take half of the registers of a multiprocessor.
//!
//! A tile can extend beyond the matrices. The kernels skip the elements there. A tile inside the
//! matrices runs a copy of the code without these checks. Rows must be aligned to 16 bytes.

#[macro_use]
mod unroll;

#[cfg(any(target_feature = "compute_90a", not(target_arch = "nvptx64")))]
pub mod hopper;
pub mod simt;
pub mod tensor_cores;
mod tile;
