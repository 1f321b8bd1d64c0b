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
//! columns, some rows at a time. First a thread filters its own column down. The window is the product of three short
//! filters that begin and end in 1, and a filter of n rows so made takes n − 1 operations: 10 in place of 11. What rows
//! to come need stays in registers, and `ahead[i] = row · tap + ahead[i + 1]` moves it one place with the instruction
//! that adds to it. Then, through shared memory, a thread filters four neighbours of one row along, by taps that also
//! undo what the short filters sum up to. So each pixel is read from memory and squared once, but for the margins of
//! strips, and nothing is written but the sums.
//!
//! In shared memory the four moments of a column are 16 bytes, and after every fourth column 16 are left out: eight
//! lanes that read four columns apart then never meet in a bank, nor do eight that write two times four columns, 16
//! apart. There are two buffers, so that a barrier parts each batch of rows from the next one, and nothing else. From
//! the barrier to the SSIMs no branch follows, so that what is left of filtering down fills the wait for shared memory.
//!
//! Cost: (10 + 11) · 4 additions or fused multiply-adds a pixel and half as much for all else. Arithmetic, not memory,
//! bounds it.
//!
//! Accuracy, against f64: 5e-7 of noise and gradients, 4e-6 of photographs 60 levels apart. Spreads are differences of
//! large numbers in f32: where both pictures are flat and more than 50 levels apart, up to 1.3e-4, at each pixel.
//!
//! The two passes are the design that it replaces: five moments of 16×8 pixels a block through planes in
//! memory. They are here to be compared with.

use cuda_std::ColumnView;
use cuda_std::atomic::AtomicAdd;
use cuda_std::prelude::*;
use shared_types::Rgba8;
use shared_types::ssim::{
    BLOCK_COLUMNS, BLOCK_THREADS, BLOCKS, LINES, MARGIN, ONE, ROW_THREADS, RUN, RUNNING, SUMS,
    SsimParams, TAPS, TWO_PASS_THREADS, WINDOW,
};

use crate::tile::each_result;

/// Weight of a pixel of the window.
const fn tap(i: usize) -> f32 {
    if i < TAPS.len() { TAPS[i] } else { TAPS[WINDOW as usize - 1 - i] }
}

/// A pixel that is compared by its luma.
trait Pixel: bytemuck::Pod {
    /// Whether the squared differences of a batch fit into 32 bits.
    const SMALL: bool;

    /// As it is in memory: bytes that lie packed in registers would have to be unpacked.
    fn bits(self) -> u32;

    /// The luma of one with these bits.
    fn luma(bits: u32) -> i32;

    /// The squared differences of red, green and blue; of luma alone 0.
    fn colour_squares(bits: [u32; 2]) -> u32;
}

/// A luma of some bits, and whether it is [`SMALL`](Pixel::SMALL).
macro_rules! luma {
    ($type:ty, $small:literal) => {
        impl Pixel for $type {
            const SMALL: bool = $small;

            #[inline(always)]
            fn bits(self) -> u32 {
                self.into()
            }

            #[inline(always)]
            fn luma(bits: u32) -> i32 {
                bits as i32
            }

            #[inline(always)]
            fn colour_squares(_: [u32; 2]) -> u32 {
                0
            }
        }
    };
}
luma!(u8, true);
luma!(u16, false);

impl Pixel for Rgba8 {
    const SMALL: bool = true;

    #[inline(always)]
    fn bits(self) -> u32 {
        bytemuck::cast(self)
    }

    /// By BT.601 in integers, as Pillow's `convert("L")` has it: (19595 r + 38470 g + 7471 b + 32768) / 65536.
    #[inline(always)]
    fn luma(bits: u32) -> i32 {
        // The weights are two bytes each.
        const HIGH: u32 = u32::from_le_bytes([76, 150, 29, 0]);
        const LOW: u32 = u32::from_le_bytes([139, 70, 47, 0]);
        (dp4a(bits, LOW, 256 * dp4a(bits, HIGH, 128)) >> 16) as i32
    }

