//! Pictures in their formats: sampled as R'G'B' levels, and written as what a panorama is.
//!
//! A kernel is generic over both ends, so RGBA and NV12, in and out, are the same code; the
//! conversion happens in registers. All levels are 0 to 255, or fractions of that where a texture gives those,
//! whatever the format; levels of Y'CbCr that stand for no colour go beyond.

use cuda_std::prelude::*;
use glam::{UVec2, Vec2, Vec3, uvec2, vec2, vec3};
use shared_types::nv12::{Nv12, Nv12Mut};
use shared_types::texture::{Nv12Texture, Rgba8Texture};
use shared_types::yuv::{RgbToYuv, YuvToRgb};
use shared_types::{Chroma, Rgba8};

use crate::tile::each_result;

/// A picture that a camera sent.
pub(crate) trait Picture: Copy {
    /// What samples are of white: 255, or 1 of what comes as fractions.
    const WHITE: f32;

    /// Where [`sample_near`](Self::sample_near) counts the middle of the first pixel along both axes: 0, or ½ as textures
    /// do, so that nothing is added for each sample.
    const MIDDLE: f32;

    /// Columns and rows.
    fn size(&self) -> UVec2;

    /// Whether all planes have the sizes that belong together.
    fn is_whole(&self) -> bool;

    /// Bilinear sample. Pixel centres are at integers; a neighbour beyond the last row or column is
    /// that row or column.
    ///
    /// # Safety
    /// The picture is whole, `0 ≤ u < width` and `0 ≤ v < height`.
    #[inline(always)]
    unsafe fn sample(&self, u: f32, v: f32, decode: &YuvToRgb) -> Vec3 {
        const { assert!(Self::MIDDLE > 0.0, "what is no texture has its own") };
        // SAFETY: as the caller vouches.
        unsafe { self.sample_near(vec2(u, v) + Self::MIDDLE, decode) }
    }

    /// The same at any place, counted from [`MIDDLE`](Self::MIDDLE) on; beyond the picture is its edge.
    ///
    /// # Safety
    /// The picture is whole, and not empty.
    #[inline(always)]
    unsafe fn sample_near(&self, place: Vec2, decode: &YuvToRgb) -> Vec3 {
        const { assert!(Self::MIDDLE == 0.0, "a texture has its own, which takes any place") };
        let size = self.size().as_vec2();
        // Just inside, since chroma goes on behind the last pixel's middle. What is no number becomes 0.
        let (u, v) =
            (place.x.max(0.0).min(size.x.next_down()), place.y.max(0.0).min(size.y.next_down()));
        // SAFETY: inside of the picture, which is whole.
        unsafe { self.sample(u, v, decode) }
    }
}

impl Picture for View<Rgba8> {
    const WHITE: f32 = 255.0;
    const MIDDLE: f32 = 0.0;

    #[inline(always)]
    fn size(&self) -> UVec2 {
        uvec2(View::width(self), View::height(self))
    }

    #[inline(always)]
    fn is_whole(&self) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn sample(&self, u: f32, v: f32, _: &YuvToRgb) -> Vec3 {
        // SAFETY: as the caller vouches.
        unsafe { Corners::around(u, v, View::width(self), View::height(self)).mix(self, rgb) }
    }
}

impl Picture for Nv12 {
    const WHITE: f32 = 255.0;
    const MIDDLE: f32 = 0.0;

    #[inline(always)]
    fn size(&self) -> UVec2 {
        uvec2(self.y.width(), self.y.height())
    }

    #[inline(always)]
    fn is_whole(&self) -> bool {
        Nv12::is_whole(self)
    }

    #[inline(always)]
    unsafe fn sample(&self, u: f32, v: f32, decode: &YuvToRgb) -> Vec3 {
        // A chroma sample lies in the middle of its four pixels.
        let (cu, cv) = (u.mul_add(0.5, -0.25).max(0.0), v.mul_add(0.5, -0.25).max(0.0));
        // SAFETY: as the caller vouches; half of a coordinate in the picture is one in its chroma.
        unsafe {
            let y = Corners::around(u, v, self.y.width(), self.y.height()).mix(&self.y, luma);
            let chroma = Corners::around(cu, cv, self.uv.width(), self.uv.height());
            to_rgb(decode, y.x, chroma.mix(&self.uv, differences))
        }
    }
}

impl Picture for Rgba8Texture {
    const WHITE: f32 = 1.0;
    const MIDDLE: f32 = 0.5;

    #[inline(always)]
    fn size(&self) -> UVec2 {
        Picture::size(&self.rows)
    }

