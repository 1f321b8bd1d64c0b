//! Reads videos from encoded files, streams and picture sequences.
//!
//! A thread reads frames ahead of the caller. The memory of frames that the caller drops is reused. The memory use does
//! not depend on the length of the video. It consists of up to [`AHEAD`] frames that were read ahead, the frame that is
//! being read, and the most frames that the caller has had at once. NVDEC also has memory for the pictures that it
//! decodes. Only the reader thread blocks on a pipe, so a caller that waits for a frame can still
//! react to a stop request.

mod open;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use glam::UVec2;

use super::ffmpeg::{self, EXIT_LIMIT};
use super::frame::HostPool;
use super::read_frame::{LOOK, NextFrame, ReadFrame};
use super::{
    DecodedFrame, Medium, Stop, VideoDecoder, VideoError, VideoFrame, VideoLimitError, VideoLimits,
};
use crate::device::{Device, Stream};
use crate::frame::{ColourTags, FrameFormat, Rate};
use crate::io::Conversion;

/// The maximum number of frames that the reader thread reads ahead of the caller.
const AHEAD: usize = 3;

/// Options for reading a video.
#[derive(Clone, Debug)]
pub struct VideoInput {
    /// The path of the file, or `-` for standard input.
    pub path: PathBuf,
    /// The medium of the video: encoded file, stream or picture sequence.
    pub medium: Medium,
    /// The frame size in pixels. NV12, P010 and RGBA streams require it. Other media ignore it, because they state
    /// their size.
    pub size: Option<UVec2>,
    /// The frame rate. NV12, P010 and RGBA streams and picture sequences require it, and so do other videos that do not
    /// state their rate. A rate in the header of a Y4M stream takes precedence, and so does the constant rate of an encoded
    /// file. An encoded file whose rate varies is converted to this rate, or to a multiple if its average rate is higher.
    pub rate: Option<Rate>,
    /// Whether an encoded file with more than 8 bits per sample is read as P010. Otherwise, its samples are rounded to
    /// 8 bits. Other media ignore it, because their frames have the stored format.
    pub ten_bit: bool,
    /// The decoder of encoded files. Other media ignore it.
    pub decoder: VideoDecoder,
    /// The limits on the video.
    pub limits: VideoLimits,
    /// The time in seconds since the first frame at which reading starts. Only ffmpeg, as the decoder of an encoded
    /// file, starts later than 0.
    pub start: f64,
    /// The device to which the frames are copied, if it is known: they are read to page-locked memory, from which a GPU
    /// copies faster.
    pub device: Option<Device>,
}

impl VideoInput {
    /// Returns the options for `path` with 8 bits per sample, the rate that the video states, and ffmpeg as the
    /// decoder.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, medium: Medium) -> Self {
        let (path, decoder, limits) =
            (path.into(), VideoDecoder::default(), VideoLimits::default());
        let (size, rate, ten_bit, start, device) = (None, None, false, 0.0, None);
        Self { path, medium, size, rate, ten_bit, decoder, limits, start, device }
    }
}

/// A video that is being read.
pub struct VideoSource {
    /// A handle that kills ffmpeg when the source is dropped. `None` for media that need no ffmpeg. This field comes
    /// first, so that ffmpeg is killed before its output is closed. Otherwise, it would report that error.
    child: Option<ffmpeg::Killer>,
    name: PathBuf,
    format: FrameFormat,
    rate: Rate,
    expected: Option<u64>,
    conversions: Vec<Conversion>,
    tags: ColourTags,
    sound: Option<ffmpeg::Sound>,
    decoder: Option<&'static str>,
    /// The frames, and `None` at the end.
    frames: Receiver<Result<Option<VideoFrame>, VideoError>>,
    /// The first picture of a picture sequence and its number.
    first_picture: Option<(PathBuf, u64)>,
    /// The maximum duration of an encoded file, which may state a shorter duration than it has.
    most: Option<Duration>,
    /// The number of frames received.
    received: u64,
    /// Whether the end or an error was received.
    ended: bool,
    /// The stream for copies of frames to the host.
    downloads: OnceLock<Stream>,
    /// The first frame after [`await_first`](Self::await_first) has received it, until
    /// [`next_frame`](Self::next_frame) returns it.
    first: Option<VideoFrame>,
    stop: Stop,
    /// The reader thread if it uses the GPU. This field comes last, so that the thread has a reason to end when this is
    /// dropped: nobody receives its frames, and its ffmpeg is killed.
    _gpu_reader: Option<GpuReader>,
}

