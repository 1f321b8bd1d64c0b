//! What can be wrong with a homography.

use std::path::PathBuf;

use crate::geometry::{MAX_CANVAS_AREA, MAX_CANVAS_SIDE};
use crate::io::text::TextError;

/// Why a homography could not be read or makes no panorama.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomographyError {
    /// The file could not be read as text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// There are not nine numbers.
    #[error("{}: {found} numbers; a homography has 9 (3 rows of 3)", file.display())]
    Count {
        /// The file.
        file: PathBuf,
        /// How many there are.
        found: usize,
    },
    /// A word is no number.
    #[error("{}:{line}: {word:?} is not a number", file.display())]
    NotANumber {
        /// The file.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The word, cut short.
        word: String,
    },
    /// A number is NaN or infinite, or beyond what a homography can hold.
    #[error("{}: element {row},{column} is {value}; must be finite and at most 1e100", file.display())]
    NotFinite {
        /// The file.
        file: PathBuf,
        /// Row, from 1.
        row: usize,
        /// Column, from 1.
        column: usize,
        /// The number.
        value: f64,
    },
    /// The matrix has no inverse.
    #[error("{}: the matrix is singular: it flattens the right picture to a line or a point", file.display())]
    Singular {
        /// The file.
        file: PathBuf,
    },
    /// A picture has no pixels or too many.
    #[error("{}: the {picture} picture is {width}×{height} pixels; 1 to 16384 a side allowed", file.display())]
    PictureSize {
        /// The file of the homography.
        file: PathBuf,
        /// `left` or `right`.
        picture: &'static str,
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// Part of the right picture would lie at or beyond infinity.
    #[error(
        "{}: the right picture reaches infinity on the left one's plane (denominator {least} to {most} at its corners); \
         is the matrix right to left? for so wide a view use a rig with a cylindrical panorama",
        file.display()
    )]
    Infinity {
        /// The file.
        file: PathBuf,
        /// Smallest denominator at a corner.
        least: f64,
        /// Largest denominator at a corner.
        most: f64,
    },
    /// The panorama would be too large.
    #[error(
        "{}: the panorama would be {width:.0}×{height:.0} pixels; at most {MAX_CANVAS_SIDE} a side and {MAX_CANVAS_AREA} in all; \
         is the matrix right to left?",
        file.display()
    )]
    CanvasTooLarge {
        /// The file.
        file: PathBuf,
        /// Width in pixels.
        width: f64,
        /// Height in pixels.
        height: f64,
    },
}
