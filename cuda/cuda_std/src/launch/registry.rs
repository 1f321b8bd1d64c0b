//! The registry of all kernels that are linked into the program, for launches by name on the CPU.
//!
//! rust-cuda's `launch!` identifies a kernel by its name and passes untyped pointers to its
//! parameters. On a GPU, the driver looks up the name in the PTX. On the CPU, `cust` looks up the
//! name in [`KERNELS`]. `#[kernel]` adds the entries, so a program has an entry for each kernel of
//! the crates that it links. To link a kernel crate that the program does not otherwise use, write
//! `use kernels as _;`.

use std::ffi::c_void;

use linkme::distributed_slice;

use super::LaunchBounds;

/// All kernels that are linked into the program, in no particular order.
///
/// Two packages may each have a kernel of the same name.
#[distributed_slice]
pub static KERNELS: [KernelEntry];

/// The size and alignment of one kernel parameter, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamLayout {
    /// The size in bytes, never zero.
    pub size: usize,
    /// The alignment in bytes.
    pub align: usize,
}

/// A kernel that the program can run on the CPU by name.
#[derive(Clone, Copy, Debug)]
pub struct KernelEntry {
    /// The name of the entry in the PTX.
    pub name: &'static str,
    /// The name of the package that declares the kernel.
    pub package: &'static str,
    /// The kernel's launch bounds.
    pub bounds: LaunchBounds,
    /// The number of axes, counted from x, along which a launch may have more than one block or
    /// thread.
    pub dims: u32,
    /// The layouts of the PTX parameters, in order.
    pub params: &'static [ParamLayout],
    /// The function that runs one thread on the CPU. It takes pointers to the parameters, like
    /// `cuLaunchKernel`.
    ///
    /// # Safety
    /// - [`cuda_cpu::launch`] must call the function, with a shape that
    ///   [`LaunchConfig::check_entry`](super::LaunchConfig::check_entry) accepts.
    /// - Each pointer must point to a valid value of its parameter, and the memory that the
    ///   parameters point to must be valid host memory.
    /// - If the kernel is an `unsafe fn`, its own safety requirements must hold.
    pub thread: unsafe fn(*const *const c_void),
}
