//! Determines the medium of a video (file, stream or picture sequence) from its file name or from an option.

use std::path::{Path, PathBuf};

use glam::UVec2;

use super::{Pattern, VideoError};
use crate::frame::{PixelFormat, Range, YuvEncoding, YuvMatrix};

/// The path that means standard input or standard output.
pub const STANDARD: &str = "-";

/// A format of frame streams that are read and written without ffmpeg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFormat {
    /// YUV4MPEG2: a text line with size and frame rate, then the frames.
    Y4m,
    /// NV12 frames in sequence without padding.
    Nv12,
    /// RGBA frames in sequence without padding.
    Rgba,
}

impl StreamFormat {
    /// Returns the pixel format of a raw stream's frames; `None` for Y4M, whose header states it.
    ///
    /// A raw stream does not state its encoding: NV12 is taken as BT.709 in limited range.
    #[must_use]
    pub fn raw_pixels(self) -> Option<PixelFormat> {
        match self {
            Self::Y4m => None,
            Self::Nv12 => Some(PixelFormat::Nv12(YuvEncoding::default())),
            Self::Rgba => Some(PixelFormat::Rgba8),
        }
    }
}

/// The medium of a video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A file that ffmpeg reads or writes.
    File,
    /// A stream of frames in a file, in a pipe, or on standard input or output.
    Stream(StreamFormat),
    /// Numbered PNG or JPEG files.
    Pictures(Pattern),
}

/// Extensions of output files, each with ffmpeg's name of the container.
const CONTAINERS: [(&str, &str); 4] =
    [("mp4", "mp4"), ("m4v", "mp4"), ("mov", "mov"), ("mkv", "matroska")];

impl Medium {
    /// Returns the medium of an input. `asked`, if given, overrides the file name; pipes and files with an unknown
    /// extension need it.
    ///
    /// # Errors
    /// Returns [`VideoError::Raw`] if the extension is `raw` or `yuv`, which does not determine the format.
    pub fn of_input(path: &Path, asked: Option<StreamFormat>) -> Result<Self, VideoError> {
        Ok(Self::known(path, asked)?.unwrap_or(Self::File))
    }

    /// Returns the medium of an output. `asked`, if given, overrides the file name.
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

    fn known(path: &Path, asked: Option<StreamFormat>) -> Result<Option<Self>, VideoError> {
        if let Some(format) = asked {
            return Ok(Some(Self::Stream(format)));
        }
        if path == Path::new(STANDARD) {
            return Ok(Some(Self::Stream(StreamFormat::Y4m)));
        }
        Ok(match extension(path).as_str() {
            "y4m" => Some(Self::Stream(StreamFormat::Y4m)),
            "nv12" => Some(Self::Stream(StreamFormat::Nv12)),
            "rgba" => Some(Self::Stream(StreamFormat::Rgba)),
            "raw" | "yuv" => return Err(VideoError::Raw { file: path.to_owned() }),
            "png" | "jpg" | "jpeg" => Pattern::parse(path).map(Self::Pictures),
            _ => None,
        })
    }
}

/// Returns ffmpeg's name of the container for the extension of `path`, if it is supported.
pub(super) fn container(path: &Path) -> Option<&'static str> {
    let wanted = extension(path);
    CONTAINERS.iter().find(|(extension, _)| *extension == wanted).map(|(_, format)| *format)
}

fn extension(path: &Path) -> String {
    path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// Returns the name of a video for messages: the path, or `standard` for `-`.
pub(super) fn shown(path: &Path, standard: &str) -> PathBuf {
    if path == Path::new(STANDARD) { standard.into() } else { path.to_owned() }
}

/// Returns the encoding that players assume for Y'CbCr video of this size without tags: BT.601 up to the size of DVDs,
/// BT.709 above.
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
        let rgba = Medium::Stream(StreamFormat::Rgba);
        assert_eq!(input("a.mp4", Some(StreamFormat::Rgba)).unwrap(), rgba);
        assert_eq!(input("a.webm", None).unwrap(), Medium::File);
        assert!(matches!(input("a_%02d.jpg", None).unwrap(), Medium::Pictures(_)));
        assert!(matches!(input("a.raw", None), Err(VideoError::Raw { .. })));
        assert_eq!(output("a.MKV").unwrap(), Medium::File);
        for name in ["a", "a.webm", "a.png", "a_%02d.gif"] {
            assert!(matches!(output(name), Err(VideoError::Extension { .. })), "{name}");
        }
    }
}
