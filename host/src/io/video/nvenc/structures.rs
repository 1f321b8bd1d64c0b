//! The structures and constants of NVENC, as `nvEncodeAPI.h` of NVIDIA's Video Codec SDK 12.0 declares them.
//!
//! Fields that this program neither sets nor reads are arrays called `skipped` or `reserved`.

use std::ffi::c_void;

/// The major and the minor version of the interface.
pub(super) const INTERFACE: [u32; 2] = [12, 0];

/// `NVENCAPI_VERSION`
pub(super) const VERSION: u32 = INTERFACE[0] | INTERFACE[1] << 24;

/// Returns the field `version` of a structure in its version `n`: `NVENCAPI_STRUCT_VERSION`.
pub(super) const fn structure(n: u32) -> u32 {
    VERSION | n << 16 | 7 << 28
}

/// `GUID`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Guid(u32, u16, u16, [u8; 8]);

/// `NV_ENC_CODEC_H264_GUID`
pub(super) const CODEC_H264: Guid =
    Guid(0x6bc8_2762, 0x4e63, 0x4ca4, [0xaa, 0x85, 0x1e, 0x50, 0xf3, 0x21, 0xf6, 0xbf]);
/// `NV_ENC_CODEC_HEVC_GUID`
pub(super) const CODEC_HEVC: Guid =
    Guid(0x790c_dc88, 0x4522, 0x4d7b, [0x94, 0x25, 0xbd, 0xa9, 0x97, 0x5f, 0x76, 0x03]);
/// `NV_ENC_H264_PROFILE_HIGH_GUID`
pub(super) const PROFILE_HIGH: Guid =
    Guid(0xe7cb_c309, 0x4f7a, 0x4b89, [0xaf, 0x2a, 0xd5, 0x37, 0xc9, 0x2b, 0xe3, 0x10]);
/// `NV_ENC_H264_PROFILE_HIGH_444_GUID`, the profile of lossless H.264, also for 4:2:0.
pub(super) const PROFILE_HIGH_444: Guid =
    Guid(0x7ac6_63cb, 0xa598, 0x4960, [0xb8, 0x44, 0x33, 0x9b, 0x26, 0x1a, 0x7d, 0x52]);
/// `NV_ENC_HEVC_PROFILE_MAIN_GUID`
pub(super) const PROFILE_MAIN: Guid =
    Guid(0xb514_c39a, 0xb55b, 0x40fa, [0x87, 0x8f, 0xf1, 0x25, 0x3b, 0x4d, 0xfd, 0xec]);
/// `NV_ENC_HEVC_PROFILE_MAIN10_GUID`
pub(super) const PROFILE_MAIN_10: Guid =
    Guid(0xfa4d_2b6c, 0x3a5b, 0x411a, [0x80, 0x18, 0x0a, 0x3f, 0x5e, 0x3c, 0x9b, 0xe5]);
/// `NV_ENC_PRESET_P5_GUID`
pub(super) const PRESET_P5: Guid =
    Guid(0x21c6_e6b4, 0x297a, 0x4cba, [0x99, 0x8f, 0xb6, 0xcb, 0xde, 0x72, 0xad, 0xe3]);

/// `NV_ENC_DEVICE_TYPE_CUDA`
pub(super) const DEVICE_CUDA: u32 = 1;
/// `NV_ENC_INPUT_RESOURCE_TYPE_CUDADEVICEPTR`
pub(super) const RESOURCE_CUDA_POINTER: u32 = 1;
/// `NV_ENC_BUFFER_FORMAT_NV12`
pub(super) const FORMAT_NV12: u32 = 1;
/// `NV_ENC_BUFFER_FORMAT_YUV420_10BIT`, which equals P010.
pub(super) const FORMAT_P010: u32 = 0x1_0000;
/// `NV_ENC_TUNING_INFO_HIGH_QUALITY`
pub(super) const TUNING_HIGH_QUALITY: u32 = 1;
/// `NV_ENC_TUNING_INFO_LOSSLESS`
pub(super) const TUNING_LOSSLESS: u32 = 4;
/// `NV_ENC_PARAMS_FRAME_FIELD_MODE_FRAME`
pub(super) const PROGRESSIVE: u32 = 1;
/// `NV_ENC_PARAMS_RC_CONSTQP`
pub(super) const RATE_CONSTANT_QP: u32 = 0;
/// `NV_ENC_PARAMS_RC_VBR`
pub(super) const RATE_VARIABLE: u32 = 1;
/// `NV_ENC_PIC_STRUCT_FRAME`
pub(super) const PICTURE_FRAME: u32 = 1;
/// `NV_ENC_PIC_FLAG_EOS`
pub(super) const END_OF_STREAM: u32 = 8;

