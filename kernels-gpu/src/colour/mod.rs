//! Colour analysis: sums over the overlap of two cameras, from which the host computes gains and gammas. `grade`
//! applies gains and gammas to pixels.
//!
//! Once per warp, [`find_overlap`] finds the bounding box of the overlap, and [`map_overlap`] stores the nearest source
//! pixel of each camera for every panorama pixel of the box. Then, for each pair of frames, one launch computes the
//! sums (`sums.rs`). They are sums of integers, so they are bit-identical on every run, on CPU and GPU.
//!
//! The kernels read source pixels without interpolation, because interpolation would hide pixels clipped at white.
//! Cost: for each panorama pixel of the overlap, the kernel reads 8 bytes of this map and a pixel of each picture.
//! Without the map, it would read 24 bytes from the six planes of the warp. A sum over the whole panorama would read
//! even more: with two 4K cameras (`rigs/home.toml`), the panorama has eight times as many pixels as the overlap.

#[cfg(not(target_arch = "nvptx64"))]
mod cpu;
pub(crate) mod grade;
pub(crate) mod shoulder;
mod sums;
pub mod vignette;

pub use grade::corrected;

use crate::colour::sums::{add_blocks, colour_sums, column_sums};
use crate::warp::camera::SourceLookup;
use cuda_std::prelude::*;
use glam::{UVec2, Vec2, uvec2};
use shared_types::Rgba8;
use shared_types::colour::{
    BLOCK, BLOCK_ROWS, BLOCK_THREADS, ColourSums, OverlapBox, OverlapPixel, OverlapRule,
    PIXELS_PER_THREAD, SumParams,
};
use shared_types::nv12::{Nv12, P010};
use shared_types::warp::CameraPlanes;

/// Extends a box until it contains the overlap: all panorama pixels at which both cameras contribute. A camera
/// contributes if its planes contain the pixel, its weight is as large as `rule` requires, and its source coordinates
/// are inside its picture. `left` and `right` are the sizes of the pictures.
///
/// `corners` has four elements: the first column and row of the box, then the column and row after its last pixel. The
/// caller initialises them to [`OverlapBox::EMPTY`].
#[kernel(launch_bounds(BLOCK_THREADS, 4))]
pub fn find_overlap(
    planes_left: CameraPlanes,
    planes_right: CameraPlanes,
    left: UVec2,
    right: UVec2,
    rule: OverlapRule,
    corners: SliceMut<u32>,
) {
    let pair = pair([planes_left, planes_right], [left, right], rule);
    let (x, first) = (thread::index_1d(), first_row());
    let (mut low, mut high) = (u32::MAX, 0);
    for i in 0..PIXELS_PER_THREAD {
        let y = first + i * BLOCK[1];
        if pair.sources(x, y).is_some() {
            (low, high) = (low.min(y), y + 1);
        }
    }
    if low < high && corners.len() >= 4 {
        // SAFETY: `corners` has at least four elements, as checked above, and all threads access them only with
        // atomics.
        unsafe {
            use cuda_std::atomic::AtomicMinMax;
            u32::atomic_min(corners.atomic(0), x);
            u32::atomic_min(corners.atomic(1), low);
            u32::atomic_max(corners.atomic(2), x + 1);
            u32::atomic_max(corners.atomic(3), high);
        }
    }
}

/// Writes one element of `out` for each panorama pixel in the bounding box of the overlap: the nearest source pixel of
/// each camera, or [`OverlapPixel::NONE`] if one of the cameras does not contribute. Element `(0, 0)` of `out` is
/// panorama pixel `place.min`. `left` and `right` are the sizes of the pictures.
#[kernel(launch_bounds(BLOCK_THREADS, 4))]
pub fn map_overlap(
    planes_left: CameraPlanes,
    planes_right: CameraPlanes,
    left: UVec2,
    right: UVec2,
    rule: OverlapRule,
    place: OverlapBox,
    out: ViewMut<OverlapPixel>,
) {
    let pair = pair([planes_left, planes_right], [left, right], rule);
    let (x, first) = (thread::index_1d(), first_row());
    for i in 0..PIXELS_PER_THREAD {
        let y = first + i * BLOCK[1];
        if out.contains(x, y) {
            let at = uvec2(x, y).wrapping_add(place.min);
            let pixel = match pair.sources(at.x, at.y) {
                Some([left, right]) => OverlapPixel {
                    left: nearest(left, pair.left.size),
                    right: nearest(right, pair.right.size),
                },
                None => OverlapPixel::NONE,
            };
            // SAFETY: `(x, y)` is inside `out`, as just checked, and only this thread writes this element.
            unsafe { out.store(x, y, pixel) };
        }
    }
}

