//! Frames in device memory: [`DeviceFrame`] owns its memory, and [`FrameView`] and [`FrameViewMut`] borrow it for
//! kernels.
//!
//! A view may refer to memory that this crate did not allocate, such as the buffers of a camera or a decoder. To build
//! such a view, create a [`DeviceView`] of each plane.

use cuda_std::arg::HostArg;
use cuda_std::launch::{Params, Place};
use cuda_std::{DeviceView, DeviceViewMut};
use glam::UVec2;
use shared_types::nv12::{DeviceNv12, DeviceNv12Mut, DeviceP010, DeviceP010Mut, chroma_side};
use shared_types::yuv::YuvEncoding;
use shared_types::{Chroma, Chroma10, Rgba8};

use super::converted::ConvertedFrame;
use super::{Frame, FrameFormat, PixelFormat, PlaneExtent};
use crate::device::{Device, DeviceError, ErrorKind, Image, Rows, RowsMut, Stream};

/// The error for a frame that does not have the required format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the frame is {found}; it must be {expected}")]
pub struct FormatMismatch {
    /// The format of the frame.
    pub found: FrameFormat,
    /// The required format.
    pub expected: FrameFormat,
}

/// A plane in device memory of another library, such as a decoder.
#[derive(Clone, Copy, Debug)]
pub struct DevicePlane {
    /// The address of the first row on the device.
    pub address: u64,
    /// The distance from the start of one row to the start of the next, in bytes.
    pub pitch: usize,
}

/// A frame that owns its device memory.
#[derive(Debug)]
pub enum DeviceFrame {
    /// A frame in the format [`PixelFormat::Rgba8`].
    Rgba8(Image<Rgba8>),
    /// A frame in the format [`PixelFormat::Nv12`].
    Nv12 {
        /// The luma plane.
        y: Image<u8>,
        /// The chroma plane, with half the width and height of the luma plane, rounded up.
        uv: Image<Chroma>,
        /// The colour matrix and the value range of luma and chroma.
        encoding: YuvEncoding,
    },
    /// A frame in the format [`PixelFormat::P010`].
    P010 {
        /// The luma plane.
        y: Image<u16>,
        /// The chroma plane, with half the width and height of the luma plane, rounded up.
        uv: Image<Chroma10>,
        /// The colour matrix and the value range of luma and chroma.
        encoding: YuvEncoding,
    },
    /// A frame in another format.
    Converted(Box<ConvertedFrame>),
}

