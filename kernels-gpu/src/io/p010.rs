//! P010 pictures: 10-bit samples in the upper bits of 16, with the planes of NV12.
//!
//! A kernel handles a sample in quarters of a level: the stored number divided by 256. So all code for levels from 0 to
//! 255 serves 10 bits as well, with the conversions of [`to_rgb_10`](shared_types::yuv::YuvEncoding::to_rgb_10) and
//! [`from_rgb_10`](shared_types::yuv::YuvEncoding::from_rgb_10). Results are rounded once, to 10 bits.

use crate::io::pack::{WHOLE, fused_dot};
use crate::io::sampler::{Corners, to_rgb};
use crate::io::target::yuv_target;
use crate::io::{Sampler2d, Target, TextureSampler2d};
use crate::unroll::unroll;
use cuda_std::device;
// On the host, `core` or `std` provides these methods of `f32`.
#[cfg(target_arch = "nvptx64")]
use cuda_std::GpuFloat as _;
use glam::{UVec2, Vec2, Vec3, uvec2, vec2, vec3};
use shared_types::Chroma10;
use shared_types::nv12::{P010, P010Mut};
use shared_types::texture::P010Texture;
use shared_types::yuv::{RgbToYuv, YuvToRgb};

/// The number of levels per unit of a stored sample. A quarter of a level is 64 units.
const PER_UNIT: f32 = 1.0 / 256.0;

/// The highest level of a sample: 1023 quarters.
const HIGHEST: f32 = 255.75;

impl Sampler2d for P010 {
    const WHITE: f32 = 255.0;

    #[device]
    fn size(&self) -> UVec2 {
        uvec2(self.y.width(), self.y.height())
    }

    #[device]
    fn is_whole(&self) -> bool {
        P010::is_whole(self)
    }

    #[device]
    unsafe fn sample(&self, u: f32, v: f32, decode: &YuvToRgb) -> Vec3 {
        // The positions of chroma samples are those of NV12.
        let (cu, cv) = (u.mul_add(0.5, -0.25).max(0.0), v.mul_add(0.5, -0.25).max(0.0));
        // SAFETY: the caller guarantees that `(u, v)` is inside the luma plane and that the picture is whole. So the
        // position `(cu, cv)` is inside the chroma plane.
        unsafe {
            let y = Corners::around(u, v, self.y.width(), self.y.height()).mix(&self.y, luma);
            let chroma = Corners::around(cu, cv, self.uv.width(), self.uv.height());
            to_rgb(decode, y.x, chroma.mix(&self.uv, differences))
        }
    }
}

impl Sampler2d for P010Texture {
    const WHITE: f32 = 1.0;

    #[device]
    fn size(&self) -> UVec2 {
        Sampler2d::size(&self.rows)
    }

    #[device]
    fn is_whole(&self) -> bool {
        true
    }

    #[device]
    unsafe fn sample(&self, u: f32, v: f32, decode: &YuvToRgb) -> Vec3 {
        self.sample_texture(vec2(u, v) + 0.5, decode)
    }
}

impl TextureSampler2d for P010Texture {
    #[device]
    fn sample_texture(&self, place: Vec2, decode: &YuvToRgb) -> Vec3 {
        /// The number of levels, as fractions of 255, per fraction of 65,535.
        const SCALE: f32 = 65_535.0 * PER_UNIT / 255.0;
        let y = self.y.read(place.x, place.y).x * SCALE;
        let chroma = self.uv.read(place.x * 0.5, place.y * 0.5).truncate() * SCALE;
        let in_fractions = YuvToRgb { black: decode.black * (1.0 / 255.0), ..*decode };
        to_rgb(&in_fractions, y, chroma - 128.0 / 255.0)
    }
}

/// Returns a vector with the luma level in the first component. The other components are 0, and the compiler removes
/// them.
#[device]
fn luma(y: u16) -> Vec3 {
    vec3(f32::from(y) * PER_UNIT, 0.0, 0.0)
}

/// Returns the vector (Cb − 128, Cr − 128, 0) of levels.
#[device]
fn differences(Chroma10 { u, v }: Chroma10) -> Vec3 {
    vec3(f32::from(u).mul_add(PER_UNIT, -128.0), f32::from(v).mul_add(PER_UNIT, -128.0), 0.0)
}

/// Converts a stored pixel to R'G'B' levels.
#[device]
pub(crate) fn p010_levels(y: u16, chroma: Chroma10, decode: &YuvToRgb) -> Vec3 {
    to_rgb(decode, luma(y).x, differences(chroma))
}

/// Rounds a level to 10 bits, as P010 stores it. Levels outside the range are clamped, and NaN becomes 0.
#[device]
pub(crate) fn ten_bits(level: f32) -> u16 {
    #[expect(clippy::manual_clamp, reason = "a NaN becomes 0")]
    let level = level.max(0.0).min(HIGHEST);
    // Adding `WHOLE` rounds the number of quarters. The bits of `WHOLE` are above the lowest 10.
    let quarters = level.mul_add(4.0, WHOLE).to_bits();
    (quarters << 6) as u16
}

