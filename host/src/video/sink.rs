//! Videos that are written.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use glam::UVec2;

use super::ffmpeg::{Crf, Encoder, Sound};
use super::medium::{STANDARD, customary, shown};
use super::{Medium, Rate, Stop, StreamFormat, VideoError, pictures, stream, y4m};
use crate::frame::{Frame, FrameFormat, PixelFormat, Range};

/// What is to be written.
#[derive(Clone, Debug)]
pub struct Output {
    /// The file; `-` is standard output.
    pub path: PathBuf,
    /// What holds the video.
    pub medium: Medium,
    /// Quality of an encoded file.
    pub crf: Crf,
    /// The sound of an encoded file.
    pub sound: Option<Sound>,
}

/// A video that is being written.
pub struct Sink {
    name: PathBuf,
    format: FrameFormat,
    writer: Writer,
}

enum Writer {
    Encoder(Box<Encoder>),
    Y4m(y4m::Writer<File>),
    Raw(File),
    Pictures(pictures::Writer),
}

impl Sink {
    /// Starts a video of panoramas of this size.
    ///
    /// # Errors
    /// [`VideoError`].
    pub fn create(
        output: &Output,
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
                let file = create(&output.path).map_err(|source| unwritable(&name, source))?;
                match stream {
                    StreamFormat::Y4m => {
                        let header = y4m::Header {
                            size,
                            rate: Some(rate),
                            range: Range::Limited,
                            mono: false,
                        };
                        Writer::Y4m(y4m::Writer::new(file, &header))
                    }
                    StreamFormat::Nv12 | StreamFormat::Rgba => Writer::Raw(file),
                }
            }
            Medium::Pictures(pattern) => Writer::Pictures(pictures::Writer::new(pattern, size)),
        };
        Ok(Self { name, format, writer })
    }

    /// What the panoramas must be.
    #[must_use]
    pub fn format(&self) -> FrameFormat {
        self.format
    }

    /// Writes a panorama.
    ///
    /// # Errors
    /// [`VideoError`]; what follows cannot be written either.
    pub fn write(&mut self, frame: &Frame<'_>) -> Result<(), VideoError> {
        let written = match &mut self.writer {
            Writer::Encoder(encoder) => return encoder.write(frame),
            Writer::Pictures(pictures) => return pictures.write(frame),
            Writer::Y4m(writer) => writer.write(frame),
            Writer::Raw(file) => stream::write_raw(file, frame),
        };
        written.map_err(|source| unwritable(&self.name, source))
    }

    /// Writes the end: a file is complete only after it.
    ///
    /// # Errors
    /// [`VideoError`].
    pub fn finish(self) -> Result<(), VideoError> {
        match self.writer {
            Writer::Encoder(encoder) => encoder.finish(),
            _ => Ok(()),
        }
    }
}

/// What a medium takes.
fn format(medium: &Medium, size: UVec2) -> FrameFormat {
    let pixels = match medium {
        Medium::File => return Encoder::format(size),
        Medium::Stream(StreamFormat::Y4m) => PixelFormat::Nv12(customary(size, Range::Limited)),
        Medium::Stream(raw) => raw.raw_pixels().unwrap_or(PixelFormat::Rgba8),
        Medium::Pictures(_) => PixelFormat::Rgba8,
    };
    FrameFormat { size, pixels }
}

fn create(path: &Path) -> io::Result<File> {
    if path == Path::new(STANDARD) { stream::standard_output() } else { File::create(path) }
}

fn unwritable(file: &Path, source: io::Error) -> VideoError {
    VideoError::Unwritable { file: file.to_owned(), source }
}
