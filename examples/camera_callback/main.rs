//! A camera driver's callback that passes frames in device memory to the session. The session reads the frames
//! without a copy.
//!
//! `cargo run --release -p panoweave-examples --bin camera_callback -- [PAIRS] [FILE] [DEVICE]`
//!
//! The driver has a ring of NV12 buffers. For each pair of frames, it fills two buffers on its own stream, records an
//! event after each, and lends the buffers to the callback. No thread waits for the device, because the session's
//! stream waits for the events. Each buffer returns to the ring after the session has read it. On the CPU, the same
//! code runs on host memory.

mod driver;

use std::error::Error;
use std::thread;

use panoweave::frame::{
    DeviceNv12, DeviceView, FrameView, PixelFormat, Range, YuvEncoding, YuvMatrix,
};
use panoweave::live::{ExternalFrame, LiveOptions, Output, Session};
use panoweave::warp::DeviceWarp;
use panoweave_examples::{Arguments, CloseOnDrop, geometry};

use driver::{Driver, Shot};

/// The YUV encoding of the camera frames.
const ENCODING: YuvEncoding = YuvEncoding { matrix: YuvMatrix::Bt709, range: Range::Limited };

/// Number of buffers in the ring: a pair for each of the session's four slots, one pair that a colour analysis may
/// hold, and one pair that the driver fills.
const RING: usize = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { count, file, device } = Arguments::read()?;
    let stream = device.stream()?;
    let warp = DeviceWarp::render(&stream, &geometry()?)?;
    let mut driver = Driver::new(&device, warp.sources()[0], ENCODING, RING)?;

    let options =
        LiveOptions { input: PixelFormat::Nv12(ENCODING).into(), ..LiveOptions::default() };
    let session = Session::new(&device, warp, &[Output::default()], options)?;
    let panoramas = session.panoramas();
    let (filmed, last) = thread::scope(|scope| {
        let driver = scope.spawn(|| {
            // The panoramas below end when the session is closed, also after a panic.
            let _close = CloseOnDrop(&session);
            driver.film(count, |[left, right], time| {
                // The call fails if the session was closed or has failed. `health` below reports a failure.
                session.submit([external(left), external(right)], time).is_ok()
            })
        });
        let last = panoramas.last();
        (driver.join().expect("the driver does not panic"), last)
    });
    filmed?;
    session.health()?;

    println!("{}", serde_json::to_string(&session.counters())?);
    let last = last
        .and_then(|panorama| panorama.to_picture())
        .ok_or("the session returned no panorama")?;
    last.save(&file)?;
    drop(session);
    println!("{} pairs lent, {} skipped for lack of a buffer", driver.lent, driver.left_out);
    println!("{} of {RING} buffers are back; wrote {file}", driver.free());
    Ok(())
}

/// Converts a frame that the driver has lent out to the session's input type.
fn external(shot: Shot) -> ExternalFrame {
    let Shot { place, size, luma, chroma, ready, lease } = shot;
    let half = size.map(|side| side.div_ceil(2));
    // SAFETY: the addresses hold a frame of this size on this device. The driver keeps the frame alive and unchanged
    // until the lease is dropped, and the session drops the lease after the device has read the frame. The frame is
    // complete when the event `ready` completes.
    unsafe {
        let y = DeviceView::new(place, luma.address.cast(), size.x, size.y, luma.pitch);
        let uv = DeviceView::new(place, chroma.address.cast(), half.x, half.y, chroma.pitch);
        ExternalFrame::new(FrameView::Nv12(DeviceNv12 { y, uv }, ENCODING), lease).after(ready)
    }
}
