//! Packing of colour levels into bytes, without conversions.

// The host has these methods of `f32` in `core` or `std`.
use crate::unroll::unroll;
#[cfg(target_arch = "nvptx64")]
use cuda_std::GpuFloat as _;
use glam::Vec3;
use shared_types::Rgba8;
use shared_types::yuv::RgbToYuv;

/// Returns the levels of four pixels that share chroma: their lumas, and Cb and Cr.
#[inline(always)]
pub(super) fn yuv_of_four(colours: [Vec3; 4], encode: &RgbToYuv) -> ([f32; 4], [f32; 2]) {
    let luma = encode.y * 255.0;
    let mut levels = [0.0; 4];
    unroll!(4, |i| levels[i] = fused_dot(luma, colours[i], encode.black));
    let [a, b, c, d] = colours;
    let mean = ((a + b) + (c + d)) * (0.25 * 255.0);
    // The purest blue and red of the full range would round to 256.
    (levels, [encode.cb, encode.cr].map(|weights| fused_dot(weights, mean, 128.0).min(255.0)))
}

/// From this value to twice as much, f32 numbers are integers and their last bits count. So levels are rounded and
/// packed without conversion instructions. A single byte uses a conversion, because ptxas 13.0 stores the last byte of
/// such a number incorrectly.
pub(super) const WHOLE: f32 = (1 << 23) as f32;

/// Packs two levels from 0 to 255, rounded, into two bytes.
#[inline(always)]
pub(super) fn beside(levels: [f32; 2]) -> u16 {
    let [first, second] = levels.map(|level| (level + WHOLE).to_bits());
    // Each number has a zero byte above its lowest byte.
    (first.wrapping_add(second << 8) as u16).to_le()
}

/// Packs four levels from 0 to 255, rounded, into four bytes.
#[inline(always)]
pub(super) fn in_a_row(levels: [f32; 4]) -> u32 {
    let [a, b, c, d] = levels.map(|level| (level + WHOLE).to_bits());
    // After the shift, only the first number still contains bits of `WHOLE`.
    let all = a.wrapping_add(b << 8).wrapping_add(c << 16).wrapping_add(d << 24);
    all.wrapping_sub(WHOLE.to_bits()).to_le()
}

/// Returns the opaque pixel of a colour from 0 to 1.
#[inline(always)]
pub(super) fn opaque(colour: Vec3) -> Rgba8 {
    let [r, g, b] = colour.to_array().map(|c| c.mul_add(255.0, WHOLE).to_bits());
    // After the shift, only red still contains bits of `WHOLE`; alpha's bits are added to them.
    const ALPHA: u32 = (0xff << 24) - WHOLE.to_bits();
    let pixel = r.wrapping_add(g << 8).wrapping_add(b << 16).wrapping_add(ALPHA);
    bytemuck::cast(pixel.to_le())
}

#[inline(always)]
pub(super) fn fused_dot(a: Vec3, b: Vec3, c: f32) -> f32 {
    a.x.mul_add(b.x, a.y.mul_add(b.y, a.z.mul_add(b.z, c)))
}
