//! A warp as a mesh: tiles of the panorama, and of each camera that shows something there where and how much.
//!
//! A tile has a chain of [`Layer`]s, one for each camera. Where a camera's picture shows the tile's pixels is a
//! quadratic map, a [`Patch`], for the whole tile or for cells of it, or a place for each pixel. How much the camera
//! counts is a share of 65,535 for each pixel, or all of it.

use bytemuck::{Pod, Zeroable};

/// Pixels of a tile along each side.
pub const TILE: u32 = 32;

/// Pixels of the cells that a tile may be divided into, along each side, from the whole tile on.
pub const CELLS: [u32; 3] = [TILE, TILE / 2, TILE / 4];

/// No index.
pub const NONE: u32 = u32::MAX;

/// A share of 1.
pub const WHOLE_SHARE: f32 = u16::MAX as f32;

/// Source pixels as polynomials of how far a pixel is from the tile's middle, `(TILE − 1) / 2` pixels from its first
/// one: the coefficients of 1, x, y, x², xy and y².
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Patch {
    /// Columns.
    pub u: [f32; 6],
    /// Rows.
    pub v: [f32; 6],
}

/// What one camera adds to a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Layer {
    /// The camera, or [`NONE`] where the tile is black.
    pub camera: u16,
    /// Pixels of a cell along each side, each with a patch; 0 where each pixel has its place.
    pub cell: u16,
    /// The first of the cells' patches, row by row, or of the tile's places.
    pub places: u32,
    /// The first of the tile's shares, row by row, or [`NONE`] where all pixels show this camera alone.
    pub shares: u32,
    /// The tile's next layer, or [`NONE`].
    pub next: u32,
}

impl Layer {
    /// Of a tile that no camera sees.
    pub const BLACK: Self =
        Self { camera: u16::MAX, cell: 0, places: NONE, shares: NONE, next: NONE };
}
