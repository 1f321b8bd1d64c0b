//! A simulated camera driver, which replaces a camera vendor's library. It owns the frame buffers, and passes one
//! filled buffer per camera to a callback.
//!
//! A kernel fills the buffers on the driver's own stream, as an image signal processor would: it converts raw pictures
//! on the device to NV12. The driver does not wait for the kernel.

use std::error::Error;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use panoweave::device::{Device, DeviceError, Event, Image, Place, Stream};
use panoweave::frame::Rgba8;
use panoweave::frame::{DeviceFrame, FrameFormat, YuvEncoding};
use panoweave::glam::UVec2;
use panoweave::ops::stitch::{StitchError, StitchOptions, stitch};
use panoweave::warp::{DeviceWarp, Warp};
use panoweave_examples::{FRAME, MadeUpCamera};

/// Number of raw pictures per camera, which the driver uses in turn.
const RAW: u32 = 10;

/// An image plane in device memory.
pub(crate) struct Plane {
    /// Device address of the first row.
    pub(crate) address: *const u8,
    /// Bytes from one row to the next.
    pub(crate) pitch: u32,
}

/// An NV12 frame of one camera, which the driver lends to the callback.
pub(crate) struct Shot {
    /// The device that holds the frame.
    pub(crate) place: Place,
    /// Width and height of the frame in pixels.
    pub(crate) size: UVec2,
    /// The luma plane: one byte per pixel of the frame.
    pub(crate) luma: Plane,
    /// The chroma plane: half the width and height, rounded up, with two bytes (U and V) per sample.
    pub(crate) chroma: Plane,
    /// The event that completes when the driver's kernel has written the frame.
    pub(crate) ready: Event,
    /// The right to use the buffer. Dropping it returns the buffer to the driver's ring.
    pub(crate) lease: Lease,
}

/// A buffer that the driver has lent out. Dropping the lease returns the buffer to the driver's ring.
pub(crate) struct Lease {
    buffer: Option<DeviceFrame>,
    ring: Sender<DeviceFrame>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            // If the driver was dropped, `send` fails and the buffer is freed.
            drop(self.ring.send(buffer));
        }
    }
}

/// The driver of two simulated cameras, with a ring of frame buffers that both share.
pub(crate) struct Driver {
    /// Number of pairs of frames that were lent to the callback.
    pub(crate) lent: u64,
    /// Number of pairs of frames that were skipped, because fewer than two buffers were free.
    pub(crate) left_out: u64,
    stream: Stream,
    size: UVec2,
    raw: Vec<[Image<Rgba8>; 2]>,
    /// The warp with which the stitch kernel copies the left picture unchanged and ignores the right one.
    straight: DeviceWarp,
    /// Free buffers. Buffers that were returned since the last call of `free()` are still in the channel `back`.
    free: Vec<DeviceFrame>,
    ring: Sender<DeviceFrame>,
    back: Receiver<DeviceFrame>,
}

impl Driver {
    /// Creates a driver with a ring of `ring` NV12 buffers of `size` pixels, and renders the raw pictures.
    pub(crate) fn new(
        device: &Device,
        size: UVec2,
        encoding: YuvEncoding,
        ring: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let stream = device.stream()?;
        let cameras = MadeUpCamera::pair()?;
        let raw = |i| -> Result<_, DeviceError> {
            let picture = |camera: &MadeUpCamera| {
                Image::from_slice(&stream, size.x, size.y, camera.picture(i * FRAME).pixels())
            };
            Ok([picture(&cameras[0])?, picture(&cameras[1])?])
        };
        let raw = (0..RAW).map(raw).collect::<Result<_, _>>()?;
        let planes: [fn(u32, u32) -> u32; 6] =
            [|x, _| x, |_, y| y, |x, _| x, |_, y| y, |_, _| 1, |_, _| 0];
        let planes = planes.map(|at| {
            let pixels = (0..size.y).flat_map(|y| (0..size.x).map(move |x| at(x, y) as f32));
            pixels.collect()
        });
        let straight = DeviceWarp::upload(&stream, &Warp::new(size, [size; 2], planes)?)?;
        let format = FrameFormat::nv12(size.x, size.y, encoding);
        let free = (0..ring).map(|_| DeviceFrame::new(device, format)).collect::<Result<_, _>>()?;
        let (ring, back) = mpsc::channel();
        Ok(Self { lent: 0, left_out: 0, stream, size, raw, straight, free, ring, back })
    }

    /// Films up to `pairs` pairs of frames, 30 per second, and calls `callback` with each pair and its timestamp. Skips
    /// a pair if fewer than two buffers are free, and stops early if `callback` returns false.
    pub(crate) fn film(
        &mut self,
        pairs: usize,
        mut callback: impl FnMut([Shot; 2], Duration) -> bool,
    ) -> Result<(), StitchError> {
        let start = Instant::now();
        for (i, time) in (0..pairs).map(|i| (i, FRAME * i as u32)) {
            thread::sleep(time.saturating_sub(start.elapsed()));
            if self.free() < 2 {
                self.left_out += 1;
                continue;
            }
            let [left, right] = [0, 1].map(|camera| self.develop(i % self.raw.len(), camera));
            let shots = [left?, right?];
            self.lent += 1;
            if !callback(shots, time) {
                break;
            }
        }
        Ok(())
    }

    /// Returns the number of buffers that are not lent out.
    pub(crate) fn free(&mut self) -> usize {
        self.free.extend(self.back.try_iter());
        self.free.len()
    }

    /// Submits the kernel that fills a free buffer from raw picture `raw` of camera `camera`, and lends out the buffer.
    fn develop(&mut self, raw: usize, camera: usize) -> Result<Shot, StitchError> {
        let mut lease = Lease { buffer: self.free.pop(), ring: self.ring.clone() };
        let (raw, stream) = (&self.raw[raw][camera], &self.stream);
        let buffer = lease.buffer.as_mut().expect("`film` has checked that a buffer is free");
        stitch(
            stream,
            &[raw.into(), raw.into()],
            &self.straight,
            &StitchOptions::default(),
            &mut *buffer,
        )?;
        let ready = Event::for_order(stream.device())?;
        ready.record(stream)?;
        let (luma, chroma) = match &*buffer {
            DeviceFrame::Nv12 { y, uv, .. } => (plane(y), plane(uv)),
            _ => unreachable!("the ring holds NV12 buffers"),
        };
        let place = stream.device().place();
        Ok(Shot { place, size: self.size, luma, chroma, ready, lease })
    }
}

fn plane<T: bytemuck::Pod>(image: &Image<T>) -> Plane {
    Plane { address: image.as_ptr().cast(), pitch: image.pitch() }
}
