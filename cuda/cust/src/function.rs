//! Kernels of a module, grid and block sizes, and [`launch!`](crate::launch).
//!
//! ```
//! use cust::function::{BlockSize, GridSize};
//!
//! assert_eq!(GridSize::x(4), 4.into());
//! assert_eq!(GridSize::xyz(4, 2, 3), (4, 2, 3).into());
//! assert_eq!(BlockSize::xy(32, 8), (32, 8).into());
//! ```

use std::thread;

use cust_raw::driver_sys as sys;

use crate::error::{CudaError, CudaResult};
use crate::module::Module;
use crate::typed::error::Check;
use crate::typed::module::NamedKernel;

/// The number of blocks of a grid along each axis.
pub type GridSize = Size;

/// The number of threads of a block along each axis.
pub type BlockSize = Size;

/// A size along three axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the axes")]
pub struct Size {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

impl Size {
    /// Creates a size of `x` along the x axis and 1 along the others.
    #[must_use]
    pub fn x(x: u32) -> Self {
        Self { x, y: 1, z: 1 }
    }

    /// Creates a size of `x` and `y` along their axes and 1 along the z axis.
    #[must_use]
    pub fn xy(x: u32, y: u32) -> Self {
        Self { x, y, z: 1 }
    }

    /// Creates a size of `x`, `y` and `z` along their axes.
    #[must_use]
    pub fn xyz(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }
}

impl From<u32> for Size {
    fn from(x: u32) -> Self {
        Self::x(x)
    }
}

impl From<(u32, u32)> for Size {
    fn from((x, y): (u32, u32)) -> Self {
        Self::xy(x, y)
    }
}

impl From<(u32, u32, u32)> for Size {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self::xyz(x, y, z)
    }
}

/// A kernel of a module.
pub struct Function<'a> {
    pub(crate) kernel: NamedKernel,
    pub(crate) module: &'a Module,
}

impl Function<'_> {
    /// Returns a launch shape that reaches the highest occupancy, as the smallest sufficient number
    /// of blocks and the number of threads per block. A block has at most `block_size_limit`
    /// threads; 0 means no limit. On the CPU, the shape is a block of up to 256 threads per core.
    pub fn suggested_launch_configuration(
        &self,
        dynamic_smem_size: usize,
        block_size_limit: BlockSize,
    ) -> CudaResult<(u32, u32)> {
        const OP: &str = "choosing a launch shape";
        let BlockSize { x, y, z } = block_size_limit;
        let limit = [x, y, z].into_iter().try_fold(1_u32, u32::checked_mul);
        let limit = limit.and_then(|limit| i32::try_from(limit).ok());
        let limit = limit.ok_or(CudaError::InvalidValue)?;
        match (self.kernel, self.module.device().gpu()) {
            (NamedKernel::Cuda(function), Some(gpu)) => Ok(gpu.enter(OP, || {
                let (mut grid, mut block) = (0, 0);
                let (grid_to, block_to) = (&raw mut grid, &raw mut block);
                let (function, shared) = (function.raw, dynamic_smem_size);
                // SAFETY: the module is alive, and the driver writes the results to local variables.
                unsafe {
                    sys::cuOccupancyMaxPotentialBlockSize(
                        grid_to, block_to, function, None, shared, limit,
                    )
                }
                .check(OP)?;
                Ok((grid.unsigned_abs(), block.unsigned_abs()))
            })?),
            (NamedKernel::Cpu(entry), _) => {
                let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
                let limit = if limit > 0 { limit.unsigned_abs() } else { u32::MAX };
                Ok((cores, entry.bounds.max_threads.min(256).min(limit)))
            }
            (NamedKernel::Cuda(_), None) => Err(CudaError::InvalidContext),
        }
    }
}

/// Launches a kernel by name:
/// `launch!(kernel<<<grid, block, dynamic_shared, stream>>>(arguments…))`.
///
/// `kernel` is a [`Function`], or `module.kernel` for the module's function of that name. Grid and
/// block are values that convert into [`GridSize`] and [`BlockSize`](crate::function::BlockSize). A
/// slice parameter of the kernel takes two arguments here, a device pointer and its length. The
/// macro evaluates to a [`CudaResult`](crate::error::CudaResult).
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cuda_std::prelude::*;
/// use cust::launch;
/// use cust::memory::DeviceBuffer;
/// use cust::module::Module;
/// use cust::stream::{Stream, StreamFlags};
///
/// #[kernel]
/// pub unsafe fn scale(factor: f32, data: &mut [f32]) {
///     if let Some(value) = data.get_mut(thread::index_1d() as usize) {
///         *value *= factor;
///     }
/// }
///
/// # const PTX: &str = ".version 7.0\n.target sm_75\n.visible .entry scale() { ret; }";
/// let _context = cust::quick_init()?;
/// let module = Module::from_ptx(PTX, &[])?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// let data = DeviceBuffer::from_slice(&[1.0_f32, 2.0, 3.0])?;
/// // SAFETY: the arguments match the kernel, which stays within its slice.
/// unsafe {
///     launch!(module.scale<<<1, 256, 0, stream>>>(2.0_f32, data.as_device_ptr(), data.len()))
/// }?;
/// stream.synchronize()?;
/// assert_eq!(data.as_host_vec()?, [2.0, 4.0, 6.0]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
///
/// # Safety
/// The call is unsafe. The number and types of the arguments must match the kernel's parameters,
/// device memory must live until the kernel is done, and the caller must meet the kernel's safety
/// requirements.
#[macro_export]
macro_rules! launch {
    ($module:ident . $function:ident <<<$grid:expr, $block:expr, $shared:expr, $stream:ident>>>( $($arg:expr),* $(,)? )) => {
        match $module.get_function(stringify!($function)) {
            Ok(function) => $crate::launch!(function<<<$grid, $block, $shared, $stream>>>( $($arg),* )),
            Err(error) => Err(error),
        }
    };
    ($function:ident <<<$grid:expr, $block:expr, $shared:expr, $stream:ident>>>( $($arg:expr),* $(,)? )) => {{
        fn is_device_copy<T: $crate::memory::DeviceCopy>(_value: T) {}
        if false {
            $(is_device_copy($arg);)*
        }
        $stream.launch(
            &$function,
            $grid,
            $block,
            $shared,
            &[$(::std::ptr::from_ref(&$arg).cast_mut().cast::<::std::ffi::c_void>()),*],
        )
    }};
}