/// `NV_ENC_CAPS_SUPPORT_LOSSLESS_ENCODE`
pub(super) const CAPS_LOSSLESS: u32 = 34;
/// `NV_ENC_CAPS_SUPPORT_10BIT_ENCODE`
pub(super) const CAPS_TEN_BITS: u32 = 39;
/// `NV_ENC_CAPS_WIDTH_MAX` and `NV_ENC_CAPS_HEIGHT_MAX`
pub(super) const CAPS_MAX_SIZE: [u32; 2] = [16, 17];
/// `NV_ENC_CAPS_WIDTH_MIN` and `NV_ENC_CAPS_HEIGHT_MIN`
pub(super) const CAPS_MIN_SIZE: [u32; 2] = [45, 46];

/// Flags of [`RcParams`]: `enableLookahead` and `zeroReorderDelay`.
pub(super) const LOOKAHEAD: u32 = 1 << 5;
pub(super) const NO_REORDERING: u32 = 1 << 9;
/// The flag `qpPrimeYZeroTransformBypassFlag` of [`ConfigH264`].
pub(super) const H264_LOSSLESS: u32 = 1 << 15;
/// The value of `chromaFormatIDC` for 4:2:0.
pub(super) const H264_420: u32 = 1;
/// The bits of `chromaFormatIDC` and `pixelBitDepthMinus8` in the flags of [`ConfigHevc`].
pub(super) const HEVC_FORMAT: u32 = 0b11_1110_0000_0000;
/// The bits of `chromaFormatIDC` for 4:2:0.
pub(super) const HEVC_420: u32 = 1 << 9;
/// The bits of `pixelBitDepthMinus8` for 10 bits.
pub(super) const HEVC_TEN_BITS: u32 = 2 << 11;

/// `NV_ENC_CAPS_PARAM`
#[repr(C)]
pub(super) struct CapsParam {
    pub(super) version: u32,
    pub(super) caps: u32,
    pub(super) reserved: [u32; 62],
}

/// `NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS`
#[repr(C)]
pub(super) struct OpenSessionParams {
    pub(super) version: u32,
    pub(super) device_type: u32,
    pub(super) device: *mut c_void,
    pub(super) reserved: *mut c_void,
    pub(super) api_version: u32,
    pub(super) reserved1: [u32; 253],
    pub(super) reserved2: [*mut c_void; 64],
}

/// `NV_ENC_RC_PARAMS`
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct RcParams {
    pub(super) version: u32,
    pub(super) mode: u32,
    /// QP of P, B and I pictures.
    pub(super) constant_qp: [u32; 3],
    pub(super) average_bit_rate: u32,
    pub(super) max_bit_rate: u32,
    pub(super) vbv_buffer_size: u32,
    pub(super) vbv_initial_delay: u32,
    pub(super) flags: u32,
    pub(super) skipped: [u32; 12],
    pub(super) target_quality: u8,
    pub(super) target_quality_fraction: u8,
    pub(super) lookahead_depth: u16,
    pub(super) skipped1: [u32; 9],
}

/// `NV_ENC_CONFIG_H264_VUI_PARAMETERS`, which is also used for HEVC.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Vui {
    pub(super) skipped: [u32; 2],
    pub(super) signal_type_present: u32,
    pub(super) video_format: u32,
    pub(super) full_range: u32,
    pub(super) colour_description_present: u32,
    pub(super) primaries: u32,
    pub(super) transfer: u32,
    pub(super) matrix: u32,
    pub(super) chroma_location_present: u32,
    /// The chroma location in the top and the bottom field.
    pub(super) chroma_location: [u32; 2],
    pub(super) skipped1: [u32; 16],
}

/// `NV_ENC_VUI_VIDEO_FORMAT_UNSPECIFIED`
pub(super) const VIDEO_FORMAT_UNSPECIFIED: u32 = 5;

/// `NV_ENC_CONFIG_H264`
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct ConfigH264 {
    pub(super) flags: u32,
    pub(super) skipped: u32,
    pub(super) idr_period: u32,
    pub(super) skipped1: [u32; 15],
    pub(super) vui: Vui,
    pub(super) skipped2: [u32; 2],
    pub(super) chroma_format: u32,
    pub(super) skipped3: u32,
    pub(super) b_frames_as_references: u32,
    pub(super) skipped4: [u32; 269],
    pub(super) reserved: [*mut c_void; 64],
}