    /// (a − b)² is a² + b² − 2ab.
    #[inline(always)]
    fn colour_squares([a, b]: [u32; 2]) -> u32 {
        // Without alpha.
        let [rgb_a, rgb_b] = [a, b].map(|bits| bits & 0xff_ff_ff);
        dp4a(rgb_a, a, dp4a(rgb_b, b, 0)) - 2 * dp4a(rgb_a, b, 0)
    }
}

/// What a thread has summed up.
#[derive(Clone, Copy, Default)]
struct Totals {
    ssim: i64,
    squares: u64,
    colour_squares: u64,
}

/// What the sum of `N` SSIMs adds, if it counts.
#[inline(always)]
fn summand<const N: u32>(sum: f32, counts: bool) -> i64 {
    let most = N as f32;
    // Each is within −1 and 1, unless levels are far above those that there can be. `clamp` would keep what is no
    // number.
    let sum = sum.max(-most).min(most);
    let scale = if counts { ONE / most } else { 0.0 };
    // SAFETY: a number whose size fits.
    i64::from(N) * i64::from(unsafe { (sum * scale).to_int_unchecked::<i32>() })
}

impl Totals {
    /// Adds the squared differences of the lines of a batch before `end`, which is one for all threads of a block.
    #[inline(always)]
    fn add_squares<P: Pixel>(&mut self, batch: Batch, lumas: Lumas, line: u32, end: u32) {
        if line + LINES <= end {
            self.add_squares_of::<P>(batch, lumas, LINES);
        } else {
            self.add_squares_of::<P>(batch, lumas, end.saturating_sub(line));
        }
    }

    /// The same, inlined twice: where all lines count, nothing is asked of each.
    #[inline(always)]
    fn add_squares_of<P: Pixel>(&mut self, batch: Batch, lumas: Lumas, lines: u32) {
        let (mut squares, mut colour_squares) = (0, 0);
        each_result!(LINES as usize, |i| {
            let difference = lumas[i][0] - lumas[i][1];
            let own = (i as u32) < lines;
            if own && P::SMALL {
                squares += (difference * difference) as u32;
            } else if own {
                self.squares += u64::from(difference.unsigned_abs()).pow(2);
            }
            if own {
                colour_squares += P::colour_squares(batch[i]);
            }
        });
        self.squares += u64::from(squares);
        self.colour_squares += u64::from(colour_squares);
    }

    /// The sums of a warp's threads, in the order of [`Sums`](shared_types::ssim::Sums).
    ///
    /// # Safety
    /// All lanes call it.
    #[inline(always)]
    unsafe fn over_warp(self) -> [u64; SUMS as usize] {
        // SAFETY: as the caller vouches.
        unsafe {
            [
                // SSIM may be negative: a sum in two's complement.
                warp::warp_reduce_by(self.ssim as u64, u64::wrapping_add),
                warp::warp_reduce_add(self.squares),
                warp::warp_reduce_add(self.colour_squares),
            ]
        }
    }

    /// Adds those of all threads to `sums`.
    ///
    /// # Safety
    /// All threads of the block, which are whole warps, call it. `sums` has [`SUMS`] elements.
    #[inline(always)]
    unsafe fn add_to(self, sums: SliceMut<u64>) {
        // SAFETY: as the caller vouches.
        unsafe {
            let own = self.over_warp();
            if warp::lane_id() == 0 {
                each_result!(SUMS as usize, |i| {
                    u64::atomic_add(sums.atomic(i as u32), own[i]);
                });
            }
        }
    }

