//! The kernels for the first level of a camera's pyramid: compare its picture with the panorama.

use crate::colour::grade::corrected;
use crate::io::Sampler2d;
use crate::multiband::pyramid::{Mean, Part, TAPS, cell, tap};
use crate::stitch::edge_boost;
use crate::unroll::unroll;
use crate::warp::camera::SourceLookup;
use cuda_std::GpuHalf;
use cuda_std::prelude::*;
use glam::{UVec2, Vec3, uvec2};
use half::f16;
use shared_types::Rgba8;
use shared_types::multiband::{BLOCK_THREADS, Cell, SPLIT_CELLS, SplitParams};
use shared_types::nv12::Nv12;
use shared_types::stitch::MIN_WEIGHT;
use shared_types::warp::CameraPlanes;

/// The weight from which on the panorama shows only this camera, so its difference is 0 without any sample.
const ALONE: f32 = 0.999;

/// The columns and rows of pixels that a block stages: two for each cell, and two or one more on each side.
const STAGED: [u32; 2] = [2 * SPLIT_CELLS[0] + 3, 2 * SPLIT_CELLS[1] + 3];

/// Defines the kernel for the formats of the picture and of the panorama.
macro_rules! multiband_split {
    ($(#[$doc:meta])* $name:ident, $picture:ty, $panorama:ty) => {
        $(#[$doc])*
        ///
        /// The camera sees a pixel if it contributes to it with the weights in `planes`, which are those of the warp as
        /// it was rendered. `weights` are the weights with which the panorama was stitched. Nothing is written if the
        /// chroma plane of an NV12 image is not half the size of its luma plane.
        ///
        /// # Safety
        /// Blocks must have [`BLOCK_THREADS`] threads. A block computes [`SPLIT_CELLS`] of the camera's part.
        #[kernel(launch_bounds(BLOCK_THREADS, 4), barriers(1))]
        pub unsafe fn $name(
            picture: $picture,
            planes: CameraPlanes,
            weights: View<f32>,
            panorama: $panorama,
            params: SplitParams,
            cells: ViewMut<Cell>,
            masks: ViewMut<f16>,
        ) {
            let camera = Compared { picture, planes, weights, panorama, params };
            // SAFETY: the caller guarantees the condition above, which is that of `split`.
            unsafe { camera.split(cells, masks) };
        }
    };
}

multiband_split! {
    /// Compares an RGBA picture with an RGBA panorama.
    multiband_split_rgba8, View<Rgba8>, View<Rgba8>
}

multiband_split! {
    /// Compares an NV12 picture with an NV12 panorama.
    multiband_split_nv12, Nv12, Nv12
}

multiband_split! {
    /// Compares an NV12 picture with an RGBA panorama.
    multiband_split_nv12_rgba8, Nv12, View<Rgba8>
}

multiband_split! {
    /// Compares an RGBA picture with an NV12 panorama.
    multiband_split_rgba8_nv12, View<Rgba8>, Nv12
}

/// A camera's picture, and the panorama to compare it with.
struct Compared<P, O> {
    picture: P,
    planes: CameraPlanes,
    weights: View<f32>,
    panorama: O,
    params: SplitParams,
}

impl<P: Sampler2d, O: Sampler2d> Compared<P, O> {
    /// Writes the first level of the camera's differences and weights.
    ///
    /// # Safety
    /// All threads of the block must call it, and the block must have [`BLOCK_THREADS`] threads.
    #[inline(always)]
    unsafe fn split(&self, cells: ViewMut<Cell>, masks: ViewMut<f16>) {
        if !(self.picture.is_whole() && self.panorama.is_whole()) {
            return;
        }
        let [columns, rows] = STAGED;
        let staged_cells = shared_array![Cell; (STAGED[0] * STAGED[1]) as usize];
        let staged_masks = shared_array![f16; (STAGED[0] * STAGED[1]) as usize];
        let first = uvec2(thread::block_idx_x(), thread::block_idx_y()) * UVec2::from(SPLIT_CELLS);
        let mut i = thread::rank();
        while i < columns * rows {
            let place = (first * 2 + uvec2(i % columns, i / columns)).wrapping_sub(UVec2::splat(2));
            let (difference, mask) = self.difference(place);
            // SAFETY: `i` is inside both arrays, and only this thread writes the elements.
            unsafe {
                staged_cells.store(i, difference);
                staged_masks.store(i, f16::narrow_pair(mask, 0.0)[0]);
            }
            i += BLOCK_THREADS;
        }
        thread::sync_threads();
        let part = Part::of(&self.params.part, 1);
        let mut i = thread::rank();
        while i < SPLIT_CELLS[0] * SPLIT_CELLS[1] {
            let in_block = uvec2(i % SPLIT_CELLS[0], i / SPLIT_CELLS[0]);
            i += BLOCK_THREADS;
            let (mut mean, mut mask) = (Mean::NONE, 0.0);
            let corner = 2 * in_block.y * columns + 2 * in_block.x;
            for j in 0..5 {
                let down = tap(j) * (1.0 / 256.0);
                unroll!(5, |i| {
                    let at = corner + j * columns + i as u32;
                    let factor = TAPS[i] * down;
                    // SAFETY: the window of the cell is inside both arrays, which were written before the barrier.
                    let (cell, weight) = unsafe { (staged_cells.load(at), staged_masks.load(at)) };
                    mean.add(cell, factor);
                    mask += factor * weight.widen();
                });
            }
            if let Some(at) = part.at(first + in_block)
                && cells.contains(at.x, at.y)
                && masks.contains(at.x, at.y)
            {
                // SAFETY: both outputs contain the cell, as just checked, and only this thread writes it.
                unsafe {
                    cells.store(at.x, at.y, mean.cell());
                    masks.store(at.x, at.y, f16::narrow_pair(mask, 0.0)[0]);
                }
            }
        }
    }

    /// Returns the difference of the picture from the panorama, and the camera's weight, at a pixel of the camera's part.
    /// The weight of the returned cell is 1 if the camera sees the pixel, and 0 otherwise.
    #[inline(always)]
    fn difference(&self, place: UVec2) -> (Cell, f32) {
        let params = &self.params;
        let at = place.wrapping_add(params.part.min);
        let (size, shown) = (self.picture.size(), self.panorama.size());
        let inside = place.x < params.part.size.x
            && place.y < params.part.size.y
            && at.x < shown.x
            && at.y < shown.y
            && self.weights.contains(at.x, at.y);
        let lookup = SourceLookup { planes: self.planes, size };
        let source = if inside { lookup.source(at.x, at.y, MIN_WEIGHT) } else { None };
        let Some((source, _)) = source else {
            return (cell(Vec3::ZERO, 0.0), 0.0);
        };
        // SAFETY: `weights` contains the pixel, as just checked.
        let weight = unsafe { self.weights.load(at.x, at.y) };
        let mask = if weight > MIN_WEIGHT { weight } else { 0.0 };
        if weight > ALONE {
            return (cell(Vec3::ZERO, 1.0), mask);
        }
        // SAFETY: `source` is inside the picture, and the picture is whole, as checked in `split`.
        let levels = unsafe { self.picture.sample(source.x, source.y, &params.decode) };
        let levels = levels * (255.0 / P::WHITE);
        let boost = if params.edge_boost != 0 { edge_boost(at.x, shown.x) } else { 1.0 };
        let colour = corrected(&params.colour, params.offset, levels, params.exact != 0);
        let colour = (colour * (255.0 * boost)).min(Vec3::splat(255.0));
        let at = if params.flip != 0 { shown - 1 - at } else { at };
        // SAFETY: the pixel is inside the panorama, as checked above, and the panorama is whole.
        let shown =
            unsafe { self.panorama.sample(at.x as f32, at.y as f32, &params.decode_panorama) };
        (cell(colour - shown, 1.0), mask)
    }
}