/// A reader thread that uses the GPU. Drop waits for its end, because the driver must not be used while the process
/// exits.
struct GpuReader(JoinHandle<()>);

impl Drop for GpuReader {
    fn drop(&mut self) {
        let start = Instant::now();
        while !self.0.is_finished() && start.elapsed() < EXIT_LIMIT {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl VideoSource {
    /// Starts to read a video whose frames `reader` writes to buffers in host memory.
    fn buffered(
        name: PathBuf,
        format: FrameFormat,
        rate: Rate,
        expected: Option<u64>,
        reader: impl ReadFrame + 'static,
        device: Option<&Device>,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let pool = HostPool::new(format, device.cloned());
        let buffered = Box::new(Buffered { reader, pool, any: false });
        // The thread is not joined, because it may block forever on a pipe. If it does not block, it ends when the
        // receiver of the frames is dropped.
        Self::start(name, format, rate, expected, buffered, stop).map(|(source, _)| source)
    }

    /// Starts to read a video, and returns it with its reader thread.
    fn start(
        name: PathBuf,
        format: FrameFormat,
        rate: Rate,
        expected: Option<u64>,
        reader: Box<dyn NextFrame>,
        stop: &Stop,
    ) -> Result<(Self, JoinHandle<()>), VideoError> {
        let (full, frames) = sync_channel(AHEAD);
        let file = name.clone();
        let thread = thread::Builder::new()
            .name("read".into())
            .spawn(move || read(&file, reader, &full))
            .map_err(VideoError::Thread)?;
        let source = Self {
            child: None,
            name,
            format,
            rate,
            expected,
            conversions: Vec::new(),
            tags: ColourTags::default(),
            sound: None,
            decoder: None,
            frames,
            first_picture: None,
            most: None,
            received: 0,
            ended: false,
            downloads: OnceLock::new(),
            first: None,
            stop: stop.clone(),
            _gpu_reader: None,
        };
        Ok((source, thread))
    }

    /// Returns the bytes of the next frame without padding, or `None` at the end of the video or after a stop request.
    /// Copies a frame in device memory to the host.
    ///
    /// # Errors
    /// Returns [`VideoError`] if reading or copying fails. After an error, later calls return `None`.
    pub fn frame(&mut self) -> Result<Option<Vec<u8>>, VideoError> {
        let Some(frame) = self.next_frame(None)? else { return Ok(None) };
        let mut bytes = vec![0; self.format.bytes()];
        match frame {
            VideoFrame::Host(frame) => frame.frame().copy_to(&mut bytes),
            VideoFrame::Device(frame) => self.download(&frame, &mut bytes)?,
        }
        Ok(Some(bytes))
    }

    /// Copies a frame of this video from the device to `bytes`, without padding.
    pub(crate) fn download(
        &self,
        frame: &DecodedFrame,
        bytes: &mut [u8],
    ) -> Result<(), VideoError> {
        let mut copy = || {
            let stream = match self.downloads.get() {
                Some(stream) => stream,
                None => {
                    let stream = frame.device().stream()?;
                    self.downloads.get_or_init(|| stream)
                }
            };
            frame.download(stream, bytes)
        };
        copy().map_err(|source| VideoError::Download {
            file: self.name.clone(),
            source: source.into(),
        })
    }

    /// Waits for the first frame. Returns true if the frame was received, and false if a stop was requested. Call this
    /// before expensive preparations, which would be wasted on a video that cannot be read.
    ///
    /// # Errors
    /// Returns [`VideoError`] if the first frame cannot be read.
    pub fn await_first(&mut self) -> Result<bool, VideoError> {
        if self.first.is_none() {
            self.first = self.next_frame(None)?;
        }
        Ok(self.first.is_some())
    }

    /// Returns the first frame if [`await_first`](Self::await_first) has received it and
    /// [`next_frame`](Self::next_frame) has not returned it yet.
    pub(crate) fn first(&self) -> Option<&VideoFrame> {
        self.first.as_ref()
    }

    /// Returns the next frame in the memory in which it was decoded, or `None` at the end of the video, after a stop
    /// request, or if no frame arrives within `patience`.
    ///
    /// # Errors
    /// Returns [`VideoError`] if reading fails. After an error, later calls return `None`.
    pub fn next_frame(
        &mut self,
        patience: Option<Duration>,
    ) -> Result<Option<VideoFrame>, VideoError> {
        let start = Instant::now();
        loop {
            if self.stop.is_asked() || patience.is_some_and(|patience| start.elapsed() > patience) {
                return Ok(None);
            }
            if let Some(first) = self.first.take() {
                return Ok(Some(first));
            }
            if self.ended {
                return Ok(None);
            }
            match self.frames.recv_timeout(LOOK) {
                Ok(received) => {
                    self.received += 1;
                    // The encoding of raw frames is known only when the first video is open.
                    let tagged = |frame| match frame {
                        VideoFrame::Host(frame) => VideoFrame::Host(frame.tagged(self.format)),
                        frame @ VideoFrame::Device(_) => frame,
                    };
                    let received = received.and_then(|frame| self.within_limit(frame.map(tagged)));
                    self.ended = !matches!(received, Ok(Some(_)));
                    // These errors contain or explain the messages of ffmpeg.
                    let explains = matches!(
                        received,
                        Err(VideoError::Ffmpeg { .. }
                            | VideoError::TimedOut { .. }
                            | VideoError::Shape { .. })
                    );
                    if let Some(child) = self.child.as_ref().filter(|_| explains) {
                        child.set_reported();
                    }
                    return received;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.ended = true;
                    return Err(VideoError::Panicked { file: self.name.clone() });
                }
            }
        }
    }

    /// Returns `frame`, or an error if it comes after the maximum duration of the video.
    fn within_limit(&self, frame: Option<VideoFrame>) -> Result<Option<VideoFrame>, VideoError> {
        let most = self.most.map(|most| (most, self.rate.frames(most).saturating_add(1)));
        match most.filter(|(_, frames)| frame.is_some() && self.received > *frames) {
            None => Ok(frame),
            Some((limit, _)) => {
                let duration =
                    Duration::from_secs_f64(self.received as f64 / self.rate.per_second());
                let source = VideoLimitError::Duration { duration, limit };
                Err(VideoError::Limit { file: self.name.clone(), source })
            }
        }
    }

    /// Returns the decoder of an encoded file: `nvdec` or `ffmpeg`. `None` for other media.
    #[must_use]
    pub fn decoder(&self) -> Option<&'static str> {
        self.decoder
    }

    /// Returns the stop flag of the video job that reads this source.
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

    /// Returns the approximate number of frames, or `None` if it is unknown, for instance for a pipe.
    #[must_use]
    pub fn expected(&self) -> Option<u64> {
        self.expected
    }

    /// Returns the properties of the video that its frames lack. Empty for streams, whose frames are not converted.
    #[must_use]
    pub fn conversions(&self) -> &[Conversion] {
        &self.conversions
    }

    /// Returns the primaries and the transfer function of an encoded file, and BT.709 for other media, which do not
    /// state them. Frames contain the levels of the file, whatever the tags are.
    #[must_use]
    pub fn tags(&self) -> ColourTags {
        self.tags
    }

    /// Returns the video's sound. `None` for a video without sound, and for streams and picture sequences.
    #[must_use]
    pub fn sound(&self) -> Option<&ffmpeg::Sound> {
        self.sound.as_ref()
    }
}

/// A reader to host memory.
struct Buffered<R> {
    reader: R,
    pool: HostPool,
    /// Whether a frame was read.
    any: bool,
}

impl<R: ReadFrame> NextFrame for Buffered<R> {
    fn next_frame(&mut self) -> Result<Option<VideoFrame>, VideoError> {
        let first = !std::mem::replace(&mut self.any, true);
        let frame = self.pool.read(first, |bytes| self.reader.read_frame(bytes))?;
        Ok(frame.map(VideoFrame::Host))
    }
}

/// Sends the frames of `reader` to `full` until the video ends or the receiver is dropped.
fn read(
    file: &Path,
    mut reader: Box<dyn NextFrame>,
    full: &SyncSender<Result<Option<VideoFrame>, VideoError>>,
) {
    let mut any = false;
    loop {
        let result = match reader.next_frame() {
            Ok(None) if !any => Err(VideoError::NoFrames { file: file.to_owned() }),
            result => result,
        };
        any = true;
        let last = !matches!(result, Ok(Some(_)));
        if full.send(result).is_err() || last {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
