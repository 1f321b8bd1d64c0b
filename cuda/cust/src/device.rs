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

use std::ffi::CStr;
use std::ops::Range;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::{CudaError, CudaResult};

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
    /// The required alignment of a texture's base address in bytes.
    TextureAlignment = 14,
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
    /// The largest width of a 1-D texture, in texels.
    MaximumTexture1DWidth = 21,
    /// The largest width of a 2-D texture, in texels.
    MaximumTexture2DWidth = 22,
    /// The largest height of a 2-D texture, in texels.
    MaximumTexture2DHeight = 23,
    /// The largest width of a 3-D texture, in texels.
    MaximumTexture3DWidth = 24,
    /// The largest height of a 3-D texture, in texels.
    MaximumTexture3DHeight = 25,
    /// The largest depth of a 3-D texture, in texels.
    MaximumTexture3DDepth = 26,
    /// The largest width of a layered 2-D texture, in texels.
    MaximumTexture2DLayeredWidth = 27,
    /// The largest height of a layered 2-D texture, in texels.
    MaximumTexture2DLayeredHeight = 28,
    /// The maximum number of layers of a layered 2-D texture.
    MaximumTexture2DLayeredLayers = 29,
    /// The required alignment of a surface's base address in bytes.
    SurfaceAlignment = 30,
    /// 1 if kernels can run concurrently.
    ConcurrentKernels = 31,
    /// 1 if ECC is enabled.
    EccEnabled = 32,
    /// The PCI bus number.
    PciBusId = 33,
    /// The PCI device number.
    PciDeviceId = 34,
    /// 1 if the device uses the Tesla Compute Cluster (TCC) driver.
    TccDriver = 35,
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
    /// The largest width of a layered 1-D texture, in texels.
    MaximumTexture1DLayeredWidth = 42,
    /// The maximum number of layers of a layered 1-D texture.
    MaximumTexture1DLayeredLayers = 43,
    /// The largest width of a 2-D texture that gather instructions can read, in texels.
    MaximumTexture2DGatherWidth = 45,
    /// The largest height of a 2-D texture that gather instructions can read, in texels.
    MaximumTexture2DGatherHeight = 46,
    /// The largest width of a 3-D texture under the alternate size limits, in texels.
    MaximumTexture3DWidthAlternate = 47,
    /// The largest height of a 3-D texture under the alternate size limits, in texels.
    MaximumTexture3DHeightAlternate = 48,
    /// The largest depth of a 3-D texture under the alternate size limits, in texels.
    MaximumTexture3DDepthAlternate = 49,
    /// The PCI domain number.
    PciDomainId = 50,
    /// The required alignment of a texture's row pitch in bytes.
    TexturePitchAlignment = 51,
    /// The largest side length of a cube texture, in texels.
    MaximumTextureCubemapWidth = 52,
    /// The largest side of a layered cube texture, in texels.
    MaximumTextureCubemapLayeredWidth = 53,
    /// The maximum number of layers of a layered cube texture.
    MaximumTextureCubemapLayeredLayers = 54,
    /// The largest width of a 1-D surface, in texels.
    MaximumSurface1DWidth = 55,
    /// The largest width of a 2-D surface, in texels.
    MaximumSurface2DWidth = 56,
    /// The largest height of a 2-D surface, in texels.
    MaximumSurface2DHeight = 57,
    /// The largest width of a 3-D surface, in texels.
    MaximumSurface3DWidth = 58,
    /// The largest height of a 3-D surface, in texels.
    MaximumSurface3DHeight = 59,
    /// The largest depth of a 3-D surface, in texels.
    MaximumSurface3DDepth = 60,
    /// The largest width of a layered 1-D surface, in texels.
    MaximumSurface1DLayeredWidth = 61,
    /// The maximum number of layers of a layered 1-D surface.
    MaximumSurface1DLayeredLayers = 62,
    /// The largest width of a layered 2-D surface, in texels.
    MaximumSurface2DLayeredWidth = 63,
    /// The largest height of a layered 2-D surface, in texels.
    MaximumSurface2DLayeredHeight = 64,
    /// The maximum number of layers of a layered 2-D surface.
    MaximumSurface2DLayeredLayers = 65,
    /// The largest side of a cube surface, in texels.
    MaximumSurfacecubemapWidth = 66,
    /// The largest side of a layered cube surface, in texels.
    MaximumSurfacecubemapLayeredWidth = 67,
    /// The maximum number of layers of a layered cube surface.
    MaximumSurfacecubemapLayeredLayers = 68,
    /// The largest width of a 1-D texture in linear memory, in texels.
    MaximumTexture1DLinearWidth = 69,
    /// The largest width of a 2-D texture in linear memory, in texels.
    MaximumTexture2DLinearWidth = 70,
    /// The largest height of a 2-D texture in linear memory, in texels.
    MaximumTexture2DLinearHeight = 71,
    /// The largest pitch of a 2-D texture in linear memory, in bytes.
    MaximumTexture2DLinearPitch = 72,
    /// The largest width of a mipmapped 2-D texture, in texels.
    MaximumTexture2DMipmappedWidth = 73,
    /// The largest height of a mipmapped 2-D texture, in texels.
    MaximumTexture2DMipmappedHeight = 74,
    /// The major version of the compute capability.
    ComputeCapabilityMajor = 75,
    /// The minor version of the compute capability.
    ComputeCapabilityMinor = 76,
    /// The largest width of a mipmapped 1-D texture, in texels.
    MaximumTexture1DMipmappedWidth = 77,
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
/// println!("{} {:x?}", device.name()?, device.uuid()?);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    device: sys::CUdevice,
}