    /// Adds up the threads of the block, then the blocks in `running`. The last of `blocks` writes what they come to,
    /// and leaves zeros for the next launch.
    ///
    /// Has a barrier.
    ///
    /// # Safety
    /// All threads of the block, which are [`BLOCK_THREADS`], call it. `running` has [`RUNNING`] elements, `sums`
    /// [`SUMS`].
    #[inline(always)]
    unsafe fn finish(self, running: SliceMut<u64>, blocks: u32, sums: SliceMut<u64>) {
        let warps = shared_array![u64; (WARPS * SUMS) as usize];
        let (warp, lane) = (thread::thread_idx_x() / warp::WARP_SIZE, warp::lane_id());
        // SAFETY: as the caller vouches. What lies in shared memory is written by one lane each, and read behind the
        // barrier. The fences make the sums of blocks that have counted themselves visible to the one that counts last,
        // which nobody else then touches.
        unsafe {
            let own = self.over_warp();
            if lane == 0 {
                each_result!(SUMS as usize, |i| warps.store(SUMS * warp + i as u32, own[i]));
            }
            thread::sync_threads();
            if warp > 0 {
                return;
            }
            if lane < SUMS {
                let over_warps = (0..WARPS)
                    .fold(0, |sum, warp| u64::wrapping_add(sum, warps.load(SUMS * warp + lane)));
                u64::atomic_add(running.atomic(lane), over_warps);
            }
            warp::sync_warp(warp::FULL_MASK);
            if lane == 0 {
                // One lane's is enough: a fence is of all that was ordered before it, too.
                thread::device_fence();
                let before = u64::atomic_add(running.atomic(SUMS), 1);
                if before + 1 == blocks.into() {
                    thread::device_fence();
                    each_result!(SUMS as usize, |i| {
                        sums.store(i as u32, running.load(i as u32));
                        running.store(i as u32, 0);
                    });
                    running.store(SUMS, 0);
                }
            }
        }
    }
}

/// Warps of a block of the fused kernels.
const WARPS: u32 = BLOCK_THREADS / warp::WARP_SIZE;

/// The moments of u, v, u² and v² under a part of the window.
type Moments = [f32; 4];

/// A column's moments in shared memory.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
struct Column(Moments);

/// Where a column's moments are in their row.
#[inline(always)]
const fn place(column: u32) -> u32 {
    column + column / GAP
}

/// Columns between two gaps.
const GAP: u32 = RUN;

/// The column of a block that a thread filters down. Eight lanes at a time write, whose places must differ in the last
/// three bits: they have two runs of columns that are 16 apart, which is 20 places.
#[inline(always)]
const fn column_of(thread: u32) -> u32 {
    const { assert!(RUN == 4) };
    let (lane, in_run) = (thread % 32, thread % RUN);
    thread - lane + lane / 8 * RUN + lane / RUN % 2 * 16 + in_run
}

/// Columns of shared memory from one row to the next.
const PITCH: u32 = place(BLOCK_THREADS);

/// Filters whose product is the window, [`DOWN`] times: their inner taps, between two of 1. As a polynomial in z + 1/z
/// the window has one real root and two pairs of complex ones.
const THREE: [f32; 1] = [1.960_053_3];
const FIVE: [f32; 3] = [1.934_477_4, 11.257_211, 1.934_477_4];
const OTHER_FIVE: [f32; 3] = [3.494_525_2, 5.348_836_4, 3.494_525_2];

/// What the filters' taps sum up to.
const DOWN: f64 = (2.0 + THREE[0] as f64) * sum_of(FIVE) * sum_of(OTHER_FIVE);

/// All taps of a filter.
const fn between_ones([a, b, c]: [f32; 3]) -> [f64; 5] {
    [1.0, a as f64, b as f64, c as f64, 1.0]
}

/// What the taps of a filter sum up to.
const fn sum_of(inner: [f32; 3]) -> f64 {
    let [a, b, c, d, e] = between_ones(inner);
    a + b + c + d + e
}

const _: () = assert!(is_the_window());