/// Packs two stored samples into a word, the first one in the lower half.
#[device]
fn beside([first, second]: [u16; 2]) -> u32 {
    (u32::from(first) | u32::from(second) << 16).to_le()
}

/// The stored samples of four pixels that share a chroma sample.
#[derive(Clone, Copy)]
struct Four {
    luma: [u16; 4],
    chroma: [u16; 2],
}

impl Four {
    /// Encodes four colours from 0 to 1.
    #[device]
    fn new(colours: [Vec3; 4], encode: &RgbToYuv) -> Self {
        let weights = encode.y * 255.0;
        let mut luma = [0; 4];
        unroll!(4, |i| luma[i] = ten_bits(fused_dot(weights, colours[i], encode.black)));
        let [a, b, c, d] = colours;
        let mean = ((a + b) + (c + d)) * (0.25 * 255.0);
        let chroma = [
            ten_bits(fused_dot(encode.cb, mean, 128.0)),
            ten_bits(fused_dot(encode.cr, mean, 128.0)),
        ];
        Self { luma, chroma }
    }
}

impl Target for P010Mut {
    yuv_target!(P010Mut, Chroma10, ten_bits);

    #[device]
    unsafe fn store_four(
        &self,
        x: u32,
        y: u32,
        mut colours: [Vec3; 4],
        encode: &RgbToYuv,
        flip: bool,
    ) {
        let (width, height) = (self.y.width(), self.y.height());
        // Replace the colours of pixels outside the picture by those of the last pixels inside, because chroma is
        // computed from the mean of all four colours.
        if x + 1 >= width {
            [colours[1], colours[3]] = [colours[0], colours[2]];
        }
        if y + 1 >= height {
            [colours[2], colours[3]] = [colours[0], colours[1]];
        }
        let Four { luma: [a, b, c, d], chroma: [u, v] } = Four::new(colours, encode);
        let inside = x + 1 < width && y + 1 < height;
        // SAFETY: each pixel is inside the picture, as checked before its store. Two neighbours are stored at once only
        // if rows start at multiples of four bytes, and `x` is even. The caller guarantees that no other thread writes
        // these pixels.
        unsafe {
            if self.y.is_aligned(4) && inside {
                let (x, y, top, bottom) = if flip {
                    (width - 2 - x, height - 2 - y, [d, c], [b, a])
                } else {
                    (x, y, [a, b], [c, d])
                };
                self.y.store_wide(x, y, beside(top));
                self.y.store_wide(x, y + 1, beside(bottom));
            } else {
                let luma = [a, b, c, d];
                unroll!(4, |i| {
                    let (x, y) = (x + i as u32 % 2, y + i as u32 / 2);
                    if x < width && y < height {
                        let (x, y) = if flip { (width - 1 - x, height - 1 - y) } else { (x, y) };
                        self.y.store(x, y, luma[i]);
                    }
                });
            }
            let (x, y) = if flip { (width - 2 - x, height - 2 - y) } else { (x, y) };
            self.uv.store(x / 2, y / 2, Chroma10 { u, v });
        }
    }

    #[device]
    unsafe fn store_eight(
        &self,
        x: u32,
        y: u32,
        [first, second]: [[Vec3; 4]; 2],
        encode: &RgbToYuv,
        flip: bool,
    ) {
        let (width, height) = (self.y.width(), self.y.height());
        let wide = self.y.is_aligned(8) && self.uv.is_aligned(8) && (!flip || width % 4 == 0);
        // SAFETY: all eight pixels are inside the picture, as checked before the first store. Four neighbours are
        // stored at once only if rows start at multiples of eight bytes. The caller guarantees that `x` is a multiple of
        // four. With `flip`, `wide` also requires such a width, so the flipped column is a multiple of four, too. The
        // caller guarantees that no other thread writes these pixels.
        unsafe {
            if !wide || x + 3 >= width || y + 1 >= height {
                self.store_four(x, y, first, encode, flip);
                if x + 2 < width {
                    self.store_four(x + 2, y, second, encode, flip);
                }
                return;
            }
            let Four { luma: [a, b, c, d], chroma: left } = Four::new(first, encode);
            let Four { luma: [e, f, g, h], chroma: right } = Four::new(second, encode);
            let (x, y, top, bottom, chroma) = if flip {
                let (x, y) = (width - 4 - x, height - 2 - y);
                (x, y, [[h, g], [d, c]], [[f, e], [b, a]], [right, left])
            } else {
                (x, y, [[a, b], [e, f]], [[c, d], [g, h]], [left, right])
            };
            self.y.store_wide(x, y, top.map(beside));
            self.y.store_wide(x, y + 1, bottom.map(beside));
            self.uv.store_wide(x / 2, y / 2, chroma.map(beside));
        }
    }
}
