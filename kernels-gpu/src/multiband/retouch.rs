//! Panoramas that a kernel changes in place, in RGBA, NV12 and P010.

use crate::io::{Target, p010_levels, ten_bits, yuv_levels};
use crate::unroll::unroll;
use cuda_std::prelude::*;
use glam::{Vec3, vec3};
use shared_types::nv12::{Nv12Mut, P010Mut};
use shared_types::yuv::{RgbToYuv, YuvToRgb};
use shared_types::{Chroma, Chroma10, Rgba8};

/// The limit below which a change in levels is rounded to 0.
const INVISIBLE: f32 = 0.49;

/// A panorama that a kernel reads and writes in groups of 2×2 pixels.
pub(super) trait Retouch: Target {
    /// Adds `changes`, in R'G'B' levels, to the pixels from `(x, y)` on: this one, and those to the right, below, and
    /// below right. Changes of pixels outside the picture are ignored. The results are limited to 0 to 255 and rounded
    /// once. If all changes are 0, the pixels stay exactly as they are.
    ///
    /// # Safety
    /// - The picture must [be whole](Target::is_whole) and contain `(x, y)`.
    /// - In NV12 and P010, `x` and `y` must be even.
    /// - No other thread may access the pixels.
    unsafe fn retouch(
        &self,
        x: u32,
        y: u32,
        changes: [Vec3; 4],
        decode: &YuvToRgb,
        encode: &RgbToYuv,
    );
}

impl Retouch for ViewMut<Rgba8> {
    #[inline(always)]
    unsafe fn retouch(&self, x: u32, y: u32, changes: [Vec3; 4], _: &YuvToRgb, _: &RgbToYuv) {
        if are_invisible(&changes) {
            return;
        }
        let mut pixels = [Rgba8::BLACK; 4];
        unroll!(4, |i| {
            let (x, y) = (x + i as u32 % 2, y + i as u32 / 2);
            if self.contains(x, y) {
                // SAFETY: the picture contains the pixel, and the caller guarantees that no other thread accesses it.
                pixels[i] = unsafe { self.load(x, y) };
            }
        });
        unroll!(4, |i| {
            let (x, y) = (x + i as u32 % 2, y + i as u32 / 2);
            let Rgba8 { r, g, b, .. } = pixels[i];
            let colour = vec3(r.into(), g.into(), b.into()) + changes[i];
            let [r, g, b] = colour.to_array().map(GpuPower::to_u8_saturating);
            if self.contains(x, y) {
                // SAFETY: the reason is the same as above.
                unsafe { ViewMut::store(self, x, y, Rgba8::opaque(r, g, b)) };
            }
        });
    }
}

impl Retouch for Nv12Mut {
    #[inline(always)]
    unsafe fn retouch(
        &self,
        x: u32,
        y: u32,
        changes: [Vec3; 4],
        decode: &YuvToRgb,
        encode: &RgbToYuv,
    ) {
        if are_invisible(&changes) {
            return;
        }
        // SAFETY: the picture is whole, so the chroma plane has a sample for every cell. The caller guarantees that no
        // other thread accesses the cell. This applies to all accesses below.
        let chroma = unsafe { self.uv.load(x / 2, y / 2) };
        let (mut sum, mut pixels) = (Vec3::ZERO, 0.0);
        unroll!(4, |i| {
            let (x, y) = (x + i as u32 % 2, y + i as u32 / 2);
            if self.y.contains(x, y) {
                // SAFETY: the luma plane contains the pixel, as just checked.
                let luma = unsafe { self.y.load(x, y) };
                let levels = yuv_levels(luma, chroma, decode);
                // A stored value may be outside the R'G'B' range. It may stay there, but not move further away.
                let (low, high) = (levels.min(Vec3::ZERO), levels.max(Vec3::splat(255.0)));
                let change = (levels + changes[i]).clamp(low, high) - levels;
                sum += change;
                pixels += 1.0;
                let luma = encode.y.dot(change) + f32::from(luma);
                // SAFETY: the luma plane contains the pixel, as just checked.
                unsafe { self.y.store(x, y, luma.to_u8_saturating()) };
            }
        });
        let mean = sum / pixels;
        let (u, v) =
            (encode.cb.dot(mean) + f32::from(chroma.u), encode.cr.dot(mean) + f32::from(chroma.v));
        let chroma = Chroma { u: u.to_u8_saturating(), v: v.to_u8_saturating() };
        // SAFETY: the reason is the same as above.
        unsafe { self.uv.store(x / 2, y / 2, chroma) };
    }
}

impl Retouch for P010Mut {
    #[inline(always)]
    unsafe fn retouch(
        &self,
        x: u32,
        y: u32,
        changes: [Vec3; 4],
        decode: &YuvToRgb,
        encode: &RgbToYuv,
    ) {
        // A step of 10 bits is a quarter of a level.
        let mut steps = changes;
        unroll!(4, |i| steps[i] = changes[i] * 4.0);
        if are_invisible(&steps) {
            return;
        }
        let level = |sample: u16| f32::from(sample) * (1.0 / 256.0);
        // SAFETY: the picture is whole, so the chroma plane has a sample for every cell. The caller guarantees that no
        // other thread accesses the cell. This applies to all accesses below.
        let chroma = unsafe { self.uv.load(x / 2, y / 2) };
        let (mut sum, mut pixels) = (Vec3::ZERO, 0.0);
        unroll!(4, |i| {
            let (x, y) = (x + i as u32 % 2, y + i as u32 / 2);
            if self.y.contains(x, y) {
                // SAFETY: the luma plane contains the pixel, as just checked.
                let luma = unsafe { self.y.load(x, y) };
                let levels = p010_levels(luma, chroma, decode);
                // A stored value may be outside the R'G'B' range. It may stay there, but not move further away.
                let (low, high) = (levels.min(Vec3::ZERO), levels.max(Vec3::splat(255.0)));
                let change = (levels + changes[i]).clamp(low, high) - levels;
                sum += change;
                pixels += 1.0;
                let luma = encode.y.dot(change) + level(luma);
                // SAFETY: the luma plane contains the pixel, as just checked.
                unsafe { self.y.store(x, y, ten_bits(luma)) };
            }
        });
        let mean = sum / pixels;
        let (u, v) = (encode.cb.dot(mean) + level(chroma.u), encode.cr.dot(mean) + level(chroma.v));
        // SAFETY: the reason is the same as above.
        unsafe { self.uv.store(x / 2, y / 2, Chroma10 { u: ten_bits(u), v: ten_bits(v) }) };
    }
}

/// Returns whether the changes do not change any stored level. Luma and chroma change by at most as much as the colours.
#[inline(always)]
fn are_invisible(changes: &[Vec3; 4]) -> bool {
    let mut most = Vec3::ZERO;
    unroll!(4, |i| most = most.max(changes[i].abs()));
    most.max_element() < INVISIBLE
}
