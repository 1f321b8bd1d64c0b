//! Multiband blending: changes a stitched panorama so that differences between cameras fade over a distance that fits
//! their size. Fine detail changes from one camera to the other within a few pixels, and differences in brightness over
//! up to a hundred.
//!
//! The method is that of Burt and Adelson, "A multiresolution spline with application to image mosaics" (1983), applied
//! to the differences between each camera's picture and the stitched panorama. With the stitched panorama B, the
//! pictures I and the weights w of cameras c, and K levels:
//!
//! 1. D is I − B at each pixel that camera c sees, and undefined elsewhere. D is 0 where c has the whole weight.
//! 2. A level is half as wide and high as the level before it, rounded up. Each of its cells is the mean of 5×5 cells of
//!    the level before, with the binomial weights (1, 4, 6, 4, 1)/16 along each axis. Undefined cells do not count; they
//!    are represented by a weight of 0. The weights w are averaged alike, but all cells count.
//! 3. `up` interpolates a level at the cells of the level before, with the same binomial weights. Undefined cells do not
//!    count.
//! 4. The band of level k is S(k) = Σ w·(D(k) − up D(k+1)) / Σ w, over all cameras. At the last level, it is
//!    Σ w·D(K) / Σ w.
//! 5. The result is B + S(0) + up(S(1) + up(S(2) + … )). Σ w·D(0) is 0, because B is the weighted mean of the pictures,
//!    so S(0) = −Σ w·up D(1) / Σ w.
//!
//! If each camera's picture is split into bands instead of its difference from B, the sum is the same, because the bands
//! of B add up to B. The differences have two advantages: they are 0 outside the overlaps, so only the overlaps and
//! their surroundings have to be processed, and a picture needs no content beyond its edge. Masks may have any values
//! from 0 to 1, so a seam may fade to another path over time, and cameras may fade in and out.
//!
//! The kernels, in the order of their launches:
//!
//! | kernel | launches | result |
//! |---|---|---|
//! | `multiband_split_…` | one per pixel format of the pictures | level 1 of D and w, of all cameras |
//! | [`multiband_reduce`] | one per further level | the next level of D and w, of all cameras |
//! | [`multiband_combine`] | one per level, last level first | S(k) + up(S(k+1) + …) |
//! | `multiband_apply_…` | one | the changed panorama |
//!
//! Level 0 is never stored. The pyramids of all cameras are in one image per level, below each other, so that one launch
//! processes all of them. Colours are in levels (0 to 255) in half precision; their rounding changes the result by less
//! than 0.1.
//!
//! The kernels do not treat the left and the right edge of a full circle as neighbours: a seam there keeps its step.

mod pyramid;
mod retouch;
mod split;

pub use pyramid::*;
pub use split::*;

use crate::multiband::pyramid::{fused, mean, origin, up};
use crate::multiband::retouch::Retouch;
use crate::unroll::unroll;
use cuda_std::prelude::*;
use glam::{IVec2, UVec2, Vec3, Vec4, ivec2};
use shared_types::Rgba8;
use shared_types::multiband::{ApplyParams, BLOCK_THREADS, BORDER, Cell, WeightedCamera};
use shared_types::nv12::{Nv12Mut, P010Mut};
use shared_types::stitch::{MAX_CAMERAS, MIN_WEIGHT};

