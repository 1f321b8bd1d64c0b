//! Errors of trajectories.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::MAX_FRAMES;
use crate::frame::Rate;
use crate::io::text::TextError;
use crate::ops::resample::ResampleError;

/// A trajectory could not be read, created, resampled or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrajectoryError {
    /// The file could not be read as text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The file has no rows.
    #[error("{}: no rows; there must be one at least", file.display())]
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// A line of a file is invalid.
    #[error("{}:{line}: {fault}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The cause.
        fault: RowError,
    },
    /// A column given to [`Trajectory::new`](super::Trajectory::new) is invalid.
    #[error("trajectory: {0}")]
    Columns(RowError),
    /// A row given to [`Trajectory::new`](super::Trajectory::new) is invalid.
    #[error("trajectory: row {row}, counted from 0: {fault}")]
    Row {
        /// The row, from 0.
        row: usize,
        /// The cause.
        fault: RowError,
    },
    /// There are no times.
    #[error("trajectory: no times; there must be one at least")]
    NoTimes,
    /// The number of values does not match times and columns.
    #[error("trajectory: {found} values, where its times and columns ask for {expected}")]
    Size {
        /// The number of values.
        found: usize,
        /// The required number.
        expected: usize,
    },
    /// There are more frames than any video has.
    #[error(
        "trajectory: {seconds} seconds are {frames:.0} frames at {rate} a second, at most {MAX_FRAMES} are made; are its times in seconds?"
    )]
    TooLong {
        /// Time from the first to the last row.
        seconds: f64,
        /// The number of frames in that time.
        frames: f64,
        /// Frames per second.
        rate: Rate,
    },
    /// The difference of two values overflows.
    #[error(
        "trajectory: the values of {column} around {time} s lie too far apart; their difference must be a finite number"
    )]
    Overflow {
        /// The column.
        column: String,
        /// The target time.
        time: f64,
    },
    /// The resampling failed.
    #[error(transparent)]
    Resample(#[from] ResampleError),
    /// The file cannot be written.
    #[error("{}: cannot be written: {source}", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The fault of a row or header of a trajectory. Columns count from 1, which is the time.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RowError {
    /// The row has a time and no values.
    #[error("times without values; a row is a time and at least one value")]
    NoValues,
    /// The name is missing, ambiguous, or cannot be read back.
    #[error(
        "column {column} is named {name:?}; a name is there, only once, not like a number, and without commas, quotes and #"
    )]
    Name {
        /// The column.
        column: usize,
        /// Its name, shortened.
        name: String,
    },
    /// The row has more or fewer fields than the first one.
    #[error(
        "fields: {found}, but {expected} in the first row; all rows have as many, with commas between them or with spaces"
    )]
    Fields {
        /// The number of fields in the row.
        found: usize,
        /// The required number.
        expected: usize,
    },
    /// A word is not a number.
    #[error("column {column}: {word:?} is not a number, such as 12, -1.5 or 2e-3")]
    NotANumber {
        /// The column.
        column: usize,
        /// The word, shortened.
        word: String,
    },
    /// A number is not finite.
    #[error("column {column} is no finite number; give one, or leave the row out")]
    NotFinite {
        /// The column.
        column: usize,
    },
    /// A time is before the one before it.
    #[error("time {time} is before the one before it, {before}; sort the rows by time")]
    Descending {
        /// The time.
        time: f64,
        /// The time of the row before.
        before: f64,
    },
}
