//! The format of a stream of frames.

use clap::ValueEnum;
use panoweave::io::video::StreamFormat;

/// Format of a stream.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    Y4m,
    Nv12,
    Rgba,
}

impl From<Format> for StreamFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Y4m => Self::Y4m,
            Format::Nv12 => Self::Nv12,
            Format::Rgba => Self::Rgba,
        }
    }
}
