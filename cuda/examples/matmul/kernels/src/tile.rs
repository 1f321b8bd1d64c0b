//! The tiles of a product, and copies of parts of a matrix that may extend beyond it.

use bytemuck::Pod;
use cuda_std::prelude::*;
use cuda_std::{GpuHalf, bf16};

/// The number of rows of tiles that consecutive blocks compute together.
///
/// The blocks that run at the same time then need few rows of A and few columns of B, which stay in
/// the L2 cache.
const GROUP: u32 = 16;

/// Returns whether the sizes of the matrices match, and all rows are aligned to 16 bytes.
#[inline(always)]
pub(crate) fn can_multiply<T: Pod>(a: View<T>, b: View<T>, out: ViewMut<T>) -> bool {
    let sizes_match =
        a.width() == b.height() && out.height() == a.height() && out.width() == b.width();
    sizes_match && a.is_aligned(16) && b.is_aligned(16) && out.is_aligned(16)
}

/// Returns the first row and column of the tile of this block, or `None` if no tile is left.
///
/// Tiles are ordered by groups of [`GROUP`] rows of tiles, and within a group by columns.
#[inline(always)]
pub(crate) fn of_block<T: Pod, const ROWS: u32, const COLUMNS: u32>(
    out: ViewMut<T>,
) -> Option<(u32, u32)> {
    let (rows, columns) = (out.height().div_ceil(ROWS), out.width().div_ceil(COLUMNS));
    let block = thread::block_idx_x();
    let (group, within) = (block / (GROUP * columns), block % (GROUP * columns));
    let first = group * GROUP;
    if first >= rows {
        return None;
    }
    let height = GROUP.min(rows - first);
    let (row, column) = (first + within % height, within / height);
    (column < columns).then_some((row * ROWS, column * COLUMNS))
}

/// Starts a copy of 16 bytes to shared memory, from row `y` and column `x` on. If `WHOLE` is false,
/// elements outside the matrix become zero.
///
/// # Safety
/// - If `WHOLE` is true, the elements must exist.
/// - Rows must be aligned to 16 bytes, and `x` and `first` be multiples of the number of elements.
/// - The requirements of [`View::memcpy_async`] on the destination.
#[inline(always)]
pub(crate) unsafe fn copy<T: Pod, const WHOLE: bool>(
    from: View<T>,
    x: u32,
    y: u32,
    to: Shared<T>,
    first: u32,
) {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        if WHOLE {
            from.memcpy_async::<16>(x, y, to, first);
        } else {
            let rest = from.width().saturating_sub(x).min((16 / size_of::<T>()) as u32);
            let count = if y < from.height() { rest } else { 0 };
            from.memcpy_async_or_zero::<16>(x, y, count, to, first);
        }
    }
}

/// Writes two adjacent elements of a result, rounded. If `WHOLE` is false, elements outside the
/// matrix are skipped.
///
/// # Safety
/// - If `WHOLE` is true, the elements must exist. `x` must be even, and rows be aligned to 4 bytes.
/// - No other thread may access the elements.
#[inline(always)]
pub(crate) unsafe fn store_pair<const WHOLE: bool>(
    out: ViewMut<bf16>,
    x: u32,
    y: u32,
    [low, high]: [f32; 2],
) {
    let pair = bf16::narrow_pair(low, high);
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        if WHOLE || (y < out.height() && x + 1 < out.width()) {
            out.store_wide(x, y, bytemuck::cast::<_, u32>(pair));
        } else if y < out.height() && x < out.width() {
            out.store(x, y, pair[0]);
        }
    }
}
