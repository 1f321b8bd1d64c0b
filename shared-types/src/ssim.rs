//! What the SSIM kernels share with their host: the window, the constants, the sums and the block shapes.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;

/// Taps of the window along either axis.
pub const WINDOW: u32 = 11;

/// The window along one axis: a Gaussian of σ 1.5 that sums to 1, up to its middle; it is symmetric.
/// (Wang, Bovik, Sheikh and Simoncelli, 2004.)
pub const TAPS: [f32; WINDOW as usize / 2 + 1] =
    [0.001_028_380_1, 0.007_598_758, 0.036_000_773, 0.109_360_69, 0.213_005_53, 0.266_011_72];

/// Pixels less than the pictures have, along either axis, for which the window lies inside.
pub const MARGIN: u32 = WINDOW - 1;

/// Threads of a block of the fused kernels, and the columns that it reads: as many warps for each scheduler of a
/// multiprocessor.
pub const BLOCK_THREADS: u32 = 256;

/// Blocks of the fused kernels that a multiprocessor works on at a time.
pub const BLOCKS: u32 = 2;

/// Rows that a block filters between two barriers.
pub const LINES: u32 = 4;

/// Neighbours in a row whose SSIM a thread makes.
pub const RUN: u32 = 4;

/// Threads for a row of a batch.
pub const ROW_THREADS: u32 = BLOCK_THREADS / LINES;

/// Columns of SSIM of a block.
pub const BLOCK_COLUMNS: u32 = (BLOCK_THREADS - MARGIN) / RUN * RUN;

const _: () = assert!(ROW_THREADS * RUN >= BLOCK_COLUMNS);

/// Threads of a block in x and y of the kernels in two passes.
pub const TWO_PASS_BLOCK: [u32; 2] = [16, 8];

/// Threads of such a block, for launch bounds.
pub const TWO_PASS_THREADS: u32 = TWO_PASS_BLOCK[0] * TWO_PASS_BLOCK[1];

/// What an SSIM of 1 is in [`Sums::ssim`]: sums of integers are the same in any order.
pub const ONE: f32 = (1 << 30) as f32;

/// What the kernels need to know about the levels, and how the work is divided.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct SsimParams {
    /// The middle of the levels. It is taken off first, since the variance of levels near 0 suffers less
    /// from rounding.
    pub middle: f32,
    /// (0.01 · L)², where L is the highest level.
    pub c1: f32,
    /// (0.03 · L)².
    pub c2: f32,
    /// Rows of SSIM that a block makes.
    pub rows: u32,
}

impl SsimParams {
    /// For levels of so many bits, and blocks of so many rows.
    #[must_use]
    pub fn new(bits: u32, rows: u32) -> Self {
        let highest = ((1_u64 << bits) - 1) as f64;
        Self {
            middle: (0.5 * (highest + 1.0)) as f32,
            c1: (1e-4 * highest * highest) as f32,
            c2: (9e-4 * highest * highest) as f32,
            rows,
        }
    }
}

/// Sums over a pair of pictures, each element a 64-bit integer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Sums {
    /// SSIM over the pixels whose window lies inside, where 1 is [`ONE`].
    pub ssim: i64,
    /// Squared differences of the levels over all pixels; of colour pictures, of their luma.
    pub squares: u64,
    /// Of colour pictures: squared differences of red, green and blue.
    pub colour_squares: u64,
}

/// Elements of [`Sums`] as a slice.
pub const SUMS: u32 = 3;

/// Elements of the running sums: those, and the blocks that are done.
pub const RUNNING: u32 = SUMS + 1;
