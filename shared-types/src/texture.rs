//! A camera's picture in textures as a kernel's argument: what [`View`] and [`nv12`](crate::nv12) are to loads.
//!
//! The texture objects filter bilinearly and repeat the edge. Their filter has 8 bits of fraction. Beside them stand
//! the rows that they are over: a size, and addresses to prefetch from.

use cuda_std::{KernelArg, Texture2d, View};
use glam::Vec4;

use crate::nv12::{Nv12, chroma_side};
use crate::{Chroma, Rgba8};

#[cfg(not(target_arch = "nvptx64"))]
use crate::nv12::DeviceNv12;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::{
    DeviceTexture,
    arg::{HostArg, join_places},
    launch::{Params, Place},
};

/// An RGBA picture in a texture.
#[derive(Clone, Copy, Debug, KernelArg)]
pub struct Rgba8Texture {
    /// Levels as fractions.
    pub texels: Texture2d<Vec4>,
    /// What the texture is over.
    pub rows: View<Rgba8>,
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
#[derive(Clone, Copy, Debug, KernelArg)]
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

// SAFETY: the textures' handles, luma's view, and of chroma's view, whose size follows, address and pitch; pushed in
// this order by the host handle.
unsafe impl KernelArg for Nv12Texture {
    type Params = (u64, (u64, (*const u8, (u32, (u32, (u32, (*const Chroma, (u32, ()))))))));
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'a> = DeviceNv12Texture<'a>;

    #[inline(always)]
    unsafe fn from_params(params: Self::Params) -> Self {
        let (y, (uv, (luma, (width, (height, (luma_pitch, (chroma, (chroma_pitch, ())))))))) =
            params;
        let half = (chroma_side(width), chroma_side(height));
        // SAFETY: as the caller vouches.
        unsafe {
            Self {
                y: Texture2d::from_params((y, ())),
                uv: Texture2d::from_params((uv, ())),
                rows: Nv12 {
                    y: View::from_params((luma, (width, (height, (luma_pitch, ()))))),
                    uv: View::from_params((chroma, (half.0, (half.1, (chroma_pitch, ()))))),
                },
            }
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl HostArg<Nv12Texture> for DeviceNv12Texture<'_> {
    fn places(&self) -> [Option<Place>; 2] {
        let Self { y, uv, rows: DeviceNv12 { y: luma, uv: chroma } } = self;
        join_places(&[y.places(), uv.places(), luma.places(), chroma.places()])
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
