//! Pictures that are sampled at two rows of positions at once.

use super::{Colours, Corners, Places, Plane, Row, SIDE, bilinear};
use crate::cpu::vectorised;
use crate::io::Cubic;
use core::marker::PhantomData;
use cuda_std::View;
use cuda_std::cpu::texture::Channel;
use shared_types::Rgba8;
use shared_types::nv12::{Nv12, P010};
use shared_types::stitch::Colour;
use shared_types::stitch::mesh::Grading;
use shared_types::texture::{AnyTexture, Nv12Texture, P010Texture, Rgba8Texture};
use shared_types::yuv::YuvToRgb;

/// A kernel argument whose memory can be opened as a picture.
pub(crate) trait Opens {
    /// Returns the memory of the picture, or `None` if a [`Plane`] does not support its properties.
    ///
    /// # Safety
    /// The memory must be valid host memory as long as the result is used, and nothing may write it.
    unsafe fn open(self) -> Option<Picture>;

    /// Returns the conversion of samples to colours.
    fn grading(&self, colour: Colour, decode: &YuvToRgb) -> Grading;
}

/// A picture in memory. Its format is a value and not a type, so that the functions that sample pictures are compiled
/// once: only [`sample`](Self::sample) contains code for each format.
#[derive(Clone, Copy)]
pub(crate) enum Picture {
    Rgb(Plane),
    /// A picture in R'G'B' that is sampled with a cubic filter.
    CubicRgb(Plane),
    Nv12(Yuv<u8>),
    P010(Yuv<u16>),
}

impl Picture {
    /// Samples two rows and applies the linear part of `grading`, without the vignette. With `shares_chroma`, each 2×2
    /// pixels share a chroma sample.
    #[inline(never)]
    pub(crate) fn sample(
        &self,
        places: &Places,
        shares_chroma: bool,
        grading: &Grading,
        colours: &mut Colours,
    ) {
        vectorised!(match self {
            Self::Rgb(plane) => rgb(plane, places, grading, colours),
            Self::CubicRgb(plane) => cubic_rgb(plane, places, grading, colours),
            Self::Nv12(planes) => planes.sample(places, shares_chroma, grading, colours),
            Self::P010(planes) => planes.sample(places, shares_chroma, grading, colours),
        });
    }
}

impl Opens for Rgba8Texture {
    unsafe fn open(self) -> Option<Picture> {
        // SAFETY: the caller guarantees it.
        unsafe { Plane::of_texture(self.texels, Channel::U8, 4) }.map(Picture::Rgb)
    }

    fn grading(&self, colour: Colour, _: &YuvToRgb) -> Grading {
        Grading::rgb(colour)
    }
}

impl Opens for View<Rgba8> {
    unsafe fn open(self) -> Option<Picture> {
        // SAFETY: the caller guarantees it.
        unsafe { Plane::of_view(self) }.map(Picture::Rgb)
    }

    fn grading(&self, colour: Colour, _: &YuvToRgb) -> Grading {
        Grading::rgb(colour)
    }
}

#[inline(always)]
fn rgb(plane: &Plane, places: &Places, grading: &Grading, colours: &mut Colours) {
    let (gain, offset) = (grading.gain() * (1.0 / 255.0), grading.offset);
    for i in 0..2 {
        let corners = plane.corners(&places[i][0], &places[i][1]);
        let (mut above, mut below) = ([0_u64; SIDE], [0_u64; SIDE]);
        plane.pairs(&corners, &mut above, &mut below);
        for channel in 0..3 {
            let (gain, offset) = (gain[channel], offset[channel]);
            let shift = 8 * channel as u32;
            for k in 0..SIDE {
                // The channel of the left texel and that of the right one.
                let level = |pair: u64, shift: u32| (pair >> shift) as i32 & 255;
                let texels = [
                    level(above[k], shift),
                    level(above[k], shift + 32),
                    level(below[k], shift),
                    level(below[k], shift + 32),
                ];
                let sample =
                    bilinear(texels.map(|texel| texel as f32), corners.right[k], corners.below[k]);
                colours[i][channel][k] = sample * gain + offset;
            }
        }
    }
}

impl Opens for Cubic<View<Rgba8>> {
    unsafe fn open(self) -> Option<Picture> {
        // SAFETY: the caller guarantees it.
        unsafe { Plane::of_view(self.0) }.filter(Plane::fits_cubic).map(Picture::CubicRgb)
    }

