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

/// A picture that is compared by its luma.
trait Compared: Copy {
    /// Whether there are colours to compare too.
    const COLOUR: bool;

    /// Columns.
    fn width(&self) -> u32;

    /// Rows.
    fn height(&self) -> u32;

    /// Luma; red, green and blue.
    ///
    /// # Safety
    /// `x < width` and `y < height`.
    unsafe fn levels(&self, x: u32, y: u32) -> (i32, [i32; 3]);
}

macro_rules! compared_luma {
    ($type:ty) => {
        impl Compared for View<$type> {
            const COLOUR: bool = false;

            #[inline(always)]
            fn width(&self) -> u32 {
                View::width(self)
            }

            #[inline(always)]
            fn height(&self) -> u32 {
                View::height(self)
            }

            #[inline(always)]
            unsafe fn levels(&self, x: u32, y: u32) -> (i32, [i32; 3]) {
                // SAFETY: as the caller vouches.
                (unsafe { self.load(x, y) }.into(), [0; 3])
            }
        }
    };
}
compared_luma!(u8);
compared_luma!(u16);

impl Compared for View<Rgba8> {
    const COLOUR: bool = true;

    #[inline(always)]
    fn width(&self) -> u32 {
        View::width(self)
    }

    #[inline(always)]
    fn height(&self) -> u32 {
        View::height(self)
    }

    /// Luma by BT.601 in integers, as Pillow's `convert("L")` has it.
    #[inline(always)]
    unsafe fn levels(&self, x: u32, y: u32) -> (i32, [i32; 3]) {
        // SAFETY: as the caller vouches.
        let Rgba8 { r, g, b, .. } = unsafe { self.load(x, y) };
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

impl Totals {
    #[inline(always)]
    fn add_ssim(&mut self, ssim: f32) {
        // SAFETY: an SSIM is within −1 and 1, but for rounding; what no levels give is no number here.
        self.ssim += i64::from(unsafe { (ssim * ONE).to_int_unchecked::<i32>() });
    }

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

/// Pairs of pixels in a row of a block.
const ROW: u32 = (BLOCK_COLUMNS + MARGIN) / COLUMNS;

const _: () = assert!(COLUMNS == 2 && ROW - BLOCK_THREADS < BLOCK_THREADS);
// Sums are of whole warps.
const _: () = assert!(TWO_PASS_THREADS.is_multiple_of(warp::WARP_SIZE));

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
fn fused<P: Compared>(a: P, b: P, params: &SsimParams, map: ViewMut<f32>, sums: SliceMut<u64>) {
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
    // Pixels of the margin are counted by the blocks that they are no margin of.
    let own_pairs = if columns - x0 <= BLOCK_COLUMNS { ROW } else { BLOCK_THREADS };
    let own_lines = if rows - y0 <= params.rows { lines + MARGIN } else { lines };
    let t = thread::thread_idx_x();
    let mut totals = Totals::default();
    let buffer = shared_array![Two; 2 * ROW as usize];
    let mut stage = |line: u32, pair: u32| {
        let y = y0 + line;
        let x = x0 + COLUMNS * pair;
        let own = (line < own_lines) & (pair < own_pairs);
        let mut one = |x: u32| {
            let inside = x.min(width - 1);
            // SAFETY: inside of both pictures, which are of one size; lines reach to the last row.
            let ((a, a_rgb), (b, b_rgb)) = unsafe { (a.levels(inside, y), b.levels(inside, y)) };
            let square = |a: i32, b: i32| u64::from((a - b).unsigned_abs()).pow(2);
            if own & (x < width) {
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
        let ([u0, v0], [u1, v1]) = (one(x), one(x + 1));
        // SAFETY: inside; each element has one thread, and who read it two lines ago has passed the
        // barrier of the last line.
        unsafe { buffer.store((line & 1) * ROW + pair, Two([u0, v0, u1, v1])) };
    };
    let mut rings: [Ring; 2] = [[[0.0; 4]; WINDOW as usize]; 2];
    let mut ssims = 0_i64;
    let mut line = 0;
    while line < lines + MARGIN {
        stage(line, t);
        if t < ROW - BLOCK_THREADS {
            stage(line, t + BLOCK_THREADS);
        }
        thread::sync_threads();
        let mut row: [Moments; 2] = [[0.0; 4]; 2];
        each_result!((WINDOW as usize).div_ceil(2), |i| {
            // SAFETY: inside, and behind the barrier after its writing.
            let Two([u0, v0, u1, v1]) = unsafe { buffer.load((line & 1) * ROW + t + i as u32) };
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
                let (x, y) = (x0 + COLUMNS * t + i as u32, y0 + line - MARGIN);
                if x < columns {
                    let value = ssim(whole[i], params);
                    let mut one = Totals::default();
                    one.add_ssim(value);
                    ssims += one.ssim;
                    if map.contains(x, y) {
                        // SAFETY: inside, as just checked; each pixel has one thread.
                        unsafe { map.store(x, y, value) };
                    }
                }
            });
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
fn rows<P: Compared>(a: P, b: P, planes: [ViewMut<f32>; 5], sums: SliceMut<u64>) {
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
        let ((a, _), (b, _)) = unsafe { (a.levels(x, y), b.levels(x, y)) };
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
                unsafe { (a.levels(x + i as u32, y), b.levels(x + i as u32, y)) };
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
        totals.add_ssim(
            ((2.0 * a * b + c1) * (2.0 * cov + c2)) / ((a * a + b * b + c1) * (var_a + var_b + c2)),
        );
    }
    // SAFETY: all threads of the block are still here; the length was checked.
    unsafe { totals.add_to(sums) };
}
