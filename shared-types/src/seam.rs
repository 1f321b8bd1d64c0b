//! Types and constants that the seam kernels share with the host: the grid of cells over the overlap, costs and
//! weights.
//!
//! Costs are integers, so their sums do not depend on the order of additions. A difference of one level (of
//! 0 to 255) costs [`PER_LEVEL`] units.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;
use glam::UVec2;

use crate::stitch::Colour;
use crate::yuv::YuvToRgb;

/// The threads per block (x, y) of the kernels that process cells or pixels.
pub const BLOCK: [u32; 2] = [32, 8];

/// The total number of threads per block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The maximum number of positions at which a seam can cross a row of cells: one before each cell, and one after the
/// last. The path search uses one thread per position, so this is also the number of threads per block of the search.
pub const PLACES: u32 = 512;

/// The maximum number of cells by which a seam moves sideways from one row of cells to the next.
pub const STEP: u32 = 4;

/// The cost, in units, of a difference of one level between both cameras.
pub const PER_LEVEL: u32 = 8;

/// The difference between both cameras, in levels, that is attributed to noise and costs nothing.
pub const NOISE: f32 = 2.0;

/// The largest difference in levels, after subtraction of [`NOISE`], that increases the cost.
pub const LARGEST: f32 = 512.0;

/// The change in levels of a cell between two searches that is attributed to noise and costs nothing.
pub const STILL: f32 = 3.0;

/// The factor by which the change of a cell that is at rest again falls from search to search.
pub const MOTION_DECAY: f32 = 0.8;

/// The cost of a cell in which both cameras agree. It is not 0, so that the search prefers short seams.
pub const BASE: u32 = 4 * PER_LEVEL;

/// The maximum additional cost of a cell near the edge of a picture, where there is no room for feathering. A cell at
/// the edge has this cost.
pub const MARGIN: u32 = 32 * PER_LEVEL;

/// The maximum additional cost of a cell for its distance from the middle of the overlap. A cell at the edge of a
/// picture has this cost. Among otherwise equal paths, the search therefore prefers the one in the middle.
pub const ASIDE: u32 = PER_LEVEL;

/// The additional cost where a cell shows one camera next to a cell that only the other camera sees. The picture's
/// edge would be visible there.
pub const BREACH: u32 = 64 * PER_LEVEL;

/// The maximum cost of a row of cells, excluding sideways moves. With this limit, the sum over 32,768 rows fits into 32
/// bits.
pub const MOST: u32 = 1 << 16;

/// The factor that converts a camera's share at a pixel to its freedom. The freedom is the upper limit of the camera's
/// weight in a seam, and at most 1. Where the freedom is 1, the edge of the camera's picture does not limit the weight.
///
/// The share is the smaller of two fractions: the camera's fraction of the sum of both weights, and its fraction of the
/// sum of both distances to the picture edges. It is 0 at the edge of the camera's picture, and 1/2 in the middle of
/// the overlap.
pub const FREEDOM: f32 = 16.0;

/// The additional cost of a path, in each row, for each cell of distance from the current path, up to [`BIAS_CELLS`]
/// cells. So the search prefers paths near the current one.
pub const BIAS: u32 = 2;

/// The distance in cells from the current path above which [`BIAS`] adds no further cost.
pub const BIAS_CELLS: u32 = 8;

/// The flags that say which cameras see a cell, in the low bits of a `u32`. The bits from [`COST`](Self::COST) on
/// contain the cell's additional costs ([`MARGIN`] and [`ASIDE`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sees;

impl Sees {
    /// The flag of a cell with a pixel that only the near camera sees.
    pub const NEAR: u32 = 1;
    /// The flag of a cell with a pixel that only the far camera sees.
    pub const FAR: u32 = 2;
    /// The flag of a cell with a pixel that both cameras see. The seam decides which camera such a cell shows.
    pub const BOTH: u32 = 4;
    /// The index of the lowest bit of the additional costs.
    pub const COST: u32 = 8;
}

/// The grid of square cells over the overlap's bounding box.
///
/// A seam crosses each row of cells once. *Along* the seam means from row to row; *across* it means from cell to cell
/// in a row. The *near* camera is shown before the seam, the *far* camera after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct SeamGrid {
    /// The column and row of the first panorama pixel in the box.
    pub min: UVec2,
    /// The column and row just after those of the last panorama pixel in the box.
    pub max: UVec2,
    /// The side of a cell in pixels.
    pub cell: u32,
    /// If not 0, the grid is transposed: a row of cells runs from the top to the bottom of the panorama, and a seam
    /// from left to right.
    pub transposed: u32,
    /// If not 0, the near camera is the right one.
    pub swapped: u32,
    /// An unused field that fills the struct, so that its layout has no hidden padding.
    pub reserved: u32,
}

impl SeamGrid {
    /// Returns the number of cells across the seam (x) and along the seam (y).
    #[must_use]
    pub fn cells(&self) -> UVec2 {
        let size = self.max.saturating_sub(self.min);
        let cells = UVec2::new(size.x.div_ceil(self.cell), size.y.div_ceil(self.cell));
        if self.transposed != 0 { UVec2::new(cells.y, cells.x) } else { cells }
    }
}

/// The parameters with which the seam kernels compare the pictures of both cameras.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct SeamLook {
    /// The colour correction of the left camera.
    pub left: Colour,
    /// The colour correction of the right camera.
    pub right: Colour,
    /// The conversion of NV12 samples to R'G'B' levels; unused for RGBA pictures.
    pub decode: YuvToRgb,
}

/// The costs that a path search found, without the costs for [`BIAS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SeamCosts {
    /// The cost of the best path that was found.
    pub best: u32,
    /// The part of `best` that is due to [`BREACH`].
    pub breaches: u32,
    /// The cost of the current path for the same pair of pictures as the best path.
    pub current: u32,
}

/// The parameters of the conversion from seam paths to weights.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct SeamBlend {
    /// The width in pixels of the transition between cameras.
    pub feather: f32,
    /// The progress of the fade from the previous weights to the weights of the new path, 0 to 1.
    pub part: f32,
    /// If 0, the fade starts from the weights of the warp. If it is [`NO_PATH`](Self::NO_PATH), there is no path, so the
    /// weights are those of the warp. Otherwise, the fade starts from the weights of the previous path.
    pub from_path: u32,
}

impl SeamBlend {
    /// The value of [`from_path`](Self::from_path) for a pair of cameras without a path.
    pub const NO_PATH: u32 = 2;
}
