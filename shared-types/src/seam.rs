//! Shared by the seam kernels and the host: the grid of cells over the overlap, costs and weights.
//!
//! Costs are integers, [`PER_LEVEL`] units per level of 0 to 255, so that sums do not depend on their order.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;
use glam::UVec2;

use crate::stitch::Colour;
use crate::yuv::YuvToRgb;

/// Threads per block in x and y for kernels over cells and pixels.
pub const BLOCK: [u32; 2] = [32, 8];

/// Threads per block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The maximum number of positions where a seam can cross a row of cells, which is one more than the cells. Also the
/// threads per block of the path search.
pub const PLACES: u32 = 512;

/// The maximum number of cells that a seam moves from one row of cells to the next.
pub const STEP: u32 = 4;

/// Cost units per level.
pub const PER_LEVEL: u32 = 8;

/// The difference in levels that is attributed to noise.
pub const NOISE: f32 = 2.0;

/// The difference in levels above which the cost stays the same.
pub const LARGEST: f32 = 512.0;

/// The cost of a cell where both cameras agree. It keeps the seam short.
pub const BASE: u32 = 4 * PER_LEVEL;

/// The additional cost of a cell at the edge of a picture, where there is no room for feathering.
pub const MARGIN: u32 = 32 * PER_LEVEL;

/// The maximum additional cost of a cell away from the middle of the overlap, reached at a picture's edge. Of equally
/// good lines, one in the middle wins.
pub const ASIDE: u32 = PER_LEVEL;

/// The additional cost of a cell that shows one camera next to a cell that only the other one sees. The picture's edge
/// would be visible there.
pub const BREACH: u32 = 64 * PER_LEVEL;

/// The maximum cost of a row of cells, without moves to the side. Sums over 32,768 rows do not overflow.
pub const MOST: u32 = 1 << 16;

/// A camera is clear of its picture's edge where its share times this is at least 1. The share is the smaller of two
/// ratios: its weight to the sum of both weights, and its distance from its picture's edge to the sum of both
/// distances. It is 0 at the edge and 1/2 in the middle of the overlap.
pub const FREEDOM: f32 = 16.0;

/// The cost per cell of distance between a path and the current one, up to [`BIAS_CELLS`].
pub const BIAS: u32 = 2;

/// The distance in cells from the current path above which the cost stays the same.
pub const BIAS_CELLS: u32 = 8;

/// Flags of a cell; the bits above them hold its additional cost near a picture's edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sees;

impl Sees {
    /// Only the near camera sees some pixel.
    pub const NEAR: u32 = 1;
    /// Only the far camera sees some pixel.
    pub const FAR: u32 = 2;
    /// Both cameras see some pixel; the seam decides which camera it shows.
    pub const BOTH: u32 = 4;
    /// The shift of the cost.
    pub const COST: u32 = 8;
}

/// The grid of square cells over the overlap's bounding box.
///
/// A seam crosses each row of cells once. *Along* the seam means from row to row; *across* it means from cell to cell
/// in a row. The *near* camera is shown before the seam, the *far* camera after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct SeamGrid {
    /// The first panorama pixel.
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
    /// Returns the number of cells across and along the seam.
    #[must_use]
    pub fn cells(&self) -> UVec2 {
        let size = self.max.saturating_sub(self.min);
        let cells = UVec2::new(size.x.div_ceil(self.cell), size.y.div_ceil(self.cell));
        if self.transposed != 0 { UVec2::new(cells.y, cells.x) } else { cells }
    }
}

/// Parameters of the comparison between pictures.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct SeamLook {
    /// Colour of the left camera.
    pub left: Colour,
    /// Colour of the right camera.
    pub right: Colour,
    /// Conversion of NV12 pictures.
    pub decode: YuvToRgb,
}

/// The costs that a path search found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SeamCosts {
    /// The cost of the best path. No cost here includes [`BIAS`].
    pub best: u32,
    /// The part of `best` that [`BREACH`]es cause.
    pub breaches: u32,
    /// The cost of the current path in the same pictures.
    pub current: u32,
}

/// Parameters of the conversion from paths to weights.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct SeamBlend {
    /// The width in pixels of the transition between cameras.
    pub feather: f32,
    /// The progress of the fade from the previous weights to the new path, 0 to 1.
    pub part: f32,
    /// If 0, the previous weights are those of the warp; otherwise, those of the previous path.
    pub from_path: u32,
}
