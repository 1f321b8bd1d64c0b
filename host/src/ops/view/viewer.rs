//! Renders views from the frames of cameras.

use std::sync::Mutex;

use cuda_std::DeviceView;
use glam::{DVec3, UVec2};
use shared_types::photometry::Vignette;
use shared_types::stitch::MAX_CAMERAS;
use shared_types::view::ViewCamera;
use shared_types::warp::{Camera, Canvas};

use super::launch::{ViewArgs, launch};
use super::shot::{Shot, normals};
use super::{ViewError, ViewLimits, ViewPose};
use crate::device::{Stream, Textures};
use crate::frame::{FrameView, FrameViewMut};
use crate::geometry::Geometry;
use crate::lock::lock;
use crate::ops::stitch::{StitchError, StitchOptions, check_depths, check_frames, check_sources};
use crate::warp::{DeviceWarp, Plane};

/// Renders views from the frames of 1 to 16 real cameras.
#[derive(Debug)]
pub struct Viewer {
    canvas: Canvas,
    cameras: Vec<Camera>,
    /// The normals of the planes that bound each camera's field of view; see [`ViewCamera::new`].
    normals: Vec<[DVec3; 4]>,
    flip: bool,
    /// Texture objects over recently rendered frames, which are kept for later frames in the same memory.
    textures: Mutex<Textures>,
}

impl Clone for Viewer {
    /// Clones the cameras. The clone has separate texture objects. If two sessions shared texture objects, each would
    /// evict those of the other, and each eviction waits for the GPU.
    fn clone(&self) -> Self {
        let Self { canvas, cameras, normals, flip, textures: _ } = self;
        let (cameras, normals) = (cameras.clone(), normals.clone());
        Self { canvas: *canvas, cameras, normals, flip: *flip, textures: Mutex::default() }
    }
}

impl Viewer {
    /// Creates a viewer for the cameras of a geometry. `flip` rotates the panorama, and with it all views, by 180°.
    ///
    /// # Errors
    /// Returns [`ViewError::Invalid`] if the geometry does not have 1 to 16 cameras.
    pub fn new(geometry: &Geometry, flip: bool) -> Result<Self, ViewError> {
        let Geometry { canvas, cameras } = geometry;
        if !(1..=MAX_CAMERAS).contains(&cameras.len()) {
            return Err(ViewError::cameras(cameras.len()));
        }
        let (cameras, normals) = (cameras.clone(), cameras.iter().map(normals).collect());
        Ok(Self { canvas: *canvas, cameras, normals, flip, textures: Mutex::default() })
    }

    /// Returns the sizes of the cameras' frames in pixels.
    #[must_use]
    pub fn sources(&self) -> Vec<UVec2> {
        self.cameras.iter().map(|camera| camera.size).collect()
    }

    /// Returns the size of the canvas in pixels.
    #[must_use]
    pub fn canvas_size(&self) -> UVec2 {
        self.canvas.size
    }

    /// Checks that a warp has the source sizes of the cameras and the size of the canvas.
    pub(crate) fn check_warp(&self, warp: &DeviceWarp) -> Result<(), ViewError> {
        check_sources(warp.sources(), &self.sources())?;
        let (found, expected) = (warp.size(), self.canvas.size);
        if found == expected {
            return Ok(());
        }
        Err(ViewError::Invalid(format!(
            "the warp with the weights is {}×{} pixels, but the canvas is {}×{}; make the warp and the viewer from one \
             geometry",
            found.x, found.y, expected.x, expected.y
        )))
    }

    /// Returns the limits that keep views within the covered area, or `None` if the cameras cover no rectangle.
    #[must_use]
    pub fn limits(&self) -> Option<ViewLimits> {
        ViewLimits::of(&self.cameras, self.flip)
    }

    /// Submits the rendering of a view of one frame per camera into `out`, as one launch, without waiting.
    ///
    /// Overlaps are blended with the weights of `warp`, which must be made from the same geometry as the viewer. If
    /// `warp` is `None`, they are blended with feathered weights. Positions in frames and in the warp are accurate to
    /// 1/256 of a pixel. Only the colours, the vignettes and the covers of the options apply, and powers are fast. Pixels
    /// that no camera sees become black.
    ///
    /// The formats of the frames may differ, but either all frames and the output are P010, or none of them. The device
    /// must be able to read their rows as textures, such as those of a [`DeviceFrame`](crate::frame::DeviceFrame).
    ///
    /// # Errors
    /// Returns [`ViewError`] if the pose is invalid, the frames or the warp do not match the cameras, the device cannot
    /// read the frames as textures, or the device fails.
    #[track_caller]
    pub fn submit<'a>(
        &self,
        stream: &Stream,
        frames: &[FrameView<'_>],
        warp: Option<&DeviceWarp>,
        view: &ViewPose,
        options: &StitchOptions,
        out: impl Into<FrameViewMut<'a>>,
    ) -> Result<(), ViewError> {
        let out = out.into();
        view.check()?;
        options.check(self.cameras.len())?;
        check_frames(frames, &self.sources())?;
        if !out.is_whole() {
            return Err(StitchError::chroma("the output").into());
        }
        check_depths(frames.iter().map(FrameView::format).chain([out.format()]))?;
        let shot = Shot::new(view, self.flip, &out);
        let weights = self.weights(stream, warp)?;
        let mixed = options.covers.covers_any(frames.len())
            || options.vignettes.iter().take(frames.len()).any(|of| *of != Vignette::NONE)
            || options.has_shoulder(frames.len())
            || self.cameras.iter().any(|camera| camera.lens.is_panorama());
        let corrections = (0..self.cameras.len()).map(|camera| {
            let (colour, offset, vignette) = options.correction(camera);
            (colour, (offset, vignette))
        });
        let (colours, mixes): (Vec<_>, Vec<_>) = corrections.unzip();
        let cameras = self.cameras.iter().zip(&self.normals).zip(colours);
        let cameras = cameras.map(|((camera, normals), colour)| {
            ViewCamera::new(camera, normals, (shot.turn, shot.focal), shot.cell, colour)
        });
        let (canvas, cameras) = (shot.canvas(&self.canvas), cameras.collect());
        let args = ViewArgs { shot, canvas, cameras, mixes: mixed.then_some(mixes), weights };
        // Hold the lock until the launch is submitted, so that no other thread evicts the textures that this launch
        // uses.
        let mut textures = lock(&self.textures);
        launch(stream, &mut textures, frames, &args, out)
    }

    /// Returns the weight plane of each camera in `warp`, or no planes if `warp` is `None`. Makes `stream` wait until
    /// the weights in `warp` are written.
    #[track_caller]
    fn weights<'w>(
        &self,
        stream: &Stream,
        warp: Option<&'w DeviceWarp>,
    ) -> Result<Vec<DeviceView<'w, f32>>, ViewError> {
        let Some(warp) = warp else { return Ok(Vec::new()) };
        self.check_warp(warp)?;
        warp.await_ready(stream)?;
        let plane = |camera| warp.plane(Plane::Weight(camera)).view();
        Ok((0..self.cameras.len()).map(plane).collect())
    }
}
