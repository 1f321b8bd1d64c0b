//! A mapped video frame, in host memory or in CUDA memory.
//!
//! GStreamer checks only that a plane starts inside its memory. A `GstVideoMeta` that does not fit the buffer may
//! describe planes that end outside. So this module checks all rows of all planes before anything accesses them.

use std::ffi::c_uint;
use std::mem::MaybeUninit;

use gst::glib;
use gst::glib::translate::ToGlibPtr;
use gst_video::VideoInfo;
use gst_video::ffi::{GstVideoFrame, gst_video_frame_map, gst_video_frame_unmap};
use panoweave::device::{DeviceError, Place, Stream};
use panoweave::frame::{
    DeviceFrame, DeviceNv12, DeviceP010, DevicePlane, DeviceView, Frame, FrameFormat, FrameView,
    PixelFormat, PlaneBytes,
};

use super::cuda;

/// The memory in which a frame is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Host,
    /// CUDA memory. [`cuda::Context::owns`] must have returned true for the buffer.
    Cuda,
}

/// A frame that is mapped, so that its planes have addresses in host memory or on the device.
pub(super) struct Mapped {
    frame: Box<GstVideoFrame>,
    format: FrameFormat,
    target: Target,
    /// The planes of the format, each of which is inside the mapped memory.
    planes: Vec<Plane>,
}

/// A plane of a mapped frame.
#[derive(Clone, Copy)]
struct Plane {
    data: *mut u8,
    /// The distance of two rows in bytes.
    pitch: usize,
    /// The number of bytes from the start of the first row to the end of the last one.
    bytes: usize,
}

// SAFETY: a mapped video frame may be used and unmapped on any thread.
unsafe impl Send for Mapped {}

