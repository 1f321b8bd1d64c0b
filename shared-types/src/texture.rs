//! Kernel arguments for pictures that are read through textures. [`View`] and [`nv12`](crate::nv12) are the arguments
//! for pictures in plain memory.
//!
//! The texture objects filter bilinearly with 8 fractional bits and clamp coordinates to the edge. Each picture also
//! has a view of the memory behind its textures. Kernels take the picture's size and the addresses to prefetch from it.

use cuda_std::{KernelArg, Texture2d, View};
use glam::Vec4;

use crate::nv12::{Nv12, P010, chroma_side};
use crate::{Chroma, Chroma10, Rgba8};

#[cfg(not(target_arch = "nvptx64"))]
use crate::nv12::{DeviceNv12, DeviceP010};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::{DeviceTexture, arg::HostArg, launch::Params};

/// An RGBA picture as a texture.
#[derive(Clone, Copy, Debug, KernelArg)]
pub struct Rgba8Texture {
    /// The texture. Samples are fractions from 0 to 1.
    pub texels: Texture2d<Vec4>,
    /// A view of the memory behind the texture.
    pub rows: View<Rgba8>,
}

/// Defines the kernel argument for a picture with a luma and a chroma plane as two textures, and its host handle.
macro_rules! yuv_texture {
    ($format:literal: $texture:ident, $device:ident, $rows:ident, $device_rows:ident, [$luma:ty, $chroma:ty]) => {
        #[doc = concat!("A ", $format, " picture as two textures.")]
        #[derive(Clone, Copy, Debug)]
        pub struct $texture {
            /// The luma texture. Samples are fractions from 0 to 1.
            pub y: Texture2d<Vec4>,
            /// The chroma texture. Its sides are half those of the luma texture, rounded up. Samples are fractions from
            /// 0 to 1.
            pub uv: Texture2d<Vec4>,
            /// Views of the memory behind the textures. The chroma plane has half the size of the luma plane, rounded
            /// up.
            pub rows: $rows,
        }

        #[doc = concat!("The value that the host passes for a [`", stringify!($texture), "`] argument of a kernel.")]
        #[cfg(not(target_arch = "nvptx64"))]
        #[derive(Clone, Copy, Debug)]
        pub struct $device<'a> {
            y: DeviceTexture<'a, Vec4>,
            uv: DeviceTexture<'a, Vec4>,
            /// The memory behind the textures. `new` has checked that the chroma plane has half the size of the luma
            /// plane, rounded up.
            rows: $device_rows<'a>,
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<'a> $device<'a> {
            /// Creates the argument from a luma and a chroma texture, whose samples are fractions from 0 to 1, and from
            /// the memory behind these textures. Returns `None` unless the chroma plane of `rows` has half the size of
            /// its luma plane, rounded up.
            #[must_use]
            pub fn new(
                y: DeviceTexture<'a, Vec4>,
                uv: DeviceTexture<'a, Vec4>,
                rows: $device_rows<'a>,
            ) -> Option<Self> {
                rows.is_whole().then_some(Self { y, uv, rows })
            }
        }

        // SAFETY: `Params` lists the handles of both textures, the parts of the luma view, and the address and pitch of
        // the chroma view. `push` of the host handle pushes them in the same order. `from_params` computes the size of
        // the chroma plane from the size of the luma plane.
        unsafe impl KernelArg for $texture {
            type Params =
                (u64, (u64, (*const $luma, (u32, (u32, (u32, (*const $chroma, (u32, ()))))))));
            #[cfg(not(target_arch = "nvptx64"))]
            type Host<'a> = $device<'a>;

            #[inline(always)]
            unsafe fn from_params(params: Self::Params) -> Self {
                let (y, (uv, (luma, (width, (height, (luma_pitch, (chroma, (chroma_pitch, ())))))))) =
                    params;
                let half = (chroma_side(width), chroma_side(height));
                // SAFETY: the caller guarantees that `params` are those that `push` of the host handle pushed, so each
                // part is valid for its type. `new` has checked that the chroma plane has the size `half`.
                unsafe {
                    Self {
                        y: Texture2d::from_params((y, ())),
                        uv: Texture2d::from_params((uv, ())),
                        rows: $rows {
                            y: View::from_params((luma, (width, (height, (luma_pitch, ()))))),
                            uv: View::from_params((chroma, (half.0, (half.1, (chroma_pitch, ()))))),
                        },
                    }
                }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl HostArg<$texture> for $device<'_> {
            fn push<'a>(&'a self, params: &mut Params<'a>) {
                self.y.push(params);
                self.uv.push(params);
                self.rows.y.push(params);
                self.rows.uv.push_address(params);
                self.rows.uv.push_pitch(params);
            }
        }
    };
}

