//! Decodes H.264 and HEVC files with NVDEC, the video decoder of NVIDIA GPUs, to frames in device memory.
//!
//! ffmpeg splits the file into encoded pictures (`ffmpeg/packets`), the driver's library `libnvcuvid.so.1` decodes
//! them, and `constant_rate` repeats and drops frames. The frames equal those of ffmpeg's decoder, except in damaged
//! pictures, which each decoder conceals in its own way.
//!
//! [`Plan::new`] lists the videos that are left to ffmpeg: those that must be rotated or converted, that have frames
//! which are not shown, or no timestamps, or no key frame at their start, or whose codec, pixel format or size the GPU
//! does not support.

mod library;
mod session;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use thiserror::Error;

use self::library::{CHROMA_420, Codec, DecodeCaps, Functions};
pub use self::session::NvdecError;
use self::session::{DecodeSession, enter};
use super::constant_rate::{ConstantRate, MAX_HOLE};
use super::ffmpeg::{Killer, Packets, Probe};
use super::frame::{DecodedFrame, VideoFrame};
use super::read_frame::NextFrame;
use super::{Stop, VideoError};
use crate::device::Device;
use crate::frame::{FrameFormat, PixelFormat, Rate};

/// The decoder of encoded files.
#[derive(Clone, Debug, Default)]
pub enum VideoDecoder {
    /// ffmpeg, which decodes all formats on the CPU.
    #[default]
    Ffmpeg,
    /// NVDEC of this GPU. Files that it does not support are errors.
    Nvdec(Device),
    /// NVDEC of this device if it is a GPU that supports the file, otherwise ffmpeg.
    Auto(Device),
}

impl VideoDecoder {
    /// Starts to decode a file with NVDEC. Returns `None` if ffmpeg must decode it. `probe` describes the file.
    pub(super) fn start(
        &self,
        path: &Path,
        probe: &Probe,
        rate: Rate,
        format: FrameFormat,
        stop: &Stop,
    ) -> Result<Option<Nvdec>, VideoError> {
        let start = |device| {
            let plan = Plan::new(device, probe, format).map_err(|reason| VideoError::NoNvdec {
                file: path.to_owned(),
                reason: reason.into(),
            })?;
            plan.start(path, probe, rate, stop)
        };
        match self {
            Self::Ffmpeg => Ok(None),
            Self::Nvdec(device) => start(device).map(Some),
            // Decode the first frame, which shows whether the GPU and the file cooperate.
            Self::Auto(device) => match start(device).and_then(Nvdec::with_first) {
                Ok(nvdec) => Ok(Some(nvdec)),
                Err(VideoError::NoNvdec { reason, .. }) => {
                    tracing::debug!("{}: ffmpeg decodes this video: {reason}", path.display());
                    Ok(None)
                }
                Err(error) => {
                    tracing::info!("{error}; ffmpeg decodes this video");
                    Ok(None)
                }
            },
        }
    }
}

/// The reason why NVDEC does not decode a video.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum NoNvdec {
    /// The device is the CPU.
    #[error("the device is the CPU; select a GPU as `device`")]
    NoGpu,
    /// The library of the driver cannot be loaded.
    #[error("{0}; {name} belongs to the NVIDIA driver; in a container, set NVIDIA_DRIVER_CAPABILITIES to compute,video,utility", name = library::NAME)]
    Library(String),
    /// The codec is neither H.264 nor HEVC.
    #[error("its codec is {0}, but only H.264 and HEVC are supported")]
    Codec(String),
    /// The pixel format is not 4:2:0 with 8 or 10 bits.
    #[error("its pixel format is {0}, but only 4:2:0 with 8 or 10 bits is supported")]
    Pixels(String),
    /// The frames must be rotated or flipped.
    #[error("its frames must be rotated or flipped")]
    Rotated,
    /// An edit list omits frames of the file.
    #[error("its edit list omits frames")]
    Edited,
    /// The file begins between key frames. Decoders differ in the first frame that they output.
    #[error(
        "it begins between key frames; remove the part before the first key frame, for example with ffmpeg -ss SECONDS -i FILE -c copy OUTPUT.mkv"
    )]
    NoKeyFrame,
    /// The frames must be converted to another pixel format.
    #[error(
        "its frames must be converted to {0}, the format that the output or the first video requires"
    )]
    Converted(PixelFormat),
    /// The file does not state timestamps.
    #[error(
        "a raw bitstream has no timestamps; put it into a container, for example with ffmpeg -i FILE -c copy FILE.mkv"
    )]
    NoTimestamps,
    /// The GPU does not decode such videos.
    #[error("the GPU does not decode {codec} of {bits} bits with {}×{} pixels", size[0], size[1])]
    Unsupported { codec: &'static str, bits: u8, size: [u32; 2] },
    /// The GPU does not tell its abilities.
    #[error("the abilities of the decoder cannot be read: {0}")]
    Unknown(String),
}

