//! The functions of NVDEC in `libnvcuvid.so.1`, which is part of the NVIDIA driver and is loaded at run time.
//!
//! The declarations follow `nvcuvid.h` and `cuviddec.h` of NVIDIA's Video Codec SDK 13.0, and hold for all versions
//! from
//! 8.0. They omit the parameters of a picture, which the parser passes on to the decoder.

use std::ffi::{
    OsStr, c_char, c_int, c_long, c_short, c_uchar, c_uint, c_ulong, c_ulonglong, c_void,
};
use std::sync::LazyLock;

use cust_raw::driver_sys::{CUresult, CUstream};
use libloading::Library;

/// The name of the library.
pub(super) const NAME: &str = "libnvcuvid.so.1";

/// Declares the functions that are called, and loads them.
macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*);)*) => {
        /// The functions of the library.
        pub(super) struct Functions {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> CUresult,)*
            _library: Library,
        }

        impl Functions {
            /// Loads the functions from a library.
            pub(super) fn open(name: &OsStr) -> Result<Self, libloading::Error> {
                // SAFETY: loading the library of the driver has no side effects that other code could observe.
                let library = unsafe { Library::new(name) }?;
                Ok(Self {
                    // SAFETY: the signatures are those of the header files.
                    $($field: *unsafe { library.get($name) }?,)*
                    _library: library,
                })
            }
        }
    };
}

functions! {
    get_decoder_caps = "cuvidGetDecoderCaps": fn(*mut DecodeCaps);
    create_decoder = "cuvidCreateDecoder": fn(*mut DecoderHandle, *mut DecodeCreateInfo);
    destroy_decoder = "cuvidDestroyDecoder": fn(DecoderHandle);
    decode_picture = "cuvidDecodePicture": fn(DecoderHandle, *mut PictureParams);
    get_decode_status = "cuvidGetDecodeStatus": fn(DecoderHandle, c_int, *mut DecodeStatus);
    map_video_frame = "cuvidMapVideoFrame64":
        fn(DecoderHandle, c_int, *mut c_ulonglong, *mut c_uint, *mut ProcParams);
    unmap_video_frame = "cuvidUnmapVideoFrame64": fn(DecoderHandle, c_ulonglong);
    create_video_parser = "cuvidCreateVideoParser": fn(*mut ParserHandle, *mut ParserParams);
    parse_video_data = "cuvidParseVideoData": fn(ParserHandle, *mut SourceDataPacket);
    destroy_video_parser = "cuvidDestroyVideoParser": fn(ParserHandle);
}

/// Returns the functions, or the reason why the library cannot be loaded.
pub(super) fn functions() -> Result<&'static Functions, String> {
    static FUNCTIONS: LazyLock<Result<Functions, String>> =
        LazyLock::new(|| Functions::open(NAME.as_ref()).map_err(|error| error.to_string()));
    FUNCTIONS.as_ref().map_err(Clone::clone)
}

/// `CUvideodecoder`
pub(super) type DecoderHandle = *mut c_void;
/// `CUvideoparser`
pub(super) type ParserHandle = *mut c_void;

/// `cudaVideoCodec`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Codec(pub(super) c_int);

impl Codec {
    pub(super) const H264: Self = Self(4);
    pub(super) const HEVC: Self = Self(8);
}

/// `cudaVideoChromaFormat_420`
pub(super) const CHROMA_420: c_int = 1;
/// `cudaVideoSurfaceFormat_NV12`
pub(super) const SURFACE_NV12: c_int = 0;
/// `cudaVideoSurfaceFormat_P016`, whose upper 10 bits contain a sample of 10 bits.
pub(super) const SURFACE_P016: c_int = 1;
/// `cudaVideoDeinterlaceMode_Weave`, which keeps both fields.
pub(super) const WEAVE: c_int = 0;
/// `cudaVideoCreate_PreferCUVID`, which selects the hardware.
pub(super) const PREFER_CUVID: c_ulong = 4;
/// `cuvidDecodeStatus_Error`; the only higher status is `cuvidDecodeStatus_Error_Concealed`.
pub(super) const STATUS_ERROR: c_int = 8;
/// `CUVID_PKT_ENDOFSTREAM`
pub(super) const END_OF_STREAM: c_ulong = 1;
/// `CUVID_PKT_TIMESTAMP`
pub(super) const TIMESTAMP: c_ulong = 2;
/// `CUVID_PKT_ENDOFPICTURE`
pub(super) const END_OF_PICTURE: c_ulong = 8;

