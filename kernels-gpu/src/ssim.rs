//! SSIM and squared differences of two pictures, in one pass or in two.
//!
//! SSIM compares mean, variance and covariance of both pictures a and b under a Gaussian window, at every
//! pixel whose window lies inside (Wang, Bovik, Sheikh and Simoncelli, 2004):
//!
//! ```text
//! (2 μa μb + C1) (2 σab + C2) / ((μa² + μb² + C1) (σa² + σb² + C2))
//! ```
//!
//! The idea of the fused kernels: with u = a + b and v = a − b the formula needs four moments in place of
//! five, those of u, u², v and v², since 4ab = u² − v² and 2(a² + b²) = u² + v². A block walks down a strip of
//! its columns, a row at a time. The row's pixels lie in shared memory, two of both pictures in 16 bytes; a
//! thread filters them along the row for its two columns, and adds the result to the 11 rows
//! that it is part of, which stay in registers. A row that is complete falls out at the end: `ring[i] = row ·
//! tap + ring[i + 1]` moves every sum one place with the instruction that adds to it. So each pixel is read from
//! memory once, but for the margins of strips, and nothing is written but the sums.
//!
//! Cost: 2 · 11 · 4 fused multiply-adds a pixel and half as much for all else. Arithmetic, not memory, bounds it.
//!
//! The two passes are the design that it replaces: five moments of 16×8 pixels a block through planes in
//! memory. They are here to be compared with.

use cuda_std::prelude::*;
use shared_types::Rgba8;
use shared_types::ssim::{
    BLOCK_COLUMNS, BLOCK_THREADS, COLUMNS, MARGIN, ONE, SUMS, SsimParams, TAPS, TWO_PASS_THREADS,
    WINDOW,
};

use crate::tile::each_result;

/// Weight of a pixel of the window.
const fn tap(i: usize) -> f32 {
    if i < TAPS.len() { TAPS[i] } else { TAPS[WINDOW as usize - 1 - i] }
}

/// A pixel that is compared by its luma.
trait Pixel: bytemuck::Pod {
    /// Whether there are colours to compare too.
    const COLOUR: bool;

    /// Luma; red, green and blue.
    fn levels(self) -> (i32, [i32; 3]);
}

impl Pixel for u8 {
    const COLOUR: bool = false;

    #[inline(always)]
    fn levels(self) -> (i32, [i32; 3]) {
        (self.into(), [0; 3])
    }
}

impl Pixel for u16 {
    const COLOUR: bool = false;

    #[inline(always)]
    fn levels(self) -> (i32, [i32; 3]) {
        (self.into(), [0; 3])
    }
}

impl Pixel for Rgba8 {
    const COLOUR: bool = true;

    /// Luma by BT.601 in integers, as Pillow's `convert("L")` has it.
    #[inline(always)]
    fn levels(self) -> (i32, [i32; 3]) {
        let Self { r, g, b, .. } = self;
        let [r, g, b] = [r, g, b].map(i32::from);
        ((19_595 * r + 38_470 * g + 7_471 * b + 0x8000) >> 16, [r, g, b])
    }
}

/// What a thread has summed up.
#[derive(Clone, Copy, Default)]
struct Totals {
    ssim: i64,
    squares: u64,
    colour_squares: u64,
}

/// An SSIM as sums have it.
#[inline(always)]
fn summand(ssim: f32) -> i64 {
    // SAFETY: an SSIM is within −1 and 1, but for rounding; what no levels give is no number here.
    i64::from(unsafe { (ssim * ONE).to_int_unchecked::<i32>() })
}

impl Totals {
    /// Adds those of all threads to `sums`.
    ///
    /// # Safety
    /// All threads of the block, which are whole warps, call it. `sums` has [`SUMS`] elements.
    #[inline(always)]
    unsafe fn add_to(self, sums: SliceMut<u64>) {
        // SAFETY: as the caller vouches.
        unsafe {
            let ssim = warp::warp_reduce_add(self.ssim as u64);
            let squares = warp::warp_reduce_add(self.squares);
            let colour_squares = warp::warp_reduce_add(self.colour_squares);
            if warp::lane_id() == 0 {
                use cuda_std::atomic::AtomicAdd;
                u64::atomic_add(sums.atomic(0), ssim);
                u64::atomic_add(sums.atomic(1), squares);
                u64::atomic_add(sums.atomic(2), colour_squares);
            }
        }
    }
}

