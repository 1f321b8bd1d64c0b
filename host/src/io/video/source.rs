//! Reads videos. A thread reads ahead into a few buffers, which the caller returns for reuse.
//!
//! The memory does not depend on the video's length: it holds up to [`AHEAD`] frames that were read ahead, up to
//! [`AHEAD`] returned buffers, the frame that is being read, and the caller's frames. Only the reader thread blocks on
//! a pipe. A caller that waits for a frame polls for a stop request.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use glam::UVec2;

use super::ffmpeg::{self, Decoder};
use super::medium::shown;
use super::stream::RawReader;
use super::{Medium, Stop, StreamFormat, VideoError, pictures, stream, y4m};
use crate::frame::Rate;
use crate::frame::{Frame, FrameError, FrameFormat, PixelFormat};
use crate::io::video::read_frame::LOOK;
use crate::io::video::read_frame::ReadFrame;
use crate::io::video::read_frame::check;

/// The maximum number of frames that are read ahead.
const AHEAD: usize = 3;

/// Options of an input video.
#[derive(Clone, Debug)]
pub struct VideoInput {
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// The medium.
    pub medium: Medium,
    /// The size of raw frames, which raw streams need. Other videos state their size.
    pub size: Option<UVec2>,
    /// The frame rate of a video that does not state it. ffmpeg converts a file that it reads to this rate.
    pub rate: Option<Rate>,
}

/// A video that is being read.
pub struct VideoSource {
    name: PathBuf,
    format: FrameFormat,
    rate: Rate,
    expected: Option<u64>,
    sound: Option<ffmpeg::Sound>,
    frames: Receiver<Result<Vec<u8>, VideoError>>,
    /// The first frame, if [`await_first`](Self::await_first) has received it and the caller has not taken it yet.
    first: Option<Vec<u8>>,
    empty: SyncSender<Vec<u8>>,
    stop: Stop,
    /// Kills ffmpeg when the source is dropped.
    _child: Option<ffmpeg::Killer>,
}

impl VideoSource {
    /// Opens a video and starts to read it.
    ///
    /// `pixels` is the requested pixel format, for instance that of the other camera's video. `None` requests the
    /// video's stored format. Only files that ffmpeg reads can be converted to another format.
    ///
    /// # Errors
    /// Returns [`VideoError`] if the video cannot be read in the requested format.
    pub fn open(
        input: &VideoInput,
        pixels: Option<PixelFormat>,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let name = shown(&input.path, "stdin");
        let no_rate = || VideoError::NoRate { file: name.clone() };
        match &input.medium {
            Medium::File => {
                let probe = ffmpeg::probe(&input.path, stop)?;
                let rate = input.rate.or(probe.rate).ok_or_else(no_rate)?;
                let format = FrameFormat {
                    size: probe.size,
                    pixels: pixels.unwrap_or(PixelFormat::Nv12(probe.encoding())),
                };
                check(&name, format.size)?;
                let decoder = Decoder::start(&input.path, &probe, rate, format, stop)?;
                let child = Some(decoder.killer());
                let expected = probe.duration.map(|duration| rate.frames(duration));
                let source = Self::start(name, format, rate, expected, decoder, stop)?;
                Ok(Self { sound: probe.sound, _child: child, ..source })
            }
            Medium::Stream(StreamFormat::Y4m) => {
                let (file, bytes) = stream::open(&input.path)?;
                let reader = y4m::Reader::new(&name, file)?;
                let rate = reader.header().rate.or(input.rate).ok_or_else(no_rate)?;
                let expected = bytes.map(|bytes| reader.frames_in(bytes));
                Self::start(name, reader.header().format(), rate, expected, reader, stop)
                    .and_then(|source| source.wants(pixels))
            }
            Medium::Stream(raw) => {
                let size = input.size.ok_or_else(|| VideoError::NoSize { file: name.clone() })?;
                let rate = input.rate.ok_or_else(no_rate)?;
                // Raw NV12 does not state its encoding, so assume the requested one.
                let own = raw.raw_pixels().unwrap_or(PixelFormat::Rgba8);
                let taken = match (own, pixels) {
                    (PixelFormat::Nv12(_), Some(PixelFormat::Nv12(encoding))) => {
                        PixelFormat::Nv12(encoding)
                    }
                    _ => own,
                };
                let format = FrameFormat { size, pixels: taken };
                check(&name, format.size)?;
                let (file, bytes) = stream::open(&input.path)?;
                let expected = bytes.map(|bytes| bytes / format.bytes() as u64);
                let reader = RawReader::new(&name, file);
                Self::start(name, format, rate, expected, reader, stop)
                    .and_then(|source| source.wants(pixels))
            }
            Medium::Pictures(pattern) => {
                let rate = input.rate.ok_or_else(no_rate)?;
                let reader = pictures::Reader::new(pattern)?;
                let format = FrameFormat { size: reader.size(), pixels: PixelFormat::Rgba8 };
                let expected = Some(reader.len());
                Self::start(name, format, rate, expected, reader, stop)
                    .and_then(|source| source.wants(pixels))
            }
        }
    }

