//! Reads, resamples and writes trajectories: named values over time, such as a camera path.
//!
//! A trajectory has a row for each time, in seconds, and a value per column. Between two times, values are interpolated
//! linearly; before the first and after the last time, they are constant. If two times are less than a microsecond
//! apart, values jump without interpolation ([`crate::ops::resample`]). Numbers are f64, because times are often
//! seconds since 1970, and f32 represents such times only with a resolution of two minutes. Columns are interpolated
//! independently. Therefore an interpolated quaternion in four columns, as in TUM files, has a length below 1, and the
//! caller must normalise it.
//!
//! Files are text of at most [`FILE_LIMIT`] bytes and [`MAX_COLUMNS`] value columns, in one of two forms:
//!
//! - CSV: each line has a time and values (`t,x,y,…`). The header is optional; without a header, the columns are named
//!   c1, c2, …. Fields may be in double quotes if they contain no comma.
//! - Fields separated by spaces or tabs, as in the camera paths of the TUM RGB-D data sets
//!   (`timestamp tx ty tz qx qy qz qw`). The rules are the same as for CSV, except that seven value columns without a
//!   header get the names of TUM files.
//!
//! The first non-empty line determines the form: it is CSV if the line contains a comma. This line is the header if
//! none of its fields looks like a number. `#` begins a comment. Empty lines, a byte order mark and CRLF are accepted.
//! Output is always CSV with a header. Each number is written as the shortest text that parses to the same number, and
//! times of more than 2⁵³ with all digits. Times need not be seconds if the targets have the same unit: nanoseconds
//! since 1970 are read and written in steps of 256 ns. Two times of a file that differ by less are an error.

mod error;
mod frame_times;
mod read;
mod sampler;

use std::io::{self, Write};
use std::path::Path;

pub use error::{RowError, TrajectoryError};
pub use frame_times::FrameTimes;
pub use read::{FILE_LIMIT, open_times, parse_times};
use read::{name_fault, parse};

use crate::io::replace;

/// The maximum number of value columns of a file. Without a limit, a line of commas would take gigabytes of memory.
pub const MAX_COLUMNS: usize = 4096;

/// The maximum number of frames of [`Trajectory::frame_times`]: 77 hours at 60 frames per second.
pub const MAX_FRAMES: u32 = 1 << 24;

/// Above this number, every f64 is an integer, and not every integer is an f64.
const EXACT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

/// The default name of the time column.
const TIME: &str = "t";

/// Named values over time: at least one row and one column of finite numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// The name of the time column.
    time: String,
    columns: Vec<String>,
    times: Vec<f64>,
    values: Vec<f64>,
}

impl Trajectory {
    /// Creates a trajectory from `times` in seconds and, for each time, a row of `columns.len()` elements of `values`.
    /// The times must be in ascending order; equal times are allowed.
    ///
    /// # Errors
    /// - [`NoTimes`](TrajectoryError::NoTimes): `times` is empty.
    /// - [`Size`](TrajectoryError::Size): the number of values is wrong.
    /// - [`Columns`](TrajectoryError::Columns): there are no columns, or a name could not be read back from a file.
    /// - [`Row`](TrajectoryError::Row): a number is not finite, or a time is less than the previous one.
    pub fn new(
        columns: Vec<String>,
        times: Vec<f64>,
        values: Vec<f64>,
    ) -> Result<Self, TrajectoryError> {
        if times.is_empty() {
            return Err(TrajectoryError::NoTimes);
        }
        if columns.is_empty() {
            return Err(TrajectoryError::Columns(RowError::NoValues));
        }
        if let Some(fault) = name_fault(TIME, &columns) {
            return Err(TrajectoryError::Columns(fault));
        }
        let (found, expected) = (values.len(), times.len().saturating_mul(columns.len()));
        if found != expected {
            return Err(TrajectoryError::Size { found, expected });
        }
        let mut before = f64::NEG_INFINITY;
        for (row, (&time, values)) in times.iter().zip(values.chunks(columns.len())).enumerate() {
            if let Some(fault) = row_fault(before, time, values) {
                return Err(TrajectoryError::Row { row, fault });
            }
            before = time;
        }
        Ok(Self { time: TIME.to_owned(), columns, times, values })
    }

    /// Reads a trajectory from a file.
    ///
    /// # Errors
    /// Returns [`TrajectoryError::Text`] if the file cannot be read, or an error of [`parse`](Self::parse).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TrajectoryError> {
        Self::parse(&read::text_of(path.as_ref())?, path)
    }

    /// Parses a trajectory from `text`. Error messages use `file` as the name of the text.
    ///
    /// # Errors
    /// Returns [`TrajectoryError::Empty`] if there are no rows, or [`TrajectoryError::Line`] if a line is invalid.
    pub fn parse(text: &str, file: impl AsRef<Path>) -> Result<Self, TrajectoryError> {
        parse(text, file.as_ref())
    }

    /// Returns the names of the value columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the times in seconds. They are in ascending order, except in a result of [`resample`](Self::resample),
    /// which has the order of the targets.
    #[must_use]
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Returns the values, row after row.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the values of row `i`, in the order of the columns.
    ///
    /// # Panics
    /// Panics if there is no row `i`.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f64] {
        let width = self.columns.len();
        &self.values[i * width..][..width]
    }

    /// Returns the index of the column with this name, if there is one.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Returns how many of the `targets` are before the first or after the last time. For these targets,
    /// [`resample`](Self::resample) returns the first or the last row.
    #[must_use]
    pub fn clamped(&self, targets: &[f64]) -> usize {
        let inside = self.times[0]..=self.times[self.times.len() - 1];
        targets.iter().filter(|target| !inside.contains(target)).count()
    }

    /// Writes the trajectory as CSV with a header.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.write_header(out)?;
        self.write_rows(&self.times, &self.values, out)
    }

    fn write_header(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "{}", self.time)?;
        for column in &self.columns {
            write!(out, ",{column}")?;
        }
        writeln!(out)
    }

    /// Writes rows of this trajectory's columns.
    fn write_rows(&self, times: &[f64], values: &[f64], out: &mut impl Write) -> io::Result<()> {
        for (time, values) in times.iter().zip(values.chunks(self.columns.len())) {
            // The shortest text of a large integer ends in zeros, so it would differ from the digits in the input.
            if time.abs() > EXACT { write!(out, "{time:.0}") } else { write!(out, "{time}") }?;
            for value in values {
                write!(out, ",{value}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// Writes the trajectory to a CSV file. Replaces an existing file atomically.
    ///
    /// # Errors
    /// Returns [`TrajectoryError::Unwritable`] if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), TrajectoryError> {
        let path = path.as_ref();
        replace(path, |out| self.write(out))
            .map_err(|source| TrajectoryError::Unwritable { file: path.to_owned(), source })
    }
}

/// Returns the error of a row that has a number that is not finite, or a time that is less than `before`, the time of
/// the previous row. Returns `None` for a valid row.
fn row_fault(before: f64, time: f64, values: &[f64]) -> Option<RowError> {
    if let Some(i) = [time].iter().chain(values).position(|number| !number.is_finite()) {
        return Some(RowError::NotFinite { column: i + 1 });
    }
    (time < before).then_some(RowError::Descending { time, before })
}
