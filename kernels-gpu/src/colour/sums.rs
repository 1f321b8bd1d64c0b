//! The sums over the overlap, computed on the stored bytes of the pixels.
//!
//! Integer sums do not depend on the order of additions, and two sums of bytes fit into one register. So a thread sums
//! a column of pixels with two channels per addition, and multiplies the sums once by the weight of the column. Warp
//! instructions sum over the lanes, shared memory over the warps, and atomics over the blocks. The conversion from
//! Y'CbCr to R'G'B' is linear, so the kernel converts only the totals. Only the test for clipped and nearly black
//! pixels runs for each pixel.
//!
//! Cost: about 45 instructions per pixel, a third of them for addresses. The kernel is bound by memory latency, not by
//! instructions.

use crate::io::{Sampler2d, yuv_levels};
use cuda_std::prelude::*;
use glam::Vec3;
use shared_types::colour::{
    BLACK, BLOCK, BLOCK_THREADS, ColourSums, LUMA, OverlapPixel, PIXELS_PER_THREAD, RUNNING_SUMS,
    SATURATED, SumParams, WEIGHT_ONE,
};
use shared_types::nv12::{Nv12, P010};
use shared_types::yuv::YuvToRgb;
use shared_types::{Chroma, Chroma10, Rgba8};

/// The number of sums: the three bytes of the left camera, the three bytes of the right camera, and the weight.
pub(super) const SUMS: usize = 7;

/// The number of elements in a set of running sums: [`SUMS`] sums, and a counter of finished blocks (first set only).
const SET: u32 = 8;

/// The number of sets of running sums. Each block adds its sums to one of the sets.
const SETS: u32 = RUNNING_SUMS / SET;

/// The fourth byte of every stored pixel. It is 1, so its sum is the number of pixels.
const ONE: u32 = 0x01_00_00_00;

/// The number of warps per block.
const WARPS: u32 = BLOCK_THREADS / warp::WARP_SIZE;

/// A picture format whose stored bytes can be summed instead of its colours.
pub(crate) trait Stored: Sampler2d {
    /// Returns a pixel as one word: its three stored bytes, the first one lowest, and a fourth byte of 1.
    ///
    /// # Safety
    /// The caller must ensure that the picture [is whole](Sampler2d::is_whole), `x < width` and `y < height`.
    unsafe fn stored(&self, x: u32, y: u32) -> u32;

    /// Returns whether a stored pixel is clipped at white or nearly black.
    fn is_extreme(stored: u32, decode: &YuvToRgb) -> bool;

    /// Converts sums of stored bytes to sums of red, green and blue levels. `weight` is the sum of the pixels'
    /// weights.
    fn to_rgb(sums: [f64; 3], weight: f64, decode: &YuvToRgb) -> [f64; 3];
}

impl Stored for View<Rgba8> {
    #[device]
    unsafe fn stored(&self, x: u32, y: u32) -> u32 {
        // SAFETY: the caller guarantees that `(x, y)` is inside the picture.
        let pixel: u32 = bytemuck::cast(unsafe { self.load(x, y) });
        pixel & 0xff_ff_ff | ONE
    }

    #[device]
    fn is_extreme(stored: u32, _: &YuvToRgb) -> bool {
        // `CARRY` adds 8 to the low seven bits of each byte. The top bit is then set if those bits exceed 247 − 128. If
        // the byte's own top bit is set as well, the byte exceeds `SATURATED`, which is 247.
        const CARRY: u32 = 0x01_01_01 * (255 - SATURATED as u32);
        // The luma weights times 10,000 are integers. `HIGH` and `LOW` contain their high and low bytes.
        const HIGH: u32 = u32::from_le_bytes([8, 27, 2, 0]);
        const LOW: u32 = u32::from_le_bytes([78, 240, 210, 0]);
        let white = ((stored & 0x7f_7f_7f) + CARRY) & stored & 0x80_80_80 != 0;
        let luma = dp4a(stored, LOW, 256 * dp4a(stored, HIGH, 0));
        white | (luma < (10_000.0 * BLACK) as u32)
    }