    #[inline(always)]
    fn is_whole(&self) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn sample_near(&self, place: Vec2, _: &YuvToRgb) -> Vec3 {
        self.texels.read(place.x, place.y).truncate()
    }
}

impl Picture for Nv12Texture {
    const WHITE: f32 = 1.0;
    const MIDDLE: f32 = 0.5;

    #[inline(always)]
    fn size(&self) -> UVec2 {
        Picture::size(&self.rows)
    }

    #[inline(always)]
    fn is_whole(&self) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn sample_near(&self, place: Vec2, decode: &YuvToRgb) -> Vec3 {
        let y = self.y.read(place.x, place.y).x;
        // A chroma sample lies in the middle of its four pixels.
        let chroma = self.uv.read(place.x * 0.5, place.y * 0.5).truncate();
        let in_fractions = YuvToRgb { black: decode.black * (1.0 / 255.0), ..*decode };
        to_rgb(&in_fractions, y, chroma - 128.0 / 255.0)
    }
}

/// Bilinear sample of a plane of numbers, as [`Picture::sample`].
///
/// # Safety
/// `place` is inside: not below 0, and less than the plane's size.
#[inline(always)]
pub(crate) unsafe fn sample_plane(plane: &View<f32>, place: Vec2) -> f32 {
    let number = |value: f32| vec3(value, 0.0, 0.0);
    // SAFETY: as the caller vouches.
    unsafe { Corners::around(place.x, place.y, plane.width(), plane.height()).mix(plane, number).x }
}

/// The four pixels around a place, and how near it is to them.
struct Corners {
    x: [u32; 2],
    y: [u32; 2],
    a: f32,
    b: f32,
}

impl Corners {
    /// # Safety
    /// `0 ≤ u < width` and `0 ≤ v < height`.
    #[inline(always)]
    unsafe fn around(u: f32, v: f32, width: u32, height: u32) -> Self {
        let (fu, fv) = (u.floor(), v.floor());
        // SAFETY: coordinates of a picture fit.
        let (x, y) = unsafe { (fu.to_int_unchecked::<u32>(), fv.to_int_unchecked::<u32>()) };
        Self {
            x: [x, (x + 1).min(width - 1)],
            y: [y, (y + 1).min(height - 1)],
            a: u - fu,
            b: v - fv,
        }
    }

    /// # Safety
    /// The corners are of a picture of `view`'s size.
    #[inline(always)]
    unsafe fn mix<T: bytemuck::Pod>(&self, view: &View<T>, levels: impl Fn(T) -> Vec3) -> Vec3 {
        let ([x0, x1], [y0, y1]) = (self.x, self.y);
        // SAFETY: inside of the picture.
        let [p00, p10, p01, p11] =
            unsafe { [view.load(x0, y0), view.load(x1, y0), view.load(x0, y1), view.load(x1, y1)] };
        let top = lerp(levels(p00), levels(p10), self.a);
        let bottom = lerp(levels(p01), levels(p11), self.a);
        lerp(top, bottom, self.b)
    }
}

#[inline(always)]
fn rgb(pixel: Rgba8) -> Vec3 {
    vec3(pixel.r.into(), pixel.g.into(), pixel.b.into())
}

/// One number; the others cost nothing where they are not used.
#[inline(always)]
fn luma(y: u8) -> Vec3 {
    vec3(y.into(), 0.0, 0.0)
}

/// Cb and Cr about 0.
#[inline(always)]
fn differences(chroma: Chroma) -> Vec3 {
    vec3(f32::from(chroma.u) - 128.0, f32::from(chroma.v) - 128.0, 0.0)
}

/// `a + t·(b − a)`, fused.
#[inline(always)]
fn lerp(a: Vec3, b: Vec3, t: f32) -> Vec3 {
    let d = b - a;
    vec3(d.x.mul_add(t, a.x), d.y.mul_add(t, a.y), d.z.mul_add(t, a.z))
}

/// Levels of a pixel as it is stored.
#[inline(always)]
pub(crate) fn yuv_levels(y: u8, chroma: Chroma, decode: &YuvToRgb) -> Vec3 {
    to_rgb(decode, y.into(), differences(chroma))
}

#[inline(always)]
fn to_rgb(decode: &YuvToRgb, y: f32, chroma: Vec3) -> Vec3 {
    let y = (y - decode.black) * decode.scale;
    vec3(
        decode.cr_red.mul_add(chroma.y, y),
        decode.cb_green.mul_add(chroma.x, decode.cr_green.mul_add(chroma.y, y)),
        decode.cb_blue.mul_add(chroma.x, y),
    )
}

