//! A parser of an H.264 or HEVC stream, and the hardware decoder that it controls.
//!
//! The parser calls back when a sequence of pictures begins, when a picture can be decoded, and when the next picture
//! in display order is complete. The last callback copies the picture to a frame of the pool, so that the decoder can
//! reuse its own memory at once.

use std::collections::VecDeque;
use std::ffi::{c_int, c_short, c_ulong, c_void};
use std::ptr;
use std::rc::Rc;

use cust_raw::driver_sys::{self as sys, CUresult};
use glam::UVec2;

use super::library::{
    self, CHROMA_420, Codec, DecodeCreateInfo, DecodeStatus, DecoderHandle, DisplayInfo, Functions,
    ParserHandle, ParserParams, PictureParams, ProcParams, SourceDataPacket, VideoFormat,
};
use crate::device::{Device, DeviceError, Stream};
use crate::frame::{DevicePlane, FrameFormat};
use crate::io::video::constant_rate::TICKS;
use crate::io::video::frame::{DecodedFrame, FramePool};

/// The number of pictures that the parser holds back before it displays them, so that several are being decoded while
/// one is copied.
const DISPLAY_DELAY: u32 = 4;

/// The number of decoded pictures that can be mapped at the same time. Each is copied and unmapped at once.
const MAPPED: c_ulong = 2;

/// The maximum number of frames that one packet may complete, which limits the memory that a file can claim.
const MAX_READY: usize = 64;

/// The highest number of bits per sample that a standard has, minus 8.
const MAX_DEPTH_MINUS8: u8 = 8;

/// The largest side of encoded pictures that a decoder has.
const MAX_CODED_SIDE: u32 = 16_384;

/// The error of a decoder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NvdecError {
    /// A function of NVDEC failed.
    #[error("{function} failed: {}", code.text())]
    #[expect(missing_docs, reason = "the message explains the fields")]
    Call { function: &'static str, code: CUresult },
    /// A decoded picture could not be copied.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// One encoded picture of the file contains too many pictures.
    #[error("a packet contains more than {MAX_READY} pictures; the file is damaged")]
    Crowded,
    /// The stream changes to a format that the decoder does not support.
    #[error("the stream changes to {0}, which is not supported")]
    Format(String),
}

/// A parser and its decoder.
pub(super) struct DecodeSession {
    library: &'static Functions,
    parser: ParserHandle,
    /// The state of the callbacks, which the parser accesses during its calls. The memory comes from a `Box`.
    state: *mut State,
}

// SAFETY: the parser and the decoders can be used on any thread, one at a time. The state, with all clones of its
// reference-counted decoders, is not accessed elsewhere.
unsafe impl Send for DecodeSession {}

struct State {
    library: &'static Functions,
    device: Device,
    stream: Stream,
    pool: FramePool,
    /// The decoder of the current sequence. `None` before the first sequence, and while a damaged one is skipped.
    decoder: Option<Rc<Decoder>>,
    /// Whether a sequence was decoded, so that the format of the stream is known.
    started: bool,
    /// The decoder of each picture that awaits its display, by the picture's index. A sequence may begin before the
    /// last pictures of the sequence before are displayed.
    owners: Vec<Option<Rc<Decoder>>>,
    ready: VecDeque<(DecodedFrame, i64)>,
    error: Option<NvdecError>,
    /// The number of pictures that the decoder reported as damaged.
    damaged: u64,
}

impl DecodeSession {
    /// Creates a parser for a stream whose pictures become frames of `format`.
    pub(super) fn new(
        library: &'static Functions,
        device: &Device,
        codec: Codec,
        format: FrameFormat,
    ) -> Result<Self, NvdecError> {
        let state = Box::into_raw(Box::new(State {
            library,
            device: device.clone(),
            stream: device.stream()?,
            pool: FramePool::new(device, format),
            decoder: None,
            started: false,
            owners: Vec::new(),
            ready: VecDeque::new(),
            error: None,
            damaged: 0,
        }));
        // From here on, drop frees the state.
        let mut session = Self { library, parser: ptr::null_mut(), state };
        let mut params = ParserParams {
            codec,
            // The callback `sequence` returns the number that the stream needs.
            max_num_decode_surfaces: 1,
            clock_rate: TICKS,
            // Decode damaged pictures, too, so that no frame is lost.
            error_threshold: 100,
            max_display_delay: DISPLAY_DELAY,
            user_data: state.cast(),
            sequence: Some(sequence),
            decode: Some(decode),
            display: Some(display),
            ..ParserParams::zeroed()
        };
        // SAFETY: the parameters and the result are local variables. The state outlives the parser.
        let created =
            unsafe { (library.create_video_parser)(&raw mut session.parser, &raw mut params) };
        check("cuvidCreateVideoParser", created)?;
        Ok(session)
    }

