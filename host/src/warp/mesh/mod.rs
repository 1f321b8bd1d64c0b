//! A mesh is a lossy compressed warp with a bounded error. It takes about 1/70 of the memory of the warp's planes, or
//! 1/15 if the cameras overlap in half of the panorama.
//!
//! The panorama is divided into tiles of 32×32 pixels. A tile has a chain of *layers*, one for each camera that
//! contributes to it. The first layer of a tile is found by the index of the tile, so a block of the GPU needs a single
//! load of 64 bytes for most tiles:
//!
//! ```text
//!      tiles of the panorama            layers[index of the tile]
//!   ┌────┬────┬────┬────┬────┐
//!   │ L  │ L  │ LR │ R  │ R  │   L   camera: left   cell: 32  patch: 12 numbers  shares: NONE  next: NONE
//!   ├────┼────┼────┼────┼────┤
//!   │ L  │ L  │ LR │ R  │ -  │   LR  camera: left   cell: 8   places ─▶ 16 patches  shares ─▶ 1024 × u16  next ─┐
//!   └────┴────┴────┴────┴────┘       camera: right  cell: 0   places ─▶ 1024 points  shares: REST  next: NONE ◀─┘
//!                                -   camera: NO_CAMERA (black)
//!
//!   pixel(p):
//!       colour, rest = 0, 1
//!       for each layer of the tile:
//!           share  = 1 if shares is NONE; rest if REST; otherwise shares[p]
//!           (u, v) = the point of p if cell is 0; otherwise a·(1, x, y, x², xy, y²) of the patch of its cell,
//!                    with (x, y) from the centre of the tile
//!           colour += share · grade(camera, sample(picture of the camera, u, v))
//!           rest   -= share
//! ```
//!
//! - *Patches* are fitted by least squares. If one patch for the whole tile deviates too much at a pixel to which the
//!   camera contributes, the tile is divided into smaller cells with one patch each. If the patches of the smallest
//!   cells deviate too much as well, the layer stores the source coordinates of each pixel.
//! - *Shares* are weights divided by the sum of all cameras' weights. They are not fitted, so seams stay as sharp as in
//!   the planes.
//!
//! `input` provides the input of a mesh, `fit` fits one cell, and `bands` computes the whole mesh.

mod bands;
mod fit;
pub(super) mod input;

use glam::{UVec2, Vec2};
use kernels_gpu::stitch::mesh;
use shared_types::stitch::mesh::{
    CELLS, Layer, NO_CAMERA, NONE, Patch, REST, SourcePoint, TILE, WHOLE_SHARE,
};

use super::Warp;

/// The default maximum deviation of a mesh's source coordinates along either axis, in source pixels.
pub const MESH_ERROR: f32 = 1.0 / 32.0;

/// A warp that is compressed to a mesh in host memory. [`DeviceMesh`](super::DeviceMesh) is its copy on a device.
///
/// The patches, places, shares and all layers after the first one of a tile are stored tile by tile, and within a tile
/// in the order of its cameras.
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

/// The arrays of a mesh. [`Layer`] explains their contents.
pub(super) struct Parts<'a> {
    pub(super) layers: &'a [Layer],
    pub(super) patches: &'a [Patch],
    pub(super) places: &'a [SourcePoint],
    pub(super) shares: &'a [u16],
}

impl Mesh {
    /// Computes the mesh of a warp. The source coordinates of the mesh deviate from the planes by at most `error`
    /// source pixels along either axis. Its shares are rounded to 16 bits, so they deviate by at most 1/131,070. The last
    /// camera of a tile has the rest, which deviates by as much for each of the other cameras.
    #[must_use]
    pub fn new(warp: &Warp, error: f32) -> Self {
        Self::within(&warp.into(), error)
    }

    /// Returns the layers, patches, places and shares of the mesh.
    pub(super) fn parts(&self) -> Parts<'_> {
        let Self { layers, patches, places, shares, .. } = self;
        Parts { layers, patches, places, shares }
    }

    /// Returns the size of the panorama in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.size
    }

    /// Returns the sizes of the source pictures in pixels, in the order of the cameras.
    #[must_use]
    pub fn sources(&self) -> &[UVec2] {
        &self.sources
    }

    /// Returns the maximum deviation of the source coordinates along either axis, in source pixels.
    #[must_use]
    pub fn error(&self) -> f32 {
        self.error
    }

    /// Returns the size of the mesh in memory, in bytes.
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

    /// Yields the cameras that contribute to a panorama pixel. An item contains the index of the camera, its source
    /// column and row in pixels, and its share from 0 to 1.
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

    /// Yields the layers of the tile with the index `tile`, without a black layer. So there are none if no camera
    /// contributes.
    fn chain(&self, tile: usize) -> impl Iterator<Item = &Layer> {
        let next = |layer: &&Layer| self.layers.get(layer.next as usize);
        let chain = std::iter::successors(self.layers.get(tile), next);
        chain.filter(|layer| layer.camera != NO_CAMERA)
    }

    /// Yields the same layers as [`chain`](Self::chain), each with its share at a pixel of the tile. [`WHOLE_SHARE`]
    /// stands for a share of 1.
    fn shown(&self, tile: usize, UVec2 { x, y }: UVec2) -> impl Iterator<Item = (&Layer, u16)> {
        let mut left = u16::MAX;
        self.chain(tile).map(move |layer| {
            let share = match layer.shares {
                NONE | REST => left,
                first => self.shares[(first + y * TILE + x) as usize],
            };
            // The sum of several rounded shares may exceed 1 slightly. Saturate, so that the rest does not wrap around.
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

    /// Returns the number of columns and rows of tiles in a panorama of `size` pixels.
    pub(crate) fn tiles_of(size: UVec2) -> UVec2 {
        UVec2::new(size.x.div_ceil(TILE), size.y.div_ceil(TILE))
    }
}