yuv_texture!("NV12": Nv12Texture, DeviceNv12Texture, Nv12, DeviceNv12, [u8, Chroma]);

yuv_texture!("P010": P010Texture, DeviceP010Texture, P010, DeviceP010, [u16, Chroma10]);

/// A picture in one of several formats, for kernels whose pictures differ in format.
#[derive(Clone, Copy, Debug)]
pub enum AnyTexture {
    /// An RGBA picture.
    Rgba8(Rgba8Texture),
    /// An NV12 picture.
    Nv12(Nv12Texture),
}

/// The value that the host passes for an [`AnyTexture`] argument of a kernel.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub enum DeviceAnyTexture<'a> {
    /// An RGBA picture.
    Rgba8(DeviceRgba8Texture<'a>),
    /// An NV12 picture.
    Nv12(DeviceNv12Texture<'a>),
}

/// The planes of one camera in a warp as three textures: the source coordinates and the camera's weight for each
/// panorama pixel. [`CameraPlanes`](crate::warp::CameraPlanes) is the counterpart in plain memory.
#[derive(Clone, Copy, Debug, KernelArg)]
pub struct TexturedCameraPlanes {
    /// The plane of source columns, in source pixels.
    pub x: Texture2d<Vec4>,
    /// The plane of source rows, in source pixels.
    pub y: Texture2d<Vec4>,
    /// The plane of the camera's blending weights.
    pub weight: Texture2d<Vec4>,
    /// The number of columns of each plane.
    pub width: u32,
    /// The number of rows of each plane.
    pub height: u32,
}

// SAFETY: the parameters are those of an `Nv12Texture`. `DeviceAnyTexture::push` pushes these for an NV12 picture. For
// an RGBA picture, it pushes the handle of the texture, 0, the parts of the view, a null address and 0.
unsafe impl KernelArg for AnyTexture {
    type Params = <Nv12Texture as KernelArg>::Params;
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'a> = DeviceAnyTexture<'a>;

    #[inline(always)]
    unsafe fn from_params(params: Self::Params) -> Self {
        let (texels, (_, (rows, (width, (height, (pitch, (chroma, _))))))) = params;
        // SAFETY: the caller guarantees that `params` are those that `DeviceAnyTexture::push` pushed, and only an NV12
        // picture has a chroma plane.
        unsafe {
            if chroma.is_null() {
                Self::Rgba8(Rgba8Texture {
                    texels: Texture2d::from_params((texels, ())),
                    rows: View::from_params((rows.cast(), (width, (height, (pitch, ()))))),
                })
            } else {
                Self::Nv12(Nv12Texture::from_params(params))
            }
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl HostArg<AnyTexture> for DeviceAnyTexture<'_> {
    fn push<'a>(&'a self, params: &mut Params<'a>) {
        match self {
            Self::Rgba8(DeviceRgba8Texture { texels, rows }) => {
                texels.push(params);
                params.push(&0_u64);
                rows.push(params);
                params.push(const { &core::ptr::null::<Chroma>() });
                params.push(&0_u32);
            }
            Self::Nv12(picture) => picture.push(params),
        }
    }
}