/// Two pixels, of each what both pictures sum up to, less twice the middle, and how they differ.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
struct Two([f32; 4]);

const _: () = assert!(COLUMNS == 2);

/// The moments of u, v, u² and v² under the window's row.
type Moments = [f32; 4];

#[inline(always)]
fn add(moments: &mut Moments, [u, v]: [f32; 2], [uu, vv]: [f32; 2], tap: f32) {
    moments[0] = u.mul_add(tap, moments[0]);
    moments[1] = v.mul_add(tap, moments[1]);
    moments[2] = uu.mul_add(tap, moments[2]);
    moments[3] = vv.mul_add(tap, moments[3]);
}

/// Sums over the rows that a window's row is part of: the first lacks this one only.
type Ring = [Moments; WINDOW as usize];

/// Adds a row's moments, and returns those of the whole window that it completes.
#[inline(always)]
fn push(ring: &mut Ring, row: Moments) -> Moments {
    each_result!(WINDOW as usize - 1, |i| {
        let tap = tap(WINDOW as usize - 1 - i);
        ring[i] = [
            row[0].mul_add(tap, ring[i + 1][0]),
            row[1].mul_add(tap, ring[i + 1][1]),
            row[2].mul_add(tap, ring[i + 1][2]),
            row[3].mul_add(tap, ring[i + 1][3]),
        ];
    });
    let first = tap(0);
    ring[WINDOW as usize - 1] = [row[0] * first, row[1] * first, row[2] * first, row[3] * first];
    ring[0]
}

#[inline(always)]
fn ssim([u, v, uu, vv]: Moments, params: &SsimParams) -> f32 {
    let (spread_u, spread_v) = ((-u).mul_add(u, uu), (-v).mul_add(v, vv));
    let u = 2.0_f32.mul_add(params.middle, u);
    let (u2, v2) = (u * u, v * v);
    let means = [0.5_f32.mul_add(u2 - v2, params.c1), 0.5_f32.mul_add(u2 + v2, params.c1)];
    let spreads = [
        0.5_f32.mul_add(spread_u - spread_v, params.c2),
        0.5_f32.mul_add(spread_u + spread_v, params.c2),
    ];
    (means[0] * spreads[0]) / (means[1] * spreads[1])
}

