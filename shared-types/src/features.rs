//! Constants that the feature kernels share with the host: tiles of the eigenvalue kernel, and block shapes.

use crate::convolve::{pitch, with_halo};

/// The threads per block (x, y) of the feature kernels.
pub const BLOCK: [u32; 2] = crate::convolve::BLOCK;

/// The total number of threads per block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The number of columns of eigenvalues that a block computes.
pub const COLUMNS: u32 = 64;

/// The number of rows of eigenvalues that a block computes.
pub const ROWS: u32 = 32;

/// The number of adjacent eigenvalues, in a row or a column, that a thread computes at a time. It divides [`COLUMNS`]
/// and [`ROWS`].
pub const RUN: u32 = 8;

/// The maximum side in pixels of the square window over which gradients are summed.
pub const MAX_WINDOW: u32 = 31;

/// Returns the number of shared-memory elements that the eigenvalue kernel needs for a window of `window`×`window`
/// pixels. They contain both gradients with their halo, and the sums of three products over the rows of the windows.
#[must_use]
pub const fn eigenvalue_elements(window: u32) -> u32 {
    let rows = with_halo(ROWS, window);
    rows * (2 * pitch(with_halo(COLUMNS, window)) + 3 * pitch(COLUMNS))
}
