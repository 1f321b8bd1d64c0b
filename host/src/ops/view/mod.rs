//! The virtual camera: perspective views straight from two cameras' frames, or from a panorama.
//!
//! A [`ViewPose`] says where it looks; a [`Viewer`] knows where the real cameras look and submits the one launch that
//! makes a view of their frames. [`ViewLimits`] keep a view inside of what they cover, a [`Track`] is a file of
//! views over time. Live, a [`VirtualCamera`] goes to [`Stitcher::with_view`](crate::live::Stitcher::with_view).
//!
//! # Conventions
//! As in a [rig](crate::geometry::rig), in degrees from where its panorama looks, the ray of its `yaw` and `pitch`: `pan` > 0 to
//! the right, `tilt` > 0 up, `roll` > 0 clockwise as the view sees it, innermost. `fov` is across the view's width;
//! its pixels are square.
//!
//! Not here: any lens but a perfect one, and more than two cameras.

mod limits;
mod track;

use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cuda_std::DeviceView;
use glam::{DMat3, DVec2, DVec3, UVec2};
use kernels_gpu::view as kernels;
use shared_types::Rgba8;
use shared_types::view::{BLOCK, ViewCamera, ViewCameras, ViewCanvas, ViewFrame, tile};
use shared_types::warp::{Camera, Canvas};
use thiserror::Error;

use crate::device::{DeviceError, Image, LaunchConfig, Stream, Textures};
use crate::frame::{FrameFormat, FrameView, FrameViewMut, PixelFormat, Textured};
use crate::geometry::rig::rotation;
use crate::geometry::{Geometry, border};
use crate::io::picture::Picture;
use crate::lock::lock;
use crate::ops::stitch::{StitchError, StitchOptions, check_sources};
use crate::warp::{DeviceWarp, Plane};

pub use limits::ViewLimits;
pub use track::{MAX_SMOOTHING, Track, TrackError};

/// The narrowest view, in degrees.
pub const MIN_FOV: f64 = 0.1;

/// The widest view, in degrees: a perspective picture of 180° has no size.
pub const MAX_FOV: f64 = 170.0;

/// The size of a view of which nothing else is said.
pub const DEFAULT_SIZE: UVec2 = UVec2::new(1920, 1080);

/// Where a virtual camera looks, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewPose {
    /// To the right of the panorama's middle.
    pub pan: f64,
    /// Up from the panorama's middle.
    pub tilt: f64,
    /// Clockwise, as the view sees it.
    pub roll: f64,
    /// From the left edge to the right one.
    pub fov: f64,
}

impl Default for ViewPose {
    fn default() -> Self {
        Self { pan: 0.0, tilt: 0.0, roll: 0.0, fov: 60.0 }
    }
}

impl ViewPose {
    /// Checks the angles: finite, and the field of view from [`MIN_FOV`] to [`MAX_FOV`].
    ///
    /// # Errors
    /// [`ViewError::View`].
    pub fn check(&self) -> Result<(), ViewError> {
        let Self { pan, tilt, roll, fov } = *self;
        let turns = [pan, tilt, roll].iter().all(|angle| angle.is_finite());
        let usable = turns && (MIN_FOV..=MAX_FOV).contains(&fov);
        if usable { Ok(()) } else { Err(ViewError::View(*self)) }
    }

    /// From the view's frame to the panorama's.
    fn turn(&self) -> DMat3 {
        rotation(self.pan, self.tilt, self.roll)
    }

    /// Focal length in pixels of a view so wide.
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

/// Where a virtual camera looks at a time, that of a pair of frames.
pub type ViewPath = Arc<dyn Fn(Duration) -> ViewPose + Send + Sync>;

/// A virtual camera of live video: through whose lenses it looks, and where.
#[derive(Clone)]
pub struct VirtualCamera {
    /// The cameras.
    pub viewer: Viewer,
    /// Asked once for every pair, on the thread that has pairs stitched: it must be quick, and if it panics the
    /// stitcher ends ([`LiveError::Panicked`](crate::live::LiveError::Panicked)). In place of a view that cannot be, the
    /// last one is shown again, at first [`ViewPose::default`].
    pub path: ViewPath,
}

impl fmt::Debug for VirtualCamera {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualCamera").field("viewer", &self.viewer).finish_non_exhaustive()
    }
}

