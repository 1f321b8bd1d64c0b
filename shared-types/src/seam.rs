//! What the seam kernels share with their host: the grid of cells over the overlap, costs, and weights.
//!
//! Costs are whole numbers, [`PER_LEVEL`] to a level of 0 to 255, so that sums do not depend on their
//! order.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;
use glam::UVec2;

use crate::stitch::Colour;
use crate::yuv::YuvToRgb;

/// Threads of a block in x and y of the kernels over cells and pixels.
pub const BLOCK: [u32; 2] = [32, 8];

/// Threads of a block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// Places at which a seam can cross a row of cells, one more than cells: threads of the block that
/// searches the path.
pub const PLACES: u32 = 512;

/// Cells by which a seam can move from one row of cells to the next.
pub const STEP: u32 = 4;

/// Cost units of a level.
pub const PER_LEVEL: u32 = 8;

/// Levels of difference that are taken to be noise.
pub const NOISE: f32 = 2.0;

/// Beyond so many levels all differences are alike.
pub const LARGEST: f32 = 512.0;

/// What a cell costs where both cameras show the same: keeps the seam short.
pub const BASE: u32 = 4 * PER_LEVEL;

/// What a cell costs more at the edge of a picture, where there is no room for feathering.
pub const MARGIN: u32 = 32 * PER_LEVEL;

/// What a cell costs more beside the overlap's middle, up to this at a picture's edge: of lines that are as good,
/// one in the middle.
pub const ASIDE: u32 = PER_LEVEL;

/// What a cell costs that shows one camera beside a cell that only the other one sees: there the picture's
/// edge would be seen.
pub const BREACH: u32 = 64 * PER_LEVEL;

/// Most that a row of cells costs, moves aside: sums of 32,768 rows do not overflow.
pub const MOST: u32 = 1 << 16;

/// A camera is free of its picture's edge where this times its share is 1 or more. Its share is 0 at the edge
/// and half in the middle of the overlap: the smaller of its weight's part in the sum of both, and its
/// distance's from its picture's edge.
pub const FREEDOM: f32 = 16.0;

/// Cost of a cell by which a path is away from the current one, up to [`BIAS_CELLS`].
pub const BIAS: u32 = 2;

/// Beyond so many cells away from the current path all are alike.
pub const BIAS_CELLS: u32 = 8;

/// Bits of a cell, below its cost at the picture's edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sees;

impl Sees {
    /// Some pixel is seen by the near camera alone.
    pub const NEAR: u32 = 1;
    /// Some pixel is seen by the far camera alone.
    pub const FAR: u32 = 2;
    /// Some pixel is seen by both: the seam says who is shown.
    pub const BOTH: u32 = 4;
    /// How far the cost is shifted.
    pub const COST: u32 = 8;
}

/// The grid of square cells over the overlap's box.
///
/// A seam crosses each row of cells once. *Along* the seam is from one row to the next, *across* it is from
/// cell to cell in a row; *near* is the camera shown before the seam, *far* the one after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct SeamGrid {
    /// First panorama pixel.
    pub min: UVec2,
    /// The pixel after the last.
    pub max: UVec2,
    /// Pixels along each side of a cell.
    pub cell: u32,
    /// If not 0, rows of cells run from top to bottom, and seams from left to right.
    pub transposed: u32,
    /// If not 0, the near camera is the right one.
    pub swapped: u32,
    /// Keeps the layout free of hidden padding.
    pub reserved: u32,
}

impl SeamGrid {
    /// Cells across and along.
    #[must_use]
    pub fn cells(&self) -> UVec2 {
        let size = self.max.saturating_sub(self.min);
        let cells = UVec2::new(size.x.div_ceil(self.cell), size.y.div_ceil(self.cell));
        if self.transposed != 0 { UVec2::new(cells.y, cells.x) } else { cells }
    }
}

/// How the cameras' pictures are compared.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct SeamLook {
    /// Colour of the left camera.
    pub left: Colour,
    /// Colour of the right camera.
    pub right: Colour,
    /// For pictures in NV12.
    pub decode: YuvToRgb,
}

/// What a search for a path found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SeamCosts {
    /// Cost of the best path; without [`BIAS`], as all.
    pub best: u32,
    /// The part of it for [`BREACH`]es.
    pub breaches: u32,
    /// Cost of the current path in the same pictures.
    pub current: u32,
}

/// How paths become weights.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct SeamBlend {
    /// Pixels over which one camera fades into the other.
    pub feather: f32,
    /// How far the fade from the former weights to the new path is, 0 to 1.
    pub part: f32,
    /// If 0, the former weights are the warp's, otherwise those of the former path.
    pub from_path: u32,
}