    fn grading(&self, colour: Colour, _: &YuvToRgb) -> Grading {
        Grading::rgb(colour)
    }
}

#[inline(always)]
fn cubic_rgb(plane: &Plane, places: &Places, grading: &Grading, colours: &mut Colours) {
    let (gain, offset) = (grading.gain() * (1.0 / 255.0), grading.offset);
    for i in 0..2 {
        let samples = plane.cubic(&places[i][0], &places[i][1]);
        for channel in 0..3 {
            let (gain, offset) = (gain[channel], offset[channel]);
            for k in 0..SIDE {
                colours[i][channel][k] = samples[k][channel] * gain + offset;
            }
        }
    }
}

/// A picture in Y'CbCr with 8 or 16 bits per sample (`T`).
#[derive(Clone, Copy)]
pub(crate) struct Yuv<T> {
    luma: Plane,
    chroma: Plane,
    sample: PhantomData<T>,
}

/// The type of a sample of a Y'CbCr picture.
pub(crate) trait Sample: Copy + Send + Sync + 'static {
    const CHANNEL: Channel;
    /// The value that a texture returns as 1.
    const MAXIMUM: f32;
    /// Two adjacent luma samples.
    type Lumas: Copy + Default;
    /// Two adjacent chroma samples.
    type Chromas: Copy + Default;

    /// Returns the left and the right luma sample.
    fn lumas(pair: Self::Lumas) -> [f32; 2];

    /// Returns Cb and Cr of the left chroma sample, then those of the right one.
    fn chromas(pair: Self::Chromas) -> [f32; 4];
}

impl Sample for u8 {
    const CHANNEL: Channel = Channel::U8;
    const MAXIMUM: f32 = 255.0;
    type Lumas = u16;
    type Chromas = u32;

    #[inline(always)]
    fn lumas(pair: u16) -> [f32; 2] {
        let pair = i32::from(pair.to_le());
        [(pair & 255) as f32, (pair >> 8) as f32]
    }

    #[inline(always)]
    fn chromas(pair: u32) -> [f32; 4] {
        let pair = pair.to_le();
        [0, 8, 16, 24].map(|shift| ((pair >> shift) as i32 & 255) as f32)
    }
}

impl Sample for u16 {
    const CHANNEL: Channel = Channel::U16;
    const MAXIMUM: f32 = 65_535.0;
    type Lumas = u32;
    type Chromas = u64;

    #[inline(always)]
    fn lumas(pair: u32) -> [f32; 2] {
        let pair = pair.to_le();
        [(pair & 0xffff) as i32 as f32, (pair >> 16) as i32 as f32]
    }

    #[inline(always)]
    fn chromas(pair: u64) -> [f32; 4] {
        let pair = pair.to_le();
        [0, 16, 32, 48].map(|shift| ((pair >> shift) as i32 & 0xffff) as f32)
    }
}

/// Opens a luma and a chroma texture.
///
/// # Safety
/// The conditions are those of [`Opens::open`].
unsafe fn open<T: Sample>(
    y: cuda_std::Texture2d<glam::Vec4>,
    uv: cuda_std::Texture2d<glam::Vec4>,
) -> Option<Yuv<T>> {
    // SAFETY: the caller guarantees it.
    let (luma, chroma) =
        unsafe { (Plane::of_texture(y, T::CHANNEL, 1)?, Plane::of_texture(uv, T::CHANNEL, 2)?) };
    Some(Yuv { luma, chroma, sample: PhantomData })
}

/// Implements [`Opens`] for a picture in textures and one in memory, with samples of one type.
macro_rules! opens {
    ($texture:ty, $view:ty, $picture:ident, $grading:path) => {
        impl Opens for $texture {
            unsafe fn open(self) -> Option<Picture> {
                // SAFETY: the caller guarantees it.
                unsafe { open(self.y, self.uv) }.map(Picture::$picture)
            }

            fn grading(&self, colour: Colour, decode: &YuvToRgb) -> Grading {
                $grading(colour, decode)
            }
        }

        impl Opens for $view {
            unsafe fn open(self) -> Option<Picture> {
                // SAFETY: the caller guarantees it.
                let (luma, chroma) = unsafe { (Plane::of_view(self.y)?, Plane::of_view(self.uv)?) };
                self.is_whole().then_some(Picture::$picture(Yuv {
                    luma,
                    chroma,
                    sample: PhantomData,
                }))
            }

            fn grading(&self, colour: Colour, decode: &YuvToRgb) -> Grading {
                $grading(colour, decode)
            }
        }
    };
}

