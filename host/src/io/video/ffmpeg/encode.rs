//! The options with which ffmpeg encodes frames.
//!
//! 4:2:0 chroma needs even sides, so the last column or row of a panorama with an odd side is dropped.
//!
//! The colour tags are those of the caller. Static HDR metadata, such as the mastering display, is not written.

use std::process::Command;

use glam::UVec2;

use super::range_and_matrix;
use crate::frame::{ColourTags, Primaries, Range, Rate, Transfer, YuvEncoding, YuvMatrix};

/// An encoder of ffmpeg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoEncoder {
    name: &'static str,
    pub(super) codec: Codec,
    /// The options for constant quality. `CRF` stands for the [`Crf`], and `LEVEL` for a CRF of at least 1, because 0
    /// selects the default quality of encoders that are not lossless. `AHEAD` stands for the number of frames in half a
    /// second, at most the default of libx264, 40. An encoder that looks further ahead would lose more frames if it is
    /// killed.
    quality: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    H264,
    Hevc,
    Av1,
}

const NVENC: &str = "-rc vbr -b:v 0 -cq LEVEL";

impl VideoEncoder {
    /// All encoders. The first one is the default for 8 bits, and the second one for 10 bits.
    pub const ALL: [Self; 7] = [
        Self::new("libx264", Codec::H264, "-crf CRF -rc-lookahead AHEAD"),
        // libx265 has its own log, and a CRF of 0 is not lossless in HEVC.
        Self::new(
            "libx265",
            Codec::Hevc,
            "-crf CRF -x265-params log-level=error:lossless=LOSSLESS",
        ),
        Self::new("libsvtav1", Codec::Av1, "-crf LEVEL"),
        Self::new("h264_nvenc", Codec::H264, NVENC),
        Self::new("hevc_nvenc", Codec::Hevc, NVENC),
        Self::new("av1_nvenc", Codec::Av1, NVENC),
        Self::new("h264_v4l2m2m", Codec::H264, "-qmin LEVEL -qmax LEVEL"),
    ];

    const fn new(name: &'static str, codec: Codec, quality: &'static str) -> Self {
        Self { name, codec, quality }
    }

    /// Returns ffmpeg's name of the encoder.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Returns whether 10-bit video can be encoded. Few players show H.264 of 10 bits, so it has 8.
    #[must_use]
    pub fn stores_ten_bits(self) -> bool {
        self.codec != Codec::H264
    }
}

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

/// The constant rate factor (CRF), which sets the quality of encoded video. It is 0 to 51: 0 is the best quality, which
/// is lossless for libx264 and libx265. Adding 6 roughly halves the file size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crf(u8);

impl Crf {
    /// Creates the factor, or returns `None` if `value` is greater than 51.
    #[must_use]
    pub fn new(value: u8) -> Option<Self> {
        (value <= 51).then_some(Self(value))
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

/// The properties of an encoded video besides its frames.
#[derive(Clone, Copy, Debug)]
pub(in crate::io::video) struct Encoding {
    pub(in crate::io::video) encoder: Option<VideoEncoder>,
    pub(in crate::io::video) crf: Crf,
    pub(in crate::io::video) ten_bit: Option<TenBit>,
}

/// Returns whether ffmpeg accepts frames of this size (`av_image_check_size`).
pub(in crate::io::video) fn encodes(size: UVec2) -> bool {
    let [x, y] = size.to_array().map(|side| u64::from(side) + 128);
    x * y < i32::MAX as u64 / 8
}

impl Encoding {
    pub(super) fn encoder(&self) -> VideoEncoder {
        self.encoder.unwrap_or(VideoEncoder::ALL[usize::from(self.ten_bit.is_some())])
    }

    /// Adds the raw frames that ffmpeg reads from a pipe to its inputs.
    pub(super) fn input(&self, command: &mut Command, size: UVec2, rate: Rate) {
        let TenBit { encoding, tags } = self.ten_bit.unwrap_or_default();
        let pixels = if self.ten_bit.is_some() { "p010le" } else { "nv12" };
        command
            .args(["-f", "rawvideo", "-pix_fmt", pixels])
            .args(&tagged(encoding, tags)[..4])
            .arg("-s")
            .arg(format!("{}x{}", size.x, size.y))
            .args(["-framerate", &rate.to_string(), "-i", "pipe:0"]);
    }

    /// Adds the options of the encoder. `container` is ffmpeg's name of the file format.
    pub(super) fn output(&self, command: &mut Command, container: &str, rate: Rate) {
        let (encoder, Crf(crf)) = (self.encoder(), self.crf);
        let TenBit { encoding, tags } = self.ten_bit.unwrap_or_default();
        // NVENC has no planar format of 10 bits.
        let stored = if self.ten_bit.is_some() { "yuv420p10le|p010le" } else { "yuv420p" };
        // ffmpeg does not know the range of raw frames, so it would convert full range to limited range.
        let [from, to] = ["in", "out"].map(|side| range_and_matrix(side, encoding));
        let crop = "crop=trunc(iw/2)*2:trunc(ih/2)*2:0:0";
        let quality = encoder.quality.replace("CRF", &crf.to_string());
        let quality = quality.replace("LEVEL", &crf.max(1).to_string());
        let quality = quality.replace("LOSSLESS", if crf == 0 { "1" } else { "0" });
        let ahead = (rate.per_second() / 2.0).clamp(1.0, 40.0);
        let quality = quality.replace("AHEAD", &format!("{ahead:.0}"));
        command
            .args(["-vf", &format!("{crop},scale=iw:ih{from}{to},format={stored}")])
            .args(["-c:v", encoder.name])
            .args(quality.split(' '))
            .args(tagged(encoding, tags))
            // The log level of libsvtav1: errors.
            .env("SVT_LOG", "1");
        // Players of MP4 and MOV expect this tag of HEVC instead of ffmpeg's default, `hev1`.
        if encoder.codec == Codec::Hevc && container != "matroska" {
            command.args(["-tag:v", "hvc1"]);
        }
    }
}
