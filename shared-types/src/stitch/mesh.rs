//! A warp as a mesh: tiles of the panorama, and of each camera that shows something there where and how much.
//!
//! A tile has a chain of [`Layer`]s, one for each camera. Where a camera's picture shows the tile's pixels is a
//! quadratic map, a [`Patch`], for the whole tile or for cells of it, or a place for each pixel. How much the camera
//! counts is a share of 65,535 for each pixel, or all of it.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;
use glam::{Vec2, Vec3};

use crate::stitch::Colour;
use crate::yuv::{RgbToYuv, YuvToRgb};

/// Pixels of a tile along each side.
pub const TILE: u32 = 32;

/// Pixels of the cells that a tile may be divided into, along each side, from the whole tile on.
pub const CELLS: [u32; 3] = [TILE, TILE / 2, TILE / 4];

/// Most cameras of a mesh that is stitched.
pub const MAX_CAMERAS: usize = 4;

/// Threads of a block of the stitch, which makes a tile, in x and y.
pub const BLOCK: [u32; 2] = [32, 4];

/// Threads of a block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// Threads of a block that gives a tile other weights, in x and y: a warp makes rows of it.
pub const WEIGH_BLOCK: [u32; 2] = [TILE, 8];

/// Threads of such a block, for launch bounds.
pub const WEIGH_THREADS: u32 = WEIGH_BLOCK[0] * WEIGH_BLOCK[1];

/// No index.
pub const NONE: u32 = u32::MAX;

/// In place of shares: what other layers leave.
pub const REST: u32 = NONE - 1;

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

/// A place in a source, in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, align(8))]
pub struct SourcePoint(pub Vec2);

/// What one camera adds to a tile.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Layer {
    /// The camera, or [`NO_CAMERA`] where the tile is black.
    pub camera: u16,
    /// Pixels of a cell along each side; 0 where each pixel has its place.
    pub cell: u16,
    /// The first of the cells' patches, row by row, or of the tile's places. Nothing where the cell is the tile.
    pub places: u32,
    /// The first of the tile's shares, row by row; [`NONE`] where all pixels show this camera alone, [`REST`] where it is
    /// the last layer and counts as much as the others leave.
    pub shares: u32,
    /// The tile's next layer, or [`NONE`].
    pub next: u32,
    /// Of the whole tile, where that is the cell. With the rest, as it nearly always is, for the latency of one load.
    pub patch: Patch,
}

/// In place of a camera's number.
pub const NO_CAMERA: u16 = u16::MAX;

impl Layer {
    /// Of a tile that no camera sees.
    pub const BLACK: Self = Self {
        camera: NO_CAMERA,
        cell: TILE as u16,
        places: NONE,
        shares: NONE,
        next: NONE,
        patch: Patch { u: [0.0; 6], v: [0.0; 6] },
    };
}

/// How samples of one camera, which are fractions, become colours: `clamp(…, 0, 1)^gamma` of
///
/// - `gain · c` where the samples are R'G'B',
/// - `luma · y + blue · cb + red · cr + offset` where they are Y'CbCr.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct Grading {
    /// Gain of red, green and blue.
    pub gain: Vec3,
    /// What luma adds to red, green and blue.
    pub luma: Vec3,
    /// What Cb adds.
    pub blue: Vec3,
    /// What Cr adds.
    pub red: Vec3,
    /// What is added whatever the sample.
    pub offset: Vec3,
    /// Exponent of all three.
    pub gamma: f32,
}

impl Grading {
    /// Of a camera whose pictures in NV12 are read by `decode`.
    #[must_use]
    pub fn new(Colour { gain, gamma }: Colour, decode: &YuvToRgb) -> Self {
        let YuvToRgb { black, scale, cr_red, cb_green, cr_green, cb_blue } = *decode;
        let blue = gain * Vec3::new(0.0, cb_green, cb_blue);
        let red = gain * Vec3::new(cr_red, cr_green, 0.0);
        let luma = gain * scale;
        // A fraction of black, and of grey.
        let offset = luma * (-black / 255.0) - (blue + red) * (128.0 / 255.0);
        Self { gain, luma, blue, red, offset, gamma }
    }
}

/// What a stitch on a mesh does beside warping.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct MeshParams {
    /// How each camera's samples become colours.
    pub cameras: [Grading; MAX_CAMERAS],
    /// As [`StitchParams::flip`](crate::stitch::StitchParams::flip).
    pub flip: u32,
    /// As [`StitchParams::edge_boost`](crate::stitch::StitchParams::edge_boost).
    pub edge_boost: u32,
    /// How a panorama in NV12 is written.
    pub encode: RgbToYuv,
}
