//! Frames as textures, for kernels that sample them by the texture unit.

use cuda_std::DeviceTexture;
use glam::Vec4;
use shared_types::texture::{DeviceNv12Texture, DeviceRgba8Texture};

use super::{DeviceNv12, FrameView, PixelFormat, YuvEncoding};
use crate::device::{Device, DeviceError, Textures};

/// A frame as textures.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Textured<'a> {
    Rgba8(DeviceRgba8Texture<'a>),
    Nv12(DeviceNv12Texture<'a>, YuvEncoding),
}

impl<'a> Textured<'a> {
    /// The frame's textures, if it is whole and the device can read it so. They live as long as `textures` is not asked
    /// for many others.
    #[track_caller]
    pub(crate) fn of(
        device: &Device,
        textures: &mut Textures,
        frame: &FrameView<'a>,
    ) -> Result<Option<Self>, DeviceError> {
        // SAFETY: of a frame that lives so long, for reads of fractions; the caller holds on to the objects.
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

    /// What its bytes mean.
    pub(crate) fn pixels(&self) -> PixelFormat {
        match self {
            Self::Rgba8(_) => PixelFormat::Rgba8,
            Self::Nv12(_, encoding) => PixelFormat::Nv12(*encoding),
        }
    }
}