/// A view cannot be, frames do not fit, or the device failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ViewError {
    /// Angles that are no view.
    #[error(
        "view: {0}; angles are finite numbers, and the field of view is from {MIN_FOV} to {MAX_FOV}"
    )]
    View(ViewPose),
    /// A geometry of more or fewer than two cameras.
    #[error("view: the geometry has {0} cameras, but a view looks through two")]
    Cameras(usize),
    /// A warp whose weights are asked for, of another size than the canvas.
    #[error("view: the warp with the weights is {}×{} pixels but the canvas {}×{}", found.x, found.y, expected.x, expected.y)]
    Weights {
        /// The warp's size.
        found: UVec2,
        /// The canvas's.
        expected: UVec2,
    },
    /// A panorama of another size than the canvas.
    #[error("view: the panorama is {}×{} pixels but the canvas {}×{}", found.x, found.y, expected.x, expected.y)]
    Panorama {
        /// The panorama's size.
        found: UVec2,
        /// The canvas's.
        expected: UVec2,
    },
    /// Frames or colours that no stitch takes either, or the device failed.
    #[error("view: {0}")]
    Stitch(#[from] StitchError),
}

impl From<DeviceError> for ViewError {
    fn from(error: DeviceError) -> Self {
        Self::Stitch(error.into())
    }
}

/// Two cameras for views to look through.
#[derive(Debug)]
pub struct Viewer {
    canvas: Canvas,
    cameras: [Camera; 2],
    /// What each camera cannot see; see [`ViewCamera::new`].
    normals: [[DVec3; 4]; 2],
    flip: bool,
    /// Over the frames that it has seen.
    textures: Mutex<Textures>,
}

impl Clone for Viewer {
    /// With texture objects of its own. Clones are for stitchers side by side, whose frames together are more than are
    /// kept: each would throw out the others', and a GPU is waited for when one goes.
    fn clone(&self) -> Self {
        let Self { canvas, cameras, normals, flip, textures: _ } = self;
        let textures = Mutex::default();
        Self { canvas: *canvas, cameras: *cameras, normals: *normals, flip: *flip, textures }
    }
}

impl Viewer {
    /// The cameras of a geometry. With `flip` its panorama is turned by 180°, and all views with it.
    ///
    /// # Errors
    /// [`ViewError::Cameras`].
    pub fn new(geometry: &Geometry, flip: bool) -> Result<Self, ViewError> {
        let cameras: [Camera; 2] = geometry.cameras[..]
            .try_into()
            .map_err(|_| ViewError::Cameras(geometry.cameras.len()))?;
        let normals = cameras.each_ref().map(normals);
        let canvas = geometry.canvas;
        Ok(Self { canvas, cameras, normals, flip, textures: Mutex::default() })
    }

    /// Sizes of the cameras' frames in pixels: left, right.
    #[must_use]
    pub fn sources(&self) -> [UVec2; 2] {
        self.cameras.map(|camera| camera.size)
    }

    /// Size of the canvas in pixels.
    #[must_use]
    pub fn canvas_size(&self) -> UVec2 {
        self.canvas.size
    }

    /// Checks that the weights of a warp can be asked for.
    pub(crate) fn check_warp(&self, warp: &DeviceWarp) -> Result<(), ViewError> {
        check_sources(warp.sources(), self.sources())?;
        let (found, expected) = (warp.size(), self.canvas.size);
        if found == expected { Ok(()) } else { Err(ViewError::Weights { found, expected }) }
    }

    /// What keeps views inside of what the cameras cover; `None` where that is nothing.
    #[must_use]
    pub fn limits(&self) -> Option<ViewLimits> {
        ViewLimits::of(&self.cameras, self.flip)
    }