/// A video that NVDEC can decode.
pub(super) struct Plan {
    library: &'static Functions,
    device: Device,
    codec: Codec,
    format: FrameFormat,
}

impl Plan {
    /// Checks whether the GPU can decode the video that `probe` describes to frames of `format`.
    pub(super) fn new(
        device: &Device,
        probe: &Probe,
        format: FrameFormat,
    ) -> Result<Self, NoNvdec> {
        if device.cuda_info().is_none() {
            return Err(NoNvdec::NoGpu);
        }
        let (codec, name) = match probe.codec.as_str() {
            "h264" => (Codec::H264, "H.264"),
            "hevc" => (Codec::HEVC, "HEVC"),
            other => return Err(NoNvdec::Codec(other.to_owned())),
        };
        let bits = match probe.pixels() {
            "yuv420p" | "yuvj420p" => 8,
            "yuv420p10le" => 10,
            other => return Err(NoNvdec::Pixels(other.to_owned())),
        };
        let stored = probe.stored().map(|encoding| match bits {
            8 => PixelFormat::Nv12(encoding),
            _ => PixelFormat::P010(encoding),
        });
        if stored != Some(format.pixels) {
            return Err(NoNvdec::Converted(format.pixels));
        }
        if probe.rotated {
            return Err(NoNvdec::Rotated);
        }
        if probe.lacks_timestamps {
            return Err(NoNvdec::NoTimestamps);
        }
        if probe.omits_frames {
            return Err(NoNvdec::Edited);
        }
        if probe.late != 0.0 {
            return Err(NoNvdec::NoKeyFrame);
        }
        let library = library::functions().map_err(NoNvdec::Library)?;
        let caps = caps(library, device, codec, bits)?;
        let size = format.size.to_array();
        let output = if bits > 8 { library::SURFACE_P016 } else { library::SURFACE_NV12 };
        let fits = caps.is_supported != 0
            && caps.output_format_mask >> output & 1 != 0
            && size.iter().all(|side| side.is_multiple_of(2))
            && (u32::from(caps.min_width)..=caps.max_width).contains(&size[0])
            && (u32::from(caps.min_height)..=caps.max_height).contains(&size[1])
            && size[0].div_ceil(16) * size[1].div_ceil(16) <= caps.max_mb_count;
        if !fits {
            return Err(NoNvdec::Unsupported { codec: name, bits, size });
        }
        Ok(Self { library, device: device.clone(), codec, format })
    }

    /// Starts to decode the file at `rate`.
    pub(super) fn start(
        self,
        path: &Path,
        probe: &Probe,
        rate: Rate,
        stop: &Stop,
    ) -> Result<Nvdec, VideoError> {
        let Self { library, device, codec, format } = self;
        let session = DecodeSession::new(library, &device, codec, format)
            .map_err(|source| VideoError::Nvdec { file: path.to_owned(), source: source.into() })?;
        Ok(Nvdec {
            packets: Packets::start(path, probe, stop)?,
            session,
            pace: ConstantRate::new(rate),
            duration: probe.frame_duration(),
            file: path.to_owned(),
            input: Input::Open,
            decoded: 0,
            first: None,
        })
    }
}

