//! Targets of video streams that panoweave reads itself, and of what ffmpeg's programs print.

use std::path::Path;

use glam::UVec2;
use panoweave::frame::Rate;
use panoweave::io::video::{Medium, Stop, StreamFormat, VideoInput, VideoSource, parsers};

use super::NAME;
use crate::file::with_files;

/// The maximum number of frames that are read from an input.
const FRAMES: usize = 16;

/// A Y4M stream.
pub(crate) fn y4m(data: &[u8]) {
    with_files(&[("video.y4m", data)], |folder| {
        let medium = Medium::Stream(StreamFormat::Y4m);
        read(&VideoInput {
            rate: Rate::new(25, 1).ok(),
            ..VideoInput::new(folder.join("video.y4m"), medium)
        });
    });
}

/// A stream of raw frames. The first byte selects the format, and the next two are the size.
pub(crate) fn raw_stream(data: &[u8]) {
    let Some((&[format, x, y], frames)) = data.split_first_chunk() else { return };
    let formats = [StreamFormat::NV12, StreamFormat::P010, StreamFormat::RGBA];
    let medium = Medium::Stream(formats[usize::from(format) % formats.len()]);
    with_files(&[("video.raw", frames)], |folder| {
        read(&VideoInput {
            size: Some(UVec2::new(u32::from(x), u32::from(y))),
            rate: Rate::new(25, 1).ok(),
            ..VideoInput::new(folder.join("video.raw"), medium)
        });
    });
}

/// Reads some frames, each of which must have the length that its format states.
fn read(input: &VideoInput) {
    let Ok(mut source) = VideoSource::open(input, None, &Stop::default()) else { return };
    let bytes = source.format().bytes();
    for _ in 0..FRAMES {
        match source.frame() {
            Ok(Some(frame)) => assert_eq!(frame.len(), bytes),
            Ok(None) | Err(_) => break,
        }
    }
}

/// ffprobe's description of a video.
pub(crate) fn probe(data: &[u8]) {
    let _ = parsers::probe(data, Path::new(NAME));
}

/// ffmpeg's MPEG transport stream with encoded pictures, which contain no byte that is not in the stream.
pub(crate) fn transport_stream(data: &[u8]) {
    let Ok(pictures) = parsers::transport_stream(data) else { return };
    let bytes: usize = pictures.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(bytes <= data.len(), "{bytes} bytes of pictures in a stream of {}", data.len());
}
