//! The kernels for the first level of the cameras' pyramids: compare the pictures with the panorama.
//!
//! A block stages the differences of a tile in shared memory, and then reduces them. Even and odd columns are apart in
//! shared memory, so that the threads of a warp, which read every second column, have no bank conflicts.

use crate::colour::grade::corrected;
use crate::io::{Sampler2d, p010_levels, yuv_levels};
use crate::multiband::pyramid::{TAPS, cell, extent, fused, mean, origin, tap};
use crate::stitch::edge_boost;
use crate::unroll::unroll;
use crate::warp::camera::SourceLookup;
use cuda_std::GpuHalf;
use cuda_std::prelude::*;
use glam::{UVec2, Vec3, Vec4, uvec2, vec3, vec4};
use half::f16;
use shared_types::Rgba8;
use shared_types::multiband::{BLOCK, BLOCK_THREADS, Cell, SPLIT_CELLS, SplitCamera, SplitParams};
use shared_types::nv12::{Nv12, P010};
use shared_types::stitch::{MAX_CAMERAS, MIN_WEIGHT};
use shared_types::yuv::YuvToRgb;

/// The weight from which on the panorama shows only this camera, so its difference is 0 without any sample.
const ALONE: f32 = 0.999;

/// A pixel at which the panorama shows only this camera.
const ALONE_CELL: Cell = Cell { colour: [f16::ZERO; 3], weight: f16::ONE };

/// The weight of a staged pixel that the camera does not see.
const UNSEEN: f32 = -1.0;

/// The columns and rows of pixels that a block stages: two for each cell, and three more.
const STAGED: [u32; 2] = [2 * SPLIT_CELLS[0] + 3, 2 * SPLIT_CELLS[1] + 3];

/// The number of even columns that a block stages.
const EVEN: u32 = STAGED[0].div_ceil(2);

/// The number of rows of cells that a thread computes.
const RUN: usize = (SPLIT_CELLS[1] / BLOCK[1]) as usize;

