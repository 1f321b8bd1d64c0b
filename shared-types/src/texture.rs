//! Textured pictures as kernel arguments, the counterparts of [`View`] and [`nv12`](crate::nv12).
//!
//! The texture objects filter bilinearly with 8 fractional bits and repeat the edge. Next to them, a picture's
//! argument has a view of the memory behind the textures, for its size and for prefetch addresses.

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
    /// Levels as fractions.
    pub texels: Texture2d<Vec4>,
    /// The memory behind the texture.
    pub rows: View<Rgba8>,
}

/// An NV12 picture as two textures.
#[derive(Clone, Copy, Debug)]
pub struct Nv12Texture {
    /// Luma as a fraction.
    pub y: Texture2d<Vec4>,
    /// Chroma as fractions, at half size, rounded up.
    pub uv: Texture2d<Vec4>,
    /// The memory behind the textures. Its planes have matching sizes.
    pub rows: Nv12,
}

/// The host's argument for an [`Nv12Texture`].
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct DeviceNv12Texture<'a> {
    y: DeviceTexture<'a, Vec4>,
    uv: DeviceTexture<'a, Vec4>,
    /// Checked: the planes have matching sizes.
    rows: DeviceNv12<'a>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl<'a> DeviceNv12Texture<'a> {
    /// Creates the argument from textures of luma and chroma as fractions and the memory behind them. Returns `None`
    /// unless that is [whole](DeviceNv12::is_whole).
    #[must_use]
    pub fn new(
        y: DeviceTexture<'a, Vec4>,
        uv: DeviceTexture<'a, Vec4>,
        rows: DeviceNv12<'a>,
    ) -> Option<Self> {
        rows.is_whole().then_some(Self { y, uv, rows })
    }
}

/// One camera's planes of a warp as three textures of numbers; see [`CameraPlanes`](crate::warp::CameraPlanes).
#[derive(Clone, Copy, Debug, KernelArg)]
pub struct TexturedCameraPlanes {
    /// Source columns.
    pub x: Texture2d<Vec4>,
    /// Source rows.
    pub y: Texture2d<Vec4>,
    /// The camera's weight.
    pub weight: Texture2d<Vec4>,
    /// Columns of the planes.
    pub width: u32,
    /// Rows of the planes.
    pub height: u32,
}

// SAFETY: the parameters are the textures' handles, luma's view, and the address and pitch of chroma's view, whose
// size follows from luma's. The host handle pushes them in this order.
unsafe impl KernelArg for Nv12Texture {
    type Params = (u64, (u64, (*const u8, (u32, (u32, (u32, (*const Chroma, (u32, ()))))))));
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'a> = DeviceNv12Texture<'a>;

    #[inline(always)]
    unsafe fn from_params(params: Self::Params) -> Self {
        let (y, (uv, (luma, (width, (height, (luma_pitch, (chroma, (chroma_pitch, ())))))))) =
            params;
        let half = (chroma_side(width), chroma_side(height));
        // SAFETY: the caller guarantees the same.
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
        // SAFETY: the caller guarantees the same.
        unsafe {
            Nv12Texture { y: self.y.on_cpu(), uv: self.uv.on_cpu(), rows: self.rows.on_cpu() }
        }
    }
}