/// Two cameras of a warp, and the rule for their overlap.
struct Pair {
    left: SourceLookup,
    right: SourceLookup,
    rule: OverlapRule,
}

/// Returns the lookups for two cameras whose pictures have these sizes, limited to the source pixels that an
/// [`OverlapPixel`] can encode.
#[device]
fn pair(planes: [CameraPlanes; 2], sizes: [UVec2; 2], rule: OverlapRule) -> Pair {
    let camera = |planes, size: UVec2| SourceLookup {
        planes,
        size: size.min(UVec2::splat(u32::from(OverlapPixel::MAX) + 1)),
    };
    Pair { left: camera(planes[0], sizes[0]), right: camera(planes[1], sizes[1]), rule }
}

impl Pair {
    /// Returns the source coordinates of both cameras for panorama pixel `(x, y)`, or `None` if the pixel is outside the
    /// overlap.
    #[device]
    fn sources(&self, x: u32, y: u32) -> Option<[Vec2; 2]> {
        let OverlapRule { weight, share } = self.rule;
        let (left, l) = self.left.source(x, y, weight)?;
        let (right, r) = self.right.source(x, y, weight)?;
        let least = (share * (l + r)).max(weight);
        (l > least && r > least).then_some([left, right])
    }
}

/// Returns the column and row of the source pixel that is nearest to source coordinates in a picture of `size` pixels.
#[device]
fn nearest(place: Vec2, size: UVec2) -> [u16; 2] {
    let nearest = |at: f32, size: u32| at.round_ties_even().min(size as f32 - 1.0) as u16;
    [nearest(place.x, size.x), nearest(place.y, size.y)]
}

/// Returns the first row that this thread processes. Each further row is [`BLOCK`]`[1]` rows below the previous one.
#[device]
fn first_row() -> u32 {
    thread::block_idx_y() * BLOCK_ROWS + thread::thread_idx_y()
}

/// Defines the kernel that computes the colour sums for pictures of two formats.
macro_rules! colour_sums {
    ($(#[$doc:meta])* $name:ident, $left:ty, $right:ty) => {
        $(#[$doc])*
        ///
        /// A panorama pixel counts if both cameras contribute to it and neither camera's source pixel is clipped at
        /// white or nearly black ([`SATURATED`](shared_types::colour::SATURATED),
        /// [`BLACK`](shared_types::colour::BLACK)). The weight of a pixel in column `x` of the box is
        /// `max(1 − |x − centre| · per_column, 0)²`, rounded to a multiple of
        /// 1/[`WEIGHT_ONE`](shared_types::colour::WEIGHT_ONE).
        ///
        /// # Safety
        /// - Blocks must be [`BLOCK`]; the grid must cover `overlap` with [`BLOCK`]`[0]` columns and [`BLOCK_ROWS`]
        ///   rows per block.
        /// - `running` must have [`RUNNING_SUMS`](shared_types::colour::RUNNING_SUMS) elements, all 0; the kernel
        ///   resets them to 0. Concurrent launches must not share `running`.
        /// - `sums` must have element `params.element`, which no concurrent launch accesses.
        /// - `overlap` must come from [`map_overlap`] for pictures of the same or smaller sizes.
        #[kernel(launch_bounds(BLOCK_THREADS, 4), barriers(3), cpu(cpu::sums))]
        pub unsafe fn $name(
            left: $left,
            right: $right,
            overlap: View<OverlapPixel>,
            params: SumParams,
            running: SliceMut<u64>,
            sums: SliceMut<ColourSums>,
        ) {
            // SAFETY: the caller guarantees the conditions above, which are those of `column_sums` and `add_blocks`.
            // `sums` has this element.
            unsafe {
                let column = column_sums(left, right, overlap, first_row(), &params);
                if let Some(total) = add_blocks(column, running) {
                    let total = colour_sums::<$left, $right>(total, [&params.left, &params.right]);
                    sums.store(params.element, total);
                }
            }
        }
    };
}

colour_sums! {
    /// Computes the nine sums over the overlap of two RGBA pictures.
    colour_sums_rgba8, View<Rgba8>, View<Rgba8>
}
colour_sums! {
    /// Computes the nine sums over the overlap of two NV12 pictures.
    colour_sums_nv12, Nv12, Nv12
}
colour_sums! {
    /// Computes the nine sums over the overlap of two P010 pictures, from the upper 8 bits of their samples, rounded.
    colour_sums_p010, P010, P010
}
colour_sums! {
    /// Computes the nine sums over the overlap of an RGBA picture and an NV12 picture.
    colour_sums_rgba8_nv12, View<Rgba8>, Nv12
}
colour_sums! {
    /// Computes the nine sums over the overlap of an NV12 picture and an RGBA picture.
    colour_sums_nv12_rgba8, Nv12, View<Rgba8>
}