    /// Parses an encoded picture, and decodes it.
    pub(super) fn decode(&mut self, bytes: &[u8], timestamp: i64) -> Result<(), NvdecError> {
        self.parse(SourceDataPacket {
            flags: library::TIMESTAMP | library::END_OF_PICTURE,
            payload_size: bytes.len() as c_ulong,
            payload: bytes.as_ptr(),
            timestamp,
        })
    }

    /// Completes all pictures at the end of the stream.
    pub(super) fn finish(&mut self) -> Result<(), NvdecError> {
        self.parse(SourceDataPacket {
            flags: library::END_OF_STREAM,
            payload_size: 0,
            payload: ptr::null(),
            timestamp: 0,
        })
    }

    fn parse(&mut self, mut packet: SourceDataPacket) -> Result<(), NvdecError> {
        // SAFETY: `parse` is the only user of the state at this time.
        let entered = unsafe { enter(&(*self.state).device) }?;
        // SAFETY: the packet is valid during the call. The callbacks access the state, which nothing borrows.
        let parsed = unsafe { (self.library.parse_video_data)(self.parser, &raw mut packet) };
        drop(entered);
        // SAFETY: the call is over, so that the parser does not access the state.
        let error = unsafe { (*self.state).error.take() };
        match error {
            Some(error) => Err(error),
            None => check("cuvidParseVideoData", parsed),
        }
    }

    /// Returns the next frame in display order with its timestamp, or `None` if more pictures must be decoded first.
    pub(super) fn frame(&mut self) -> Option<(DecodedFrame, i64)> {
        // SAFETY: the parser accesses the state only during calls of `parse`.
        unsafe { (*self.state).ready.pop_front() }
    }

    /// Returns the number of pictures that the decoder reported as damaged.
    pub(super) fn damaged(&self) -> u64 {
        // SAFETY: the parser accesses the state only during calls of `parse`.
        unsafe { (*self.state).damaged }
    }
}

impl Drop for DecodeSession {
    fn drop(&mut self) {
        // SAFETY: the state is valid. After the parser is destroyed, nothing else accesses it. The decoder, which belongs
        // to it, is dropped while its context is current.
        unsafe {
            let entered = enter(&(*self.state).device);
            if !self.parser.is_null() {
                // Ignore an error, which earlier calls have reported.
                let _ = (self.library.destroy_video_parser)(self.parser);
            }
            (*self.state).decoder = None;
            (*self.state).owners.clear();
            drop(entered);
            drop(Box::from_raw(self.state));
        }
    }
}

/// A hardware decoder. Its context must be current in all calls, and when it is dropped.
struct Decoder {
    library: &'static Functions,
    handle: DecoderHandle,
    /// The number of pictures that it has memory for.
    surfaces: u32,
    /// The size of the encoded pictures, and the sides of the part that is shown.
    area: ([u32; 2], [c_int; 4]),
}

