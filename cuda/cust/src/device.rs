//! CUDA devices and their properties.
//!
//! ```
//! # // SAFETY: only the standard library accesses the environment.
//! # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
//! use cust::device::Device;
//!
//! cust::init(cust::CudaFlags::empty())?;
//! for device in Device::devices()? {
//!     let device = device?;
//!     println!("{}: {} bytes", device.name()?, device.total_memory()?);
//! }
//! # Ok::<(), cust::error::CudaError>(())
//! ```

use std::ops::Range;

use cust_raw::driver_sys as sys;

use crate::driver::backend;
use crate::error::CudaResult;
use crate::gpu::Gpu;

/// A device property with an integer value.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::device::{Device, DeviceAttribute};
///
/// cust::init(cust::CudaFlags::empty())?;
/// let device = Device::get_device(0)?;
/// assert_eq!(device.get_attribute(DeviceAttribute::WarpSize)?, 32);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[repr(u32)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceAttribute {
    /// The maximum number of threads per block.
    MaxThreadsPerBlock = 1,
    /// The maximum number of threads per block along x.
    MaxBlockDimX = 2,
    /// The maximum number of threads per block along y.
    MaxBlockDimY = 3,
    /// The maximum number of threads per block along z.
    MaxBlockDimZ = 4,
    /// The maximum number of blocks per grid along x.
    MaxGridDimX = 5,
    /// The maximum number of blocks per grid along y.
    MaxGridDimY = 6,
    /// The maximum number of blocks per grid along z.
    MaxGridDimZ = 7,
    /// The maximum shared memory per block, in bytes, for kernels without opt-in to more.
    MaxSharedMemoryPerBlock = 8,
    /// The size in bytes of the device's constant memory.
    TotalConstantMemory = 9,
    /// The number of threads per warp.
    WarpSize = 10,
    /// The largest row pitch that a memory copy accepts, in bytes.
    MaxPitch = 11,
    /// The maximum number of registers per block.
    MaxRegistersPerBlock = 12,
    /// The peak clock rate of the multiprocessors in kHz.
    ClockRate = 13,
    /// The number of multiprocessors.
    MultiprocessorCount = 16,
    /// 1 if the driver limits the run time of kernels.
    KernelExecTimeout = 17,
    /// 1 if the device is integrated and shares physical memory with the host.
    Integrated = 18,
    /// 1 if host memory can be mapped into the device's address space.
    CanMapHostMemory = 19,
    /// The compute mode, which restricts the processes that may use the device.
    ComputeMode = 20,
    /// 1 if kernels can run concurrently.
    ConcurrentKernels = 31,
    /// 1 if ECC is enabled.
    EccEnabled = 32,
    /// The PCI bus number.
    PciBusId = 33,
    /// The PCI device number.
    PciDeviceId = 34,
    /// The peak clock rate of the device memory in kHz.
    MemoryClockRate = 36,
    /// The width of the memory bus in bits.
    GlobalMemoryBusWidth = 37,
    /// The size of the L2 cache in bytes.
    L2CacheSize = 38,
    /// The maximum number of threads per multiprocessor.
    MaxThreadsPerMultiprocessor = 39,
    /// The number of engines that can copy memory while kernels run.
    AsyncEngineCount = 40,
    /// 1 if host and device share an address space.
    UnifiedAddressing = 41,
    /// The PCI domain number.
    PciDomainId = 50,
    /// The major version of the compute capability.
    ComputeCapabilityMajor = 75,
    /// The minor version of the compute capability.
    ComputeCapabilityMinor = 76,
    /// 1 if streams have priorities.
    StreamPrioritiesSupported = 78,
    /// 1 if global memory is cached in L1.
    GlobalL1CacheSupported = 79,
    /// 1 if local memory is cached in L1.
    LocalL1CacheSupported = 80,
    /// The maximum shared memory per multiprocessor in bytes.
    MaxSharedMemoryPerMultiprocessor = 81,
    /// The maximum number of registers per multiprocessor.
    MaxRegistersPerMultiprocessor = 82,
    /// 1 if the device supports managed memory.
    ManagedMemory = 83,
    /// 1 if the device is on a board with several GPUs.
    MultiGpuBoard = 84,
    /// An identifier of the board, which is the same for all GPUs on that board.
    MultiGpuBoardGroupId = 85,
    /// 1 if the link between device and host supports native atomic operations.
    HostNativeAtomicSupported = 86,
    /// The ratio of the `f32` throughput to the `f64` throughput.
    SingleToDoublePrecisionPerfRatio = 87,
    /// 1 if the device can access pageable host memory without registering it.
    PageableMemoryAccess = 88,
    /// 1 if host and device can access managed memory concurrently.
    ConcurrentManagedAccess = 89,
    /// 1 if kernels can be preempted.
    ComputePreemptionSupported = 90,
    /// 1 if the device can access registered host memory at the host's own address.
    CanUseHostPointerForRegisteredMem = 91,
    /// 1 if the device supports cooperative launches, in which blocks of a grid can wait for each
    /// other.
    CooperativeLaunch = 95,
    /// The maximum shared memory per block in bytes, if the kernel opts in.
    MaxSharedMemoryPerBlockOptin = 97,
    /// The maximum number of blocks per multiprocessor.
    MaxBlocksPerMultiprocessor = 106,
    /// 1 if the device supports stream-ordered allocation.
    MemoryPoolsSupported = 115,
    /// 1 if blocks can be launched in clusters.
    ClusterLaunch = 120,
}

