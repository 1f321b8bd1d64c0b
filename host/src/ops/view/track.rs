//! A track: the pose of a virtual camera for each frame of a video, computed from keyframes in a file.
//!
//! The file is a [trajectory](crate::ops::trajectory) with the columns `pan`, `tilt`, `fov` and optionally `roll`
//! (default 0), in degrees:
//! ```csv
//! t,pan,tilt,fov
//! 0,-20,0,60
//! 2.5,15,-3,40
//! ```
//! Times are seconds from the first frame. Poses are interpolated linearly between keyframes, and are constant before
//! the first and after the last keyframe. Then the track is smoothed, because linear segments have corners: each pose
//! is replaced by a Gaussian-weighted mean of the poses at nearby times.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use thiserror::Error;

use super::smoothing::{gaussian, smooth};
use super::{MAX_FOV, MIN_FOV, ViewError, ViewPose};
use crate::device::Stream;
use crate::error::passes_on;
use crate::frame::Rate;
use crate::ops::trajectory::{Trajectory, TrajectoryError};

/// The maximum standard deviation of the Gaussian that smooths a track, in seconds.
pub const MAX_SMOOTHING: f64 = 60.0;

/// The distance from the centre at which the Gaussian is cut off, in standard deviations.
const REACH: f64 = 3.0;

/// The maximum number of poses in a track: a day at 60 frames per second.
const MAX_VIEWS: f64 = 86_400.0 * 60.0;

/// The poses of a virtual camera, one for each frame of a video.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    rate: Rate,
    /// The pose of each frame. Frames after the last element use the last pose.
    views: Vec<ViewPose>,
}

/// The error if a file is not a valid track, or if the smoothing is out of range.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrackError {
    /// The file is not a valid trajectory.
    #[error(transparent)]
    Trajectory(#[from] TrajectoryError),
    /// The columns, the keyframes or the smoothing are not those of a track.
    #[error("{0}")]
    Invalid(String),
}

passes_on!(TrackError: Trajectory);

/// Returns the error for a fault of a track file.
fn invalid(file: &Path, fault: impl fmt::Display) -> TrackError {
    TrackError::Invalid(format!("{}: {fault}", file.display()))
}

impl Track {
    /// Reads keyframes from a file and computes the poses of frames at `rate`, smoothed by a Gaussian with a standard
    /// deviation of `smoothing` seconds. Resamples on the stream's device and waits for the result.
    ///
    /// # Errors
    /// Returns [`TrackError`] if the file is not a valid track, `smoothing` is out of range, or the device fails.
    pub fn open(
        stream: &Stream,
        path: impl AsRef<Path>,
        rate: Rate,
        smoothing: f64,
    ) -> Result<Self, TrackError> {
        let file = path.as_ref();
        Self::new(stream, &Trajectory::open(file)?, file, rate, smoothing)
    }

    /// Computes poses like [`open`](Self::open), but from keyframes in memory. Error messages use `file` as the name of
    /// the keyframes.
    ///
    /// # Errors
    /// Returns [`TrackError`] if the keyframes are not a valid track, `smoothing` is out of range, or the device
    /// fails.
    pub fn new(
        stream: &Stream,
        keyframes: &Trajectory,
        file: &Path,
        rate: Rate,
        smoothing: f64,
    ) -> Result<Self, TrackError> {
        if !(0.0..=MAX_SMOOTHING).contains(&smoothing) {
            return Err(TrackError::Invalid(format!(
                "the smoothing of the track is {smoothing} s; it must be 0 to {MAX_SMOOTHING} s"
            )));
        }
        let columns = Columns::find(keyframes, file)?;
        for (i, &time) in keyframes.times().iter().enumerate() {
            columns.view(keyframes.row(i)).check().map_err(|error| at_time(file, time, error))?;
        }
        let sigma = smoothing * rate.per_second();
        let radius = (REACH * sigma).ceil();
        let seconds = keyframes.times().last().copied().unwrap_or(0.0).max(0.0);
        let frames = (seconds * rate.per_second()).ceil() + radius + 1.0;
        if frames > MAX_VIEWS {
            return Err(invalid(
                file,
                format_args!(
                    "the last keyframe is at {seconds} s, but a track may have at most {MAX_VIEWS} frames; check that the \
                     times are in seconds"
                ),
            ));
        }
        let radius = radius as i64;
        let last = frames as i64 - 1;
        let (numerator, denominator) = rate.fraction();
        let time = |n: i64| n as f64 * f64::from(denominator) / f64::from(numerator);
        let times: Vec<f64> = (-radius..=last + radius).map(time).collect();
        let resampled = keyframes.resample(stream, &times)?;
        let weights = gaussian(sigma, radius as usize);
        let mut smoothed: Vec<_> = (0..resampled.columns().len())
            .map(|column| {
                let values = (0..times.len()).map(|i| resampled.row(i)[column]);
                smooth(&values.collect::<Vec<_>>(), &weights).into_iter()
            })
            .collect();
        let mut row = vec![0.0; smoothed.len()];
        let view = |_| {
            for (value, means) in row.iter_mut().zip(&mut smoothed) {
                *value = means.next().unwrap_or_default();
            }
            let mut view = columns.view(&row);
            // The sum of the weights is not exactly 1, so the mean of valid poses may be slightly out of range.
            view.fov = view.fov.clamp(MIN_FOV, MAX_FOV);
            view
        };
        let views: Vec<_> = (0..=last).map(view).collect();
        // Smoothing of huge angles may overflow.
        for (frame, view) in (0..).zip(&views) {
            let time = rate.time(frame).as_secs_f64();
            view.check().map_err(|error| at_time(file, time, error))?;
        }
        Ok(Self { rate, views })
    }

    /// Returns the pose of the frame that is nearest to `time`. After the end of the track, returns the last pose.
    #[must_use]
    pub fn at(&self, time: Duration) -> ViewPose {
        let last = self.views.len() - 1;
        let frame = usize::try_from(self.rate.frames(time)).unwrap_or(last);
        self.views[frame.min(last)]
    }
}

/// Returns the error for an invalid pose of a keyframe or of a frame.
fn at_time(file: &Path, time: f64, error: ViewError) -> TrackError {
    invalid(file, format_args!("the keyframe at {time} s: {error}"))
}

/// The positions of the columns pan, tilt, roll and fov in the trajectory.
struct Columns {
    pan: usize,
    tilt: usize,
    roll: Option<usize>,
    fov: usize,
}

impl Columns {
    fn find(keyframes: &Trajectory, file: &Path) -> Result<Self, TrackError> {
        let known = |name: &str| matches!(name, "pan" | "tilt" | "roll" | "fov");
        if let Some(column) = keyframes.columns().iter().find(|column| !known(column)) {
            return Err(invalid(
                file,
                format_args!(
                    "unknown column {column:?}; the first line must name the columns t, pan, tilt, fov and optionally roll"
                ),
            ));
        }
        let needed = |missing: &'static str| {
            let column = keyframes.column(missing);
            let fault = format!(
                "column {missing} is missing; a track needs the columns t, pan, tilt and fov, and may have roll"
            );
            column.ok_or_else(|| invalid(file, fault))
        };
        let (pan, tilt, fov) = (needed("pan")?, needed("tilt")?, needed("fov")?);
        Ok(Self { pan, tilt, roll: keyframes.column("roll"), fov })
    }

    fn view(&self, row: &[f64]) -> ViewPose {
        let Self { pan, tilt, roll, fov } = *self;
        ViewPose {
            pan: row[pan],
            tilt: row[tilt],
            roll: roll.map_or(0.0, |i| row[i]),
            fov: row[fov],
        }
    }
}
