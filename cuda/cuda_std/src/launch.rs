//! Descriptions of kernels for the host: their arguments, their launch bounds, and the checks
//! before a launch.
//!
//! A typed launch fills in the struct that `#[kernel]` generates, which implements [`Kernel`]. A
//! launch by name looks up the kernel's [`KernelEntry`] in [`KERNELS`], where `#[kernel]` registers
//! every kernel that is linked into the program. The host crate performs the launch itself.
//!
//! ```
//! use cuda_std::launch::{Kernel, LaunchConfig};
//! use cuda_std::prelude::*;
//!
//! #[kernel(launch_bounds(256), dims(1))]
//! pub fn fill(value: u32, out: SliceMut<u32>) {
//!     out.set(thread::unique_1d(), value);
//! }
//!
//! let entry = Fill::ENTRY;
//! assert_eq!((entry.name, entry.bounds.max_threads, entry.dims), ("fill", 256, 1));
//! assert_eq!(LaunchConfig::for_1d(1000, 256).check::<Fill>(), Ok(()));
//! let error = LaunchConfig::for_1d(1000, 512).check::<Fill>().unwrap_err();
//! assert!(error.to_string().contains("over the kernel's launch bound of 256 threads"));
//! ```

mod pointer;
mod registry;

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use thiserror::Error;

pub use pointer::DevicePointer;
pub use registry::{KERNELS, KernelEntry, ParamLayout};

/// A kernel together with its arguments, one field each. `#[kernel]` implements this trait.
///
/// # Safety
/// - `ENTRY` must describe the kernel's entry in the PTX.
/// - `params` must return exactly the parameters of that entry.
pub unsafe trait Kernel {
    /// The kernel's name, bounds, parameters and functions on the CPU.
    const ENTRY: &'static KernelEntry;

    /// Returns the parameters in the form that the driver expects.
    fn params(&self) -> Params<'_>;
}

/// A kernel that is safe to launch: it is not an `unsafe fn` and takes no reference or raw pointer.
///
/// With any arguments of the right types, and any launch that [`LaunchConfig::check`] accepts, the
/// kernel stays within the memory of its arguments and its threads do not race. `#[kernel]` implements
/// the trait.
///
/// # Safety
/// The thread function must have no safety requirements, and all arguments must be copies or checked
/// handles such as `Slice`.
#[diagnostic::on_unimplemented(
    message = "the kernel of `{Self}` is an `unsafe fn`, or takes a reference or a pointer",
    label = "not safe to launch",
    note = "use `launch_unchecked` and guarantee the kernel's safety requirements"
)]
pub unsafe trait SafeKernel: Kernel {}

/// The launch bounds that a kernel was compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchBounds {
    /// The maximum number of threads per block.
    pub max_threads: u32,
    /// The number of blocks that must fit on a multiprocessor at once; 0 if unspecified.
    pub min_blocks: u32,
    /// The required divisor of the number of threads per block: 32 if the kernel needs whole warps,
    /// 1 if any number is allowed.
    pub block_multiple: u32,
}

/// The device that holds an argument's memory or runs a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The CPU device, which uses host memory.
    Cpu,
    /// The CUDA device with this ordinal.
    Cuda(u32),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}

/// The largest amount of dynamic shared memory in bytes that a block can have on any GPU (compute
/// capability 9.0).
const MAX_DYNAMIC_SHARED: u32 = 227 << 10;

/// The maximum number of parameters of a kernel; `#[kernel]` rejects more.
pub const MAX_PARAMS: usize = 128;

/// Kernel parameters in the form that the driver expects: a pointer to each.
///
/// The pointers point into the struct of the kernel's arguments. The driver reads the parameters
/// during the launch call, so the struct must not move before the call has returned.
#[derive(Debug)]
pub struct Params<'a> {
    pointers: [*mut c_void; MAX_PARAMS],
    len: usize,
    /// The first place of memory, and one that differs from it.
    places: [Option<Place>; 2],
    values: PhantomData<&'a ()>,
}

impl<'a> Params<'a> {
    /// Appends a parameter. Skips zero-sized values, which are not parameters.
    pub fn push<T: Copy>(&mut self, value: &'a T) {
        if size_of::<T>() == 0 {
            return;
        }
        self.pointers[self.len] = ptr::from_ref(value).cast_mut().cast();
        self.len += 1;
    }

    /// Records that a parameter refers to memory on `place`.
    pub fn refer_to(&mut self, place: Place) {
        match &mut self.places {
            [first @ None, _] => *first = Some(place),
            [Some(first), second] if *first != place => *second = Some(place),
            _ => {}
        }
    }

    /// Returns the device that holds the memory of all arguments. If it is on different devices, returns
    /// two of them.
    pub fn places(&self) -> impl Iterator<Item = Place> + use<> {
        self.places.into_iter().flatten()
    }

    /// Returns the list of pointers for the driver, which only reads the list.
    pub fn pointers(&mut self) -> &mut [*mut c_void] {
        &mut self.pointers[..self.len]
    }
}

