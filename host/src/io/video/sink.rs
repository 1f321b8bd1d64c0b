//! Writes videos.
//!
//! The file of a stream is created for its first frame, so an earlier failure leaves an old file unchanged. Opening a
//! pipe without a reader blocks; that happens on a thread of its own, so a stop request works.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::{io, thread};

use glam::UVec2;

use super::ffmpeg::{Crf, Encoder, Sound};
use super::medium::{STANDARD, customary, shown};
use super::{Medium, Stop, StreamFormat, VideoError, pictures, stream, y4m};
use crate::frame::Rate;
use crate::frame::{Frame, FrameFormat, PixelFormat, Range};
use crate::io::video::read_frame::LOOK;

/// Options of a written video.
#[derive(Clone, Debug)]
pub struct VideoOutput {
    /// The file; `-` is standard output.
    pub path: PathBuf,
    /// The medium.
    pub medium: Medium,
    /// Quality of an encoded file.
    pub crf: Crf,
    /// The sound of an encoded file.
    pub sound: Option<Sound>,
}

/// A video that is being written.
pub struct VideoSink {
    name: PathBuf,
    format: FrameFormat,
    writer: Writer,
}

enum Writer {
    Encoder(Box<Encoder>),
    /// A stream before its first frame; Y4M has a header.
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
    /// Starts a video of panoramas of this size.
    ///
    /// # Errors
    /// Returns [`VideoError`] if the output cannot be written in this format.
    pub fn create(
        output: &VideoOutput,
        size: UVec2,
        rate: Rate,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let name = shown(&output.path, "stdout");
        let format = format(&output.medium, size);
        format.check().map_err(|source| VideoError::Frame { file: name.clone(), source })?;
        let writer = match &output.medium {
            Medium::File => {
                let sound = output.sound.clone();
                let encoder = Encoder::start(&name, size, rate, output.crf, sound, stop)?;
                Writer::Encoder(Box::new(encoder))
            }
            Medium::Stream(stream) => {
                let header =
                    y4m::Header { size, rate: Some(rate), range: Range::Limited, mono: false };
                let header = (*stream == StreamFormat::Y4m).then_some(header);
                Writer::Planned { path: output.path.clone(), header, stop: stop.clone() }
            }
            Medium::Pictures(pattern) => Writer::Pictures(pictures::Writer::new(pattern, size)),
        };
        Ok(Self { name, format, writer })
    }

    /// Returns the required format of the panoramas.
    #[must_use]
    pub fn format(&self) -> FrameFormat {
        self.format
    }

    /// Writes a panorama.
    ///
    /// # Errors
    /// Returns [`VideoError`]; later frames cannot be written either.
    pub fn write(&mut self, frame: &Frame<'_>) -> Result<(), VideoError> {
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

    /// Writes the end; a file is complete only after it.
    ///
    /// # Errors
    /// Returns [`VideoError`] if the end cannot be written.
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

/// Returns the frame format of a medium.
fn format(medium: &Medium, size: UVec2) -> FrameFormat {
    let pixels = match medium {
        Medium::File => return Encoder::format(size),
        Medium::Stream(StreamFormat::Y4m) => PixelFormat::Nv12(customary(size, Range::Limited)),
        Medium::Stream(raw) => raw.raw_pixels().unwrap_or(PixelFormat::Rgba8),
        Medium::Pictures(_) => PixelFormat::Rgba8,
    };
    FrameFormat { size, pixels }
}

/// Creates a stream's file, or opens a pipe once it has a reader.
fn create(name: &Path, path: &Path, stop: &Stop) -> Result<File, VideoError> {
    if path == Path::new(STANDARD) {
        return stream::standard_output().map_err(|source| unwritable(name, source));
    }
    let (created, file) = channel();
    let path = path.to_owned();
    // Not joined, because it may block forever.
    thread::Builder::new()
        .name("create".into())
        .spawn(move || drop(created.send(File::create(path))))
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