opens!(Nv12Texture, Nv12, Nv12, Grading::yuv);
opens!(P010Texture, P010, P010, Grading::p010);

impl<T: Sample> Yuv<T> {
    /// See [`Picture::sample`].
    #[inline(always)]
    fn sample(
        &self,
        places: &Places,
        shares_chroma: bool,
        grading: &Grading,
        colours: &mut Colours,
    ) {
        let mut lumas = [[0.0; SIDE]; 2];
        for i in 0..2 {
            let corners = self.luma.corners(&places[i][0], &places[i][1]);
            let mut above = [T::Lumas::default(); SIDE];
            let mut below = above;
            self.luma.pairs(&corners, &mut above, &mut below);
            for k in 0..SIDE {
                let ([a, b], [c, d]) = (T::lumas(above[k]), T::lumas(below[k]));
                lumas[i][k] = bilinear([a, b, c, d], corners.right[k], corners.below[k]);
            }
        }
        // First, `colours` contain what chroma and the offset contribute.
        if shares_chroma {
            // The shared sample is at the middle of the four pixels; a chroma coordinate is half a luma coordinate.
            const HALF: usize = SIDE / 2;
            let (mut x, mut y) = ([0.0; HALF], [0.0; HALF]);
            for k in 0..HALF {
                x[k] = (places[0][0][2 * k] + places[1][0][2 * k + 1]) * 0.25;
                y[k] = (places[0][1][2 * k] + places[1][1][2 * k + 1]) * 0.25;
            }
            let chroma = self.chroma(&x, &y, grading);
            for channel in 0..3 {
                for k in 0..SIDE {
                    let value = chroma[channel][k / 2];
                    (colours[0][channel][k], colours[1][channel][k]) = (value, value);
                }
            }
        } else {
            for i in 0..2 {
                let half = |places: &Row| places.map(|place| place * 0.5);
                let (x, y) = (half(&places[i][0]), half(&places[i][1]));
                colours[i] = self.chroma(&x, &y, grading);
            }
        }
        let factors = grading.first * (1.0 / T::MAXIMUM);
        for i in 0..2 {
            for channel in 0..3 {
                let factor = factors[channel];
                for k in 0..SIDE {
                    colours[i][channel][k] += lumas[i][k] * factor;
                }
            }
        }
    }

    /// Returns what chroma and the offset contribute to red, green and blue at chroma coordinates.
    #[inline(always)]
    fn chroma<const N: usize>(
        &self,
        x: &[f32; N],
        y: &[f32; N],
        grading: &Grading,
    ) -> [[f32; N]; 3] {
        let corners: Corners<N> = self.chroma.corners(x, y);
        let mut above = [T::Chromas::default(); N];
        let mut below = above;
        self.chroma.pairs(&corners, &mut above, &mut below);
        let (mut cb, mut cr) = ([0.0; N], [0.0; N]);
        for k in 0..N {
            let [a, b, c, d] = T::chromas(above[k]);
            let [e, f, g, h] = T::chromas(below[k]);
            cb[k] = bilinear([a, c, e, g], corners.right[k], corners.below[k]);
            cr[k] = bilinear([b, d, f, h], corners.right[k], corners.below[k]);
        }
        let (second, third) = (grading.second / T::MAXIMUM, grading.third / T::MAXIMUM);
        let mut sums = [[0.0; N]; 3];
        for channel in 0..3 {
            let (second, third, offset) =
                (second[channel], third[channel], grading.offset[channel]);
            for k in 0..N {
                sums[channel][k] = cb[k] * second + (cr[k] * third + offset);
            }
        }
        sums
    }
}

impl Opens for AnyTexture {
    unsafe fn open(self) -> Option<Picture> {
        // SAFETY: the caller guarantees it.
        unsafe {
            match self {
                Self::Rgba8(picture) => picture.open(),
                Self::Nv12(picture) => picture.open(),
            }
        }
    }

    fn grading(&self, colour: Colour, decode: &YuvToRgb) -> Grading {
        match self {
            Self::Rgba8(picture) => picture.grading(colour, decode),
            Self::Nv12(picture) => picture.grading(colour, decode),
        }
    }
}
