//! Opens one or several videos.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;

use super::{GpuReader, VideoInput, VideoSource};
use crate::frame::{FrameFormat, PixelFormat, Rate};
use crate::io::video::ffmpeg::{self, Decoder};
use crate::io::video::medium::shown;
use crate::io::video::read_frame::{LOOK, check};
use crate::io::video::stream::{self, RawReader};
use crate::io::video::{Medium, Stop, StreamFormat, VideoError, pictures, y4m};

/// The properties that a video takes from the first one of several.
#[derive(Clone, Copy, Default)]
struct Preferred {
    pixels: Option<PixelFormat>,
    /// The rate for a video whose own rate varies and whose [`VideoInput::rate`] is not given. Its frames then keep their
    /// times, while a conversion to its average rate and a second one to the rate of the first video would not.
    rate: Option<Rate>,
}

/// The index of an input, and the result of opening it.
type Opened = (usize, Result<VideoSource, VideoError>);

impl VideoSource {
    /// Opens a video and starts to read it.
    ///
    /// `pixels` is the preferred pixel format, for instance that of the other camera's video. `None` selects the format
    /// in which the video is stored. Only encoded files are converted to the preferred format. All other videos keep
    /// their own format; see [`format`](Self::format).
    ///
    /// # Errors
    /// Returns [`VideoError`] if the video cannot be read.
    pub fn open(
        input: &VideoInput,
        pixels: Option<PixelFormat>,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        Self::open_preferring(input, Preferred { pixels, rate: None }, stop)
    }

    fn open_preferring(
        input: &VideoInput,
        preferred: Preferred,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let pixels = preferred.pixels;
        let name = shown(&input.path, "stdin");
        let no_rate = || {
            VideoError::input(
                &name,
                "the frame rate is unknown; set `fps`, for example to 30 or 30000/1001",
            )
        };
        let (limits, device) = (&input.limits, input.device.as_ref());
        let over = |source| VideoError::Limit { file: name.clone(), source };
        match &input.medium {
            Medium::File => Self::open_file(input, preferred, name, stop),
            Medium::Stream(StreamFormat::Y4m) => {
                let (file, bytes) = stream::open(&input.path)?;
                let reader = y4m::Reader::new(&name, file)?;
                let rate = reader.header().rate.or(input.rate).ok_or_else(no_rate)?;
                let expected = bytes.map(|bytes| reader.frames_in(bytes));
                let format = reader.header().format();
                limits.check_size(format.size).map_err(over)?;
                Self::buffered(name, format, rate, expected, reader, device, stop)
            }
            Medium::Stream(StreamFormat::Raw(own)) => {
                let size = input.size.ok_or_else(|| {
                    VideoError::input(
                        &name,
                        "the size of raw frames is unknown; set `input-size` to WIDTHxHEIGHT",
                    )
                })?;
                let rate = input.rate.ok_or_else(no_rate)?;
                let format = FrameFormat { size, pixels: tagged(*own, pixels) };
                check(&name, format.size)?;
                limits.check_size(size).map_err(over)?;
                let (file, bytes) = stream::open(&input.path)?;
                let expected = bytes.map(|bytes| bytes / format.bytes() as u64);
                let reader = RawReader::new(&name, file);
                Self::buffered(name, format, rate, expected, reader, device, stop)
            }
            Medium::Pictures(pattern) => {
                let rate = input.rate.ok_or_else(no_rate)?;
                let reader = pictures::Reader::new(pattern)?;
                let format = FrameFormat { size: reader.size(), pixels: PixelFormat::Rgba8 };
                let expected = Some(reader.len());
                let conversions = reader.conversions().to_vec();
                let first = reader.first();
                let source = Self::buffered(name, format, rate, expected, reader, device, stop)?;
                Ok(Self { conversions, first_picture: Some(first), ..source })
            }
        }
    }

