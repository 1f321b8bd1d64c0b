//! The virtual camera: renders perspective views directly from the frames of 2 to 16 cameras, or from a panorama.
//!
//! A [`ViewPose`] is the direction and the field of view of the virtual camera. A [`Viewer`] contains the real cameras
//! and renders views from their frames. [`ViewLimits`] keep a view within the area that the cameras cover. A [`Track`]
//! has the poses for the frames of a video, computed from keyframes in a file. For live video, pass a
//! [`VirtualCamera`] to [`Stitcher::with_view`](crate::live::Stitcher::with_view).
//!
//! # Conventions
//! Angles are in degrees, relative to the direction of the [rig](crate::geometry::rig)'s panorama (its `yaw` and
//! `pitch`). A positive `pan` is to the right, a positive `tilt` is up, and a positive `roll` turns the camera
//! clockwise in the view. Roll is applied first, then tilt, then pan. `fov` is the angle across the view's width.
//! Pixels are square.
//!
//! Lens models for the virtual camera are not supported.

mod limits;
mod many;
mod shot;
mod smoothing;
mod track;
mod two;
mod viewer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use glam::{DMat3, UVec2};
use kernels_gpu::view as kernels;
use shared_types::stitch::MAX_CAMERAS;
use shared_types::warp::Canvas;
use thiserror::Error;

use crate::device::{DeviceError, Image, Stream};
use crate::frame::{FrameView, FrameViewMut, launch_by_formats};
use crate::geometry::rig::rotation;
use crate::io::picture::Picture;
use crate::ops::stitch::{StitchError, StitchOptions, check_depths};

pub use limits::ViewLimits;
use shot::Shot;
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
    /// Returns [`ViewError::View`] if the pose is invalid.
    pub fn check(&self) -> Result<(), ViewError> {
        let Self { pan, tilt, roll, fov } = *self;
        let turns = [pan, tilt, roll].iter().all(|angle| angle.is_finite());
        let usable = turns && (MIN_FOV..=MAX_FOV).contains(&fov);
        if usable { Ok(()) } else { Err(ViewError::View(*self)) }
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

/// A function that returns the pose of a virtual camera for the timestamp of a pair of frames.
pub type ViewPath = Arc<dyn Fn(Duration) -> ViewPose + Send + Sync>;

/// A virtual camera for live video.
#[derive(Clone)]
pub struct VirtualCamera {
    /// The viewer, which contains the real cameras and renders the views.
    pub viewer: Viewer,
    /// The pose over time. The stitcher's worker thread calls this function once per pair and waits for it. If the
    /// function panics, the stitcher fails with [`LiveError::Panicked`](crate::live::LiveError::Panicked). If the
    /// function returns an invalid pose, the stitcher uses the last valid pose, or [`ViewPose::default`] if there is
    /// none.
    pub path: ViewPath,
}

impl fmt::Debug for VirtualCamera {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualCamera").field("viewer", &self.viewer).finish_non_exhaustive()
    }
}

/// The error if the pose is invalid, the frames or the warp do not match the cameras, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The pose is invalid.
    #[error(
        "view: invalid pose ({0}); angles must be finite, and the field of view must be {MIN_FOV} to {MAX_FOV} degrees"
    )]
    View(ViewPose),
    /// The geometry does not have 2 to 16 cameras.
    #[error("view: the geometry has {0} cameras; it must have 2 to {MAX_CAMERAS}")]
    Cameras(usize),
    /// The warp whose weights blend the overlap does not have the size of the canvas.
    #[error("view: the warp with the weights is {}×{} pixels, but the canvas is {}×{}; make the warp and the viewer from one geometry", found.x, found.y, expected.x, expected.y)]
    Weights {
        /// The warp's size.
        found: UVec2,
        /// The canvas's size.
        expected: UVec2,
    },
    /// The panorama does not have the size of the canvas that was passed with it.
    #[error("view: the panorama is {}×{} pixels, but the canvas is {}×{}; pass the canvas that belongs to this panorama", found.x, found.y, expected.x, expected.y)]
    Panorama {
        /// The panorama's size.
        found: UVec2,
        /// The canvas's size.
        expected: UVec2,
    },
    /// The frames or colours are invalid, or the device failed.
    #[error("view: {0}")]
    Stitch(#[from] StitchError),
}

impl From<DeviceError> for ViewError {
    fn from(error: DeviceError) -> Self {
        Self::Stitch(error.into())
    }
}

/// Submits the rendering of a view of a panorama into `out` without waiting. `canvas` is the panorama's canvas. Pixels
/// outside the panorama become black.
///
/// # Errors
/// Returns [`ViewError`] if the pose is invalid, the panorama does not have the size of the canvas, or the device
/// fails.
#[track_caller]
pub fn view_panorama<'a>(
    stream: &Stream,
    panorama: impl Into<FrameView<'a>>,
    canvas: &Canvas,
    view: &ViewPose,
    out: impl Into<FrameViewMut<'a>>,
) -> Result<(), ViewError> {
    let (panorama, out) = (panorama.into(), out.into());
    view.check()?;
    let input = panorama.format();
    if input.size != canvas.size {
        return Err(ViewError::Panorama { found: input.size, expected: canvas.size });
    }
    whole([("panorama", panorama.is_whole()), ("output", out.is_whole())])?;
    check_depths([input, out.format()])?;
    let shot = Shot::new(view, false, &out);
    let (canvas, frame, config) = (shot.canvas(canvas), shot.frame(input.pixels), &shot.config());
    macro_rules! launch {
        ($kernel:ident, $panorama:ident, $out:ident) => {
            stream
                .launch(config, &kernels::$kernel { panorama: $panorama, canvas, frame, out: $out })
        };
    }
    launch_by_formats!(FrameView[panorama], out, launch:
        ViewPanoramaRgba8, ViewPanoramaNv12, ViewPanoramaNv12Rgba8, ViewPanoramaRgba8Nv12,
        ViewPanoramaP010)
    .map_or(Ok(()), |launched| Ok(launched?))
}

/// Renders a view of `size` pixels of one picture per camera in host memory, with feathered blending, and waits for the
/// result.
///
/// # Errors
/// Returns [`ViewError`] if the pose is invalid, the pictures do not match the cameras, or the device fails.
#[track_caller]
pub fn view_pictures(
    stream: &Stream,
    pictures: &[&Picture],
    viewer: &Viewer,
    view: &ViewPose,
    size: UVec2,
    options: &StitchOptions,
) -> Result<Picture, ViewError> {
    let images = Picture::upload_all(stream, pictures)?;
    let frames: Vec<_> = images.iter().map(FrameView::from).collect();
    let mut out = Image::new(stream.device(), size.x, size.y)?;
    viewer.submit(stream, &frames, None, view, options, &mut out)?;
    Ok(Picture::download(stream, &out)?)
}

/// Checks that the chroma plane of each frame has the size that its luma plane requires. Each element of `frames`
/// contains the name of a frame, and whether its chroma plane has this size.
fn whole<const N: usize>(frames: [(&'static str, bool); N]) -> Result<(), ViewError> {
    match frames.into_iter().find(|(_, whole)| !whole) {
        Some((which, _)) => Err(StitchError::Chroma { which }.into()),
        None => Ok(()),
    }
}
