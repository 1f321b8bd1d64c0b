//! Writes videos to encoded files, streams and picture sequences.
//!
//! The output file of a stream is created only when the first frame is written. If the job fails before that, an
//! existing file with the same name stays unchanged. Opening a named pipe blocks until another program opens it for
//! reading. Therefore a separate thread opens the output file, so that the caller can still react to a stop request.

use std::fs::{self, File};
use std::mem::discriminant;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::{io, thread};

use glam::UVec2;

use super::ffmpeg::{Crf, Encoder, Encoding, Sound, TenBit, VideoEncoder, encodes};
use super::medium::{STANDARD, customary, shown};
use super::{Medium, Stop, StreamFormat, VideoError, pictures, stream, y4m};
use crate::frame::{Frame, FrameFormat, PixelFormat, Range, Rate, YuvEncoding};
use crate::io::replace::check_writable;
use crate::io::video::read_frame::LOOK;

/// Options for writing a video.
#[derive(Clone, Debug)]
pub struct VideoOutput {
    /// The path of the file, or `-` for standard output.
    pub path: PathBuf,
    /// The medium of the video: encoded file, stream or picture sequence.
    pub medium: Medium,
    /// The encoder of an encoded file: `None` selects libx264, or libx265 for 10 bits. Other media require
    /// `None`.
    pub encoder: Option<VideoEncoder>,
    /// The quality of an encoded file. Other media ignore it.
    pub crf: Crf,
    /// The sound to add to an encoded file. Other media ignore it.
    pub sound: Option<Sound>,
    /// The properties of a 10-bit video, or `None` for 8 bits. Y4M streams of 10 bits are `C420p10`.
    pub ten_bit: Option<TenBit>,
}

impl VideoOutput {
    /// Returns the options for `path` with 8 bits per sample, the default quality and no sound.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, medium: Medium) -> Self {
        let (path, crf) = (path.into(), Crf::default());
        Self { path, medium, encoder: None, crf, sound: None, ten_bit: None }
    }
}

/// A video that is being written.
pub struct VideoSink {
    name: PathBuf,
    format: FrameFormat,
    writer: Writer,
}

enum Writer {
    Encoder(Box<Encoder>),
    /// A stream whose output file is created when the first frame is written. `header` is `Some` for Y4M.
    Planned {
        path: PathBuf,
        header: Option<y4m::Header>,
        stop: Stop,
    },
    Y4m(y4m::Writer<File>),
    Raw(File),
    Pictures(pictures::Writer),
}

impl VideoSink {
    /// Starts writing a video with frames of `size` pixels.
    ///
    /// # Errors
    /// Returns [`VideoError`] if the size, the extension or the depth is not supported, if the temporary
    /// file of an encoded video cannot be created, or if ffmpeg cannot be started.
    pub fn create(
        output: &VideoOutput,
        size: UVec2,
        rate: Rate,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let name = shown(&output.path, "stdout");
        let VideoOutput { encoder, crf, ten_bit, .. } = *output;
        let is_deep = encoder.is_none_or(VideoEncoder::stores_ten_bits);
        if ten_bit.is_some() && !(is_deep && output.medium.stores_ten_bits()) {
            return Err(VideoError::Depth { file: name });
        }
        let format = format(&output.medium, size, output.ten_bit);
        format.check().map_err(|source| VideoError::Frame { file: name.clone(), source })?;
        let writer = match &output.medium {
            Medium::File if size.min_element() < 2 => {
                return Err(VideoError::TooSmall { file: name, size });
            }
            Medium::File if !encodes(size) => {
                return Err(VideoError::TooLarge { file: name, size });
            }
            Medium::File => {
                let (encoding, sound) = (Encoding { encoder, crf, ten_bit }, output.sound.clone());
                let encoder = Encoder::start(&name, size, rate, encoding, sound, stop)?;
                Writer::Encoder(Box::new(encoder))
            }
            Medium::Stream(stream) => {
                let header = y4m::Header {
                    size,
                    rate: Some(rate),
                    range: format.pixels.encoding().unwrap_or_default().range,
                    samples: y4m::Samples::of(format.pixels),
                };
                let header = (*stream == StreamFormat::Y4m).then_some(header);
                Writer::Planned { path: output.path.clone(), header, stop: stop.clone() }
            }
            Medium::Pictures(pattern) => Writer::Pictures(pictures::Writer::new(pattern, size)),
        };
        Ok(Self { name, format, writer })
    }

    /// Returns the format that frames passed to [`write`](Self::write) must have.
    #[must_use]
    pub fn format(&self) -> FrameFormat {
        self.format
    }

    /// Returns the video's name for messages.
    #[must_use]
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Checks the size and the pixel format of a frame. The writers rely on both.
    fn check(&self, found: FrameFormat) -> Result<(), VideoError> {
        let is_same_kind = discriminant(&found.pixels) == discriminant(&self.format.pixels);
        if found.size == self.format.size && is_same_kind {
            return Ok(());
        }
        let (file, expected) = (self.name.clone(), self.format);
        Err(VideoError::FrameFormat { file, found, expected })
    }

