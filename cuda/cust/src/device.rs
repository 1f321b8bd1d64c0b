//! Devices as the driver numbers them, and what there is to know about each.

use std::ffi::CStr;
use std::ops::Range;

use cust_raw::driver_sys as sys;

use crate::driver;
use crate::error::{CudaError, CudaResult};

/// A question about a device; the answer is a number.
#[repr(u32)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceAttribute {
    /// Threads of a block.
    MaxThreadsPerBlock = 1,
    /// Threads of a block along x.
    MaxBlockDimX = 2,
    /// Threads of a block along y.
    MaxBlockDimY = 3,
    /// Threads of a block along z.
    MaxBlockDimZ = 4,
    /// Blocks of a grid along x.
    MaxGridDimX = 5,
    /// Blocks of a grid along y.
    MaxGridDimY = 6,
    /// Blocks of a grid along z.
    MaxGridDimZ = 7,
    /// Bytes of shared memory that a block gets without asking.
    MaxSharedMemoryPerBlock = 8,
    /// Bytes of constant memory.
    TotalConstantMemory = 9,
    /// Threads of a warp.
    WarpSize = 10,
    /// Bytes of the largest pitch of a copy.
    MaxPitch = 11,
    /// Registers of a block.
    MaxRegistersPerBlock = 12,
    /// Clock rate in kHz.
    ClockRate = 13,
    /// Alignment of textures in bytes.
    TextureAlignment = 14,
    /// Multiprocessors.
    MultiprocessorCount = 16,
    /// 1 if kernels are stopped after some time.
    KernelExecTimeout = 17,
    /// 1 if device and host share memory.
    Integrated = 18,
    /// 1 if host memory can be mapped.
    CanMapHostMemory = 19,
    /// Who may use the device.
    ComputeMode = 20,
    /// Largest 1-D texture.
    MaximumTexture1DWidth = 21,
    /// Widest 2-D texture.
    MaximumTexture2DWidth = 22,
    /// Highest 2-D texture.
    MaximumTexture2DHeight = 23,
    /// Widest 3-D texture.
    MaximumTexture3DWidth = 24,
    /// Highest 3-D texture.
    MaximumTexture3DHeight = 25,
    /// Deepest 3-D texture.
    MaximumTexture3DDepth = 26,
    /// Widest layered 2-D texture.
    MaximumTexture2DLayeredWidth = 27,
    /// Highest layered 2-D texture.
    MaximumTexture2DLayeredHeight = 28,
    /// Layers of a layered 2-D texture.
    MaximumTexture2DLayeredLayers = 29,
    /// Alignment of surfaces in bytes.
    SurfaceAlignment = 30,
    /// 1 if kernels can run side by side.
    ConcurrentKernels = 31,
    /// 1 if memory corrects errors.
    EccEnabled = 32,
    /// PCI bus.
    PciBusId = 33,
    /// PCI device.
    PciDeviceId = 34,
    /// 1 if the driver is a TCC driver.
    TccDriver = 35,
    /// Clock rate of the memory in kHz.
    MemoryClockRate = 36,
    /// Width of the memory bus in bits.
    GlobalMemoryBusWidth = 37,
    /// Bytes of the L2 cache.
    L2CacheSize = 38,
    /// Threads of a multiprocessor.
    MaxThreadsPerMultiprocessor = 39,
    /// Copy engines.
    AsyncEngineCount = 40,
    /// 1 if host and device share an address space.
    UnifiedAddressing = 41,
    /// Largest layered 1-D texture.
    MaximumTexture1DLayeredWidth = 42,
    /// Layers of a layered 1-D texture.
    MaximumTexture1DLayeredLayers = 43,
    /// Widest 2-D texture for gathers.
    MaximumTexture2DGatherWidth = 45,
    /// Highest 2-D texture for gathers.
    MaximumTexture2DGatherHeight = 46,
    /// Widest 3-D texture of the other shape.
    MaximumTexture3DWidthAlternate = 47,
    /// Highest 3-D texture of the other shape.
    MaximumTexture3DHeightAlternate = 48,
    /// Deepest 3-D texture of the other shape.
    MaximumTexture3DDepthAlternate = 49,
    /// PCI domain.
    PciDomainId = 50,
    /// Alignment of the pitch of textures in bytes.
    TexturePitchAlignment = 51,
    /// Side of a cube texture.
    MaximumTextureCubemapWidth = 52,
    /// Side of a layered cube texture.
    MaximumTextureCubemapLayeredWidth = 53,
    /// Layers of a layered cube texture.
    MaximumTextureCubemapLayeredLayers = 54,
    /// Largest 1-D surface.
    MaximumSurface1DWidth = 55,
    /// Widest 2-D surface.
    MaximumSurface2DWidth = 56,
    /// Highest 2-D surface.
    MaximumSurface2DHeight = 57,
    /// Widest 3-D surface.
    MaximumSurface3DWidth = 58,
    /// Highest 3-D surface.
    MaximumSurface3DHeight = 59,
    /// Deepest 3-D surface.
    MaximumSurface3DDepth = 60,
    /// Largest layered 1-D surface.
    MaximumSurface1DLayeredWidth = 61,
    /// Layers of a layered 1-D surface.
    MaximumSurface1DLayeredLayers = 62,
    /// Widest layered 2-D surface.
    MaximumSurface2DLayeredWidth = 63,
    /// Highest layered 2-D surface.
    MaximumSurface2DLayeredHeight = 64,
    /// Layers of a layered 2-D surface.
    MaximumSurface2DLayeredLayers = 65,
    /// Side of a cube surface.
    MaximumSurfacecubemapWidth = 66,
    /// Side of a layered cube surface.
    MaximumSurfacecubemapLayeredWidth = 67,
    /// Layers of a layered cube surface.
    MaximumSurfacecubemapLayeredLayers = 68,
    /// Largest 1-D texture over linear memory.
    MaximumTexture1DLinearWidth = 69,
    /// Widest 2-D texture over linear memory.
    MaximumTexture2DLinearWidth = 70,
    /// Highest 2-D texture over linear memory.
    MaximumTexture2DLinearHeight = 71,
    /// Bytes of the largest pitch of a texture over linear memory.
    MaximumTexture2DLinearPitch = 72,
    /// Widest mipmapped 2-D texture.
    MaximumTexture2DMipmappedWidth = 73,
    /// Highest mipmapped 2-D texture.
    MaximumTexture2DMipmappedHeight = 74,
    /// Compute capability, major number.
    ComputeCapabilityMajor = 75,
    /// Compute capability, minor number.
    ComputeCapabilityMinor = 76,
    /// Largest mipmapped 1-D texture.
    MaximumTexture1DMipmappedWidth = 77,
    /// 1 if streams have priorities.
    StreamPrioritiesSupported = 78,
    /// 1 if global memory is cached in L1.
    GlobalL1CacheSupported = 79,
    /// 1 if local memory is cached in L1.
    LocalL1CacheSupported = 80,
    /// Bytes of shared memory of a multiprocessor.
    MaxSharedMemoryPerMultiprocessor = 81,
    /// Registers of a multiprocessor.
    MaxRegistersPerMultiprocessor = 82,
    /// 1 if there is managed memory.
    ManagedMemory = 83,
    /// 1 if the board has several GPUs.
    MultiGpuBoard = 84,
    /// Number of the board, the same for its GPUs.
    MultiGpuBoardGroupId = 85,
    /// 1 if atomics between host and device are native.
    HostNativeAtomicSupported = 86,
    /// Single precision operations in the time of a double precision one.
    SingleToDoublePrecisionPerfRatio = 87,
    /// 1 if the device can access pageable memory.
    PageableMemoryAccess = 88,
    /// 1 if host and device can access managed memory at once.
    ConcurrentManagedAccess = 89,
    /// 1 if kernels can be preempted.
    ComputePreemptionSupported = 90,
    /// 1 if registered memory has one address on host and device.
    CanUseHostPointerForRegisteredMem = 91,
    /// 1 if blocks of a grid can wait for each other.
    CooperativeLaunch = 95,
    /// Bytes of shared memory that a block can have if the kernel asks.
    MaxSharedMemoryPerBlockOptin = 97,
    /// Blocks of a multiprocessor.
    MaxBlocksPerMultiprocessor = 106,
    /// 1 if memory can be allocated in stream order.
    MemoryPoolsSupported = 115,
    /// 1 if blocks can be launched in clusters.
    ClusterLaunch = 120,
}

