//! A warp as a mesh with a limited error. It takes a seventieth of the memory of the planes, or a fifteenth if half of
//! the panorama is overlap.
//!
//! The panorama is divided into tiles. A tile has a *layer* for each camera that contributes to it. A layer has two
//! parts:
//! - *Patches* or *places*: a patch is a quadratic map, fitted by least squares, from panorama pixels to source
//!   coordinates. If one patch for the whole tile deviates too much at a pixel to which the camera contributes, the
//!   tile is divided into smaller cells with one patch each. If these deviate too much as well, the layer stores the
//!   source coordinates of each pixel, its places.
//! - *Shares*: the share of a camera is its weight divided by the sum of all cameras' weights. A layer stores a 16-bit
//!   share per pixel. Exceptions: a camera that contributes alone and to all pixels of the tile has a share of 1, and
//!   in a tile without black pixels, the last of several layers takes the share that the others leave. So seams keep
//!   their sharp edges, and the same cameras contribute to each pixel as with the planes.
//!
//! `looks` provides the input of a mesh, `fit` fits one cell, `bands` builds the whole mesh, `faults` checks a mesh
//! from a file, and `tensors` stores it in a file.

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
    /// The error bound is not a positive finite number.
    #[error(
        "making a mesh: the maximum error is {0} source pixels; it must be a positive finite number"
    )]
    Bound(f32),
    /// The geometry has too few or too many cameras.
    #[error("making a mesh: the geometry has {0} cameras; it must have 2 to {MAX_CAMERAS}")]
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
/// Patches, places, shares and further layers are in the order of the tiles, and within a tile in the order of its
/// cameras.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    size: UVec2,
    sources: Vec<UVec2>,
    error: f32,
    /// The first layers of all tiles, row by row, then all further layers.
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
    /// Computes a mesh whose source coordinates deviate by at most `error` source pixels along either axis. Its shares
    /// deviate by at most 1/131,070.
    ///
    /// # Errors
    /// Returns [`MeshError`] if the error bound is invalid.
    pub fn new(warp: &Warp, error: f32) -> Result<Self, MeshError> {
        check(error)?;
        Ok(Self::within(&warp.into(), error))
    }

    /// Returns layers, patches, places and shares.
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

    /// Returns the size of the mesh in bytes.
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

    /// Returns the number of layers with cells of each size, largest first. The last element is the number of layers
    /// that store the source coordinates of each pixel.
    #[must_use]
    pub fn divisions(&self) -> [usize; CELLS.len() + 1] {
        let mut counts = [0; CELLS.len() + 1];
        for layer in self.layers.iter().filter(|layer| layer.camera != NO_CAMERA) {
            let kind = CELLS.iter().position(|cell| *cell == u32::from(layer.cell));
            counts[kind.unwrap_or(CELLS.len())] += 1;
        }
        counts
    }

    /// Yields the cameras that contribute to a panorama pixel: index, source coordinates and share.
    ///
    /// # Panics
    /// Panics if the pixel is outside the panorama.
    pub fn at(&self, pixel: UVec2) -> impl Iterator<Item = (usize, Vec2, f32)> {
        assert!(
            pixel.cmplt(self.size).all(),
            "pixel {pixel} is outside the panorama of {} pixels",
            self.size
        );
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

    /// Yields the layers of [`chain`](Self::chain) with their shares at a pixel of the tile. [`WHOLE_SHARE`] is a
    /// share of 1.
    fn shown(&self, tile: usize, UVec2 { x, y }: UVec2) -> impl Iterator<Item = (&Layer, u16)> {
        let mut left = u16::MAX;
        self.chain(tile).map(move |layer| {
            let share = match layer.shares {
                NONE | REST => left,
                first => self.shares[(first + y * TILE + x) as usize],
            };
            // Due to rounding, the sum of several shares may exceed 1.
            left = left.saturating_sub(share);
            (layer, share)
        })
    }

    /// Returns a layer's source coordinates for a pixel of its tile.
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

    /// Returns the number of columns and rows of tiles in a panorama.
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
    // Written so that NaN is rejected.
    error > 0.0 && error.is_finite()
}
