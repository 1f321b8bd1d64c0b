//! Input pictures in RGBA and NV12, sampled as R'G'B' levels.
//!
//! Levels range from 0 to 255, or from 0 to 1 if a texture returns fractions, for every format. A Y'CbCr value outside
//! the R'G'B' range converts to levels outside that range.

use crate::io::rgba::Rgba;
use cuda_std::prelude::*;
use glam::{UVec2, Vec2, Vec3, uvec2, vec2, vec3};
use shared_types::Chroma;
use shared_types::nv12::Nv12;
use shared_types::picture::AnyPicture;
use shared_types::texture::{Nv12Texture, Rgba8Texture};
use shared_types::yuv::YuvToRgb;

/// An input picture that kernels sample as R'G'B' levels.
pub(crate) trait Sampler2d: Copy {
    /// The sample value of white: 255, or 1 for textures, which return fractions.
    const WHITE: f32;

    /// Returns the number of columns and rows.
    fn size(&self) -> UVec2;

    /// Returns whether all planes of the picture have matching sizes.
    fn is_whole(&self) -> bool;

    /// Samples bilinearly at the pixel coordinates `(u, v)`. Pixel centres are at integer coordinates. Beyond the last
    /// row or column, its pixels are repeated.
    ///
    /// # Safety
    /// The caller must ensure that the picture is whole, `0 ≤ u < width` and `0 ≤ v < height`.
    unsafe fn sample(&self, u: f32, v: f32, decode: &YuvToRgb) -> Vec3;
}

/// An input picture in textures.
pub(crate) trait TextureSampler2d: Sampler2d {
    /// Samples at texture coordinates, in which the centre of the first pixel is at ½. A position outside the picture is
    /// clamped to the picture's edge.
    fn sample_texture(&self, place: Vec2, decode: &YuvToRgb) -> Vec3;
}

impl<P: Rgba> Sampler2d for View<P> {
    const WHITE: f32 = 255.0;

    #[device]
    fn size(&self) -> UVec2 {
        uvec2(View::width(self), View::height(self))
    }

    #[device]
    fn is_whole(&self) -> bool {
        true
    }

    #[device]
    unsafe fn sample(&self, u: f32, v: f32, _: &YuvToRgb) -> Vec3 {
        // SAFETY: the caller guarantees that `(u, v)` is inside the picture.
        unsafe { Corners::around(u, v, View::width(self), View::height(self)).mix(self, P::levels) }
    }
}

impl Sampler2d for Nv12 {
    const WHITE: f32 = 255.0;

    #[device]
    fn size(&self) -> UVec2 {
        uvec2(self.y.width(), self.y.height())
    }

    #[device]
    fn is_whole(&self) -> bool {
        Nv12::is_whole(self)
    }

    #[device]
    unsafe fn sample(&self, u: f32, v: f32, decode: &YuvToRgb) -> Vec3 {
        // SAFETY: the caller guarantees that `(u, v)` is inside the luma plane and that the picture is whole.
        unsafe {
            let chroma = ChromaPlace::around(u, v);
            let y = Corners::around(u, v, self.y.width(), self.y.height()).mix(&self.y, luma);
            to_rgb(decode, y.x, chroma.mix(self))
        }
    }
}

impl Sampler2d for Rgba8Texture {
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

impl TextureSampler2d for Rgba8Texture {
    #[device]
    fn sample_texture(&self, place: Vec2, _: &YuvToRgb) -> Vec3 {
        self.texels.read(place.x, place.y).truncate()
    }
}

impl Sampler2d for Nv12Texture {
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

impl TextureSampler2d for Nv12Texture {
    #[device]
    fn sample_texture(&self, place: Vec2, decode: &YuvToRgb) -> Vec3 {
        let y = self.y.read(place.x, place.y).x;
        // A chroma sample is at the centre of its 2×2 pixels, so its texture coordinates are half of the luma
        // coordinates.
        let chroma = self.uv.read(place.x * 0.5, place.y * 0.5).truncate();
        let in_fractions = YuvToRgb { black: decode.black * (1.0 / 255.0), ..*decode };
        to_rgb(&in_fractions, y, chroma - 128.0 / 255.0)
    }
}

/// The position among the chroma samples of an NV12 picture.
pub(super) struct ChromaPlace {
    u: f32,
    v: f32,
}

impl ChromaPlace {
    /// Returns the chroma position of the luma position `(u, v)`. A chroma sample is at the centre of its 2×2 pixels:
    /// chroma column c is at pixel column 2c + ½.
    #[device]
    pub(super) fn around(u: f32, v: f32) -> Self {
        Self { u: u.mul_add(0.5, -0.25).max(0.0), v: v.mul_add(0.5, -0.25).max(0.0) }
    }

    /// Interpolates Cb − 128 and Cr − 128 bilinearly.
    ///
    /// # Safety
    /// The caller must ensure that the picture is whole and contains the luma position.
    #[device]
    pub(super) unsafe fn mix(&self, picture: &Nv12) -> Vec3 {
        // SAFETY: the caller guarantees that the luma position is inside the picture, so the chroma position is inside
        // the chroma plane.
        unsafe {
            let corners = Corners::around(self.u, self.v, picture.uv.width(), picture.uv.height());
            corners.mix(&picture.uv, differences)
        }
    }
}

/// A picture in either format. The branches are uniform if all threads sample the same picture.
impl Sampler2d for AnyPicture {
    const WHITE: f32 = 255.0;

