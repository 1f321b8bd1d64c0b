//! Samples the cameras' pictures, so that the host detects pictures that do not change or show nothing.
//!
//! One launch samples the pictures of all cameras, in any mix of formats. One block samples one picture: 4,096 pixels,
//! one in each cell of a grid of 64 × 64. The places inside the cells are pseudo-random but fixed, so regular patterns
//! in a picture do not hide a change, and equal pictures have equal checksums. All results are integers, so CPU and GPU
//! agree bit by bit.
//!
//! Cost: four samples per thread, all in flight at once, and one barrier. The kernel is bound by the latency of memory
//! and of the launch, and not by the size of the pictures.

use crate::unroll::unroll;
use cuda_std::prelude::*;
use shared_types::frame_statistics::{BLOCK_THREADS, CELLS, FrameStatistics, LUMA, SAMPLES};
use shared_types::stitch::MAX_CAMERAS;

/// The number of samples per thread.
const RUN: usize = (SAMPLES / BLOCK_THREADS) as usize;

/// The number of warps per block.
const WARPS: u32 = BLOCK_THREADS / warp::WARP_SIZE;

/// Samples one picture per block. Block `i` samples picture `i` and writes element `i` of `out`. Bit `i` of `rgba` is
/// set if picture `i` has four bytes per pixel; otherwise it has one.
///
/// Sample `i` of a picture is in column `i % CELLS` and row `i / CELLS` of the cells. With `h` = `mix``(i)`, it is the
/// pixel in column `((i % CELLS) · 2²⁶ + ⌊h / 2⁶⌋) · width / 2³²` and row
/// `(⌊i / CELLS⌋ · 2²⁶ + ⌊mix(h) / 2⁶⌋) · height / 2³²`, rounded down. It adds `mix(h ^ bytes)` to the checksum. `bytes`
/// are the luma or, for RGBA, red, green and blue, with red in the lowest byte.
///
/// # Safety
/// - Blocks must have [`BLOCK_THREADS`] threads in one dimension, and the grid one block for each picture.
/// - Each picture must have at least one pixel, and `out` at least one element per block.
#[kernel(launch_bounds(BLOCK_THREADS), barriers(1))]
pub unsafe fn sample_pictures(
    pictures: Table<View<u8>, MAX_CAMERAS>,
    rgba: u32,
    out: SliceMut<FrameStatistics>,
) {
    let place = thread::block_idx_x();
    // SAFETY: the caller guarantees that there is a picture for each block.
    let picture = unsafe { pictures.get_unchecked(place) };
    // SAFETY: the caller guarantees the rest of the conditions.
    unsafe {
        let is_rgba = rgba >> place & 1 != 0;
        store(place, if is_rgba { sums::<4>(picture) } else { sums::<1>(picture) }, out);
    }
}

/// Samples one P010 picture per block, like [`sample_pictures`]. A picture is the bytes of its luma plane. The sums of
/// luma are those of the upper 8 bits, and `bytes` in the checksum are both bytes of a luma sample.
///
/// # Safety
/// The conditions of [`sample_pictures`] apply, and rows must have two bytes per pixel.
#[kernel(launch_bounds(BLOCK_THREADS), barriers(1))]
pub unsafe fn sample_pictures_p010(
    pictures: Table<View<u8>, MAX_CAMERAS>,
    out: SliceMut<FrameStatistics>,
) {
    let place = thread::block_idx_x();
    // SAFETY: the caller guarantees the conditions of `sample_pictures`.
    unsafe { store(place, sums::<2>(pictures.get_unchecked(place)), out) };
}

/// Adds the sums of all threads of the block, and stores the result as element `place`.
///
/// # Safety
/// All [`BLOCK_THREADS`] threads must call it, and `out` must have the element.
#[device]
unsafe fn store(place: u32, sums: [u32; 3], out: SliceMut<FrameStatistics>) {
    // SAFETY: the caller guarantees the conditions. Only thread 0 writes the element.
    unsafe {
        let [checksum, sum, squares] = over_block(sums);
        if thread::thread_idx_x() == 0 {
            out.store(place, FrameStatistics { checksum, sum, squares });
        }
    }
}