/// What a panorama is written to: in cells of [`CELL`](Self::CELL) by as many pixels, four pixels or eight a call.
pub(crate) trait Panorama: Copy {
    /// Pixels of a cell along each side.
    const CELL: u32;

    /// Columns.
    fn width(&self) -> u32;

    /// Rows.
    fn height(&self) -> u32;

    /// As [`Picture::is_whole`].
    fn is_whole(&self) -> bool;

    /// Writes the cell that begins at `(x, y)`, whose pixels have the levels `colour(x, y)`, rounding
    /// once. Those beyond the panorama's edge repeat the last ones.
    ///
    /// # Safety
    /// - The panorama is whole, and the cell's first pixel is inside.
    /// - No other thread writes the cell.
    unsafe fn store(&self, x: u32, y: u32, colour: impl Fn(u32, u32) -> Vec3, encode: &RgbToYuv);

    /// Columns and rows of [`store_four`](Self::store_four)'s pixels.
    const FOUR: UVec2;

    /// Writes [`FOUR`](Self::FOUR) pixels from `(x, y)` on, row after row, of these colours, 0 to 1, rounding once. What
    /// lies beyond the panorama's edge is not looked at: chroma repeats the last ones. If `flip` is set, all lie where a
    /// turn by 180° takes them.
    ///
    /// # Safety
    /// - The panorama is whole, and `(x, y)` is inside, a multiple of [`CELL`](Self::CELL).
    /// - No other thread writes them.
    /// - What is flipped is a multiple of [`CELL`](Self::CELL) in size.
    unsafe fn store_four(&self, x: u32, y: u32, colours: [Vec3; 4], encode: &RgbToYuv, flip: bool);

    /// Columns and rows of [`store_eight`](Self::store_eight)'s pixels: two fours beside or below each other.
    const EIGHT: UVec2;

    /// Where the `i`-th of them is from the first one, four after four as [`store_four`](Self::store_four) has them.
    #[inline(always)]
    fn of_eight(i: u32) -> UVec2 {
        let second = if i < 4 { UVec2::ZERO } else { Self::EIGHT - Self::FOUR };
        second + uvec2(i % Self::FOUR.x, i % 4 / Self::FOUR.x)
    }

    /// As [`store_four`](Self::store_four), of two fours. Those of NV12 that lie side by side go out as one store where
    /// rows begin at a multiple of four bytes.
    ///
    /// # Safety
    /// As there, but `x` and `y` are multiples of [`EIGHT`](Self::EIGHT).
    unsafe fn store_eight(
        &self,
        x: u32,
        y: u32,
        colours: [[Vec3; 4]; 2],
        encode: &RgbToYuv,
        flip: bool,
    );
}

impl Panorama for ViewMut<Rgba8> {
    const CELL: u32 = 1;

    #[inline(always)]
    fn width(&self) -> u32 {
        ViewMut::width(self)
    }

    #[inline(always)]
    fn height(&self) -> u32 {
        ViewMut::height(self)
    }

    #[inline(always)]
    fn is_whole(&self) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn store(&self, x: u32, y: u32, colour: impl Fn(u32, u32) -> Vec3, _: &RgbToYuv) {
        let [r, g, b] = colour(x, y).to_array().map(GpuPower::to_u8_saturating);
        // SAFETY: as the caller vouches.
        unsafe { ViewMut::store(self, x, y, Rgba8::opaque(r, g, b)) };
    }

    const FOUR: UVec2 = uvec2(1, 4);
    const EIGHT: UVec2 = uvec2(1, 8);

    #[inline(always)]
    unsafe fn store_four(&self, x: u32, y: u32, colours: [Vec3; 4], _: &RgbToYuv, flip: bool) {
        // SAFETY: as the caller vouches.
        unsafe { store_down(self, x, y, colours, flip) };
    }

    #[inline(always)]
    unsafe fn store_eight(
        &self,
        x: u32,
        y: u32,
        [[a, b, c, d], [e, f, g, h]]: [[Vec3; 4]; 2],
        _: &RgbToYuv,
        flip: bool,
    ) {
        // SAFETY: as the caller vouches.
        unsafe { store_down(self, x, y, [a, b, c, d, e, f, g, h], flip) };
    }
}

