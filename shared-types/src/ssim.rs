//! Types and constants that the SSIM kernels share with the host: window, constants, sums and block shapes.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;

/// The number of taps of the Gaussian window along each axis.
pub const WINDOW: u32 = 11;

/// The first half of the window's taps along one axis, including the middle tap. The window is a symmetric Gaussian
/// with σ = 1.5 and a sum of 1 (Wang, Bovik, Sheikh and Simoncelli, 2004).
pub const TAPS: [f32; WINDOW as usize / 2 + 1] =
    [0.001_028_380_1, 0.007_598_758, 0.036_000_773, 0.109_360_69, 0.213_005_53, 0.266_011_72];

/// The difference between the size of the pictures and the size of the SSIM map along each axis. The map contains only
/// pixels whose window is inside the picture.
pub const MARGIN: u32 = WINDOW - 1;

/// The number of threads per block of the fused kernels, and of columns that a block reads. It is a multiple of four
/// warps, so that the four schedulers of a multiprocessor get equal work.
pub const BLOCK_THREADS: u32 = 256;

/// The number of blocks of a fused kernel that must fit on a multiprocessor at the same time.
pub const BLOCKS: u32 = 2;

/// The number of rows in a batch. A block filters one batch between two barriers.
pub const LINES: u32 = 4;

/// The number of adjacent SSIM values in a row that a thread computes per batch.
pub const RUN: u32 = 4;

/// The number of threads that filter one row of a batch horizontally.
pub const ROW_THREADS: u32 = BLOCK_THREADS / LINES;

/// The number of columns of SSIM values that a block computes.
pub const BLOCK_COLUMNS: u32 = (BLOCK_THREADS - MARGIN) / RUN * RUN;

const _: () = assert!(ROW_THREADS * RUN >= BLOCK_COLUMNS);

/// The fixed-point value of an SSIM of 1 in the sums. Integer sums do not depend on the order of additions.
pub const ONE: f32 = (1 << 30) as f32;

/// The parameters of the SSIM kernels: constants for the range of levels, and the division of work among blocks.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct SsimParams {
    /// The middle of the range of levels. The fused kernels subtract it from all levels first, because variances of
    /// values near 0 have smaller rounding errors.
    pub middle: f32,
    /// The constant C1 of SSIM: (0.01 · L)², where L is the highest level.
    pub c1: f32,
    /// The constant C2 of SSIM: (0.03 · L)², where L is the highest level.
    pub c2: f32,
    /// The number of rows of SSIM values that a block computes.
    pub rows: u32,
}

impl SsimParams {
    /// Returns the parameters for levels from 0 to `highest` and blocks of `rows` rows.
    #[must_use]
    pub fn new(highest: f64, rows: u32) -> Self {
        Self {
            middle: (0.5 * (highest + 1.0)) as f32,
            c1: (1e-4 * highest * highest) as f32,
            c2: (9e-4 * highest * highest) as f32,
            rows,
        }
    }
}

/// The number of sums over a pair of pictures, each a 64-bit integer:
///
/// 1. the SSIM of the pixels whose window is inside the pictures, in units of 1/[`ONE`], signed,
/// 2. the squared differences of the luma of all pixels,
/// 3. the squared differences of red, green and blue of all pixels; 0 unless the pictures have colours.
pub const SUMS: u32 = 3;

/// The number of elements in which the blocks of a launch accumulate: [`SUMS`] sums, and a counter of finished blocks.
pub const RUNNING: u32 = SUMS + 1;
