//! Stitch, the variant for any number of cameras that reads planes: adds the cameras one by one to a picture of sums.
//!
//! One launch of a `stitch_add` kernel per camera adds `weight · colour` and `weight` to the [`Sum`] of each panorama
//! pixel. It runs only over the camera's bounding box, except for the first camera, which sets the sums of the whole
//! panorama. A `stitch_finish` kernel then divides by the sum of the weights, and rounds once. Every step does the same
//! f32 arithmetic in the same order as [`planes`](crate::stitch::planes), so two cameras give the same panorama. Each
//! camera may have its own picture format.
//!
//! Cost per panorama pixel: 16 bytes written by the first camera, 32 bytes and the planes (up to 12 bytes) in the box of
//! each further camera, and 16 bytes read at the end.

use crate::colour::grade::{Grade, Mixed};
use crate::colour::vignette::factor;
use crate::io::{Cubic, Sampler2d, Target};
#[cfg(not(target_arch = "nvptx64"))]
use crate::stitch::cpu;
use crate::stitch::edge_boost;
use crate::stitch::planes::WeightedSum;
use crate::warp::camera::SourceLookup;
use core::convert::identity;
use cuda_std::prelude::*;
use glam::Vec3;
use shared_types::nv12::{Nv12, Nv12Mut, P010, P010Mut};
use shared_types::stitch::BLOCK_THREADS;
use shared_types::stitch::sum::{AddParams, Combine, FinishParams, Sum};
use shared_types::warp::CameraPlanes;
use shared_types::{Rgba8, Rgba16};

/// Defines the kernel that adds a camera, for a type of picture.
macro_rules! stitch_add {
    ($title:literal, $name:ident, $picture:ty, $sampled:expr $(, $cpu:path)?) => {
        #[doc = concat!("Adds ", $title, ".")]
        ///
        /// `sums` and the planes should have the size of the panorama. If planes are smaller, pixels outside them have
        /// weight 0. Nothing is written if the chroma plane of an NV12 picture is not half the size of its luma plane.
        #[kernel(launch_bounds(BLOCK_THREADS, 4) $(, cpu($cpu))?)]
        pub fn $name(
            picture: $picture,
            planes: CameraPlanes,
            params: AddParams,
            sums: ViewMut<Sum>,
        ) {
            add($sampled(picture), planes, &params, sums);
        }
    };
}

stitch_add!("an RGBA picture", stitch_add_rgba8, View<Rgba8>, identity, cpu::add);

stitch_add!("an NV12 picture", stitch_add_nv12, Nv12, identity, cpu::add);

stitch_add!("a P010 picture", stitch_add_p010, P010, identity, cpu::add);

stitch_add!("an RGBA picture with 16 bits per channel", stitch_add_rgba16, View<Rgba16>, identity);

stitch_add!(
    "an RGBA picture, sampled with a cubic filter",
    stitch_add_cubic,
    View<Rgba8>,
    Cubic,
    cpu::add_cubic
);

stitch_add!(
    "an RGBA picture with 16 bits per channel, sampled with a cubic filter",
    stitch_add_cubic_rgba16,
    View<Rgba16>,
    Cubic
);

stitch_add!(
    "an NV12 picture, whose luma is sampled with a cubic filter",
    stitch_add_cubic_nv12,
    Nv12,
    Cubic
);

/// Converts sums to an RGBA panorama. Pixels without a camera become opaque black.
#[kernel(launch_bounds(BLOCK_THREADS, 4), cpu(cpu::finish))]
pub fn stitch_finish_rgba8(sums: View<Sum>, params: FinishParams, out: ViewMut<Rgba8>) {
    finish(sums, &params, out);
}

/// Converts sums to an RGBA panorama with 16 bits per channel. Pixels without a camera become opaque black.
#[kernel(launch_bounds(BLOCK_THREADS, 4))]
pub fn stitch_finish_rgba16(sums: View<Sum>, params: FinishParams, out: ViewMut<Rgba16>) {
    finish(sums, &params, out);
}

/// Converts sums to an NV12 panorama. Pixels without a camera become black. Nothing is written if the chroma plane is
/// not half the size of the luma plane.
#[kernel(launch_bounds(BLOCK_THREADS, 4), cpu(cpu::finish))]
pub fn stitch_finish_nv12(sums: View<Sum>, params: FinishParams, out: Nv12Mut) {
    finish(sums, &params, out);
}

/// Converts sums to a P010 panorama. Pixels without a camera become black. Nothing is written if the chroma plane is
/// not half the size of the luma plane.
#[kernel(launch_bounds(BLOCK_THREADS, 4), cpu(cpu::finish))]
pub fn stitch_finish_p010(sums: View<Sum>, params: FinishParams, out: P010Mut) {
    finish(sums, &params, out);
}

/// The body of every kernel that adds a camera. One thread computes one panorama pixel.
#[device]
fn add<P: Sampler2d>(picture: P, planes: CameraPlanes, params: &AddParams, sums: ViewMut<Sum>) {
    let at = thread::index_2d().saturating_add(params.min);
    let inside = at.x < params.max.x && at.y < params.max.y && sums.contains(at.x, at.y);
    if !(inside && picture.is_whole()) {
        return;
    }
    let camera = SourceLookup { planes, size: picture.size() };
    let source = camera.source(at.x, at.y, params.min_weight);
    if source.is_none() && params.combine != Combine::START {
        return;
    }
    let mut sum = WeightedSum::default();
    if params.combine != Combine::START {
        // SAFETY: `sums` contains the pixel, as checked above, and only this thread accesses it.
        let Sum { colour, weight } = unsafe { sums.load(at.x, at.y) };
        sum = WeightedSum { colour, weight };
    }
    if let Some((place, weight)) = source {
        // SAFETY: `place` is inside the picture, and the picture is whole, as checked above.
        let levels = unsafe { picture.sample(place.x, place.y, &params.decode) };
        let factor = factor(&params.vignette, place);
        let AddParams { colour, offset, exact, .. } = *params;
        let grade = Mixed { colour, offset, exact: exact != 0 };
        sum.add(weight, grade.apply(levels * (255.0 / P::WHITE * factor), factor));
    }
    let sum = Sum { colour: sum.colour, weight: sum.weight };
    // SAFETY: `sums` contains the pixel, as checked above, and only this thread accesses it.
    unsafe { sums.store(at.x, at.y, sum) };
}

/// The body of the kernels that convert sums to a panorama. One thread computes one cell of the panorama
/// ([`Target::CELL`]).
#[device]
fn finish<O: Target>(sums: View<Sum>, params: &FinishParams, out: O) {
    let (width, height) = (out.width(), out.height());
    let cell = thread::index_2d();
    let inside = cell.x < width.div_ceil(O::CELL) && cell.y < height.div_ceil(O::CELL);
    if !(inside && out.is_whole()) {
        return;
    }
    let colour = |x: u32, y: u32| {
        let (x, y) = if params.flip != 0 { (width - 1 - x, height - 1 - y) } else { (x, y) };
        if !sums.contains(x, y) {
            return Vec3::ZERO;
        }
        // SAFETY: `sums` contains the pixel, as just checked.
        let Sum { colour, weight } = unsafe { sums.load(x, y) };
        let boost = if params.edge_boost != 0 { edge_boost(x, width) } else { 1.0 };
        WeightedSum { colour, weight }.levels(boost)
    };
    let cell = cell * O::CELL;
    // SAFETY: the panorama is whole and contains the cell's first pixel, as checked above. No other thread writes the
    // cell.
    unsafe { out.store(cell.x, cell.y, colour, &params.encode) };
}