    /// Writes the next frame of the video.
    ///
    /// # Errors
    /// Returns [`VideoError::FrameFormat`] if the frame does not have the size or the pixel format of the video; its
    /// matrix and range are not compared. The sink stays usable. Returns other errors if writing fails; after these, no
    /// more frames can be written.
    pub fn write(&mut self, frame: &Frame<'_>) -> Result<(), VideoError> {
        self.check(frame.format())?;
        if let Writer::Planned { path, header, stop } = &self.writer {
            let file = create(&self.name, path, stop)?;
            self.writer = match header {
                Some(header) => Writer::Y4m(y4m::Writer::new(file, header)),
                None => Writer::Raw(file),
            };
        }
        let written = match &mut self.writer {
            Writer::Encoder(encoder) => return encoder.write(frame),
            Writer::Pictures(pictures) => return pictures.write(frame),
            Writer::Planned { .. } => Ok(()),
            Writer::Y4m(writer) => writer.write(frame),
            Writer::Raw(file) => stream::write_raw(file, frame),
        };
        written.map_err(|source| unwritable(&self.name, source))
    }

    /// Completes the video. An encoded file gets its final name only in this call.
    ///
    /// # Errors
    /// Returns [`VideoError`] if the video cannot be completed.
    pub fn finish(self) -> Result<(), VideoError> {
        match self.writer {
            Writer::Encoder(encoder) => encoder.finish(),
            Writer::Pictures(pictures) => {
                pictures.finish();
                Ok(())
            }
            Writer::Planned { .. } | Writer::Y4m(_) | Writer::Raw(_) => Ok(()),
        }
    }
}

/// Returns the format that frames of `size` pixels must have to be written to `medium`.
fn format(medium: &Medium, size: UVec2, ten_bit: Option<TenBit>) -> FrameFormat {
    let pixels = match medium {
        Medium::File => match ten_bit {
            Some(TenBit { encoding, .. }) => PixelFormat::P010(encoding),
            None => PixelFormat::Nv12(YuvEncoding::default()),
        },
        Medium::Stream(StreamFormat::Y4m) => match ten_bit {
            Some(TenBit { encoding, .. }) => PixelFormat::P010(customary(size, encoding.range)),
            None => PixelFormat::I420(customary(size, Range::Limited)),
        },
        Medium::Stream(StreamFormat::Raw(pixels)) => match ten_bit {
            Some(TenBit { encoding, .. }) if pixels.bits() > 8 => pixels.with_encoding(encoding),
            _ => *pixels,
        },
        Medium::Pictures(_) => PixelFormat::Rgba8,
    };
    FrameFormat { size, pixels }
}

/// Creates the output file of a stream. If `path` is a named pipe, blocks until another program opens it for reading or
/// a stop is requested.
fn create(name: &Path, path: &Path, stop: &Stop) -> Result<File, VideoError> {
    if path == Path::new(STANDARD) {
        return stream::standard_output().map_err(|source| unwritable(name, source));
    }
    let (created, file) = channel();
    let path = path.to_owned();
    // The thread is not joined, because it may block forever on a pipe that no program reads.
    thread::Builder::new()
        .name("create".into())
        .spawn(move || {
            let is_writable = fs::metadata(&path).map_or(Ok(()), |old| check_writable(&old));
            drop(created.send(is_writable.and_then(|()| File::create(path))));
        })
        .map_err(VideoError::Thread)?;
    loop {
        match file.recv_timeout(LOOK) {
            Ok(file) => return file.map_err(|source| unwritable(name, source)),
            Err(RecvTimeoutError::Timeout) if !stop.is_asked() => {}
            Err(_) => return Err(VideoError::NoReader { file: name.to_owned() }),
        }
    }
}

fn unwritable(file: &Path, source: io::Error) -> VideoError {
    VideoError::Unwritable { file: file.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writers rely on the size and the planes of their frames.
    #[test]
    fn frames_of_another_format_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let size = UVec2::new(4, 2);
        for name in ["a.y4m", "a.nv12", "a.rgba", "a%d.png"] {
            let path = folder.path().join(name);
            let output = VideoOutput::new(&path, Medium::of_output(&path, None).unwrap());
            let rate = Rate::new(30, 1).unwrap();
            let mut sink = VideoSink::create(&output, size, rate, &Stop::default()).unwrap();
            let own = sink.format();
            let wrong = [
                FrameFormat { size: size * 2, ..own },
                FrameFormat::p010(4, 2, YuvEncoding::default()),
            ];
            for format in wrong {
                let bytes = format.black();
                let error = sink.write(&Frame::tight(format, &bytes).unwrap()).unwrap_err();
                assert!(matches!(error, VideoError::FrameFormat { .. }), "{name}: {error}");
            }
            let bytes = own.black();
            sink.write(&Frame::tight(own, &bytes).unwrap()).unwrap();
            sink.finish().unwrap();
        }
    }
}
