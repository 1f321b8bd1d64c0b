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
//! Output is always CSV with a header. Each number is written as the shortest text that parses to the same number.

mod read;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::device::{Image, Stream};
use crate::error::{Classify, Kind, TextPlace};
use crate::frame::Rate;
use crate::io::replace;
use crate::io::text::TextError;
use crate::ops::resample::{ResampleError, Resampler, Resampling};

pub use read::{FILE_LIMIT, open_times, parse_times};
use read::{name_fault, parse};

/// The maximum number of value columns of a file. Without a limit, a line of commas would take gigabytes of memory.
pub const MAX_COLUMNS: usize = 4096;

/// The maximum number of frames of [`Trajectory::frame_times`]: 77 hours at 60 frames per second.
pub const MAX_FRAMES: u32 = 1 << 24;

/// The default name of the time column.
const TIME: &str = "t";

/// The number of values that are interpolated at a time: 8 MiB.
const PART: usize = 1 << 20;

/// The maximum tolerance for rounding errors in [`Trajectory::frame_times`], as a fraction of a frame.
const MAX_SLACK: f64 = 0.01;

/// The error if a trajectory cannot be read, created, resampled or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrajectoryError {
    /// The file could not be read or is not valid text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A line of a file is invalid. Lines are numbered from 1.
    #[error("{}:{line}: {reason}", file.display())]
    #[expect(missing_docs, reason = "the message explains the fields")]
    Line {
        file: PathBuf,
        line: usize,
        /// The text that is not a number, shortened to 40 characters; empty for other reasons.
        word: String,
        reason: String,
    },
    /// The columns, times or values are invalid.
    #[error("{0}")]
    Invalid(String),
    /// The resampling failed.
    #[error(transparent)]
    Resample(#[from] ResampleError),
    /// The output cannot be written.
    #[error("trajectory: the output cannot be written: {0}")]
    Output(#[from] io::Error),
    /// The file cannot be written.
    #[error("{}: cannot be written: {source}", file.display())]
    #[expect(missing_docs, reason = "the message explains the fields")]
    Unwritable { file: PathBuf, source: io::Error },
}

impl Classify for TrajectoryError {
    fn inner(&self) -> Option<&dyn Classify> {
        let Self::Resample(error) = self else { return None };
        Some(error)
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Resample(error) => error.kind(),
            Self::Unwritable { .. } | Self::Output(_) => Kind::Output,
            _ => Kind::Input,
        }
    }

    fn place(&self) -> Option<TextPlace<'_>> {
        let Self::Line { file, line, word, .. } = self else { return None };
        Some(TextPlace { file, line: *line, column: 1, word })
    }
}