/// Stores opaque pixels below each other from `(x, y)` on, as far as they lie in the panorama.
///
/// # Safety
/// As [`Panorama::store_four`].
#[inline(always)]
unsafe fn store_down<const N: usize>(
    out: &ViewMut<Rgba8>,
    x: u32,
    y: u32,
    colours: [Vec3; N],
    flip: bool,
) {
    let (width, height) = (out.width(), out.height());
    let pixels = colours.map(opaque);
    let x = if flip { width - 1 - x } else { x };
    let row = |i: usize| {
        let y = y + i as u32;
        if flip { height - 1 - y } else { y }
    };
    if y + (N as u32 - 1) < height {
        // SAFETY: the last one is inside, so all are; the rest is the caller's.
        each_result!(N, |i| unsafe { out.store(x, row(i), pixels[i]) });
    } else {
        each_result!(N, |i| {
            if y + (i as u32) < height {
                // SAFETY: inside; the rest is the caller's.
                unsafe { out.store(x, row(i), pixels[i]) };
            }
        });
    }
}

impl Panorama for Nv12Mut {
    const CELL: u32 = 2;

    #[inline(always)]
    fn width(&self) -> u32 {
        self.y.width()
    }

    #[inline(always)]
    fn height(&self) -> u32 {
        self.y.height()
    }

    #[inline(always)]
    fn is_whole(&self) -> bool {
        Nv12Mut::is_whole(self)
    }

    #[inline(always)]
    unsafe fn store(&self, x: u32, y: u32, colour: impl Fn(u32, u32) -> Vec3, encode: &RgbToYuv) {
        let mut sum = Vec3::ZERO;
        // One after the other: an array of colours would lie in local memory.
        for i in 0..4 {
            let (x, y) = (x + i % 2, y + i / 2);
            let at = (x.min(self.y.width() - 1), y.min(self.y.height() - 1));
            // What shows no colour is clamped before it is averaged.
            let colour = colour(at.0, at.1).clamp(Vec3::ZERO, Vec3::splat(255.0));
            sum += colour;
            if self.y.contains(x, y) {
                let luma = fused_dot(encode.y, colour, encode.black).to_u8_saturating();
                // SAFETY: inside, as just checked; the rest is the caller's.
                unsafe { self.y.store(x, y, luma) };
            }
        }
        let mean = sum * 0.25;
        let chroma = Chroma {
            u: fused_dot(encode.cb, mean, 128.0).to_u8_saturating(),
            v: fused_dot(encode.cr, mean, 128.0).to_u8_saturating(),
        };
        // SAFETY: the chroma plane has a sample for every cell; the rest is the caller's.
        unsafe { self.uv.store(x / 2, y / 2, chroma) };
    }

    const FOUR: UVec2 = uvec2(2, 2);
    const EIGHT: UVec2 = uvec2(4, 2);

    #[inline(always)]
    unsafe fn store_four(&self, x: u32, y: u32, colours: [Vec3; 4], encode: &RgbToYuv, flip: bool) {
        let (width, height) = (self.y.width(), self.y.height());
        let wide = self.y.is_aligned(2) && self.uv.is_aligned(2);
        // SAFETY: inside, as checked; two side by side are stored as one where both begin at an even byte. The rest is the
        // caller's.
        unsafe {
            if !wide || x + 1 >= width || y + 1 >= height {
                return store_bytes(self, x, y, colours, encode, flip);
            }
            let ([a, b, c, d], chroma) = yuv_of_four(colours, encode);
            let (x, y, top, bottom) = if flip {
                (width - 2 - x, height - 2 - y, [d, c], [b, a])
            } else {
                (x, y, [a, b], [c, d])
            };
            self.y.store_wide(x, y, beside(top));
            self.y.store_wide(x, y + 1, beside(bottom));
            self.uv.store_wide(x / 2, y / 2, beside(chroma));
        }
    }

    #[inline(always)]
    unsafe fn store_eight(
        &self,
        x: u32,
        y: u32,
        [first, second]: [[Vec3; 4]; 2],
        encode: &RgbToYuv,
        flip: bool,
    ) {
        let (width, height) = (self.y.width(), self.y.height());
        let wide = self.y.is_aligned(4) && self.uv.is_aligned(4) && (!flip || width % 4 == 0);
        // SAFETY: inside, as checked; four side by side are stored as one where rows begin at a multiple of four bytes,
        // and the first one's column is such a multiple, as the caller vouches, also flipped in so wide a panorama. The
        // rest is the caller's.
        unsafe {
            if !wide || x + 3 >= width || y + 1 >= height {
                store_bytes(self, x, y, first, encode, flip);
                if x + 2 < width {
                    store_bytes(self, x + 2, y, second, encode, flip);
                }
                return;
            }
            let ([a, b, c, d], left) = yuv_of_four(first, encode);
            let ([e, f, g, h], right) = yuv_of_four(second, encode);
            let (x, y, top, bottom, [[cb, cr], [next_cb, next_cr]]) = if flip {
                let (x, y) = (width - 4 - x, height - 2 - y);
                (x, y, [h, g, d, c], [f, e, b, a], [right, left])
            } else {
                (x, y, [a, b, e, f], [c, d, g, h], [left, right])
            };
            self.y.store_wide(x, y, in_a_row(top));
            self.y.store_wide(x, y + 1, in_a_row(bottom));
            self.uv.store_wide(x / 2, y / 2, in_a_row([cb, cr, next_cb, next_cr]));
        }
    }
}

