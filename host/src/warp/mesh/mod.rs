//! A warp as a mesh with a stated error: a seventieth of the size of its planes, or a fifteenth if half of the
//! panorama is overlap.
//!
//! Tiles divide the panorama. A quadratic map, fitted by least squares, gives a camera's source coordinates in a tile.
//! If it deviates too much at a pixel where the camera counts, smaller cells divide the tile; if those do not suffice
//! either, the tile stores each pixel's source coordinates. Shares of the cameras are stored per pixel in 16 bits
//! where more than one camera counts, or not all pixels are covered. So seams keep their edges, and the visible
//! cameras are the same as with the planes.
//!
//! `looks` provides the source of a mesh, `fit` fits one cell, `bands` builds the whole, `faults` checks a mesh from a
//! file, and `tensors` stores it in a file.

mod bands;
mod faults;
mod fit;
pub(super) mod looks;
mod part;
mod tensors;

use glam::{UVec2, Vec2};
use kernels_gpu::stitch::mesh;
use shared_types::stitch::mesh::{
    CELLS, Layer, MAX_CAMERAS, NO_CAMERA, NONE, Patch, REST, SourcePoint, TILE, WHOLE_SHARE,
};
use thiserror::Error;

use super::{RenderError, Warp};
use crate::device::DeviceError;
pub use faults::MeshFault;
pub(super) use part::MeshPart;
pub(super) use tensors::Unpacked;

/// Default maximum deviation of a mesh's coordinates, in source pixels.
pub const MESH_ERROR: f32 = 1.0 / 32.0;

/// A mesh cannot be computed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MeshError {
    /// The error bound is not a positive number.
    #[error("making a mesh: an error of {0} source pixels cannot be kept; give a number over 0")]
    Bound(f32),
    /// The geometry has too few or too many cameras.
    #[error("making a mesh: the geometry has {0} cameras; give two to {MAX_CAMERAS}")]
    Cameras(usize),
    /// The cameras cannot be rendered.
    #[error("making a mesh: {0}")]
    Render(#[from] RenderError),
}

impl From<DeviceError> for MeshError {
    fn from(error: DeviceError) -> Self {
        Self::Render(error.into())
    }
}

/// A warp as a mesh.
///
/// Patches, places, shares and further layers follow the order of the tiles, and within a tile that of its cameras.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    size: UVec2,
    sources: Vec<UVec2>,
    error: f32,
    /// The tiles' first layers, row by row, then the layers that follow them.
    layers: Vec<Layer>,
    patches: Vec<Patch>,
    places: Vec<SourcePoint>,
    shares: Vec<u16>,
}

/// The parts of a mesh; see [`Layer`].
pub(super) struct Parts<'a> {
    pub(super) layers: &'a [Layer],
    pub(super) patches: &'a [Patch],
    pub(super) places: &'a [SourcePoint],
    pub(super) shares: &'a [u16],
}

impl Mesh {
    /// Computes a mesh whose source coordinates deviate by at most `error` source pixels along either axis, and whose
    /// shares by at most 1/131,070.
    ///
    /// # Errors
    /// Returns [`MeshError`] if the error bound is invalid.
    pub fn new(warp: &Warp, error: f32) -> Result<Self, MeshError> {
        check(error)?;
        Ok(Self::within(&warp.into(), error))
    }

    /// Returns the parts.
    pub(super) fn parts(&self) -> Parts<'_> {
        let Self { layers, patches, places, shares, .. } = self;
        Parts { layers, patches, places, shares }
    }

    /// Returns the size of the panorama in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.size
    }

    /// Returns the sizes of the sources in pixels, camera by camera.
    #[must_use]
    pub fn sources(&self) -> &[UVec2] {
        &self.sources
    }

    /// Returns the error bound along either axis, in source pixels.
    #[must_use]
    pub fn error(&self) -> f32 {
        self.error
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let parts = [
            size_of_val(&self.layers[..]),
            size_of_val(&self.patches[..]),
            size_of_val(&self.places[..]),
            size_of_val(&self.shares[..]),
        ];
        parts.iter().sum::<usize>() as u64
    }

    /// Returns the number of layers with cells of each size, largest first, and last the number of layers that store
    /// each pixel.
    #[must_use]
    pub fn divisions(&self) -> [usize; CELLS.len() + 1] {
        let mut counts = [0; CELLS.len() + 1];
        for layer in self.layers.iter().filter(|layer| layer.camera != NO_CAMERA) {
            let kind = CELLS.iter().position(|cell| *cell == u32::from(layer.cell));
            counts[kind.unwrap_or(CELLS.len())] += 1;
        }
        counts
    }

    /// Yields the cameras of a panorama pixel: number, source coordinates and share.
    ///
    /// # Panics
    /// Panics if the pixel is outside the panorama.
    pub fn at(&self, pixel: UVec2) -> impl Iterator<Item = (usize, Vec2, f32)> {
        assert!(pixel.cmplt(self.size).all(), "{pixel} is not in a panorama of {}", self.size);
        let (tile, in_tile) = (pixel / TILE, pixel % TILE);
        let first = (tile.y * Self::tiles_of(self.size).x + tile.x) as usize;
        let shown = self.shown(first, in_tile).filter(|(_, share)| *share > 0);
        shown.map(move |(layer, share)| {
            let share = f32::from(share) / WHOLE_SHARE;
            (layer.camera.into(), self.place(layer, in_tile), share)
        })
    }

    /// Yields the layers of a tile that have a camera.
    fn chain(&self, tile: usize) -> impl Iterator<Item = &Layer> {
        let next = |layer: &&Layer| self.layers.get(layer.next as usize);
        let chain = std::iter::successors(self.layers.get(tile), next);
        chain.filter(|layer| layer.camera != NO_CAMERA)
    }

    /// Yields these layers with their shares of a pixel of the tile, out of [`WHOLE_SHARE`].
    fn shown(&self, tile: usize, UVec2 { x, y }: UVec2) -> impl Iterator<Item = (&Layer, u16)> {
        let mut left = u16::MAX;
        self.chain(tile).map(move |layer| {
            let share = match layer.shares {
                NONE | REST => left,
                first => self.shares[(first + y * TILE + x) as usize],
            };
            // Due to rounding, several shares may exceed the whole.
            left = left.saturating_sub(share);
            (layer, share)
        })
    }

    /// Returns a layer's source coordinates of a pixel of its tile.
    fn place(&self, layer: &Layer, UVec2 { x, y }: UVec2) -> Vec2 {
        match u32::from(layer.cell) {
            0 => self.places[(layer.places + y * TILE + x) as usize].0,
            TILE => mesh::place(&layer.patch, x, y),
            cell => {
                let patch = layer.places + y / cell * (TILE / cell) + x / cell;
                mesh::place(&self.patches[patch as usize], x, y)
            }
        }
    }

    /// Returns columns and rows of a panorama's tiles.
    pub(crate) fn tiles_of(size: UVec2) -> UVec2 {
        UVec2::new(size.x.div_ceil(TILE), size.y.div_ceil(TILE))
    }
}

/// Checks an error bound.
pub(super) fn check(error: f32) -> Result<(), MeshError> {
    if is_length(error) { Ok(()) } else { Err(MeshError::Bound(error)) }
}

/// Returns whether an error bound is valid.
pub(super) fn is_length(error: f32) -> bool {
    // A NaN is not over 0.
    error > 0.0 && error.is_finite()
}
