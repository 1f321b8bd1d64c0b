//! Measures the bus to a GPU: copies pairs of frames and panoramas like a live stitcher, without stitching.

use std::time::{Duration, Instant};

use cust::context::Context;
use cust::sys;
use panoweave::device::{Device, DeviceError, Pinned};
use panoweave::frame::FrameFormat;

use crate::SETS;

/// Memory and streams for copies between page-locked host memory and a GPU. The first stream copies pairs of frames to
/// the GPU. The second stream copies panoramas back.
pub struct Copies {
    stream: [sys::CUstream; 2],
    device: [u64; 3],
    host: Vec<[Pinned<u8>; 3]>,
    context: Context,
}

// SAFETY: The driver owns the streams and the memory. Any thread may use them while the CUDA context is current, and
// every method of `Copies` makes the context current first.
unsafe impl Send for Copies {}

fn check(result: sys::CUresult) {
    result.to_result().expect("the driver");
}

fn set_current(context: &Context) {
    // SAFETY: `context` keeps the GPU's primary context alive.
    check(unsafe { sys::cuCtxSetCurrent(context.as_raw()) });
}

impl Copies {
    /// Allocates memory for copies of a left frame, a right frame and a panorama, which have the formats `formats`.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if page-locked memory cannot be allocated.
    ///
    /// # Panics
    /// Panics if the device is not a GPU, or the driver fails.
    pub fn new(device: &Device, formats: [FrameFormat; 3]) -> Result<Self, DeviceError> {
        let pinned = |format: FrameFormat| Pinned::new(device, format.bytes());
        let [left, right, out] = formats;
        let set = |_| Ok([pinned(left)?, pinned(right)?, pinned(out)?]);
        let host = (0..SETS).map(set).collect::<Result<_, DeviceError>>()?;
        let ordinal = device.cuda_info().expect("a GPU").ordinal;
        let gpu = cust::device::Device::get_device(ordinal).expect("the GPU");
        let context = Context::new(gpu).expect("its context");
        set_current(&context);
        let mut copies = Self { stream: [std::ptr::null_mut(); 2], device: [0; 3], host, context };
        for stream in &mut copies.stream {
            // SAFETY: The driver writes the stream's handle to `stream`. The device's context is current.
            check(unsafe { sys::cuStreamCreateWithPriority(stream, 1, 0) });
        }
        for (address, format) in copies.device.iter_mut().zip(formats) {
            // SAFETY: The driver writes the address of the new memory to `address`. The device's context is current.
            check(unsafe { sys::cuMemAlloc_v2(address, format.bytes()) });
        }
        Ok(copies)
    }

    /// Copies `pairs` pairs of frames to the device and `pairs` panoramas back. Returns the wall time.
    ///
    /// # Panics
    /// Panics if the driver fails.
    pub fn run(&mut self, pairs: u64) -> Duration {
        set_current(&self.context);
        let start = Instant::now();
        for i in 0..pairs {
            let [left, right, out] = &mut self.host[i as usize % SETS];
            // SAFETY: Device and host memory of each copy have the same size. Both live until the copies are done,
            // because the loop below waits for the streams.
            unsafe {
                for (host, device) in [left, right].into_iter().zip(self.device) {
                    let (host, bytes) = (host.as_ptr().cast(), host.len());
                    check(sys::cuMemcpyHtoDAsync_v2(device, host, bytes, self.stream[0]));
                }
                let (host, bytes) = (out.as_mut_ptr().cast(), out.len());
                check(sys::cuMemcpyDtoHAsync_v2(host, self.device[2], bytes, self.stream[1]));
            }
        }
        for stream in self.stream {
            // SAFETY: `new` created the stream, and only `drop` destroys it.
            check(unsafe { sys::cuStreamSynchronize(stream) });
        }
        start.elapsed()
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        set_current(&self.context);
        for stream in self.stream {
            // SAFETY: `new` created the stream, and nothing uses it after this call.
            check(unsafe { sys::cuStreamDestroy_v2(stream) });
        }
        for address in self.device {
            // SAFETY: `new` allocated the memory at this address, and nothing uses it after this call.
            check(unsafe { sys::cuMemFree_v2(address) });
        }
    }
}
