//! Decodes a video file to frames of one size, one format and a constant rate.
//!
//! ffmpeg rotates the frames upright, repeats and drops frames to reach a constant rate, and converts video to 4:2:0
//! with 8 bits, or with 10 bits (P010) if the caller asks for it. The kernels support BT.601, BT.709 and BT.2020
//! (non-constant luminance), so frames in these encodings keep their matrix and range. The exception is a caller that
//! requests the encoding of the other camera's video. Interlaced video is not deinterlaced, and non-square pixels are
//! not resampled.
//!
//! If the size or the pixel format changes within the file, ffmpeg converts all frames to the size and format of the
//! first one. Decoding fails if their shape changes, because ffmpeg would distort the frames; up to two frames before
//! the change are lost. If the timestamps of two consecutive frames differ by more than 600 s, decoding fails, because
//! ffmpeg would fill the gap with repeated frames. Decoding also fails at a frame that exceeds [`MaxPixels`].

use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Stdio};

use super::probe::Probe;
use super::process::{Child, EXIT_LIMIT, Killer, number};
use super::{FFMPEG, MaxPixels, ffmpeg, input, range, range_and_matrix};
use crate::frame::Rate;
use crate::frame::{FrameFormat, PixelFormat, YuvEncoding};
use crate::io::video::constant_rate::MAX_HOLE;
use crate::io::video::read_frame::ReadFrame;
use crate::io::video::stream::RawReader;
use crate::io::video::{FfmpegTask, Stop, VideoError};

/// The maximum relative difference between the aspect ratios of frames that have the same shape. Encoders round the
/// sides of adaptive streams to multiples of up to 16: 416×240 stands for 16:9, which is 2.5 % wider.
const SAME_SHAPE: f64 = 0.03;

/// ffmpeg's message for a frame that has another shape, see [`filters`].
const OTHER_SHAPE: &str = "Rescaled value for width or height is too big";

/// An ffmpeg process that decodes a file.
pub(in crate::io::video) struct Decoder {
    child: Child,
    frames: RawReader<ChildStdout>,
    rate: Rate,
    /// The number of frames read.
    read: u64,
    max_pixels: MaxPixels,
    file: PathBuf,
    stop: Stop,
}

/// A gap in the timestamps that is too long to fill.
struct Jump {
    /// The time in seconds from the frame before the gap to the frame after it, negative for a jump backwards.
    seconds: f64,
    /// The time in seconds from the first frame to the frame before the gap.
    time: f64,
}

