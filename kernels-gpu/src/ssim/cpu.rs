//! SSIM on the CPU: blocks of columns, each walked down row by row.
//!
//! A ring keeps the moments of the last 11 rows: those of u = a + b, v = a − b, u² and v², as in the fused kernels. When
//! the window of a row is complete, the rows are filtered vertically, and the result horizontally. The window is
//! symmetric, so 6 products are enough for 11 taps. The ring of a block of columns has 47 kB, so it stays in a
//! first-level cache of 48 KiB. All cores take blocks.

use super::luma::Pixel;
use super::window::tap;
use crate::cpu::vectorised;
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use rayon::prelude::*;
use shared_types::ssim::{
    BLOCK_COLUMNS, BLOCK_THREADS, MARGIN, ONE, RUNNING, SUMS, SsimParams, WINDOW,
};

/// The number of windows side by side in a block.
const COLUMNS: usize = 256;

/// The number of columns of a block, with the margin.
const WIDE: usize = COLUMNS + MARGIN as usize;

/// The number of windows one below the other in a block.
const ROWS: u32 = 64;

/// A row of a block: the moments u, v, u² and v².
type Moments = [[f32; WIDE]; 4];

/// The sums of a block; see [`SUMS`].
#[derive(Clone, Copy, Default)]
struct Totals {
    ssim: i64,
    squares: u64,
    colour_squares: u64,
}

/// A picture format of which the CPU computes rows of luma.
pub(super) trait Luma: Pixel {
    /// Returns the luma of a pixel.
    fn level(self) -> i32;

    /// Returns the sum of the squared differences of red, green and blue; 0 for luma formats.
    #[inline(always)]
    fn colours(_: Self, _: Self) -> i32 {
        0
    }
}

impl Luma for u8 {
    #[inline(always)]
    fn level(self) -> i32 {
        self.into()
    }
}

impl Luma for u16 {
    #[inline(always)]
    fn level(self) -> i32 {
        self.into()
    }
}

impl Luma for shared_types::Rgba8 {
    /// The weights are those of [`Pixel::luma`].
    #[inline(always)]
    fn level(self) -> i32 {
        let [r, g, b] = [self.r, self.g, self.b].map(i32::from);
        (19_595 * r + 38_470 * g + 7_471 * b + 32_768) >> 16
    }

    #[inline(always)]
    fn colours(a: Self, b: Self) -> i32 {
        let square = |a: u8, b: u8| (i32::from(a) - i32::from(b)).pow(2);
        square(a.r, b.r) + square(a.g, b.g) + square(a.b, b.b)
    }
}

/// Computes a launch of a fused kernel. The simulator runs a launch that writes no sums.
///
/// # Safety
/// The memory of all arguments must be valid host memory. Nothing else may access `map` and `sums` or write the
/// pictures.
pub(super) unsafe fn fused<P: Luma>(
    config: &LaunchConfig,
    a: View<P>,
    b: View<P>,
    params: SsimParams,
    map: ViewMut<f32>,
    running: SliceMut<u64>,
    sums: SliceMut<u64>,
) -> bool {
    let (width, height) = (a.width(), a.height());
    let same = width == b.width() && height == b.height();
    let room = running.len() >= RUNNING && sums.len() >= SUMS;
    if !same || width < WINDOW || height < WINDOW || params.rows == 0 || !room {
        return false;
    }
    let (columns, rows) = (width - MARGIN, height - MARGIN);
    let covers = config.block[0] == BLOCK_THREADS
        && config.grid[0] >= columns.div_ceil(BLOCK_COLUMNS)
        && config.grid[1] >= rows.div_ceil(params.rows);
    if !covers {
        return false;
    }
    let pair = Pair { a, b, params, map, columns, rows };
    let across = columns.div_ceil(COLUMNS as u32);
    let blocks = across * rows.div_ceil(ROWS);
    let total = (0..blocks)
        .into_par_iter()
        .map(|block| {
            let (x, y) = (block % across * COLUMNS as u32, block / across * ROWS);
            // SAFETY: the caller guarantees the memory, and no other block writes these values of the map.
            vectorised!(unsafe { pair.block(x, y) })
        })
        // The sums are integers, so they do not depend on the order.
        .reduce(Totals::default, |a, b| Totals {
            ssim: a.ssim + b.ssim,
            squares: a.squares + b.squares,
            colour_squares: a.colour_squares + b.colour_squares,
        });
    // SAFETY: the caller guarantees that nothing else accesses the sums, and the length was checked above.
    let sums = unsafe { sums.as_host_slice() };
    sums[..SUMS as usize].copy_from_slice(&[
        total.ssim as u64,
        total.squares,
        total.colour_squares,
    ]);
    true
}

