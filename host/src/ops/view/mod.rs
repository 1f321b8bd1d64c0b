//! The virtual camera: renders perspective views directly from the frames of 1 to 16 cameras.
//!
//! A [`ViewPose`] is the direction and the field of view of the virtual camera. A [`Viewer`] contains the real cameras
//! and renders views from their frames. [`ViewLimits`] keep a view within the area that the cameras cover. A [`Track`]
//! has the poses for the frames of a video, computed from keyframes in a file. For live video, pass the viewer and a
//! [`ViewPath`] to a [`Session`](crate::live::Session).
//!
//! # Conventions
//! Angles are in degrees, relative to the direction of the [rig](crate::geometry::rig)'s panorama (its `yaw` and
//! `pitch`). A positive `pan` is to the right, a positive `tilt` is up, and a positive `roll` turns the camera
//! clockwise in the view. Roll is applied first, then tilt, then pan. `fov` is the angle across the view's width.
//! Pixels are square.
//!
//! Lens models for the virtual camera are not supported.

mod launch;
mod limits;
mod shot;
mod smoothing;
mod track;
mod viewer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use glam::{DMat3, UVec2};
use shared_types::stitch::MAX_CAMERAS;
use thiserror::Error;

use crate::device::DeviceError;
use crate::error::passes_on;
use crate::geometry::rig::rotation;
use crate::ops::stitch::StitchError;

pub use limits::ViewLimits;
pub use track::{MAX_SMOOTHING, Track, TrackError};
pub use viewer::Viewer;

/// The minimum field of view, in degrees.
pub const MIN_FOV: f64 = 0.1;

/// The maximum field of view, in degrees. At 180°, a perspective picture would be infinitely wide.
pub const MAX_FOV: f64 = 170.0;

/// The default size of a view, in pixels.
pub const DEFAULT_SIZE: UVec2 = UVec2::new(1920, 1080);

/// The direction and the field of view of a virtual camera, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewPose {
    /// The angle to the right of the panorama's direction, in degrees.
    pub pan: f64,
    /// The angle above the panorama's direction, in degrees.
    pub tilt: f64,
    /// The rotation of the camera, clockwise in the view, in degrees.
    pub roll: f64,
    /// The field of view: the angle from the left edge to the right edge, in degrees.
    pub fov: f64,
}

impl Default for ViewPose {
    fn default() -> Self {
        Self { pan: 0.0, tilt: 0.0, roll: 0.0, fov: 60.0 }
    }
}

impl ViewPose {
    /// Checks that all angles are finite, and that the field of view is [`MIN_FOV`] to [`MAX_FOV`].
    ///
    /// # Errors
    /// Returns [`ViewError::Invalid`] if the pose is invalid.
    pub fn check(&self) -> Result<(), ViewError> {
        let Self { pan, tilt, roll, fov } = *self;
        let turns = [pan, tilt, roll].iter().all(|angle| angle.is_finite());
        let usable = turns && (MIN_FOV..=MAX_FOV).contains(&fov);
        if usable {
            return Ok(());
        }
        Err(ViewError::Invalid(format!(
            "invalid pose ({self}); angles must be finite, and the field of view must be {MIN_FOV} to {MAX_FOV} degrees"
        )))
    }

    /// Returns the rotation from the coordinate system of the view to that of the panorama.
    fn turn(&self) -> DMat3 {
        rotation(self.pan, self.tilt, self.roll)
    }

    /// Returns the focal length, in pixels, of a view with a width of `width` pixels.
    fn focal(&self, width: u32) -> f64 {
        f64::from(width) / 2.0 / libm::tan(self.fov.to_radians() / 2.0)
    }
}

impl fmt::Display for ViewPose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pan, tilt, roll, fov } = self;
        write!(f, "pan {pan}, tilt {tilt}, roll {roll}, field of view {fov} degrees")
    }
}

/// The pose of a virtual camera over time: a function of the timestamp of a set of frames, or a constant pose.
///
/// A session's worker thread calls the function once per set and waits for it. If the function panics, the session fails
/// with [`LiveError::Panicked`](crate::live::LiveError::Panicked). If it returns an invalid pose, the session uses the
/// last valid pose, or [`ViewPose::default`] if there is none.
#[derive(Clone)]
pub struct ViewPath(Arc<dyn Fn(Duration) -> ViewPose + Send + Sync>);

impl ViewPath {
    /// Returns the path of a function.
    pub fn new(path: impl Fn(Duration) -> ViewPose + Send + Sync + 'static) -> Self {
        Self(Arc::new(path))
    }

    /// Returns the pose for a timestamp.
    #[must_use]
    pub fn at(&self, time: Duration) -> ViewPose {
        (self.0)(time)
    }
}

impl From<ViewPose> for ViewPath {
    fn from(pose: ViewPose) -> Self {
        Self::new(move |_| pose)
    }
}

impl fmt::Debug for ViewPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ViewPath")
    }
}

/// The error if the pose is invalid, the frames or the warp do not match the cameras, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The pose, the number of cameras or the warp is invalid.
    #[error("view: {0}")]
    Invalid(String),
    /// The frames or colours are invalid, or the device failed.
    #[error("view: {0}")]
    Stitch(#[from] StitchError),
}

passes_on!(ViewError: Stitch);

impl ViewError {
    fn cameras(found: usize) -> Self {
        Self::Invalid(format!("the geometry has {found} cameras; it must have 1 to {MAX_CAMERAS}"))
    }
}

impl From<DeviceError> for ViewError {
    fn from(error: DeviceError) -> Self {
        Self::Stitch(error.into())
    }
}