impl Device {
    /// Returns the number of devices.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn num_devices() -> CudaResult<u32> {
        let mut count = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { driver::cuDeviceGetCount(&raw mut count) }?;
        Ok(count.unsigned_abs())
    }

    /// Returns the device with this ordinal.
    ///
    /// # Errors
    /// Returns `InvalidDevice` if there is no such device, or the driver's error.
    pub fn get_device(ordinal: u32) -> CudaResult<Self> {
        let ordinal = i32::try_from(ordinal).map_err(|_| CudaError::InvalidDevice)?;
        let mut device = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { driver::cuDeviceGet(&raw mut device, ordinal) }?;
        Ok(Self { device })
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
        let mut bytes = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { driver::cuDeviceTotalMem_v2(&raw mut bytes, self.device) }?;
        Ok(bytes)
    }

    /// Returns the product name.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn name(self) -> CudaResult<String> {
        let mut name = [0_u8; 256];
        let room = name.len() as i32;
        // SAFETY: the driver writes at most `room` bytes, including a terminating zero.
        unsafe { driver::cuDeviceGetName(name.as_mut_ptr().cast(), room, self.device) }?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// Returns a 16-byte identifier that is unique to the device.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn uuid(self) -> CudaResult<[u8; 16]> {
        let mut uuid = sys::CUuuid::default();
        // SAFETY: the driver writes the result to a local variable.
        unsafe { driver::cuDeviceGetUuid_v2(&raw mut uuid, self.device) }?;
        Ok(uuid.bytes)
    }

    /// Returns the value of an attribute.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_attribute(self, attribute: DeviceAttribute) -> CudaResult<i32> {
        let mut value = 0;
        // SAFETY: the driver writes the result to a local variable.
        unsafe { driver::cuDeviceGetAttribute(&raw mut value, attribute.into(), self.device) }?;
        Ok(value)
    }

    /// Returns the driver's device number.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUdevice {
        self.device
    }

    /// Wraps a device number that the driver returned.
    pub(crate) fn from_raw(device: sys::CUdevice) -> Self {
        Self { device }
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
