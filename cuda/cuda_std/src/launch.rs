//! The host's view of kernels: their arguments, their bounds, and the checks before a launch.
//!
//! A typed launch fills in the struct that `#[kernel]` makes, which is a [`Kernel`]. A launch by
//! name finds the kernel's [`KernelEntry`] in [`KERNELS`], where `#[kernel]` puts every kernel that is
//! linked into the program. Launching itself is the host crate's work.

mod pointer;
mod registry;

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use thiserror::Error;

pub use pointer::DevicePointer;
pub use registry::{KERNELS, KernelEntry, ParamLayout};

/// A kernel together with its arguments, one field each. `#[kernel]` implements it.
///
/// # Safety
/// - `NAME` is the kernel's entry in the PTX, `BOUNDS` are the bounds written there.
/// - `params` yields exactly the parameters of that entry.
/// - `thread` runs the same function.
pub unsafe trait Kernel {
    /// Name of the entry in the PTX.
    const NAME: &'static str;
    /// Name of the package that declares it.
    const PACKAGE: &'static str;
    /// Its launch bounds.
    const BOUNDS: LaunchBounds;
    /// Axes that grid and block may extend along.
    const DIMS: u32;

    /// The parameters as the driver wants them.
    fn params(&self) -> Params<'_>;

    /// Where the memory behind each argument lies; plain values are left out.
    fn places(&self) -> impl Iterator<Item = Place>;

    /// Does one thread's work on the CPU.
    ///
    /// # Safety
    /// - Called by [`cuda_cpu::launch`], with all memory arguments on the host and alive. Its threads
    ///   share the kernel, which they only copy arguments out of.
    /// - What the kernel itself asks for, where it is an `unsafe fn`.
    unsafe fn thread(&self);
}

/// A kernel that is no `unsafe fn`: with any arguments of the right types, and any launch that
/// [`LaunchConfig::check`] admits, it stays within their memory and its threads do not race, so
/// launching it is safe.
#[diagnostic::on_unimplemented(
    message = "the kernel of `{Self}` is an `unsafe fn`, or takes a reference or a pointer",
    label = "not safe to launch",
    note = "launch it by `launch_unchecked`, whose caller vouches for what the kernel asks"
)]
pub trait SafeKernel: Kernel {}

/// Bounds that a kernel was compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchBounds {
    /// Most threads of a block.
    pub max_threads: u32,
    /// Blocks that must fit on a multiprocessor at once; 0 where nothing was asked.
    pub min_blocks: u32,
    /// The number of threads of a block is a multiple of this; 32 where warps must be whole.
    pub block_multiple: u32,
}

/// Where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Host memory, used by the CPU device.
    Cpu,
    /// Memory of the CUDA device with this ordinal.
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

/// Dynamic shared memory that a block can have on the largest GPU (compute capability 9.0).
const MAX_DYNAMIC_SHARED: u32 = 227 << 10;

/// Parameters that a kernel can have; `#[kernel]` refuses more.
pub const MAX_PARAMS: usize = 128;

/// Kernel parameters as the driver wants them, a pointer to each. It reads them when it launches, so they
/// stay where they are, in the kernel's arguments.
#[derive(Debug)]
pub struct Params<'a> {
    pointers: [*mut c_void; MAX_PARAMS],
    len: usize,
    values: PhantomData<&'a ()>,
}

impl<'a> Params<'a> {
    /// Appends a parameter; one of no size is not a parameter.
    pub fn push<T: Copy>(&mut self, value: &'a T) {
        if size_of::<T>() == 0 {
            return;
        }
        self.pointers[self.len] = ptr::from_ref(value).cast_mut().cast();
        self.len += 1;
    }

    /// The list for the driver, which only reads.
    pub fn pointers(&mut self) -> &mut [*mut c_void] {
        &mut self.pointers[..self.len]
    }
}

impl Default for Params<'_> {
    fn default() -> Self {
        Self { pointers: [ptr::null_mut(); MAX_PARAMS], len: 0, values: PhantomData }
    }
}

/// Shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
}

impl LaunchConfig {
    /// Blocks of `block` threads that cover `width` × `height` elements, one a thread.
    ///
    /// An empty block or extent gives an empty grid, which [`check`](Self::check) refuses.
    #[must_use]
    pub const fn cover(width: u32, height: u32, block: [u32; 2]) -> Self {
        Self::for_3d([width, height, 1], [block[0], block[1], 1])
    }

    /// Blocks of `block` threads that cover `len` elements, one a thread.
    #[must_use]
    pub const fn for_1d(len: u32, block: u32) -> Self {
        Self::for_3d([len, 1, 1], [block, 1, 1])
    }

    /// Blocks of `block` threads that cover `size` elements along each axis, one a thread.
    ///
    /// An empty block or extent gives an empty grid, which [`check`](Self::check) refuses.
    #[must_use]
    pub const fn for_3d(size: [u32; 3], block: [u32; 3]) -> Self {
        let mut grid = [0; 3];
        let mut axis = 0;
        while axis < 3 {
            grid[axis] = if block[axis] == 0 { 0 } else { size[axis].div_ceil(block[axis]) };
            axis += 1;
        }
        Self { grid, block, dynamic_shared: 0 }
    }

    /// The same with `bytes` of dynamic shared memory.
    #[must_use]
    pub const fn with_dynamic_shared(self, bytes: u32) -> Self {
        Self { dynamic_shared: bytes, ..self }
    }

