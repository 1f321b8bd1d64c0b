//! What can be wrong with a trajectory.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::MAX_FRAMES;
use crate::frame::Rate;
use crate::io::text::TextError;
use crate::ops::resample::ResampleError;

/// Why a trajectory could not be read, made, resampled or written.
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
    /// Something is wrong with a line of a file.
    #[error("{}:{line}: {fault}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        fault: RowError,
    },
    /// Something is wrong with the columns that [`Trajectory::new`](super::Trajectory::new) is given.
    #[error("trajectory: {0}")]
    Columns(RowError),
    /// Something is wrong with a row that [`Trajectory::new`](super::Trajectory::new) is given.
    #[error("trajectory: row {row}, counted from 0: {fault}")]
    Row {
        /// The row, from 0.
        row: usize,
        /// What is wrong.
        fault: RowError,
    },
    /// There are no times.
    #[error("trajectory: no times; there must be one at least")]
    NoTimes,
    /// There are not as many values as times and columns ask for.
    #[error("trajectory: {found} values, where its times and columns ask for {expected}")]
    Size {
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// So many frames are in no video.
    #[error(
        "trajectory: {seconds} seconds are {frames:.0} frames at {rate} a second, at most {MAX_FRAMES} are made; are its times in seconds?"
    )]
    TooLong {
        /// From the first time to the last.
        seconds: f64,
        /// Frames in that time.
        frames: f64,
        /// Frames a second.
        rate: Rate,
    },
    /// Values lie so far apart that their difference is no number.
    #[error(
        "trajectory: the values of {column} around {time} s lie too far apart; their difference must be a finite number"
    )]
    Overflow {
        /// The column.
        column: String,
        /// The target.
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
        /// What the operating system said.
        source: io::Error,
    },
}

/// What is wrong with a row or the header of a trajectory. Columns are counted from 1, which is the time.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RowError {
    /// There are times and nothing else.
    #[error("times without values; a row is a time and at least one value")]
    NoValues,
    /// A name that cannot be told from others, or not be read back.
    #[error(
        "column {column} is named {name:?}; a name is there, only once, not like a number, and without commas, quotes and #"
    )]
    Name {
        /// The column.
        column: usize,
        /// Its name, cut short.
        name: String,
    },
    /// A row with fewer or more fields than the first one.
    #[error(
        "fields: {found}, but {expected} in the first row; all rows have as many, with commas between them or with spaces"
    )]
    Fields {
        /// What the row has.
        found: usize,
        /// What it should have.
        expected: usize,
    },
    /// A word is no number.
    #[error("column {column}: {word:?} is not a number, such as 12, -1.5 or 2e-3")]
    NotANumber {
        /// The column.
        column: usize,
        /// The word, cut short.
        word: String,
    },
    /// A number is infinite or none.
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
        /// That of the row before.
        before: f64,
    },
}