impl Decoder {
    /// Starts decoding to frames of `format` at `rate`.
    pub(in crate::io::video) fn start(
        path: &Path,
        probe: &Probe,
        rate: Rate,
        format: FrameFormat,
        start: f64,
        stop: &Stop,
    ) -> Result<Self, VideoError> {
        let mut command = ffmpeg();
        command
            // Keep the filters if the frame size changes within the file, because the `scale` filter adapts to the new
            // size. By default, ffmpeg would initialise all filters again, and `setpts` would restart the timestamps at
            // 0.
            .args(["-reinit_filter", "0"]);
        if start > 0.0 {
            command.arg("-ss").arg(start.to_string());
        }
        input(&mut command, path, probe.max_pixels);
        command
            .arg("-map")
            .arg(format!("0:{}", probe.index))
            .arg("-vf")
            .arg(filters(probe, rate, format))
            .args(["-f", "rawvideo", "pipe:1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let child = Child::start(FFMPEG, &mut command, path, FfmpegTask::Decoding, stop)?;
        let frames = RawReader::new(path, child.output()?);
        let (file, stop, max_pixels) = (path.to_owned(), stop.clone(), probe.max_pixels);
        Ok(Self { child, frames, rate, read: 0, max_pixels, file, stop })
    }

    /// Returns a handle that kills ffmpeg when the handle is dropped.
    pub(in crate::io::video) fn killer(&self) -> Killer {
        self.child.killer(&self.stop)
    }
}

fn filters(probe: &Probe, rate: Rate, format: FrameFormat) -> String {
    let described = |side, encoding: Option<YuvEncoding>| {
        encoding.map_or_else(String::new, |encoding| range_and_matrix(side, encoding))
    };
    let input = described("in", probe.stored());
    let output = described("out", format.pixels.encoding());
    let pixels = match format.pixels {
        // ffmpeg's direct conversion from 8 bits repeats the upper bits in the lower ones, which adds up to 3 levels.
        PixelFormat::P010(encoding) => {
            &format!("yuv420p10le,{},format=p010le", same_range(encoding))
        }
        pixels => pixels.ffmpeg_name(),
    };
    // At a jump, the `jump` expression makes ffmpeg print the two fields of `Jump`, each on its own line, at log level 16
    // (errors). ffmpeg prints no other lines at this level that consist of a single number.
    let jump =
        format!("if(gt(abs(T-PREV_INT),{MAX_HOLE}),print(T-PREV_INT,16)+print(PREV_OUTT,16),0)");
    // The timestamps start at 0, so that the first frames of both cameras are paired. Frames at the start without a
    // timestamp follow each other at the rate of the file, and the first timestamp comes after them.
    let times = match (probe.untimed, probe.rate) {
        (untimed @ 1.., Some(rate)) => format!(
            "if(lt(N,{untimed}),N/({rate}*TB),PTS-st(0,if(eq(N,{untimed}),PTS,ld(0)))+{untimed}/({rate}*TB))"
        ),
        _ => "PTS-STARTPTS".to_owned(),
    };
    // A frame has the shape of the first one if it has the same aspect ratio, or is displayed with the same one. For
    // any other frame, the width is deliberately too large for the filter, which makes ffmpeg fail. `eval=frame`
    // evaluates the expression again only if the size changes.
    let (size, pixel) = (format.size, probe.pixel_aspect);
    let aspect = f64::from(size.x) / f64::from(size.y);
    let same = |ratio: &str, expected: f64| format!("lt(abs({ratio}/{expected}-1),{SAME_SHAPE})");
    let same = format!("{}+{}", same("iw/ih", aspect), same("iw*sar/ih", aspect * pixel));
    // ffmpeg's conversion to NV12 and P010 can leave the chroma at 0 if the frames are gray or have this format already.
    let loses_chroma = probe.is_gray() || probe.pixels() == "nv12";
    let keep_chroma = match (loses_chroma, format.pixels) {
        (false, _) | (_, PixelFormat::Rgba8) => String::new(),
        (true, pixels) => {
            let planar = if pixels.bits() > 8 { "yuv420p10le" } else { "yuv420p" };
            format!("{},format={planar},", same_range(probe.encoding()))
        }
    };
    let scale = format!("scale=w='if({same},{},1e9)':h={}:eval=frame", size.x, size.y);
    // By default, ffmpeg truncates when it changes the matrix or the range, so luma loses about one level.
    let wanted = format.pixels.encoding();
    let is_converted = wanted.is_some() && wanted != probe.stored();
    let flags = if is_converted { ":flags=bicubic+accurate_rnd+full_chroma_int" } else { "" };
    format!(
        "setpts='{times}+0*{jump}',fps={rate},{keep_chroma}{scale}{input}{output}{flags},format={pixels}"
    )
}

/// Returns a `scale` filter whose output has the range of its input.
fn same_range(encoding: YuvEncoding) -> String {
    let range = range(encoding.range);
    format!("scale=in_range={range}:out_range={range}")
}

impl Decoder {
    /// Returns the error for a frame that ffmpeg has refused so far because it is too large, if any.
    fn exceeded(&self) -> Result<(), VideoError> {
        match self.max_pixels.exceeded(&self.child.lines_so_far()) {
            Some(source) => Err(VideoError::Limit { file: self.file.clone(), source }),
            None => Ok(()),
        }
    }

    /// Returns the first jump that ffmpeg has printed so far, or `None` if it has printed none.
    fn jump(&self) -> Option<Jump> {
        let lines = self.child.lines_so_far();
        let mut numbers = lines.iter().filter_map(|line| number(line));
        Some(Jump { seconds: numbers.next()?, time: numbers.next()? })
    }

    /// Returns whether the next frame, which has the index `self.read`, comes after the jump. Without this check,
    /// frames from before the jump could be lost: ffmpeg may print the jump while these frames are still in the pipe.
    fn is_past(&self, jump: &Jump) -> bool {
        self.read as f64 > (jump.time * self.rate.per_second()).round()
    }

    /// Returns the error for a file from which ffmpeg made no frame although it succeeded. `said` has its last
    /// messages.
    fn no_frames(&self, said: &str) -> VideoError {
        if said.is_empty() {
            VideoError::NoFrames { file: self.file.clone() }
        } else {
            self.child.failed()
        }
    }

    /// Returns the error for a frame with another shape if ffmpeg has found one.
    fn check_shape(&self) -> Result<(), VideoError> {
        if !self.child.lines().iter().any(|line| line.contains(OTHER_SHAPE)) {
            return Ok(());
        }
        let seconds = self.read as f64 / self.rate.per_second();
        Err(VideoError::Shape { file: self.file.clone(), seconds })
    }

    fn jumped(&self, jump: &Jump) -> VideoError {
        let file = self.file.clone();
        VideoError::Jump { file, seconds: jump.seconds, most: MAX_HOLE }
    }
}

impl ReadFrame for Decoder {
    fn read_frame(&mut self, frame: &mut [u8]) -> Result<bool, VideoError> {
        // ffmpeg would repeat the frame before the one that is too large.
        self.exceeded().inspect_err(|_| self.child.kill())?;
        if let Some(jump) = self.jump().filter(|jump| self.is_past(jump)) {
            // Kill ffmpeg now. Otherwise it would fill the gap with repeated frames before it exits.
            self.child.kill();
            return Err(self.jumped(&jump));
        }
        match self.frames.read_frame(frame) {
            Ok(true) => {
                self.read += 1;
                Ok(true)
            }
            // The frames ended or could not be read. If ffmpeg reported a jump or failed, return that error instead of
            // the reader's error, because it states the cause.
            ended => {
                let waited = self.child.wait(Some(EXIT_LIMIT));
                let said = self.child.said();
                self.exceeded()?;
                if let Some(jump) = self.jump() {
                    return Err(self.jumped(&jump));
                }
                self.check_shape()?;
                // An exit code means that ffmpeg was not killed.
                let failed = matches!(&waited, Err(VideoError::Ffmpeg { status, .. }) if status.code().is_some());
                let is_empty = self.read == 0 && matches!(ended, Ok(false));
                if failed || (waited.is_ok() && is_empty) {
                    FFMPEG.check(&self.file, &self.stop)?;
                }
                waited?;
                if is_empty {
                    return Err(self.no_frames(&said));
                }
                self.child.report();
                ended
            }
        }
    }
}
