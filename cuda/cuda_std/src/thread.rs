//! Thread indices, block barriers, memory fences and waits.
//!
//! On the CPU, the index functions and the barriers panic outside a launch.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cust::typed::{Buffer, Device, LaunchConfig};
//!
//! #[kernel(dims(1))]
//! pub fn indices(out: SliceMut<[u32; 2]>) {
//!     out.set(thread::unique_1d(), [thread::block_idx_x(), thread::thread_idx_x()]);
//! }
//!
//! let device = Device::cpu();
//! let stream = device.stream()?;
//! let mut out = Buffer::new(&device, 4)?;
//! stream.launch(&LaunchConfig::for_1d(4, 2), &Indices { out: out.view_mut() })?;
//! assert_eq!(out.download(&stream)?, [[0, 0], [0, 1], [1, 0], [1, 1]]);
//! # Ok::<(), cust::typed::DeviceError>(())
//! ```

mod sync;

use glam::{UVec2, UVec3};

pub use sync::{
    block_fence, device_fence, grid_fence, nanosleep, sync_threads, sync_threads_and,
    sync_threads_count, sync_threads_or, system_fence, wait_for_kernel_before,
};

/// Defines the functions that return indices and dimensions. A row has the function names for the
/// vector and for x, y and z, a description, the PTX functions, and the CPU function.
macro_rules! index_vectors {
    ($(
        $all:ident $x:ident $y:ident $z:ident: $what:literal,
        $ptx_x:ident $ptx_y:ident $ptx_z:ident, $cpu:ident;
    )+) => {$(
        #[doc = concat!("Returns the ", $what, " along x.")]
        #[inline(always)]
        pub fn $x() -> u32 {
            index_vectors!(@read $ptx_x, $cpu, 0)
        }
        #[doc = concat!("Returns the ", $what, " along y.")]
        #[inline(always)]
        pub fn $y() -> u32 {
            index_vectors!(@read $ptx_y, $cpu, 1)
        }
        #[doc = concat!("Returns the ", $what, " along z.")]
        #[inline(always)]
        pub fn $z() -> u32 {
            index_vectors!(@read $ptx_z, $cpu, 2)
        }
        #[doc = concat!("Returns the ", $what, " along x, y and z.")]
        #[inline(always)]
        pub fn $all() -> UVec3 {
            UVec3::new($x(), $y(), $z())
        }
    )+};
    (@read $ptx:ident, $cpu:ident, $axis:literal) => {{
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the function only reads a special register.
        unsafe { core::arch::nvptx::$ptx() as u32 }
        #[cfg(not(target_arch = "nvptx64"))]
        cuda_cpu::$cpu()[$axis]
    }};
}

index_vectors! {
    thread_idx thread_idx_x thread_idx_y thread_idx_z: "index of the thread in its block",
        _thread_idx_x _thread_idx_y _thread_idx_z, thread_idx;
    block_idx block_idx_x block_idx_y block_idx_z: "index of the block in the grid",
        _block_idx_x _block_idx_y _block_idx_z, block_idx;
    block_dim block_dim_x block_dim_y block_dim_z: "number of threads per block",
        _block_dim_x _block_dim_y _block_dim_z, block_dim;
    grid_dim grid_dim_x grid_dim_y grid_dim_z: "number of blocks in the grid",
        _grid_dim_x _grid_dim_y _grid_dim_z, grid_dim;
}

/// Returns the index of the thread in a one-dimensional grid.
#[inline(always)]
pub fn index_1d() -> u32 {
    block_idx_x() * block_dim_x() + thread_idx_x()
}

/// Returns the column and row of the thread in a two-dimensional grid.
#[inline(always)]
pub fn index_2d() -> UVec2 {
    UVec2::new(index_1d(), block_idx_y() * block_dim_y() + thread_idx_y())
}

/// Returns the indices of the thread in a three-dimensional grid.
#[inline(always)]
pub fn index_3d() -> UVec3 {
    index_2d().extend(block_idx_z() * block_dim_z() + thread_idx_z())
}

/// Returns the linear index of the thread in its grid. The threads of a block have consecutive
/// indices, ordered by [`rank`]. Blocks are ordered with x fastest.
#[inline(always)]
pub fn index() -> u32 {
    let (block, grid, dim) = (block_idx(), grid_dim(), block_dim());
    let block = (block.z * grid.y + block.y) * grid.x + block.x;
    block * (dim.x * dim.y * dim.z) + rank()
}

/// Returns an index along x that no other thread of the launch has.
///
/// In a launch that extends along y or z, this call ends the launch with a fault.
/// `#[kernel(dims(1))]` rejects such a launch in advance, so the GPU needs no check.
#[inline(always)]
pub fn unique_1d() -> crate::Unique1d {
    crate::Unique1d::current()
}

/// Returns a column and row that no other thread of the launch has.
///
/// In a launch that extends along z, this call ends the launch with a fault. `dims(2)`, the default
/// of a safe kernel, rejects such a launch in advance.
#[inline(always)]
pub fn unique_2d() -> crate::Unique2d {
    crate::Unique2d::current()
}

/// Returns the linear index of the thread in its block, with x fastest. Warp `n` holds ranks `32n`
/// to `32n + 31`.
#[inline(always)]
pub fn rank() -> u32 {
    (thread_idx_z() * block_dim_y() + thread_idx_y()) * block_dim_x() + thread_idx_x()
}
