//! Video infos of GStreamer as frame formats of panoweave.

use glam::UVec2;
use gst_video::{
    VideoColorMatrix, VideoColorPrimaries, VideoColorRange, VideoColorimetry, VideoFormat,
    VideoInfo, VideoTransferFunction,
};
use panoweave::frame::{FrameFormat, PixelFormat, Range, YuvEncoding, YuvMatrix};

/// Returns all supported formats, the preferred one first.
pub(super) fn all() -> Vec<VideoFormat> {
    let mut formats = PixelFormat::ALL.map(|of| video_format(of(YuvEncoding::default()))).to_vec();
    formats.sort_by_key(|format| *format != VideoFormat::Nv12);
    formats
}

/// Returns the supported formats in CUDA memory: those that kernels read without a conversion.
pub(super) fn in_cuda_memory() -> Vec<VideoFormat> {
    let is_stored = |format: &VideoFormat| {
        pixel_format(*format, YuvEncoding::default()).is_some_and(|it| it.stored() == it)
    };
    all().into_iter().filter(is_stored).collect()
}

/// Returns the equivalent of a format of panoweave. The names are equal except for that of P010.
fn video_format(pixels: PixelFormat) -> VideoFormat {
    match pixels {
        PixelFormat::P010(_) => VideoFormat::P01010le,
        _ => VideoFormat::from_string(&pixels.name().to_ascii_uppercase()),
    }
}

/// Returns panoweave's equivalent of a format, or `None` if it is not supported.
fn pixel_format(format: VideoFormat, encoding: YuvEncoding) -> Option<PixelFormat> {
    PixelFormat::ALL.map(|of| of(encoding)).into_iter().find(|it| video_format(*it) == format)
}

/// Returns the formats of panoramas from frames of `format`, the preferred one first. Input and output have the same
/// number of bits per sample.
pub(super) fn of_panoramas(format: VideoFormat) -> Vec<VideoFormat> {
    let bits = |format| pixel_format(format, YuvEncoding::default()).map(PixelFormat::bits);
    let mut formats: Vec<_> = all().into_iter().filter(|it| bits(*it) == bits(format)).collect();
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
    let pixels = pixel_format(info.format(), encoding)?;
    Some(FrameFormat { size: UVec2::new(info.width(), info.height()), pixels })
}