    /// Opens a file that ffmpeg or NVDEC decodes. `name` names it in errors.
    fn open_file(
        input: &VideoInput,
        preferred: Preferred,
        name: PathBuf,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let (limits, device) = (&input.limits, input.device.as_ref());
        let no_rate = || {
            VideoError::input(
                &name,
                "the frame rate is unknown; set `fps`, for example to 30 or 30000/1001",
            )
        };
        let over = |source| VideoError::Limit { file: name.clone(), source };
        let probe = ffmpeg::probe(&input.path, limits, stop)?;
        limits.check_streams(probe.streams).map_err(over)?;
        limits.check_size(probe.size).map_err(over)?;
        limits.check_duration(probe.duration).map_err(over)?;
        let other = input.rate.or(preferred.rate.filter(|_| probe.varies));
        let rate = match (probe.rate, other) {
            // Frames at a constant rate keep their times only if they are not converted.
            (Some(own), Some(other)) if probe.varies => other.multiple(own),
            (own, other) => own.or(other).ok_or_else(no_rate)?,
        };
        if probe.varies && other.is_none() {
            tracing::warn!(
                "{}: the frame rate varies; the video is read at its average of {:.2} frames per second, so frames may be lost or repeated; set a frame rate to keep them",
                input.path.display(),
                rate.per_second()
            );
        }
        let own = || {
            let deep = input.ten_bit && probe.bits() > 8;
            let format = if deep { PixelFormat::P010 } else { PixelFormat::Nv12 };
            format(probe.encoding())
        };
        let format = FrameFormat { size: probe.size, pixels: preferred.pixels.unwrap_or_else(own) };
        check(&name, format.size)?;
        let expected = probe.duration.map(|duration| rate.frames(duration));
        let path = &input.path;
        let source = match input.decoder.start(path, &probe, rate, format, stop)? {
            Some(nvdec) => {
                let child = Some(nvdec.killer(stop));
                let (source, thread) =
                    Self::start(name, format, rate, expected, Box::new(nvdec), stop)?;
                let _gpu_reader = Some(GpuReader(thread));
                Self { decoder: Some("nvdec"), child, _gpu_reader, ..source }
            }
            None => {
                let ffmpeg = Decoder::start(path, &probe, rate, format, input.start, stop)?;
                let child = Some(ffmpeg.killer());
                let source = Self::buffered(name, format, rate, expected, ffmpeg, device, stop)?;
                Self { decoder: Some("ffmpeg"), child, ..source }
            }
        };
        let conversions = probe.conversions(format.pixels);
        let tags = probe.tags();
        let most = Some(limits.duration);
        Ok(Self { sound: probe.sound, conversions, tags, most, ..source })
    }

