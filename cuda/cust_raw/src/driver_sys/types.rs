//! Handles, flags, and the structs and enums that the driver functions take.
//!
//! Enums are only passed to the driver. Values that it returns are numbers, which may be new.

use std::ffi::{c_int, c_void};
use std::marker::{PhantomData, PhantomPinned};

/// Defines each handle as a pointer to an opaque type.
macro_rules! handles {
    ($($name:ident => $object:ident),+ $(,)?) => {$(
        #[repr(C)]
        pub struct $object {
            opaque: [u8; 0],
            pinned: PhantomData<(*mut u8, PhantomPinned)>,
        }
        pub type $name = *mut $object;
    )+};
}

handles! {
    CUarray => CUarray_st,
    CUcontext => CUctx_st,
    CUevent => CUevent_st,
    CUfunction => CUfunc_st,
    CUmodule => CUmod_st,
    CUstream => CUstream_st,
}

pub type CUdevice = i32;
pub type CUdeviceptr = u64;
pub type CUtexObject = u64;

/// A function that returns the dynamic shared memory in bytes of a block with `block` threads.
pub type CUoccupancyB2DSize = Option<unsafe extern "C" fn(block: c_int) -> usize>;

/// A flag of `cuStreamCreateWithPriority`: the stream does not wait for the default stream.
pub const CU_STREAM_NON_BLOCKING: u32 = 1;

/// A flag of `cuEventCreate`: a thread that waits for the event sleeps instead of spinning.
pub const CU_EVENT_BLOCKING_SYNC: u32 = 1;
/// A flag of `cuEventCreate`: the event cannot measure time.
pub const CU_EVENT_DISABLE_TIMING: u32 = 2;

/// A flag of `cuMemAllocManaged`: all streams of all devices may use the memory.
pub const CU_MEM_ATTACH_GLOBAL: u32 = 1;

/// A flag of [`CUDA_TEXTURE_DESC`]: reads return the texel's integers, not numbers from 0 to 1.
pub const CU_TRSF_READ_AS_INTEGER: u32 = 1;

/// An attribute of a device. The type wraps a number, because newer drivers have more attributes.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CUdevice_attribute(pub u32);

impl CUdevice_attribute {
    pub const CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: Self = Self(14);
    pub const CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: Self = Self(16);
    pub const CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT: Self = Self(51);
    pub const CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: Self = Self(75);
    pub const CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: Self = Self(76);
    pub const CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: Self = Self(97);
}

/// An attribute of a kernel. The type wraps a number, because newer drivers have more attributes.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CUfunction_attribute(pub u32);

impl CUfunction_attribute {
    pub const CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: Self = Self(0);
    pub const CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: Self = Self(1);
    pub const CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: Self = Self(3);
    pub const CU_FUNC_ATTRIBUTE_NUM_REGS: Self = Self(4);
    pub const CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: Self = Self(8);
}

#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CUjit_option {
    CU_JIT_ERROR_LOG_BUFFER = 5,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
}

#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CUmemorytype {
    #[default]
    CU_MEMORYTYPE_HOST = 1,
    CU_MEMORYTYPE_DEVICE = 2,
    CU_MEMORYTYPE_ARRAY = 3,
}

/// The type of a channel of an array, as a number, because newer drivers return more formats.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CUarray_format(pub u32);

impl CUarray_format {
    pub const CU_AD_FORMAT_UNSIGNED_INT8: Self = Self(1);
    pub const CU_AD_FORMAT_UNSIGNED_INT16: Self = Self(2);
    pub const CU_AD_FORMAT_FLOAT: Self = Self(0x20);
}

#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CUaddress_mode {
    #[default]
    CU_TR_ADDRESS_MODE_WRAP = 0,
    CU_TR_ADDRESS_MODE_CLAMP = 1,
    CU_TR_ADDRESS_MODE_MIRROR = 2,
    CU_TR_ADDRESS_MODE_BORDER = 3,
}

#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CUfilter_mode {
    #[default]
    CU_TR_FILTER_MODE_POINT = 0,
    CU_TR_FILTER_MODE_LINEAR = 1,
}

