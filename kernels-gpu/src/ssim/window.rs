//! The Gaussian window, factored into three short filters. A `const` assertion checks that their convolution is the
//! window.

use super::luma::Lumas;
use crate::unroll::unroll;
use cuda_std::device;
// On the host, `core` or `std` provides these methods of `f32`.
#[cfg(target_arch = "nvptx64")]
use cuda_std::GpuFloat as _;
use shared_types::ssim::{LINES, SsimParams, TAPS, WINDOW};

/// Returns the window's weight for its pixel `i` along one axis.
pub(super) const fn tap(i: usize) -> f32 {
    if i < TAPS.len() { TAPS[i] } else { TAPS[WINDOW as usize - 1 - i] }
}

/// The weighted sums of u, v, u² and v² under the window or a part of it. For the lumas a and b of the two pictures, u
/// is a + b and v is a − b.
pub(super) type Moments = [f32; 4];

/// The inner tap of the first of three filters. The convolution of these filters is the window times [`DOWN`], and
/// their first and last taps are 1. Such filters exist because the window, as a polynomial in `z + 1/z`, has one real
/// root and two pairs of complex roots.
pub(super) const THREE: [f32; 1] = [1.960_053_3];

/// The inner taps of the second of the three filters.
pub(super) const FIVE: [f32; 3] = [1.934_477_4, 11.257_211, 1.934_477_4];

/// The inner taps of the third of the three filters.
pub(super) const OTHER_FIVE: [f32; 3] = [3.494_525_2, 5.348_836_4, 3.494_525_2];

/// The factor between the window and the convolution of the three filters. It is the sum of the convolution's taps: the
/// product of the sums of each filter's taps.
pub(super) const DOWN: f64 = (2.0 + THREE[0] as f64) * sum_of(FIVE) * sum_of(OTHER_FIVE);

/// Returns all five taps of a filter, given the inner ones.
pub(super) const fn between_ones([a, b, c]: [f32; 3]) -> [f64; 5] {
    [1.0, a as f64, b as f64, c as f64, 1.0]
}

/// Returns the sum of a filter's five taps, given the inner ones.
pub(super) const fn sum_of(inner: [f32; 3]) -> f64 {
    let [a, b, c, d, e] = between_ones(inner);
    a + b + c + d + e
}

const _: () = assert!(is_the_window());

/// Returns whether each tap of the filters' convolution, divided by [`DOWN`], equals the window's tap within a relative
/// error of 1e-7.
pub(super) const fn is_the_window() -> bool {
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

/// Returns the weight of pixel `i` of the window for horizontal filtering, which also divides by [`DOWN`].
pub(super) const fn tap_along(i: usize) -> f32 {
    (tap(i) as f64 / DOWN) as f32
}

/// The partial results of the three filters: contributions of the rows so far to the results of later rows.
#[derive(Default)]
pub(super) struct Window {
    pub(super) three: [Moments; 2],
    pub(super) five: [Moments; 4],
    pub(super) other_five: [Moments; 4],
}

impl Window {
    /// Adds the values of a row. Returns the moments, times [`DOWN`], of the window that ends at this row.
    #[device]
    pub(super) fn push(&mut self, row: Moments) -> Moments {
        let row = filter(&mut self.three, THREE, row);
        let row = filter(&mut self.five, FIVE, row);
        filter(&mut self.other_five, OTHER_FIVE, row)
    }
}

/// Adds a row to a filter, and returns the result that this row completes. `ahead[i]` is the contribution of the rows
/// so far to the result that the row after `i` more rows completes.
#[device]
pub(super) fn filter<const N: usize, const INNER: usize>(
    ahead: &mut [Moments; N],
    inner: [f32; INNER],
    row: Moments,
) -> Moments {
    let done = zip(row, ahead[0], |row, ahead| row + ahead);
    unroll!(INNER, |i| {
        ahead[i] = zip(row, ahead[i + 1], |row, ahead| row.mul_add(inner[i], ahead));
    });
    ahead[N - 1] = row;
    done
}

/// Returns `f` of each moment of `a` and the same moment of `b`.
#[device]
pub(super) fn zip(a: Moments, b: Moments, f: impl Fn(f32, f32) -> f32) -> Moments {
    [f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2]), f(a[3], b[3])]
}

/// Filters a batch of rows vertically. Returns the moments of the window that ends at each row. `twice` is twice the
/// middle level, which is subtracted from u.
#[device]
pub(super) fn filter_down(
    window: &mut Window,
    lumas: Lumas,
    twice: i32,
    params: &SsimParams,
) -> [Moments; LINES as usize] {
    let mut whole = [[0.0; 4]; LINES as usize];
    unroll!(LINES as usize, |i| {
        let [a, b] = lumas[i];
        let (u, v) = ((a + b - twice) as f32, (a - b) as f32);
        // Add 2 C2 to u² here, where it costs no instruction. The weights of the window sum to 1, so the moment of u²
        // increases by 2 C2.
        whole[i] = window.push([u, v, u.mul_add(u, 2.0 * params.c2), v * v]);
    });
    whole
}
