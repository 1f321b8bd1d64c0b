//! Types and constants that the kernel for the statistics of frames shares with the host: the samples of a picture, and their sums.

use bytemuck::{Pod, Zeroable};

/// The number of columns and rows of cells into which the kernel divides a picture. Each cell has one sample, at a
/// pseudo-random place inside the cell.
pub const CELLS: u32 = 64;

/// The number of samples of each picture.
pub const SAMPLES: u32 = CELLS * CELLS;

/// The number of threads per block. One block samples one picture.
pub const BLOCK_THREADS: u32 = 1024;

/// The weights of red, green and blue in the luma of an RGBA sample, in units of 1/256: those of BT.601, rounded. The
/// fourth byte of a sample has no weight.
pub const LUMA: [u8; 4] = [77, 150, 29, 0];

/// The sums over the samples of one picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct FrameStatistics {
    /// A checksum of the samples, modulo 2³². It is a sum, so it does not depend on the order of the samples. If exactly
    /// one sample changes, the checksum changes. If several change, it stays equal with a probability of 2⁻³².
    pub checksum: u32,
    /// The sum of the luma of all samples.
    pub sum: u32,
    /// The sum of the squared luma of all samples.
    pub squares: u32,
}

impl FrameStatistics {
    /// Returns the mean luma, from 0 to 255. For NV12, it is the mean of the stored values.
    #[must_use]
    pub fn mean(&self) -> f64 {
        f64::from(self.sum) / f64::from(SAMPLES)
    }

    /// Returns the variance of the luma.
    #[must_use]
    pub fn variance(&self) -> f64 {
        let mean = self.mean();
        (f64::from(self.squares) / f64::from(SAMPLES) - mean * mean).max(0.0)
    }
}