/// Two pictures, and the number of windows along both axes.
struct Pair<P> {
    a: View<P>,
    b: View<P>,
    params: SsimParams,
    map: ViewMut<f32>,
    columns: u32,
    rows: u32,
}

impl<P: Luma> Pair<P> {
    /// Computes the windows of a block whose first window is at `(x, y)`.
    ///
    /// # Safety
    /// The first window must exist. The pictures must be valid host memory, and nothing else may access these values of
    /// the map.
    #[inline(always)]
    unsafe fn block(&self, x: u32, y: u32) -> Totals {
        let mut ring = [[[0.0; WIDE]; 4]; WINDOW as usize];
        let inside = ((self.columns - x) as usize).min(COLUMNS);
        let wide = inside + MARGIN as usize;
        let lines = ROWS.min(self.rows - y);
        // A block sums the squared differences of its own columns and rows. Only the rightmost and lowest add the
        // margin.
        let own_columns = if x + inside as u32 == self.columns { wide } else { inside };
        let own_lines = if y + lines == self.rows { lines + MARGIN } else { lines };
        let mut totals = Totals::default();
        for line in 0..lines + MARGIN {
            // SAFETY: the row is inside the pictures.
            let (a, b) = unsafe { (self.a.host_row(y + line), self.b.host_row(y + line)) };
            let columns = x as usize..x as usize + wide;
            let (a, b) = (&a[columns.clone()], &b[columns]);
            if line < own_lines {
                let (squares, colour_squares) = squares(&a[..own_columns], &b[..own_columns]);
                totals.squares += squares;
                totals.colour_squares += colour_squares;
            }
            self.moments(a, b, &mut ring[(line % WINDOW) as usize]);
            if line >= MARGIN {
                // The oldest row of the ring follows the newest one.
                let values = self.windows(&ring, ((line + 1) % WINDOW) as usize);
                totals.ssim += sum(&values, inside);
                // SAFETY: the caller guarantees it.
                unsafe { self.store(x, y + line - MARGIN, &values[..inside]) };
            }
        }
        totals
    }

    /// Computes the moments of a row of pixels. The last columns stay as they are if there are fewer pixels.
    #[inline(always)]
    fn moments(&self, a: &[P], b: &[P], [u, v, uu, vv]: &mut Moments) {
        let twice = (2.0 * self.params.middle) as i32;
        let c2 = 2.0 * self.params.c2;
        for (k, (a, b)) in a.iter().zip(b).take(WIDE).enumerate() {
            let (a, b) = (a.level(), b.level());
            let (sum, difference) = ((a + b - twice) as f32, (a - b) as f32);
            (u[k], v[k]) = (sum, difference);
            // The weights of the window sum to 1, so the moment of u² increases by 2 C2.
            (uu[k], vv[k]) = (sum * sum + c2, difference * difference);
        }
    }