impl Decoder {
    /// Creates a decoder for a sequence, whose pictures it scales to `size`.
    fn new(
        library: &'static Functions,
        format: &VideoFormat,
        bits: u8,
        size: UVec2,
    ) -> Result<Self, NvdecError> {
        let short = |side: c_int| c_short::try_from(side).unwrap_or(c_short::MAX);
        let [width, height] = [format.coded_width, format.coded_height].map(c_ulong::from);
        let [target_width, target_height] = size.to_array().map(c_ulong::from);
        let mut info = DecodeCreateInfo {
            width,
            height,
            num_decode_surfaces: surfaces(format).into(),
            codec: format.codec,
            chroma_format: format.chroma_format,
            creation_flags: library::PREFER_CUVID,
            bit_depth_minus8: format.bit_depth_luma_minus8.into(),
            max_width: width,
            max_height: height,
            display_area: library::ShortRect {
                left: short(format.left),
                top: short(format.top),
                right: short(format.right),
                bottom: short(format.bottom),
            },
            output_format: if bits > 8 { library::SURFACE_P016 } else { library::SURFACE_NV12 },
            deinterlace_mode: library::WEAVE,
            target_width,
            target_height,
            num_output_surfaces: MAPPED,
            ..DecodeCreateInfo::zeroed()
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the parameters and the result are local variables.
        let created = unsafe { (library.create_decoder)(&raw mut handle, &raw mut info) };
        check("cuvidCreateDecoder", created)?;
        Ok(Self { library, handle, surfaces: surfaces(format), area: area(format) })
    }

    /// Returns whether this decoder, which was created for an earlier sequence, can decode this one.
    fn fits(&self, format: &VideoFormat) -> bool {
        self.area == area(format) && self.surfaces >= surfaces(format)
    }

    /// Calls `read` with the planes of a decoded picture, which are valid during the call.
    fn map(
        &self,
        info: &DisplayInfo,
        format: FrameFormat,
        stream: &Stream,
        read: impl FnOnce(&[DevicePlane]) -> Result<DecodedFrame, DeviceError>,
    ) -> Result<DecodedFrame, NvdecError> {
        let mut params = ProcParams {
            progressive_frame: info.progressive_frame,
            second_field: info.repeat_first_field + 1,
            top_field_first: info.top_field_first,
            unpaired_field: c_int::from(info.repeat_first_field < 0),
            output_stream: stream.as_raw(),
            ..ProcParams::zeroed()
        };
        let (mut address, mut pitch) = (0, 0);
        // SAFETY: the parameters and the results are local variables, and the index comes from the parser.
        let mapped = unsafe {
            (self.library.map_video_frame)(
                self.handle,
                info.picture_index,
                &raw mut address,
                &raw mut pitch,
                &raw mut params,
            )
        };
        check("cuvidMapVideoFrame64", mapped)?;
        let pitch = pitch as usize;
        // The chroma plane follows the luma plane, whose height is even.
        let rows = format.size.y.next_multiple_of(2) as usize;
        let luma = DevicePlane { address, pitch };
        let chroma = DevicePlane { address: address + (pitch * rows) as u64, pitch };
        let result = read(&[luma, chroma]);
        // SAFETY: the picture is mapped, and `read` does not use it any more.
        let unmapped = unsafe { (self.library.unmap_video_frame)(self.handle, address) };
        let frame = result?;
        check("cuvidUnmapVideoFrame64", unmapped)?;
        Ok(frame)
    }

    /// Returns whether the decoder found errors in a picture that it has decoded.
    fn is_damaged(&self, picture: c_int) -> bool {
        let mut status = DecodeStatus::zeroed();
        // SAFETY: the result is a local variable.
        let asked =
            unsafe { (self.library.get_decode_status)(self.handle, picture, &raw mut status) };
        asked == CUresult::CUDA_SUCCESS && status.status >= library::STATUS_ERROR
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // Ignore an error, which earlier calls have reported.
        // SAFETY: the handle is valid, and its context is current.
        let _ = unsafe { (self.library.destroy_decoder)(self.handle) };
    }
}

/// Returns the number of pictures that the decoder needs memory for.
fn surfaces(format: &VideoFormat) -> u32 {
    u32::from(format.min_num_decode_surfaces) + DISPLAY_DELAY
}

/// Returns whether the pictures are larger than any decoder supports.
fn is_huge(format: &VideoFormat) -> bool {
    format.coded_width.max(format.coded_height) > MAX_CODED_SIDE
}

/// Returns the size of the encoded pictures, and the sides of the part that is shown.
fn area(format: &VideoFormat) -> ([u32; 2], [c_int; 4]) {
    let shown = [format.left, format.top, format.right, format.bottom];
    ([format.coded_width, format.coded_height], shown)
}

impl State {
    fn begin(&mut self, format: &VideoFormat) -> Result<c_int, NvdecError> {
        let wanted = self.pool.format();
        let bits = wanted.pixels.bits();
        let depths = [format.bit_depth_luma_minus8, format.bit_depth_chroma_minus8];
        if self.started && (depths.iter().any(|d| *d > MAX_DEPTH_MINUS8) || is_huge(format)) {
            // Damaged parameters. Skip the pictures up to the next sequence.
            self.decoder = None;
            return Ok(surfaces(format) as c_int);
        }
        if format.chroma_format != CHROMA_420 || depths != [bits - 8; 2] {
            let chroma = ["4:0:0", "4:2:0", "4:2:2", "4:4:4"];
            let chroma = chroma.get(format.chroma_format as usize).unwrap_or(&"unknown chroma");
            let depth = u16::from(depths[0]) + 8;
            return Err(NvdecError::Format(format!("{chroma} with {depth} bits per sample")));
        }
        if let Some(decoder) = self.decoder.as_ref().filter(|decoder| decoder.fits(format)) {
            return Ok(decoder.surfaces as c_int);
        }
        self.decoder = None;
        self.decoder = Some(Rc::new(Decoder::new(self.library, format, bits, wanted.size)?));
        self.started = true;
        Ok(surfaces(format) as c_int)
    }

