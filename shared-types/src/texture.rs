//! Pictures in textures as kernel arguments: the counterparts of [`View`] and [`nv12`](crate::nv12).
//!
//! The texture objects filter bilinearly with 8 fractional bits and clamp coordinates to the edge. Each argument also
//! contains a view of the memory behind its textures, which gives the picture's size and addresses for prefetching.

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

/// An RGBA picture as a texture.
#[derive(Clone, Copy, Debug, KernelArg)]
pub struct Rgba8Texture {
    /// The texture. Samples are fractions from 0 to 1.
    pub texels: Texture2d<Vec4>,
    /// The memory behind the texture.
    pub rows: View<Rgba8>,
}

/// An NV12 picture as two textures.
#[derive(Clone, Copy, Debug)]
pub struct Nv12Texture {
    /// The luma texture. Samples are fractions from 0 to 1.
    pub y: Texture2d<Vec4>,
    /// The chroma texture, at half size, rounded up. Samples are fractions from 0 to 1.
    pub uv: Texture2d<Vec4>,
    /// The memory behind the textures. Its planes have matching sizes.
    pub rows: Nv12,
}

/// The host handle of an [`Nv12Texture`] argument.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct DeviceNv12Texture<'a> {
    y: DeviceTexture<'a, Vec4>,
    uv: DeviceTexture<'a, Vec4>,
    /// The memory behind the textures. `new` has checked that its planes have matching sizes.
    rows: DeviceNv12<'a>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl<'a> DeviceNv12Texture<'a> {
    /// Creates the argument from textures of luma and chroma that return fractions, and from the memory behind them.
    /// Returns `None` unless `rows` is [whole](DeviceNv12::is_whole).
    #[must_use]
    pub fn new(
        y: DeviceTexture<'a, Vec4>,
        uv: DeviceTexture<'a, Vec4>,
        rows: DeviceNv12<'a>,
    ) -> Option<Self> {
        rows.is_whole().then_some(Self { y, uv, rows })
    }
}

/// One camera's planes of a warp as three textures; see [`CameraPlanes`](crate::warp::CameraPlanes).
#[derive(Clone, Copy, Debug, KernelArg)]
pub struct TexturedCameraPlanes {
    /// The plane of source columns, in source pixels.
    pub x: Texture2d<Vec4>,
    /// The plane of source rows, in source pixels.
    pub y: Texture2d<Vec4>,
    /// The plane of the camera's weights.
    pub weight: Texture2d<Vec4>,
    /// The number of columns of each plane.
    pub width: u32,
    /// The number of rows of each plane.
    pub height: u32,
}

// SAFETY: the parameters are the handles of both textures, the view of luma, and the address and pitch of the view of
// chroma. The host handle pushes them in this order. The size of chroma follows from the size of luma.
unsafe impl KernelArg for Nv12Texture {
    type Params = (u64, (u64, (*const u8, (u32, (u32, (u32, (*const Chroma, (u32, ()))))))));
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'a> = DeviceNv12Texture<'a>;

    #[inline(always)]
    unsafe fn from_params(params: Self::Params) -> Self {
        let (y, (uv, (luma, (width, (height, (luma_pitch, (chroma, (chroma_pitch, ())))))))) =
            params;
        let half = (chroma_side(width), chroma_side(height));
        // SAFETY: the caller guarantees that the parameters come from a host handle, which pushed these parts.
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
        // SAFETY: the caller guarantees the conditions for every part.
        unsafe {
            Nv12Texture { y: self.y.on_cpu(), uv: self.uv.on_cpu(), rows: self.rows.on_cpu() }
        }
    }
}
