//! A picture in memory in one of several formats, for kernels whose pictures differ in format.

use cuda_std::{KernelArg, View};

use crate::Rgba8;
use crate::nv12::Nv12;

#[cfg(not(target_arch = "nvptx64"))]
use crate::{Chroma, nv12::DeviceNv12};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::{DeviceView, arg::HostArg, launch::Params};

/// A picture that a kernel reads. [`AnyTexture`](crate::texture::AnyTexture) is the counterpart in textures.
#[derive(Clone, Copy, Debug)]
pub enum AnyPicture {
    /// An RGBA picture.
    Rgba8(View<Rgba8>),
    /// An NV12 picture.
    Nv12(Nv12),
}

/// The value that the host passes for an [`AnyPicture`] argument of a kernel.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub enum DeviceAnyPicture<'a> {
    /// An RGBA picture.
    Rgba8(DeviceView<'a, Rgba8>),
    /// An NV12 picture.
    Nv12(DeviceNv12<'a>),
}

// SAFETY: the parameters are those of an `Nv12`. `DeviceAnyPicture::push` pushes these for an NV12 picture. For an RGBA
// picture, it pushes the parts of the view, a null address and zeros.
unsafe impl KernelArg for AnyPicture {
    type Params = <Nv12 as KernelArg>::Params;
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'a> = DeviceAnyPicture<'a>;

    #[inline(always)]
    unsafe fn from_params(params: Self::Params) -> Self {
        let (rows, (width, (height, (pitch, (chroma, _))))) = params;
        // SAFETY: the caller guarantees that `params` are those that `DeviceAnyPicture::push` pushed, and only an NV12
        // picture has a chroma plane.
        unsafe {
            if chroma.is_null() {
                Self::Rgba8(View::from_params((rows.cast(), (width, (height, (pitch, ()))))))
            } else {
                Self::Nv12(Nv12::from_params(params))
            }
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl HostArg<AnyPicture> for DeviceAnyPicture<'_> {
    fn push<'a>(&'a self, params: &mut Params<'a>) {
        match self {
            Self::Rgba8(picture) => {
                picture.push(params);
                params.push(const { &core::ptr::null::<Chroma>() });
                (0..3).for_each(|_| params.push(&0_u32));
            }
            Self::Nv12(picture) => picture.push(params),
        }
    }
}
