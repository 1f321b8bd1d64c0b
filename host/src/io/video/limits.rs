//! Limits on input videos, which protect a program from files that claim to be huge. They apply before frames are
//! allocated.

use std::time::Duration;

use glam::UVec2;
use thiserror::Error;

/// The limits on an input video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoLimits {
    /// The maximum number of pixels of a frame.
    pub pixels: u64,
    /// The maximum number of streams of an encoded file: pictures, sound, subtitles and data.
    pub streams: usize,
    /// The maximum duration of a video: the one that it states, and for an encoded file also that of its frames.
    pub duration: Duration,
}

impl Default for VideoLimits {
    /// Returns 2²⁷ pixels (16384×8192), 256 streams and 7 days.
    fn default() -> Self {
        Self { pixels: 1 << 27, streams: 256, duration: Duration::from_secs(7 * 86_400) }
    }
}

/// The limit that an input video exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of each variant are explained by its message")]
pub enum VideoLimitError {
    /// The frames have too many pixels.
    #[error("the frames are {}×{} pixels, but at most {limit} pixels are allowed; raise `max-input-pixels`", size.x, size.y)]
    Pixels { size: UVec2, limit: u64 },
    /// A frame has more pixels than the file states, and too many. ffmpeg did not decode it.
    #[error("a frame has about {}×{} pixels, but at most {limit} are allowed; raise `max-input-pixels`", size.x, size.y)]
    Frame { size: UVec2, limit: u64 },
    /// The file has too many streams.
    #[error(
        "the file has {streams} streams, but at most {limit} are allowed; raise `max-input-streams`"
    )]
    Streams { streams: usize, limit: usize },
    /// The video is too long.
    #[error("the video lasts {} s, but at most {} s are allowed; raise `max-input-seconds`", duration.as_secs_f64(), limit.as_secs_f64())]
    Duration { duration: Duration, limit: Duration },
}

impl VideoLimits {
    /// Checks the size of a frame.
    pub(super) fn check_size(&self, size: UVec2) -> Result<(), VideoLimitError> {
        let limit = self.pixels;
        if u64::from(size.x) * u64::from(size.y) <= limit {
            return Ok(());
        }
        Err(VideoLimitError::Pixels { size, limit })
    }

    /// Checks the number of streams of an encoded file.
    pub(super) fn check_streams(&self, streams: usize) -> Result<(), VideoLimitError> {
        let limit = self.streams;
        if streams <= limit { Ok(()) } else { Err(VideoLimitError::Streams { streams, limit }) }
    }

    /// Checks the duration, if the video states one.
    pub(super) fn check_duration(&self, duration: Option<Duration>) -> Result<(), VideoLimitError> {
        let limit = self.duration;
        match duration.filter(|duration| *duration > limit) {
            Some(duration) => Err(VideoLimitError::Duration { duration, limit }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::io::video::{Medium, Stop, StreamFormat, VideoError, VideoInput, VideoSource};

    #[test]
    fn each_limit_holds() {
        let limits = VideoLimits { pixels: 12, streams: 2, duration: Duration::from_secs(3) };
        assert!(limits.check_size(UVec2::new(4, 3)).is_ok());
        let error = limits.check_size(UVec2::new(13, 1)).unwrap_err().to_string();
        assert!(error.contains("13×1") && error.contains("max-input-pixels"), "{error}");
        assert!(limits.check_streams(2).is_ok());
        let error = limits.check_streams(3).unwrap_err().to_string();
        assert!(error.contains("3 streams") && error.contains("max-input-streams"), "{error}");
        assert!(limits.check_duration(Some(Duration::from_secs(3))).is_ok());
        assert!(limits.check_duration(None).is_ok());
        let late = limits.check_duration(Some(Duration::from_millis(3001))).unwrap_err();
        let late = late.to_string();
        assert!(late.contains("3.001 s") && late.contains("max-input-seconds"), "{late}");
    }

    #[test]
    fn a_header_of_large_frames_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.y4m");
        fs::write(&path, "YUV4MPEG2 W16384 H16384 F30:1\nFRAME\n").unwrap();
        let input = VideoInput::new(&path, Medium::Stream(StreamFormat::Y4m));
        let error = VideoSource::open(&input, None, &Stop::default()).err().unwrap();
        assert!(matches!(error, VideoError::Limit { .. }), "{error}");
        let limits = VideoLimits { pixels: 1 << 28, ..VideoLimits::default() };
        let input = VideoInput { limits, ..input };
        VideoSource::open(&input, None, &Stop::default()).unwrap();
    }
}
