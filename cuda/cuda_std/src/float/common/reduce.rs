//! Reduction of an angle to the nearest multiple of π/2.

use super::reduce_large::reduce_large;
use super::terms::{FRAC_PI_2, SMALL_ANGLE};
use super::{Float, consts, fma, nearest, product};

/// An angle: `quarter_turns` times π/2, plus the sum of `hi` and `lo`, which is in ±π/4 or slightly
/// beyond. Only the last two bits of `quarter_turns` are significant.
#[derive(Clone, Copy)]
pub(in crate::float) struct Reduced {
    pub(in crate::float) quarter_turns: u32,
    pub(in crate::float) hi: Float,
    pub(in crate::float) lo: Float,
}

/// Reduces the angle `x`, which is not negative. Infinity and NaN give NaN.
#[inline(always)]
pub(super) fn reduce(x: Float) -> Reduced {
    if x < SMALL_ANGLE { reduce_small(x) } else { reduce_large(x) }
}

/// Subtracts the multiple of π/2 in three parts (Cody and Waite 1980).
#[inline(always)]
fn reduce_small(x: Float) -> Reduced {
    let (n, quarter_turns) = nearest(x, consts::FRAC_2_PI);
    let rest = fma(-n, FRAC_PI_2[0], x);
    // The difference may cancel, so its error is computed from the rounded product and its error.
    let part = product(n, FRAC_PI_2[1]);
    let part_lo = fma(n, FRAC_PI_2[1], -part);
    let hi = rest - part;
    let lo = fma(-n, FRAC_PI_2[2], ((rest - hi) - part) - part_lo);
    Reduced { quarter_turns: quarter_turns as u32, hi, lo }
}
