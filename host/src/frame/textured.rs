//! Frames as textures, for kernels that read source pixels through the GPU's texture unit.

use cuda_std::DeviceTexture;
use glam::Vec4;
use shared_types::texture::{DeviceNv12Texture, DeviceRgba8Texture};

use super::{DeviceNv12, FrameView, PixelFormat, YuvEncoding};
use crate::device::{Device, DeviceError, Textures};

/// The planes of a frame as textures.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Textured<'a> {
    Rgba8(DeviceRgba8Texture<'a>),
    Nv12(DeviceNv12Texture<'a>, YuvEncoding),
}

impl<'a> Textured<'a> {
    /// Returns textures over the frame's planes, or `None` if the device cannot read the planes as textures or the
    /// chroma plane does not match the luma plane. The textures stay valid until `textures` evicts them for other
    /// frames.
    #[track_caller]
    pub(crate) fn of(
        device: &Device,
        textures: &mut Textures,
        frame: &FrameView<'a>,
    ) -> Result<Option<Self>, DeviceError> {
        // SAFETY: the frame's memory is valid for `'a`, and `textures` creates texture objects that return normalised
        // floats. The caller ensures that `textures` does not evict the texture objects while kernels use them.
        let texture = |handle| unsafe { DeviceTexture::<'a, Vec4>::new(device.place(), handle) };
        Ok(match frame {
            FrameView::Rgba8(view) => textures.over(device, view)?.map(|handle| {
                Self::Rgba8(DeviceRgba8Texture { texels: texture(handle), rows: *view })
            }),
            FrameView::Nv12(rows @ DeviceNv12 { y, uv }, encoding) => {
                let (luma, chroma) = (textures.over(device, y)?, textures.over(device, uv)?);
                luma.zip(chroma).and_then(|(luma, chroma)| {
                    let (y, uv) = (texture(luma), texture(chroma));
                    DeviceNv12Texture::new(y, uv, *rows).map(|frame| Self::Nv12(frame, *encoding))
                })
            }
        })
    }

    /// Returns the pixel format of the frame.
    pub(crate) fn pixels(&self) -> PixelFormat {
        match self {
            Self::Rgba8(_) => PixelFormat::Rgba8,
            Self::Nv12(_, encoding) => PixelFormat::Nv12(*encoding),
        }
    }
}