#[inline(always)]
fn fused<P: Pixel>(
    a: View<P>,
    b: View<P>,
    params: &SsimParams,
    map: ViewMut<f32>,
    sums: SliceMut<u64>,
) {
    let (width, height) = (a.width(), a.height());
    let same = width == b.width() && height == b.height();
    if !same || width < WINDOW || height < WINDOW || params.rows == 0 || sums.len() < SUMS {
        return;
    }
    if thread::block_dim_x() != BLOCK_THREADS {
        return;
    }
    let (columns, rows) = (width - MARGIN, height - MARGIN);
    let (x0, y0) =
        (thread::block_idx_x() * BLOCK_COLUMNS, thread::block_idx_y().saturating_mul(params.rows));
    if x0 >= columns || y0 >= rows {
        return;
    }
    let lines = params.rows.min(rows - y0);
    let t = thread::thread_idx_x();
    let x = x0 + COLUMNS * t;
    // Pixels of the margin are counted by the blocks that they are no margin of.
    let own_columns =
        if columns - x0 <= BLOCK_COLUMNS { width } else { width.min(x0 + BLOCK_COLUMNS) };
    let own_lines = if rows - y0 <= params.rows { lines + MARGIN } else { lines };
    let fetch = |line: u32| {
        let (left, right, y) = (x.min(width - 1), (x + 1).min(width - 1), y0 + line);
        // SAFETY: inside of both pictures, which are of one size; lines reach to the last row.
        unsafe { [a.load(left, y), b.load(left, y), a.load(right, y), b.load(right, y)] }
    };
    let mut totals = Totals::default();
    let mut weigh = |line: u32, x: u32, a: P, b: P| {
        let ((a, a_rgb), (b, b_rgb)) = (a.levels(), b.levels());
        let square = |a: i32, b: i32| u64::from((a - b).unsigned_abs()).pow(2);
        if (line < own_lines) & (x < own_columns) {
            totals.squares += square(a, b);
            if P::COLOUR {
                totals.colour_squares += square(a_rgb[0], b_rgb[0])
                    + square(a_rgb[1], b_rgb[1])
                    + square(a_rgb[2], b_rgb[2]);
            }
        }
        let (a, b) = (a as f32 - params.middle, b as f32 - params.middle);
        [a + b, a - b]
    };
    let buffer = shared_array![Two; 2 * BLOCK_THREADS as usize];
    let mut rings: [Ring; 2] = [[[0.0; 4]; WINDOW as usize]; 2];
    let mut ssims = 0_i64;
    let mut next = fetch(0);
    let mut line = 0;
    while line < lines + MARGIN {
        let half = (line & 1) * BLOCK_THREADS;
        let [a0, b0, a1, b1] = next;
        let ([u0, v0], [u1, v1]) = (weigh(line, x, a0, b0), weigh(line, x + 1, a1, b1));
        // SAFETY: inside; each element has one thread, and who read it two lines ago has passed the
        // barrier of the last line.
        unsafe { buffer.store(half + t, Two([u0, v0, u1, v1])) };
        thread::sync_threads();
        // On its way while this line is filtered.
        next = fetch((line + 1).min(lines + MARGIN - 1));
        // The last threads read for the others only.
        if t < BLOCK_COLUMNS / COLUMNS {
            let mut row: [Moments; 2] = [[0.0; 4]; 2];
            each_result!((WINDOW as usize).div_ceil(2), |i| {
                // SAFETY: inside, and behind the barrier after its writing.
                let Two([u0, v0, u1, v1]) = unsafe { buffer.load(half + t + i as u32) };
                let squares = [[u0 * u0, v0 * v0], [u1 * u1, v1 * v1]];
                add(&mut row[0], [u0, v0], squares[0], tap(2 * i));
                if i > 0 {
                    add(&mut row[1], [u0, v0], squares[0], tap(2 * i - 1));
                }
                if i < WINDOW as usize / 2 {
                    add(&mut row[0], [u1, v1], squares[1], tap(2 * i + 1));
                }
                add(&mut row[1], [u1, v1], squares[1], tap(2 * i));
            });
            let whole = [push(&mut rings[0], row[0]), push(&mut rings[1], row[1])];
            if line >= MARGIN {
                each_result!(COLUMNS as usize, |i| {
                    let (x, y) = (x + i as u32, y0 + line - MARGIN);
                    if x < columns.min(x0 + BLOCK_COLUMNS) {
                        let value = ssim(whole[i], params);
                        ssims += summand(value);
                        if map.contains(x, y) {
                            // SAFETY: inside, as just checked; each pixel has one thread.
                            unsafe { map.store(x, y, value) };
                        }
                    }
                });
            }
        }
        line += 1;
    }
    totals.ssim = ssims;
    // SAFETY: all threads of the block are still here; the length was checked.
    unsafe { totals.add_to(sums) };
}

