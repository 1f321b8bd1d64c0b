//! Panoramas that a kernel changes in place, in RGBA and NV12.

use crate::io::{Target, yuv_levels};
use cuda_std::prelude::*;
use glam::{Vec3, vec3};
use shared_types::nv12::Nv12Mut;
use shared_types::yuv::{RgbToYuv, YuvToRgb};
use shared_types::{Chroma, Rgba8};

/// A panorama that a kernel reads and writes cell by cell.
pub(super) trait Retouch: Target {
    /// Adds `change`, in R'G'B' levels, to each pixel of the cell whose first pixel is `(x, y)`. The results are limited
    /// to 0 to 255 and rounded once. Pixels whose change is 0 stay exactly as they are.
    ///
    /// # Safety
    /// - The picture must [be whole](Target::is_whole) and contain `(x, y)`.
    /// - No other thread may access the cell.
    unsafe fn retouch(
        &self,
        x: u32,
        y: u32,
        change: impl Fn(u32, u32) -> Vec3,
        decode: &YuvToRgb,
        encode: &RgbToYuv,
    );
}

impl Retouch for ViewMut<Rgba8> {
    #[inline(always)]
    unsafe fn retouch(
        &self,
        x: u32,
        y: u32,
        change: impl Fn(u32, u32) -> Vec3,
        _: &YuvToRgb,
        _: &RgbToYuv,
    ) {
        let change = change(x, y);
        if change == Vec3::ZERO {
            return;
        }
        // SAFETY: the caller guarantees that the picture contains the pixel, and that no other thread accesses it.
        unsafe {
            let Rgba8 { r, g, b, .. } = self.load(x, y);
            let colour = vec3(r.into(), g.into(), b.into()) + change;
            let [r, g, b] = colour.to_array().map(GpuPower::to_u8_saturating);
            ViewMut::store(self, x, y, Rgba8::opaque(r, g, b));
        }
    }
}

impl Retouch for Nv12Mut {
    #[inline(always)]
    unsafe fn retouch(
        &self,
        x: u32,
        y: u32,
        change: impl Fn(u32, u32) -> Vec3,
        decode: &YuvToRgb,
        encode: &RgbToYuv,
    ) {
        // SAFETY: the picture is whole, so the chroma plane has a sample for every cell. The caller guarantees that no
        // other thread accesses the cell. This applies to all accesses below.
        let chroma = unsafe { self.uv.load(x / 2, y / 2) };
        let (mut sum, mut pixels) = (Vec3::ZERO, 0.0);
        for i in 0..4 {
            let (x, y) = (x + i % 2, y + i / 2);
            if !self.y.contains(x, y) {
                continue;
            }
            // SAFETY: the luma plane contains the pixel, as just checked.
            let luma = unsafe { self.y.load(x, y) };
            let levels = yuv_levels(luma, chroma, decode);
            // A stored value may be outside the R'G'B' range. It may stay there, but not move further away.
            let (low, high) = (levels.min(Vec3::ZERO), levels.max(Vec3::splat(255.0)));
            let change = (levels + change(x, y)).clamp(low, high) - levels;
            sum += change;
            pixels += 1.0;
            let luma = encode.y.dot(change) + f32::from(luma);
            // SAFETY: the luma plane contains the pixel, as just checked.
            unsafe { self.y.store(x, y, luma.to_u8_saturating()) };
        }
        if sum != Vec3::ZERO {
            let mean = sum / pixels;
            let [u, v] = [(chroma.u, encode.cb), (chroma.v, encode.cr)]
                .map(|(level, weights)| weights.dot(mean) + f32::from(level));
            let chroma = Chroma { u: u.to_u8_saturating(), v: v.to_u8_saturating() };
            // SAFETY: the reason is the same as above.
            unsafe { self.uv.store(x / 2, y / 2, chroma) };
        }
    }
}
