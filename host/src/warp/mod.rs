//! A warp maps every pixel of a panorama to source coordinates and a weight for each of 1 to 16 cameras.
//!
//! A warp has three f32 planes of the panorama's size for each camera, stored row by row from the top without padding.
//! Coordinates are in pixels of the source, with pixel centres at integers. Weights are from 0 to 1. [`Warp::new`]
//! checks that the planes have the right lengths, that coordinates are finite, and that weights are in range. Kernels
//! rely on these checks.
//!
//! A camera *contributes* to a panorama pixel if its weight exceeds [`MIN_WEIGHT`] and its coordinates are inside the
//! source.
//!
//! `file` writes and reads a warp as one safetensors file. `raw` reads a warp of two cameras from six raw files. `mesh`
//! compresses a warp to a [`Mesh`].

pub(crate) mod bounds;
mod bytes;
mod device;
mod device_mesh;
mod error;
mod file;
mod gamma_table;
mod mesh;
mod plane;
mod preview;
mod raw;
mod seen;
mod stats;
mod summing;

use glam::{UVec2, Vec2};

use crate::geometry::rig::ProjectionName;
use crate::geometry::{MAX_CANVAS_AREA, MAX_CANVAS_SIDE};
use crate::io::picture::MAX_SIDE;
pub use device::{DeviceWarp, Refinement};
pub use device_mesh::DeviceMesh;
pub use error::{PlaneError, RenderError, WarpError};
pub use mesh::{MESH_ERROR, Mesh};
pub use plane::Plane;
pub use shared_types::stitch::MAX_CAMERAS;
use shared_types::stitch::MIN_WEIGHT;
pub use stats::{CameraStats, PixelBox, WarpStats};

/// A warp of 1 to [`MAX_CAMERAS`] cameras in host memory. Its sizes and numbers were checked when it was created.
///
/// Two equal warps are saved to identical files.
#[derive(Clone, Debug, PartialEq)]
pub struct Warp {
    size: UVec2,
    sources: Vec<UVec2>,
    planes: Vec<Vec<f32>>,
    projection: Option<ProjectionName>,
    rig: Option<String>,
}

impl Warp {
    /// Creates a warp for a panorama of `size` pixels and one source per camera of `sources` pixels. The planes, three
    /// per camera, are in the order of [`Plane::all`]. Each must have `size.x · size.y` numbers.
    ///
    /// # Errors
    /// Returns [`PlaneError`] for an invalid number of cameras or planes, or an invalid size, length or number.
    pub fn new(
        size: UVec2,
        sources: impl Into<Vec<UVec2>>,
        planes: impl Into<Vec<Vec<f32>>>,
    ) -> Result<Self, PlaneError> {
        let (sources, planes) = (sources.into(), planes.into());
        check_sizes(size, &sources)?;
        let cameras = sources.len();
        if planes.len() != 3 * cameras {
            return Err(PlaneError(format!(
                "there are {} planes; there must be {}, three for each camera",
                planes.len(),
                3 * cameras
            )));
        }
        let expected = size.x as usize * size.y as usize;
        for (plane, values) in Plane::all(cameras).zip(&planes) {
            if values.len() != expected {
                return Err(PlaneError(format!(
                    "plane {} has {} numbers; it must have {expected}, one for each pixel of the panorama",
                    plane.name(),
                    values.len()
                )));
            }
            plane.check(values, 0, size.x)?;
        }
        Ok(Self { size, sources, planes, projection: None, rig: None })
    }

    /// Returns the warp with a description of its origin: the panorama's projection, and the text of the rig or
    /// homography that it was made from. An empty text has the same meaning as `None`.
    #[must_use]
    pub fn made_from(self, projection: Option<ProjectionName>, rig: Option<String>) -> Self {
        Self { projection, rig: rig.filter(|text| !text.is_empty()), ..self }
    }

    /// Returns the size of the panorama in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.size
    }

    /// Returns the sizes of the cameras' sources in pixels.
    #[must_use]
    pub fn sources(&self) -> &[UVec2] {
        &self.sources
    }

    /// Returns the planes in the order of [`Plane::all`].
    #[must_use]
    pub fn planes(&self) -> &[Vec<f32>] {
        &self.planes
    }

    /// Returns one plane, row by row from the top.
    ///
    /// # Panics
    /// Panics if the warp has no such camera.
    #[must_use]
    pub fn plane(&self, plane: Plane) -> &[f32] {
        &self.planes[plane.index(self.sources.len())]
    }

    /// Returns the panorama's projection, if known.
    #[must_use]
    pub fn projection(&self) -> Option<ProjectionName> {
        self.projection
    }

    /// Returns the rig (TOML) or homography (text) that the warp was made from, if known.
    #[must_use]
    pub fn rig(&self) -> Option<&str> {
        self.rig.as_deref()
    }

    /// Returns the weight of `camera` at the pixel with the index `at`, or `None` if the camera does not contribute to
    /// this pixel.
    pub(crate) fn counts(&self, camera: usize, at: usize) -> Option<f32> {
        let (weight, place) = (self.plane(Plane::Weight(camera))[at], self.source(camera, at));
        counting(place.into(), weight, self.sources[camera])
    }

    /// Returns the source column and row of `camera` for the pixel with the index `at`.
    pub(crate) fn source(&self, camera: usize, at: usize) -> [f32; 2] {
        [self.planes[2 * camera][at], self.planes[2 * camera + 1][at]]
    }
}

/// Returns `weight` if a camera with this weight and the source coordinates `place` contributes to the pixel. Returns
/// `None` otherwise. `size` is the size of the camera's source picture.
pub(crate) fn counting(place: Vec2, weight: f32, size: UVec2) -> Option<f32> {
    let inside = place.cmpge(Vec2::ZERO).all() && place.cmplt(size.as_vec2()).all();
    (weight > MIN_WEIGHT && inside).then_some(weight)
}

/// Checks that the number of cameras, and the sizes of a warp and its sources, are within the limits of this crate.
pub(crate) fn check_sizes(size: UVec2, sources: &[UVec2]) -> Result<(), PlaneError> {
    if !(1..=MAX_CAMERAS).contains(&sources.len()) {
        let found = sources.len();
        return Err(PlaneError(format!(
            "the warp has {found} cameras; it must have 1 to {MAX_CAMERAS}"
        )));
    }
    check_size(size)?;
    sources.iter().try_for_each(|source| check_source(*source))
}

/// Checks that the size of a panorama is within the limits of this crate.
pub(crate) fn check_size(size: UVec2) -> Result<(), PlaneError> {
    let area = u64::from(size.x) * u64::from(size.y);
    if area == 0 || size.max_element() > MAX_CANVAS_SIDE || area > MAX_CANVAS_AREA {
        return Err(PlaneError(format!(
            "the panorama is {}×{} pixels; each side must be 1 to {MAX_CANVAS_SIDE} pixels, and the area at most \
             {MAX_CANVAS_AREA} pixels",
            size.x, size.y
        )));
    }
    Ok(())
}

/// Checks that the size of a source is within the limits of this crate.
pub(crate) fn check_source(size: UVec2) -> Result<(), PlaneError> {
    if size.min_element() == 0 || size.max_element() > MAX_SIDE {
        return Err(PlaneError(format!(
            "a source picture is {}×{} pixels; each side must be 1 to {MAX_SIDE} pixels",
            size.x, size.y
        )));
    }
    Ok(())
}
