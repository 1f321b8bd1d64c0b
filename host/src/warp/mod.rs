//! A warp maps every pixel of a panorama to source coordinates and a weight for each of two cameras.
//!
//! It has six f32 planes of the panorama's size, stored row by row from the top without padding. Coordinates are in
//! pixels of the source, with pixel centres at integers. Weights are from 0 to 1. [`Warp::new`] checks that the planes
//! have the right lengths, that coordinates are finite, and that weights are in range. Kernels rely on these checks.
//!
//! A camera *contributes* to a panorama pixel if its weight exceeds [`MIN_WEIGHT`] and its coordinates are inside the
//! source.
//!
//! `file` writes a warp as one safetensors file, and `read` reads this file. `raw` reads and writes six raw files.
//! `mesh` compresses a warp.

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

/// One of the six planes, in the order of [`Warp::planes`] and of all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plane {
    /// Column in the left source.
    LeftX,
    /// Row in the left source.
    LeftY,
    /// Column in the right source.
    RightX,
    /// Row in the right source.
    RightY,
    /// The left camera's weight.
    WeightLeft,
    /// The right camera's weight.
    WeightRight,
}

impl Plane {
    /// All planes in order.
    pub const ALL: [Self; 6] =
        [Self::LeftX, Self::LeftY, Self::RightX, Self::RightY, Self::WeightLeft, Self::WeightRight];

    /// Returns the plane's name in files.
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

    /// Checks `values`, which start at element `at` of a plane with `width` pixels per row.
    pub(crate) fn check(self, values: &[f32], at: usize, width: u32) -> Result<(), PlaneError> {
        let weight = self.is_weight();
        // Written so that NaN is rejected.
        let fine = |v: &f32| {
            if weight { (0.0..=1.0).contains(v) } else { v.is_finite() }
        };
        // Without an early exit the loop vectorizes.
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

/// A checked warp of two cameras.
///
/// Two equal warps are saved to identical files.
#[derive(Clone, Debug, PartialEq)]
pub struct Warp {
    size: UVec2,
    sources: [UVec2; 2],
    planes: [Vec<f32>; 6],
    projection: Option<ProjectionName>,
    rig: Option<String>,
    /// The mesh that was computed from these planes.
    mesh: Option<Arc<Mesh>>,
}

impl Warp {
    /// Creates a warp for a panorama of `size` pixels and sources of `sources` pixels (left, right). The six planes,
    /// in the order of [`Plane`], must have `size.x · size.y` numbers each.
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

    /// Returns the warp with a note of its origin: the panorama's projection and the text of the rig or homography. An
    /// empty text means none.
    #[must_use]
    pub fn made_from(self, projection: Option<ProjectionName>, rig: Option<String>) -> Self {
        Self { projection, rig: rig.filter(|text| !text.is_empty()), ..self }
    }

    /// Returns the warp with a mesh, computed by [`Mesh::new`]. The mesh deviates by at most `error` source pixels
    /// along either axis. [`save`](Self::save) stores the mesh, and [`DeviceWarp::upload`] uses it if its error is at
    /// most [`MESH_ERROR`].
    ///
    /// # Errors
    /// Returns [`MeshError::Bound`] if `error` is not a positive finite number.
    pub fn with_mesh(self, error: f32) -> Result<Self, MeshError> {
        let mesh = Some(Arc::new(Mesh::new(&self, error)?));
        Ok(Self { mesh, ..self })
    }

    /// Returns the warp without its mesh. [`save`](Self::save) writes it as a file of version 1.
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

    /// Returns the weight of camera `camera` (0 left, 1 right) at element `at` of the planes, or `None` if the camera
    /// does not contribute there.
    pub(crate) fn counts(&self, camera: usize, at: usize) -> Option<f32> {
        let (weight, place) = (self.planes[4 + camera][at], self.source(camera, at));
        counting(place.into(), weight, self.sources[camera])
    }

    /// Returns the source coordinates of camera `camera` at element `at` of the planes.
    pub(crate) fn source(&self, camera: usize, at: usize) -> [f32; 2] {
        [self.planes[2 * camera][at], self.planes[2 * camera + 1][at]]
    }
}

/// Returns `weight`, or `None` if a camera with this weight and the source coordinates `place` does not contribute.
/// `size` is the size of its source.
pub(crate) fn counting(place: Vec2, weight: f32, size: UVec2) -> Option<f32> {
    let inside = place.cmpge(Vec2::ZERO).all() && place.cmplt(size.as_vec2()).all();
    (weight > MIN_WEIGHT && inside).then_some(weight)
}

/// Checks the sizes of a warp and its sources.
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