#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CUresourcetype {
    CU_RESOURCE_TYPE_ARRAY = 0,
    CU_RESOURCE_TYPE_PITCH2D = 3,
}

/// A 2-D copy. The default copies no bytes, from null to null.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CUDA_MEMCPY2D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcMemoryType: CUmemorytype,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: CUarray,
    pub srcPitch: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstMemoryType: CUmemorytype,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: CUarray,
    pub dstPitch: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_ARRAY_DESCRIPTOR {
    pub Width: usize,
    pub Height: usize,
    pub Format: CUarray_format,
    pub NumChannels: u32,
}

/// The memory that a texture reads. `resType` selects the valid field of `res`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_RESOURCE_DESC {
    pub resType: CUresourcetype,
    pub res: CUDA_RESOURCE_DESC_res,
    pub flags: u32,
}

impl CUDA_RESOURCE_DESC {
    /// Returns the resource descriptor of an array.
    #[must_use]
    pub const fn array(hArray: CUarray) -> Self {
        let mut resource = Self::zeroed(CUresourcetype::CU_RESOURCE_TYPE_ARRAY);
        resource.res.array = CUDA_RESOURCE_DESC_array { hArray };
        resource
    }

    /// Returns the resource descriptor of pitched rows in device memory.
    #[must_use]
    pub const fn pitch2D(pitch2D: CUDA_RESOURCE_DESC_pitch2D) -> Self {
        let mut resource = Self::zeroed(CUresourcetype::CU_RESOURCE_TYPE_PITCH2D);
        resource.res.pitch2D = pitch2D;
        resource
    }

    const fn zeroed(resType: CUresourcetype) -> Self {
        Self { resType, res: CUDA_RESOURCE_DESC_res { reserved: [0; 32] }, flags: 0 }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union CUDA_RESOURCE_DESC_res {
    pub array: CUDA_RESOURCE_DESC_array,
    pub pitch2D: CUDA_RESOURCE_DESC_pitch2D,
    pub reserved: [i32; 32],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_RESOURCE_DESC_array {
    pub hArray: CUarray,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_RESOURCE_DESC_pitch2D {
    pub devPtr: CUdeviceptr,
    pub format: CUarray_format,
    pub numChannels: u32,
    pub width: usize,
    pub height: usize,
    pub pitchInBytes: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CUDA_TEXTURE_DESC {
    pub addressMode: [CUaddress_mode; 3],
    pub filterMode: CUfilter_mode,
    pub flags: u32,
    pub maxAnisotropy: u32,
    pub mipmapFilterMode: CUfilter_mode,
    pub mipmapLevelBias: f32,
    pub minMipmapLevelClamp: f32,
    pub maxMipmapLevelClamp: f32,
    pub borderColor: [f32; 4],
    pub reserved: [i32; 12],
}

const _: () = {
    assert!(size_of::<CUDA_MEMCPY2D>() == 128);
    assert!(size_of::<CUDA_ARRAY_DESCRIPTOR>() == 24);
    assert!(size_of::<CUDA_RESOURCE_DESC>() == 144);
    assert!(size_of::<CUDA_TEXTURE_DESC>() == 104);
};

/// The configuration of a kernel launch. `attrs` points to `numAttrs` attributes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUlaunchConfig {
    pub gridDimX: u32,
    pub gridDimY: u32,
    pub gridDimZ: u32,
    pub blockDimX: u32,
    pub blockDimY: u32,
    pub blockDimZ: u32,
    pub sharedMemBytes: u32,
    pub hStream: CUstream,
    pub attrs: *mut CUlaunchAttribute,
    pub numAttrs: u32,
}

/// An attribute of a kernel launch. Together, `value` and `rest` have the size of the 64-byte union
/// of attribute values in the C API.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct CUlaunchAttribute {
    pub id: u32,
    pub pad: [u8; 4],
    pub value: i32,
    pub rest: [i32; 15],
}

/// The launch attribute that lets a kernel start before the preceding kernel in the stream has
/// ended. The kernel itself waits for the preceding one with `griddepcontrol.wait`.
pub const CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: u32 = 6;
