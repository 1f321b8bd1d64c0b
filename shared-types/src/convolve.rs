//! Types and constants that the convolution kernels share with the host: taps, tiles and block shape.

use bytemuck::{Pod, Zeroable};
use cuda_std::KernelArg;

/// The threads per block (x, y) of the convolution kernels.
pub const BLOCK: [u32; 2] = [32, 8];

/// The total number of threads per block, for launch bounds.
pub const BLOCK_THREADS: u32 = BLOCK[0] * BLOCK[1];

/// The number of output pixels that a block computes along a filtered axis.
pub const TILE: u32 = 64;

/// The number of adjacent output pixels, in a row or a column, that a thread computes at a time. It divides [`TILE`].
pub const RUN: u32 = 16;

/// The maximum number of lines per block: rows in the pass along rows, and columns in the pass along columns.
pub const MAX_LINES: u32 = 64;

/// The maximum number of taps. The number of taps is odd, and a picture has at most 16,384 pixels per side, so a longer
/// filter would be wider than any picture.
pub const MAX_WIDTH: u32 = 16_383;

/// The number of elements in [`ConstantTaps::taps`].
pub const CONSTANT_TAPS: u32 = 64;

/// The taps of a filter that is short enough for constant memory. They are passed together as one launch argument.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, KernelArg)]
#[repr(C)]
pub struct ConstantTaps {
    /// The taps in the order of the pixels by which they are multiplied. This is the reverse order of the filter.
    pub taps: [f32; CONSTANT_TAPS as usize],
    /// The number of taps in use, which is odd.
    pub width: u32,
}

/// Returns the stride in elements between rows of a shared-memory tile with `columns` elements per row. The stride is
/// odd, so the elements of a column in 32 adjacent rows are in 32 different banks.
#[must_use]
pub const fn pitch(columns: u32) -> u32 {
    columns | 1
}

/// Returns the number of adjacent input pixels from which a filter with `width` taps computes `outputs` adjacent pixels.
#[must_use]
pub const fn with_halo(outputs: u32, width: u32) -> u32 {
    outputs + width / 2 * 2
}

/// Returns the number of shared-memory elements that the row pass needs for `width` taps and `lines` rows.
#[must_use]
pub const fn row_pass_elements(width: u32, lines: u32) -> u32 {
    lines * (pitch(with_halo(TILE, width)) + pitch(TILE))
}

/// Returns the number of shared-memory elements that the column pass needs for `width` taps and `lines` columns.
#[must_use]
pub const fn column_pass_elements(width: u32, lines: u32) -> u32 {
    pitch(lines) * with_halo(TILE, width)
}

/// Returns the number of shared-memory elements that both passes need in one launch, for filters of `horizontal` and
/// `vertical` taps.
#[must_use]
pub const fn fused_elements(horizontal: u32, vertical: u32) -> u32 {
    row_pass_elements(horizontal, with_halo(TILE, vertical))
}