    #[device]
    fn to_rgb(sums: [f64; 3], _: f64, _: &YuvToRgb) -> [f64; 3] {
        sums
    }
}

impl Stored for Nv12 {
    #[device]
    unsafe fn stored(&self, x: u32, y: u32) -> u32 {
        // SAFETY: the caller guarantees that `(x, y)` is inside the picture and that it has chroma for every pixel.
        unsafe {
            let chroma: u16 = bytemuck::cast(self.uv.load(x / 2, y / 2));
            u32::from(self.y.load(x, y)) | u32::from(chroma) << 8 | ONE
        }
    }

    #[device]
    fn is_extreme(stored: u32, decode: &YuvToRgb) -> bool {
        let [y, u, v, _] = stored.to_le_bytes();
        let levels = yuv_levels(y, Chroma { u, v }, decode);
        (levels.max_element() > SATURATED) | (luma(levels) < BLACK)
    }

    #[device]
    fn to_rgb([y, cb, cr]: [f64; 3], weight: f64, decode: &YuvToRgb) -> [f64; 3] {
        let [black, scale, cr_red, cb_green, cr_green, cb_blue] =
            bytemuck::cast::<_, [f32; 6]>(*decode).map(f64::from);
        let y = (-black).mul_add(weight, y) * scale;
        let [cb, cr] = [cb, cr].map(|sum| (-128.0_f64).mul_add(weight, sum));
        [
            cr_red.mul_add(cr, y),
            cb_green.mul_add(cb, cr_green.mul_add(cr, y)),
            cb_blue.mul_add(cb, y),
        ]
    }
}

/// The bytes of a P010 pixel are its samples, rounded to 8 bits. The error of a mean over many pixels is far below that
/// of a pixel.
impl Stored for P010 {
    #[device]
    unsafe fn stored(&self, x: u32, y: u32) -> u32 {
        let byte = |sample: u16| (u32::from(sample) + 0x80).min(0xffff) >> 8;
        // SAFETY: the caller guarantees that `(x, y)` is inside the picture and that it has chroma for every pixel.
        let (y, Chroma10 { u, v }) = unsafe { (self.y.load(x, y), self.uv.load(x / 2, y / 2)) };
        byte(y) | byte(u) << 8 | byte(v) << 16 | ONE
    }

    #[device]
    fn is_extreme(stored: u32, decode: &YuvToRgb) -> bool {
        Nv12::is_extreme(stored, decode)
    }

    #[device]
    fn to_rgb(sums: [f64; 3], weight: f64, decode: &YuvToRgb) -> [f64; 3] {
        Nv12::to_rgb(sums, weight, decode)
    }
}

/// Sums of four bytes over a column of pixels, two sums per word.
#[derive(Clone, Copy, Default)]
struct Packed {
    /// The sums of the first and the third byte.
    even: u32,
    /// The sums of the second and the fourth byte.
    odd: u32,
}

impl Packed {
    #[device]
    fn add(&mut self, stored: u32) {
        const { assert!(PIXELS_PER_THREAD * 255 <= 0xffff) };
        self.even += stored & 0xff_00_ff;
        self.odd += stored >> 8 & 0xff_00_ff;
    }

    #[device]
    fn sums(self) -> [u32; 4] {
        [self.even & 0xffff, self.odd & 0xffff, self.even >> 16, self.odd >> 16]
    }
}

