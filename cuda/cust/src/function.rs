//! Kernels of a module, grid and block sizes, and [`launch!`](crate::launch).
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cuda_std::prelude::*;
//! use cust::function::FunctionAttribute;
//! use cust::module::Module;
//!
//! #[kernel(launch_bounds(128))]
//! pub fn work(input: Slice<f32>) {}
//!
//! # const PTX: &str = ".version 7.0\n.target sm_75\n.visible .entry work() { ret; }";
//! let _context = cust::quick_init()?;
//! let module = Module::from_ptx(PTX, &[])?;
//! let function = module.get_function("work")?;
//! assert_eq!(function.get_attribute(FunctionAttribute::MaxThreadsPerBlock)?, 128);
//! # Ok::<(), cust::error::CudaError>(())
//! ```

use std::marker::PhantomData;

use cust_raw::driver_sys as sys;
use glam::{USizeVec2, USizeVec3, UVec2, UVec3};

use crate::driver;
use crate::error::{CudaError, CudaResult};
use crate::module::Module;

/// Defines a type for a size along three axes, and conversions from numbers, tuples and vectors.
macro_rules! size {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name {
            /// The size along x.
            pub x: u32,
            /// The size along y.
            pub y: u32,
            /// The size along z.
            pub z: u32,
        }

        impl $name {
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

        impl From<u32> for $name {
            fn from(x: u32) -> Self {
                Self::x(x)
            }
        }

        impl From<(u32, u32)> for $name {
            fn from((x, y): (u32, u32)) -> Self {
                Self::xy(x, y)
            }
        }

        impl From<(u32, u32, u32)> for $name {
            fn from((x, y, z): (u32, u32, u32)) -> Self {
                Self::xyz(x, y, z)
            }
        }

        impl From<&$name> for $name {
            fn from(size: &Self) -> Self {
                *size
            }
        }

        impl From<UVec2> for $name {
            fn from(size: UVec2) -> Self {
                Self::xy(size.x, size.y)
            }
        }

        impl From<UVec3> for $name {
            fn from(size: UVec3) -> Self {
                Self::xyz(size.x, size.y, size.z)
            }
        }

        impl From<USizeVec2> for $name {
            fn from(size: USizeVec2) -> Self {
                let [x, y] = size.to_array().map(saturated);
                Self::xy(x, y)
            }
        }

        impl From<USizeVec3> for $name {
            fn from(size: USizeVec3) -> Self {
                let [x, y, z] = size.to_array().map(saturated);
                Self::xyz(x, y, z)
            }
        }
    };
}

/// Converts to `u32`. A larger number becomes `u32::MAX`, and a launch with that size fails.
fn saturated(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

size! {
    /// The number of blocks of a grid along each axis.
    ///
    /// ```
    /// use cust::function::GridSize;
    ///
    /// assert_eq!(GridSize::x(4), 4.into());
    /// assert_eq!(GridSize::xy(4, 2), (4, 2).into());
    /// assert_eq!(GridSize::xyz(4, 2, 3), (4, 2, 3).into());
    /// ```
    GridSize
}
size! {
    /// The number of threads of a block along each axis.
    ///
    /// ```
    /// use cust::function::BlockSize;
    ///
    /// assert_eq!(BlockSize::x(256), 256.into());
    /// assert_eq!(BlockSize::xy(32, 8), (32, 8).into());
    /// assert_eq!(BlockSize::xyz(8, 8, 4), (8, 8, 4).into());
    /// ```
    BlockSize
}

/// A kernel property with an integer value.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cuda_std::prelude::*;
/// use cust::function::FunctionAttribute;
/// use cust::module::Module;
///
/// #[kernel(launch_bounds(64))]
/// pub fn narrow(input: Slice<f32>) {}
///
/// # const PTX: &str = ".version 7.0\n.target sm_75\n.visible .entry narrow() { ret; }";
/// let _context = cust::quick_init()?;
/// let module = Module::from_ptx(PTX, &[])?;
/// let narrow = module.get_function("narrow")?;
/// assert_eq!(narrow.get_attribute(FunctionAttribute::MaxThreadsPerBlock)?, 64);
/// println!("{} registers", narrow.get_attribute(FunctionAttribute::NumRegisters)?);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[repr(u32)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionAttribute {
    /// The maximum number of threads per block.
    MaxThreadsPerBlock = 0,
    /// The static shared memory per block in bytes.
    SharedMemorySizeBytes = 1,
    /// The constant memory that the kernel uses, in bytes.
    ConstSizeBytes = 2,
    /// The local memory per thread in bytes.
    LocalSizeBytes = 3,
    /// The number of registers per thread.
    NumRegisters = 4,
    /// The virtual architecture that the PTX was compiled for, such as 75 for `compute_75`.
    PtxVersion = 5,
    /// The GPU architecture that the machine code was compiled for, such as 75 for `sm_75`.
    BinaryVersion = 6,
    /// 1 if the kernel was compiled with the option to cache global loads in L1, and 0 otherwise.
    CacheModeCa = 7,
}