impl From<DeviceAttribute> for sys::CUdevice_attribute {
    fn from(attribute: DeviceAttribute) -> Self {
        Self(attribute as u32)
    }
}

/// A CUDA device. On the CPU backend, the only device is the CPU, with number 0.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::device::Device;
///
/// cust::init(cust::CudaFlags::empty())?;
/// assert!(Device::num_devices()? >= 1);
/// let device = Device::get_device(0)?;
/// assert_eq!(device.as_raw(), 0);
/// println!("{}", device.name()?);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device(pub(crate) Gpu);

impl Device {
    /// Returns the number of devices.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn num_devices() -> CudaResult<u32> {
        Ok(Gpu::count(backend())?)
    }

    /// Returns the device with this ordinal.
    ///
    /// # Errors
    /// Returns `InvalidDevice` if there is no such device, or the driver's error.
    pub fn get_device(ordinal: u32) -> CudaResult<Self> {
        Ok(Self(Gpu::get(backend(), ordinal)?))
    }

    /// Returns all devices in the order of their ordinals.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn devices() -> CudaResult<Devices> {
        Self::num_devices().map(|count| Devices { range: 0..count })
    }

    /// Returns the size of the device memory in bytes.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn total_memory(self) -> CudaResult<usize> {
        Ok(self.0.memory()?)
    }

    /// Returns the product name.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn name(self) -> CudaResult<String> {
        Ok(self.0.name()?)
    }

    /// Returns the value of an attribute.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_attribute(self, attribute: DeviceAttribute) -> CudaResult<i32> {
        Ok(self.0.attribute(attribute.into())?)
    }

    /// Returns the driver's device number.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUdevice {
        self.0.device
    }
}

/// An iterator over all devices in the order of their ordinals.
///
/// ```
/// # // SAFETY: only the standard library accesses the environment.
/// # unsafe { std::env::set_var(cust::BACKEND_VARIABLE, "cpu") };
/// use cust::device::Device;
///
/// cust::init(cust::CudaFlags::empty())?;
/// assert_eq!(Device::devices()?.count(), Device::num_devices()? as usize);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Devices {
    range: Range<u32>,
}

impl Iterator for Devices {
    type Item = CudaResult<Device>;

    fn next(&mut self) -> Option<CudaResult<Device>> {
        self.range.next().map(Device::get_device)
    }
}