/// Defines the kernel that changes a panorama, for a pixel format.
macro_rules! multiband_apply {
    ($(#[$doc:meta])* $name:ident, $panorama:ty) => {
        $(#[$doc])*
        ///
        /// A thread changes 2×2 pixels. `sums` is the first level of the combined area, and `cells` that of all cameras.
        /// Pixels outside the area, or without a camera, do not change.
        ///
        /// # Safety
        /// `sums` must contain the area, and `cells` the parts of all cameras, with their borders. The weights of each
        /// camera must contain its part. The panorama must be whole.
        #[kernel(launch_bounds(BLOCK_THREADS, 2))]
        pub unsafe fn $name(
            cameras: Table<WeightedCamera, MAX_CAMERAS>,
            cells: View<Cell>,
            sums: View<Cell>,
            params: ApplyParams,
            panorama: $panorama,
        ) {
            // SAFETY: the caller guarantees the conditions above, which are those of `apply`.
            unsafe { apply(&cameras, cells, sums, &params, panorama) };
        }
    };
}

multiband_apply! {
    /// Adds the bands of all levels to an RGBA panorama.
    multiband_apply_rgba8, ViewMut<Rgba8>
}

multiband_apply! {
    /// Adds the bands of all levels to an NV12 panorama.
    multiband_apply_nv12, Nv12Mut
}

multiband_apply! {
    /// Adds the bands of all levels to a P010 panorama.
    multiband_apply_p010, P010Mut
}

/// The body of the kernels that change a panorama.
///
/// # Safety
/// The conditions of the kernels that `multiband_apply!` defines apply.
#[inline(always)]
unsafe fn apply<O: Retouch>(
    cameras: &Table<WeightedCamera, MAX_CAMERAS>,
    cells: View<Cell>,
    sums: View<Cell>,
    params: &ApplyParams,
    panorama: O,
) {
    let stored = params.from + thread::index_2d() * 2;
    let (width, height) = (panorama.width(), panorama.height());
    if stored.x >= width || stored.y >= height {
        return;
    }
    let flip = params.flip != 0;
    // In a flipped panorama, the pixel below right of the stored one is the first of the four.
    let first = if flip {
        ivec2(width as i32, height as i32) - 2 - stored.as_ivec2()
    } else {
        stored.as_ivec2()
    };
    let place = first - params.min.as_ivec2();
    let size = params.size.as_ivec2();
    if place.cmplt(IVec2::NEG_ONE).any() || place.cmpge(size).any() {
        return;
    }
    // SAFETY: `place` is from −1 to the last pixel of the area. The caller guarantees that the images contain the area
    // and all parts with their borders.
    let (bands, expected) =
        unsafe { (up(sums, UVec2::splat(BORDER), place), expected(cameras, cells, first)) };
    let mut changes = [Vec3::ZERO; 4];
    unroll!(4, |i| {
        let at = place + ivec2(i as i32 % 2, i as i32 / 2);
        let inside = at.cmpge(IVec2::ZERO).all() && at.cmplt(size).all();
        if inside && expected[i].w > 0.0 {
            changes[i] = mean(bands[i]) - mean(expected[i]);
        }
    });
    if flip {
        let [a, b, c, d] = changes;
        changes = [d, c, b, a];
    }
    // SAFETY: the caller guarantees that the panorama is whole. It contains the first pixel, as checked above. No other
    // thread accesses the pixels.
    unsafe { panorama.retouch(stored.x, stored.y, changes, &params.decode, &params.encode) };
}

/// Returns the sums of `up D(1)` over all cameras at 2×2 panorama pixels from `first` on, each times the camera's weight.
///
/// # Safety
/// The conditions of the kernels that `multiband_apply!` defines apply.
#[inline(always)]
unsafe fn expected(
    cameras: &Table<WeightedCamera, MAX_CAMERAS>,
    cells: View<Cell>,
    first: IVec2,
) -> [Vec4; 4] {
    let mut sums = [Vec4::ZERO; 4];
    let mut index = 0;
    while let Some(WeightedCamera { part, weights }) = cameras.get(index) {
        index += 1;
        let place = first - part.min.as_ivec2();
        if place.cmplt(IVec2::NEG_ONE).any() || place.cmpge(part.size.as_ivec2()).any() {
            continue;
        }
        let (mut shares, mut any) = ([0.0; 4], false);
        unroll!(4, |i| {
            let at = first + ivec2(i as i32 % 2, i as i32 / 2);
            let (x, y) = (at.x as u32, at.y as u32);
            if weights.contains(x, y) {
                // SAFETY: the plane contains the pixel, as just checked.
                let weight = unsafe { weights.load(x, y) };
                shares[i] = if weight > MIN_WEIGHT { weight } else { 0.0 };
                any |= weight > MIN_WEIGHT;
            }
        });
        if any {
            // SAFETY: `place` is from −1 to the last pixel of the part, which the image contains with its border.
            let coarse = unsafe { up(cells, origin(&part, 1), place) };
            unroll!(4, |i| {
                // A camera whose pyramid does not reach the pixel cannot be compared.
                let share = if coarse[i].w > 0.0 { shares[i] } else { 0.0 };
                sums[i] = fused(sums[i], mean(coarse[i]).extend(1.0), share);
            });
        }
    }
    sums
}