/// A kernel of a module.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cuda_std::prelude::*;
/// use cust::module::Module;
///
/// #[kernel(launch_bounds(256))]
/// pub fn blur(input: Slice<f32>) {}
///
/// # const PTX: &str = ".version 7.0\n.target sm_75\n.visible .entry blur() { ret; }";
/// let _context = cust::quick_init()?;
/// let module = Module::from_ptx(PTX, &[])?;
/// let mut blur = module.get_function("blur")?;
/// assert!(!blur.to_raw().is_null());
///
/// // The launch shape with the highest occupancy, with blocks of at most 128 threads.
/// let (blocks, threads) = blur.suggested_launch_configuration(0, 128.into())?;
/// assert!(blocks >= 1 && threads <= 128);
/// blur.set_max_dynamic_shared_size_bytes(96 << 10)?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Function<'a> {
    inner: sys::CUfunction,
    module: PhantomData<&'a Module>,
}

// SAFETY: the handle of a function may be used from any thread; driver calls are thread-safe.
unsafe impl Send for Function<'_> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl Sync for Function<'_> {}

impl<'a> Function<'a> {
    pub(crate) fn new(inner: sys::CUfunction, _module: &'a Module) -> Self {
        Self { inner, module: PhantomData }
    }

    /// Returns the value of an attribute. On the CPU, most attributes are 0.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_attribute(&self, attribute: FunctionAttribute) -> CudaResult<i32> {
        let (mut value, which) = (0, sys::CUfunction_attribute(attribute as u32));
        // SAFETY: the module is alive, and the driver writes the result to a local variable.
        unsafe { driver::cuFuncGetAttribute(&raw mut value, which, self.inner) }?;
        Ok(value)
    }

    /// Sets the maximum dynamic shared memory per block in bytes. A kernel needs this call to use
    /// more than 48 KiB.
    ///
    /// # Errors
    /// Returns an error if `bytes` exceeds the device's limit, or the driver's error.
    pub fn set_max_dynamic_shared_size_bytes(&mut self, bytes: u32) -> CudaResult<()> {
        let bytes = i32::try_from(bytes).map_err(|_| CudaError::InvalidValue)?;
        let which = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the module is alive.
        unsafe { driver::cuFuncSetAttribute(self.inner, which, bytes) }
    }

    /// Returns the driver's handle.
    #[must_use]
    pub fn to_raw(&self) -> sys::CUfunction {
        self.inner
    }

    /// Returns a launch shape that reaches the highest occupancy, as the smallest sufficient number
    /// of blocks and the number of threads per block. A block has at most `block_size_limit`
    /// threads; 0 means no limit.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn suggested_launch_configuration(
        &self,
        dynamic_smem_size: usize,
        block_size_limit: BlockSize,
    ) -> CudaResult<(u32, u32)> {
        let BlockSize { x, y, z } = block_size_limit;
        let limit = [x, y, z].into_iter().try_fold(1_u32, u32::checked_mul);
        let limit = limit.and_then(|limit| i32::try_from(limit).ok());
        let limit = limit.ok_or(CudaError::InvalidValue)?;
        let (mut grid, mut block) = (0, 0);
        // SAFETY: the module is alive, and the driver writes the results to local variables.
        unsafe {
            driver::cuOccupancyMaxPotentialBlockSize(
                &raw mut grid,
                &raw mut block,
                self.inner,
                None,
                dynamic_smem_size,
                limit,
            )
        }?;
        Ok((grid.unsigned_abs(), block.unsigned_abs()))
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