    /// Starts to decode a picture.
    ///
    /// # Safety
    /// The parser must have passed the parameters of the picture.
    unsafe fn decode(&mut self, picture: *mut PictureParams) -> Result<(), NvdecError> {
        // SAFETY: the caller guarantees that the parameters are valid.
        let Ok(index) = usize::try_from(unsafe { (*picture).curr_pic_idx }) else { return Ok(()) };
        if self.owners.len() <= index {
            self.owners.resize(index + 1, None);
        }
        // If the picture cannot be decoded, no earlier picture must be displayed instead.
        self.owners[index] = None;
        let Some(decoder) = &self.decoder else {
            self.damaged += 1;
            return Ok(());
        };
        // SAFETY: the caller guarantees that the parameters are valid.
        let decoded = unsafe { (self.library.decode_picture)(decoder.handle, picture) };
        check("cuvidDecodePicture", decoded)?;
        self.owners[index] = Some(decoder.clone());
        Ok(())
    }

    fn display(&mut self, info: &DisplayInfo) -> Result<(), NvdecError> {
        let index = usize::try_from(info.picture_index).ok();
        let owner = index.and_then(|index| self.owners.get_mut(index));
        // A picture without an owner was skipped.
        let Some(decoder) = owner.and_then(Option::take) else { return Ok(()) };
        if self.ready.len() >= MAX_READY {
            return Err(NvdecError::Crowded);
        }
        let (pool, stream) = (&self.pool, &self.stream);
        let frame = decoder.map(info, pool.format(), stream, |planes| {
            // SAFETY: the planes are on the device of the stream. The decoder was created for the format of the pool.
            pool.filled(|frame| unsafe { frame.copy_from(stream, planes) })
        })?;
        self.damaged += u64::from(decoder.is_damaged(info.picture_index));
        self.ready.push_back((frame, info.timestamp));
        Ok(())
    }

    /// Stores the error of a callback, and returns the callback's result.
    fn settle(&mut self, result: Result<c_int, NvdecError>) -> c_int {
        result.unwrap_or_else(|error| {
            self.error.get_or_insert(error);
            0
        })
    }
}

/// Begins a sequence, and returns the number of pictures that the decoder has memory for.
unsafe extern "C" fn sequence(state: *mut c_void, format: *mut VideoFormat) -> c_int {
    // SAFETY: the parser passes the state, which nothing else borrows, and a valid format.
    let (state, format) = unsafe { (&mut *state.cast::<State>(), &*format) };
    let begun = state.begin(format);
    state.settle(begun)
}

/// Starts to decode a picture.
unsafe extern "C" fn decode(state: *mut c_void, picture: *mut PictureParams) -> c_int {
    // SAFETY: the parser passes the state, which nothing else borrows.
    let state = unsafe { &mut *state.cast::<State>() };
    // SAFETY: the parser passes valid parameters.
    let decoded = unsafe { state.decode(picture) };
    state.settle(decoded.map(|()| 1))
}

/// Copies the next picture in display order to a frame.
unsafe extern "C" fn display(state: *mut c_void, info: *mut DisplayInfo) -> c_int {
    // SAFETY: the parser passes the state, which nothing else borrows.
    let state = unsafe { &mut *state.cast::<State>() };
    // SAFETY: the parser passes a valid picture, or null at the end of the stream.
    let Some(info) = (unsafe { info.as_ref() }) else { return 1 };
    let displayed = state.display(info).map(|()| 1);
    state.settle(displayed)
}

fn check(function: &'static str, code: CUresult) -> Result<(), NvdecError> {
    code.to_result().map_err(|code| NvdecError::Call { function, code })
}

/// A guard that keeps the context of a GPU current on this thread. For the CPU, it does nothing.
pub(super) struct Entered {
    pushed: bool,
}

pub(super) fn enter(device: &Device) -> Result<Entered, NvdecError> {
    let context = device.as_context();
    let pushed = !context.is_null();
    if pushed {
        // SAFETY: the context exists as long as the device.
        check("cuCtxPushCurrent", unsafe { sys::cuCtxPushCurrent_v2(context) })?;
    }
    Ok(Entered { pushed })
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.pushed {
            let mut popped = ptr::null_mut();
            // SAFETY: `enter` has pushed a context on this thread, and the result is a local variable.
            let _ = unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped) };
        }
    }
}
