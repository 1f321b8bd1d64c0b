//! Types and constants that the colour kernels share with the host: pixels of the overlap, sums over them, and the
//! layout of the gamma table.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;
use glam::{UVec2, Vec2, Vec3};

use crate::yuv::YuvToRgb;

/// The threads per block (x, y) of the kernels that process the overlap. A thread processes a column of pixels.
pub const BLOCK: [u32; 2] = [32, 8];

/// The total number of threads per block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The number of overlap pixels that a thread processes. They are in one column, [`BLOCK`]`[1]` rows apart.
pub const PIXELS_PER_THREAD: u32 = 8;

/// The number of rows of the overlap that a block processes.
pub const BLOCK_ROWS: u32 = BLOCK[1] * PIXELS_PER_THREAD;

/// The number of 64-bit elements in which blocks accumulate their sums. It equals the number of threads per block,
/// because each thread of the block that finishes last reads one element.
pub const RUNNING_SUMS: u32 = BLOCK_THREADS;

/// The fixed-point value of a weight of 1. Weights over the overlap are summed as integers.
pub const WEIGHT_ONE: u32 = 65_535;

/// The minimum weight in the overlap of a warp of two cameras: a panorama pixel belongs to the overlap if the weights of
/// both cameras exceed it. In warps of more cameras, it is the minimum share of each camera in the weight of the pair.
pub const MIN_WEIGHT: f32 = 0.1;

/// The maximum level in the colour sums: a pixel contributes only if no channel of either camera exceeds it. Higher
/// levels may have been clipped at 255.
pub const SATURATED: f32 = 247.0;

/// The minimum luma in the colour sums: a pixel contributes only if both cameras have at least this luma. In darker
/// pixels, noise and the black offset of the camera exceed the signal. The value is 8, minus a margin for the rounding
/// of a Y'CbCr luma of 8.
pub const BLACK: f32 = 7.9995;

/// BT.709 luma weights of red, green and blue, as the specification of the colour sums requires. Gray in all other
/// analyses is BT.601 luma.
pub const LUMA: Vec3 = Vec3::new(0.2126, 0.7152, 0.0722);

/// The nearest source pixel of each camera for a pixel of the overlap. Coordinates halfway between two pixels are
/// rounded to even.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(8))]
pub struct OverlapPixel {
    /// The column and row of the source pixel in the left picture.
    pub left: [u16; 2],
    /// The column and row of the source pixel in the right picture.
    pub right: [u16; 2],
}

impl OverlapPixel {
    /// The largest column or row that can be stored. The top bit marks [`NONE`](Self::NONE).
    pub const MAX: u16 = 0x7fff;

    /// The value for a pixel to which one of the cameras does not contribute. Its top bit is the marker. The other bits
    /// refer to the first pixel of both pictures, so kernels may load this source pixel before they test the marker.
    pub const NONE: Self = Self { left: [!Self::MAX, 0], right: [0; 2] };
}

/// The overlap's bounding box in panorama pixels: the first pixel, and the pixel after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct OverlapBox {
    /// The column and row of the first pixel.
    pub min: UVec2,
    /// The column and row just after those of the last pixel.
    pub max: UVec2,
}

impl OverlapBox {
    /// The empty box. A search extends it to the minimum and maximum positions that it finds.
    pub const EMPTY: Self = Self { min: UVec2::MAX, max: UVec2::ZERO };

    /// Returns whether the box contains no pixels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.min.x >= self.max.x || self.min.y >= self.max.y
    }

    /// Returns whether the box contains a pixel.
    #[must_use]
    pub fn contains(&self, at: UVec2) -> bool {
        at.cmpge(self.min).all() && at.cmplt(self.max).all()
    }

    /// Returns the box of the pixels that both boxes contain, which may be empty.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self { min: self.min.max(other.min), max: self.max.min(other.max) }
    }

    /// Returns the numbers of columns and rows of the box.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.max.saturating_sub(self.min)
    }
}

/// The condition for a panorama pixel to belong to the overlap of two cameras. Both weights must exceed `weight` and
/// `share` times the sum of both weights.
///
/// Where three cameras meet, the weights of two of them can both be small, although these two are compared as well as
/// at any other pixel. Therefore warps of more than two cameras need the share instead of a fixed weight.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct OverlapRule {
    /// The weight that both cameras must exceed.
    pub weight: f32,
    /// The fraction of the sum of both weights that each weight must exceed.
    pub share: f32,
}

/// The parameters of the kernels that compute the colour sums over the overlap.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct SumParams {
    /// The column of the overlap's box with the largest weight. Weights fall to 0 on both sides of it.
    pub centre: f32,
    /// The reciprocal of the distance from `centre`, in columns, at which the weight is 0.
    pub per_column: f32,
    /// The conversion of the left camera's NV12 samples to R'G'B' levels; unused for RGBA pictures.
    pub left: YuvToRgb,
    /// The conversion of the right camera's NV12 samples to R'G'B' levels; unused for RGBA pictures.
    pub right: YuvToRgb,
    /// The element of the output that receives the sums.
    pub element: u32,
}

/// The nine sums over the overlap: four weighted sums of levels (0 to 255) for each camera, and the sum of the
/// weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ColourSums {
    /// The weighted sums of red, green, blue and luma of the left camera.
    pub left: [f32; 4],
    /// The weighted sums of red, green, blue and luma of the right camera.
    pub right: [f32; 4],
    /// The sum of the weights of all counted pixels.
    pub weight: f32,
}

/// The number of entries in the gamma table per camera and channel, one per 8-bit level.
pub const TABLE_LEVELS: u32 = 256;

/// The number of entries in a gamma table: [`TABLE_LEVELS`] for each channel of each camera.
pub const TABLE_LEN: u32 = 2 * 3 * TABLE_LEVELS;

/// An entry of the gamma table for one level: the corrected colour (0 to 1) at this level, and the difference from it
/// to the corrected colour at the next level.
pub type TableEntry = Vec2;

/// The number of threads per block of the kernel that builds the gamma table.
pub const TABLE_BLOCK: u32 = 256;
