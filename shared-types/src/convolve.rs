//! What the convolution kernels share with their host: taps, tiles and block shape.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;

/// Threads of a block in x and y.
pub const BLOCK: [u32; 2] = [32, 8];

/// Threads of a block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// Outputs that a block makes along an axis that it filters.
pub const TILE: u32 = 64;

/// Outputs in a row, or below each other, that a thread makes at a time. It divides [`TILE`].
pub const RUN: u32 = 16;

/// Most rows, or columns, that a block filters side by side in one of two passes.
pub const MAX_LINES: u32 = 64;

/// Most taps of a filter: the window of a wider one fits into no picture.
pub const MAX_WIDTH: u32 = 16_383;

/// Room for taps in constant memory.
pub const CONSTANT_TAPS: u32 = 64;

/// Taps of a filter that is narrow enough for constant memory, as one argument of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct ConstantTaps {
    /// In the order in which they meet the picture: the last tap of the filter first.
    pub taps: [f32; CONSTANT_TAPS as usize],
    /// How many of them count; odd.
    pub width: u32,
}

/// Elements from one row of a staged tile to the next, for `columns` elements a row: odd, so that 32 rows
/// lie in 32 banks.
#[must_use]
pub const fn pitch(columns: u32) -> u32 {
    columns | 1
}

/// `outputs` and the halo of a filter of `width` taps.
#[must_use]
pub const fn with_halo(outputs: u32, width: u32) -> u32 {
    outputs + width / 2 * 2
}

/// Elements of shared memory of the pass along rows over `lines` rows.
#[must_use]
pub const fn row_pass_elements(width: u32, lines: u32) -> u32 {
    lines * (pitch(with_halo(TILE, width)) + pitch(TILE))
}

/// Elements of shared memory of the pass along columns over `lines` columns.
#[must_use]
pub const fn column_pass_elements(width: u32, lines: u32) -> u32 {
    pitch(lines) * with_halo(TILE, width)
}

/// Elements of shared memory of both passes in one launch: `horizontal` taps, then `vertical` ones.
#[must_use]
pub const fn fused_elements(horizontal: u32, vertical: u32) -> u32 {
    row_pass_elements(horizontal, with_halo(TILE, vertical))
}
