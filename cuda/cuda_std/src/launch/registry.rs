//! Every kernel that is linked into the program, for launches by name on the CPU.
//!
//! rust-cuda's `launch!` knows a kernel by its name and passes untyped pointers to its parameters. On
//! a GPU the driver looks the name up in the PTX; on the CPU it is looked up here. `#[kernel]` adds
//! the entries, and a program has those of each kernel crate that it links. One line links a crate
//! that is used for nothing else: `use kernels as _;`.

use std::ffi::c_void;

use linkme::distributed_slice;

use super::LaunchBounds;

/// Every kernel that is linked into the program, in no particular order. Two packages may each have a
/// kernel of the same name.
#[distributed_slice]
pub static KERNELS: [KernelEntry];

/// Size and alignment of one kernel parameter, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamLayout {
    /// Its size, which is not zero.
    pub size: usize,
    /// Its alignment.
    pub align: usize,
}

/// A kernel that the program can run on the CPU by name.
#[derive(Clone, Copy, Debug)]
pub struct KernelEntry {
    /// Name of the entry in the PTX.
    pub name: &'static str,
    /// Name of the package that declares it.
    pub package: &'static str,
    /// Its launch bounds.
    pub bounds: LaunchBounds,
    /// Axes that grid and block may extend along.
    pub dims: u32,
    /// Its parameters in the PTX, in order.
    pub params: &'static [ParamLayout],
    /// Does one thread's work on the CPU, given pointers to the parameters as `cuLaunchKernel` takes
    /// them.
    ///
    /// # Safety
    /// - Called by [`cuda_cpu::launch`], with a shape that
    ///   [`LaunchConfig::check_entry`](super::LaunchConfig::check_entry) admits.
    /// - Each pointer is to a valid value of its parameter, and the memory that the parameters point
    ///   to lies on the host and is alive.
    /// - What the kernel itself asks for, where it is an `unsafe fn`.
    pub thread: unsafe fn(*const *const c_void),
}
