//! A warp maps every pixel of a panorama to source coordinates and a weight for each of two cameras.
//!
//! A warp has six f32 planes of the panorama's size, stored row by row from the top without padding. Coordinates are in
//! pixels of the source, with pixel centres at integers. Weights are from 0 to 1. [`Warp::new`] checks that the planes
//! have the right lengths, that coordinates are finite, and that weights are in range. Kernels rely on these checks.
//!
//! A camera *contributes* to a panorama pixel if its weight exceeds [`MIN_WEIGHT`] and its coordinates are inside the
//! source.
//!
//! `file` writes and reads a warp as one safetensors file. `raw` writes and reads it as six raw files. `mesh`
//! compresses a warp to a [`Mesh`].

mod bytes;
mod device;
mod device_mesh;
mod error;
mod file;
mod mesh;
mod plane_error;
mod preview;
mod raw;
mod render_mesh;
mod stats;

use std::sync::Arc;

use glam::{UVec2, Vec2};

use crate::geometry::rig::ProjectionName;
use crate::geometry::{MAX_CANVAS_AREA, MAX_CANVAS_SIDE};
use crate::io::picture::MAX_SIDE;
pub use device::DeviceWarp;
pub use device_mesh::DeviceMesh;
pub use error::WarpError;
pub use mesh::{MESH_ERROR, Mesh, MeshError, MeshFault};
pub use plane_error::PlaneError;
pub use plane_error::RenderError;
use shared_types::stitch::MIN_WEIGHT;
pub use stats::{CameraStats, PixelBox, WarpStats};

/// One of the six planes of a warp. The variants have the order of [`Warp::planes`] and of the planes in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plane {
    /// The column in the left source, in pixels.
    LeftX,
    /// The row in the left source, in pixels.
    LeftY,
    /// The column in the right source, in pixels.
    RightX,
    /// The row in the right source, in pixels.
    RightY,
    /// The weight of the left camera, from 0 to 1.
    WeightLeft,
    /// The weight of the right camera, from 0 to 1.
    WeightRight,
}

impl Plane {
    /// All six planes, in the order of [`Warp::planes`] and of the planes in files.
    pub const ALL: [Self; 6] =
        [Self::LeftX, Self::LeftY, Self::RightX, Self::RightY, Self::WeightLeft, Self::WeightRight];

    /// Returns the name of the plane in warp files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LeftX => "lut_left_x",
            Self::LeftY => "lut_left_y",
            Self::RightX => "lut_right_x",
            Self::RightY => "lut_right_y",
            Self::WeightLeft => "weight_left",
            Self::WeightRight => "weight_right",
        }
    }

    /// Returns whether the plane contains weights rather than coordinates.
    #[must_use]
    pub const fn is_weight(self) -> bool {
        matches!(self, Self::WeightLeft | Self::WeightRight)
    }

    /// Checks a part of this plane: coordinates must be finite, and weights must be from 0 to 1. `values` start at
    /// element `at` of the plane, which has `width` pixels per row.
    pub(crate) fn check(self, values: &[f32], at: usize, width: u32) -> Result<(), PlaneError> {
        let weight = self.is_weight();
        // Test for valid values rather than for invalid ones, so that NaN is rejected.
        let fine = |v: &f32| {
            if weight { (0.0..=1.0).contains(v) } else { v.is_finite() }
        };
        // Test all values without an early exit, so that the compiler vectorizes the loop.
        if values.iter().fold(true, |all, v| all & fine(v)) {
            return Ok(());
        }
        let Some(bad) = values.iter().position(|v| !fine(v)) else {
            return Ok(());
        };
        let (index, value) = (at + bad, values[bad]);
        let (x, y) = (index % width as usize, index / width as usize);
        Err(if value.is_finite() {
            PlaneError::Weight { plane: self, x, y, value }
        } else {
            PlaneError::NotFinite { plane: self, x, y, value }
        })
    }
}

/// A warp of two cameras in host memory. Its sizes and numbers were checked when it was created.
///
/// Two equal warps are saved to identical files.
#[derive(Clone, Debug, PartialEq)]
pub struct Warp {
    size: UVec2,
    sources: [UVec2; 2],
    planes: [Vec<f32>; 6],
    projection: Option<ProjectionName>,
    rig: Option<String>,
    /// The mesh that was computed from these planes, if any.
    mesh: Option<Arc<Mesh>>,
}