/// Returns the weighted sums over the thread's column of pixels, which starts at row `first` of the overlap's box.
///
/// # Safety
/// The conditions of the kernels that `colour_sums!` defines apply.
#[device]
pub(crate) unsafe fn column_sums<L: Stored, R: Stored>(
    left: L,
    right: R,
    overlap: View<OverlapPixel>,
    first: u32,
    params: &SumParams,
) -> [u32; SUMS] {
    let x = thread::index_1d();
    let (last_x, last_y) = (overlap.width() - 1, overlap.height() - 1);
    let rows = if x <= last_x { overlap.height() } else { 0 };
    // Loads every pixel, even if it does not count, because a load inside a branch would wait for the loads before it.
    let place = |i: u32| {
        let y = first + i * BLOCK[1];
        // SAFETY: the position is clamped to the overlap, which has at least one pixel.
        let at = unsafe { overlap.load(x.min(last_x), y.min(last_y)) };
        (at, y < rows)
    };
    let look = |(at, inside): (OverlapPixel, bool)| {
        let seen = inside & (at.left[0] <= OverlapPixel::MAX);
        let [[lx, ly], [rx, ry]] = [at.left, at.right].map(|at| at.map(u32::from));
        let lx = lx & u32::from(OverlapPixel::MAX);
        // SAFETY: the caller guarantees that the source pixels in `overlap` are inside these pictures. For `NONE`,
        // which is no source pixel, the code reads the first pixel of both pictures, which exists.
        unsafe { (left.stored(lx, ly), right.stored(rx, ry), seen) }
    };
    let (mut l, mut r) = (Packed::default(), Packed::default());
    let mut add = |(left, right, seen): (u32, u32, bool)| {
        let extreme = L::is_extreme(left, &params.left) | R::is_extreme(right, &params.right);
        let counts = seen & !extreme;
        l.add(if counts { left } else { 0 });
        r.add(if counts { right } else { 0 });
    };
    // Four loads are in flight at a time. Each has its own variable, because an array would be in local memory.
    const { assert!(PIXELS_PER_THREAD.is_multiple_of(4)) };
    for i in (0..PIXELS_PER_THREAD).step_by(4) {
        let (a, b, c, d) = (place(i), place(i + 1), place(i + 2), place(i + 3));
        let (a, b, c, d) = (look(a), look(b), look(c), look(d));
        add(a);
        add(b);
        add(c);
        add(d);
    }
    // All pixels of a column share one weight.
    let weight = column_weight(x, params);
    // Assert that the weighted sums over the 32 lanes of a warp fit into 32 bits.
    const {
        let column = PIXELS_PER_THREAD as u64 * 255 * WEIGHT_ONE as u64;
        assert!(column * warp::WARP_SIZE as u64 <= u32::MAX as u64);
    }
    let ([a, b, c, count], [d, e, f, _]) = (l.sums(), r.sums());
    [a, b, c, d, e, f, count].map(|sum| sum * weight)
}

/// Returns the weight of the pixels in column `x` of the overlap's box.
#[device]
pub(super) fn column_weight(x: u32, params: &SumParams) -> u32 {
    #[expect(clippy::manual_clamp, reason = "a NaN becomes 0")]
    let band =
        (-(x as f32 - params.centre).abs()).mul_add(params.per_column, 1.0).max(0.0).min(1.0);
    // SAFETY: `band` is from 0 to 1, even if an argument is NaN, so the result fits into a `u32`.
    unsafe { (band * band * WEIGHT_ONE as f32 + 0.5).to_int_unchecked::<u32>() }
}