/// Whether each tap of the filters' product is the window's within 1e-7 of it.
const fn is_the_window() -> bool {
    let (one, other) = (between_ones(FIVE), between_ones(OTHER_FIVE));
    let three = [1.0, THREE[0] as f64, 1.0];
    let mut product = [0.0; WINDOW as usize];
    let mut i = 0;
    while i < 5 * 5 * 3 {
        let (a, b, c) = (i % 5, i / 5 % 5, i / 25);
        product[a + b + c] += one[a] * other[b] * three[c];
        i += 1;
    }
    let mut i = 0;
    while i < product.len() {
        let off = product[i] / DOWN / tap(i) as f64 - 1.0;
        if off > 1e-7 || off < -1e-7 {
            return false;
        }
        i += 1;
    }
    true
}

/// Weight along the row of a pixel of the window, whose columns are filtered down.
const fn tap_along(i: usize) -> f32 {
    (tap(i) as f64 / DOWN) as f32
}

/// What the filters keep of the rows before.
#[derive(Default)]
struct Window {
    three: [Moments; 2],
    five: [Moments; 4],
    other_five: [Moments; 4],
}

impl Window {
    /// Adds a row's moments, and returns those of the window that it completes, [`DOWN`] times.
    #[inline(always)]
    fn push(&mut self, row: Moments) -> Moments {
        let row = filter(&mut self.three, THREE, row);
        let row = filter(&mut self.five, FIVE, row);
        filter(&mut self.other_five, OTHER_FIVE, row)
    }
}

/// Adds a row to a filter, and returns what it completes. `ahead[i]` is what the rows so far add to the result `i` rows
/// on.
#[inline(always)]
fn filter<const N: usize, const INNER: usize>(
    ahead: &mut [Moments; N],
    inner: [f32; INNER],
    row: Moments,
) -> Moments {
    let done = zip(row, ahead[0], |row, ahead| row + ahead);
    each_result!(INNER, |i| {
        ahead[i] = zip(row, ahead[i + 1], |row, ahead| row.mul_add(inner[i], ahead));
    });
    ahead[N - 1] = row;
    done
}

/// Each moment of one with the same of the other.
#[inline(always)]
fn zip(a: Moments, b: Moments, f: impl Fn(f32, f32) -> f32) -> Moments {
    [f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2]), f(a[3], b[3])]
}

/// The lumas of a batch.
#[inline(always)]
fn lumas<P: Pixel>(batch: Batch) -> Lumas {
    batch.map(|pair| pair.map(P::luma))
}

/// Filters a batch down: of each row, the moments of the whole windows that it completes.
#[inline(always)]
fn filter_down(
    window: &mut Window,
    lumas: Lumas,
    twice: i32,
    params: &SsimParams,
) -> [Moments; LINES as usize] {
    let mut whole = [[0.0; 4]; LINES as usize];
    each_result!(LINES as usize, |i| {
        let [a, b] = lumas[i];
        let (u, v) = ((a + b - twice) as f32, (a - b) as f32);
        // C2 here costs nothing: all weights together are 1.
        whole[i] = window.push([u, v, u.mul_add(u, 2.0 * params.c2), v * v]);
    });
    whole
}

/// SSIM from the moments, of which u² has 2 C2 in it: numerator and denominator doubled twice over.
#[inline(always)]
fn ssim([u, v, uu, vv]: Moments, params: &SsimParams) -> f32 {
    let spread_u = (-u).mul_add(u, uu);
    let spread_v = (-v).mul_add(v, vv);
    let u = 2.0_f32.mul_add(params.middle, u);
    let mean = u.mul_add(u, 2.0 * params.c1);
    let above = (-v).mul_add(v, mean) * (spread_u - spread_v);
    let below = v.mul_add(v, mean) * (spread_u + spread_v);
    above * below.fast_recip()
}

/// A thread's column in a strip of a pair of pictures.
struct Strip<P> {
    a: ColumnView<P>,
    b: ColumnView<P>,
    /// The strip's last line.
    last: u32,
}

/// A batch of both pictures' pixels in the thread's column.
type Batch = [[u32; 2]; LINES as usize];

/// Their lumas.
type Lumas = [[i32; 2]; LINES as usize];