    /// Opens videos at the same time, and starts to read them. The pixel format of the first video is the preferred one
    /// of the others; see [`open`](Self::open). A further file whose frame rate varies is read as if its
    /// [`rate`](VideoInput::rate) were that of the first video, unless it is set. One program can write several pipes
    /// in any order, because only encoded files wait for the first video.
    ///
    /// # Errors
    /// Returns the [`VideoError`] of a video that cannot be read, even if other inputs still wait for data. Returns
    /// [`VideoError::NoWriter`] if a stop is requested while an input waits.
    pub fn open_all(inputs: &[VideoInput], stop: &Stop) -> Result<Vec<Self>, VideoError> {
        let is_file = |i: usize| inputs[i].medium == Medium::File;
        // A missing file after a pipe would be noticed only when another program writes the pipe.
        let after_pipe = inputs.iter().skip_while(|input| input.medium == Medium::File);
        for input in after_pipe.filter(|input| input.medium == Medium::File) {
            let unreadable = |source| VideoError::Unreadable { file: input.path.clone(), source };
            std::fs::metadata(&input.path).map_err(unreadable)?;
        }
        let (send, opened) = channel::<Opened>();
        let builder = || thread::Builder::new().name("open".into());
        // Open other media than files in threads that are not joined, because they may block forever on a pipe.
        for i in (0..inputs.len()).filter(|i| !is_file(*i)) {
            let (input, stop, send) = (inputs[i].clone(), stop.clone(), send.clone());
            // The receiver is gone if another input could not be opened.
            let open = move || drop(send.send((i, open(&input, Preferred::default(), &stop))));
            builder().spawn(open).map_err(VideoError::Thread)?;
        }
        // Join the threads that open files, because they may use the GPU.
        thread::scope(|scope| {
            let open_file = |i: usize, preferred| {
                let send = send.clone();
                let open = move || drop(send.send((i, open(&inputs[i], preferred, stop))));
                builder().spawn_scoped(scope, open).map(drop).map_err(VideoError::Thread)
            };
            if !inputs.is_empty() && is_file(0) {
                open_file(0, Preferred::default())?;
            }
            let mut sources: Vec<Option<Self>> = inputs.iter().map(|_| None).collect();
            let mut failed: Option<(usize, VideoError)> = None;
            while let Some(missing) = sources.iter().position(Option::is_none) {
                let received = opened.recv_timeout(LOOK);
                // This function holds a sender, so the only error is a timeout.
                let is_timeout = received.is_err();
                match received {
                    Ok((i, Ok(source))) => {
                        let source = sources[i].insert(source);
                        let (pixels, rate) = (Some(source.format().pixels), Some(source.rate()));
                        let preferred = Preferred { pixels, rate };
                        // Only files are converted to the format of the first video, so only they wait for it.
                        if i == 0 && failed.is_none() {
                            let mut others = (1..inputs.len()).filter(|i| is_file(*i));
                            others.try_for_each(|i| open_file(i, preferred))?;
                        }
                    }
                    Ok((i, Err(error))) if failed.as_ref().is_none_or(|(first, _)| i < *first) => {
                        failed = Some((i, error));
                    }
                    // A file does not wait for another program, so its thread ends on its own.
                    Err(_) if failed.is_none() && stop.is_asked() && !is_file(missing) => {
                        let file = shown(&inputs[missing].path, "stdin");
                        return Err(VideoError::NoWriter { file });
                    }
                    Ok(_) | Err(_) => {}
                }
                // Prefer the error of an earlier input, unless that input takes long.
                let is_first = |i: usize| sources[..i].iter().all(Option::is_some);
                if let Some((_, error)) = failed.take_if(|(i, _)| is_timeout || is_first(*i)) {
                    return Err(error);
                }
            }
            let mut sources: Vec<Self> = sources.into_iter().flatten().collect();
            let pixels = sources.first().map(|first| first.format().pixels);
            for (input, source) in inputs.iter().zip(&mut sources).skip(1) {
                if let Medium::Stream(StreamFormat::Raw(_)) = input.medium {
                    source.format.pixels = tagged(source.format.pixels, pixels);
                }
            }
            warn_of_different_numbers(&sources);
            Ok(sources)
        })
    }
}

/// Logs a warning if two picture sequences begin with different numbers, because the pictures with the same number may
/// belong together.
fn warn_of_different_numbers(sources: &[VideoSource]) {
    let mut pictures = sources.iter().filter_map(|source| source.first_picture.as_ref());
    let Some((first, number)) = pictures.next() else { return };
    if let Some((other, found)) = pictures.find(|(_, found)| found != number) {
        tracing::warn!(
            "the first number of {} is {number}, but that of {} is {found}; the pictures are paired in the order of their numbers, so the first ones belong together",
            first.display(),
            other.display()
        );
    }
}

/// Opens a video. A panic becomes an error, because [`VideoSource::open_all`] would wait for the result forever.
fn open(input: &VideoInput, preferred: Preferred, stop: &Stop) -> Result<VideoSource, VideoError> {
    let open = AssertUnwindSafe(|| VideoSource::open_preferring(input, preferred, stop));
    let panicked = |_| Err(VideoError::Panicked { file: shown(&input.path, "stdin") });
    catch_unwind(open).unwrap_or_else(panicked)
}

/// Returns the pixel format `own` of raw frames with the encoding of the `preferred` format. Raw frames
/// do not state their colour encoding, so they are assumed to have the encoding that the caller prefers.
fn tagged(own: PixelFormat, preferred: Option<PixelFormat>) -> PixelFormat {
    preferred.and_then(PixelFormat::encoding).map_or(own, |encoding| own.with_encoding(encoding))
}
