//! Kernels with known memory traffic, to compare the simulator's profile with a GPU's counters.
//!
//! A profile counts the accesses in the source, so the kernels are written in a way that the
//! compiler can neither merge nor remove an access: strides and loop bounds are arguments, no two
//! accesses have neighbouring addresses of known alignment, and every loaded value is used.

use cuda_std::prelude::*;

/// The side of a tile in elements, and the number of threads of a block along x.
pub const TILE: u32 = 32;

/// The number of threads of a block along y, in the kernels that transpose.
pub const ROWS: u32 = 8;

/// Transposes a square matrix without shared memory: loads are coalesced, stores are not.
///
/// # Safety
/// `input` and `out` must have `n * n` elements. The grid must cover the matrix with blocks of
/// [`TILE`] by [`ROWS`] threads, each for a tile, without threads outside the matrix.
#[kernel(dims(2))]
pub unsafe fn transpose_naive(input: Slice<f32>, out: SliceMut<f32>, n: u32) {
    let (x, first) = tile_position();
    for row in (first..first + TILE).step_by(ROWS as usize) {
        // SAFETY: the caller guarantees that the indices are in bounds. No two threads write the
        // same element.
        unsafe { out.store(x * n + row, input.load(row * n + x)) };
    }
}

/// Returns the column of the thread, and the first of its rows.
#[inline(always)]
fn tile_position() -> (u32, u32) {
    let (block, at) = (thread::block_idx(), thread::thread_idx());
    (block.x * TILE + at.x, block.y * TILE + at.y)
}

/// Transposes through a tile in shared memory: the columns of the tile conflict.
///
/// # Safety
/// The requirements are those of [`transpose_naive`].
#[kernel(dims(2))]
pub unsafe fn transpose_tile(input: Slice<f32>, out: SliceMut<f32>, n: u32) {
    // SAFETY: the requirements are the same.
    unsafe { transpose::<{ TILE }>(input, out, n) };
}

/// Transposes through a tile whose rows have one more element: nothing conflicts.
///
/// # Safety
/// The requirements are those of [`transpose_naive`].
#[kernel(dims(2))]
pub unsafe fn transpose_padded(input: Slice<f32>, out: SliceMut<f32>, n: u32) {
    // SAFETY: the requirements are the same.
    unsafe { transpose::<{ TILE + 1 }>(input, out, n) };
}

/// Transposes through a tile whose rows are `PITCH` elements apart.
///
/// # Safety
/// The requirements are those of [`transpose_naive`].
#[inline(always)]
unsafe fn transpose<const PITCH: u32>(input: Slice<f32>, out: SliceMut<f32>, n: u32) {
    // The last row of a padded tile needs no padding, but the length is simpler with it.
    let tile = shared_array![f32; (TILE * (TILE + 1)) as usize];
    let (block, at) = (thread::block_idx(), thread::thread_idx());
    let (x, first) = tile_position();
    for step in (0..TILE).step_by(ROWS as usize) {
        // SAFETY: the caller guarantees that the indices are in bounds.
        unsafe {
            let value = input.load((first + step) * n + x);
            tile.store((at.y + step) * PITCH + at.x, value);
        }
    }
    thread::sync_threads();
    let column = block.y * TILE + at.x;
    for step in (0..TILE).step_by(ROWS as usize) {
        let row = block.x * TILE + at.y + step;
        // SAFETY: as above. The barrier separates the stores and loads of the tile.
        unsafe {
            let value = tile.load(at.x * PITCH + at.y + step);
            out.store(row * n + column, value);
        }
    }
}

/// Multiplies square matrices with tiles of 16 by 16 elements in shared memory. Both tiles are
/// read along columns, so that the compiler cannot merge loads.
///
/// # Safety
/// The matrices must have `n * n` elements. The grid must cover `out` with blocks of 16 by 16
/// threads, without threads outside the matrix.
#[kernel(dims(2))]
pub unsafe fn matmul_tiles(a: Slice<f32>, b: Slice<f32>, out: SliceMut<f32>, n: u32) {
    const SIDE: u32 = 16;
    let tile_a = shared_array![f32; (SIDE * SIDE) as usize];
    let tile_b = shared_array![f32; (SIDE * SIDE) as usize];
    let (block, at) = (thread::block_idx(), thread::thread_idx());
    let (x, y) = (block.x * SIDE + at.x, block.y * SIDE + at.y);
    let mut sum = 0.0;
    for first in (0..n).step_by(SIDE as usize) {
        // SAFETY: the caller guarantees that the indices are in bounds. Barriers separate the
        // stores and loads of the tiles.
        unsafe {
            tile_a.store(at.x * SIDE + at.y, a.load(y * n + first + at.x));
            tile_b.store(at.y * SIDE + at.x, b.load((first + at.y) * n + x));
        }
        thread::sync_threads();
        for k in 0..SIDE {
            // SAFETY: as above.
            sum += unsafe { tile_a.load(k * SIDE + at.y) * tile_b.load(k * SIDE + at.x) };
        }
        thread::sync_threads();
    }
    // SAFETY: as above. Each thread stores its own element.
    unsafe { out.store(y * n + x, sum) };
}

