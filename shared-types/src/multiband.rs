//! Types and constants that the kernels for multiband blending share with the host: the cells of a pyramid, the tiles
//! of the panorama, the position of a camera in the pyramids, and the parameters of the kernels.

use bytemuck::{Pod, Zeroable};
use cuda_std::{KernelArg, View};
use glam::{UVec2, Vec3};
use half::f16;

use crate::photometry::Vignette;
use crate::stitch::Colour;
use crate::warp::CameraPlanes;
use crate::yuv::{RgbToYuv, YuvToRgb};

/// The maximum number of levels. Level `k` has cells of 2ᵏ × 2ᵏ panorama pixels.
pub const MAX_LEVELS: u32 = 6;

/// Threads per block in x and y.
pub const BLOCK: [u32; 2] = [32, 8];

/// Threads per block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The columns and rows that the grid of cells has to the left of the panorama and above it. Cells beyond the edges of
/// the panorama exist, because interpolation near an edge reads them. It is a multiple of the side of the largest cell
/// and of both sides of a [`TILE`].
pub const PAD: u32 = 64;

/// The columns and rows of a tile in pixels.
pub const TILE: [u32; 2] = [64, 32];

/// The columns and rows of cells of level 1 that belong to a tile: those inside, and one more on each side.
pub const TILE_CELLS: [u32; 2] = [TILE[0] / 2 + 2, TILE[1] / 2 + 2];

/// The number of [`TILE_CELLS`], which are stored row by row for each camera of a tile.
pub const SLOT: u32 = TILE_CELLS[0] * TILE_CELLS[1];

/// The side in pixels of the squares for which `multiband_survey` finds the cameras.
pub const SURVEY: u32 = 32;

/// The pixels around a square or tile that count as part of it when its cameras are searched. On each side, one more
/// cell of level 1 belongs to a tile, and a cell is the mean of its pixels and one more on each side.
pub const HALO: u32 = 3;

/// The side of the squares of cells of level 2 that a block of `multiband_correct` computes.
pub const COARSE: u32 = 16;

/// Threads per block of `multiband_correct` in x and y. With fewer threads than in the other kernels, all blocks of a
/// panorama run at the same time.
pub const CORRECT_BLOCK: [u32; 2] = [32, 4];

/// Threads per block of `multiband_correct`, for launch bounds.
pub const CORRECT_THREADS: u32 = CORRECT_BLOCK[0] * CORRECT_BLOCK[1];

/// The number of cells of levels 3 to 6 from which a square is interpolated.
pub const KEPT_CELLS: u32 = 161;

/// The side in pixels of the squares of [`COARSE`] cells.
pub const COARSE_PIXELS: u32 = 4 * COARSE;

/// The value of [`Tile::slots`] if fewer than two cameras see the tile.
pub const NO_SLOTS: u32 = u32::MAX;

/// The state of a tile in which several cameras have weights, or a pixel has no camera. Other states are the index of
/// the only camera, or [`EMPTY`].
pub const MIXED: u32 = u32::MAX;

/// The state of a tile in which no camera has any weight.
pub const EMPTY: u32 = u32::MAX - 1;

/// One cell of a pyramid: a colour in levels (−255 to 255), and the weight of this colour.
///
/// Aligned to 8 bytes so that a cell is one load or store on the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, align(8))]
pub struct Cell {
    /// The colour.
    pub colour: [f16; 3],
    /// The weight, from 0 to 1.
    pub weight: f16,
}

/// A camera's share of a cell of level 1.
///
/// Aligned to 4 bytes so that it is one load or store on the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, align(4))]
pub struct Share {
    /// The mean of the camera's weights in the warp as it was rendered.
    pub weight: f16,
    /// The part of the cell that the camera sees, from 0 to 1.
    pub seen: f16,
}

/// A part of the panorama that one block processes, and the cameras that see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Tile {
    /// The column in the grid of tiles, which starts [`PAD`] pixels before the panorama.
    pub column: u32,
    /// The row in the grid of tiles.
    pub row: u32,
    /// The cameras, one bit for each.
    pub cameras: u32,
    /// The index of the first camera's slot of [`SLOT`] cells. The slots of the further cameras follow. It is
    /// [`NO_SLOTS`] if the tile has none.
    pub slots: u32,
}

/// A tile with its state for the current weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Task {
    /// The tile.
    pub tile: Tile,
    /// The state of the tile: [`MIXED`], [`EMPTY`], or the index of the only camera.
    pub state: u32,
    /// Keeps the layout free of hidden padding.
    pub reserved: [u32; 3],
}

/// The part of the grid that a camera's pyramid covers, and its position in the images of all cameras.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct CameraPart {
    /// The first column and row in pixels, multiples of [`COARSE_PIXELS`]. The grid starts [`PAD`] pixels before the
    /// panorama.
    pub min: UVec2,
    /// The number of columns and rows in pixels, multiples of [`COARSE_PIXELS`].
    pub size: UVec2,
    /// The first row in an image of level 0 with all cameras below each other, a multiple of [`COARSE_PIXELS`]. At
    /// level `k`, the first row is `row / 2ᵏ`.
    pub row: u32,
}

/// A camera of the kernel that finds the position of each cell in its picture.
#[derive(Clone, Copy, Debug, KernelArg)]
pub struct ProbedCamera {
    /// The source coordinates and the weights as they were rendered.
    pub planes: CameraPlanes,
    /// The size of the camera's picture in pixels.
    pub size: UVec2,
    /// The part of the grid that the pyramid covers.
    pub part: CameraPart,
}

/// A camera with the weights with which the panorama was stitched.
#[derive(Clone, Copy, Debug, KernelArg)]
pub struct WeightedCamera {
    /// The part of the grid that the pyramid covers.
    pub part: CameraPart,
    /// The camera's weights in the panorama.
    pub weights: View<f32>,
}

/// A camera of the kernel that computes the first levels.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct SplitCamera {
    /// The part of the grid that the pyramid covers.
    pub part: CameraPart,
    /// The colour correction of the camera.
    pub colour: Colour,
    /// The vignette of the camera.
    pub vignette: Vignette,
    /// A constant that is added to the camera's colours (0 to 1) before the power.
    pub offset: Vec3,
    /// If not 0, the power of the colour correction is computed in f32 arithmetic instead of the special function unit.
    pub exact: u32,
    /// The conversion of NV12 samples of the picture to R'G'B' levels; unused for RGBA.
    pub decode: YuvToRgb,
}

/// Parameters for the change of the panorama.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct ApplyParams {
    /// See [`StitchParams::flip`](crate::stitch::StitchParams::flip).
    pub flip: u32,
    /// For each axis, 1 if the pixels that share a chroma sample start at odd positions, because the panorama is
    /// flipped and has an odd side, and otherwise 0.
    pub odd: UVec2,
    /// The conversion of an NV12 panorama to R'G'B' levels; unused for RGBA.
    pub decode: YuvToRgb,
    /// The conversion of R'G'B' levels to NV12; unused for RGBA.
    pub encode: RgbToYuv,
}