/// A borrowed frame that a kernel reads.
#[derive(Clone, Copy, Debug)]
pub enum FrameView<'a> {
    /// A frame in the format [`PixelFormat::Rgba8`].
    Rgba8(DeviceView<'a, Rgba8>),
    /// A frame in the format [`PixelFormat::Nv12`]. The chroma plane has half the width and height of the luma plane,
    /// rounded up.
    Nv12(DeviceNv12<'a>, YuvEncoding),
    /// A frame in the format [`PixelFormat::P010`]. The chroma plane has half the width and height of the luma plane,
    /// rounded up.
    P010(DeviceP010<'a>, YuvEncoding),
}

/// A borrowed frame in host memory or in device memory.
#[derive(Clone, Copy, Debug)]
pub enum FrameRef<'a> {
    /// A frame in host memory.
    Host(Frame<'a>),
    /// A frame in device memory.
    Device(FrameView<'a>),
}

/// A borrowed frame that a kernel writes.
#[derive(Debug)]
pub enum FrameViewMut<'a> {
    /// A frame in the format [`PixelFormat::Rgba8`].
    Rgba8(DeviceViewMut<'a, Rgba8>),
    /// A frame in the format [`PixelFormat::Nv12`]. The chroma plane has half the width and height of the luma plane,
    /// rounded up.
    Nv12(DeviceNv12Mut<'a>, YuvEncoding),
    /// A frame in the format [`PixelFormat::P010`]. The chroma plane has half the width and height of the luma plane,
    /// rounded up.
    P010(DeviceP010Mut<'a>, YuvEncoding),
}

impl DeviceFrame {
    /// Allocates a frame and fills it with zeros.
    ///
    /// # Errors
    /// Returns [`DeviceError`] for an empty size or if the allocation fails.
    #[track_caller]
    pub fn new(device: &Device, format: FrameFormat) -> Result<Self, DeviceError> {
        let (width, height) = format.size.into();
        Ok(match format.pixels {
            PixelFormat::Rgba8 => Self::Rgba8(Image::new(device, width, height)?),
            PixelFormat::Nv12(encoding) => Self::Nv12 {
                y: Image::new(device, width, height)?,
                uv: Image::new(device, chroma_side(width), chroma_side(height))?,
                encoding,
            },
            PixelFormat::P010(encoding) => Self::P010 {
                y: Image::new(device, width, height)?,
                uv: Image::new(device, chroma_side(width), chroma_side(height))?,
                encoding,
            },
            _ => Self::Converted(Box::new(ConvertedFrame::new(device, format)?)),
        })
    }

    /// Returns the frame's size and pixel format.
    #[must_use]
    pub fn format(&self) -> FrameFormat {
        match self {
            Self::Rgba8(image) => FrameFormat::rgba8(image.width(), image.height()),
            Self::Nv12 { y, encoding, .. } => FrameFormat::nv12(y.width(), y.height(), *encoding),
            Self::P010 { y, encoding, .. } => FrameFormat::p010(y.width(), y.height(), *encoding),
            Self::Converted(frame) => frame.format(),
        }
    }

    /// Returns the device that holds the frame.
    #[must_use]
    pub fn device(&self) -> &Device {
        match self {
            Self::Rgba8(image) => image.device(),
            Self::Nv12 { y, .. } => y.device(),
            Self::P010 { y, .. } => y.device(),
            Self::Converted(frame) => frame.stored().device(),
        }
    }

    /// Returns a view for kernels that read the frame.
    #[must_use]
    pub fn view(&self) -> FrameView<'_> {
        match self {
            Self::Rgba8(image) => FrameView::Rgba8(image.view()),
            Self::Nv12 { y, uv, encoding } => {
                FrameView::Nv12(DeviceNv12 { y: y.view(), uv: uv.view() }, *encoding)
            }
            Self::P010 { y, uv, encoding } => {
                FrameView::P010(DeviceP010 { y: y.view(), uv: uv.view() }, *encoding)
            }
            Self::Converted(frame) => frame.stored().view(),
        }
    }

    /// Returns a view for kernels that write the frame.
    #[must_use]
    pub fn view_mut(&mut self) -> FrameViewMut<'_> {
        match self {
            Self::Rgba8(image) => FrameViewMut::Rgba8(image.view_mut()),
            Self::Nv12 { y, uv, encoding } => {
                let view = DeviceNv12Mut { y: y.view_mut(), uv: uv.view_mut() };
                FrameViewMut::Nv12(view, *encoding)
            }
            Self::P010 { y, uv, encoding } => {
                let view = DeviceP010Mut { y: y.view_mut(), uv: uv.view_mut() };
                FrameViewMut::P010(view, *encoding)
            }
            Self::Converted(frame) => frame.stored_mut().view_mut(),
        }
    }

    /// Fills the frame from host memory and waits for the copy.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the two frames differ in format, if the stream belongs to another device, or if the
    /// copy fails.
    #[track_caller]
    pub fn upload(&mut self, stream: &Stream, frame: &Frame<'_>) -> Result<(), DeviceError> {
        for (from, to, extent) in self.planes_from("uploading a frame", frame)? {
            // SAFETY: the source plane and the target plane both have the size `extent`.
            unsafe { stream.copy_rows_now(from, to, extent.row, extent.rows) }?;
        }
        self.convert(stream)?;
        // Other streams may read the frame from now on.
        stream.synchronize()
    }

    /// Waits for all work in the stream, then copies the frame to host memory, plane after plane, without row padding.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if `bytes` does not have the length of the frame, if the stream belongs to another
    /// device, or if the copy or earlier work in the stream fails.
    #[track_caller]
    pub fn download(&self, stream: &Stream, bytes: &mut [u8]) -> Result<(), DeviceError> {
        for (from, to, extent) in self.planes_to("downloading a frame", stream, bytes)? {
            // SAFETY: each plane and its part of `bytes` have the size `extent`.
            unsafe { stream.copy_rows_now(from, to, extent.row, extent.rows) }?;
        }
        Ok(())
    }

    /// Copies the planes of a frame of another library to this frame, and waits for the copy.
    ///
    /// # Safety
    /// The planes must be on the stream's device, and have the number and the sizes of this frame's planes.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the stream belongs to another device, or if the copy fails.
    #[track_caller]
    pub unsafe fn copy_from(
        &mut self,
        stream: &Stream,
        planes: &[DevicePlane],
    ) -> Result<(), DeviceError> {
        let extents = self.format().planes();
        let mut planes = self.rows_mut("copying to a frame")?.zip(planes).zip(extents);
        let copied = planes.try_for_each(|((to, from), extent)| {
            let from = Rows::Raw { address: from.address, pitch: from.pitch };
            // SAFETY: the caller guarantees that both planes have the size `extent`.
            unsafe { stream.copy_rows(from, to, extent.row, extent.rows) }
        });
        drop(planes);
        let converted = copied.and_then(|()| self.convert(stream));
        // Wait even after an error, because the copy of an earlier plane may still run.
        converted.and(stream.synchronize())
    }

    /// Copies this frame to the planes of a frame of another library, and waits for the copy.
    ///
    /// # Safety
    /// The planes must be on the stream's device, and have the number and the sizes of this frame's planes. Nothing
    /// else may access them during the copy.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the stream belongs to another device, or if the copy fails.
    #[track_caller]
    pub unsafe fn copy_to(
        &self,
        stream: &Stream,
        planes: &[DevicePlane],
    ) -> Result<(), DeviceError> {
        self.convert_back(stream)?;
        let extents = self.format().planes();
        let mut planes = self.rows("copying a frame")?.zip(planes).zip(extents);
        let copied = planes.try_for_each(|((from, to), extent)| {
            let to = RowsMut::Raw { address: to.address, pitch: to.pitch };
            // SAFETY: the caller guarantees that both planes have the size `extent`.
            unsafe { stream.copy_rows(from, to, extent.row, extent.rows) }
        });
        // Wait even after an error, because the copy of an earlier plane may still run.
        copied.and(stream.synchronize())
    }

    /// Submits the copy of a frame from the host to this frame on the device, without waiting.
    ///
    /// # Safety
    /// The bytes of `frame` must stay valid and unchanged until the copy is done.
    ///
    /// # Errors
    /// Returns the errors of [`upload`](Self::upload). After an error, the copies of some planes may have been
    /// submitted.
    pub(crate) unsafe fn submit_upload(
        &mut self,
        stream: &Stream,
        frame: &Frame<'_>,
    ) -> Result<(), DeviceError> {
        for (from, to, extent) in self.planes_from("uploading a frame", frame)? {
            // SAFETY: the source plane and the target plane both have the size `extent`. The caller keeps the frame's
            // bytes valid and unchanged until the copy is done.
            unsafe { stream.copy_rows(from, to, extent.row, extent.rows) }?;
        }
        self.convert(stream)
    }

    /// Submits the copy of the frame to host memory, plane after plane, without row padding. Does not wait.
    ///
    /// # Safety
    /// `bytes` must stay valid until the copy is done, and nothing else may access `bytes` until then.
    ///
    /// # Errors
    /// Returns the errors of [`download`](Self::download). After an error, the copies of some planes may have been
    /// submitted.
    pub(crate) unsafe fn submit_download(
        &self,
        stream: &Stream,
        bytes: &mut [u8],
    ) -> Result<(), DeviceError> {
        for (from, to, extent) in self.planes_to("downloading a frame", stream, bytes)? {
            // SAFETY: each plane and its part of `bytes` have the size `extent`. The caller keeps `bytes` valid and
            // unused until the copy is done.
            unsafe { stream.copy_rows(from, to, extent.row, extent.rows) }?;
        }
        Ok(())
    }

    /// Submits the conversion to the format that kernels see, if it is another one.
    #[track_caller]
    fn convert(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        if let Self::Converted(frame) = self { frame.convert(stream) } else { Ok(()) }
    }

    /// Submits the conversion from the format that kernels see.
    #[track_caller]
    fn convert_back(&self, stream: &Stream) -> Result<(), DeviceError> {
        if let Self::Converted(frame) = self { frame.convert_back(stream) } else { Ok(()) }
    }

    /// Yields each plane of this frame, its part of `bytes`, and its extent, which both have. `bytes` holds the planes
    /// one after the other, without row padding.
    #[track_caller]
    fn planes_to<'a>(
        &'a self,
        operation: &'static str,
        stream: &Stream,
        bytes: &'a mut [u8],
    ) -> Result<impl Iterator<Item = (Rows<'a>, RowsMut<'a>, PlaneExtent)>, DeviceError> {
        self.check_bytes(operation, bytes)?;
        self.convert_back(stream)?;
        let bytes = self.format().split_mut(bytes);
        Ok(self.rows(operation)?.zip(bytes).map(|(from, (bytes, extent))| {
            (from, RowsMut::Host { bytes, pitch: extent.row }, extent)
        }))
    }

    /// Yields each plane of `frame`, the plane of this frame to copy it to, and the extent of both.
    #[track_caller]
    fn planes_from<'a>(
        &'a mut self,
        operation: &'static str,
        frame: &'a Frame<'_>,
    ) -> Result<impl Iterator<Item = (Rows<'a>, RowsMut<'a>, PlaneExtent)>, DeviceError> {
        self.check(operation, frame.format())?;
        let from = frame.planes().iter().zip(frame.format().planes());
        Ok(self.rows_mut(operation)?.zip(from).map(|(to, (from, extent))| {
            (Rows::Host { bytes: from.bytes, pitch: from.pitch }, to, extent)
        }))
    }

    /// Yields the rows of each plane. The planes have the extents of the frame's format.
    #[track_caller]
    fn rows(&self, operation: &'static str) -> Result<impl Iterator<Item = Rows<'_>>, DeviceError> {
        self.check_chroma(operation)?;
        Ok(self.plane_rows().into_iter().flatten())
    }

    pub(super) fn plane_rows(&self) -> [Option<Rows<'_>>; 3] {
        match self {
            Self::Rgba8(image) => [Some(image.rows()), None, None],
            Self::Nv12 { y, uv, .. } => [Some(y.rows()), Some(uv.rows()), None],
            Self::P010 { y, uv, .. } => [Some(y.rows()), Some(uv.rows()), None],
            Self::Converted(frame) => frame.rows(),
        }
    }

    /// Yields the rows of each plane, to be written. The planes have the extents of the frame's format.
    #[track_caller]
    fn rows_mut(
        &mut self,
        operation: &'static str,
    ) -> Result<impl Iterator<Item = RowsMut<'_>>, DeviceError> {
        self.check_chroma(operation)?;
        Ok(self.plane_rows_mut().into_iter().flatten())
    }

    pub(super) fn plane_rows_mut(&mut self) -> [Option<RowsMut<'_>>; 3] {
        match self {
            Self::Rgba8(image) => [Some(image.rows_mut()), None, None],
            Self::Nv12 { y, uv, .. } => [Some(y.rows_mut()), Some(uv.rows_mut()), None],
            Self::P010 { y, uv, .. } => [Some(y.rows_mut()), Some(uv.rows_mut()), None],
            Self::Converted(frame) => frame.rows_mut(),
        }
    }

    /// Checks that the chroma plane has the size that the luma plane requires. The planes are public, so a caller may
    /// have combined any two.
    #[track_caller]
    fn check_chroma(&self, operation: &'static str) -> Result<(), DeviceError> {
        let (luma, chroma) = match self {
            Self::Rgba8(_) | Self::Converted(_) => return Ok(()),
            Self::Nv12 { y, uv, .. } => (y.view().size(), uv.view().size()),
            Self::P010 { y, uv, .. } => (y.view().size(), uv.view().size()),
        };
        let pair = |size: UVec2| (size.x as usize, size.y as usize);
        let expected = pair(UVec2::from(luma).map(chroma_side));
        let found = pair(chroma.into());
        if found == expected {
            return Ok(());
        }
        let what = "chroma plane of a frame";
        Err(DeviceError::new(operation, ErrorKind::SizeMismatch { what, found, expected }))
    }

    #[track_caller]
    fn check(&self, operation: &'static str, found: FrameFormat) -> Result<(), DeviceError> {
        let expected = self.format();
        if found == expected {
            return Ok(());
        }
        Err(DeviceError::refused(operation, FormatMismatch { found, expected }))
    }

    #[track_caller]
    fn check_bytes(&self, operation: &'static str, bytes: &[u8]) -> Result<(), DeviceError> {
        let (found, expected) = ((bytes.len(), 1), (self.format().bytes(), 1));
        if found == expected {
            return Ok(());
        }
        let what = "bytes of a frame";
        Err(DeviceError::new(operation, ErrorKind::SizeMismatch { what, found, expected }))
    }
}

/// Implements the methods that [`FrameView`] and [`FrameViewMut`] share.
macro_rules! frame_view {
    ($view:ident) => {
        impl $view<'_> {
            /// Returns the frame's size and pixel format.
            #[must_use]
            pub fn format(&self) -> FrameFormat {
                let (size, pixels) = match self {
                    Self::Rgba8(view) => (view.size(), PixelFormat::Rgba8),
                    Self::Nv12(view, encoding) => (view.y.size(), PixelFormat::Nv12(*encoding)),
                    Self::P010(view, encoding) => (view.y.size(), PixelFormat::P010(*encoding)),
                };
                FrameFormat { size: size.into(), pixels }
            }

            /// Returns whether the chroma plane of an NV12 or P010 frame has the size that its luma plane requires.
            /// Kernels rely on this size. Always true for RGBA.
            pub(crate) fn is_whole(&self) -> bool {
                match self {
                    Self::Rgba8(_) => true,
                    Self::Nv12(view, _) => view.is_whole(),
                    Self::P010(view, _) => view.is_whole(),
                }
            }
        }
    };
}

impl FrameView<'_> {
    /// Yields the [`Place`] of the planes, or two of them if the planes are on different devices.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let mut params = Params::default();
        match self {
            Self::Rgba8(view) => view.push(&mut params),
            Self::Nv12(view, _) => view.push(&mut params),
            Self::P010(view, _) => view.push(&mut params),
        }
        params.places()
    }
}

frame_view!(FrameView);
frame_view!(FrameViewMut);

impl<'a> From<&'a Image<Rgba8>> for FrameView<'a> {
    fn from(image: &'a Image<Rgba8>) -> Self {
        Self::Rgba8(image.view())
    }
}

impl<'a> From<&'a mut Image<Rgba8>> for FrameViewMut<'a> {
    fn from(image: &'a mut Image<Rgba8>) -> Self {
        Self::Rgba8(image.view_mut())
    }
}

impl<'a> From<&'a DeviceFrame> for FrameView<'a> {
    fn from(frame: &'a DeviceFrame) -> Self {
        frame.view()
    }
}

impl<'a> From<&'a mut DeviceFrame> for FrameViewMut<'a> {
    fn from(frame: &'a mut DeviceFrame) -> Self {
        frame.view_mut()
    }
}