/// `NV_ENC_CONFIG_HEVC`
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct ConfigHevc {
    pub(super) skipped: [u32; 4],
    pub(super) flags: u32,
    pub(super) idr_period: u32,
    pub(super) skipped1: [u32; 10],
    pub(super) vui: Vui,
    pub(super) skipped2: u32,
    pub(super) b_frames_as_references: u32,
    pub(super) skipped3: [u32; 216],
    pub(super) reserved: [*mut c_void; 64],
}

/// `NV_ENC_CODEC_CONFIG`
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) union CodecConfig {
    pub(super) h264: ConfigH264,
    pub(super) hevc: ConfigHevc,
}

/// `NV_ENC_CONFIG`
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Config {
    pub(super) version: u32,
    pub(super) profile: Guid,
    pub(super) gop_length: u32,
    pub(super) frame_interval_p: i32,
    pub(super) skipped: u32,
    pub(super) field_mode: u32,
    pub(super) skipped1: u32,
    pub(super) rc: RcParams,
    pub(super) codec: CodecConfig,
    pub(super) reserved: [u32; 278],
    pub(super) reserved1: [*mut c_void; 64],
}

/// `NV_ENC_PRESET_CONFIG`
#[repr(C)]
pub(super) struct PresetConfig {
    pub(super) version: u32,
    pub(super) config: Config,
    pub(super) reserved: [u32; 255],
    pub(super) reserved1: [*mut c_void; 64],
}

/// `NV_ENC_INITIALIZE_PARAMS`
#[repr(C)]
pub(super) struct InitializeParams {
    pub(super) version: u32,
    pub(super) codec: Guid,
    pub(super) preset: Guid,
    pub(super) size: [u32; 2],
    /// The display aspect ratio.
    pub(super) aspect: [u32; 2],
    pub(super) frame_rate: [u32; 2],
    pub(super) skipped: u32,
    /// Whether the encoder selects the types of pictures.
    pub(super) enable_ptd: u32,
    pub(super) skipped1: [u32; 2],
    pub(super) skipped2: *mut c_void,
    pub(super) config: *mut Config,
    pub(super) skipped3: [u32; 10],
    pub(super) tuning: u32,
    pub(super) skipped4: [u32; 288],
    pub(super) reserved: [*mut c_void; 64],
}

/// `NV_ENC_CREATE_BITSTREAM_BUFFER`
#[repr(C)]
pub(super) struct CreateBitstreamBuffer {
    pub(super) version: u32,
    pub(super) skipped: [u32; 3],
    pub(super) buffer: *mut c_void,
    pub(super) skipped1: *mut c_void,
    pub(super) reserved: [u32; 58],
    pub(super) reserved1: [*mut c_void; 64],
}

/// `NV_ENC_REGISTER_RESOURCE`
#[repr(C)]
pub(super) struct RegisterResource {
    pub(super) version: u32,
    pub(super) resource_type: u32,
    pub(super) size: [u32; 2],
    pub(super) pitch: u32,
    pub(super) skipped: u32,
    pub(super) resource: *mut c_void,
    pub(super) registered: *mut c_void,
    pub(super) format: u32,
    /// `NV_ENC_BUFFER_USAGE`, where 0 is an input.
    pub(super) usage: u32,
    pub(super) skipped1: *mut c_void,
    pub(super) reserved: [u32; 247],
    pub(super) reserved1: [*mut c_void; 61],
}

/// `NV_ENC_MAP_INPUT_RESOURCE`
#[repr(C)]
pub(super) struct MapInputResource {
    pub(super) version: u32,
    pub(super) skipped: u32,
    pub(super) skipped1: *mut c_void,
    pub(super) registered: *mut c_void,
    pub(super) mapped: *mut c_void,
    pub(super) format: u32,
    pub(super) reserved: [u32; 251],
    pub(super) reserved1: [*mut c_void; 63],
}

/// `NV_ENC_PIC_PARAMS`
#[repr(C)]
pub(super) struct PicParams {
    pub(super) version: u32,
    pub(super) size: [u32; 2],
    pub(super) pitch: u32,
    pub(super) flags: u32,
    pub(super) index: u32,
    pub(super) timestamp: u64,
    pub(super) duration: u64,
    pub(super) input: *mut c_void,
    pub(super) output: *mut c_void,
    pub(super) skipped: *mut c_void,
    pub(super) format: u32,
    pub(super) structure: u32,
    pub(super) skipped1: [u64; 411],
}

