//! Trajectories: named values over time, such as a camera path; read, resampled, written.
//!
//! A trajectory has a row for each time, in seconds, and a value per column. Values are linear between two times and
//! constant outside them; between times closer than a microsecond they jump ([`crate::ops::resample`]). Numbers are
//! f64, because times are often seconds since 1970, which f32 resolves to two minutes. Columns are independent: a
//! quaternion in four columns, as in TUM files, is shorter than 1 between times, and its reader must normalise it.
//!
//! Files are text of at most [`FILE_LIMIT`] bytes, in one of two forms:
//!
//! - CSV: `t,x,y,…`, a time and values per line, with or without a header. Without one, columns are named c1, c2, ….
//!   Words may be in double quotes that contain no comma.
//! - Fields separated by spaces or tabs, such as TUM files (`timestamp tx ty tz qx qy qz qw`): as CSV, except that
//!   seven columns without a header get TUM's names.
//!
//! The first non-empty line decides the form. It is the header if none of its fields resembles a number. `#` begins a
//! comment; empty lines, a byte order mark and CRLF are accepted. Output is always CSV with a header, with each number
//! as the shortest text that reads back the same.

mod error;
mod read;

use std::io::{self, Write};
use std::path::Path;

pub use error::{RowError, TrajectoryError};
pub use read::{FILE_LIMIT, open_times, parse_times};
use read::{name_fault, parse};

use crate::device::{Image, Stream};
use crate::frame::Rate;
use crate::io::replace;
use crate::ops::resample::{ResampleError, Resampler, Resampling};

/// Maximum number of frames of [`Trajectory::frame_times`]: 77 hours at 60 per second.
pub const MAX_FRAMES: u32 = 1 << 24;

/// Maximum rounding error of a frame time, relative to a frame.
const MAX_SLACK: f64 = 0.01;

