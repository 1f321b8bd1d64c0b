//! The values of `--input-format` and `--output-format`.

use clap::ValueEnum;
use panoweave::io::video::StreamFormat;

/// A stream format that panoweave reads and writes without ffmpeg.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    Y4m,
    Nv12,
    P010,
    Rgba,
}

impl From<Format> for StreamFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Y4m => Self::Y4m,
            Format::Nv12 => Self::Nv12,
            Format::P010 => Self::P010,
            Format::Rgba => Self::Rgba,
        }
    }
}