/// Defines the kernel for the formats of the pictures and of the panorama.
macro_rules! multiband_split {
    ($(#[$doc:meta])* $name:ident, $picture:ty, $panorama:ty, $blocks:literal) => {
        $(#[$doc])*
        ///
        /// The index of a block along z is that of a camera. A camera sees a pixel if it contributes to it with the
        /// weights in its planes, which are those of the warp as it was rendered.
        ///
        /// # Safety
        /// - Blocks must be [`BLOCK`]. A block computes [`SPLIT_CELLS`] of a camera's part.
        /// - There must be a picture for each camera. All pictures and the panorama must be whole, and the panorama and
        ///   all weights must contain the parts of all cameras.
        /// - `cells` and `masks` must contain the parts of all cameras at level 1.
        #[kernel(launch_bounds(BLOCK_THREADS, $blocks), barriers(1), dims(3))]
        pub unsafe fn $name(
            pictures: Table<$picture, MAX_CAMERAS>,
            cameras: Table<SplitCamera, MAX_CAMERAS>,
            params: SplitParams,
            panorama: $panorama,
            cells: ViewMut<Cell>,
            masks: ViewMut<f16>,
        ) {
            let index = thread::block_idx_z();
            if let (Some(picture), Some(camera)) = (pictures.get(index), cameras.get(index)) {
                let camera = Compared { picture, camera, panorama, params };
                // SAFETY: the caller guarantees the conditions above, which are those of `split`.
                unsafe { camera.split(cells, masks) };
            }
        }
    };
}

multiband_split! {
    /// Compares RGBA pictures with an RGBA panorama.
    multiband_split_rgba8, View<Rgba8>, View<Rgba8>, 4
}

multiband_split! {
    /// Compares NV12 pictures with an NV12 panorama.
    multiband_split_nv12, Nv12, Nv12, 3
}

multiband_split! {
    /// Compares NV12 pictures with an RGBA panorama.
    multiband_split_nv12_rgba8, Nv12, View<Rgba8>, 3
}

multiband_split! {
    /// Compares RGBA pictures with an NV12 panorama.
    multiband_split_rgba8_nv12, View<Rgba8>, Nv12, 3
}

multiband_split! {
    /// Compares P010 pictures with a P010 panorama.
    multiband_split_p010, P010, P010, 3
}

/// A panorama whose pixels a kernel reads without interpolation.
trait Shown: Sampler2d {
    /// Returns the R'G'B' levels of pixel `(x, y)`.
    ///
    /// # Safety
    /// The panorama must be whole and contain the pixel.
    unsafe fn levels(&self, x: u32, y: u32, decode: &YuvToRgb) -> Vec3;
}

impl Shown for View<Rgba8> {
    #[inline(always)]
    unsafe fn levels(&self, x: u32, y: u32, _: &YuvToRgb) -> Vec3 {
        // SAFETY: the caller guarantees that the panorama contains the pixel.
        let Rgba8 { r, g, b, .. } = unsafe { self.load(x, y) };
        vec3(r.into(), g.into(), b.into())
    }
}

impl Shown for Nv12 {
    #[inline(always)]
    unsafe fn levels(&self, x: u32, y: u32, decode: &YuvToRgb) -> Vec3 {
        // SAFETY: the caller guarantees that the panorama contains the pixel and is whole.
        let (luma, chroma) = unsafe { (self.y.load(x, y), self.uv.load(x / 2, y / 2)) };
        yuv_levels(luma, chroma, decode)
    }
}

impl Shown for P010 {
    #[inline(always)]
    unsafe fn levels(&self, x: u32, y: u32, decode: &YuvToRgb) -> Vec3 {
        // SAFETY: the caller guarantees that the panorama contains the pixel and is whole.
        let (luma, chroma) = unsafe { (self.y.load(x, y), self.uv.load(x / 2, y / 2)) };
        p010_levels(luma, chroma, decode)
    }
}

/// A camera's picture, and the panorama to compare it with.
struct Compared<P, O> {
    picture: P,
    camera: SplitCamera,
    panorama: O,
    params: SplitParams,
}

impl<P: Sampler2d, O: Shown> Compared<P, O> {
    /// Writes the first level of the camera's differences and weights.
    ///
    /// # Safety
    /// All threads of the block must call it, and the conditions of the kernels that `multiband_split!` defines apply.
    #[inline(always)]
    unsafe fn split(&self, cells: ViewMut<Cell>, masks: ViewMut<f16>) {
        let [columns, rows] = STAGED;
        let staged = shared_array![Cell; (STAGED[0] * STAGED[1]) as usize];
        let part = &self.camera.part;
        let size = extent(part.size, 1);
        let first = uvec2(thread::block_idx_x(), thread::block_idx_y()) * UVec2::from(SPLIT_CELLS);
        // The branch is uniform for the block.
        if first.x >= size.x || first.y >= size.y {
            return;
        }
        let mut i = thread::rank();
        let mut differs = false;
        while i < columns * rows {
            let (x, y) = (i % columns, i / columns);
            let place = (first * 2 + uvec2(x, y)).wrapping_sub(UVec2::splat(2));
            // SAFETY: the caller guarantees the conditions of the kernels. `x` is less than `columns` and `y` less than
            // `rows`, so the element exists, and only this thread writes it.
            unsafe {
                let difference = self.difference(place);
                differs |= difference != ALONE_CELL;
                staged.store(y * columns + x / 2 + x % 2 * EVEN, difference);
            }
            i += BLOCK_THREADS;
        }
        let differs = thread::sync_threads_or(differs.into()) != 0;
        let column = thread::thread_idx_x();
        let row = thread::thread_idx_y() * RUN as u32;
        let mut sums = [(Vec4::ZERO, 0.0); RUN];
        if !differs {
            // The panorama shows only this camera, here and within the reach of the cells.
            sums = [(Vec4::W, 1.0); RUN];
        }
        // A loop, because with all loads in flight at once, the kernel would need too many registers.
        let lines = if differs { 2 * RUN as u32 + 3 } else { 0 };
        for j in 0..lines {
            let (mut line, mut mask) = (Vec4::ZERO, 0.0);
            unroll!(5, |i| {
                let x = column + i as u32 / 2 + i as u32 % 2 * EVEN;
                // SAFETY: the element exists, and was written before the barrier.
                let Cell { colour: [r, g, b], weight } =
                    unsafe { staged.load((2 * row + j) * columns + x) };
                let weight = weight.widen();
                let seen = if weight >= 0.0 { 1.0 } else { 0.0 };
                // The colour of an unseen pixel is 0.
                line = fused(line, vec4(r.widen(), g.widen(), b.widen(), seen), TAPS[i]);
                mask = weight.max(0.0).mul_add(TAPS[i], mask);
            });
            unroll!(RUN, |run| {
                let factor = tap(j.wrapping_sub(2 * run as u32)) * (1.0 / 256.0);
                let (sum, weight) = sums[run];
                sums[run] = (fused(sum, line, factor), mask.mul_add(factor, weight));
            });
        }
        let to = origin(part, 1);
        unroll!(RUN, |run| {
            let place = first + uvec2(column, row + run as u32);
            if place.x < size.x && place.y < size.y {
                let ((sum, mask), at) = (sums[run], to + place);
                // SAFETY: the caller guarantees that both outputs contain the part. Only this thread writes the cell.
                unsafe {
                    cells.store(at.x, at.y, cell(mean(sum), sum.w));
                    masks.store(at.x, at.y, f16::narrow_pair(mask, 0.0)[0]);
                }
            }
        });
    }

    /// Returns the difference of the picture from the panorama at a pixel of the camera's part, with the camera's weight
    /// in the panorama. The difference is 0 and the weight [`UNSEEN`] if the camera does not see the pixel.
    ///
    /// # Safety
    /// The conditions of the kernels that `multiband_split!` defines apply.
    #[inline(always)]
    unsafe fn difference(&self, place: UVec2) -> Cell {
        let SplitCamera { planes, weights, part, colour, offset, exact, decode } = &self.camera;
        if place.x >= part.size.x || place.y >= part.size.y {
            return cell(Vec3::ZERO, UNSEEN);
        }
        let at = place + part.min;
        debug_assert!(weights.contains(at.x, at.y));
        // SAFETY: the pixel is in the part, which the caller guarantees that the weights contain.
        let weight = unsafe { weights.load(at.x, at.y) };
        if weight > ALONE {
            return ALONE_CELL;
        }
        let lookup = SourceLookup { planes: *planes, size: self.picture.size() };
        let Some((source, _)) = lookup.source(at.x, at.y, MIN_WEIGHT) else {
            return cell(Vec3::ZERO, UNSEEN);
        };
        let shown = self.panorama.size();
        let stored = if self.params.flip != 0 { shown - 1 - at } else { at };
        // SAFETY: `source` is inside the picture. The caller guarantees that both are whole, and that the panorama
        // contains the part.
        let (levels, stored) = unsafe {
            (
                self.picture.sample(source.x, source.y, decode),
                self.panorama.levels(stored.x, stored.y, &self.params.decode),
            )
        };
        let boost = if self.params.edge_boost != 0 { edge_boost(at.x, shown.x) } else { 1.0 };
        let colour = corrected(colour, *offset, levels * (255.0 / P::WHITE), *exact != 0);
        let colour = (colour * (255.0 * boost)).min(Vec3::splat(255.0));
        cell(colour - stored, if weight > MIN_WEIGHT { weight } else { 0.0 })
    }
}
