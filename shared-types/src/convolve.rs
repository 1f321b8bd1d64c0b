//! Shared by the convolution kernels and the host: taps, tiles and block shape.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;

/// Threads per block in x and y.
pub const BLOCK: [u32; 2] = [32, 8];

/// Threads per block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// Outputs per block along a filtered axis.
pub const TILE: u32 = 64;

/// Adjacent outputs, in a row or a column, that a thread computes at a time. Divides [`TILE`].
pub const RUN: u32 = 16;

/// The maximum number of rows or columns that a block filters side by side in one of two passes.
pub const MAX_LINES: u32 = 64;

/// The maximum number of taps. The window of a wider filter does not fit into any picture.
pub const MAX_WIDTH: u32 = 16_383;

/// Capacity for taps in constant memory.
pub const CONSTANT_TAPS: u32 = 64;

/// The taps of a filter that is narrow enough for constant memory, as one launch argument.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct ConstantTaps {
    /// Taps in the order of the pixels that they multiply: the filter's last tap first.
    pub taps: [f32; CONSTANT_TAPS as usize],
    /// The number of taps in use; odd.
    pub width: u32,
}

/// Returns the stride between rows of a staged tile with `columns` elements per row. It is odd, so that 32 rows lie in
/// 32 banks.
#[must_use]
pub const fn pitch(columns: u32) -> u32 {
    columns | 1
}

/// Returns `outputs` plus the halo of a filter with `width` taps.
#[must_use]
pub const fn with_halo(outputs: u32, width: u32) -> u32 {
    outputs + width / 2 * 2
}

/// Returns the shared-memory elements of the row pass over `lines` rows.
#[must_use]
pub const fn row_pass_elements(width: u32, lines: u32) -> u32 {
    lines * (pitch(with_halo(TILE, width)) + pitch(TILE))
}

/// Returns the shared-memory elements of the column pass over `lines` columns.
#[must_use]
pub const fn column_pass_elements(width: u32, lines: u32) -> u32 {
    pitch(lines) * with_halo(TILE, width)
}

/// Returns the shared-memory elements of both passes in one launch: `horizontal` taps, then `vertical` taps.
#[must_use]
pub const fn fused_elements(horizontal: u32, vertical: u32) -> u32 {
    row_pass_elements(horizontal, with_halo(TILE, vertical))
}