    fn start(
        name: PathBuf,
        format: FrameFormat,
        rate: Rate,
        expected: Option<u64>,
        reader: impl ReadFrame + 'static,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let (full, frames) = sync_channel(AHEAD);
        let (empty, returned) = sync_channel(AHEAD);
        let bytes = format.bytes();
        let file = name.clone();
        let first = None;
        // The thread is not joined, because it may block on a pipe forever. It ends when the receiver is dropped.
        thread::Builder::new()
            .name("read".into())
            .spawn(move || read(&file, reader, bytes, &returned, &full))
            .map_err(VideoError::Thread)?;
        let (stop, sound, _child) = (stop.clone(), None, None);
        Ok(Self { name, format, rate, expected, sound, frames, first, empty, stop, _child })
    }

    fn wants(self, pixels: Option<PixelFormat>) -> Result<Self, VideoError> {
        let found = self.format.pixels;
        match pixels {
            Some(expected) if expected != found => {
                Err(VideoError::Formats { file: self.name, found, expected })
            }
            _ => Ok(self),
        }
    }

    /// Returns the next frame; `None` at the end of the video, or after a stop request.
    ///
    /// # Errors
    /// Returns [`VideoError`] if reading fails. After an error there are no more frames.
    pub fn frame(&mut self) -> Result<Option<Vec<u8>>, VideoError> {
        self.frame_within(None)
    }

    /// Waits for the first frame. Returns false after a stop request. Call it before expensive preparations, which an
    /// empty video does not need.
    ///
    /// # Errors
    /// Returns [`VideoError`] if the first frame cannot be read.
    pub fn await_first(&mut self) -> Result<bool, VideoError> {
        if self.first.is_none() {
            self.first = self.frame()?;
        }
        Ok(self.first.is_some())
    }

    /// Returns the first frame if [`await_first`](Self::await_first) has received it and it was not taken yet.
    pub(crate) fn first(&self) -> Option<Result<Frame<'_>, FrameError>> {
        self.first.as_ref().map(|bytes| Frame::tight(self.format, bytes))
    }

    /// Returns the next frame as [`frame`](Self::frame) does, or `None` after the timeout `patience`.
    pub(crate) fn frame_within(
        &mut self,
        patience: Option<Duration>,
    ) -> Result<Option<Vec<u8>>, VideoError> {
        let start = Instant::now();
        loop {
            if self.stop.is_asked() || patience.is_some_and(|patience| start.elapsed() > patience) {
                return Ok(None);
            }
            if let Some(first) = self.first.take() {
                return Ok(Some(first));
            }
            match self.frames.recv_timeout(LOOK) {
                Ok(frame) => return frame.map(Some),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    /// Returns a frame's buffer for reuse.
    pub fn give_back(&self, frame: Vec<u8>) {
        // Drop the buffer if the reader has ended or the channel is full.
        let _ = self.empty.try_send(frame);
    }

    /// Returns the stop flag.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Returns the video's name for messages.
    #[must_use]
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns the size and pixel format of the frames.
    #[must_use]
    pub fn format(&self) -> FrameFormat {
        self.format
    }

    /// Returns the frame rate.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns the approximate number of frames; `None` for a pipe.
    #[must_use]
    pub fn expected(&self) -> Option<u64> {
        self.expected
    }

    /// Returns the video's sound, if it has any.
    #[must_use]
    pub fn sound(&self) -> Option<&ffmpeg::Sound> {
        self.sound.as_ref()
    }
}

/// Sends the frames of `reader` to `full` until the video ends or the receiver is dropped. Reuses buffers from
/// `empty`.
fn read(
    file: &Path,
    mut reader: impl ReadFrame,
    bytes: usize,
    empty: &Receiver<Vec<u8>>,
    full: &SyncSender<Result<Vec<u8>, VideoError>>,
) {
    let mut any = false;
    loop {
        let mut frame = empty.try_recv().unwrap_or_default();
        if frame.len() != bytes {
            // `vec![0; n]` allocates pages on first use only. A header can claim any size.
            frame = vec![0; bytes];
        }
        let result = match reader.read_frame(&mut frame) {
            Ok(true) => Ok(frame),
            Ok(false) if any => return,
            Ok(false) => Err(VideoError::NoFrames { file: file.to_owned() }),
            Err(error) => Err(error),
        };
        any = true;
        let last = result.is_err();
        if full.send(result).is_err() || last {
            return;
        }
    }
}
