//! Frames as textures, for kernels that read source pixels through the GPU's texture unit.

use cuda_std::{DeviceTable, DeviceTexture};
use glam::Vec4;
use shared_types::stitch::MAX_CAMERAS;
use shared_types::texture::{
    AnyTexture, DeviceAnyTexture, DeviceNv12Texture, DeviceRgba8Texture, Nv12Texture, Rgba8Texture,
};

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

    /// Returns whether both frames are RGBA or both are NV12.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// Returns the texture of an RGBA frame.
    fn rgba8(&self) -> Option<DeviceRgba8Texture<'a>> {
        if let Self::Rgba8(texture) = self { Some(*texture) } else { None }
    }

    /// Returns the textures of an NV12 frame.
    fn nv12(&self) -> Option<DeviceNv12Texture<'a>> {
        if let Self::Nv12(textures, _) = self { Some(*textures) } else { None }
    }

    /// Returns the textures for kernels that take frames of different formats.
    fn any(&self) -> DeviceAnyTexture<'a> {
        match self {
            Self::Rgba8(texture) => DeviceAnyTexture::Rgba8(*texture),
            Self::Nv12(textures, _) => DeviceAnyTexture::Nv12(*textures),
        }
    }

    /// Returns the pixel format of the frame.
    pub(crate) fn pixels(&self) -> PixelFormat {
        match self {
            Self::Rgba8(_) => PixelFormat::Rgba8,
            Self::Nv12(_, encoding) => PixelFormat::Nv12(*encoding),
        }
    }
}

/// The frames of all cameras as textures, as one kernel argument. Kernels are specialised for frames of one format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TexturedFrames<'a> {
    Rgba8(DeviceTable<'a, Rgba8Texture, MAX_CAMERAS>),
    Nv12(DeviceTable<'a, Nv12Texture, MAX_CAMERAS>),
    /// Frames of different formats.
    Mixed(DeviceTable<'a, AnyTexture, MAX_CAMERAS>),
}

impl<'a> TexturedFrames<'a> {
    /// Returns the frames as an argument, or `None` unless there are 1 to [`MAX_CAMERAS`] frames.
    pub(crate) fn new(frames: &[Textured<'a>]) -> Option<Self> {
        let rgba8: Option<Vec<_>> = frames.iter().map(Textured::rgba8).collect();
        let nv12: Option<Vec<_>> = frames.iter().map(Textured::nv12).collect();
        match (rgba8, nv12) {
            (Some(frames), _) => DeviceTable::new(&frames).map(Self::Rgba8),
            (_, Some(frames)) => DeviceTable::new(&frames).map(Self::Nv12),
            (None, None) => {
                let frames: Vec<_> = frames.iter().map(Textured::any).collect();
                DeviceTable::new(&frames).map(Self::Mixed)
            }
        }
    }
}
