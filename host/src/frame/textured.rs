//! Frames as textures, for kernels that read source pixels through the GPU's texture unit.

use cuda_std::{DeviceTable, DeviceTexture};
use glam::Vec4;
use shared_types::stitch::MAX_CAMERAS;
use shared_types::texture::{
    AnyTexture, DeviceAnyTexture, DeviceNv12Texture, DeviceP010Texture, DeviceRgba8Texture,
    Nv12Texture, P010Texture, Rgba8Texture,
};

use super::{DeviceNv12, DeviceP010, FrameView, PixelFormat, YuvEncoding};
use crate::device::{Device, DeviceError, Textures};

/// The planes of a frame as textures.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Textured<'a> {
    Rgba8(DeviceRgba8Texture<'a>),
    Nv12(DeviceNv12Texture<'a>, YuvEncoding),
    P010(DeviceP010Texture<'a>, YuvEncoding),
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
            FrameView::P010(rows @ DeviceP010 { y, uv }, encoding) => {
                let (luma, chroma) = (textures.over(device, y)?, textures.over(device, uv)?);
                luma.zip(chroma).and_then(|(luma, chroma)| {
                    let (y, uv) = (texture(luma), texture(chroma));
                    DeviceP010Texture::new(y, uv, *rows).map(|frame| Self::P010(frame, *encoding))
                })
            }
        })
    }

    /// Returns whether both frames are RGBA, both are NV12, or both are P010.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// Returns the textures for kernels that take frames of different formats, or `None` for P010.
    fn any(&self) -> Option<DeviceAnyTexture<'a>> {
        match self {
            Self::Rgba8(texture) => Some(DeviceAnyTexture::Rgba8(*texture)),
            Self::Nv12(textures, _) => Some(DeviceAnyTexture::Nv12(*textures)),
            Self::P010(..) => None,
        }
    }

    /// Returns the pixel format of the frame.
    pub(crate) fn pixels(&self) -> PixelFormat {
        match self {
            Self::Rgba8(_) => PixelFormat::Rgba8,
            Self::Nv12(_, encoding) => PixelFormat::Nv12(*encoding),
            Self::P010(_, encoding) => PixelFormat::P010(*encoding),
        }
    }
}

/// The frames of all cameras as textures, as one kernel argument. Kernels are specialised for frames of one format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TexturedFrames<'a> {
    Rgba8(DeviceTable<'a, Rgba8Texture, MAX_CAMERAS>),
    Nv12(DeviceTable<'a, Nv12Texture, MAX_CAMERAS>),
    P010(DeviceTable<'a, P010Texture, MAX_CAMERAS>),
    /// Frames of different formats, but not P010.
    Mixed(DeviceTable<'a, AnyTexture, MAX_CAMERAS>),
}

impl<'a> TexturedFrames<'a> {
    /// Returns the frames as an argument. Returns `None` unless there are 1 to [`MAX_CAMERAS`] frames, or if some but
    /// not all of them are P010.
    pub(crate) fn new(frames: &[Textured<'a>]) -> Option<Self> {
        /// Returns the frames if all of them have this format.
        macro_rules! all {
            ($format:ident) => {{
                let frame = |frame: &Textured<'a>| match frame {
                    Textured::$format(textures, ..) => Some(*textures),
                    _ => None,
                };
                frames.iter().map(frame).collect::<Option<Vec<_>>>()
            }};
        }
        let (rgba8, nv12, p010) = (all!(Rgba8), all!(Nv12), all!(P010));
        match (rgba8, nv12, p010) {
            (Some(frames), ..) => DeviceTable::new(&frames).map(Self::Rgba8),
            (_, Some(frames), _) => DeviceTable::new(&frames).map(Self::Nv12),
            (.., Some(frames)) => DeviceTable::new(&frames).map(Self::P010),
            (None, None, None) => {
                let frames: Option<Vec<_>> = frames.iter().map(Textured::any).collect();
                DeviceTable::new(&frames?).map(Self::Mixed)
            }
        }
    }
}
