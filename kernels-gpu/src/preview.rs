//! Preview: a panorama scaled down, for instance for a page.
//!
//! An output pixel is the mean of the panorama pixels that it covers. It takes a bilinear sample for about every two
//! pixels along each axis, which is exact for even factors. One thread computes one cell of the output
//! (`Target::CELL`). Cost: the kernel reads the panorama once.

use crate::io::{Sampler2d, Target};
use cuda_std::prelude::*;
use glam::{Vec3, vec2};
use shared_types::Rgba8;
use shared_types::nv12::{Nv12, Nv12Mut, P010, P010Mut};
use shared_types::warp::BLOCK_THREADS;
use shared_types::yuv::{RgbToYuv, YuvToRgb};

/// Defines the kernel for a pair of formats.
macro_rules! preview {
    ($title:literal, $name:ident, $panorama:ty => $out:ty) => {
        #[doc = concat!("Scales a panorama: ", $title, ". Nothing is written if planes do not have the sizes of one picture.")]
        #[kernel(launch_bounds(BLOCK_THREADS))]
        pub fn $name(panorama: $panorama, decode: YuvToRgb, encode: RgbToYuv, out: $out) {
            scale(panorama, &decode, &encode, out);
        }
    };
}

preview!("RGBA to RGBA", preview_rgba8, View<Rgba8> => ViewMut<Rgba8>);
preview!("NV12 to NV12", preview_nv12, Nv12 => Nv12Mut);
preview!("NV12 to RGBA", preview_nv12_rgba8, Nv12 => ViewMut<Rgba8>);
preview!("RGBA to NV12", preview_rgba8_nv12, View<Rgba8> => Nv12Mut);
preview!("P010 to P010", preview_p010, P010 => P010Mut);

/// The body of the kernels.
#[device]
fn scale<P: Sampler2d, O: Target>(panorama: P, decode: &YuvToRgb, encode: &RgbToYuv, out: O) {
    let cell = thread::index_2d() * O::CELL;
    let (width, height, from) = (out.width(), out.height(), panorama.size());
    let is_whole = panorama.is_whole() && out.is_whole() && from.x > 0 && from.y > 0;
    if !is_whole || cell.x >= width || cell.y >= height {
        return;
    }
    let scale = from.as_vec2() / vec2(width as f32, height as f32);
    let counts = (scale * 0.5).ceil();
    let (columns, rows) = (counts.x as u32, counts.y as u32);
    let (step, last) = (scale / counts, (from - 1).as_vec2());
    let colour = |x: u32, y: u32| {
        let first = vec2(x as f32, y as f32) * scale - 0.5;
        let mut sum = Vec3::ZERO;
        for row in 0..rows {
            for column in 0..columns {
                let place = first + (vec2(column as f32, row as f32) + 0.5) * step;
                let place = place.clamp(vec2(0.0, 0.0), last);
                // SAFETY: the panorama is whole, as checked above, and the position is clamped to its pixels.
                sum += unsafe { panorama.sample(place.x, place.y, decode) };
            }
        }
        sum * (255.0 / P::WHITE / (columns * rows) as f32)
    };
    // SAFETY: the output is whole and contains the cell's first pixel, as checked above, and only this thread writes the
    // cell.
    unsafe { out.store(cell.x, cell.y, colour, encode) };
}