/// The name of the time column if the file gives none.
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
    /// Creates a trajectory from ascending `times` in seconds, possibly equal, and a row of `columns.len()` `values`
    /// for each.
    ///
    /// # Errors
    /// Returns [`NoTimes`](TrajectoryError::NoTimes), [`Size`](TrajectoryError::Size),
    /// [`Columns`](TrajectoryError::Columns) for a name that cannot be read back, or [`Row`](TrajectoryError::Row) for
    /// a row that is not finite or not ascending.
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

    /// Reads a file.
    ///
    /// # Errors
    /// Returns [`TrajectoryError::Text`], or an error of [`parse`](Self::parse).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TrajectoryError> {
        Self::parse(&read::text_of(path.as_ref())?, path)
    }

    /// Parses a trajectory; errors name `file`.
    ///
    /// # Errors
    /// Returns [`TrajectoryError::Empty`] or [`TrajectoryError::Line`].
    pub fn parse(text: &str, file: impl AsRef<Path>) -> Result<Self, TrajectoryError> {
        parse(text, file.as_ref())
    }

    /// Returns the names of the value columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the times in seconds, ascending unless they are unordered targets of [`resample`](Self::resample).
    #[must_use]
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Returns the values, row after row.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the values at time `i`, in the columns' order.
    ///
    /// # Panics
    /// Panics if there is no time `i`.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f64] {
        let width = self.columns.len();
        &self.values[i * width..][..width]
    }

    /// Returns the position of a column in a row.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Returns the values at `targets`, in seconds and any order, which the new trajectory keeps. Computes on the
    /// stream's device and waits for it.
    ///
    /// # Errors
    /// Returns [`NoTimes`](TrajectoryError::NoTimes) without targets, [`Resample`](TrajectoryError::Resample) if a
    /// target is not finite, the times do not ascend or the device fails, or [`Overflow`](TrajectoryError::Overflow).
    #[track_caller]
    pub fn resample(&self, stream: &Stream, targets: &[f64]) -> Result<Self, TrajectoryError> {
        if targets.is_empty() {
            return Err(TrajectoryError::NoTimes);
        }
        let values = self.at(stream, targets)?;
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let (row, column) = (at / self.columns.len(), at % self.columns.len());
            let (time, column) = (targets[row], self.columns[column].clone());
            return Err(TrajectoryError::Overflow { column, time });
        }
        let (time, columns) = (self.time.clone(), self.columns.clone());
        Ok(Self { time, columns, times: targets.to_vec(), values })
    }

    #[track_caller]
    fn at(&self, stream: &Stream, targets: &[f64]) -> Result<Vec<f64>, ResampleError> {
        let size = |what, found: usize| {
            let most = u64::from(u32::MAX);
            u32::try_from(found).map_err(|_| ResampleError::TooMany {
                what,
                found: found as u64,
                most,
            })
        };
        let width = size("columns", self.columns.len())?;
        let from = size("source times", self.times.len())?;
        let to = size("target times", targets.len())?;
        // Without the padding, which would be most of a narrow image.
        let image =
            |width, height| Image::with_pitch(stream.device(), width, height, 8 * u64::from(width));
        let (mut times, mut values) = (image(from, 1)?, image(width, from)?);
        let (mut wanted, mut out) = (image(to, 1)?, image(width, to)?);
        times.upload(stream, &self.times)?;
        values.upload(stream, &self.values)?;
        wanted.upload(stream, targets)?;
        let resampling =
            Resampling { times: &times, values: &values, targets: &wanted, out: &mut out };
        let mut resampler = Resampler::new(stream)?;
        resampler.submit(stream, resampling)?;
        resampler.check(stream)?;
        Ok(out.download(stream)?)
    }

    /// Returns the number of `targets` outside the range of times, which get the first or last values.
    #[must_use]
    pub fn clamped(&self, targets: &[f64]) -> usize {
        let inside = self.times[0]..=self.times[self.times.len() - 1];
        targets.iter().filter(|target| !inside.contains(target)).count()
    }

    /// Returns the times of frames at a rate: the first time plus n/rate, up to the last time. Each is computed from
    /// its number, so errors do not accumulate. Rounding alone does not exclude the last time.
    ///
    /// # Errors
    /// Returns [`TrajectoryError::TooLong`] for more than [`MAX_FRAMES`].
    pub fn frame_times(&self, rate: Rate) -> Result<Vec<f64>, TrajectoryError> {
        let (first, last) = (self.times[0], self.times[self.times.len() - 1]);
        let (numerator, denominator) = rate.fraction();
        let seconds = last - first;
        // The rounding errors of the times, their difference and the product.
        let slack = 4.0 * f64::EPSILON * first.abs().max(last.abs()) * rate.per_second();
        let frames = (seconds * rate.per_second() + slack.min(MAX_SLACK)).floor() + 1.0;
        if frames > f64::from(MAX_FRAMES) {
            return Err(TrajectoryError::TooLong { seconds, frames, rate });
        }
        let time =
            |n: u32| first + (u64::from(n) * u64::from(denominator)) as f64 / f64::from(numerator);
        Ok((0..frames as u32).map(|n| time(n).min(last)).collect())
    }

    /// Writes CSV with a header.
    ///
    /// # Errors
    /// Returns the writer's error.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "{}", self.time)?;
        for column in &self.columns {
            write!(out, ",{column}")?;
        }
        writeln!(out)?;
        for (time, values) in self.times.iter().zip(self.values.chunks(self.columns.len())) {
            write!(out, "{time}")?;
            for value in values {
                write!(out, ",{value}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// Writes a CSV file, which replaces an existing one when it is complete.
    ///
    /// # Errors
    /// Returns [`TrajectoryError::Unwritable`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), TrajectoryError> {
        let path = path.as_ref();
        replace(path, |out| self.write(out))
            .map_err(|source| TrajectoryError::Unwritable { file: path.to_owned(), source })
    }
}

/// Checks a row that follows time `before`.
fn row_fault(before: f64, time: f64, values: &[f64]) -> Option<RowError> {
    if let Some(i) = [time].iter().chain(values).position(|number| !number.is_finite()) {
        return Some(RowError::NotFinite { column: i + 1 });
    }
    (time < before).then_some(RowError::Descending { time, before })
}