impl From<DeviceAttribute> for sys::CUdevice_attribute {
    fn from(attribute: DeviceAttribute) -> Self {
        Self(attribute as u32)
    }
}

/// A device, by the number that the driver gave it. On the CPU there is one, number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    device: sys::CUdevice,
}

impl Device {
    /// How many there are.
    ///
    /// # Errors
    /// What the driver says.
    pub fn num_devices() -> CudaResult<u32> {
        let mut count = 0;
        // SAFETY: the result is written.
        unsafe { driver::cuDeviceGetCount(&raw mut count) }?;
        Ok(count.unsigned_abs())
    }

    /// The one with this ordinal.
    ///
    /// # Errors
    /// No such device, or what the driver says.
    pub fn get_device(ordinal: u32) -> CudaResult<Self> {
        let ordinal = i32::try_from(ordinal).map_err(|_| CudaError::InvalidDevice)?;
        let mut device = 0;
        // SAFETY: the result is written.
        unsafe { driver::cuDeviceGet(&raw mut device, ordinal) }?;
        Ok(Self { device })
    }

    /// All of them, in the order of their ordinals.
    ///
    /// # Errors
    /// What the driver says.
    pub fn devices() -> CudaResult<Devices> {
        Self::num_devices().map(|count| Devices { range: 0..count })
    }

    /// Device memory in bytes.
    ///
    /// # Errors
    /// What the driver says.
    pub fn total_memory(self) -> CudaResult<usize> {
        let mut bytes = 0;
        // SAFETY: the result is written.
        unsafe { driver::cuDeviceTotalMem_v2(&raw mut bytes, self.device) }?;
        Ok(bytes)
    }

    /// Product name.
    ///
    /// # Errors
    /// What the driver says.
    pub fn name(self) -> CudaResult<String> {
        let mut name = [0_u8; 256];
        let room = name.len() as i32;
        // SAFETY: the driver writes at most `room` bytes, a zero among them.
        unsafe { driver::cuDeviceGetName(name.as_mut_ptr().cast(), room, self.device) }?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// Sixteen bytes that tell the device from every other.
    ///
    /// # Errors
    /// What the driver says.
    pub fn uuid(self) -> CudaResult<[u8; 16]> {
        let mut uuid = sys::CUuuid::default();
        // SAFETY: the result is written.
        unsafe { driver::cuDeviceGetUuid_v2(&raw mut uuid, self.device) }?;
        Ok(uuid.bytes)
    }

    /// One of its many numbers.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_attribute(self, attribute: DeviceAttribute) -> CudaResult<i32> {
        let mut value = 0;
        // SAFETY: the result is written.
        unsafe { driver::cuDeviceGetAttribute(&raw mut value, attribute.into(), self.device) }?;
        Ok(value)
    }

    /// As the driver knows it.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUdevice {
        self.device
    }

    /// A device that the driver named.
    pub(crate) fn from_raw(device: sys::CUdevice) -> Self {
        Self { device }
    }
}

/// All devices, in the order of their ordinals.
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