/// `CUVIDDECODECAPS`
#[derive(Default)]
#[repr(C)]
pub(super) struct DecodeCaps {
    pub(super) codec: c_int,
    pub(super) chroma_format: c_int,
    pub(super) bit_depth_minus8: c_uint,
    pub(super) reserved1: [c_uint; 3],
    pub(super) is_supported: c_uchar,
    pub(super) num_nvdecs: c_uchar,
    pub(super) output_format_mask: u16,
    pub(super) max_width: c_uint,
    pub(super) max_height: c_uint,
    /// The maximum of width × height / 256.
    pub(super) max_mb_count: c_uint,
    pub(super) min_width: u16,
    pub(super) min_height: u16,
    pub(super) is_histogram_supported: c_uchar,
    pub(super) counter_bit_depth: c_uchar,
    pub(super) max_histogram_bins: u16,
    pub(super) reserved3: [c_uint; 10],
}

/// A rectangle of [`DecodeCreateInfo`].
#[derive(Default)]
#[repr(C)]
pub(super) struct ShortRect {
    pub(super) left: c_short,
    pub(super) top: c_short,
    pub(super) right: c_short,
    pub(super) bottom: c_short,
}

/// `CUVIDDECODECREATEINFO`
#[repr(C)]
pub(super) struct DecodeCreateInfo {
    pub(super) width: c_ulong,
    pub(super) height: c_ulong,
    pub(super) num_decode_surfaces: c_ulong,
    pub(super) codec: Codec,
    pub(super) chroma_format: c_int,
    pub(super) creation_flags: c_ulong,
    pub(super) bit_depth_minus8: c_ulong,
    pub(super) intra_decode_only: c_ulong,
    pub(super) max_width: c_ulong,
    pub(super) max_height: c_ulong,
    pub(super) reserved1: c_ulong,
    pub(super) display_area: ShortRect,
    pub(super) output_format: c_int,
    pub(super) deinterlace_mode: c_int,
    pub(super) target_width: c_ulong,
    pub(super) target_height: c_ulong,
    pub(super) num_output_surfaces: c_ulong,
    pub(super) lock: *mut c_void,
    pub(super) target_rect: ShortRect,
    pub(super) enable_histogram: c_ulong,
    pub(super) reserved2: [c_ulong; 4],
}

/// The start of `CUVIDPICPARAMS`. The parser fills the structure and the decoder reads it; this program passes the
/// pointer on.
#[repr(C)]
pub(super) struct PictureParams {
    pic_width_in_mbs: c_int,
    frame_height_in_mbs: c_int,
    pub(super) curr_pic_idx: c_int,
}

/// `CUVIDPROCPARAMS`
#[repr(C)]
pub(super) struct ProcParams {
    pub(super) progressive_frame: c_int,
    pub(super) second_field: c_int,
    pub(super) top_field_first: c_int,
    pub(super) unpaired_field: c_int,
    pub(super) reserved_flags: c_uint,
    pub(super) reserved_zero: c_uint,
    pub(super) raw_input_dptr: c_ulonglong,
    pub(super) raw_input_pitch: c_uint,
    pub(super) raw_input_format: c_uint,
    pub(super) raw_output_dptr: c_ulonglong,
    pub(super) raw_output_pitch: c_uint,
    pub(super) reserved1: c_uint,
    pub(super) output_stream: CUstream,
    pub(super) reserved: [c_uint; 46],
    pub(super) histogram_dptr: *mut c_ulonglong,
    pub(super) reserved2: [*mut c_void; 1],
}