/// Defines the fused kernel for one kind of picture.
macro_rules! ssim_fused {
    ($(#[$doc:meta])* $name:ident, $type:ty) => {
        $(#[$doc])*
        ///
        /// Adds to the [`SUMS`] sums. `map`, where it has room, becomes the SSIM of each pixel whose window
        /// lies inside, from the window's first pixel on. Nothing happens if the pictures differ in size or are
        /// smaller than the window, or blocks are not of [`BLOCK_THREADS`].
        #[kernel(launch_bounds(BLOCK_THREADS, 4), barriers(1))]
        pub fn $name(
            a: View<$type>,
            b: View<$type>,
            params: SsimParams,
            map: ViewMut<f32>,
            sums: SliceMut<u64>,
        ) {
            fused(a, b, &params, map, sums);
        }
    };
}

ssim_fused! {
    /// Two planes of luma of 8 bits.
    ssim_u8, u8
}
ssim_fused! {
    /// Two planes of luma of more than 8 bits.
    ssim_u16, u16
}
ssim_fused! {
    /// Two pictures in colour, by their luma; and how their colours differ.
    ssim_rgba8, Rgba8
}

/// The first of two passes: moments of a, b, a², b² and ab along the rows, for each pixel whose window lies
/// inside, and the squared differences.
#[inline(always)]
fn rows<P: Pixel>(a: View<P>, b: View<P>, planes: [ViewMut<f32>; 5], sums: SliceMut<u64>) {
    let (width, height) = (a.width(), a.height());
    let same = width == b.width() && height == b.height();
    if !same || width < WINDOW || sums.len() < SUMS {
        return;
    }
    let at = thread::index_2d();
    let (x, y) = (at.x, at.y);
    let mut totals = Totals::default();
    if x < width && y < height {
        // SAFETY: inside, as just checked.
        let ((a, _), (b, _)) = unsafe { (a.load(x, y).levels(), b.load(x, y).levels()) };
        totals.squares = u64::from((a - b).unsigned_abs()).pow(2);
    }
    let room = planes[0].contains(x, y)
        && planes[1].contains(x, y)
        && planes[2].contains(x, y)
        && planes[3].contains(x, y)
        && planes[4].contains(x, y);
    if x < width - MARGIN && y < height && room {
        let mut moments = [0.0_f32; 5];
        each_result!(WINDOW as usize, |i| {
            // SAFETY: inside, as just checked.
            let ((a, _), (b, _)) =
                unsafe { (a.load(x + i as u32, y).levels(), b.load(x + i as u32, y).levels()) };
            let (a, b) = (a as f32, b as f32);
            moments[0] = a.mul_add(tap(i), moments[0]);
            moments[1] = b.mul_add(tap(i), moments[1]);
            moments[2] = (a * a).mul_add(tap(i), moments[2]);
            moments[3] = (b * b).mul_add(tap(i), moments[3]);
            moments[4] = (a * b).mul_add(tap(i), moments[4]);
        });
        each_result!(5, |i| {
            // SAFETY: inside, as just checked; each pixel has one thread.
            unsafe { planes[i].store(x, y, moments[i]) };
        });
    }
    // SAFETY: all threads of the block are still here; the length was checked.
    unsafe { totals.add_to(sums) };
}

macro_rules! ssim_rows {
    ($(#[$doc:meta])* $name:ident, $type:ty) => {
        $(#[$doc])*
        #[kernel(launch_bounds(TWO_PASS_THREADS))]
        pub fn $name(
            a: View<$type>,
            b: View<$type>,
            mean_a: ViewMut<f32>,
            mean_b: ViewMut<f32>,
            square_a: ViewMut<f32>,
            square_b: ViewMut<f32>,
            product: ViewMut<f32>,
            sums: SliceMut<u64>,
        ) {
            rows(a, b, [mean_a, mean_b, square_a, square_b, product], sums);
        }
    };
}

ssim_rows! {
    /// The first of two passes, of luma of 8 bits: moments along the rows.
    ssim_rows_u8, u8
}
ssim_rows! {
    /// The first of two passes, of luma of more than 8 bits: moments along the rows.
    ssim_rows_u16, u16
}

/// The second of two passes: moments along the columns, and from them SSIM, added to the sums.
#[kernel(launch_bounds(TWO_PASS_THREADS))]
pub fn ssim_columns(
    mean_a: View<f32>,
    mean_b: View<f32>,
    square_a: View<f32>,
    square_b: View<f32>,
    product: View<f32>,
    params: SsimParams,
    sums: SliceMut<u64>,
) {
    if sums.len() < SUMS || mean_a.height() < WINDOW {
        return;
    }
    let at = thread::index_2d();
    let (x, y) = (at.x, at.y);
    let last = y.saturating_add(MARGIN);
    let mut totals = Totals::default();
    if mean_a.contains(x, last)
        && mean_b.contains(x, last)
        && square_a.contains(x, last)
        && square_b.contains(x, last)
        && product.contains(x, last)
    {
        let mut moments = [0.0_f32; 5];
        each_result!(WINDOW as usize, |i| {
            let y = y + i as u32;
            // SAFETY: inside, as just checked.
            unsafe {
                moments[0] = mean_a.load(x, y).mul_add(tap(i), moments[0]);
                moments[1] = mean_b.load(x, y).mul_add(tap(i), moments[1]);
                moments[2] = square_a.load(x, y).mul_add(tap(i), moments[2]);
                moments[3] = square_b.load(x, y).mul_add(tap(i), moments[3]);
                moments[4] = product.load(x, y).mul_add(tap(i), moments[4]);
            }
        });
        let [a, b, aa, bb, ab] = moments;
        let (var_a, var_b, cov) = (aa - a * a, bb - b * b, ab - a * b);
        let SsimParams { c1, c2, .. } = params;
        totals.ssim = summand(
            ((2.0 * a * b + c1) * (2.0 * cov + c2)) / ((a * a + b * b + c1) * (var_a + var_b + c2)),
        );
    }
    // SAFETY: all threads of the block are still here; the length was checked.
    unsafe { totals.add_to(sums) };
}
