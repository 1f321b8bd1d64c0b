//! The colour sums on the CPU: rows of the overlap on all cores. The results have the same bits as those of the kernel,
//! because both add integers.

use super::sums::{SUMS, Stored, colour_sums, column_weight};
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use rayon::prelude::*;
use shared_types::colour::{ColourSums, OverlapPixel, SumParams};
use std::vec::Vec;

/// Computes a launch of a kernel that `colour_sums!` defines.
///
/// # Safety
/// The conditions of the kernel apply, and all memory must be host memory.
pub(super) unsafe fn sums<L: Stored + Sync, R: Stored + Sync>(
    _: &LaunchConfig,
    left: L,
    right: R,
    overlap: View<OverlapPixel>,
    params: SumParams,
    _: SliceMut<u64>,
    sums: SliceMut<ColourSums>,
) -> bool {
    let weights: Vec<u64> =
        (0..overlap.width()).map(|x| column_weight(x, &params).into()).collect();
    let total = (0..overlap.height())
        .into_par_iter()
        .map(|y| {
            let mut total = [0_u64; SUMS];
            // SAFETY: the row exists, and the caller guarantees that it is valid.
            let row = unsafe { overlap.host_row(y) };
            for (pixel, weight) in row.iter().zip(&weights) {
                if pixel.left[0] > OverlapPixel::MAX {
                    continue;
                }
                let [[lx, ly], [rx, ry]] = [pixel.left, pixel.right].map(|at| at.map(u32::from));
                // SAFETY: the caller guarantees that the source pixels are inside these pictures.
                let (l, r) = unsafe { (left.stored(lx, ly), right.stored(rx, ry)) };
                if L::is_extreme(l, &params.left) || R::is_extreme(r, &params.right) {
                    continue;
                }
                let ([a, b, c, one], [d, e, f, _]) = (l.to_le_bytes(), r.to_le_bytes());
                for (sum, byte) in total.iter_mut().zip([a, b, c, d, e, f, one]) {
                    *sum += u64::from(byte) * weight;
                }
            }
            total
        })
        .reduce(|| [0; SUMS], |a, b| core::array::from_fn(|i| a[i] + b[i]));
    let total = colour_sums::<L, R>(total, [&params.left, &params.right]);
    // SAFETY: the caller guarantees that the element exists and that nothing else accesses it.
    unsafe { sums.store(params.element, total) };
    true
}
