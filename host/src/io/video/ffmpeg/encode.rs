//! Encodes frames to an H.264 video file with libx264, or 10-bit frames to HEVC (Main 10) with libx265.
//!
//! 4:2:0 chroma needs even sides, so the last column or row of a panorama with an odd side is dropped.
//!
//! The colour tags of HEVC are those of the caller. Static HDR metadata, such as the mastering display, is not written.

use std::path::Path;

use glam::UVec2;

use super::Sound;
use super::output::OutputFile;
use super::range_and_matrix;
use crate::frame::{
    ColourTags, Frame, FrameFormat, Primaries, Range, Rate, Transfer, YuvEncoding, YuvMatrix,
};
use crate::io::video::stream::write_raw;
use crate::io::video::{Stop, VideoError};

/// The names of the H.264 and the HEVC encoder in ffmpeg.
const ENCODERS: [&str; 2] = ["libx264", "libx265"];

/// Returns the options that tag the video, with each chroma sample in the centre of four pixels.
fn tagged(encoding: YuvEncoding, tags: ColourTags) -> [&'static str; 10] {
    let (matrix, own_primaries, own_transfer) = match encoding.matrix {
        YuvMatrix::Bt601 => ("smpte170m", "smpte170m", "smpte170m"),
        YuvMatrix::Bt709 => ("bt709", "bt709", "bt709"),
        YuvMatrix::Bt2020 => ("bt2020nc", "bt709", "bt2020-10"),
    };
    [
        "-color_range",
        if encoding.range == Range::Full { "pc" } else { "tv" },
        "-colorspace",
        matrix,
        "-color_primaries",
        match tags.primaries {
            Primaries::Bt709 => own_primaries,
            Primaries::Bt2020 => "bt2020",
        },
        "-color_trc",
        match tags.transfer {
            Transfer::Bt709 => own_transfer,
            Transfer::Pq => "smpte2084",
            Transfer::Hlg => "arib-std-b67",
        },
        "-chroma_sample_location",
        "center",
    ]
}

/// The constant rate factor (CRF), which sets the quality of H.264 and HEVC video. It is 0 to 51: 0 is lossless, and 51
/// is the worst quality. Adding 6 roughly halves the file size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crf(u8);

impl Crf {
    /// Creates the factor, or returns `None` if `value` is greater than 51.
    #[must_use]
    pub fn new(value: u8) -> Option<Self> {
        (value <= 51).then_some(Self(value))
    }

    /// Returns the factor.
    #[must_use]
    pub fn value(self) -> u8 {
        self.0
    }
}

impl Default for Crf {
    /// Returns 20. The quality is high enough for editing the video and encoding it again.
    fn default() -> Self {
        Self(20)
    }
}

/// The properties of a 10-bit video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenBit {
    /// The colour encoding of the frames. Y4M streams use only its range, because they do not state a matrix.
    pub encoding: YuvEncoding,
    /// The primaries and the transfer function, which encoded files state. Other media ignore them.
    pub tags: ColourTags,
}

/// Returns whether ffmpeg accepts frames of this size (`av_image_check_size`).
pub(in crate::io::video) fn encodes(size: UVec2) -> bool {
    let [x, y] = size.to_array().map(|side| u64::from(side) + 128);
    x * y < i32::MAX as u64 / 8
}

/// An ffmpeg process that encodes frames to a file.
pub(in crate::io::video) struct Encoder(OutputFile);

impl Encoder {
    /// Returns the format that frames must have for a panorama of `size` pixels.
    pub(in crate::io::video) fn format(size: UVec2, ten_bit: Option<TenBit>) -> FrameFormat {
        match ten_bit {
            Some(TenBit { encoding, .. }) => FrameFormat::p010(size.x, size.y, encoding),
            None => FrameFormat::nv12(size.x, size.y, YuvEncoding::default()),
        }
    }

    /// Starts an ffmpeg process that encodes frames from a pipe to a temporary file.
    pub(in crate::io::video) fn start(
        output: &Path,
        size: UVec2,
        rate: Rate,
        crf: Crf,
        sound: Option<Sound>,
        ten_bit: Option<TenBit>,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let TenBit { encoding, tags } = ten_bit.unwrap_or_default();
        let tagged = tagged(encoding, tags);
        let (input, stored, encoder) = match ten_bit {
            None => ("nv12", "yuv420p", ENCODERS[0]),
            Some(_) => ("p010le", "yuv420p10le", ENCODERS[1]),
        };
        // ffmpeg does not know the range of raw frames, so it would convert full range to limited range.
        let [from, to] = ["in", "out"].map(|side| range_and_matrix(side, encoding));
        let filters = format!("crop=trunc(iw/2)*2:trunc(ih/2)*2:0:0,scale=iw:ih{from}{to}");
        OutputFile::start(output, rate, encoder, sound, stop, |command, container| {
            command
                .args(["-f", "rawvideo", "-pix_fmt", input])
                .args(&tagged[..4])
                .arg("-s")
                .arg(format!("{}x{}", size.x, size.y))
                .args(["-framerate", &rate.to_string(), "-i", "pipe:0"])
                .args(["-vf", &filters, "-pix_fmt", stored])
                .args(["-c:v", encoder, "-crf", &crf.0.to_string()])
                .args(tagged);
            if ten_bit.is_some() {
                // libx265 has its own log. A CRF of 0 is not lossless in HEVC.
                let lossless = if crf.0 == 0 { ":lossless=1" } else { "" };
                command
                    .args(["-profile:v", "main10", "-x265-params"])
                    .arg(format!("log-level=error{lossless}"));
                // Players of MP4 and MOV expect this tag of HEVC instead of ffmpeg's default, `hev1`.
                if container != "matroska" {
                    command.args(["-tag:v", "hvc1"]);
                }
            }
        })
        .map(Self)
    }

    pub(in crate::io::video) fn write(&mut self, frame: &Frame<'_>) -> Result<(), VideoError> {
        self.0.write(|input| write_raw(input, frame))
    }

    /// Waits until ffmpeg has encoded all frames, and completes the file.
    pub(in crate::io::video) fn finish(self) -> Result<(), VideoError> {
        self.0.finish()
    }
}