/// Adds the weight of each value to its bin, first in shared and then in global memory.
///
/// # Safety
/// - `values` and `weights` must have the same length, and the values must be less than 64.
/// - `bins` must have 64 elements, and a block at least 64 threads.
#[kernel(dims(1))]
pub unsafe fn histogram_weights(values: Slice<u32>, weights: Slice<u32>, bins: SliceMut<u32>) {
    const BINS: u32 = 64;
    let own = shared_array![u32; BINS as usize];
    let (rank, stride) = (thread::thread_idx().x, thread::block_dim().x * thread::grid_dim().x);
    if rank < BINS {
        // SAFETY: `rank` was just checked.
        unsafe { own.store(rank, 0) };
    }
    thread::sync_threads();
    let mut i = thread::index_1d();
    while i < values.len() {
        // SAFETY: `i` was just checked, and the caller guarantees that the bin exists.
        unsafe { own.atomic_add(values.load(i), weights.load(i)) };
        i += stride;
    }
    thread::sync_threads();
    if rank < BINS {
        // SAFETY: the caller guarantees that the bin exists. All accesses are atomic.
        unsafe { atomic::AtomicAdd::atomic_add(bins.atomic(rank), own.load(rank)) };
    }
}

/// Adds the components of each point. The points are an array of structures of 12 bytes, which takes
/// three loads of 4 bytes with a stride of 12.
///
/// # Safety
/// `sums` must have as many elements as `points`.
#[kernel(dims(1))]
pub unsafe fn sum_points(points: Slice<[f32; 3]>, sums: SliceMut<f32>) {
    let i = thread::index_1d();
    if i < points.len() {
        // SAFETY: `i` was just checked, and the caller guarantees that the sum exists.
        unsafe {
            let [x, y, z] = points.load(i);
            sums.store(i, x + y + z);
        }
    }
}

/// Adds each inner element of an image and its four neighbours. Rows of blocks overlap the edge,
/// where some lanes are inactive.
///
/// # Safety
/// `input` and `out` must have `width * height` elements.
#[kernel(dims(2))]
pub unsafe fn stencil(input: Slice<f32>, out: SliceMut<f32>, width: u32, height: u32) {
    let (block, dim) = (thread::block_idx(), thread::block_dim());
    let at = thread::thread_idx();
    let (x, y) = (block.x * dim.x + at.x, block.y * dim.y + at.y);
    if x == 0 || y == 0 || x + 1 >= width || y + 1 >= height {
        return;
    }
    let i = y * width + x;
    // SAFETY: the element is not at the edge, so its neighbours exist.
    unsafe {
        let row = input.load(i - 1) + input.load(i) + input.load(i + 1);
        out.store(i, row + input.load(i - width) + input.load(i + width));
    }
}

/// Adds the elements of each block in a tree whose active threads are far apart: accesses conflict,
/// and most lanes are inactive. `first` is the distance of the first step.
///
/// # Safety
/// - A block must have 256 threads, and `input` as many elements as there are threads.
/// - `first` must be 1, and `sums` must have an element for each block.
#[kernel(dims(1))]
pub unsafe fn reduce_strided(input: Slice<f32>, sums: SliceMut<f32>, first: u32) {
    const THREADS: u32 = 256;
    let values = shared_array![f32; THREADS as usize];
    let rank = thread::thread_idx().x;
    // SAFETY: the caller guarantees that the element exists.
    unsafe { values.store(rank, input.load(thread::index_1d())) };
    thread::sync_threads();
    let mut step = first;
    while step < THREADS {
        let i = 2 * step * rank;
        if i < THREADS {
            // SAFETY: `i` was just checked, and `i + step` is less than the next multiple. Barriers
            // separate the steps.
            unsafe { values.store(i, values.load(i) + values.load(i + step)) };
        }
        thread::sync_threads();
        step *= 2;
    }
    if rank == 0 {
        // SAFETY: the caller guarantees that the element exists.
        unsafe { sums.store(thread::block_idx().x, values.load(0)) };
    }
}

/// Multiplies a sparse matrix with a vector. Each thread computes whole rows, whose lengths differ,
/// so that lanes leave the inner loop at different times. `step` is 1.
///
/// # Safety
/// - `starts` must contain the index of the first element of each row, and the number of elements.
/// - `columns` and `values` must have that many elements, and the columns must be in `x`.
/// - `sums` must have an element for each row.
#[kernel(dims(1))]
pub unsafe fn sparse_rows(
    starts: Slice<u32>,
    columns: Slice<u32>,
    values: Slice<f32>,
    x: Slice<f32>,
    sums: SliceMut<f32>,
    step: u32,
) {
    let stride = thread::block_dim().x * thread::grid_dim().x;
    let mut row = thread::index_1d();
    while row + 1 < starts.len() {
        // SAFETY: `row + 1` was just checked. The caller guarantees that the other indices exist.
        unsafe {
            let (mut k, end) = (starts.load(row), starts.load(row + 1));
            let mut sum = 0.0;
            while k < end {
                sum += values.load(k) * x.load(columns.load(k));
                k += step;
            }
            sums.store(row, sum);
        }
        row += stride;
    }
}

/// Adds the elements of rows whose lengths differ. Unlike in [`sparse_rows`], no access follows the
/// inner loop within the outer one.
///
/// # Safety
/// - `starts` and `values` must be as in [`sparse_rows`].
/// - `sums` must have an element for each thread.
#[kernel(dims(1))]
pub unsafe fn sum_rows(starts: Slice<u32>, values: Slice<f32>, sums: SliceMut<f32>, step: u32) {
    let stride = thread::block_dim().x * thread::grid_dim().x;
    let mut row = thread::index_1d();
    let mut sum = 0.0;
    while row + 1 < starts.len() {
        // SAFETY: `row + 1` was just checked. The caller guarantees that the other indices exist.
        unsafe {
            let (mut k, end) = (starts.load(row), starts.load(row + 1));
            while k < end {
                sum += values.load(k);
                k += step;
            }
        }
        row += stride;
    }
    // SAFETY: the caller guarantees that the element exists.
    unsafe { sums.store(thread::index_1d(), sum) };
}