fn invalid<T>(text: String) -> Result<T, TrajectoryError> {
    Err(TrajectoryError::Invalid(format!("trajectory: {text}")))
}

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
    pub fn new(
        columns: Vec<String>,
        times: Vec<f64>,
        values: Vec<f64>,
    ) -> Result<Self, TrajectoryError> {
        if times.is_empty() || columns.is_empty() {
            return invalid("at least one time and one column are needed".to_owned());
        }
        if let Some(fault) = name_fault(TIME, &columns) {
            return invalid(fault);
        }
        let (found, expected) = (values.len(), times.len().saturating_mul(columns.len()));
        if found != expected {
            return invalid(format!(
                "there are {found} values; there must be {expected}, one per time and column"
            ));
        }
        if let Some(row) = times.windows(2).position(|pair| pair[1] < pair[0]) {
            return invalid(format!("time {} (counted from 0) is less than the previous", row + 1));
        }
        if times.iter().chain(&values).any(|number| !number.is_finite()) {
            return invalid("a time or value is not a finite number".to_owned());
        }
        Ok(Self { time: TIME.to_owned(), columns, times, values })
    }

    /// Reads a trajectory from a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TrajectoryError> {
        Self::parse(&read::text_of(path.as_ref())?, path)
    }

    /// Parses a trajectory from `text`. Error messages use `file` as the name of the text.
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

    /// Returns the times of frames at `rate`: the first time plus n / rate, up to the last time. Each time is computed
    /// from n, so rounding errors do not accumulate. A small tolerance ensures that a frame exactly at the last time is
    /// not lost through rounding errors.
    pub fn frame_times(&self, rate: Rate) -> Result<Vec<f64>, TrajectoryError> {
        let (first, last) = (self.times[0], self.times[self.times.len() - 1]);
        let seconds = last - first;
        // An upper bound, in frames, for the rounding errors of the two times, of their difference, and of the number
        // of frames.
        let slack = 4.0 * f64::EPSILON * first.abs().max(last.abs()) * rate.per_second();
        let frames = (seconds * rate.per_second() + slack.min(MAX_SLACK)).floor() + 1.0;
        if frames > f64::from(MAX_FRAMES) {
            return invalid(format!(
                "{seconds} s at {rate} frames per second are {frames:.0} frames, but at most {MAX_FRAMES} are supported; check that the times are in seconds"
            ));
        }
        let (numerator, denominator) = rate.fraction();
        let after = |n: u64| (n * u64::from(denominator)) as f64 / f64::from(numerator);
        Ok((0..frames as u64).map(|n| (first + after(n)).min(last)).collect())
    }

    /// Returns a new trajectory with the interpolated values at the times `targets`, in seconds. The targets may have
    /// any order, and the rows of the new trajectory have the same order. Computes on the stream's device and waits
    /// for the result.
    #[track_caller]
    pub fn resample(&self, stream: &Stream, targets: &[f64]) -> Result<Self, TrajectoryError> {
        if targets.is_empty() {
            return invalid("the list of times is empty; at least one time is needed".to_owned());
        }
        let (width, from) = (count("columns", &self.columns)?, count("times", &self.times)?);
        let to = count("target times", targets)?;
        // Padding would take most of the memory of an image with few columns.
        let image = |width: u32, height: u32, numbers: &[f64]| {
            let pitch = 8 * u64::from(width);
            let mut image = Image::with_pitch(stream.device(), width, height, pitch)?;
            image.upload(stream, numbers)?;
            Ok::<_, ResampleError>(image)
        };
        let (times, values) = (image(from, 1, &self.times)?, image(width, from, &self.values)?);
        let wanted = image(to, 1, targets)?;
        let mut out = Image::with_pitch(stream.device(), width, to, 8 * u64::from(width))
            .map_err(ResampleError::from)?;
        let mut resampler = Resampler::new(stream).map_err(ResampleError::from)?;
        let resampling =
            Resampling { times: &times, values: &values, targets: &wanted, out: &mut out };
        resampler.submit(stream, resampling)?;
        resampler.check(stream)?;
        let values = out.download(stream).map_err(ResampleError::from)?;
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let (row, column) = (at / self.columns.len(), at % self.columns.len());
            return invalid(format!(
                "the values of column {} around {} s are too far apart; their difference must be a finite number",
                self.columns[column], targets[row]
            ));
        }
        let (time, columns) = (self.time.clone(), self.columns.clone());
        Ok(Self { time, columns, times: targets.to_vec(), values })
    }

    /// Resamples like [`resample`](Self::resample), and writes the result like [`write`](Self::write). Holds only a part
    /// of the result in memory. After an error, `out` may have a part of the rows.
    #[track_caller]
    pub fn write_resampled(
        &self,
        stream: &Stream,
        targets: &[f64],
        out: &mut impl Write,
    ) -> Result<(), TrajectoryError> {
        self.write_header(out)?;
        for part in targets.chunks((PART / self.columns.len()).max(1)) {
            self.resample(stream, part)?.write_rows(out)?;
        }
        Ok(())
    }

    /// Resamples to a CSV file like [`write_resampled`](Self::write_resampled). Replaces an existing file atomically.
    #[track_caller]
    pub fn save_resampled(
        &self,
        stream: &Stream,
        targets: &[f64],
        path: impl AsRef<Path>,
    ) -> Result<(), TrajectoryError> {
        let path = path.as_ref();
        let saved = replace(path, |out| self.write_resampled(stream, targets, out));
        saved.map_err(|error| match error {
            TrajectoryError::Output(source) => {
                TrajectoryError::Unwritable { file: path.to_owned(), source }
            }
            error => error,
        })
    }

    /// Writes the trajectory as CSV with a header.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.write_header(out)?;
        self.write_rows(out)
    }

    fn write_header(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{},{}", self.time, self.columns.join(","))
    }

    fn write_rows(&self, out: &mut impl Write) -> io::Result<()> {
        for (time, values) in self.times.iter().zip(self.values.chunks(self.columns.len())) {
            write!(out, "{time}")?;
            for value in values {
                write!(out, ",{value}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// Returns the number of elements of a list.
fn count<T>(what: &str, list: &[T]) -> Result<u32, ResampleError> {
    u32::try_from(list.len())
        .map_err(|_| ResampleError::too_many(what, list.len() as u64, u32::MAX))
}
