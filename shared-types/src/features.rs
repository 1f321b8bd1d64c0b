//! What the feature kernels share with their host: tiles of the eigenvalue kernel, and block shapes.

use crate::convolve::{pitch, with_halo};

/// Threads of a block in x and y.
pub const BLOCK: [u32; 2] = crate::convolve::BLOCK;

/// Threads of a block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// Columns of the eigenvalues that a block makes.
pub const COLUMNS: u32 = 64;

/// Rows of the eigenvalues that a block makes.
pub const ROWS: u32 = 32;

/// Eigenvalues in a row, or below each other, that a thread makes at a time. It divides both.
pub const RUN: u32 = 8;

/// Widest window over which gradients are summed up, in pixels.
pub const MAX_WINDOW: u32 = 31;

/// Elements of shared memory of the eigenvalue kernel with a window of `window` pixels a side: both gradients,
/// and three sums along rows.
#[must_use]
pub const fn eigenvalue_elements(window: u32) -> u32 {
    let rows = with_halo(ROWS, window);
    rows * (2 * pitch(with_halo(COLUMNS, window)) + 3 * pitch(COLUMNS))
}
