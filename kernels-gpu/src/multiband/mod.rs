//! Multiband blending: changes a stitched panorama so that differences between cameras fade over a distance that fits
//! their size. Fine detail changes from one camera to the other within a few pixels, and differences in brightness over
//! up to a hundred.
//!
//! The method is that of Burt and Adelson, "A multiresolution spline with application to image mosaics" (1983), applied
//! to the differences between each camera's picture and the stitched panorama. With the stitched panorama B, the
//! pictures I and the weights w of cameras c, and K levels:
//!
//! 1. D is I − B at each pixel that camera c sees, and undefined elsewhere. D is 0 where c has the whole weight.
//! 2. A level is half as wide and high as the level before it, rounded up. Each of its cells is the mean of 5×5 cells of the level
//!    before, with the binomial weights (1, 4, 6, 4, 1)/16 along each axis. Undefined cells do not count; they are
//!    represented by a weight of 0. The weights w are averaged alike, but all cells count.
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
//! | `multiband_split_…` | one per camera | level 1 of D and w |
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

use crate::multiband::pyramid::{Part, up};
use crate::multiband::retouch::Retouch;
use cuda_std::prelude::*;
use glam::{UVec2, Vec3, uvec2};
use shared_types::Rgba8;
use shared_types::multiband::{ApplyParams, BLOCK_THREADS, Cell, WeightedCamera};
use shared_types::nv12::Nv12Mut;
use shared_types::stitch::{MAX_CAMERAS, MIN_WEIGHT};

/// Defines the kernel that changes a panorama, for a pixel format.
macro_rules! multiband_apply {
    ($(#[$doc:meta])* $name:ident, $panorama:ty) => {
        $(#[$doc])*
        ///
        /// `sums` is the first level of the combined area, and `cells` that of all cameras. Pixels outside the area, or
        /// without a camera, do not change. Nothing is written if the chroma plane of an NV12 panorama is not half the
        /// size of its luma plane.
        #[kernel(launch_bounds(BLOCK_THREADS, 4))]
        pub fn $name(
            cameras: Table<WeightedCamera, MAX_CAMERAS>,
            cells: View<Cell>,
            sums: View<Cell>,
            params: ApplyParams,
            panorama: $panorama,
        ) {
            apply(&cameras, cells, sums, &params, panorama);
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

/// The body of the kernels that change a panorama. One thread changes one cell of the panorama
/// ([`Target::CELL`](crate::io::Target::CELL)).
#[inline(always)]
fn apply<O: Retouch>(
    cameras: &Table<WeightedCamera, MAX_CAMERAS>,
    cells: View<Cell>,
    sums: View<Cell>,
    params: &ApplyParams,
    panorama: O,
) {
    let stored = params.from + thread::index_2d() * O::CELL;
    let (width, height) = (panorama.width(), panorama.height());
    if !(panorama.is_whole() && stored.x < width && stored.y < height) {
        return;
    }
    let area = Part { size: (params.size + 1) / 2, row: 0 };
    let change = |x: u32, y: u32| {
        let at = if params.flip != 0 { uvec2(width - 1 - x, height - 1 - y) } else { uvec2(x, y) };
        let place = at.wrapping_sub(params.min);
        if place.x >= params.size.x || place.y >= params.size.y {
            return Vec3::ZERO;
        }
        let Some(bands) = up(sums, area, place) else { return Vec3::ZERO };
        match expected(cameras, cells, at) {
            Some(first) => bands - first,
            None => Vec3::ZERO,
        }
    };
    // SAFETY: the panorama is whole and contains the cell's first pixel, as checked above. No other thread accesses the
    // cell.
    unsafe { panorama.retouch(stored.x, stored.y, change, &params.decode, &params.encode) };
}

/// Returns the mean of `up D(1)` over all cameras at a panorama pixel, weighted by the cameras' weights. Returns `None`
/// if no camera has any weight.
#[inline(always)]
fn expected(
    cameras: &Table<WeightedCamera, MAX_CAMERAS>,
    cells: View<Cell>,
    at: UVec2,
) -> Option<Vec3> {
    let (mut sum, mut total) = (Vec3::ZERO, 0.0);
    let mut index = 0;
    while let Some(WeightedCamera { part, weights }) = cameras.get(index) {
        index += 1;
        let place = at.wrapping_sub(part.min);
        if place.x >= part.size.x || place.y >= part.size.y || !weights.contains(at.x, at.y) {
            continue;
        }
        // SAFETY: `weights` contains the pixel, as just checked.
        let weight = unsafe { weights.load(at.x, at.y) };
        if weight > MIN_WEIGHT
            && let Some(colour) = up(cells, Part::of(&part, 1), place)
        {
            sum += colour * weight;
            total += weight;
        }
    }
    (total > 0.0).then(|| sum / total)
}