    /// Submits a view of the frames `left` and `right` into `out` and does not wait: one launch, whatever the formats.
    ///
    /// What both cameras see is blended as a feathered warp has it, or by the weights of `warp`, which is one of
    /// the same geometry. Of the options, colours count; gamma is computed fast, and `edge_boost` is of
    /// panoramas. Pixels that no camera sees become black.
    ///
    /// # Errors
    /// [`ViewError`].
    #[track_caller]
    pub fn submit<'a>(
        &self,
        stream: &Stream,
        [left, right]: [FrameView<'_>; 2],
        warp: Option<&DeviceWarp>,
        view: &ViewPose,
        options: &StitchOptions,
        out: impl Into<FrameViewMut<'a>>,
    ) -> Result<(), ViewError> {
        let out = out.into();
        view.check()?;
        options.check()?;
        let (input, other) = (left.format(), right.format());
        if input.pixels != other.pixels {
            return Err(StitchError::Formats { left: input, right: other }.into());
        }
        check_sources([input.size, other.size], self.sources())?;
        whole([
            ("left", left.is_whole()),
            ("right", right.is_whole()),
            ("output", out.is_whole()),
        ])?;
        let shot = Shot::new(view, self.flip, input, &out);
        let camera = |i: usize, colour| {
            let (camera, normals) = (&self.cameras[i], &self.normals[i]);
            ViewCamera::new(camera, normals, (shot.turn, shot.focal), shot.cell, colour)
        };
        let cameras =
            ViewCameras { left: camera(0, options.left), right: camera(1, options.right) };
        let (canvas, frame, config) = (shot.canvas(&self.canvas), shot.frame(), &shot.config());
        // SAFETY: nothing lies in it.
        let empty = || unsafe {
            DeviceView::new(stream.device().place(), NonNull::dangling().as_ptr(), 0, 0, 0)
        };
        let (left_weight, right_weight) = match warp {
            None => (empty(), empty()),
            Some(warp) => {
                self.check_warp(warp)?;
                warp.await_ready(stream)?;
                let plane = |plane| warp.plane(plane).view();
                (plane(Plane::WeightLeft), plane(Plane::WeightRight))
            }
        };
        // Held until the launch is submitted, so that no texture goes before.
        let mut textures = lock(&self.textures);
        let mut textured = |frame| Textured::of(stream.device(), &mut textures, frame);
        let textured = textured(&left)?.zip(textured(&right)?);
        /// All kernels take these arguments.
        macro_rules! launch {
            ($left:ident, $right:ident, $out:ident: $kernel:ident) => {{
                let (left, right, out) = ($left, $right, $out);
                stream.launch(
                    config,
                    &kernels::$kernel {
                        left,
                        right,
                        left_weight,
                        right_weight,
                        canvas,
                        cameras,
                        frame,
                        out,
                    },
                )
            }};
        }
        use {FrameView as In, FrameViewMut as Out, Textured as Tex};
        match (textured, left, right, out) {
            (Some((Tex::Rgba8(l), Tex::Rgba8(r))), _, _, Out::Rgba8(out)) => {
                launch!(l, r, out: ViewTexturedRgba8)
            }
            (Some((Tex::Nv12(l, _), Tex::Nv12(r, _))), _, _, Out::Nv12(out, _)) => {
                launch!(l, r, out: ViewTexturedNv12)
            }
            (Some((Tex::Nv12(l, _), Tex::Nv12(r, _))), _, _, Out::Rgba8(out)) => {
                launch!(l, r, out: ViewTexturedNv12Rgba8)
            }
            (Some((Tex::Rgba8(l), Tex::Rgba8(r))), _, _, Out::Nv12(out, _)) => {
                launch!(l, r, out: ViewTexturedRgba8Nv12)
            }
            (_, In::Rgba8(l), In::Rgba8(r), Out::Rgba8(out)) => {
                launch!(l, r, out: ViewRgba8)
            }
            (_, In::Nv12(l, _), In::Nv12(r, _), Out::Nv12(out, _)) => {
                launch!(l, r, out: ViewNv12)
            }
            (_, In::Nv12(l, _), In::Nv12(r, _), Out::Rgba8(out)) => {
                launch!(l, r, out: ViewNv12Rgba8)
            }
            (_, In::Rgba8(l), In::Rgba8(r), Out::Nv12(out, _)) => {
                launch!(l, r, out: ViewRgba8Nv12)
            }
            (_, left, right, _) => {
                let (left, right) = (left.format(), right.format());
                return Err(StitchError::Formats { left, right }.into());
            }
        }
        .map_err(ViewError::from)
    }
}

/// Submits a view of a panorama, which lies on `canvas`, into `out` and does not wait. Pixels beside the panorama
/// become black.
///
/// # Errors
/// [`ViewError`].
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
    let shot = Shot::new(view, false, input, &out);
    let (canvas, frame, config) = (shot.canvas(canvas), shot.frame(), &shot.config());
    use {FrameView as In, FrameViewMut as Out};
    match (panorama, out) {
        (In::Rgba8(panorama), Out::Rgba8(out)) => {
            stream.launch(config, &kernels::ViewPanoramaRgba8 { panorama, canvas, frame, out })
        }
        (In::Nv12(panorama, _), Out::Nv12(out, _)) => {
            stream.launch(config, &kernels::ViewPanoramaNv12 { panorama, canvas, frame, out })
        }
        (In::Nv12(panorama, _), Out::Rgba8(out)) => {
            stream.launch(config, &kernels::ViewPanoramaNv12Rgba8 { panorama, canvas, frame, out })
        }
        (In::Rgba8(panorama), Out::Nv12(out, _)) => {
            stream.launch(config, &kernels::ViewPanoramaRgba8Nv12 { panorama, canvas, frame, out })
        }
    }
    .map_err(ViewError::from)
}

