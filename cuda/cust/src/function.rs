//! Kernels of a module, the shapes of their launches, and [`launch!`](crate::launch).

use std::marker::PhantomData;

use cust_raw::driver_sys as sys;
use glam::{USizeVec2, USizeVec3, UVec2, UVec3};

use crate::context::{CacheConfig, SharedMemoryConfig};
use crate::driver;
use crate::error::{CudaError, CudaResult};
use crate::module::Module;

/// Defines a size of three axes, from whatever may stand for one.
macro_rules! size {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name {
            /// Along x.
            pub x: u32,
            /// Along y.
            pub y: u32,
            /// Along z.
            pub z: u32,
        }

        impl $name {
            /// Along x alone.
            #[must_use]
            pub fn x(x: u32) -> Self {
                Self { x, y: 1, z: 1 }
            }

            /// Along x and y.
            #[must_use]
            pub fn xy(x: u32, y: u32) -> Self {
                Self { x, y, z: 1 }
            }

            /// Along all three axes.
            #[must_use]
            pub fn xyz(x: u32, y: u32, z: u32) -> Self {
                Self { x, y, z }
            }

            /// The product of the three, as the driver takes it.
            fn count(self) -> CudaResult<i32> {
                let count = u64::from(self.x) * u64::from(self.y);
                let count = count.checked_mul(self.z.into());
                let count = count.and_then(|count| i32::try_from(count).ok());
                count.ok_or(CudaError::InvalidValue)
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

/// The number, or the largest one, with which a launch fails.
fn saturated(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

size! {
    /// Blocks of a grid.
    GridSize
}
size! {
    /// Threads of a block.
    BlockSize
}

/// A question about a kernel; the answer is a number.
#[repr(u32)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionAttribute {
    /// Threads of the largest block.
    MaxThreadsPerBlock = 0,
    /// Bytes of static shared memory of a block.
    SharedMemorySizeBytes = 1,
    /// Bytes of constant memory.
    ConstSizeBytes = 2,
    /// Bytes of local memory of a thread.
    LocalSizeBytes = 3,
    /// Registers of a thread.
    NumRegisters = 4,
    /// PTX version that it was compiled from: major times ten, and minor.
    PtxVersion = 5,
    /// Architecture that it was compiled for: major times ten, and minor.
    BinaryVersion = 6,
    /// 1 if it was compiled to cache global loads in L1.
    CacheModeCa = 7,
}

/// A kernel of a module.
#[derive(Debug)]
pub struct Function<'a> {
    inner: sys::CUfunction,
    module: PhantomData<&'a Module>,
}

// SAFETY: the handle of a function may be used from any thread; the driver locks.
unsafe impl Send for Function<'_> {}
// SAFETY: as above.
unsafe impl Sync for Function<'_> {}

impl<'a> Function<'a> {
    pub(crate) fn new(inner: sys::CUfunction, _module: &'a Module) -> Self {
        Self { inner, module: PhantomData }
    }

    /// One of its numbers. On the CPU nothing is measured, and what has no meaning there is 0.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_attribute(&self, attribute: FunctionAttribute) -> CudaResult<i32> {
        let (mut value, which) = (0, sys::CUfunction_attribute(attribute as u32));
        // SAFETY: the module is alive, the result is written.
        unsafe { driver::cuFuncGetAttribute(&raw mut value, which, self.inner) }?;
        Ok(value)
    }

    /// Sets how cache and shared memory divide while it runs; a wish, not an order.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_cache_config(&mut self, config: CacheConfig) -> CudaResult<()> {
        // SAFETY: the module is alive.
        unsafe { driver::cuFuncSetCacheConfig(self.inner, config as u32) }
    }

    /// Sets the width of a bank of shared memory while it runs.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_shared_memory_config(&mut self, config: SharedMemoryConfig) -> CudaResult<()> {
        // SAFETY: the module is alive.
        unsafe { driver::cuFuncSetSharedMemConfig(self.inner, config as u32) }
    }

    /// Lets blocks have so many bytes of dynamic shared memory: beyond 48 KiB a kernel has to ask.
    ///
    /// # Errors
    /// More than the device has, or what the driver says.
    pub fn set_max_dynamic_shared_size_bytes(&mut self, bytes: u32) -> CudaResult<()> {
        let bytes = i32::try_from(bytes).map_err(|_| CudaError::InvalidValue)?;
        let which = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the module is alive.
        unsafe { driver::cuFuncSetAttribute(self.inner, which, bytes) }
    }

    /// The driver's handle.
    #[must_use]
    pub fn to_raw(&self) -> sys::CUfunction {
        self.inner
    }

    /// Bytes of dynamic shared memory that a block can have when so many blocks share a multiprocessor.
    ///
    /// # Errors
    /// What the driver says.
    pub fn available_dynamic_shared_memory_per_block(
        &self,
        blocks: GridSize,
        block_size: BlockSize,
    ) -> CudaResult<usize> {
        let (blocks, threads) = (blocks.count()?, block_size.count()?);
        let mut bytes = 0;
        // SAFETY: the module is alive, the result is written.
        unsafe {
            driver::cuOccupancyAvailableDynamicSMemPerBlock(
                &raw mut bytes,
                self.inner,
                blocks,
                threads,
            )
        }?;
        Ok(bytes)
    }

    /// Blocks that a multiprocessor can run at once.
    ///
    /// # Errors
    /// What the driver says.
    pub fn max_active_blocks_per_multiprocessor(
        &self,
        block_size: BlockSize,
        dynamic_smem_size: usize,
    ) -> CudaResult<u32> {
        let (mut blocks, threads) = (0, block_size.count()?);
        // SAFETY: the module is alive, the result is written.
        unsafe {
            driver::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut blocks,
                self.inner,
                threads,
                dynamic_smem_size,
            )
        }?;
        Ok(blocks.unsigned_abs())
    }

    /// The smallest grid and the block, by their numbers of blocks and threads, with which most threads
    /// run at once. A block is at most `block_size_limit` threads, any number if that is 0.
    ///
    /// # Errors
    /// What the driver says.
    pub fn suggested_launch_configuration(
        &self,
        dynamic_smem_size: usize,
        block_size_limit: BlockSize,
    ) -> CudaResult<(u32, u32)> {
        let (mut grid, mut block, limit) = (0, 0, block_size_limit.count()?);
        // SAFETY: the module is alive, the results are written.
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

/// Launches a kernel by name: `launch!(kernel<<<grid, block, dynamic_shared, stream>>>(arguments…))`.
///
/// `kernel` is a [`Function`], or `module.kernel` for the module's function of that name. Grid and block
/// are what converts into [`GridSize`] and [`BlockSize`](crate::function::BlockSize). A kernel's slice
/// takes two arguments here, a device pointer and its length. Evaluates to a
/// [`CudaResult`](crate::error::CudaResult).
///
/// # Safety
/// The call is unsafe: number and types of the arguments are the kernel's, device memory lives until the
/// kernel is done, and what the kernel itself asks for holds.
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
