//! What goes into a live stitcher: how much at once, what is refused, who waits for whom, and what comes of
//! a panic in what a frame brought along.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use cuda_std::DeviceView;
use cuda_std::launch::Place;
use glam::UVec2;
use panoweave::device::{Device, Image};
use panoweave::frame::{DeviceNv12, FrameView, PixelFormat, YuvEncoding};
use panoweave::live::{
    Camera, ColourOptions, Dropped, ExternalFrame, LiveError, LiveOptions, Stitcher, Submitted,
};
use panoweave_tests::live::{FRAME, SOURCE, STILL, frame, stamp, stitcher, waiting};
use panoweave_tests::panoweave_devices;
use shared_types::{Chroma, Rgba8};

/// A picture that all external frames of a test show.
#[derive(Clone)]
struct Lent(Arc<Image<Rgba8>>);

impl Lent {
    fn new(device: &Device) -> Self {
        let pixels = vec![Rgba8::opaque(33, 33, 33); SOURCE.element_product() as usize];
        let stream = device.stream().unwrap();
        Self(Arc::new(Image::from_slice(&stream, SOURCE.x, SOURCE.y, &pixels).unwrap()))
    }

    /// Drops `keep` with the frame.
    fn frame(&self, keep: impl Send + 'static) -> ExternalFrame {
        let Self(image) = self;
        // SAFETY: the image lives as long as what is kept, and nothing writes to it.
        unsafe {
            let (place, data) = (image.device().place(), image.as_ptr());
            let view = DeviceView::new(place, data, SOURCE.x, SOURCE.y, image.pitch());
            ExternalFrame::new(FrameView::Rgba8(view), (keep, Arc::clone(image)))
        }
    }
}

/// Waits until `is_so`.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let late = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < late, "never {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_longest_times_are_options_like_others() {
    for device in panoweave_devices() {
        let colour = ColourOptions { follow: true, every: 1, deadline: Duration::MAX, delay: 0 };
        let options = LiveOptions { colour, tolerance: Duration::MAX, ..waiting() };
        let stitcher = stitcher(&device, options);
        let mut panoramas = stitcher.panoramas();
        let bytes = stamp(60);
        for i in 0..10 {
            stitcher.push(Camera::Left, frame(&bytes), FRAME * i).unwrap();
            let pushed = stitcher.push(Camera::Right, frame(&bytes), FRAME * i).unwrap();
            assert_eq!(pushed, Submitted::Pair);
            assert_eq!(panoramas.next().unwrap().timestamp(), FRAME * i);
        }
        stitcher.health().unwrap();
        assert!(stitcher.counters().analyses > 0);
    }
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a test's own panic");
    }
}

#[test]
fn a_panic_of_what_a_frame_keeps_ends_the_stitcher_and_is_reported() {
    for device in panoweave_devices() {
        for follow in [false, true] {
            let colour = ColourOptions { follow, every: 1, ..STILL };
            let stitcher = stitcher(&device, LiveOptions { colour, ..waiting() });
            let lent = Lent::new(&device);
            let mut panoramas = stitcher.panoramas();
            // Both of a pair.
            stitcher.submit_external(lent.frame(Bomb), lent.frame(Bomb), FRAME).unwrap();
            panoramas.next();
            let bytes = stamp(60);
            // An analysis holds on to what it reads until a later pair comes.
            let submit = || stitcher.submit(frame(&bytes), frame(&bytes), FRAME * 2);
            until("refused", || {
                let refused = submit().is_err();
                panoramas.next();
                refused
            });
            let text = stitcher.health().unwrap_err().to_string();
            assert!(text.contains("panicked"), "{device}: {text}");
            assert!(panoramas.next().is_none());
            assert!(stitcher.submit(frame(&bytes), frame(&bytes), FRAME).is_err());
            until("accounted for", || {
                let counters = stitcher.counters();
                counters.pairs == counters.panoramas + counters.dropped.pairs()
            });
        }
    }
}
