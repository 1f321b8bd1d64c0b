//! What the colour kernels share with their host: the overlap's pixels, the sums over them, and the
//! gamma table's layout.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;
use glam::{UVec2, Vec2, Vec3};

use crate::yuv::YuvToRgb;

/// Threads of a block in x and y of the kernels over the overlap. A thread takes a column of pixels.
pub const BLOCK: [u32; 2] = [32, 8];

/// Threads of a block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// Overlap pixels of a thread, [`BLOCK`]`[1]` rows apart.
pub const PIXELS_PER_THREAD: u32 = 8;

/// Rows of the overlap that a block covers.
pub const BLOCK_ROWS: u32 = BLOCK[1] * PIXELS_PER_THREAD;

/// Elements in which the blocks of a sum meet: one a thread, for the block that comes last.
pub const RUNNING_SUMS: u32 = BLOCK_THREADS;

/// A weight of 1 over the overlap: weights are added up as integers, in so many steps.
pub const WEIGHT_ONE: u32 = 65_535;

/// Both cameras count in the overlap only where each one's weight is over this.
pub const MIN_WEIGHT: f32 = 0.1;

/// A pixel counts only if every channel of both cameras is at most this: beyond, it may have been
/// cut off at 255.
pub const SATURATED: f32 = 247.0;

/// A pixel counts only if the luma of both cameras is at least this: below, noise and black offset
/// are larger than the light. It is 8, less what rounding may take of a Y'CbCr luma of 8.
pub const BLACK: f32 = 7.9995;

/// Weights of red, green and blue in luma, by BT.709.
pub const LUMA: Vec3 = Vec3::new(0.2126, 0.7152, 0.0722);

/// Where each camera sees a pixel of the overlap: the nearest pixel of its picture, of two the even
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(8))]
pub struct OverlapPixel {
    /// Column and row in the left picture.
    pub left: [u16; 2],
    /// Column and row in the right picture.
    pub right: [u16; 2],
}

impl OverlapPixel {
    /// Largest column or row: a bit less than there is room for.
    pub const MAX: u16 = 0x7fff;

    /// One of the cameras does not count. Without the bit that says so it is a pixel that every picture
    /// has: it may be loaded before it is known to count.
    pub const NONE: Self = Self { left: [!Self::MAX, 0], right: [0; 2] };
}

/// Which panorama pixels the overlap's box holds, as corners: the first pixel, and the one after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct OverlapBox {
    /// First column and row.
    pub min: UVec2,
    /// Column and row after the last.
    pub max: UVec2,
}

impl OverlapBox {
    /// Holds nothing: a start for the smallest and the largest.
    pub const EMPTY: Self = Self { min: UVec2::MAX, max: UVec2::ZERO };

    /// Whether there is no pixel in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.min.x >= self.max.x || self.min.y >= self.max.y
    }

    /// Columns and rows.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.max.saturating_sub(self.min)
    }
}

/// What the sums over the overlap need to know.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct SumParams {
    /// Middle of the band in columns of the overlap's box.
    pub centre: f32,
    /// 1 over half of the band's width in columns.
    pub per_column: f32,
    /// For pictures in NV12.
    pub decode: YuvToRgb,
}

/// The nine sums over the overlap: of each camera's levels 0 to 255, weighted by the place in the
/// band, and of the weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ColourSums {
    /// Red, green, blue and luma of the left camera.
    pub left: [f32; 4],
    /// Red, green, blue and luma of the right camera.
    pub right: [f32; 4],
    /// The weights.
    pub weight: f32,
}

/// Levels of a gamma table, one a possible input.
pub const TABLE_LEVELS: u32 = 256;

/// Elements of a gamma table: for each camera, for each channel, [`TABLE_LEVELS`].
pub const TABLE_LEN: u32 = 2 * 3 * TABLE_LEVELS;

/// An entry of the gamma table: the result from 0 to 1 at its level, and how much further it is at
/// the next.
pub type TableEntry = Vec2;

/// Threads of a block that builds the table.
pub const TABLE_BLOCK: u32 = 256;