impl Warp {
    /// Creates a warp for a panorama of `size` pixels and sources of `sources` pixels (left, right). The six planes are
    /// in the order of [`Plane`]. Each must have `size.x · size.y` numbers.
    ///
    /// # Errors
    /// Returns [`PlaneError`] for an invalid size, length or number.
    pub fn new(
        size: UVec2,
        sources: [UVec2; 2],
        planes: [Vec<f32>; 6],
    ) -> Result<Self, PlaneError> {
        check_sizes(size, sources)?;
        let expected = size.x as usize * size.y as usize;
        for (plane, values) in Plane::ALL.into_iter().zip(&planes) {
            if values.len() != expected {
                return Err(PlaneError::Length { plane, found: values.len(), expected });
            }
            plane.check(values, 0, size.x)?;
        }
        Ok(Self { size, sources, planes, projection: None, rig: None, mesh: None })
    }

    /// Returns the warp with a description of its origin: the panorama's projection, and the text of the rig or
    /// homography that it was made from. An empty text has the same meaning as `None`.
    #[must_use]
    pub fn made_from(self, projection: Option<ProjectionName>, rig: Option<String>) -> Self {
        Self { projection, rig: rig.filter(|text| !text.is_empty()), ..self }
    }

    /// Computes a mesh with [`Mesh::new`], and returns the warp with this mesh. The source coordinates of the mesh
    /// deviate from the planes by at most `error` source pixels along either axis. [`save`](Self::save) stores the
    /// mesh, and [`DeviceWarp::upload`] uses it if `error` is at most [`MESH_ERROR`].
    ///
    /// # Errors
    /// Returns [`MeshError::Bound`] if `error` is not a positive finite number.
    pub fn with_mesh(self, error: f32) -> Result<Self, MeshError> {
        let mesh = Some(Arc::new(Mesh::new(&self, error)?));
        Ok(Self { mesh, ..self })
    }

    /// Returns the warp without its mesh. [`save`](Self::save) then writes a file of version 1.
    #[must_use]
    pub fn without_mesh(self) -> Self {
        Self { mesh: None, ..self }
    }

    /// Returns the warp's mesh, if it was [computed](Self::with_mesh) or read from a file.
    #[must_use]
    pub fn mesh(&self) -> Option<&Mesh> {
        self.mesh.as_deref()
    }

    /// Returns the size of the panorama in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.size
    }

    /// Returns the sizes of the sources in pixels: left, right.
    #[must_use]
    pub fn sources(&self) -> [UVec2; 2] {
        self.sources
    }

    /// Returns the six planes in the order of [`Plane`].
    #[must_use]
    pub fn planes(&self) -> &[Vec<f32>; 6] {
        &self.planes
    }

    /// Returns one plane, row by row from the top.
    #[must_use]
    pub fn plane(&self, plane: Plane) -> &[f32] {
        &self.planes[plane as usize]
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

    /// Returns the weight of `camera` (0: left, 1: right) at the pixel with the index `at`, or `None` if the camera
    /// does not contribute to this pixel.
    pub(crate) fn counts(&self, camera: usize, at: usize) -> Option<f32> {
        let (weight, place) = (self.planes[4 + camera][at], self.source(camera, at));
        counting(place.into(), weight, self.sources[camera])
    }

    /// Returns the source column and row of `camera` (0: left, 1: right) for the pixel with the index `at`.
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

/// Checks that the sizes of a warp and its sources are within the limits of this crate.
pub(crate) fn check_sizes(size: UVec2, sources: [UVec2; 2]) -> Result<(), PlaneError> {
    let area = u64::from(size.x) * u64::from(size.y);
    if area == 0 || size.max_element() > MAX_CANVAS_SIDE || area > MAX_CANVAS_AREA {
        return Err(PlaneError::Size { size });
    }
    for source in sources {
        if source.min_element() == 0 || source.max_element() > MAX_SIDE {
            return Err(PlaneError::SourceSize { size: source });
        }
    }
    Ok(())
}
