//! [`KernelInvocation`], which stores a kernel's launch shape and arguments to add them to a graph.

use std::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr;

use cust_raw::driver_sys as sys;

use crate::function::{BlockSize, Function, GridSize};
use crate::memory::DeviceCopy;

/// Creates a [`KernelInvocation`] with the syntax of [`launch!`](crate::launch):
/// `kernel_invocation!(kernel<<<grid, block, dynamic_shared, stream>>>(arguments…))`.
///
/// `kernel` is a [`Function`](crate::function::Function), or `module.kernel` for the module's
/// function of that name. The macro ignores the stream, because the launch of the graph specifies
/// the stream. The macro evaluates to a [`CudaResult`](crate::error::CudaResult).
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cuda_std::prelude::*;
/// use cust::kernel_invocation;
/// use cust::module::Module;
/// use cust::stream::{Stream, StreamFlags};
///
/// #[kernel]
/// pub fn wait(nanoseconds: u32) {
///     thread::nanosleep(nanoseconds);
/// }
///
/// # const PTX: &str = ".version 7.0\n.target sm_75\n.visible .entry wait() { ret; }";
/// let _context = cust::quick_init()?;
/// let module = Module::from_ptx(PTX, &[])?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// let wait = kernel_invocation!(module.wait<<<4, 32, 0, stream>>>(100_u32))?;
/// assert_eq!((wait.grid_dim, wait.block_dim), (4.into(), 32.into()));
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[macro_export]
macro_rules! kernel_invocation {
    ($module:ident . $function:ident <<<$grid:expr, $block:expr, $shared:expr, $stream:ident>>>( $($arg:expr),* $(,)? )) => {
        match $module.get_function(stringify!($function)) {
            Ok(function) => {
                $crate::kernel_invocation!(function<<<$grid, $block, $shared, $stream>>>( $($arg),* ))
            }
            Err(error) => Err(error),
        }
    };
    ($function:ident <<<$grid:expr, $block:expr, $shared:expr, $stream:ident>>>( $($arg:expr),* $(,)? )) => {
        $crate::error::CudaResult::Ok(
            $crate::graph::KernelInvocation::new(&$function, $grid, $block, $shared)
                $(.arg($arg))*
        )
    };
}

/// A kernel with its launch shape and arguments, for a node of a graph.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cuda_std::prelude::*;
/// use cust::graph::KernelInvocation;
/// use cust::module::Module;
///
/// #[kernel]
/// pub fn pause(nanoseconds: u32) {
///     thread::nanosleep(nanoseconds);
/// }
///
/// # const PTX: &str = ".version 7.0\n.target sm_75\n.visible .entry pause() { ret; }";
/// let _context = cust::quick_init()?;
/// let module = Module::from_ptx(PTX, &[])?;
/// let pause = KernelInvocation::new(&module.get_function("pause")?, 4, 32, 0).arg(100_u32);
/// assert_eq!(pause.shared_mem_bytes, 0);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Clone)]
pub struct KernelInvocation {
    /// The number of threads in a block.
    pub block_dim: BlockSize,
    /// The number of blocks in the grid.
    pub grid_dim: GridSize,
    /// The dynamic shared memory per block in bytes.
    pub shared_mem_bytes: u32,
    function: sys::CUfunction,
    params: Vec<Param>,
}

// SAFETY: any thread may use the function handle, and the arguments are plain data.
unsafe impl Send for KernelInvocation {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for KernelInvocation {}

impl KernelInvocation {
    /// Creates an invocation of `function` without arguments. [`arg`](Self::arg) appends an
    /// argument.
    pub fn new(
        function: &Function<'_>,
        grid: impl Into<GridSize>,
        block: impl Into<BlockSize>,
        shared_mem_bytes: u32,
    ) -> Self {
        Self {
            block_dim: block.into(),
            grid_dim: grid.into(),
            shared_mem_bytes,
            function: function.to_raw(),
            params: Vec::new(),
        }
    }

    /// Appends an argument. A value of a zero-sized type is skipped, because kernels have no
    /// parameter for it.
    #[must_use]
    pub fn arg<T: DeviceCopy>(mut self, value: T) -> Self {
        const {
            assert!(
                align_of::<T>() <= align_of::<Chunk>(),
                "the alignment must be at most 64 bytes"
            )
        };
        if size_of::<T>() > 0 {
            // SAFETY: `value` has `size_of::<T>()` bytes.
            self.params.push(unsafe { Param::copy((&raw const value).cast(), size_of::<T>()) });
        }
        self
    }

    /// Returns one pointer to each stored argument.
    pub(super) fn pointers(&self) -> Vec<*mut c_void> {
        self.params.iter().map(Param::pointer).collect()
    }

    /// Returns the driver's description of the launch. It contains raw pointers into `pointers` and
    /// `self`, so it must not be used after either is dropped.
    pub(super) fn raw(&self, pointers: &mut [*mut c_void]) -> sys::CUDA_KERNEL_NODE_PARAMS {
        sys::CUDA_KERNEL_NODE_PARAMS {
            func: self.function,
            gridDimX: self.grid_dim.x,
            gridDimY: self.grid_dim.y,
            gridDimZ: self.grid_dim.z,
            blockDimX: self.block_dim.x,
            blockDimY: self.block_dim.y,
            blockDimZ: self.block_dim.z,
            sharedMemBytes: self.shared_mem_bytes,
            kernelParams: pointers.as_mut_ptr(),
            extra: ptr::null_mut(),
        }
    }
}

impl fmt::Debug for KernelInvocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelInvocation")
            .field("function", &self.function)
            .field("grid_dim", &self.grid_dim)
            .field("block_dim", &self.block_dim)
            .field("shared_mem_bytes", &self.shared_mem_bytes)
            .field("arguments", &self.params.len())
            .finish()
    }
}

/// A copy of a kernel argument of any type, aligned to 64 bytes.
#[derive(Clone)]
pub(crate) struct Param(Box<[Chunk]>);

/// 64 bytes of a kernel argument. Bytes after the end of the argument are uninitialised.
#[repr(align(64))]
#[derive(Clone, Copy)]
pub(crate) struct Chunk(
    #[expect(dead_code, reason = "read through pointers")] [MaybeUninit<u8>; 64],
);

impl Param {
    /// The largest supported alignment of an argument in bytes.
    pub(crate) const ALIGN: usize = align_of::<Chunk>();

    /// Copies an argument of `size` bytes.
    ///
    /// # Safety
    /// `from` must be valid for reads of `size` bytes.
    pub(crate) unsafe fn copy(from: *const u8, size: usize) -> Self {
        let chunk = Chunk([MaybeUninit::uninit(); 64]);
        let mut chunks = vec![chunk; size.div_ceil(size_of::<Chunk>())].into_boxed_slice();
        // SAFETY: `chunks` has at least `size` bytes, and the caller guarantees that `from` is
        // valid for reads of `size` bytes.
        unsafe { ptr::copy_nonoverlapping(from, chunks.as_mut_ptr().cast(), size) };
        Self(chunks)
    }

    /// Returns the address of the argument. The pointer is `*mut` only because the driver's API
    /// requires that; kernels never write to it.
    pub(crate) fn pointer(&self) -> *mut c_void {
        self.0.as_ptr().cast_mut().cast()
    }
}