/// `NV_ENC_LOCK_BITSTREAM`
#[repr(C)]
pub(super) struct LockBitstream {
    pub(super) version: u32,
    pub(super) skipped: u32,
    pub(super) output: *mut c_void,
    pub(super) skipped1: *mut c_void,
    pub(super) skipped2: [u32; 3],
    pub(super) size: u32,
    pub(super) skipped3: [u64; 2],
    pub(super) data: *mut c_void,
    pub(super) skipped4: [u32; 242],
    pub(super) reserved: [*mut c_void; 64],
}

// The sizes of the structures and the offsets of their fields on 64-bit Linux, as the C compiler reports them for the
// header file.
const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<CapsParam>() == 256);
    assert!(size_of::<OpenSessionParams>() == 1552);
    assert!(offset_of!(OpenSessionParams, api_version) == 24);
    assert!(size_of::<RcParams>() == 128);
    assert!(offset_of!(RcParams, flags) == 36);
    assert!(offset_of!(RcParams, target_quality) == 88);
    assert!(size_of::<Vui>() == 112);
    assert!(offset_of!(Vui, chroma_location) == 40);
    assert!(size_of::<ConfigH264>() == 1792);
    assert!(offset_of!(ConfigH264, vui) == 72);
    assert!(offset_of!(ConfigH264, chroma_format) == 192);
    assert!(offset_of!(ConfigH264, b_frames_as_references) == 200);
    assert!(size_of::<ConfigHevc>() == 1560);
    assert!(offset_of!(ConfigHevc, flags) == 16);
    assert!(offset_of!(ConfigHevc, vui) == 64);
    assert!(offset_of!(ConfigHevc, b_frames_as_references) == 180);
    assert!(size_of::<CodecConfig>() == 1792);
    assert!(size_of::<Config>() == 3584);
    assert!(offset_of!(Config, frame_interval_p) == 24);
    assert!(offset_of!(Config, field_mode) == 32);
    assert!(offset_of!(Config, rc) == 40);
    assert!(offset_of!(Config, codec) == 168);
    assert!(size_of::<PresetConfig>() == 5128);
    assert!(offset_of!(PresetConfig, config) == 8);
    assert!(size_of::<InitializeParams>() == 1808);
    assert!(offset_of!(InitializeParams, size) == 36);
    assert!(offset_of!(InitializeParams, enable_ptd) == 64);
    assert!(offset_of!(InitializeParams, config) == 88);
    assert!(offset_of!(InitializeParams, tuning) == 136);
    assert!(size_of::<CreateBitstreamBuffer>() == 776);
    assert!(offset_of!(CreateBitstreamBuffer, buffer) == 16);
    assert!(size_of::<RegisterResource>() == 1536);
    assert!(offset_of!(RegisterResource, resource) == 24);
    assert!(offset_of!(RegisterResource, format) == 40);
    assert!(size_of::<MapInputResource>() == 1544);
    assert!(offset_of!(MapInputResource, mapped) == 24);
    assert!(size_of::<PicParams>() == 3360);
    assert!(offset_of!(PicParams, timestamp) == 24);
    assert!(offset_of!(PicParams, output) == 48);
    assert!(offset_of!(PicParams, structure) == 68);
    assert!(size_of::<LockBitstream>() == 1544);
    assert!(offset_of!(LockBitstream, size) == 36);
    assert!(offset_of!(LockBitstream, data) == 56);
};

/// The flag in the version of structures whose layout depends on the version of the interface.
const VARIABLE: u32 = 1 << 31;

macro_rules! versions {
    ($($name:ident = $version:expr;)*) => {$(
        impl $name {
            /// Returns the structure with its version and zeros, which the interface requires for reserved fields.
            pub(super) fn zeroed() -> Self {
                // SAFETY: all fields are integers and pointers, for which zero is a valid value.
                let zeroed: Self = unsafe { std::mem::zeroed() };
                Self { version: $version, ..zeroed }
            }
        }
    )*};
}

versions! {
    CapsParam = structure(1);
    OpenSessionParams = structure(1);
    Config = structure(8) | VARIABLE;
    PresetConfig = structure(4) | VARIABLE;
    InitializeParams = structure(5) | VARIABLE;
    CreateBitstreamBuffer = structure(1);
    RegisterResource = structure(4);
    MapInputResource = structure(4);
    PicParams = structure(6) | VARIABLE;
    LockBitstream = structure(2);
}
