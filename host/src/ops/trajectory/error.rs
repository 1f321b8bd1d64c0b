//! Error types of trajectories.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::{MAX_COLUMNS, MAX_FRAMES};
use crate::frame::Rate;
use crate::io::text::TextError;
use crate::ops::resample::ResampleError;

/// The error if a trajectory cannot be read, created, resampled or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrajectoryError {
    /// The file could not be read or is not valid text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The file contains no rows of values. It may contain a header.
    #[error("{}: the file has no rows; at least one is needed", file.display())]
    Empty {
        /// The path of the file.
        file: PathBuf,
    },
    /// A line of a file is invalid.
    #[error("{}:{line}: {fault}", file.display())]
    Line {
        /// The path of the file.
        file: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// The reason why the line is invalid.
        fault: RowError,
    },
    /// The list of columns passed to [`Trajectory::new`](super::Trajectory::new) is empty or has an invalid name.
    #[error("trajectory: {0}")]
    Columns(RowError),
    /// A row passed to [`Trajectory::new`](super::Trajectory::new) is invalid.
    #[error("trajectory: row {row} (counted from 0): {fault}")]
    Row {
        /// The index of the row, from 0.
        row: usize,
        /// The reason why the row is invalid.
        fault: RowError,
    },
    /// The list of source or target times is empty.
    #[error("trajectory: the list of times is empty; at least one time is needed")]
    NoTimes,
    /// The number of values is not the number of times multiplied by the number of columns.
    #[error(
        "trajectory: there are {found} values; there must be {expected}, one per time and column"
    )]
    Size {
        /// The number of values.
        found: usize,
        /// The required number of values.
        expected: usize,
    },
    /// The trajectory has more than [`MAX_FRAMES`] frames at the requested frame rate.
    #[error(
        "trajectory: {seconds} s at {rate} frames per second are {frames:.0} frames, but at most {MAX_FRAMES} are supported; check that the times are in seconds"
    )]
    TooLong {
        /// The time from the first to the last row, in seconds.
        seconds: f64,
        /// The number of frames at this rate.
        frames: f64,
        /// The frame rate.
        rate: Rate,
    },
    /// The difference of two adjacent values of a column exceeds the range of f64.
    #[error(
        "trajectory: the values of column {column} around {time} s are too far apart; their difference must be a finite number"
    )]
    Overflow {
        /// The name of the column.
        column: String,
        /// The target time in seconds, which is between the two values.
        time: f64,
    },
    /// The resampling failed.
    #[error(transparent)]
    Resample(#[from] ResampleError),
    /// The output cannot be written.
    #[error("trajectory: the output cannot be written: {0}")]
    Output(#[from] io::Error),
    /// The file cannot be written.
    #[error("{}: cannot be written: {source}", file.display())]
    Unwritable {
        /// The path of the file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// A fault in a row or in the header of a trajectory. Columns are numbered from 1. Column 1 contains the times.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RowError {
    /// The row has a time and no values.
    #[error("no values; a row needs a time and at least one value")]
    NoValues,
    /// The name of a column is empty, is used twice, or has characters with which it could not be read back from a
    /// file.
    #[error(
        "column {column} is named {name:?}; a name must be unique and not empty, must not start like a number, and must not contain commas, quotes or #"
    )]
    Name {
        /// The number of the column, from 1.
        column: usize,
        /// The column's name, shortened to 40 characters.
        name: String,
    },
    /// The row has more or fewer fields than the first row.
    #[error(
        "{found} fields, but the first row has {expected}; all rows must have the same number of fields, separated by commas or by spaces"
    )]
    Fields {
        /// The number of fields in the row.
        found: usize,
        /// The number of fields in the first row.
        expected: usize,
    },
    /// The file has too many columns.
    #[error("more than {MAX_COLUMNS} value columns; check that it is the right file")]
    TooManyColumns,
    /// A field is not a number.
    #[error("column {column}: {word:?} is not a number; write numbers like 12, -1.5 or 2e-3")]
    NotANumber {
        /// The number of the column, from 1.
        column: usize,
        /// The text of the field, shortened to 40 characters.
        word: String,
    },
    /// A number is not finite.
    #[error("column {column} is not a finite number; correct it, or leave the row out")]
    NotFinite {
        /// The number of the column, from 1.
        column: usize,
    },
    /// A time is less than the previous one.
    #[error("time {time} is less than the previous time, {before}; sort the rows by time")]
    Descending {
        /// The time in seconds.
        time: f64,
        /// The time of the previous row in seconds.
        before: f64,
    },
    /// A time differs from the previous one by less than the resolution of f64.
    #[error(
        "time {time} and the time before it, {before}, are the same 64-bit number; numbers of this size are {step} apart, so write times relative to the first row"
    )]
    Indistinct {
        /// The time as text, shortened to 40 characters.
        time: String,
        /// The time of the previous row as text, shortened to 40 characters.
        before: String,
        /// The distance from the time to the next larger f64.
        step: f64,
    },
}