// SAFETY: shared references only read.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps a buffer for reading. The result holds a reference to the buffer. Returns `None` if the buffer cannot be
    /// mapped, does not contain all rows of a frame with the format `info`, whose equivalent is `format`, or is
    /// in CUDA memory in a format that kernels do not read.
    pub(super) fn read(
        buffer: &gst::BufferRef,
        info: &VideoInfo,
        format: FrameFormat,
        target: Target,
    ) -> Option<Self> {
        if target == Target::Cuda {
            cuda::await_written(buffer)?;
        }
        Self::new(buffer.as_mut_ptr(), info, format, target, gst::ffi::GST_MAP_READ)
    }

    /// Maps a writable buffer for writing; see [`read`](Self::read). The result does not hold a reference, so that the
    /// buffer stays writable; it must be dropped before the buffer.
    pub(super) fn write(
        buffer: &mut gst::BufferRef,
        info: &VideoInfo,
        format: FrameFormat,
        target: Target,
    ) -> Option<Self> {
        // GST_VIDEO_FRAME_MAP_FLAG_NO_REF
        let no_reference = gst::ffi::GST_MAP_FLAG_LAST;
        let flags = gst::ffi::GST_MAP_WRITE | no_reference;
        Self::new(buffer.as_mut_ptr(), info, format, target, flags)
    }

    fn new(
        buffer: *mut gst::ffi::GstBuffer,
        info: &VideoInfo,
        format: FrameFormat,
        target: Target,
        flags: c_uint,
    ) -> Option<Self> {
        // Kernels read CUDA memory as it is.
        let is_readable = target == Target::Host || format.pixels.stored() == format.pixels;
        is_readable.then_some(())?;
        let flags = match target {
            Target::Host => flags,
            Target::Cuda => flags | cuda::MAP_CUDA,
        };
        let mut frame = MaybeUninit::uninit();
        // SAFETY: `info` and `buffer` are valid. The function initialises `frame` if it succeeds.
        let frame = unsafe {
            let mapped = gst_video_frame_map(
                frame.as_mut_ptr(),
                info.to_glib_none().0.cast_mut(),
                buffer,
                flags,
            );
            (mapped != glib::ffi::GFALSE).then(|| Box::new(frame.assume_init()))?
        };
        // From here on, drop unmaps the frame.
        let mut this = Self { frame, format, target, planes: Vec::new() };
        let planes = format.planes().enumerate();
        this.planes = planes
            .map(|(i, extent)| this.plane(i, extent.row, extent.rows))
            .collect::<Option<_>>()?;
        Some(this)
    }

    /// Returns plane `i`, or `None` if one of its `rows` rows of `row` bytes is outside the mapped memory.
    fn plane(&self, i: usize, row: usize, rows: usize) -> Option<Plane> {
        let frame = &self.frame;
        // Without a `GstVideoMeta`, the whole buffer is mapped at once.
        let memory = &frame.map[if frame.meta.is_null() { 0 } else { i }];
        let (data, pitch) =
            (frame.data[i].cast::<u8>(), usize::try_from(frame.info.stride[i]).ok()?);
        let bytes = pitch.checked_mul(rows.checked_sub(1)?)?.checked_add(row)?;
        let before = data.addr().checked_sub(memory.data.addr())?;
        let fits = pitch >= row && before.checked_add(bytes)? <= memory.size;
        fits.then_some(Plane { data, pitch, bytes })
    }

    /// Returns the frame, or `None` if it is in CUDA memory.
    pub(super) fn host(&self) -> Option<Frame<'_>> {
        let planes = self.planes.iter().map(|plane| {
            // SAFETY: the plane is inside the mapped memory, and stays mapped until `self` is dropped.
            let bytes = unsafe { std::slice::from_raw_parts(plane.data, plane.bytes) };
            PlaneBytes { bytes, pitch: plane.pitch }
        });
        let is_host = self.target == Target::Host;
        is_host.then(|| Frame::new(self.format, &planes.collect::<Vec<_>>()).ok()).flatten()
    }

    /// Copies a frame in host memory to this frame, which must be mapped for writing. Returns `None` if the formats
    /// differ, or if this frame is in CUDA memory.
    pub(super) fn fill_from_host(&mut self, from: &Frame<'_>) -> Option<()> {
        if self.target != Target::Host || from.format() != self.format {
            return None;
        }
        for ((to, from), extent) in self.planes.iter().zip(from.planes()).zip(self.format.planes())
        {
            // SAFETY: the plane is inside the mapped memory, and `self` is borrowed exclusively.
            let bytes = unsafe { std::slice::from_raw_parts_mut(to.data, to.bytes) };
            for (to, from) in bytes.chunks_mut(to.pitch).zip(from.bytes.chunks(from.pitch)) {
                to[..extent.row].copy_from_slice(&from[..extent.row]);
            }
        }
        Some(())
    }

    /// Copies a panorama on the device to this frame in CUDA memory, and waits for the copy.
    ///
    /// # Safety
    /// This frame must be mapped in CUDA memory for writing, with the panorama's format.
    pub(super) unsafe fn fill_on_device(
        &mut self,
        panorama: &DeviceFrame,
        stream: &Stream,
    ) -> Result<(), DeviceError> {
        let planes: Vec<_> = self.device_planes().collect();
        // SAFETY: the planes are in the primary context of the stream's GPU, and are inside the mapped memory.
        unsafe { panorama.copy_to(stream, &planes) }
    }

    fn device_planes(&self) -> impl Iterator<Item = DevicePlane> {
        self.planes
            .iter()
            .map(|plane| DevicePlane { address: plane.data.addr() as u64, pitch: plane.pitch })
    }

    /// Returns a view of the frame in CUDA memory.
    ///
    /// # Safety
    /// The frame must be mapped in CUDA memory, and the view must not be used after this value is dropped.
    pub(super) unsafe fn view(&self, place: Place) -> FrameView<'static> {
        let planes: Vec<_> = self.device_planes().collect();
        let (width, height) = self.format.size.into();
        let half = (width.div_ceil(2), height.div_ceil(2));
        // SAFETY: the planes have the size of the format and stay mapped until this value is dropped.
        unsafe {
            match self.format.pixels {
                PixelFormat::Rgba8 => FrameView::Rgba8(view(place, planes[0], (width, height))),
                PixelFormat::P010(encoding) => {
                    let y = view(place, planes[0], (width, height));
                    FrameView::P010(DeviceP010 { y, uv: view(place, planes[1], half) }, encoding)
                }
                pixels => {
                    let (y, uv) =
                        (view(place, planes[0], (width, height)), view(place, planes[1], half));
                    FrameView::Nv12(DeviceNv12 { y, uv }, pixels.encoding().unwrap_or_default())
                }
            }
        }
    }
}

/// Returns a view of a plane.
///
/// # Safety
/// The plane must stay valid for the lifetime of the view.
unsafe fn view<'a, T: bytemuck::Pod>(
    place: Place,
    plane: DevicePlane,
    (width, height): (u32, u32),
) -> DeviceView<'a, T> {
    let (address, pitch) = (plane.address as *const T, plane.pitch as u32);
    // SAFETY: the caller guarantees that the plane stays valid.
    unsafe { DeviceView::new(place, address, width, height, pitch) }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the frame is mapped, and unmapped only here.
        unsafe { gst_video_frame_unmap(&raw mut *self.frame) };
    }
}
