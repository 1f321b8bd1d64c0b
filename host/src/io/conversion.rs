//! Reductions of an input on reading. [`Picture::conversions`](super::picture::Picture::conversions) and
//! [`VideoSource::conversions`](super::video::VideoSource::conversions) list them, so that a program can report them.
//!
//! Conversions that lose nothing but rounding are not listed, for instance from one YUV matrix to another.

use std::fmt;

use crate::frame::ColourTags;

/// A property of an input that its pixels or frames in memory lack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conversion {
    /// Samples are rounded to fewer bits.
    Depth {
        /// The number of bits per sample in the file.
        from: u8,
        /// The number of bits per sample in memory.
        to: u8,
    },
    /// 4:2:2 or 4:4:4 chroma is reduced to 4:2:0.
    Chroma {
        /// The file's pixel format, by ffmpeg's name.
        stored: String,
    },
    /// The opacity of the pixels is ignored.
    Alpha,
    /// The primaries and the transfer function of the video are lost: the levels are treated as BT.709.
    Tags(ColourTags),
    /// The colour space of the picture is lost: the levels are treated as sRGB.
    ColourSpace {
        /// A description of the colour space that the file states, such as the name of its colour profile.
        stored: String,
    },
}

impl Conversion {
    /// Returns the name of the kind of conversion, for machine-readable output.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Depth { .. } => "depth",
            Self::Chroma { .. } => "chroma",
            Self::Alpha => "alpha",
            Self::Tags(_) => "tags",
            Self::ColourSpace { .. } => "colour_space",
        }
    }
}

impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth { from, to } => {
                write!(f, "{from}-bit samples are rounded to {to} bits")
            }
            Self::Chroma { stored } => write!(f, "chroma is reduced to 4:2:0 from {stored}"),
            Self::Alpha => f.write_str("the opacity of the pixels is ignored"),
            Self::Tags(tags) => write!(
                f,
                "{tags}: treated as BT.709 without tone mapping, so colours and brightness change"
            ),
            Self::ColourSpace { stored } => write!(
                f,
                "{stored}: treated as sRGB without conversion, so colours and brightness change"
            ),
        }
    }
}
