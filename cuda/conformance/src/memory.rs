//! Kernels that read constant memory, and kernels that load and store elements of every width.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

use crate::{block_threads, global_rank};

/// A type of 16 bytes that the GPU loads in one access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Quad(pub [f32; 4]);

/// A type of 4 bytes that the GPU loads in one access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(4))]
pub struct Pixel(pub [u8; 4]);

/// A type of 12 bytes. The GPU has no access of this width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Odd {
    /// The first four bytes, an integer.
    pub a: u32,
    /// The second four bytes, a float.
    pub b: f32,
    /// The last four bytes, an array.
    pub c: [u16; 2],
}

constant! {
    /// Coefficients that all threads read from constant memory, in the same order.
    pub static TAPS: [f32; 64];
}

constant! {
    /// Elements of 16 bytes, which a kernel reads in one access.
    pub static QUADS: [Quad; 4];
}

/// Each thread writes the element of [`TAPS`] at its index to `out`.
#[kernel]
pub fn taps(out: SliceMut<f32>) {
    let at = global_rank();
    if at < out.len() && at < TAPS::LEN {
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe { out.store(at, TAPS::load(at)) };
    }
}

/// Thread `i` writes the sum of `TAPS[k]·input[i + k]` over all `k` that are in bounds.
#[kernel]
pub fn filter(input: Slice<f32>, out: SliceMut<f32>) {
    let at = global_rank();
    if at >= out.len() {
        return;
    }
    let mut sum = 0.0;
    let mut k = 0;
    while k < TAPS::LEN && at + k < input.len() {
        // SAFETY: `k` and `at + k` are in bounds, as the loop condition checks.
        sum += unsafe { TAPS::load(k) * input.load(at + k) };
        k += 1;
    }
    // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
    unsafe { out.store(at, sum) };
}

/// Each thread writes the element of [`QUADS`] at its index to `out`.
#[kernel]
pub fn quads(out: SliceMut<Quad>) {
    let at = global_rank();
    if at < out.len() && at < QUADS::LEN {
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe { out.store(at, QUADS::load(at)) };
    }
}

/// Each thread takes the tail of `input` that starts at the thread's index, and writes the second
/// element of this tail. It also prefetches an element that may not exist.
#[kernel]
pub fn seconds(input: Slice<u16>, out: SliceMut<u16>) {
    let at = global_rank();
    input.prefetch(at + 3);
    if at < out.len() && at + 1 < input.len() {
        // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
        unsafe { out.store(at, input.tail(at).load(1)) };
    }
}

/// Copies an image of bytes in groups of four, if the rows of both images are aligned to 4 bytes.
/// Skips an incomplete group at the end of a row. Prefetches elements that may not exist.
#[kernel(launch_bounds(256))]
pub fn copy_fours(input: View<u8>, out: ViewMut<u8>) {
    let at = thread::index_2d();
    let last = 4 * at.x + 3;
    input.prefetch(last, at.y + 1);
    let aligned = input.is_aligned(4) && out.is_aligned(4);
    if aligned && input.contains(last, at.y) && out.contains(last, at.y) {
        // SAFETY: the four elements are in bounds of both images and aligned, as checked above.
        // Each thread writes its own four elements.
        unsafe { out.store_wide(4 * at.x, at.y, input.load_wide::<u32>(4 * at.x, at.y)) };
    }
}

/// Copies elements in groups of four, each group reversed, if both slices are aligned to 16 bytes.
/// Skips an incomplete group at the end.
#[kernel]
pub fn reverse_fours(input: Slice<f32>, out: SliceMut<f32>) {
    let at = global_rank();
    let groups = input.len().min(out.len()) / 4;
    if at < groups && input.is_aligned(16) && out.is_aligned(16) {
        // SAFETY: the four elements are in bounds and aligned. Each thread writes its own elements.
        unsafe {
            let Quad([a, b, c, d]) = input.load_wide(4 * at);
            out.store_wide(4 * at, Quad([d, c, b, a]));
        }
    }
}

/// Each thread copies one column from the diagonal down: thread `x` starts in column `x`, row `x`.
#[kernel]
pub fn copy_columns(input: View<u16>, out: ViewMut<u16>) {
    let x = global_rank();
    let mut y = 0;
    if x < input.width() && x < input.height() {
        // SAFETY: the pixel `(x, x)` is in bounds of `input`, as checked above.
        let column = unsafe { input.column(x, x) };
        while out.contains(x, x + y) && x + y < input.height() {
            // SAFETY: `(x, x + y)` was just checked, and each thread writes its own column.
            unsafe { out.store(x, x + y, column.load(y)) };
            y += 1;
        }
    }
}

/// Defines three kernels for one element type: a copy with read-only loads, a mirrored copy of an
/// image, and a reversal within each block through shared memory.
macro_rules! element {
    ($copy:ident, $copy_view:ident, $share:ident, $type:ty) => {
        #[doc = concat!("Copies elements of `", stringify!($type), "`.")]
        #[kernel]
        pub fn $copy(input: Slice<$type>, out: SliceMut<$type>) {
            let at = global_rank();
            if at < input.len() && at < out.len() {
                // SAFETY: `at` is in bounds (checked above). Each thread writes its own element.
                unsafe { out.store(at, input.load(at)) };
            }
        }

        #[doc = concat!("Copies an image of `", stringify!($type), "`, mirrored left to right.")]
        #[kernel(launch_bounds(256))]
        pub fn $copy_view(input: View<$type>, out: ViewMut<$type>) {
            let at = thread::index_2d();
            if input.contains(at.x, at.y) && out.contains(at.x, at.y) {
                // SAFETY: both pixels are in bounds, and each thread writes its own element.
                unsafe { out.store(at.x, at.y, input.load(input.width() - 1 - at.x, at.y)) };
            }
        }

        #[doc = concat!("Reverses elements of `", stringify!($type), "` within each block.")]
        #[kernel(launch_bounds(256), barriers(1))]
        pub fn $share(input: Slice<$type>, out: SliceMut<$type>) {
            let tile = shared_array![$type; 256];
            let (at, rank) = (global_rank(), thread::rank());
            if at < input.len() {
                // SAFETY: `at` is in bounds, and a block has at most 256 threads. Until the
                // barrier, each thread accesses only its own element of `tile`.
                unsafe { tile.store(rank, input.load(at)) };
            }
            thread::sync_threads();
            if at < out.len() {
                // SAFETY: `at` is in bounds, `rank` is less than the number of threads, and
                // nothing writes `tile` after the barrier.
                unsafe { out.store(at, tile.load(block_threads() - 1 - rank)) };
            }
        }
    };
}

element!(copy_u8, mirror_u8, share_u8, u8);
element!(copy_u16, mirror_u16, share_u16, u16);
element!(copy_u32, mirror_u32, share_u32, u32);
element!(copy_u64, mirror_u64, share_u64, u64);
element!(copy_pixel, mirror_pixel, share_pixel, Pixel);
element!(copy_quad, mirror_quad, share_quad, Quad);
element!(copy_odd, mirror_odd, share_odd, Odd);
element!(copy_vec2, mirror_vec2, share_vec2, glam::Vec2);
element!(copy_vec3, mirror_vec3, share_vec3, glam::Vec3);