    /// Checks the shape against the bounds that `K` was compiled for and CUDA's own limits.
    ///
    /// # Errors
    /// All of [`LaunchError`] but [`LaunchError::WrongDevice`].
    pub fn check<K: Kernel>(&self) -> Result<(), LaunchError> {
        self.check_bounds(K::NAME, K::BOUNDS, K::DIMS)
    }

    /// As [`check`](Self::check), for a kernel found by name.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_entry(&self, kernel: &KernelEntry) -> Result<(), LaunchError> {
        self.check_bounds(kernel.name, kernel.bounds, kernel.dims)
    }

    fn check_bounds(
        &self,
        kernel: &'static str,
        bounds: LaunchBounds,
        dims: u32,
    ) -> Result<(), LaunchError> {
        let Self { grid, block, .. } = *self;
        if grid.contains(&0) || block.contains(&0) {
            return Err(LaunchError::EmptyLaunch { kernel, grid, block });
        }
        let threads = block.into_iter().fold(1, u32::saturating_mul);
        let limit = bounds.max_threads;
        if threads > limit || block[2] > 64 {
            return Err(LaunchError::BlockTooLarge { kernel, block, limit });
        }
        let multiple = bounds.block_multiple;
        if !threads.is_multiple_of(multiple) {
            return Err(LaunchError::BlockNotMultiple { kernel, block, threads, multiple });
        }
        // Indices along an axis must not wrap: two threads would own one element.
        let wraps = (0..3).any(|axis| grid[axis].checked_mul(block[axis]).is_none());
        if wraps || grid[0] > i32::MAX as u32 || grid[1] > 65535 || grid[2] > 65535 {
            return Err(LaunchError::GridTooLarge { kernel, grid });
        }
        if (dims as usize..3).any(|axis| grid[axis] > 1 || block[axis] > 1) {
            return Err(LaunchError::TooManyDimensions { kernel, grid, block, dims });
        }
        let bytes = self.dynamic_shared;
        if bytes > MAX_DYNAMIC_SHARED {
            return Err(LaunchError::SharedTooLarge { kernel, bytes, limit: MAX_DYNAMIC_SHARED });
        }
        Ok(())
    }
}

/// A launch that was refused before the driver saw it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A dimension is zero.
    #[error(
        "kernel `{kernel}`: grid {grid:?} of blocks {block:?} has no threads; check the output size"
    )]
    EmptyLaunch {
        /// The kernel.
        kernel: &'static str,
        /// Blocks asked for.
        grid: [u32; 3],
        /// Threads of a block asked for.
        block: [u32; 3],
    },
    /// More threads in a block than the kernel was compiled for, or more along z than CUDA allows.
    #[error(
        "kernel `{kernel}`: a block of {block:?} threads is over its launch bound of {limit}, or over 64 along z; use a smaller block"
    )]
    BlockTooLarge {
        /// The kernel.
        kernel: &'static str,
        /// Threads of a block asked for.
        block: [u32; 3],
        /// The kernel's bound.
        limit: u32,
    },
    /// The block does not consist of whole warps, or of whole groups that the kernel works in.
    #[error(
        "kernel `{kernel}`: a block of {block:?} has {threads} threads, but the kernel needs a multiple of {multiple}; round the block up"
    )]
    BlockNotMultiple {
        /// The kernel.
        kernel: &'static str,
        /// Threads of a block asked for.
        block: [u32; 3],
        /// Their number.
        threads: u32,
        /// The number that it must be a multiple of.
        multiple: u32,
    },
    /// More blocks than CUDA allows.
    #[error(
        "kernel `{kernel}`: a grid of {grid:?} blocks is over CUDA's limit of [2147483647, 65535, 65535], or has over 2³² threads along an axis; launch it in parts"
    )]
    GridTooLarge {
        /// The kernel.
        kernel: &'static str,
        /// Blocks asked for.
        grid: [u32; 3],
    },
    /// Grid or block extends along an axis that the kernel does not look at: its threads would do
    /// the same work several times, and race.
    #[error(
        "kernel `{kernel}` works in {dims} dimensions, not in grid {grid:?} of blocks {block:?}; make the others 1"
    )]
    TooManyDimensions {
        /// The kernel.
        kernel: &'static str,
        /// Blocks asked for.
        grid: [u32; 3],
        /// Threads of a block asked for.
        block: [u32; 3],
        /// The kernel's dimensions.
        dims: u32,
    },
    /// More dynamic shared memory than any GPU has.
    #[error(
        "kernel `{kernel}`: {bytes} bytes of dynamic shared memory are over the limit of {limit}; use a smaller tile"
    )]
    SharedTooLarge {
        /// The kernel.
        kernel: &'static str,
        /// Bytes asked for.
        bytes: u32,
        /// What a block can have on the largest GPU.
        limit: u32,
    },
    /// An argument lies on another device than the stream.
    #[error(
        "kernel `{kernel}`: an argument lies on {found} but the stream runs on {wanted}; copy it there first"
    )]
    WrongDevice {
        /// The kernel.
        kernel: &'static str,
        /// Where the argument lies.
        found: Place,
        /// Where the kernel would run.
        wanted: Place,
    },
}

impl LaunchError {
    /// Checks that all memory of `kernel` lies on `wanted`.
    ///
    /// # Errors
    /// [`LaunchError::WrongDevice`].
    pub fn check_places<K: Kernel>(kernel: &K, wanted: Place) -> Result<(), Self> {
        match kernel.places().find(|&place| place != wanted) {
            Some(found) => Err(Self::WrongDevice { kernel: K::NAME, found, wanted }),
            None => Ok(()),
        }
    }
}