    #[device]
    fn size(&self) -> UVec2 {
        match self {
            Self::Rgba8(picture) => picture.size(),
            Self::Nv12(picture) => picture.size(),
        }
    }

    #[device]
    fn is_whole(&self) -> bool {
        match self {
            Self::Rgba8(picture) => picture.is_whole(),
            Self::Nv12(picture) => Sampler2d::is_whole(picture),
        }
    }

    #[device]
    unsafe fn sample(&self, u: f32, v: f32, decode: &YuvToRgb) -> Vec3 {
        // SAFETY: the caller guarantees the conditions for this picture.
        unsafe {
            match self {
                Self::Rgba8(picture) => picture.sample(u, v, decode),
                Self::Nv12(picture) => picture.sample(u, v, decode),
            }
        }
    }
}

/// Samples a plane of `f32` numbers bilinearly, like [`Sampler2d::sample`].
///
/// # Safety
/// The caller must ensure that both coordinates of `place` are at least 0 and less than the plane's size.
#[device]
pub(crate) unsafe fn sample_plane(plane: &View<f32>, place: Vec2) -> f32 {
    let number = |value: f32| vec3(value, 0.0, 0.0);
    // SAFETY: the caller guarantees that `place` is inside the plane.
    unsafe { Corners::around(place.x, place.y, plane.width(), plane.height()).mix(plane, number).x }
}

/// The four pixels around a position, and the offset `(a, b)` of the position from the top left one of them.
pub(super) struct Corners {
    x: [u32; 2],
    y: [u32; 2],
    a: f32,
    b: f32,
}

impl Corners {
    /// Returns the four pixels around `(u, v)` in a picture of `width`×`height` pixels.
    ///
    /// # Safety
    /// The caller must ensure `0 ≤ u < width` and `0 ≤ v < height`.
    #[device]
    pub(super) unsafe fn around(u: f32, v: f32, width: u32, height: u32) -> Self {
        let (fu, fv) = (u.floor(), v.floor());
        // SAFETY: the caller guarantees that `u` and `v` are at least 0 and less than the picture's size, so both fit
        // into a `u32`.
        let (x, y) = unsafe { (fu.to_int_unchecked::<u32>(), fv.to_int_unchecked::<u32>()) };
        Self {
            x: [x, (x + 1).min(width - 1)],
            y: [y, (y + 1).min(height - 1)],
            a: u - fu,
            b: v - fv,
        }
    }

    /// Interpolates bilinearly between the four pixels. First, `levels` converts each pixel to numbers.
    ///
    /// # Safety
    /// The caller must ensure that the corners were computed for a picture of `view`'s size.
    #[device]
    pub(super) unsafe fn mix<T: bytemuck::Pod>(
        &self,
        view: &View<T>,
        levels: impl Fn(T) -> Vec3,
    ) -> Vec3 {
        let ([x0, x1], [y0, y1]) = (self.x, self.y);
        // SAFETY: the caller guarantees that the corners belong to a picture of this size, so all four pixels are
        // inside it.
        let [p00, p10, p01, p11] =
            unsafe { [view.load(x0, y0), view.load(x1, y0), view.load(x0, y1), view.load(x1, y1)] };
        let top = lerp(levels(p00), levels(p10), self.a);
        let bottom = lerp(levels(p01), levels(p11), self.a);
        lerp(top, bottom, self.b)
    }
}

/// Returns a vector with luma in the first component. The other components are 0, and the compiler removes them.
#[device]
pub(super) fn luma(y: u8) -> Vec3 {
    vec3(y.into(), 0.0, 0.0)
}

/// Returns the vector (Cb − 128, Cr − 128, 0), so neutral chroma is 0. The third component is unused.
#[device]
fn differences(chroma: Chroma) -> Vec3 {
    vec3(f32::from(chroma.u) - 128.0, f32::from(chroma.v) - 128.0, 0.0)
}

/// Returns `a + t·(b − a)` for each component, with fused multiply-adds.
#[device]
fn lerp(a: Vec3, b: Vec3, t: f32) -> Vec3 {
    fused(b - a, t, a)
}

/// Returns `a·t + b` for each component, with fused multiply-adds.
#[device]
pub(crate) fn fused(a: Vec3, t: f32, b: Vec3) -> Vec3 {
    vec3(a.x.mul_add(t, b.x), a.y.mul_add(t, b.y), a.z.mul_add(t, b.z))
}

/// Converts a stored Y'CbCr pixel to R'G'B' levels.
#[device]
pub(crate) fn yuv_levels(y: u8, chroma: Chroma, decode: &YuvToRgb) -> Vec3 {
    to_rgb(decode, y.into(), differences(chroma))
}

/// Converts luma `y` and `chroma`, which contains Cb − 128 and Cr − 128, to R'G'B' levels.
#[device]
pub(super) fn to_rgb(decode: &YuvToRgb, y: f32, chroma: Vec3) -> Vec3 {
    let y = (y - decode.black) * decode.scale;
    vec3(
        decode.cr_red.mul_add(chroma.y, y),
        decode.cb_green.mul_add(chroma.x, decode.cr_green.mul_add(chroma.y, y)),
        decode.cb_blue.mul_add(chroma.x, y),
    )
}
