//! Sampling with a cubic filter, for panoramas of still pictures.
//!
//! The filter is that of Keys (1981, "Cubic convolution interpolation for digital image processing") with a slope of
//! −0.6 at a distance of one pixel. On photographs that were downscaled by averaging, its signal-to-noise ratio was 0.7
//! to 1.6 dB above that of bilinear sampling. Slopes from −0.5 to −0.75 and Lanczos filters with two or three lobes
//! were within 0.3 dB of it. A sample reads 16 pixels instead of 4, and can exceed the range of the pixels around it.

use crate::io::rgba::Rgba;
use crate::io::sampler::{ChromaPlace, Sampler2d, fused, luma, to_rgb};
use crate::unroll::unroll;
use bytemuck::Pod;
use cuda_std::prelude::*;
use glam::{UVec2, Vec3};
use shared_types::nv12::Nv12;
use shared_types::yuv::YuvToRgb;

/// A picture that is sampled with a cubic filter. The chroma of an NV12 picture is sampled bilinearly.
#[derive(Clone, Copy)]
pub(crate) struct Cubic<P>(pub(crate) P);

impl<P: Rgba> Sampler2d for Cubic<View<P>> {
    const WHITE: f32 = 255.0;

    #[device]
    fn size(&self) -> UVec2 {
        Sampler2d::size(&self.0)
    }

    #[device]
    fn is_whole(&self) -> bool {
        true
    }

    #[device]
    unsafe fn sample(&self, u: f32, v: f32, _: &YuvToRgb) -> Vec3 {
        // SAFETY: the caller guarantees that the position is inside the picture.
        unsafe { filtered(&self.0, u, v, P::levels) }
    }
}

impl Sampler2d for Cubic<Nv12> {
    const WHITE: f32 = 255.0;

    #[device]
    fn size(&self) -> UVec2 {
        Sampler2d::size(&self.0)
    }

    #[device]
    fn is_whole(&self) -> bool {
        Nv12::is_whole(&self.0)
    }

    #[device]
    unsafe fn sample(&self, u: f32, v: f32, decode: &YuvToRgb) -> Vec3 {
        // SAFETY: the caller guarantees that the position is inside the picture, and that the picture is whole.
        unsafe {
            to_rgb(
                decode,
                filtered(&self.0.y, u, v, luma).x,
                ChromaPlace::around(u, v).mix(&self.0),
            )
        }
    }
}

/// Returns the filtered numbers at `(u, v)`. First, `levels` converts each pixel to numbers.
///
/// # Safety
/// The caller must ensure `0 ≤ u < width` and `0 ≤ v < height`.
#[device]
unsafe fn filtered<T: Pod>(view: &View<T>, u: f32, v: f32, levels: impl Fn(T) -> Vec3) -> Vec3 {
    // SAFETY: the caller guarantees that `u` and `v` are inside the picture.
    let (columns, rows) =
        unsafe { (Taps::around(u, view.width()), Taps::around(v, view.height())) };
    let mut sum = Vec3::ZERO;
    unroll!(4, |i| {
        let mut row = Vec3::ZERO;
        unroll!(4, |j| {
            // SAFETY: the taps are inside the picture.
            let pixel = levels(unsafe { view.load(columns.at(j as u32), rows.at(i as u32)) });
            row = fused(pixel, columns.weights[j], row);
        });
        sum = fused(row, rows.weights[i], sum);
    });
    sum
}

/// The four pixels along an axis that contribute to a sample. Beyond the edges, the last pixel is repeated.
struct Taps {
    /// The position of the second pixel.
    second: u32,
    /// The largest position.
    last: u32,
    /// The weights of the pixels, which add up to 1.
    weights: [f32; 4],
}

/// The slope of the filter at a distance of one pixel.
const SLOPE: f32 = -0.6;

impl Taps {
    /// Returns the four pixels around a position on an axis of `length` pixels.
    ///
    /// # Safety
    /// The caller must ensure `0 ≤ place < length`.
    #[device]
    unsafe fn around(place: f32, length: u32) -> Self {
        let floor = place.floor();
        // SAFETY: the caller guarantees that the position is at least 0 and less than a `u32`.
        let second = unsafe { floor.to_int_unchecked::<u32>() };
        Self { second, last: length - 1, weights: weights(place - floor) }
    }

    /// Returns the position of pixel `i` (0 to 3).
    #[device]
    fn at(&self, i: u32) -> u32 {
        (self.second + i).saturating_sub(1).min(self.last)
    }
}

/// Returns the weights of four adjacent pixels at a position that is `t` pixels (0 to 1) after the second one.
#[device]
pub(crate) fn weights(t: f32) -> [f32; 4] {
    let s = 1.0 - t;
    let (before, after) = (SLOPE * t * s * s, SLOPE * s * t * t);
    let near = ((SLOPE + 2.0) * t - (SLOPE + 3.0)) * t * t + 1.0;
    [before, near, 1.0 - before - near - after, after]
}
