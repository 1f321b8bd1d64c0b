//! The error of a homography.

use std::path::PathBuf;

use crate::geometry::{MAX_CANVAS_AREA, MAX_CANVAS_SIDE};
use crate::io::text::TextError;

/// A homography cannot be read, or cannot make a panorama.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomographyError {
    /// The file could not be read as text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// There are not nine numbers.
    #[error("{}: {found} numbers; a homography needs 9 (3 rows of 3)", file.display())]
    Count {
        /// The file.
        file: PathBuf,
        /// The count found.
        found: usize,
    },
    /// A word is not a number.
    #[error("{}:{line}: {word:?} is not a number", file.display())]
    NotANumber {
        /// The file.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The word, shortened.
        word: String,
    },
    /// A number is not finite, or its magnitude exceeds 1e100.
    #[error("{}: element {row},{column} is {value}; it must be finite and at most 1e100", file.display())]
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
    #[error("{}: the matrix is singular: it maps the right picture to a line or a point; correct it", file.display())]
    Singular {
        /// The file.
        file: PathBuf,
    },
    /// A picture has no pixels or too many.
    #[error("{}: the {picture} picture is {width}×{height} pixels; each side must be 1 to 16384", file.display())]
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
        "{}: the right picture extends to infinity on the plane of the left one (denominator {least} to {most} at its corners); \
         check that the matrix maps right to left; for such a wide view, use a rig with a cylindrical panorama",
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
        "{}: the panorama would be {width:.0}×{height:.0} pixels; at most {MAX_CANVAS_SIDE} a side and {MAX_CANVAS_AREA} in total are allowed; \
         check that the matrix maps right to left",
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
