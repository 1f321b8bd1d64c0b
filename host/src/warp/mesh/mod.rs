//! A warp as a mesh, which is a seventieth of its planes, or a fifteenth where half is overlap, with a stated error.
//!
//! The panorama is divided into tiles. Where a camera's picture shows a tile is a quadratic map, fitted by least squares
//! to the planes; if that is off by more than is allowed at a pixel where the camera counts, the tile is divided into
//! smaller cells, and where those do not do either, it keeps each pixel's place. Shares of the cameras are kept for each
//! pixel in 16 bits where more than one counts, or not all pixels show one; so seams keep their edges, and whether a
//! camera counts is the same as by the planes.
//!
//! `looks` says what a mesh is made of, `fit` fits one cell, `bands` makes the whole, `faults` says whether one that was
//! read is one, and `tensors` how a file holds it.

mod bands;
mod faults;
mod fit;
mod looks;
mod tensors;

use glam::{UVec2, Vec2};
use kernels_gpu::stitch::mesh;
use shared_types::stitch::mesh::{
    CELLS, Layer, MAX_CAMERAS, NO_CAMERA, NONE, Patch, REST, SourcePoint, TILE, WHOLE_SHARE,
};
use thiserror::Error;

use super::{RenderError, Warp};
use crate::device::{DeviceError, Stream};
use crate::geometry::Geometry;
pub use faults::MeshFault;
use looks::Cameras;
pub(super) use tensors::{MeshPart, Unpacked};

/// Most that a coordinate of a mesh may be off if nothing else is asked for, in source pixels.
pub const MESH_ERROR: f32 = 1.0 / 32.0;

/// A mesh cannot be made as asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MeshError {
    /// The error is no length.
    #[error("making a mesh: an error of {0} source pixels cannot be kept; give a number over 0")]
    Bound(f32),
    /// A geometry of too few or too many cameras.
    #[error("making a mesh: the geometry has {0} cameras; give two to {MAX_CAMERAS}")]
    Cameras(usize),
    /// The cameras cannot be looked through.
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
/// Patches, places, shares and layers behind the tiles' first ones are in the order of the tiles, and of their cameras.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    size: UVec2,
    sources: Vec<UVec2>,
    error: f32,
    /// The tiles' first layers, row by row, then those that they name as the next.
    layers: Vec<Layer>,
    patches: Vec<Patch>,
    places: Vec<SourcePoint>,
    shares: Vec<u16>,
}

/// What a mesh is made of; see [`Layer`].
pub(super) struct Parts<'a> {
    pub(super) layers: &'a [Layer],
    pub(super) patches: &'a [Patch],
    pub(super) places: &'a [SourcePoint],
    pub(super) shares: &'a [u16],
}

impl Mesh {
    /// A mesh whose places are off by at most `error` source pixels along either axis, and whose shares by at most
    /// 1/131,070.
    ///
    /// # Errors
    /// [`MeshError`].
    pub fn new(warp: &Warp, error: f32) -> Result<Self, MeshError> {
        check(error)?;
        Ok(Self::within(&warp.into(), error))
    }

    /// A mesh of all cameras of a geometry, two to [`MAX_CAMERAS`], each of which counts as far as it sees beyond a
    /// pixel, by the same bounds. Waits for the stream's device, which works out where they look.
    ///
    /// # Errors
    /// [`MeshError`].
    #[track_caller]
    pub fn render(stream: &Stream, geometry: &Geometry, error: f32) -> Result<Self, MeshError> {
        check(error)?;
        Ok(Self::within(&(&Cameras::render(stream, geometry)?).into(), error))
    }

    /// What it is made of.
    pub(super) fn parts(&self) -> Parts<'_> {
        let Self { layers, patches, places, shares, .. } = self;
        Parts { layers, patches, places, shares }
    }

    /// Size of the panorama in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.size
    }

    /// Sizes of the sources in pixels, camera by camera.
    #[must_use]
    pub fn sources(&self) -> &[UVec2] {
        &self.sources
    }

    /// Most that a place may be off along either axis, in source pixels.
    #[must_use]
    pub fn error(&self) -> f32 {
        self.error
    }

    /// Bytes of it.
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

    /// How many layers have cells of each size, from the largest on, and last how many keep each pixel's place.
    #[must_use]
    pub fn divisions(&self) -> [usize; CELLS.len() + 1] {
        let mut counts = [0; CELLS.len() + 1];
        for layer in self.layers.iter().filter(|layer| layer.camera != NO_CAMERA) {
            let kind = CELLS.iter().position(|cell| *cell == u32::from(layer.cell));
            counts[kind.unwrap_or(CELLS.len())] += 1;
        }
        counts
    }

    /// Which cameras a panorama pixel shows: of each its number, the place in its picture, and its share.
    ///
    /// # Panics
    /// If the pixel is not in the panorama.
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

    /// The layers of a tile that have a camera.
    fn chain(&self, tile: usize) -> impl Iterator<Item = &Layer> {
        let next = |layer: &&Layer| self.layers.get(layer.next as usize);
        let chain = std::iter::successors(self.layers.get(tile), next);
        chain.filter(|layer| layer.camera != NO_CAMERA)
    }

    /// Those with their shares of a pixel of the tile, of [`WHOLE_SHARE`].
    fn shown(&self, tile: usize, UVec2 { x, y }: UVec2) -> impl Iterator<Item = (&Layer, u16)> {
        let mut left = u16::MAX;
        self.chain(tile).map(move |layer| {
            let share = match layer.shares {
                NONE | REST => left,
                first => self.shares[(first + y * TILE + x) as usize],
            };
            // Rounded, several may make more than the whole.
            left = left.saturating_sub(share);
            (layer, share)
        })
    }

    /// Where a layer shows a pixel of its tile.
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

    /// Columns and rows of a panorama's tiles.
    pub(crate) fn tiles_of(size: UVec2) -> UVec2 {
        UVec2::new(size.x.div_ceil(TILE), size.y.div_ceil(TILE))
    }
}

/// Checks an error that is asked for.
fn check(error: f32) -> Result<(), MeshError> {
    if is_length(error) { Ok(()) } else { Err(MeshError::Bound(error)) }
}

/// Whether an error can be kept.
pub(super) fn is_length(error: f32) -> bool {
    // A NaN is not over 0.
    error > 0.0 && error.is_finite()
}