/// As [`Panorama::store_four`], byte by byte, wherever the four lie.
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn store_bytes(
    out: &Nv12Mut,
    x: u32,
    y: u32,
    mut colours: [Vec3; 4],
    encode: &RgbToYuv,
    flip: bool,
) {
    let (width, height) = (out.y.width(), out.y.height());
    // Those beyond the edge repeat the last ones.
    if x + 1 >= width {
        [colours[1], colours[3]] = [colours[0], colours[2]];
    }
    if y + 1 >= height {
        [colours[2], colours[3]] = [colours[0], colours[1]];
    }
    let (levels, [u, v]) = yuv_of_four(colours, encode);
    // SAFETY: inside, as checked or the caller vouches, and the whole chroma plane has a sample for every cell.
    unsafe {
        each_result!(4, |i| {
            let (x, y) = (x + i as u32 % 2, y + i as u32 / 2);
            if x < width && y < height {
                let (x, y) = if flip { (width - 1 - x, height - 1 - y) } else { (x, y) };
                out.y.store(x, y, levels[i].to_u8_saturating());
            }
        });
        let (x, y) = if flip { (width - 2 - x, height - 2 - y) } else { (x, y) };
        let chroma = Chroma { u: u.to_u8_saturating(), v: v.to_u8_saturating() };
        out.uv.store(x / 2, y / 2, chroma);
    }
}

/// Levels of four pixels that share chroma: their lumas, and Cb and Cr.
#[inline(always)]
fn yuv_of_four(colours: [Vec3; 4], encode: &RgbToYuv) -> ([f32; 4], [f32; 2]) {
    let luma = encode.y * 255.0;
    let mut levels = [0.0; 4];
    each_result!(4, |i| levels[i] = fused_dot(luma, colours[i], encode.black));
    let [a, b, c, d] = colours;
    let mean = ((a + b) + (c + d)) * (0.25 * 255.0);
    // The purest blue and red of the full range would round to 256.
    (levels, [encode.cb, encode.cr].map(|weights| fused_dot(weights, mean, 128.0).min(255.0)))
}

/// From here on to twice as much, numbers of single precision are whole, and their last bits count them: so levels are
/// rounded and put together without conversions. A byte alone is converted, since ptxas 13.0 stores the last one of such
/// a number wrong.
const WHOLE: f32 = (1 << 23) as f32;

/// Two levels from 0 to 255, rounded, as two bytes side by side.
#[inline(always)]
fn beside(levels: [f32; 2]) -> u16 {
    let [first, second] = levels.map(|level| (level + WHOLE).to_bits());
    // Above the lowest byte of either is one of zeros.
    (first.wrapping_add(second << 8) as u16).to_le()
}

/// The same of four.
#[inline(always)]
fn in_a_row(levels: [f32; 4]) -> u32 {
    let [a, b, c, d] = levels.map(|level| (level + WHOLE).to_bits());
    // Shifted, the bits of `WHOLE` are gone but for those of the first.
    let all = a.wrapping_add(b << 8).wrapping_add(c << 16).wrapping_add(d << 24);
    all.wrapping_sub(WHOLE.to_bits()).to_le()
}

/// An opaque pixel of a colour from 0 to 1.
#[inline(always)]
fn opaque(colour: Vec3) -> Rgba8 {
    let [r, g, b] = colour.to_array().map(|c| c.mul_add(255.0, WHOLE).to_bits());
    // Shifted, the bits of `WHOLE` are gone but for those of red, to which alpha's are added.
    const ALPHA: u32 = (0xff << 24) - WHOLE.to_bits();
    let pixel = r.wrapping_add(g << 8).wrapping_add(b << 16).wrapping_add(ALPHA);
    bytemuck::cast(pixel.to_le())
}

#[inline(always)]
fn fused_dot(a: Vec3, b: Vec3, c: f32) -> f32 {
    a.x.mul_add(b.x, a.y.mul_add(b.y, a.z.mul_add(b.z, c)))
}
