//! Frames in device memory whose format kernels do not read: NV12 beside the planes of the format.
//!
//! An upload fills the planes and converts them to NV12; a download converts NV12 back first. The luma planes of I420
//! and GRAY8 are those of NV12, so these formats convert only chroma, or nothing.

use std::sync::Mutex;

use kernels_gpu::convert::{JoinChroma, PackUyvy, PackYuy2, SplitChroma, UnpackUyvy, UnpackYuy2};
use shared_types::Chroma;
use shared_types::nv12::{DeviceNv12, DeviceNv12Mut, chroma_side};
use shared_types::warp::BLOCK;

use super::{FrameFormat, PixelFormat};
use crate::device::{Device, DeviceError, Image, LaunchConfig, Rows, RowsMut, Stream};
use crate::lock::lock;

/// A frame in the format [`PixelFormat::I420`], [`Yuy2`](PixelFormat::Yuy2), [`Uyvy`](PixelFormat::Uyvy) or
/// [`Gray8`](PixelFormat::Gray8). Kernels see NV12.
#[derive(Debug)]
pub struct ConvertedFrame {
    pub(super) pixels: PixelFormat,
    pub(super) y: Image<u8>,
    pub(super) uv: Image<Chroma>,
    /// The planes that NV12 does not have. The lock lets a download write them.
    planes: Mutex<Planes>,
}

#[derive(Debug)]
enum Planes {
    None,
    Chroma([Image<u8>; 2]),
    Pairs(Image<u32>),
}

impl ConvertedFrame {
    /// Allocates a frame. Its luma is 0, and the chroma of a frame without colour is 128.
    #[track_caller]
    pub(super) fn new(device: &Device, format: FrameFormat) -> Result<Self, DeviceError> {
        let FrameFormat { size, pixels } = format;
        let half = size.map(chroma_side);
        let mut uv = Image::new(device, half.x, half.y)?;
        let planes = match pixels {
            PixelFormat::I420(_) => {
                let plane = || Image::new(device, half.x, half.y);
                Planes::Chroma([plane()?, plane()?])
            }
            PixelFormat::Yuy2(_) | PixelFormat::Uyvy(_) => {
                Planes::Pairs(Image::new(device, half.x, size.y)?)
            }
            _ => {
                let none = vec![Chroma { u: 128, v: 128 }; half.element_product() as usize];
                uv.upload(&device.stream()?, &none)?;
                Planes::None
            }
        };
        let y = Image::new(device, size.x, size.y)?;
        Ok(Self { pixels, y, uv, planes: Mutex::new(planes) })
    }

    /// Returns the luma that kernels see.
    #[must_use]
    pub fn luma(&self) -> &Image<u8> {
        &self.y
    }

    /// Returns the chroma that kernels see, with half the width and height of the luma, rounded up.
    #[must_use]
    pub fn chroma(&self) -> &Image<Chroma> {
        &self.uv
    }

    /// Returns the planes of the format, to be read.
    pub(super) fn rows(&self) -> [Option<Rows<'_>>; 3] {
        fn raw<'a, T: bytemuck::Pod>(image: &Image<T>) -> Option<Rows<'a>> {
            Some(Rows::Raw { address: image.as_ptr().addr() as u64, pitch: image.pitch() as usize })
        }
        match &*lock(&self.planes) {
            Planes::None => [Some(self.y.rows()), None, None],
            Planes::Chroma([u, v]) => [Some(self.y.rows()), raw(u), raw(v)],
            Planes::Pairs(pairs) => [raw(pairs), None, None],
        }
    }

    /// Returns the planes of the format, to be written.
    pub(super) fn rows_mut(&mut self) -> [Option<RowsMut<'_>>; 3] {
        match self.planes.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            Planes::None => [Some(self.y.rows_mut()), None, None],
            Planes::Chroma([u, v]) => {
                [Some(self.y.rows_mut()), Some(u.rows_mut()), Some(v.rows_mut())]
            }
            Planes::Pairs(pairs) => [Some(pairs.rows_mut()), None, None],
        }
    }

    /// Submits the conversion of the planes to NV12.
    #[track_caller]
    pub(super) fn to_nv12(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        let Self { pixels, y, uv, planes } = self;
        let config = LaunchConfig::cover(uv.width(), uv.height(), BLOCK);
        match &*lock(planes) {
            Planes::None => Ok(()),
            Planes::Chroma([u, v]) => {
                let kernel = JoinChroma { u: u.view(), v: v.view(), out: uv.view_mut() };
                stream.launch(&config, &kernel)
            }
            Planes::Pairs(pairs) => {
                let (from, out) =
                    (pairs.view(), DeviceNv12Mut { y: y.view_mut(), uv: uv.view_mut() });
                match pixels {
                    PixelFormat::Uyvy(_) => stream.launch(&config, &UnpackUyvy { from, out }),
                    _ => stream.launch(&config, &UnpackYuy2 { from, out }),
                }
            }
        }
    }

    /// Submits the conversion of NV12 to the planes.
    #[track_caller]
    pub(super) fn from_nv12(&self, stream: &Stream) -> Result<(), DeviceError> {
        let config = LaunchConfig::cover(self.uv.width(), self.uv.height(), BLOCK);
        match &mut *lock(&self.planes) {
            Planes::None => Ok(()),
            Planes::Chroma([u, v]) => {
                let kernel = SplitChroma { from: self.uv.view(), u: u.view_mut(), v: v.view_mut() };
                stream.launch(&config, &kernel)
            }
            Planes::Pairs(pairs) => {
                let from = DeviceNv12 { y: self.y.view(), uv: self.uv.view() };
                let out = pairs.view_mut();
                match self.pixels {
                    PixelFormat::Uyvy(_) => stream.launch(&config, &PackUyvy { from, out }),
                    _ => stream.launch(&config, &PackYuy2 { from, out }),
                }
            }
        }
    }
}
