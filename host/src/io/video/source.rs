//! Videos that are read: a thread reads ahead into a few buffers that go round.
//!
//! However long the video, few frames are in memory: up to [`AHEAD`] that were read, as many that are to
//! be used again, one that is being read, and those that the caller has. A reader that waits for a pipe
//! waits alone: whoever wants the frame looks now and then whether an end was asked for.

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
use crate::io::picture::MAX_SIDE;

/// Frames read ahead.
const AHEAD: usize = 3;

/// How often a reader that waits looks whether it should.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// Where frames come from, one after the other.
pub(super) trait ReadFrame: Send {
    /// Fills `frame`, which has exactly the bytes of one; false at the end.
    fn read_frame(&mut self, frame: &mut [u8]) -> Result<bool, VideoError>;
}

/// What is to be read.
#[derive(Clone, Debug)]
pub struct VideoInput {
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// What holds the video.
    pub medium: Medium,
    /// Size of raw frames.
    pub size: Option<UVec2>,
    /// Frames a second of a video that does not say; a file that `ffmpeg` reads is brought to it.
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
    /// The first one, if it was waited for.
    first: Option<Vec<u8>>,
    empty: SyncSender<Vec<u8>>,
    stop: Stop,
    /// Ends with the source.
    _child: Option<ffmpeg::Killer>,
}

impl VideoSource {
    /// Opens a video, and begins to read it.
    ///
    /// `pixels` is what the frames should be, as the other camera's are; `None` for what suits the
    /// video. ffmpeg converts; other videos are what they are.
    ///
    /// # Errors
    /// [`VideoError`].
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
                // The same bytes whatever they are taken for.
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
        // Not joined: it may wait for a pipe for ever. It ends when nobody listens.
        thread::Builder::new()
            .name("read".into())
            .spawn(move || read(&file, reader, bytes, &returned, &full))
            .map_err(VideoError::Thread)?;
        let (stop, sound, _child) = (stop.clone(), None, None);
        Ok(Self { name, format, rate, expected, sound, frames, first, empty, stop, _child })
    }

    fn wants(self, pixels: Option<PixelFormat>) -> Result<Self, VideoError> {
        match pixels.map(|pixels| FrameFormat { pixels, ..self.format }) {
            Some(expected) if expected != self.format => {
                Err(VideoError::Formats { file: self.name, found: self.format, expected })
            }
            _ => Ok(self),
        }
    }

    /// The next frame; `None` at the end, or when an end is asked for.
    ///
    /// # Errors
    /// [`VideoError`]; nothing comes after one.
    pub fn frame(&mut self) -> Result<Option<Vec<u8>>, VideoError> {
        self.frame_within(None)
    }

    /// Waits until there is a frame; false when an end is asked for. So nothing need be prepared for a
    /// video that has none.
    ///
    /// # Errors
    /// [`VideoError`].
    pub fn await_first(&mut self) -> Result<bool, VideoError> {
        if self.first.is_none() {
            self.first = self.frame()?;
        }
        Ok(self.first.is_some())
    }

    /// The first frame, if it was waited for and not taken.
    pub(crate) fn first(&self) -> Option<Result<Frame<'_>, FrameError>> {
        self.first.as_ref().map(|bytes| Frame::tight(self.format, bytes))
    }

    /// The next frame, as [`frame`](Self::frame); or `None` when it takes longer.
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

    /// Gives a frame's memory back.
    pub fn give_back(&self, frame: Vec<u8>) {
        // The reader may have ended, or have enough.
        let _ = self.empty.try_send(frame);
    }

    /// What ends it.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The name for messages.
    #[must_use]
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Size and format of the frames.
    #[must_use]
    pub fn format(&self) -> FrameFormat {
        self.format
    }

    /// Frames a second.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// How many frames there are, about; `None` of a pipe.
    #[must_use]
    pub fn expected(&self) -> Option<u64> {
        self.expected
    }

    /// The video's sound, if it has any.
    #[must_use]
    pub fn sound(&self) -> Option<&ffmpeg::Sound> {
        self.sound.as_ref()
    }
}

/// Checks a size before anything is made for it: what a file says may be anything.
pub(super) fn check(file: &Path, size: UVec2) -> Result<(), VideoError> {
    if size.min_element() > 0 && size.max_element() <= MAX_SIDE {
        return Ok(());
    }
    Err(VideoError::SourceSize { file: file.to_owned(), size })
}

/// Reads to the end, or until nobody listens.
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
            // Not touched before it is read: a header may say anything.
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
