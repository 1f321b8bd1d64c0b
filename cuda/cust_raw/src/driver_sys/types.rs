//! Handles, the structs and enums that functions take, and flags.
//!
//! The enums are only ever given to the driver, never read from it: it may know more values.

use std::ffi::c_void;
use std::marker::{PhantomData, PhantomPinned};

/// What lies behind a handle; the driver's own.
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

/// Flags of `cuStreamCreateWithPriority`.
pub const CU_STREAM_NON_BLOCKING: u32 = 1;

/// Flags of `cuEventCreate`.
pub const CU_EVENT_BLOCKING_SYNC: u32 = 1;
pub const CU_EVENT_DISABLE_TIMING: u32 = 2;

/// Flag of `cuMemHostAlloc`.
pub const CU_MEMHOSTALLOC_PORTABLE: u32 = 1;

/// Flag of a texture.
pub const CU_TRSF_READ_AS_INTEGER: u32 = 1;

#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CUdevice_attribute {
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
    CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
    CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
    CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
    CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT = 51,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
}

#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CUfunction_attribute {
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
    CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
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

#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CUarray_format {
    CU_AD_FORMAT_UNSIGNED_INT8 = 1,
    CU_AD_FORMAT_UNSIGNED_INT16 = 2,
    CU_AD_FORMAT_FLOAT = 0x20,
}

#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CUaddress_mode {
    #[default]
    CU_TR_ADDRESS_MODE_WRAP = 0,
    CU_TR_ADDRESS_MODE_CLAMP = 1,
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

/// Rows from one place to another; the default copies nothing, from null to null.
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

/// What a texture reads. `resType` says which field of `res` counts.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_RESOURCE_DESC {
    pub resType: CUresourcetype,
    pub res: CUDA_RESOURCE_DESC_res,
    pub flags: u32,
}

impl CUDA_RESOURCE_DESC {
    /// An array.
    #[must_use]
    pub const fn array(hArray: CUarray) -> Self {
        let mut resource = Self::zeroed(CUresourcetype::CU_RESOURCE_TYPE_ARRAY);
        resource.res.array = CUDA_RESOURCE_DESC_array { hArray };
        resource
    }

    /// Rows in device memory.
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

/// How a texture looks at an array of another format: not used here, always null.
pub type CUDA_RESOURCE_VIEW_DESC = c_void;

const _: () = {
    assert!(size_of::<CUDA_MEMCPY2D>() == 128);
    assert!(size_of::<CUDA_ARRAY_DESCRIPTOR>() == 24);
    assert!(size_of::<CUDA_RESOURCE_DESC>() == 144);
    assert!(size_of::<CUDA_TEXTURE_DESC>() == 104);
};

/// How a kernel is launched; `attrs` are `numAttrs`.
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

/// What is asked of a launch beside its shape. The value is a union of 64 bytes, of which a number is the first.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct CUlaunchAttribute {
    pub id: u32,
    pub pad: [u8; 4],
    pub value: i32,
    pub rest: [i32; 15],
}

/// The kernel may be launched before the one before it in the stream has ended, for which it waits itself, by
/// `griddepcontrol.wait`.
pub const CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: u32 = 6;
