//! Frames in device memory whose format kernels do not read: a frame that they read, beside the planes of the format.
//!
//! An upload fills the planes and converts them; a download converts them back first. The luma planes of I420 and GRAY8
//! are those of NV12, so these formats convert only chroma, or nothing.

use std::sync::{Mutex, PoisonError};

use kernels_gpu::convert::{JoinChroma, PackUyvy, PackYuy2, SplitChroma, UnpackUyvy, UnpackYuy2};
use shared_types::Chroma;
use shared_types::nv12::{DeviceNv12, DeviceNv12Mut, chroma_side};
use shared_types::warp::BLOCK;

use super::{DeviceFrame, FrameFormat, PixelFormat};
use crate::device::{Device, DeviceError, Image, LaunchConfig, Rows, RowsMut, Stream};
use crate::lock::lock;

/// A frame in the format [`PixelFormat::I420`], [`Yuy2`](PixelFormat::Yuy2), [`Uyvy`](PixelFormat::Uyvy) or
/// [`Gray8`](PixelFormat::Gray8).
#[derive(Debug)]
pub struct ConvertedFrame {
    pixels: PixelFormat,
    stored: DeviceFrame,
    /// The planes that `stored` does not have. The lock lets a download write them.
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
        let mut stored = DeviceFrame::new(device, format.stored())?;
        let planes = match (pixels, &mut stored) {
            (PixelFormat::I420(_), _) => {
                let plane = || Image::new(device, half.x, half.y);
                Planes::Chroma([plane()?, plane()?])
            }
            (PixelFormat::Yuy2(_) | PixelFormat::Uyvy(_), _) => {
                Planes::Pairs(Image::new(device, half.x, size.y)?)
            }
            (_, DeviceFrame::Nv12 { uv, .. }) => {
                let none = vec![Chroma { u: 128, v: 128 }; half.element_product() as usize];
                uv.upload(&device.stream()?, &none)?;
                Planes::None
            }
            _ => Planes::None,
        };
        Ok(Self { pixels, stored, planes: Mutex::new(planes) })
    }

    /// Returns the size and the pixel format.
    #[must_use]
    pub fn format(&self) -> FrameFormat {
        FrameFormat { pixels: self.pixels, ..self.stored.format() }
    }

    /// Returns the frame that kernels see.
    #[must_use]
    pub fn stored(&self) -> &DeviceFrame {
        &self.stored
    }

    pub(super) fn stored_mut(&mut self) -> &mut DeviceFrame {
        &mut self.stored
    }

    /// Returns the planes of the format, to be read.
    pub(super) fn rows(&self) -> [Option<Rows<'_>>; 3] {
        fn raw<'a, T: bytemuck::Pod>(image: &Image<T>) -> Option<Rows<'a>> {
            Some(Rows::Raw { address: image.as_ptr().addr() as u64, pitch: image.pitch() as usize })
        }
        let luma = self.stored.plane_rows()[0].take();
        match &*lock(&self.planes) {
            Planes::None => [luma, None, None],
            Planes::Chroma([u, v]) => [luma, raw(u), raw(v)],
            Planes::Pairs(pairs) => [raw(pairs), None, None],
        }
    }

    /// Returns the planes of the format, to be written.
    pub(super) fn rows_mut(&mut self) -> [Option<RowsMut<'_>>; 3] {
        let luma = self.stored.plane_rows_mut()[0].take();
        match self.planes.get_mut().unwrap_or_else(PoisonError::into_inner) {
            Planes::None => [luma, None, None],
            Planes::Chroma([u, v]) => [luma, Some(u.rows_mut()), Some(v.rows_mut())],
            Planes::Pairs(pairs) => [Some(pairs.rows_mut()), None, None],
        }
    }

    /// Submits the conversion of the planes to the frame that kernels see.
    #[track_caller]
    pub(super) fn convert(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        let DeviceFrame::Nv12 { y, uv, .. } = &mut self.stored else { return Ok(()) };
        let config = LaunchConfig::cover(uv.width(), uv.height(), BLOCK);
        match &*lock(&self.planes) {
            Planes::None => Ok(()),
            Planes::Chroma([u, v]) => {
                let kernel = JoinChroma { u: u.view(), v: v.view(), out: uv.view_mut() };
                stream.launch(&config, &kernel)
            }
            Planes::Pairs(pairs) => {
                let from = pairs.view();
                let out = DeviceNv12Mut { y: y.view_mut(), uv: uv.view_mut() };
                match self.pixels {
                    PixelFormat::Uyvy(_) => stream.launch(&config, &UnpackUyvy { from, out }),
                    _ => stream.launch(&config, &UnpackYuy2 { from, out }),
                }
            }
        }
    }

    /// Submits the conversion of the frame that kernels see to the planes.
    #[track_caller]
    pub(super) fn convert_back(&self, stream: &Stream) -> Result<(), DeviceError> {
        let DeviceFrame::Nv12 { y, uv, .. } = &self.stored else { return Ok(()) };
        let config = LaunchConfig::cover(uv.width(), uv.height(), BLOCK);
        match &mut *lock(&self.planes) {
            Planes::None => Ok(()),
            Planes::Chroma([u, v]) => {
                let kernel = SplitChroma { from: uv.view(), u: u.view_mut(), v: v.view_mut() };
                stream.launch(&config, &kernel)
            }
            Planes::Pairs(pairs) => {
                let (from, out) = (DeviceNv12 { y: y.view(), uv: uv.view() }, pairs.view_mut());
                match self.pixels {
                    PixelFormat::Uyvy(_) => stream.launch(&config, &PackUyvy { from, out }),
                    _ => stream.launch(&config, &PackYuy2 { from, out }),
                }
            }
        }
    }
}