/// Adds the sums of all threads of the block to `running`. In the block that finishes last, thread 0 returns the total;
/// all other threads return `None`.
///
/// Blocks are distributed over [`SETS`] sets of running sums, and each thread of the last block reads one element. With
/// a single set, blocks would wait for each other's atomics. With one set per block, the last block would take longer
/// to read all sets than the other blocks would save.
///
/// # Safety
/// The conditions of the kernels that `colour_sums!` defines apply.
#[device]
pub(crate) unsafe fn add_blocks(
    column: [u32; SUMS],
    running: SliceMut<u64>,
) -> Option<[u64; SUMS]> {
    use cuda_std::atomic::AtomicAdd;
    // Assert that each row of the block is one warp.
    const { assert!(BLOCK[0] == warp::WARP_SIZE && SUMS < SET as usize) };
    let warps = shared_array![u64; (WARPS * SET) as usize];
    let last = shared_array![u32; 1];
    let (lane, warp) = (thread::thread_idx_x(), thread::thread_idx_y());
    let rank = warp::WARP_SIZE * warp + lane;
    let block = thread::block_idx_y() * thread::grid_dim_x() + thread::block_idx_x();
    let blocks = thread::grid_dim_x() * thread::grid_dim_y();
    // SAFETY: every thread reaches this code and each barrier, and complete warps reach each warp operation. One thread
    // writes each element of shared memory, and others read it after a barrier. The fences make the sums of all counted
    // blocks visible to the block that counts last.
    unsafe {
        let over_warps = || (0..WARPS).fold(0, |sum, warp| sum + warps.load(SET * warp + rank));
        let mut mine = 0;
        for (i, sum) in (0..).zip(column) {
            let sum = warp::warp_reduce(warp::FULL_MASK, sum, warp::WarpReductionOp::Add);
            mine = if lane == i { sum } else { mine };
        }
        if lane < SET {
            warps.store(SET * warp + lane, mine.into());
        }
        thread::sync_threads();
        if warp == 0 {
            if lane < SUMS as u32 {
                u64::atomic_add(running.atomic(block % SETS * SET + lane), over_warps());
                thread::device_fence();
            }
            warp::sync_warp(warp::FULL_MASK);
            if lane == 0 {
                let before = u64::atomic_add(running.atomic(SET - 1), 1);
                last.store(0, u32::from(before + 1 == blocks.into()));
            }
        }
        thread::sync_threads();
        let is_last = last.load(0) != 0;
        let mut total = 0;
        if is_last {
            thread::device_fence();
            total = running.load(rank);
            running.store(rank, 0);
        }
        // All blocks run the following steps, because every path of the kernel must reach the barrier below.
        let mut step = SET;
        while step < warp::WARP_SIZE {
            total += warp::warp_shuffle_xor(warp::FULL_MASK, total, step, warp::WARP_SIZE).0;
            step *= 2;
        }
        if lane < SET {
            warps.store(SET * warp + lane, total);
        }
        thread::sync_threads();
        if !(is_last && warp == 0) {
            return None;
        }
        let total = if lane < SET { over_warps() } else { 0 };
        let mut all = [0; SUMS];
        for (i, sum) in (0..).zip(&mut all) {
            *sum = warp::warp_shuffle_idx(warp::FULL_MASK, total, i, warp::WARP_SIZE).0;
        }
        (lane == 0).then_some(all)
    }
}

/// Converts the totals of stored bytes to the nine sums, in units of levels (white is 255).
#[device]
pub(crate) fn colour_sums<L: Stored, R: Stored>(
    total: [u64; SUMS],
    [left, right]: [&YuvToRgb; 2],
) -> ColourSums {
    let [a, b, c, d, e, f, weight] = total.map(|sum| sum as f64 / f64::from(WEIGHT_ONE));
    let camera = |rgb: [f64; 3]| {
        let [r, g, b] = rgb.map(|sum| sum as f32);
        // Luma is a weighted sum of red, green and blue, so the luma of the sums is the sum of the lumas.
        [r, g, b, luma(Vec3::new(r, g, b))]
    };
    ColourSums {
        left: camera(L::to_rgb([a, b, c], weight, left)),
        right: camera(R::to_rgb([d, e, f], weight, right)),
        weight: weight as f32,
    }
}

/// Returns the BT.709 luma of red, green and blue.
#[device]
fn luma(levels: Vec3) -> f32 {
    LUMA.x.mul_add(levels.x, LUMA.y.mul_add(levels.y, LUMA.z * levels.z))
}