/// `CUVIDGETDECODESTATUS`
#[repr(C)]
pub(super) struct DecodeStatus {
    pub(super) status: c_int,
    reserved: [c_uint; 31],
    reserved_pointers: [*mut c_void; 8],
}

/// `CUVIDEOFORMAT`, without the description of the video signal, which ffprobe has read.
#[repr(C)]
pub(super) struct VideoFormat {
    pub(super) codec: Codec,
    frame_rate: [c_uint; 2],
    progressive_sequence: c_uchar,
    pub(super) bit_depth_luma_minus8: c_uchar,
    pub(super) bit_depth_chroma_minus8: c_uchar,
    pub(super) min_num_decode_surfaces: c_uchar,
    pub(super) coded_width: c_uint,
    pub(super) coded_height: c_uint,
    pub(super) left: c_int,
    pub(super) top: c_int,
    pub(super) right: c_int,
    pub(super) bottom: c_int,
    pub(super) chroma_format: c_int,
    bitrate: c_uint,
    display_aspect_ratio: [c_int; 2],
    video_signal_description: [c_uchar; 4],
    seqhdr_data_length: c_uint,
}

/// `CUVIDPARSERDISPINFO`
#[repr(C)]
pub(super) struct DisplayInfo {
    pub(super) picture_index: c_int,
    pub(super) progressive_frame: c_int,
    pub(super) top_field_first: c_int,
    /// The number of additional fields, or -1 for a single field.
    pub(super) repeat_first_field: c_int,
    pub(super) timestamp: i64,
}

/// `CUVIDSOURCEDATAPACKET`
#[repr(C)]
pub(super) struct SourceDataPacket {
    pub(super) flags: c_ulong,
    pub(super) payload_size: c_ulong,
    pub(super) payload: *const c_uchar,
    pub(super) timestamp: i64,
}

/// A callback of the parser. It returns 0 after a failure.
type Callback<T> = unsafe extern "C" fn(*mut c_void, *mut T) -> c_int;

/// `CUVIDPARSERPARAMS`
#[repr(C)]
pub(super) struct ParserParams {
    pub(super) codec: Codec,
    pub(super) max_num_decode_surfaces: c_uint,
    pub(super) clock_rate: c_uint,
    pub(super) error_threshold: c_uint,
    pub(super) max_display_delay: c_uint,
    pub(super) flags: c_uint,
    pub(super) reserved1: [c_uint; 4],
    pub(super) user_data: *mut c_void,
    pub(super) sequence: Option<Callback<VideoFormat>>,
    pub(super) decode: Option<Callback<PictureParams>>,
    pub(super) display: Option<Callback<DisplayInfo>>,
    pub(super) operating_point: *const c_char,
    pub(super) sei_message: *const c_char,
    pub(super) reserved2: [*mut c_void; 5],
    pub(super) ext_video_info: *mut c_void,
}

// The sizes of the structures on 64-bit Linux, as the C compiler reports them for the header files.
const _: () = {
    assert!(size_of::<c_long>() == 8);
    assert!(size_of::<DecodeCaps>() == 88);
    assert!(size_of::<DecodeCreateInfo>() == 176);
    assert!(size_of::<ProcParams>() == 264);
    assert!(size_of::<DecodeStatus>() == 192);
    assert!(size_of::<VideoFormat>() == 64);
    assert!(size_of::<DisplayInfo>() == 24);
    assert!(size_of::<SourceDataPacket>() == 32);
    assert!(size_of::<ParserParams>() == 136);
};

macro_rules! zeroed {
    ($($name:ident),*) => {$(
        impl $name {
            /// Returns a structure of zeros, which the interface requires for reserved fields.
            pub(super) fn zeroed() -> Self {
                // SAFETY: all fields are integers and pointers, for which zero is a valid value.
                unsafe { std::mem::zeroed() }
            }
        }
    )*};
}

zeroed!(DecodeCreateInfo, ProcParams, DecodeStatus, ParserParams);
