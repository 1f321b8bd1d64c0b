//! Sliding windows over a row or column of elements. Each thread computes several adjacent results in registers.

use crate::unroll::unroll;
use cuda_std::prelude::*;

/// Calls the macro `$step` with the indices of all steps of the widest window, so that the macro can unroll a loop.
#[cfg(target_arch = "nvptx64")]
macro_rules! all_steps {
    ($step:ident) => {
        $step! {
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61
            62
        }
    };
}

/// Calls the macro `$step` in a loop. As in [`unroll`], copies of the steps would only take time to compile on the CPU.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! all_steps {
    ($step:ident) => {
        for step in 0..MAX_WINDOW {
            $step! { step }
        }
    };
}

/// The maximum number of elements in a window of [`slide`].
pub(crate) const MAX_WINDOW: u32 = 63;

/// Returns `R` results whose windows of `width` elements, at most [`MAX_WINDOW`], start at elements 0 to `R − 1`. Each
/// result folds `add` over its window in ascending order, starting with `zero`. The arguments of `add` are the result
/// so far, the element, and the index of the element in the window, called the step.
///
/// On the GPU, the loop over the steps is unrolled, so everything that depends on a step is known at compile time: taps
/// become constant operands. If `width` is known at compile time, no branch remains.
#[device]
pub(crate) fn slide<const R: usize, V: Copy, A: Copy>(
    width: u32,
    load: impl Fn(u32) -> V,
    zero: A,
    add: impl Fn(A, V, u32) -> A,
) -> [A; R] {
    let mut sums = [zero; R];
    // A ring of the `R` elements that the next step reads. Element `i` is at index `i % R`.
    let mut window: [V; R] = core::array::from_fn(|i| load(i as u32));
    'done: {
        macro_rules! steps {
            ($($step:tt)*) => {
                $(
                    let step: u32 = $step;
                    if step >= width {
                        break 'done;
                    }
                    if step > 0 {
                        window[(step as usize + R - 1) % R] = load(step + R as u32 - 1);
                    }
                    for result in 0..R {
                        sums[result] = add(sums[result], window[(step as usize + result) % R], step);
                    }
                )*
            };
        }
        all_steps!(steps);
    }
    sums
}

/// Returns `R` sums of products, whose windows start at elements 0 to `R − 1` as in [`slide`]. `width` is not limited,
/// because the loop over the steps is not unrolled. `tap` returns the factor for a step.
#[device]
pub(crate) fn slide_far<const R: usize>(
    width: u32,
    load: impl Fn(u32) -> f32,
    tap: impl Fn(u32) -> f32,
) -> [f32; R] {
    let mut sums = [0.0; R];
    let mut window: [f32; R] = core::array::from_fn(|i| load(i as u32));
    let mut step = 0;
    while step < width {
        let tap = tap(step);
        for result in 0..R {
            sums[result] = window[result].mul_add(tap, sums[result]);
        }
        step += 1;
        for result in 0..R - 1 {
            window[result] = window[result + 1];
        }
        // After the last step, no further element is needed.
        if step < width {
            window[R - 1] = load(step + R as u32 - 1);
        }
    }
    sums
}

/// Returns whether the windows of `width` elements around `many` adjacent elements, the first at `at`, are all inside
/// `0..extent`.
#[device]
pub(crate) fn all_fit(at: u32, many: u32, width: u32, extent: u32) -> bool {
    fits(at, width, extent) && fits(at + many - 1, width, extent)
}

/// Returns whether the window of `width` elements around `at` is inside `0..extent`.
#[device]
pub(crate) fn fits(at: u32, width: u32, extent: u32) -> bool {
    let radius = width / 2;
    at >= radius && at.wrapping_add(radius) < extent
}

/// Stores a column of results, from `(x, y)` down. Omits results for pixels outside the picture.
///
/// # Safety
/// No other thread may access these pixels.
#[device]
pub(crate) unsafe fn store_down<const R: usize>(
    out: ViewMut<f32>,
    (x, y): (u32, u32),
    results: [f32; R],
) {
    // A complete column takes a single branch. If each store had its own branch, the compiler would move the
    // computation into the branches, and the chains of additions would run one after the other.
    if out.contains(x, y + R as u32 - 1) {
        // SAFETY: the last pixel is inside `out`, so all pixels are. The caller guarantees that no other thread
        // accesses them.
        unroll!(R, |i| unsafe { out.store(x, y + i as u32, results[i]) });
    } else {
        unroll!(R, |i| {
            if out.contains(x, y + i as u32) {
                // SAFETY: the pixel is inside `out`, as just checked. The caller guarantees that no other thread
                // accesses it.
                unsafe { out.store(x, y + i as u32, results[i]) };
            }
        });
    }
}
