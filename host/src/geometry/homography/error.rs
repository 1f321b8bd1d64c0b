//! The errors of reading a homography and of computing its panorama.

use std::path::PathBuf;

use crate::geometry::{MAX_CANVAS_AREA, MAX_CANVAS_SIDE};
use crate::io::text::TextError;

/// The error for a homography that cannot be read, or whose panorama cannot be computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomographyError {
    /// The file could not be read as text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The text does not have exactly nine numbers.
    #[error("{}: found {found} numbers; a homography has 9 (3 rows of 3)", file.display())]
    Count {
        /// The homography file.
        file: PathBuf,
        /// How many numbers the text has.
        found: usize,
    },
    /// A word is not a number.
    #[error("{}:{line}: {word:?} is not a number", file.display())]
    NotANumber {
        /// The homography file.
        file: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The first 40 characters of the word.
        word: String,
    },
    /// A number is not finite, or its magnitude exceeds 1e100.
    #[error("{}: the number in row {row}, column {column} is {value}; it must be from -1e100 to 1e100", file.display())]
    NotFinite {
        /// The homography file.
        file: PathBuf,
        /// Row of the matrix, from 1.
        row: usize,
        /// Column of the matrix, from 1.
        column: usize,
        /// The number at this row and column.
        value: f64,
    },
    /// The matrix has no inverse.
    #[error("{}: the matrix is singular, so it maps the right picture to a line or a point; correct its numbers", file.display())]
    Singular {
        /// The homography file.
        file: PathBuf,
    },
    /// A picture has no pixels or too many.
    #[error("{}: the {picture} picture is {width}×{height} pixels; each side must be 1 to 16384", file.display())]
    PictureSize {
        /// The file of the homography.
        file: PathBuf,
        /// The picture: `left` or `right`.
        picture: &'static str,
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// Part of a picture would lie at or beyond infinity on the plane of the panorama.
    #[error(
        "{}: a part of the right picture is at or beyond infinity on the plane of the left one; check that the matrix \
         maps pixels of the right picture to pixels of the left one; if it does, the view is too wide for a plane: make a \
         rig with `panoweave calibrate --model rotation`",
        file.display()
    )]
    Infinity {
        /// The homography file.
        file: PathBuf,
    },
    /// A side of the panorama would exceed [`MAX_CANVAS_SIDE`], or its area would exceed [`MAX_CANVAS_AREA`].
    #[error(
        "{}: the panorama would be {width:.0}×{height:.0} pixels; each side must be at most {MAX_CANVAS_SIDE}, and the area at most {MAX_CANVAS_AREA} pixels; \
         check that the matrix maps pixels of the right picture to pixels of the left one",
        file.display()
    )]
    CanvasTooLarge {
        /// The homography file.
        file: PathBuf,
        /// Width in pixels.
        width: f64,
        /// Height in pixels.
        height: f64,
    },
}
