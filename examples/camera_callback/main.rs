//! A camera driver calls back with frames that lie on the device already: the stitcher reads them there.
//!
//! `cargo run --release -p panoweave-examples --bin camera_callback -- [PAIRS] [FILE] [DEVICE]`
//!
//! The driver has a ring of NV12 buffers. It fills two on a stream of its own, says with an event when
//! they will be ready, and lends them to the callback. Nothing is copied on the way in, and no thread
//! waits for the device: the stitcher's stream waits for the event, and each buffer returns to the ring
//! when it has been read. On the CPU the same code runs on host memory.

mod driver;

use std::error::Error;
use std::thread;

use panoweave::frame::{
    DeviceNv12, DeviceView, FrameView, PixelFormat, Range, YuvEncoding, YuvMatrix,
};
use panoweave::live::{ExternalFrame, LiveOptions, Stitcher};
use panoweave::warp::DeviceWarp;
use panoweave_examples::{Arguments, geometry};

use driver::{Driver, Shot};

/// What the cameras' numbers mean.
const ENCODING: YuvEncoding = YuvEncoding { matrix: YuvMatrix::Bt709, range: Range::Limited };

/// Buffers of the ring: a pair for each of the stitcher's four slots, one that a colour analysis may
/// hold on to, and one to be filled.
const RING: usize = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { count, file, device } = Arguments::read()?;
    let stream = device.stream()?;
    let warp = DeviceWarp::render(&stream, &geometry()?)?;
    let mut driver = Driver::new(&device, warp.sources()[0], ENCODING, RING)?;

    let options = LiveOptions { input: PixelFormat::Nv12(ENCODING), ..LiveOptions::default() };
    let stitcher = Stitcher::new(&device, warp, options)?;
    let panoramas = stitcher.panoramas();
    let (filmed, last) = thread::scope(|scope| {
        let driver = scope.spawn(|| {
            let filmed = driver.film(count, |[left, right], time| {
                // An error means that the stitcher was closed, or that it failed; see below.
                stitcher.submit_external(external(left), external(right), time).is_ok()
            });
            stitcher.close();
            filmed
        });
        let last = panoramas.last();
        (driver.join().expect("the driver does not panic"), last)
    });
    filmed?;
    stitcher.health()?;

    println!("{}", serde_json::to_string(&stitcher.counters())?);
    let last = last.and_then(|panorama| panorama.to_picture()).ok_or("no panorama came")?;
    last.save(&file)?;
    drop(stitcher);
    println!("{} pairs lent, {} left out for want of a buffer", driver.lent, driver.left_out);
    println!("{} of {RING} buffers are back; wrote {file}", driver.free());
    Ok(())
}

/// Makes what the driver lends a frame of the stitcher's.
fn external(shot: Shot) -> ExternalFrame {
    let Shot { place, size, luma, chroma, ready, lease } = shot;
    let half = size.map(|side| side.div_ceil(2));
    // SAFETY: at these addresses lies a frame of this size, on this device. It stays, and the driver
    // leaves it alone, until the lease is dropped, which the stitcher does when the device has read
    // it. What fills it is done when the event is.
    unsafe {
        let y = DeviceView::new(place, luma.address.cast(), size.x, size.y, luma.pitch);
        let uv = DeviceView::new(place, chroma.address.cast(), half.x, half.y, chroma.pitch);
        ExternalFrame::new(FrameView::Nv12(DeviceNv12 { y, uv }, ENCODING), lease).after(ready)
    }
}