/// Returns the abilities of a GPU.
fn caps(
    library: &'static Functions,
    device: &Device,
    codec: Codec,
    bits: u8,
) -> Result<DecodeCaps, NoNvdec> {
    let mut caps = DecodeCaps {
        codec: codec.0,
        chroma_format: CHROMA_420,
        bit_depth_minus8: u32::from(bits) - 8,
        ..DecodeCaps::default()
    };
    let entered = enter(device).map_err(|error| NoNvdec::Unknown(error.to_string()))?;
    // SAFETY: the context is current, and the result is a local variable.
    let asked = unsafe { (library.get_decoder_caps)(&raw mut caps) };
    drop(entered);
    asked.to_result().map_err(|code| NoNvdec::Unknown(code.text().into_owned()))?;
    Ok(caps)
}

/// A file that NVDEC decodes.
pub(super) struct Nvdec {
    packets: Packets,
    session: DecodeSession,
    pace: ConstantRate<DecodedFrame>,
    /// The duration of a frame in ticks.
    duration: i64,
    file: PathBuf,
    input: Input,
    /// The number of decoded frames.
    decoded: u64,
    /// The first frame, if it was decoded in advance.
    first: Option<VideoFrame>,
}

/// The state of the encoded input. Its error, if any, is returned after the frames before it.
enum Input {
    /// There may be more encoded pictures.
    Open,
    /// The decoder has received all pictures and has completed them.
    Complete(Option<VideoError>),
    /// All frames were passed on.
    Ended(Option<VideoError>),
}

impl Nvdec {
    /// Decodes the first frame in advance. Fails if there is none.
    fn with_first(mut self) -> Result<Self, VideoError> {
        let first = self.next_frame()?;
        let first = first.ok_or_else(|| VideoError::NoFrames { file: self.file.clone() })?;
        Ok(Self { first: Some(first), ..self })
    }

    /// Returns a handle that kills ffmpeg when the handle is dropped.
    pub(super) fn killer(&self, stop: &Stop) -> Killer {
        self.packets.killer(stop)
    }

    /// Passes on the next decoded frame. If there is none, decodes the next encoded picture. Fails if the timestamps
    /// jump.
    fn advance(&mut self) -> Result<(), VideoError> {
        if let Some((frame, timestamp)) = self.session.frame() {
            self.decoded += 1;
            let file = || self.file.clone();
            let jumped = |seconds| VideoError::Jump { file: file(), seconds, most: MAX_HOLE };
            return self.pace.push(frame, timestamp).map_err(jumped);
        }
        let file = self.file.clone();
        let failed = |source: NvdecError| VideoError::Nvdec { file, source: source.into() };
        match &mut self.input {
            Input::Open => {
                let error = match self.packets.next() {
                    Ok(Some(packet)) => {
                        match self.session.decode(&packet.bytes, packet.timestamp) {
                            Ok(()) => return Ok(()),
                            Err(error) => Some(failed(error)),
                        }
                    }
                    Ok(None) => self.session.finish().err().map(failed),
                    Err(error) => {
                        // The first error is the cause of all others.
                        let _ = self.session.finish();
                        Some(error)
                    }
                };
                self.input = Input::Complete(error);
                Ok(())
            }
            Input::Complete(error) => {
                let error = error.take();
                self.end(error);
                Ok(())
            }
            Input::Ended(_) => Ok(()),
        }
    }

    /// Ends the output after the frames so far.
    fn end(&mut self, error: Option<VideoError>) {
        self.pace.end(self.duration);
        let damaged = self.session.damaged();
        if damaged > 0 {
            tracing::warn!(
                "{}: {damaged} of {} frames are damaged; the decoder has concealed the errors",
                self.file.display(),
                self.decoded
            );
        }
        self.input = Input::Ended(error);
    }
}

impl NextFrame for Nvdec {
    fn next_frame(&mut self) -> Result<Option<VideoFrame>, VideoError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            if let Some(frame) = self.pace.next() {
                return Ok(Some(VideoFrame::Device(frame)));
            }
            if let Input::Ended(error) = &mut self.input {
                return error.take().map_or(Ok(None), Err);
            }
            if let Err(error) = self.advance() {
                self.end(Some(error));
            }
        }
    }
}
