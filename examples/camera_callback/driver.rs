//! A simulated camera driver, like a vendor's library. It owns the frame buffers, and calls back with one filled
//! buffer per camera.
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

/// A plane on the device.
pub(crate) struct Plane {
    /// Address of the first row.
    pub(crate) address: *const u8,
    /// Bytes from one row to the next.
    pub(crate) pitch: u32,
}

/// A frame of one camera, lent to the callback.
pub(crate) struct Shot {
    /// The device that holds the frame.
    pub(crate) place: Place,
    /// Columns and rows.
    pub(crate) size: UVec2,
    /// The full-size luma plane.
    pub(crate) luma: Plane,
    /// The half-size chroma plane, two bytes per sample.
    pub(crate) chroma: Plane,
    /// The event that completes when the frame has been written.
    pub(crate) ready: Event,
    /// Returns the buffer to the ring when dropped.
    pub(crate) lease: Lease,
}

/// A buffer that the driver has lent out. When dropped, returns it to the ring.
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

/// The driver of two cameras, with a ring of buffers.
pub(crate) struct Driver {
    /// Pairs lent so far.
    pub(crate) lent: u64,
    /// Pairs skipped because fewer than two buffers were free.
    pub(crate) left_out: u64,
    stream: Stream,
    size: UVec2,
    raw: Vec<[Image<Rgba8>; 2]>,
    /// The warp that copies the first picture unchanged.
    straight: DeviceWarp,
    /// Free buffers, except those that have returned through `back` since the last check.
    free: Vec<DeviceFrame>,
    ring: Sender<DeviceFrame>,
    back: Receiver<DeviceFrame>,
}

impl Driver {
    /// Creates a driver with a ring of `ring` buffers.
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

    /// Calls back with up to `pairs` pairs, 30 per second, until the callback returns false.
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

    /// Submits the kernel that fills a buffer from a raw picture, and lends the buffer out.
    fn develop(&mut self, raw: usize, camera: usize) -> Result<Shot, StitchError> {
        let mut lease = Lease { buffer: self.free.pop(), ring: self.ring.clone() };
        let (raw, stream) = (&self.raw[raw][camera], &self.stream);
        let buffer = lease.buffer.as_mut().expect("`film` has checked that a buffer is free");
        stitch(stream, raw, raw, &self.straight, &StitchOptions::default(), &mut *buffer)?;
        let ready = Event::for_order(stream.device())?;
        ready.record(stream)?;
        let (luma, chroma) = match &*buffer {
            DeviceFrame::Nv12 { y, uv, .. } => (plane(y), plane(uv)),
            DeviceFrame::Rgba8(_) => unreachable!("the ring holds NV12 buffers"),
        };
        let place = stream.device().place();
        Ok(Shot { place, size: self.size, luma, chroma, ready, lease })
    }
}

fn plane<T: bytemuck::Pod>(image: &Image<T>) -> Plane {
    Plane { address: image.as_ptr().cast(), pitch: image.pitch() }
}
