//! Packing of colour levels into bytes, without conversion instructions.

use crate::unroll::unroll;
use cuda_std::device;
// On the host, `core` or `std` provides these methods of `f32`.
#[cfg(target_arch = "nvptx64")]
use cuda_std::GpuFloat as _;
use glam::Vec3;
use shared_types::Rgba8;
use shared_types::yuv::RgbToYuv;

/// Encodes four colours (0 to 1) that share a chroma sample. Returns the luma level of each colour, and the Cb and Cr
/// levels of the mean colour, all unrounded.
#[device]
pub(super) fn yuv_of_four(colours: [Vec3; 4], encode: &RgbToYuv) -> ([f32; 4], [f32; 2]) {
    let luma = encode.y * 255.0;
    let mut levels = [0.0; 4];
    unroll!(4, |i| levels[i] = fused_dot(luma, colours[i], encode.black));
    let [a, b, c, d] = colours;
    let mean = ((a + b) + (c + d)) * (0.25 * 255.0);
    // Limit the level to 255. Otherwise, Cb of pure blue and Cr of pure red would round to 256 in full range.
    (levels, [encode.cb, encode.cr].map(|weights| fused_dot(weights, mean, 128.0).min(255.0)))
}

/// The number 2²³, which rounds a level without a conversion instruction. From 2²³ to 2²⁴, adjacent f32 numbers differ
/// by 1. So the sum of 2²³ and a level is rounded to an integer, and its lowest byte is the rounded level. Code that
/// stores a single byte uses a conversion instruction instead, because ptxas 13.0 stores the lowest byte of such a sum
/// incorrectly.
pub(super) const WHOLE: f32 = (1 << 23) as f32;

/// Rounds two levels from 0 to 255 and packs them into two bytes, the first level in the lower one.
#[device]
pub(super) fn beside(levels: [f32; 2]) -> u16 {
    let [first, second] = levels.map(|level| (level + WHOLE).to_bits());
    // The second byte of `first` is 0, so the two levels do not overlap.
    (first.wrapping_add(second << 8) as u16).to_le()
}

/// Rounds four levels from 0 to 255 and packs them into four bytes, the first level in the lowest one.
#[device]
pub(super) fn in_a_row(levels: [f32; 4]) -> u32 {
    let [a, b, c, d] = levels.map(|level| (level + WHOLE).to_bits());
    // The shifts remove the bits of `WHOLE` from all numbers except the first.
    let all = a.wrapping_add(b << 8).wrapping_add(c << 16).wrapping_add(d << 24);
    all.wrapping_sub(WHOLE.to_bits()).to_le()
}

/// Converts a colour from 0 to 1 to an opaque pixel.
#[device]
pub(super) fn opaque(colour: Vec3) -> Rgba8 {
    let [r, g, b] = colour.to_array().map(|c| c.mul_add(255.0, WHOLE).to_bits());
    // The shifts remove the bits of `WHOLE` from green and blue. `ALPHA` turns the bits of `WHOLE` in red into 255.
    const ALPHA: u32 = (0xff << 24) - WHOLE.to_bits();
    let pixel = r.wrapping_add(g << 8).wrapping_add(b << 16).wrapping_add(ALPHA);
    bytemuck::cast(pixel.to_le())
}

/// Returns the dot product of `a` and `b`, plus `c`, with fused multiply-adds.
#[device]
pub(super) fn fused_dot(a: Vec3, b: Vec3, c: f32) -> f32 {
    a.x.mul_add(b.x, a.y.mul_add(b.y, a.z.mul_add(b.z, c)))
}
