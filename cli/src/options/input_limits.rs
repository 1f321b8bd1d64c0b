//! The options that limit input videos.

use std::time::Duration;

use panoweave::io::video::VideoLimits;

/// The limits on input videos.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct InputLimits {
    /// Maximum number of pixels of a frame of an input video. If ffmpeg decodes, a larger frame is an error even if the
    /// file states a smaller size; NVDEC scales it down. The default is 16384×8192.
    #[arg(long, value_name = "N", default_value_t = VideoLimits::default().pixels)]
    max_input_pixels: u64,
    /// Maximum number of streams of an input file: pictures, sound, subtitles and data.
    #[arg(long, value_name = "N", default_value_t = VideoLimits::default().streams)]
    max_input_streams: usize,
    /// Maximum duration in seconds that an input video may state, and that the frames of an encoded file may have. The
    /// default is 7 days.
    #[arg(long, value_name = "SECONDS", default_value_t = VideoLimits::default().duration.as_secs())]
    max_input_seconds: u64,
}

impl InputLimits {
    /// Returns the limits for the library.
    pub(crate) fn limits(self) -> VideoLimits {
        VideoLimits {
            pixels: self.max_input_pixels,
            streams: self.max_input_streams,
            duration: Duration::from_secs(self.max_input_seconds),
        }
    }
}