impl<P: Pixel> Strip<P> {
    /// The batch of the thread's column that begins at a line. Below the last line is the last line.
    #[inline(always)]
    fn fetch(&self, line: u32) -> Batch {
        let fetch = |i: u32| {
            let line = (line + i).min(self.last);
            // SAFETY: inside of both pictures, which are of one size.
            unsafe { [self.a.load(line).bits(), self.b.load(line).bits()] }
        };
        // One after the other: in a loop they would be an array in local memory.
        [fetch(0), fetch(1), fetch(2), fetch(3)]
    }
}

#[inline(always)]
fn fused<P: Pixel>(
    a: View<P>,
    b: View<P>,
    params: &SsimParams,
    map: ViewMut<f32>,
    running: SliceMut<u64>,
    sums: SliceMut<u64>,
) {
    let (width, height) = (a.width(), a.height());
    let same = width == b.width() && height == b.height();
    if !same || width < WINDOW || height < WINDOW || params.rows == 0 {
        return;
    }
    if running.len() < RUNNING || sums.len() < SUMS {
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
    let t = thread::thread_idx_x();
    let lines = params.rows.min(rows - y0);
    let own_column = column_of(t);
    // Pixels of the margin are counted by the blocks that they are no margin of.
    let own_columns =
        if columns - x0 <= BLOCK_COLUMNS { width } else { width.min(x0 + BLOCK_COLUMNS) };
    let own_lines = if rows - y0 <= params.rows { lines + MARGIN } else { lines };
    let twice = (2.0 * params.middle) as i32;
    let last_column = (x0 + own_column).min(width - 1);
    // SAFETY: inside of both pictures.
    let (a, b) = unsafe { (a.column(last_column, y0), b.column(last_column, y0)) };
    let strip = Strip { a, b, last: lines + MARGIN - 1 };
    // Of each batch, a thread filters four neighbours in one row; the last threads of a row repeat others, uncounted.
    let (row, own_first) = (t / ROW_THREADS, t % ROW_THREADS * RUN);
    let first = own_first.min(BLOCK_COLUMNS - RUN);
    let x = x0 + first;
    let inside = columns.min(x0 + BLOCK_COLUMNS);

    let buffer = shared_array![Column; (2 * LINES * PITCH) as usize];
    let mut window = Window::default();
    let mut totals = Totals::default();
    let mut next = strip.fetch(0);
    let mut line = 0;
    // No window ends in these lines.
    while line < MARGIN / LINES * LINES {
        let lumas = lumas::<P>(next);
        totals.add_squares::<P>(next, lumas, line, own_lines);
        filter_down(&mut window, lumas, twice, params);
        next = strip.fetch(line + LINES);
        line += LINES;
    }
    // SAFETY: all of these begin within the buffer.
    let (mine, run) =
        unsafe { (buffer.tail(place(own_column)), buffer.tail(row * PITCH + place(first))) };
    let whole_run = x + RUN <= inside;
    let mapped = map.width() > 0;
    while line < lines + MARGIN {
        let half = line / LINES % 2 * (LINES * PITCH);
        // SAFETY: the buffer has two halves.
        let (mine, run) = unsafe { (mine.tail(half), run.tail(half)) };
        let lumas = lumas::<P>(next);
        totals.add_squares::<P>(next, lumas, line, own_lines);
        let whole = filter_down(&mut window, lumas, twice, params);
        each_result!(LINES as usize, |i| {
            // SAFETY: inside; each element has one thread, and who read it two batches ago has passed the
            // barrier of the last one.
            unsafe { mine.store(i as u32 * PITCH, Column(whole[i])) };
        });
        // On its way while this batch is filtered along.
        next = strip.fetch(line + LINES);
        thread::sync_threads();
        // Also what does not count: a branch here would have filtering down end before it.
        let mut sums: [Moments; RUN as usize] = [[0.0; 4]; RUN as usize];
        each_result!((WINDOW + RUN) as usize - 1, |i| {
            // SAFETY: inside, since the run's last window ends with the block's columns; behind the barrier
            // after its writing.
            let Column(column) = unsafe { run.load(place(i as u32)) };
            each_result!(RUN as usize, |j| {
                if i >= j && i - j < WINDOW as usize {
                    sums[j] =
                        zip(column, sums[j], |column, sum| column.mul_add(tap_along(i - j), sum));
                }
            });
        });
        let values = [
            ssim(sums[0], params),
            ssim(sums[1], params),
            ssim(sums[2], params),
            ssim(sums[3], params),
        ];
        let sum = if whole_run {
            (values[0] + values[1]) + (values[2] + values[3])
        } else {
            let mut sum = 0.0;
            each_result!(RUN as usize, |j| {
                sum += if x + (j as u32) < inside { values[j] } else { 0.0 };
            });
            sum
        };
        let complete = line + row;
        let counts = first == own_first && complete >= MARGIN && complete < lines + MARGIN;
        totals.ssim += summand::<RUN>(sum, counts);
        if mapped && counts {
            let y = y0 + complete - MARGIN;
            each_result!(RUN as usize, |j| {
                let x = x + j as u32;
                if x < inside && map.contains(x, y) {
                    // SAFETY: inside, as just checked; each pixel has one thread.
                    unsafe { map.store(x, y, values[j]) };
                }
            });
        }
        line += LINES;
    }
    if x0 + own_column >= own_columns {
        (totals.squares, totals.colour_squares) = (0, 0);
    }
    let blocks = columns.div_ceil(BLOCK_COLUMNS) * rows.div_ceil(params.rows);
    // SAFETY: all threads of the block are still here; the lengths were checked.
    unsafe { totals.finish(running, blocks, sums) };
}

/// Defines the fused kernel for one kind of picture.
macro_rules! ssim_fused {
    ($(#[$doc:meta])* $name:ident, $type:ty) => {
        $(#[$doc])*
        ///
        /// Writes the [`SUMS`] sums; between launches `running` is zeros. `map`, where it has room, becomes the SSIM of
        /// each pixel whose window lies inside, from the window's first pixel on. Nothing happens if the pictures
        /// differ in size or are smaller than the window, or blocks are not of [`BLOCK_THREADS`], or too few.
        #[kernel(launch_bounds(BLOCK_THREADS, BLOCKS), barriers(2))]
        pub fn $name(
            a: View<$type>,
            b: View<$type>,
            params: SsimParams,
            map: ViewMut<f32>,
            running: SliceMut<u64>,
            sums: SliceMut<u64>,
        ) {
            fused(a, b, &params, map, running, sums);
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

/// # Safety
/// `x < width` and `y < height`.
#[inline(always)]
unsafe fn load_luma<P: Pixel>(view: View<P>, x: u32, y: u32) -> i32 {
    // SAFETY: as the caller vouches.
    P::luma(unsafe { view.load(x, y) }.bits())
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
        let (a, b) = unsafe { (load_luma(a, x, y), load_luma(b, x, y)) };
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
            let (a, b) = unsafe { (load_luma(a, x + i as u32, y), load_luma(b, x + i as u32, y)) };
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
    // SAFETY: all threads of the block are still here, whole warps as the launch checks; the length was checked.
    unsafe { totals.add_to(sums) };
}

macro_rules! ssim_rows {
    ($(#[$doc:meta])* $name:ident, $type:ty) => {
        $(#[$doc])*
        #[kernel(launch_bounds(TWO_PASS_THREADS), block_multiple(warp::WARP_SIZE))]
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
#[kernel(launch_bounds(TWO_PASS_THREADS), block_multiple(warp::WARP_SIZE))]
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
        let ssim =
            ((2.0 * a * b + c1) * (2.0 * cov + c2)) / ((a * a + b * b + c1) * (var_a + var_b + c2));
        totals.ssim = summand::<1>(ssim, true);
    }
    // SAFETY: all threads of the block are still here, whole warps as the launch checks; the length was checked.
    unsafe { totals.add_to(sums) };
}
