//! Determines whether a video is an encoded file, a stream of frames, or a picture sequence. The user can select this
//! with an option. Otherwise the extension of the file name decides.

use std::path::{Path, PathBuf};

use glam::UVec2;

use super::{Pattern, VideoError};
use crate::frame::{PixelFormat, Range, YuvEncoding, YuvMatrix};

/// The path `-`, which stands for standard input or standard output.
pub const STANDARD: &str = "-";

/// The encoding of raw frames unless the caller knows another one.
const BT709: YuvEncoding = YuvEncoding { matrix: YuvMatrix::Bt709, range: Range::Limited };

/// The format of a stream of uncompressed frames, which panoweave reads and writes without ffmpeg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFormat {
    /// YUV4MPEG2: a header line with the frame size and rate, then the frames.
    Y4m,
    /// Raw frames, one after the other, without a header or padding. They do not state their colour encoding.
    Raw(PixelFormat),
}

impl StreamFormat {
    /// Raw NV12 frames in BT.709 and limited range.
    pub const NV12: Self = Self::Raw(PixelFormat::Nv12(BT709));
    /// Raw P010 frames in BT.709 and limited range.
    pub const P010: Self = Self::Raw(PixelFormat::P010(BT709));
    /// Raw RGBA frames.
    pub const RGBA: Self = Self::Raw(PixelFormat::Rgba8);

    /// Returns all formats.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let raw = PixelFormat::ALL.iter().map(|of| Self::Raw(of(BT709)));
        [Self::Y4m].into_iter().chain(raw).collect()
    }

    /// Returns the name of the format, which is also its file extension.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Y4m => "y4m",
            Self::Raw(pixels) => pixels.name(),
        }
    }
}

/// The form in which a video is stored or transferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Medium {
    /// An encoded file that ffmpeg reads or writes.
    File,
    /// A stream of uncompressed frames in a file, in a pipe, or on standard input or output.
    Stream(StreamFormat),
    /// A sequence of numbered PNG or JPEG files.
    Pictures(Pattern),
}

/// File extensions of encoded output videos, each with ffmpeg's name for the container format.
const CONTAINERS: [(&str, &str); 4] =
    [("mp4", "mp4"), ("m4v", "mp4"), ("mov", "mov"), ("mkv", "matroska")];

impl Medium {
    /// Returns the medium of an input:
    /// - a stream in the format `asked`, if the user requested a stream format,
    /// - a Y4M stream, if `path` is `-`,
    /// - otherwise the medium that the extension of `path` selects,
    /// - an encoded [`File`](Self::File), if the extension is unknown.
    ///
    /// ffmpeg cannot read encoded files from a pipe. Therefore a named pipe with an unknown extension needs `asked`.
    ///
    /// # Errors
    /// Returns [`VideoError::Raw`] if `asked` is `None` and the extension is `raw` or `yuv`, which does not determine
    /// the pixel format.
    pub fn of_input(path: &Path, asked: Option<StreamFormat>) -> Result<Self, VideoError> {
        Ok(Self::known(path, asked)?.unwrap_or(Self::File))
    }

    /// Returns the medium of an output. `asked` is the stream format that the user requested. If it is `None`, the
    /// extension of `path` decides.
    ///
    /// # Errors
    /// Returns [`VideoError::Raw`] as [`of_input`](Self::of_input) does, and [`VideoError::Extension`] for an
    /// extension that no writer supports.
    pub fn of_output(path: &Path, asked: Option<StreamFormat>) -> Result<Self, VideoError> {
        match Self::known(path, asked)? {
            Some(medium) => Ok(medium),
            None if container(path).is_some() => Ok(Self::File),
            None => Err(VideoError::Extension { file: path.to_owned() }),
        }
    }

    /// Returns whether frames of 10 bits can be written to the medium.
    #[must_use]
    pub fn stores_ten_bits(&self) -> bool {
        match self {
            Self::File | Self::Stream(StreamFormat::Y4m) => true,
            Self::Stream(StreamFormat::Raw(pixels)) => pixels.bits() > 8,
            Self::Pictures(_) => false,
        }
    }

    fn known(path: &Path, asked: Option<StreamFormat>) -> Result<Option<Self>, VideoError> {
        if let Some(format) = asked {
            return Ok(Some(Self::Stream(format)));
        }
        if path == Path::new(STANDARD) {
            return Ok(Some(Self::Stream(StreamFormat::Y4m)));
        }
        let extension = extension(path);
        if let Some(format) = StreamFormat::all().into_iter().find(|it| it.name() == extension) {
            return Ok(Some(Self::Stream(format)));
        }
        Ok(match extension.as_str() {
            "raw" | "yuv" => return Err(VideoError::Raw { file: path.to_owned() }),
            "png" | "jpg" | "jpeg" => Pattern::parse(path).map(Self::Pictures),
            _ => None,
        })
    }
}

/// Returns ffmpeg's name for the container format of the extension of `path`, or `None` if the extension is not
/// supported.
pub(super) fn container(path: &Path) -> Option<&'static str> {
    let wanted = extension(path);
    CONTAINERS.iter().find(|(extension, _)| *extension == wanted).map(|(_, format)| *format)
}

fn extension(path: &Path) -> String {
    path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// Returns the name of a video for messages: `standard` for the path `-`, otherwise the path.
pub(super) fn shown(path: &Path, standard: &str) -> PathBuf {
    if path == Path::new(STANDARD) { standard.into() } else { path.to_owned() }
}

/// Returns the colour encoding that players assume for Y'CbCr video of `size` pixels that does not state its matrix. It
/// is BT.601 for fewer than 1280 columns and at most 576 rows, and BT.709 for larger videos.
pub(super) fn customary(size: UVec2, range: Range) -> YuvEncoding {
    let small = size.x < 1280 && size.y <= 576;
    YuvEncoding { matrix: if small { YuvMatrix::Bt601 } else { YuvMatrix::Bt709 }, range }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_options_determine_the_medium() {
        let input = |name: &str, asked| Medium::of_input(Path::new(name), asked);
        let output = |name: &str| Medium::of_output(Path::new(name), None);
        let y4m = Medium::Stream(StreamFormat::Y4m);
        assert_eq!(input("a.Y4M", None).unwrap(), y4m);
        assert_eq!(input("-", None).unwrap(), y4m);
        let rgba = Medium::Stream(StreamFormat::RGBA);
        assert_eq!(input("a.mp4", Some(StreamFormat::RGBA)).unwrap(), rgba);
        assert_eq!(input("a.webm", None).unwrap(), Medium::File);
        assert!(matches!(input("a_%02d.jpg", None).unwrap(), Medium::Pictures(_)));
        assert!(matches!(input("a.raw", None), Err(VideoError::Raw { .. })));
        assert_eq!(output("a.MKV").unwrap(), Medium::File);
        for name in ["a", "a.webm", "a.png", "a_%02d.gif"] {
            assert!(matches!(output(name), Err(VideoError::Extension { .. })), "{name}");
        }
    }
}