/// A view of two pictures in host memory, of `size` pixels, feathered. Waits for it.
///
/// # Errors
/// [`ViewError`].
#[track_caller]
pub fn view_pictures(
    stream: &Stream,
    left: &Picture,
    right: &Picture,
    viewer: &Viewer,
    view: &ViewPose,
    size: UVec2,
    options: &StitchOptions,
) -> Result<Picture, ViewError> {
    let [left, right] = [left, right].map(|picture| picture.upload(stream));
    let (left, right) = (left?, right?);
    let mut out = Image::new(stream.device(), size.x, size.y)?;
    viewer.submit(stream, [(&left).into(), (&right).into()], None, view, options, &mut out)?;
    let mut picture = Picture::filled(size.x, size.y, Rgba8::BLACK);
    out.download_to(stream, picture.pixels_mut())?;
    Ok(picture)
}

/// Planes through the camera, in its frame: of a ray whose product with one of these is negative it sees nothing.
/// They stand around its picture with some room; around one that they cannot hold, as of half a sphere, there
/// are none.
fn normals(camera: &Camera) -> [DVec3; 4] {
    /// Room for what lies between the rays that are looked at, as a share of the picture.
    const ROOM: f64 = 0.02;
    let mut bounds: Option<(DVec2, DVec2)> = None;
    // It shows something up to its size, which is half a pixel beyond its border; at the rim of a wide lens that is
    // more than the room.
    let wider = Camera { size: camera.size + 1, ..*camera };
    for ray in border(&wider) {
        match ray {
            // Of length 1.
            Some(DVec3 { x, y, z }) if z > 1e-6 => {
                let p = DVec2::new(x / z, y / z);
                let (low, high) = bounds.unwrap_or((p, p));
                bounds = Some((low.min(p), high.max(p)));
            }
            _ => return [DVec3::ZERO; 4],
        }
    }
    let Some((low, high)) = bounds else { return [DVec3::ZERO; 4] };
    let room = (high - low) * ROOM;
    let (low, high) = (low - room, high + room);
    [
        DVec3::new(1.0, 0.0, -low.x),
        DVec3::new(-1.0, 0.0, high.x),
        DVec3::new(0.0, 1.0, -low.y),
        DVec3::new(0.0, -1.0, high.y),
    ]
}

/// A view of some size and formats: what all its launches have in common.
struct Shot {
    turn: DMat3,
    focal: f64,
    size: UVec2,
    /// Pixels of a cell along each side: those of a chroma sample.
    cell: u32,
    input: PixelFormat,
    output: PixelFormat,
}

impl Shot {
    fn new(view: &ViewPose, flip: bool, input: FrameFormat, out: &FrameViewMut<'_>) -> Self {
        let FrameFormat { size, pixels: output } = out.format();
        let cell = if let FrameViewMut::Nv12(..) = out { 2 } else { 1 };
        let (turn, focal) = (upright(flip) * view.turn(), view.focal(size.x));
        Self { turn, focal, size, cell, input: input.pixels, output }
    }

    fn config(&self) -> LaunchConfig {
        let tile = tile(self.cell);
        let (columns, rows) = (self.size.x.div_ceil(tile.x), self.size.y.div_ceil(tile.y));
        LaunchConfig::cover(columns * BLOCK[0], rows * BLOCK[1], BLOCK)
    }

    fn canvas(&self, canvas: &Canvas) -> ViewCanvas {
        ViewCanvas::new(canvas, self.turn, self.focal)
    }

    fn frame(&self) -> ViewFrame {
        ViewFrame {
            middle: (self.size.as_vec2() - 1.0) / 2.0,
            decode: self.input.encoding().to_rgb(),
            encode: self.output.encoding().from_rgb(),
        }
    }
}

/// From the frame of a panorama that may be turned by 180° to that of the geometry.
fn upright(flip: bool) -> DMat3 {
    DMat3::from_diagonal(if flip { DVec3::new(-1.0, -1.0, 1.0) } else { DVec3::ONE })
}

/// Refuses a frame whose chroma is not as large as luma asks for.
fn whole<const N: usize>(frames: [(&'static str, bool); N]) -> Result<(), ViewError> {
    match frames.into_iter().find(|(_, whole)| !whole) {
        Some((which, _)) => Err(StitchError::Chroma { which }.into()),
        None => Ok(()),
    }
}
