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
///
/// ```
/// use cuda_std::launch::KERNELS;
/// use cuda_std::prelude::*;
///
/// #[kernel(dims(1))]
/// pub fn registered(value: f32, out: SliceMut<f32>) {
///     out.set(thread::unique_1d(), value);
/// }
///
/// let entry = KERNELS.iter().find(|entry| entry.name == "registered").unwrap();
/// // The value, and the pointer and the length of the slice.
/// assert_eq!(entry.params.iter().map(|param| param.size).collect::<Vec<_>>(), [4, 8, 4]);
/// ```
#[distributed_slice]
pub static KERNELS: [KernelEntry];

/// The size and alignment of one kernel parameter, in bytes.
///
/// ```
/// use cuda_std::launch::ParamLayout;
///
/// let layout = ParamLayout { size: size_of::<u64>(), align: align_of::<u64>() };
/// assert_eq!(layout, ParamLayout { size: 8, align: 8 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamLayout {
    /// The size in bytes, never zero.
    pub size: usize,
    /// The alignment in bytes.
    pub align: usize,
}

/// A kernel that the program can run on the CPU by name.
///
/// ```
/// use cuda_std::launch::{KERNELS, LaunchConfig};
/// use cuda_std::prelude::*;
///
/// #[kernel(launch_bounds(64), dims(1))]
/// pub fn by_name(out: SliceMut<u32>) {
///     out.set(thread::unique_1d(), 1);
/// }
///
/// let entry = KERNELS.iter().find(|entry| entry.name == "by_name").unwrap();
/// assert_eq!((entry.bounds.max_threads, entry.dims), (64, 1));
/// assert!(LaunchConfig::for_1d(100, 64).check_entry(entry).is_ok());
/// assert!(LaunchConfig::for_1d(100, 128).check_entry(entry).is_err());
/// ```
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
