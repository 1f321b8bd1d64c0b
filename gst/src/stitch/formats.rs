//! Video infos of GStreamer as frame formats of panoweave.

use glam::UVec2;
use gst_video::{
    VideoColorMatrix, VideoColorPrimaries, VideoColorRange, VideoColorimetry, VideoFormat,
    VideoInfo, VideoTransferFunction,
};
use panoweave::frame::{FrameFormat, PixelFormat, Range, YuvEncoding, YuvMatrix};

/// The formats with 8 and with 10 bits per sample, the preferred one first.
const EIGHT: [VideoFormat; 2] = [VideoFormat::Nv12, VideoFormat::Rgba];
const TEN: [VideoFormat; 1] = [VideoFormat::P01010le];

/// All supported formats.
pub(super) const ALL: [VideoFormat; 3] = [EIGHT[0], EIGHT[1], TEN[0]];

/// Returns the formats of panoramas from frames of `format`, the preferred one first. Input and output have the same
/// number of bits per sample.
pub(super) fn of_panoramas(format: VideoFormat) -> Vec<VideoFormat> {
    let same_bits: &[VideoFormat] = if TEN.contains(&format) { &TEN } else { &EIGHT };
    let mut formats = same_bits.to_vec();
    formats.sort_by_key(|other| *other != format);
    formats
}

/// Colorimetries that differ only in the matrix and the range, which the kernels convert, or in primaries and transfer
/// functions that panoweave does not distinguish.
const ALIKE: [&[&str]; 4] =
    [&["bt709", "bt601", "sRGB"], &["bt2020", "bt2020-10"], &["bt2100-pq"], &["bt2100-hlg"]];

/// Returns the colorimetries that a panorama from frames of `colorimetry` may have, the preferred one first.
pub(super) fn colorimetries(colorimetry: &str) -> Vec<&str> {
    let alike = ALIKE.iter().find(|alike| alike.contains(&colorimetry));
    let others = alike.into_iter().flat_map(|alike| alike.iter().copied());
    [colorimetry].into_iter().chain(others.filter(|other| *other != colorimetry)).collect()
}

/// Returns whether the levels of two colorimetries differ only in ways that the kernels convert, or that panoweave does
/// not distinguish.
pub(super) fn are_alike(a: &VideoColorimetry, b: &VideoColorimetry) -> bool {
    let kind = |colorimetry: &VideoColorimetry| {
        let transfer = match colorimetry.transfer() {
            VideoTransferFunction::Smpte2084 => 1,
            VideoTransferFunction::AribStdB67 => 2,
            _ => 0,
        };
        (transfer, colorimetry.primaries() == VideoColorPrimaries::Bt2020)
    };
    kind(a) == kind(b)
}

/// Returns the format of frames with this info, or `None` if it is not supported.
pub(super) fn frame_format(info: &VideoInfo) -> Option<FrameFormat> {
    let colorimetry = info.colorimetry();
    let encoding = YuvEncoding {
        matrix: match colorimetry.matrix() {
            VideoColorMatrix::Bt601 | VideoColorMatrix::Fcc => YuvMatrix::Bt601,
            VideoColorMatrix::Bt2020 => YuvMatrix::Bt2020,
            _ => YuvMatrix::Bt709,
        },
        range: match colorimetry.range() {
            VideoColorRange::Range0_255 => Range::Full,
            _ => Range::Limited,
        },
    };
    let pixels = match info.format() {
        VideoFormat::Rgba => PixelFormat::Rgba8,
        VideoFormat::Nv12 => PixelFormat::Nv12(encoding),
        VideoFormat::P01010le => PixelFormat::P010(encoding),
        _ => return None,
    };
    Some(FrameFormat { size: UVec2::new(info.width(), info.height()), pixels })
}