/// Returns the finaliser of MurmurHash3, a bijection of 32-bit numbers in which each bit of `x` changes about half of
/// the bits of the result.
#[device]
fn mix(mut x: u32) -> u32 {
    x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
    x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
    x ^ x >> 16
}

/// Returns the pixel at a fraction of `side` pixels: `cell` in units of 1/[`CELLS`], plus a pseudo-random offset inside
/// the cell.
#[device]
fn within(cell: u32, random: u32, side: u32) -> u32 {
    const BITS: u32 = CELLS.ilog2();
    const { assert!(CELLS.is_power_of_two()) };
    let fraction = cell << (32 - BITS) | random >> BITS;
    ((u64::from(fraction) * u64::from(side)) >> 32) as u32
}

/// Returns the checksum, the sum of luma and the sum of squared luma over the thread's samples of a picture with
/// `BYTES` bytes per pixel.
///
/// # Safety
/// The picture must have at least one pixel.
#[device]
unsafe fn sums<const BYTES: u32>(picture: View<u8>) -> [u32; 3] {
    let (width, height) = (picture.width() / BYTES, picture.height());
    let (mut hashes, mut bytes) = ([0; RUN], [0; RUN]);
    unroll!(RUN, |i| {
        let sample = i as u32 * BLOCK_THREADS + thread::thread_idx_x();
        hashes[i] = mix(sample);
        let x = within(sample % CELLS, hashes[i], width);
        let y = within(sample / CELLS, mix(hashes[i]), height);
        // SAFETY: `x < width` and `y < height`, because `within` multiplies the side by a fraction less than 1.
        let byte = |at: u32| u32::from(unsafe { picture.load(BYTES * x + at, y) });
        bytes[i] = match BYTES {
            1 => byte(0),
            2 => byte(0) | byte(1) << 8,
            _ => byte(0) | byte(1) << 8 | byte(2) << 16,
        };
    });
    let mut sums = [0_u32; 3];
    unroll!(RUN, |i| {
        let luma = match BYTES {
            1 => bytes[i],
            2 => bytes[i] >> 8,
            _ => dp4a(bytes[i], u32::from_le_bytes(LUMA), 128) >> 8,
        };
        sums[0] = sums[0].wrapping_add(mix(hashes[i] ^ bytes[i]));
        sums[1] += luma;
        sums[2] += luma * luma;
    });
    sums
}

/// Returns the sums over all threads of the block, in thread 0. Contains a barrier.
///
/// # Safety
/// All threads of the block must call it. The block must have [`BLOCK_THREADS`] threads in one dimension.
#[device]
unsafe fn over_block(sums: [u32; 3]) -> [u32; 3] {
    // Assert that one warp can add the sums of all warps, and that no sum of luma overflows.
    const { assert!(WARPS == warp::WARP_SIZE && SAMPLES as u64 * 255 * 255 <= u32::MAX as u64) };
    let warps = shared_array![u32; 3 * WARPS as usize];
    let (lane, warp) =
        (thread::thread_idx_x() % warp::WARP_SIZE, thread::thread_idx_x() / warp::WARP_SIZE);
    let mut totals = [0; 3];
    // SAFETY: all threads reach the barrier, and complete warps reach each warp operation. One lane of each warp writes
    // the warp's elements, and others read them after the barrier.
    unsafe {
        unroll!(3, |i| {
            let sum = warp::warp_reduce(warp::FULL_MASK, sums[i], warp::WarpReductionOp::Add);
            if lane == 0 {
                warps.store(i as u32 * WARPS + warp, sum);
            }
        });
        thread::sync_threads();
        if warp == 0 {
            unroll!(3, |i| {
                let sum = warps.load(i as u32 * WARPS + lane);
                totals[i] = warp::warp_reduce(warp::FULL_MASK, sum, warp::WarpReductionOp::Add);
            });
        }
    }
    totals
}
