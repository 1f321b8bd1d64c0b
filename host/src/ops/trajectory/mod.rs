//! Trajectories: named values over time, such as the path of a camera; read, resampled, written.
//!
//! A trajectory has a row for each time, in seconds, and a value for each column. Between two times values are linear,
//! before the first and after the last time they stay; between times nearer than a microsecond they jump
//! ([`crate::ops::resample`]). All of it is f64: times are often seconds since 1970, which f32 knows to two minutes. Each
//! column is for itself: a quaternion in four of them, as in TUM's files, comes out shorter than 1 between times, and
//! is for its reader to normalise.
//!
//! Files are text of at most [`FILE_LIMIT`] bytes, in one of two forms:
//!
//! - CSV: `t,x,y,…`, a time and values in each line, with a header or without; then columns are named c1, c2, ….
//!   Words may be in double quotes, which must not hide a comma.
//! - With spaces or tabs between the fields, such as TUM's (`timestamp tx ty tz qx qy qz qw`): as CSV, but
//!   that seven columns without a header have TUM's names.
//!
//! The first line that says something decides. It is the header if nothing in it is like a number. `#` begins a
//! comment, and empty lines, a byte order mark and CRLF do no harm. Written is always CSV with a header, each
//! number as the shortest text that reads back the same.

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

/// Most frames that [`Trajectory::frame_times`] makes times for: 77 hours at 60 a second.
pub const MAX_FRAMES: u32 = 1 << 24;

/// Most of a frame's time that rounding may take.
const MAX_SLACK: f64 = 0.01;

/// What the column of times is called where its file does not say.
const TIME: &str = "t";

/// Named values over time: a row of finite numbers for each time, one row and one column at least.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// What the column of times is called.
    time: String,
    columns: Vec<String>,
    times: Vec<f64>,
    values: Vec<f64>,
}

impl Trajectory {
    /// A trajectory of ascending `times` in seconds, equal ones allowed, and a row of `columns.len()` `values` for
    /// each of them, one after the other.
    ///
    /// # Errors
    /// [`NoTimes`](TrajectoryError::NoTimes), [`Size`](TrajectoryError::Size),
    /// [`Columns`](TrajectoryError::Columns) for a name that could not be read back, or
    /// [`Row`](TrajectoryError::Row) for what is not finite or descends.
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
    /// [`TrajectoryError::Text`], and as [`parse`](Self::parse).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TrajectoryError> {
        Self::parse(&read::text_of(path.as_ref())?, path)
    }

    /// Reads a trajectory from text; `file` is named in errors.
    ///
    /// # Errors
    /// [`TrajectoryError::Empty`] or [`TrajectoryError::Line`].
    pub fn parse(text: &str, file: impl AsRef<Path>) -> Result<Self, TrajectoryError> {
        parse(text, file.as_ref())
    }

    /// Names of the columns, without that of the times.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Times in seconds. They ascend, unless they are targets of [`resample`](Self::resample) that do not.
    #[must_use]
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// The values, row after row.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The values at time `i`, in the columns' order.
    ///
    /// # Panics
    /// If there are no more than `i` times.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f64] {
        let width = self.columns.len();
        &self.values[i * width..][..width]
    }

    /// Where a column is in a row.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// The values at `targets`, in seconds and any order, in which the new trajectory has them. The stream's device
    /// computes; this waits for it.
    ///
    /// # Errors
    /// [`NoTimes`](TrajectoryError::NoTimes) without targets, or [`Resample`](TrajectoryError::Resample): a target is
    /// no finite number, the times do not ascend since they were targets themselves, or the device failed; or
    /// [`Overflow`](TrajectoryError::Overflow).
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
            let expected = u64::from(u32::MAX);
            u32::try_from(found).map_err(|_| ResampleError::Size {
                what,
                found: found as u64,
                expected,
            })
        };
        let width = size("values", self.columns.len())?;
        let (from, to) = (size("times", self.times.len())?, size("targets", targets.len())?);
        // Without padding, which would be most of a narrow image.
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

    /// How many of `targets` are before the first time or after the last, whose values they have.
    #[must_use]
    pub fn clamped(&self, targets: &[f64]) -> usize {
        let inside = self.times[0]..=self.times[self.times.len() - 1];
        targets.iter().filter(|target| !inside.contains(target)).count()
    }

    /// Times of frames at a rate: the first time and n/rate after it, up to the last. Each is computed from its
    /// number, so that nothing adds up. The last time counts as reached where rounding alone takes a frame beyond it.
    ///
    /// # Errors
    /// [`TrajectoryError::TooLong`] for more than [`MAX_FRAMES`].
    pub fn frame_times(&self, rate: Rate) -> Result<Vec<f64>, TrajectoryError> {
        let (first, last) = (self.times[0], self.times[self.times.len() - 1]);
        let (numerator, denominator) = rate.fraction();
        let seconds = last - first;
        // What rounding takes from the times, their difference and the product.
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
    /// What the writer says.
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

    /// Writes a CSV file, which replaces one of that name when it is whole.
    ///
    /// # Errors
    /// [`TrajectoryError::Unwritable`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), TrajectoryError> {
        let path = path.as_ref();
        replace(path, |out| self.write(out))
            .map_err(|source| TrajectoryError::Unwritable { file: path.to_owned(), source })
    }
}

/// What is wrong with a row that follows time `before`.
fn row_fault(before: f64, time: f64, values: &[f64]) -> Option<RowError> {
    if let Some(i) = [time].iter().chain(values).position(|number| !number.is_finite()) {
        return Some(RowError::NotFinite { column: i + 1 });
    }
    (time < before).then_some(RowError::Descending { time, before })
}
