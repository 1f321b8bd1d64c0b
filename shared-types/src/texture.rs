//! A camera's picture in textures as a kernel's argument: what [`View`] and [`nv12`](crate::nv12) are to loads.
//!
//! The texture objects filter bilinearly and repeat the edge. Their filter has 8 bits of fraction. Beside them stand
//! the rows that they are over: a size, and addresses to prefetch from.

use cuda_std::arg::ParamsOf;
use cuda_std::{KernelArg, Texture2d, View};
use glam::Vec4;

use crate::nv12::{Nv12, chroma_side};
use crate::{Chroma, Rgba8};

#[cfg(not(target_arch = "nvptx64"))]
use crate::nv12::DeviceNv12;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::{
    DeviceTexture, DeviceView,
    arg::HostArg,
    launch::{Params, Place},
};

/// An RGBA picture in a texture.
#[derive(Clone, Copy, Debug)]
pub struct Rgba8Texture {
    /// Levels as fractions.
    pub texels: Texture2d<Vec4>,
    /// What the texture is over.
    pub rows: View<Rgba8>,
}

/// What the host passes for an [`Rgba8Texture`].
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct DeviceRgba8Texture<'a> {
    /// Levels as fractions.
    pub texels: DeviceTexture<'a, Vec4>,
    /// What the texture is over.
    pub rows: DeviceView<'a, Rgba8>,
}

/// An NV12 picture in two textures.
#[derive(Clone, Copy, Debug)]
pub struct Nv12Texture {
    /// Luma as a fraction.
    pub y: Texture2d<Vec4>,
    /// Chroma as fractions, at half size, rounded up.
    pub uv: Texture2d<Vec4>,
    /// What the textures are over, which is whole.
    pub rows: Nv12,
}

/// What the host passes for an [`Nv12Texture`].
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct DeviceNv12Texture<'a> {
    y: DeviceTexture<'a, Vec4>,
    uv: DeviceTexture<'a, Vec4>,
    /// Whole, as checked.
    rows: DeviceNv12<'a>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl<'a> DeviceNv12Texture<'a> {
    /// Textures of luma and of chroma as fractions, and what they are over; `None` where that is not
    /// [whole](DeviceNv12::is_whole).
    #[must_use]
    pub fn new(
        y: DeviceTexture<'a, Vec4>,
        uv: DeviceTexture<'a, Vec4>,
        rows: DeviceNv12<'a>,
    ) -> Option<Self> {
        rows.is_whole().then_some(Self { y, uv, rows })
    }
}

/// One camera's planes of a warp in three textures of numbers; see [`CameraPlanes`](crate::warp::CameraPlanes).
#[derive(Clone, Copy, Debug)]
pub struct TexturedCameraPlanes {
    /// Columns in the camera's picture.
    pub x: Texture2d<Vec4>,
    /// Rows.
    pub y: Texture2d<Vec4>,
    /// How much the camera counts.
    pub weight: Texture2d<Vec4>,
    /// Columns of the planes.
    pub width: u32,
    /// Rows of the planes.
    pub height: u32,
}

/// What the host passes for [`TexturedCameraPlanes`].
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct DeviceTexturedCameraPlanes<'a> {
    /// Columns in the camera's picture.
    pub x: DeviceTexture<'a, Vec4>,
    /// Rows.
    pub y: DeviceTexture<'a, Vec4>,
    /// How much the camera counts.
    pub weight: DeviceTexture<'a, Vec4>,
    /// Columns of the planes.
    pub width: u32,
    /// Rows of the planes.
    pub height: u32,
}

// SAFETY: the texture's handle and the view's parameters, pushed in this order by the host handle.
unsafe impl KernelArg for Rgba8Texture {
    type P0 = u64;
    type P1 = <View<Rgba8> as KernelArg>::P0;
    type P2 = u32;
    type P3 = u32;
    type P4 = u32;
    type P5 = ();
    type P6 = ();
    type P7 = ();
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'a> = DeviceRgba8Texture<'a>;