impl Default for Params<'_> {
    fn default() -> Self {
        let pointers = [ptr::null_mut(); MAX_PARAMS];
        Self { pointers, len: 0, places: [None; 2], values: PhantomData }
    }
}

/// The shape of a launch and the size of its dynamic shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// The number of blocks along x, y and z.
    pub grid: [u32; 3],
    /// The number of threads per block along x, y and z.
    pub block: [u32; 3],
    /// The size of dynamic shared memory per block in bytes.
    pub dynamic_shared: u32,
}

impl LaunchConfig {
    /// Returns a grid of blocks of `block` threads that covers `width` × `height` elements, one per
    /// thread.
    ///
    /// If `width`, `height` or a number in `block` is 0, the grid is empty, and
    /// [`check`](Self::check) rejects it.
    pub const fn cover(width: u32, height: u32, block: [u32; 2]) -> Self {
        Self::for_3d([width, height, 1], [block[0], block[1], 1])
    }

    /// Returns a grid of blocks of `block` threads that covers `len` elements, one per thread.
    pub const fn for_1d(len: u32, block: u32) -> Self {
        Self::for_3d([len, 1, 1], [block, 1, 1])
    }

    /// Returns a grid of blocks of `block` threads that covers `size` elements per axis, one per
    /// thread.
    ///
    /// If a number in `size` or `block` is 0, the grid is empty, and [`check`](Self::check) rejects
    /// it.
    pub const fn for_3d(size: [u32; 3], block: [u32; 3]) -> Self {
        let mut grid = [0; 3];
        let mut axis = 0;
        while axis < 3 {
            grid[axis] = if block[axis] == 0 { 0 } else { size[axis].div_ceil(block[axis]) };
            axis += 1;
        }
        Self { grid, block, dynamic_shared: 0 }
    }

    /// Returns the same shape with `bytes` of dynamic shared memory.
    pub const fn with_dynamic_shared(self, bytes: u32) -> Self {
        Self { dynamic_shared: bytes, ..self }
    }

    /// Checks the shape against the launch bounds that `K` was compiled for and against CUDA's own
    /// limits.
    ///
    /// # Errors
    /// Returns the first limit that the shape exceeds.
    pub fn check<K: Kernel>(&self) -> Result<(), LaunchError> {
        self.check_entry(K::ENTRY)
    }

    /// Checks the shape like [`check`](Self::check), for a kernel found by name.
    pub fn check_entry(&self, entry: &KernelEntry) -> Result<(), LaunchError> {
        let KernelEntry { name, bounds, dims, .. } = *entry;
        let Self { grid, block, .. } = *self;
        let refuse = |reason: String| Err(LaunchError(format!("kernel `{name}`{reason}")));
        if grid.contains(&0) || block.contains(&0) {
            return refuse(format!(
                ": grid {grid:?} of blocks {block:?} has no threads; check the output size"
            ));
        }
        let threads = block.into_iter().fold(1, u32::saturating_mul);
        let limit = bounds.max_threads;
        if threads > limit || block[2] > 64 {
            return refuse(format!(
                ": a block of {block:?} threads is over the kernel's launch bound of {limit} threads, or over CUDA's limit of 64 along z; use a smaller block"
            ));
        }
        let multiple = bounds.block_multiple;
        if !threads.is_multiple_of(multiple) {
            return refuse(format!(
                ": a block of {block:?} has {threads} threads, but the kernel needs a multiple of {multiple}; round the block size up"
            ));
        }
        // Indices along an axis must not wrap, because two threads would then have the same index.
        let wraps = (0..3).any(|axis| grid[axis].checked_mul(block[axis]).is_none());
        if wraps || grid[0] > i32::MAX as u32 || grid[1] > 65535 || grid[2] > 65535 {
            return refuse(format!(
                ": a grid of {grid:?} blocks is over CUDA's limit of [2147483647, 65535, 65535], or has 2³² or more threads along an axis; split the work into several launches"
            ));
        }
        // Threads that differ only along an axis whose index the kernel does not read would race.
        if (dims as usize..3).any(|axis| grid[axis] > 1 || block[axis] > 1) {
            return refuse(format!(
                " works in {dims} dimensions, but grid {grid:?} of blocks {block:?} has more; set the grid and block sizes along the other axes to 1"
            ));
        }
        let (bytes, limit) = (self.dynamic_shared, MAX_DYNAMIC_SHARED);
        if bytes > limit {
            return refuse(format!(
                ": {bytes} bytes of dynamic shared memory are over the limit of {limit}; request less"
            ));
        }
        Ok(())
    }
}

/// The reason why a launch was rejected before it reached the driver.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct LaunchError(String);

impl LaunchError {
    /// Returns the error of a launch on `wanted` whose argument is on the device `found`.
    pub fn wrong_device(kernel: &str, found: Place, wanted: Place) -> Self {
        Self(format!(
            "kernel `{kernel}`: an argument is on {found}, but the stream runs on {wanted}; copy the argument to {wanted} first"
        ))
    }
}
