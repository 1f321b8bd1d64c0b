//! Panoramas that a kernel changes in place, in RGBA (8 and 16 bits), NV12 and P010.

use crate::io::{Rgba, Target, p010_levels, sixteen_bits, ten_bits, yuv_levels};
use crate::unroll::unroll;
use cuda_std::prelude::*;
use glam::{UVec2, Vec3, uvec2};
use shared_types::nv12::{Nv12Mut, P010Mut};
use shared_types::yuv::{RgbToYuv, YuvToRgb};
use shared_types::{Chroma, Chroma10, Rgba8, Rgba16};

/// The limit below which a change in stored steps is rounded to 0.
const INVISIBLE: f32 = 0.49;

/// A panorama that a kernel reads and writes in groups of 2×2 pixels. A group has a first pixel, and those to the right,
/// below, and below right. Pixels outside the picture are ignored. Positions wrap around, so a group may also start one
/// pixel before the picture.
///
/// For all functions, the picture must [be whole](Target::is_whole), and no other thread may access the pixels. In NV12
/// and P010, the position must be even along both axes.
pub(super) trait Retouch: Target {
    /// The stored pixels of a group.
    type Pixels: Copy;

    /// Whether the pixels of a group are stored together, so that a group must start at an even position.
    const GROUPED: bool;

    /// The number of stored steps per level.
    const STEPS: f32 = 1.0;

    /// Loads a group of pixels.
    ///
    /// # Safety
    /// The conditions of the trait apply.
    unsafe fn pixels(&self, at: UVec2) -> Self::Pixels;

    /// Adds `changes`, in R'G'B' levels, to pixels that [`pixels`](Self::pixels) returned for this position. The results
    /// are limited to 0 to 255 and rounded once.
    ///
    /// # Safety
    /// The conditions of the trait apply.
    unsafe fn retouch(
        &self,
        at: UVec2,
        pixels: Self::Pixels,
        changes: [Vec3; 4],
        codes: &(YuvToRgb, RgbToYuv),
    );
}

/// Returns a pixel of a group.
#[device]
fn pixel(at: UVec2, i: usize) -> UVec2 {
    at.wrapping_add(uvec2(i as u32 % 2, i as u32 / 2))
}

/// Implements [`Retouch`] for RGBA panoramas with pixels of a type. `$round` rounds a level to a stored value.
macro_rules! retouch_rgba {
    ($pixel:ty, $round:path) => {
        impl Retouch for ViewMut<$pixel> {
            type Pixels = [$pixel; 4];

            const GROUPED: bool = false;

            const STEPS: f32 = <$pixel as Rgba>::STEPS;

            #[device]
            unsafe fn pixels(&self, at: UVec2) -> [$pixel; 4] {
                let mut pixels = [<$pixel>::BLACK; 4];
                unroll!(4, |i| {
                    let UVec2 { x, y } = pixel(at, i);
                    if self.contains(x, y) {
                        // SAFETY: the picture contains the pixel, and the caller guarantees that no other thread accesses it.
                        pixels[i] = unsafe { self.load(x, y) };
                    }
                });
                pixels
            }

            #[device]
            unsafe fn retouch(
                &self,
                at: UVec2,
                pixels: [$pixel; 4],
                changes: [Vec3; 4],
                _: &(YuvToRgb, RgbToYuv),
            ) {
                unroll!(4, |i| {
                    let UVec2 { x, y } = pixel(at, i);
                    let colour = pixels[i].levels() + changes[i];
                    let [r, g, b] = colour.to_array().map($round);
                    if self.contains(x, y) {
                        // SAFETY: the picture contains the pixel, and the caller guarantees that no other thread accesses it.
                        unsafe { ViewMut::store(self, x, y, <$pixel>::opaque(r, g, b)) };
                    }
                });
            }
        }
    };
}

retouch_rgba!(Rgba8, GpuPower::to_u8_saturating);
retouch_rgba!(Rgba16, sixteen_bits);

/// Implements [`Retouch`] for a format with chroma. `$level` converts a stored sample to a level, `$round` rounds a level to
/// a stored sample, and `$levels` converts a stored pixel to R'G'B' levels.
macro_rules! retouch_yuv {
    ($picture:ty, $sample:ty, $chroma:ident, $steps:literal, $level:path, $round:path, $levels:path) => {
        impl Retouch for $picture {
            type Pixels = ([$sample; 4], $chroma);

            const GROUPED: bool = true;

            const STEPS: f32 = $steps;

            #[device]
            unsafe fn pixels(&self, at: UVec2) -> ([$sample; 4], $chroma) {
                let mut lumas = [0; 4];
                let mut chroma = <$chroma>::default();
                unroll!(4, |i| {
                    let UVec2 { x, y } = pixel(at, i);
                    if self.y.contains(x, y) {
                        // SAFETY: the luma plane contains the pixel, and the caller guarantees that no other thread accesses it.
                        lumas[i] = unsafe { self.y.load(x, y) };
                    }
                });
                if self.y.contains(at.x, at.y) {
                    // SAFETY: the picture is whole, so the chroma plane has a sample for every group.
                    chroma = unsafe { self.uv.load(at.x / 2, at.y / 2) };
                }
                (lumas, chroma)
            }

            #[device]
            unsafe fn retouch(
                &self,
                at: UVec2,
                (lumas, chroma): ([$sample; 4], $chroma),
                changes: [Vec3; 4],
                (decode, encode): &(YuvToRgb, RgbToYuv),
            ) {
                let (mut sum, mut pixels) = (Vec3::ZERO, 0.0);
                unroll!(4, |i| {
                    let UVec2 { x, y } = pixel(at, i);
                    if self.y.contains(x, y) {
                        let levels = $levels(lumas[i], chroma, decode);
                        // A stored value may be outside the R'G'B' range. It may stay there, but not move further away.
                        let (low, high) = (levels.min(Vec3::ZERO), levels.max(Vec3::splat(255.0)));
                        let change = (levels + changes[i]).clamp(low, high) - levels;
                        sum += change;
                        pixels += 1.0;
                        let luma = encode.y.dot(change) + $level(lumas[i]);
                        // SAFETY: the luma plane contains the pixel, and the caller guarantees that no other thread accesses it.
                        unsafe { self.y.store(x, y, $round(luma)) };
                    }
                });
                if self.y.contains(at.x, at.y) {
                    let mean = sum * pixels.fast_recip();
                    let u = encode.cb.dot(mean) + $level(chroma.u);
                    let v = encode.cr.dot(mean) + $level(chroma.v);
                    let chroma = $chroma { u: $round(u), v: $round(v) };
                    // SAFETY: the picture is whole, so the chroma plane has a sample for every group.
                    unsafe { self.uv.store(at.x / 2, at.y / 2, chroma) };
                }
            }
        }
    };
}

retouch_yuv!(Nv12Mut, u8, Chroma, 1.0, f32::from, GpuPower::to_u8_saturating, yuv_levels);
retouch_yuv!(P010Mut, u16, Chroma10, 4.0, eight_bits, ten_bits, p010_levels);

/// Returns the level of a stored sample of P010.
#[device]
fn eight_bits(sample: u16) -> f32 {
    f32::from(sample) * (1.0 / 256.0)
}

/// Returns whether the changes do not change any stored level. Luma and chroma change by at most as much as the colours.
#[device]
pub(super) fn are_invisible<O: Retouch>(changes: &[Vec3; 4]) -> bool {
    let mut most = Vec3::ZERO;
    unroll!(4, |i| most = most.max(changes[i].abs()));
    most.max_element() * O::STEPS < INVISIBLE
}