    #[inline(always)]
    unsafe fn from_params((texels, v0, v1, v2, v3, ..): ParamsOf<Self>) -> Self {
        // SAFETY: as the caller vouches.
        unsafe {
            Self {
                texels: texture(texels),
                rows: View::from_params((v0, v1, v2, v3, (), (), (), ())),
            }
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl HostArg<Rgba8Texture> for DeviceRgba8Texture<'_> {
    fn places(&self) -> [Option<Place>; 2] {
        two([self.texels.places(), self.rows.places()])
    }

    fn push<'a>(&'a self, params: &mut Params<'a>) {
        self.texels.push(params);
        self.rows.push(params);
    }

    unsafe fn on_cpu(&self) -> Rgba8Texture {
        // SAFETY: as the caller vouches.
        unsafe { Rgba8Texture { texels: self.texels.on_cpu(), rows: self.rows.on_cpu() } }
    }
}

// SAFETY: the textures' handles, luma's view, and of chroma's view, whose size follows, address and pitch; pushed in
// this order by the host handle.
unsafe impl KernelArg for Nv12Texture {
    type P0 = u64;
    type P1 = u64;
    type P2 = <View<u8> as KernelArg>::P0;
    type P3 = u32;
    type P4 = u32;
    type P5 = u32;
    type P6 = <View<Chroma> as KernelArg>::P0;
    type P7 = u32;
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'a> = DeviceNv12Texture<'a>;

    #[inline(always)]
    unsafe fn from_params((y, uv, y0, width, height, y3, uv0, uv3): ParamsOf<Self>) -> Self {
        let half = (chroma_side(width), chroma_side(height));
        // SAFETY: as the caller vouches.
        unsafe {
            Self {
                y: texture(y),
                uv: texture(uv),
                rows: Nv12 {
                    y: View::from_params((y0, width, height, y3, (), (), (), ())),
                    uv: View::from_params((uv0, half.0, half.1, uv3, (), (), (), ())),
                },
            }
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl HostArg<Nv12Texture> for DeviceNv12Texture<'_> {
    fn places(&self) -> [Option<Place>; 2] {
        let Self { y, uv, rows: DeviceNv12 { y: luma, uv: chroma } } = self;
        two([y.places(), uv.places(), luma.places(), chroma.places()])
    }

    fn push<'a>(&'a self, params: &mut Params<'a>) {
        self.y.push(params);
        self.uv.push(params);
        self.rows.y.push(params);
        self.rows.uv.push_address(params);
        self.rows.uv.push_pitch(params);
    }

    unsafe fn on_cpu(&self) -> Nv12Texture {
        // SAFETY: as the caller vouches.
        unsafe {
            Nv12Texture { y: self.y.on_cpu(), uv: self.uv.on_cpu(), rows: self.rows.on_cpu() }
        }
    }
}

// SAFETY: the textures' handles and the size, pushed in this order by the host handle.
unsafe impl KernelArg for TexturedCameraPlanes {
    type P0 = u64;
    type P1 = u64;
    type P2 = u64;
    type P3 = u32;
    type P4 = u32;
    type P5 = ();
    type P6 = ();
    type P7 = ();
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'a> = DeviceTexturedCameraPlanes<'a>;

    #[inline(always)]
    unsafe fn from_params((x, y, weight, width, height, ..): ParamsOf<Self>) -> Self {
        // SAFETY: as the caller vouches.
        unsafe { Self { x: texture(x), y: texture(y), weight: texture(weight), width, height } }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl HostArg<TexturedCameraPlanes> for DeviceTexturedCameraPlanes<'_> {
    fn places(&self) -> [Option<Place>; 2] {
        two([&self.x, &self.y, &self.weight].map(DeviceTexture::places))
    }

    fn push<'a>(&'a self, params: &mut Params<'a>) {
        for texture in [&self.x, &self.y, &self.weight] {
            texture.push(params);
        }
        params.push(&self.width);
        params.push(&self.height);
    }

    unsafe fn on_cpu(&self) -> TexturedCameraPlanes {
        let Self { x, y, weight, width, height } = *self;
        // SAFETY: as the caller vouches.
        unsafe {
            TexturedCameraPlanes {
                x: x.on_cpu(),
                y: y.on_cpu(),
                weight: weight.on_cpu(),
                width,
                height,
            }
        }
    }
}

/// The first place, and one that differs from it, if any does.
#[cfg(not(target_arch = "nvptx64"))]
fn two<const N: usize>(places: [[Option<Place>; 2]; N]) -> [Option<Place>; 2] {
    let places = places.map(|[place, _]| place);
    [places[0], places.into_iter().find(|place| *place != places[0]).flatten()]
}

/// A texture by its handle.
///
/// # Safety
/// As [`KernelArg::from_params`].
#[inline(always)]
unsafe fn texture(handle: u64) -> Texture2d<Vec4> {
    // SAFETY: as the caller vouches.
    unsafe { Texture2d::from_params((handle, (), (), (), (), (), (), ())) }
}