    /// Returns the SSIM of a row of windows. `first` is the position of the windows' first row in the ring.
    #[inline(always)]
    fn windows(&self, ring: &[Moments; WINDOW as usize], first: usize) -> [f32; COLUMNS] {
        const MIDDLE: usize = MARGIN as usize / 2;
        const LAST: usize = MARGIN as usize;
        let row = |i: usize| &ring[(first + i) % WINDOW as usize];
        let rows: [&Moments; WINDOW as usize] = core::array::from_fn(row);
        let mut whole = [[0.0; COLUMNS]; 4];
        for (moment, whole) in whole.iter_mut().enumerate() {
            let rows = rows.map(|row| &row[moment]);
            let mut down = [0.0; WIDE];
            for k in 0..WIDE {
                let mut value = rows[MIDDLE][k] * tap(MIDDLE);
                for i in 0..MIDDLE {
                    value += (rows[i][k] + rows[LAST - i][k]) * tap(i);
                }
                down[k] = value;
            }
            for k in 0..COLUMNS {
                let mut value = down[k + MIDDLE] * tap(MIDDLE);
                for i in 0..MIDDLE {
                    value += (down[k + i] + down[k + LAST - i]) * tap(i);
                }
                whole[k] = value;
            }
        }
        let [u, v, uu, vv] = &whole;
        let (middle, c1) = (2.0 * self.params.middle, 2.0 * self.params.c1);
        let mut values = [0.0; COLUMNS];
        for k in 0..COLUMNS {
            let (u, v, uu, vv) = (u[k], v[k], uu[k], vv[k]);
            let (spread_u, spread_v) = (uu - u * u, vv - v * v);
            let u = u + middle;
            let mean = u * u + c1;
            let above = (mean - v * v) * (spread_u - spread_v);
            let below = (mean + v * v) * (spread_u + spread_v);
            let ratio = above / below;
            // Each SSIM is from −1 to 1 for valid levels. A NaN becomes −1, as in the kernels.
            let ratio = if ratio > -1.0 { ratio } else { -1.0 };
            values[k] = if ratio < 1.0 { ratio } else { 1.0 };
        }
        values
    }

    /// Writes SSIM values to the map, from `(x, y)` on. Omits values outside the map.
    ///
    /// # Safety
    /// Nothing else may access these values of the map.
    #[inline(always)]
    unsafe fn store(&self, x: u32, y: u32, values: &[f32]) {
        let map = self.map;
        if map.contains(x, y) {
            let count = values.len().min((map.width() - x) as usize);
            // SAFETY: the row exists, and all columns are inside the map. The caller guarantees the rest.
            unsafe {
                let to = map.host_address(y).add(x as usize);
                to.copy_from_nonoverlapping(values.as_ptr(), count);
            }
        }
    }
}

/// Returns the sums of the squared differences of luma and of the colours.
#[inline(always)]
fn squares<P: Luma>(a: &[P], b: &[P]) -> (u64, u64) {
    let (mut squares, mut colours) = (0_u64, 0_u64);
    if P::SMALL {
        // The sums over a row of a block fit into 32 bits.
        let (mut small, mut small_colours) = (0_i32, 0_i32);
        for (a, b) in a.iter().zip(b) {
            small += (a.level() - b.level()).pow(2);
            small_colours += P::colours(*a, *b);
        }
        (squares, colours) = (small as u64, small_colours as u64);
    } else {
        for (a, b) in a.iter().zip(b) {
            squares += u64::from((a.level() - b.level()).unsigned_abs()).pow(2);
        }
    }
    (squares, colours)
}

const _: () = assert!(WIDE * 3 * 255 * 255 <= i32::MAX as usize);

/// Returns the sum of the first `inside` SSIM values as a fixed-point number.
#[inline(always)]
fn sum(values: &[f32; COLUMNS], inside: usize) -> i64 {
    let mut sum = 0_i64;
    for value in &values[..inside] {
        // SAFETY: the value is from −1 to 1, so the product is from −`ONE` to `ONE`.
        sum += i64::from(unsafe { (value * ONE).to_int_unchecked::<i32>() });
    }
    sum
}
