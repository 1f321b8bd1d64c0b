//! Kernels with asynchronous copies to shared memory.

use cuda_std::pipeline;
use cuda_std::prelude::*;

/// The number of threads per block.
pub const BLOCK: u32 = 64;

/// Defines a kernel that copies `input` in pieces of some bytes, one piece per thread.
macro_rules! copy {
    ($name:ident, $bytes:literal) => {
        #[doc = concat!("Copies ", stringify!($bytes), " bytes per thread from `input` to shared")]
        /// memory and from there to `out`, in reversed order. Elements beyond `input` become zero.
        #[kernel(dims(1), launch_bounds(BLOCK), block_multiple(BLOCK))]
        pub fn $name(input: Slice<u16>, out: SliceMut<u16>) {
            const COUNT: u32 = $bytes / 2;
            let tile = shared_array![u16; (BLOCK * COUNT) as usize];
            let t = thread::thread_idx_x();
            let at = thread::index_1d() * COUNT;
            let left = input.len().saturating_sub(at);
            // SAFETY: the elements exist, or `count` excludes them. Each thread copies to its own
            // elements of the tile, and a barrier precedes the loads by other threads. Each thread
            // writes its own elements of `out`.
            unsafe {
                if left >= COUNT {
                    input.memcpy_async::<$bytes>(at, tile, t * COUNT);
                } else {
                    input.memcpy_async_or_zero::<$bytes>(at, left, tile, t * COUNT);
                }
                pipeline::commit();
                pipeline::wait_prior::<0>();
                thread::sync_threads();
                for i in 0..COUNT {
                    if at + i < out.len() {
                        out.store(at + i, tile.load(BLOCK * COUNT - 1 - (t * COUNT + i)));
                    }
                }
            }
        }
    };
}

copy!(copy_4_bytes, 4);
copy!(copy_8_bytes, 8);
copy!(copy_16_bytes, 16);

/// Each thread sums the elements of its column of `input`, with copies of four rows in flight.
/// Columns beyond the image are zero.
#[kernel(dims(1), launch_bounds(BLOCK))]
pub fn sum_columns(input: View<f32>, out: SliceMut<f32>) {
    const STAGES: u32 = 4;
    let tile = shared_array![f32; (STAGES * BLOCK) as usize];
    let (t, column) = (thread::thread_idx_x(), thread::index_1d());
    let fetch = |row: u32| {
        if row < input.height() {
            let count = u32::from(column < input.width());
            // SAFETY: the element exists, or `count` is 0. Only this thread accesses its elements
            // of the tile.
            unsafe {
                let to = row % STAGES * BLOCK + t;
                input.memcpy_async_or_zero::<4>(column, row, count, tile, to);
            }
        }
        pipeline::commit();
    };
    for row in 0..STAGES - 1 {
        fetch(row);
    }
    let mut sum = 0.0;
    for row in 0..input.height() {
        fetch(row + STAGES - 1);
        pipeline::wait_prior::<{ STAGES as usize - 1 }>();
        // SAFETY: the copy has arrived, and only this thread accesses the element.
        sum += unsafe { tile.load(row % STAGES * BLOCK + t) };
    }
    out.set(thread::unique_1d(), sum);
}
