//! Interpolates a trajectory on a device, part by part, so that the memory does not grow with the number of targets.

use std::io::Write;
use std::path::Path;

use super::{Trajectory, TrajectoryError};
use crate::device::{Image, Stream};
use crate::io::replace;
use crate::ops::resample::{ResampleError, Resampler, Resampling};

/// The number of values that are interpolated at a time: 8 MiB.
const PART: usize = 1 << 20;

impl Trajectory {
    /// Returns a new trajectory with the interpolated values at the times `targets`, in seconds. The targets may have
    /// any order, and the rows of the new trajectory have the same order. Computes on the stream's device and waits
    /// for the result.
    ///
    /// # Errors
    /// - [`NoTimes`](TrajectoryError::NoTimes): `targets` is empty.
    /// - [`Resample`](TrajectoryError::Resample): a target is not finite, the times are not ascending, or the device
    ///   fails.
    /// - [`Overflow`](TrajectoryError::Overflow): the difference of two adjacent values is not finite.
    #[track_caller]
    pub fn resample(&self, stream: &Stream, targets: &[f64]) -> Result<Self, TrajectoryError> {
        if targets.is_empty() {
            return Err(TrajectoryError::NoTimes);
        }
        let values = Sampler::new(self, stream)?.at(stream, targets)?;
        let (time, columns) = (self.time.clone(), self.columns.clone());
        Ok(Self { time, columns, times: targets.to_vec(), values })
    }

    /// Resamples like [`resample`](Self::resample), and writes the result as CSV like [`write`](Self::write). Holds
    /// only a part of the result in memory. After an error, `out` may have a part of the rows.
    ///
    /// # Errors
    /// Returns the errors of [`resample`](Self::resample), and [`TrajectoryError::Output`] if writing fails.
    #[track_caller]
    pub fn write_resampled(
        &self,
        stream: &Stream,
        targets: impl IntoIterator<Item = f64>,
        out: &mut impl Write,
    ) -> Result<(), TrajectoryError> {
        let mut targets = targets.into_iter();
        let mut sampler = Sampler::new(self, stream)?;
        let rows = (PART / self.columns.len()).max(1);
        let mut times: Vec<f64> = targets.by_ref().take(rows).collect();
        if times.is_empty() {
            return Err(TrajectoryError::NoTimes);
        }
        self.write_header(out)?;
        while !times.is_empty() {
            let values = sampler.at(stream, &times)?;
            self.write_rows(&times, &values, out)?;
            times.clear();
            times.extend(targets.by_ref().take(rows));
        }
        Ok(())
    }

    /// Resamples to a CSV file like [`write_resampled`](Self::write_resampled). Replaces an existing file atomically.
    ///
    /// # Errors
    /// Returns the errors of [`resample`](Self::resample), and [`TrajectoryError::Unwritable`] if the file cannot be
    /// written. An existing file is then unchanged.
    #[track_caller]
    pub fn save_resampled(
        &self,
        stream: &Stream,
        targets: impl IntoIterator<Item = f64>,
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
}

/// A trajectory in the memory of a device.
struct Sampler<'a> {
    trajectory: &'a Trajectory,
    times: Image<f64>,
    values: Image<f64>,
    resampler: Resampler,
    /// The number of targets of all parts so far.
    done: usize,
}

impl<'a> Sampler<'a> {
    #[track_caller]
    fn new(trajectory: &'a Trajectory, stream: &Stream) -> Result<Self, ResampleError> {
        let width = size("columns", trajectory.columns.len())?;
        let from = size("source times", trajectory.times.len())?;
        let mut times = image(stream, from, 1)?;
        let mut values = image(stream, width, from)?;
        times.upload(stream, &trajectory.times)?;
        values.upload(stream, &trajectory.values)?;
        Ok(Self { trajectory, times, values, resampler: Resampler::new(stream)?, done: 0 })
    }

    /// Returns the values at the next targets, row after row.
    #[track_caller]
    fn at(&mut self, stream: &Stream, targets: &[f64]) -> Result<Vec<f64>, TrajectoryError> {
        let (width, to) = (self.values.width(), size("target times", targets.len())?);
        let (mut wanted, mut out) = (image(stream, to, 1)?, image(stream, width, to)?);
        wanted.upload(stream, targets).map_err(ResampleError::from)?;
        let (times, values) = (&self.times, &self.values);
        let resampling = Resampling { times, values, targets: &wanted, out: &mut out };
        self.resampler.submit(stream, resampling)?;
        self.resampler.check(stream).map_err(|error| match error {
            ResampleError::Target { batch, index } => {
                let index = u32::try_from(self.done).unwrap_or(u32::MAX).saturating_add(index);
                ResampleError::Target { batch, index }
            }
            error => error,
        })?;
        let values = out.download(stream).map_err(ResampleError::from)?;
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let columns = &self.trajectory.columns;
            let (row, column) = (at / columns.len(), at % columns.len());
            let (time, column) = (targets[row], columns[column].clone());
            return Err(TrajectoryError::Overflow { column, time });
        }
        self.done += targets.len();
        Ok(values)
    }
}

fn size(what: &'static str, found: usize) -> Result<u32, ResampleError> {
    let most = u64::from(u32::MAX);
    u32::try_from(found).map_err(|_| ResampleError::TooMany { what, found: found as u64, most })
}

/// Allocates an image whose rows have no padding, because padding would take most of the memory of an image with few
/// columns.
#[track_caller]
fn image(stream: &Stream, width: u32, height: u32) -> Result<Image<f64>, ResampleError> {
    Ok(Image::with_pitch(stream.device(), width, height, 8 * u64::from(width))?)
}
