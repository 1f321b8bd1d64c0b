//! The device-side library for GPU kernels in Rust: indices, barriers, warps, shared and constant
//! memory, images, textures, atomics and fast arithmetic.
//!
//! Every device function has two implementations with the same semantics: PTX instructions when
//! compiled for `nvptx64-nvidia-cuda`, and the `cuda_cpu` crate otherwise. A kernel therefore also
//! runs on a machine without a GPU, where it can be tested. Names follow rust-cuda's crate of the
//! same name where that crate has an equivalent. Launch bounds, textures, read-only loads and CPU
//! execution are additions of this crate.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// Doubles every pixel of `out`.
//! #[kernel(launch_bounds(256, 4))]
//! pub fn double(input: View<f32>, out: ViewMut<f32>) {
//!     let at = thread::index_2d();
//!     if out.contains(at.x, at.y) && input.contains(at.x, at.y) {
//!         // SAFETY: the pixel is inside both images, and no other thread accesses it.
//!         unsafe { out.store(at.x, at.y, 2.0 * input.load(at.x, at.y)) };
//!     }
//! }
//! ```
//!
//! The feature `alloc` provides `Vec`, `Box` and `String` in kernels; see [`mem`]. The feature
//! `vek` re-exports the crate `vek`.
//!
//! This crate does not launch kernels. The host crate `cust` does, with the kernel descriptions in
//! [`launch`]. Tensor cores are in [`tensor`], and asynchronous copies in [`pipeline`]. Clusters and
//! the bulk copies of Hopper (TMA) are not available.
#![allow(clippy::duplicate_mod, reason = "`float/common` is compiled once for each type")]
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(
        abi_ptx,
        abi_unadjusted,
        asm_experimental_arch,
        const_type_name,
        core_float_math,
        core_intrinsics,
        linkage,
        link_llvm_intrinsics,
        stdarch_nvptx
    ),
    expect(
        internal_features,
        reason = "core_intrinsics is the only way to use LLVM's fma without libm"
    )
)]

extern crate self as cuda_std;

/// Runs one instruction that only operates on registers, and returns its result. The macro arguments
/// are the text, the register class and the type of the result, and those of the operands.
#[cfg(target_arch = "nvptx64")]
macro_rules! ptx {
    ($text:expr => $register:ident $type:ty $(, $class:ident $operand:expr)*) => {{
        let result: $type;
        // SAFETY: the instruction only operates on registers.
        unsafe {
            core::arch::asm!($text, out($register) result $(, in($class) $operand)*,
                options(pure, nomem, nostack, preserves_flags));
        }
        result
    }};
}

/// Implements `Copy` without the bounds on type parameters that `derive` adds.
macro_rules! copy {
    ([$($parameters:tt)*] $type:ty) => {
        impl<$($parameters)*> Clone for $type {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($parameters)*> Copy for $type {}
    };
}

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod arg;
pub mod atomic;
#[cfg(target_arch = "nvptx64")]
mod bytes;
mod constant;
mod dot;
pub mod float;
mod float_ext;
mod half_float;
#[cfg(not(target_arch = "nvptx64"))]
mod host_access;
mod image;
pub mod io;
#[cfg(not(target_arch = "nvptx64"))]
pub mod launch;
pub mod mem;
mod memory;
pub mod misc;
pub mod pipeline;
pub mod shared;
mod slice;
mod stamp;
pub mod tensor;
#[cfg(not(target_arch = "nvptx64"))]
mod texel;
mod texture;
pub mod thread;
mod unique;
pub mod warp;

pub use core::{assert_eq, assert_ne};
pub use half::{bf16, f16};
#[cfg(feature = "vek")]
pub use vek;
pub use {glam, half};

pub use cuda_std_macros::{KernelArg, address_space, device, kernel, shared_array};

pub use arg::{KernelArg, Table};
pub use constant::ConstantArray;
pub use dot::dp4a;
pub use float::{GpuFloat, GpuPower};
pub use float_ext::FloatExt;
pub use half_float::{GpuHalf, HalfArithmetic};
pub use image::{ColumnView, View, ViewMut};
pub use memory::LINE_BYTES;
pub use shared::Shared;
pub use slice::{Slice, SliceMut};
pub use texture::{Texture2d, TextureValue};
pub use unique::{SliceIndex, Unique1d, Unique2d};

#[cfg(not(target_arch = "nvptx64"))]
pub use {
    arg::DeviceTable,
    cuda_cpu as cpu,
    image::{DeviceView, DeviceViewMut},
    slice::{DeviceSlice, DeviceSliceMut},
    std::{print, println},
    texel::Texel,
    texture::DeviceTexture,
};

/// The items that most kernels use, for import with `use cuda_std::prelude::*`.
pub mod prelude {
    pub use crate::{
        ConstantArray, FloatExt, GpuFloat, GpuPower, KernelArg, Shared, Slice, SliceMut, Table,
        Texture2d, View, ViewMut, address_space, atomic, constant, device, dp4a, f16, kernel,
        print, println, shared, shared_array, thread, trap, warp,
    };

    #[cfg(feature = "alloc")]
    pub use alloc::{
        borrow::ToOwned,
        boxed::Box,
        format,
        rc::Rc,
        string::{String, ToString},
        vec,
        vec::Vec,
    };
}

/// Stops the kernel. On the GPU, the launch fails with a driver error. On the CPU, the launch
/// returns a [`FaultKind::Trap`](cuda_cpu::FaultKind::Trap) fault.
#[inline]
#[track_caller]
pub fn trap() -> ! {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: `trap` has no preconditions; it does not return.
    unsafe {
        core::arch::nvptx::trap()
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_cpu::fail(cuda_cpu::FaultKind::Trap { place: core::panic::Location::caller() })
}

/// Ends the launch with the message of a panic. Only kernels compiled with debug assertions call
/// this function. In other kernels, the compiler replaces every panic with a trap.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    if cfg!(debug_assertions) {
        io::fail(info);
    }
    trap()
}

/// Items that the macros' expansions use. They are not part of the public API.
#[doc(hidden)]
pub mod __private {
    pub use bytemuck;
    pub use cust_core::DeviceCopy;
    #[cfg(not(target_arch = "nvptx64"))]
    pub use linkme;
    #[cfg(target_arch = "nvptx64")]
    pub use {
        crate::bytes::COMPARISONS,
        crate::unique::assume_dims,
        core::arch::{asm, global_asm},
    };
}
