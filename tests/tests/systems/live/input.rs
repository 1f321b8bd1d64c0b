//! Tests of a live session's input: the number of frames in flight, rejected frames, calls of `push` that block, and
//! panics in the `drop` of an object that an external frame owns.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use cuda_std::DeviceView;
use cuda_std::launch::Place;
use glam::UVec2;
use panoweave::device::{Device, Image};
use panoweave::frame::{DeviceNv12, FrameFormat, FrameView, PixelFormat, YuvEncoding};
use panoweave::io::video::HostPool;
use panoweave::live::{
    CameraFrame, ColourOptions, Dropped, ExternalFrame, LiveError, LiveOptions, Submitted,
};
use panoweave_tests::live::{FRAME, SOURCE, STILL, frame, session, stamp, waiting};
use panoweave_tests::panoweave_devices;
use shared_types::{Chroma, Rgba8};

/// A picture in device memory, to which all external frames of a test refer.
#[derive(Clone)]
struct Lent(Arc<Image<Rgba8>>);

impl Lent {
    fn new(device: &Device) -> Self {
        let pixels = vec![Rgba8::opaque(33, 33, 33); SOURCE.element_product() as usize];
        let stream = device.stream().unwrap();
        Self(Arc::new(Image::from_slice(&stream, SOURCE.x, SOURCE.y, &pixels).unwrap()))
    }

    /// Returns a frame that owns `keep`. The session drops `keep` when it releases the frame.
    fn frame(&self, keep: impl Send + 'static) -> ExternalFrame {
        let Self(image) = self;
        // SAFETY: the frame owns a reference to the image, so the image outlives the frame. Nothing writes to the
        // image.
        unsafe {
            let (place, data) = (image.device().place(), image.as_ptr());
            let view = DeviceView::new(place, data, SOURCE.x, SOURCE.y, image.pitch());
            ExternalFrame::new(FrameView::Rgba8(view), (keep, Arc::clone(image)))
        }
    }
}

/// Waits until `is_so` returns true. Panics after 20 seconds.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let late = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < late, "never {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// An object that acquires a lock when one of the session's threads drops it. A test can hold the lock to block this
/// thread.
struct Hold(Arc<Mutex<()>>);

impl Drop for Hold {
    fn drop(&mut self) {
        let thread = thread::current();
        if thread.name().is_some_and(|name| name.starts_with("panoweave")) {
            let _waited = self.0.lock();
        }
    }
}

#[test]
fn frames_on_the_device_are_dropped_when_too_many_are_under_way() {
    for device in panoweave_devices() {
        let session = session(&device, LiveOptions { colour: STILL, ..LiveOptions::default() });
        let lent = Lent::new(&device);
        let gate = Arc::new(Mutex::new(()));
        // While the test holds the lock, the session cannot release frames, as if the device were slow.
        let closed: MutexGuard<'_, ()> = gate.lock().unwrap();
        let mut taken = 0;
        for i in 0..100 {
            let [left, right] = [0, 1].map(|_| lent.frame(Hold(Arc::clone(&gate))));
            match session.submit([left, right], FRAME * i).unwrap() {
                Submitted::Set => taken += 1,
                submitted => assert_eq!(submitted, Submitted::Dropped),
            }
            if i == 50 {
                // A pair of frames in host memory must also be dropped while all buffers are in use.
                let bytes = stamp(1);
                let submitted = session.submit([frame(&bytes), frame(&bytes)], FRAME * i).unwrap();
                assert_eq!(submitted, Submitted::Dropped);
            }
        }
        let counters = session.counters();
        // The session accepts one pair for each of its 4 slots, and one additional pair. It drops all others.
        assert_eq!((taken, counters.dropped.busy), (5, 96), "{counters:?}");
        assert_eq!((counters.sets, counters.frames_in()), (101, 202));
        drop(closed);
        until("finished", || session.counters().panoramas == 5);
        let again = session.submit([lent.frame(()), lent.frame(())], FRAME * 200).unwrap();
        assert_eq!(again, Submitted::Set);
    }
}

#[test]
fn frames_on_the_device_wait_for_the_reader_where_pace_is_to_wait() {
    for device in panoweave_devices() {
        let session = session(&device, waiting());
        let lent = Lent::new(&device);
        let taken = AtomicU32::new(0);
        let mut panoramas = session.panoramas();
        thread::scope(|scope| {
            let camera = scope.spawn(|| {
                for i in 0.. {
                    match session.submit([lent.frame(()), lent.frame(())], FRAME * i) {
                        Ok(submitted) => assert_eq!(submitted, Submitted::Set),
                        Err(error) => return error,
                    }
                    taken.fetch_add(1, SeqCst);
                }
                unreachable!("for ever")
            });
            // The session accepts 9 pairs without blocking: 4 become panoramas that nobody has read, and 5 wait for an
            // output buffer.
            until("taken", || taken.load(SeqCst) >= 9);
            thread::sleep(Duration::from_millis(100));
            assert_eq!(taken.load(SeqCst), 9);
            assert_eq!(panoramas.next().unwrap().timestamp(), Duration::ZERO);
            until("taken", || taken.load(SeqCst) == 10);
            session.close();
            assert!(matches!(camera.join().unwrap(), LiveError::Closed));
            assert_eq!(panoramas.count(), 9);
        });
        assert_eq!(session.counters().dropped, Dropped::default());
    }
}

/// An object that panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a test's own panic");
    }
}

#[test]
fn a_panic_of_what_a_frame_keeps_ends_the_session_and_is_reported() {
    for device in panoweave_devices() {
        for follow in [false, true] {
            let colour = ColourOptions { follow, every: 1, ..STILL };
            let session = session(&device, LiveOptions { colour, ..waiting() });
            let lent = Lent::new(&device);
            let mut panoramas = session.panoramas();
            // A frame of this pair panics when the session drops it.
            session.submit([lent.frame(Bomb), lent.frame(())], FRAME).unwrap();
            panoramas.next();
            let bytes = stamp(60);
            // Submit more pairs, because a colour analysis keeps its frames until a later pair arrives. Only then does
            // the session drop the frames, which panics.
            let submit = || session.submit([frame(&bytes), frame(&bytes)], FRAME * 2);
            until("refused", || {
                let refused = submit().is_err();
                panoramas.next();
                refused
            });
            let text = session.health().unwrap_err().to_string();
            assert!(text.contains("panicked"), "{device}: {text}");
            assert!(panoramas.next().is_none());
            assert!(session.submit([frame(&bytes), frame(&bytes)], FRAME).is_err());
            until("accounted for", || {
                let counters = session.counters();
                counters.sets == counters.panoramas + counters.dropped.sets()
            });
        }
    }
}

#[test]
fn frames_on_the_device_that_cannot_be_read_are_refused() {
    let device = Device::cpu();
    let encoding = YuvEncoding::default();
    let nv12 = PixelFormat::Nv12(encoding);
    let session = session(&device, LiveOptions { input: nv12.into(), ..waiting() });
    let luma = Image::<u8>::new(&device, SOURCE.x, SOURCE.y).unwrap();
    let chroma = Image::<Chroma>::new(&device, SOURCE.x, SOURCE.y).unwrap();
    let view = |place, size: UVec2| {
        // SAFETY: the images `luma` and `chroma` outlive the session, and nothing writes to them.
        let view = unsafe {
            let y = DeviceView::new(place, luma.as_ptr(), SOURCE.x, SOURCE.y, luma.pitch());
            let uv = DeviceView::new(place, chroma.as_ptr(), size.x, size.y, chroma.pitch());
            DeviceNv12 { y, uv }
        };
        // SAFETY: the planes are in the memory of `luma` and `chroma`, which outlive the session.
        unsafe { ExternalFrame::new(FrameView::Nv12(view, encoding), ()) }
    };
    let half = SOURCE.map(|side| side.div_ceil(2));
    let good = || view(Place::Cpu, half);
    for (bad, word) in
        [(view(Place::Cpu, SOURCE), "chroma"), (view(Place::Cuda(63), half), "cuda:63")]
    {
        let error = session.submit([good(), bad], FRAME).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("camera 2"), "{error}");
    }
    assert_eq!((session.counters().frames_in(), session.counters().sets), (0, 0));
    assert_eq!(session.submit([good(), good()], FRAME).unwrap(), Submitted::Set);
    assert!(session.panoramas().next().is_some());
}

#[test]
fn sets_may_have_frames_in_host_and_in_device_memory() {
    for device in panoweave_devices() {
        let session = session(&device, LiveOptions { colour: STILL, ..waiting() });
        let lent = Lent::new(&device);
        let bytes = [33, 33, 33, 255].repeat(SOURCE.element_product() as usize);
        let mut expected: Option<Vec<u8>> = None;
        for set in 0..4 {
            let frames = [1, 2].map(|bit| match set & bit {
                0 => CameraFrame::Host(frame(&bytes)),
                _ => CameraFrame::Device(lent.frame(())),
            });
            assert_eq!(session.submit(frames, FRAME * set).unwrap(), Submitted::Set);
            let panorama = session.panoramas().next().unwrap();
            let panorama = panorama.frame().unwrap().planes()[0].bytes.to_vec();
            assert!(panorama.contains(&33), "{device}");
            assert_eq!(*expected.get_or_insert(panorama.clone()), panorama, "{device}, set {set}");
        }
        let other = [CameraFrame::Device(lent.frame(()))];
        let error = session.submit(other, FRAME * 9).unwrap_err();
        assert!(error.to_string().contains("1 frames"), "{error}");
        assert_eq!(session.counters().frames_in(), 8);
    }
}

/// Checks that a frame of another camera's size is refused, and that refused frames keep no buffer.
#[test]
fn frames_of_a_pool_are_checked() {
    let device = Device::cpu();
    let session = session(&device, waiting());
    let good = session.input_formats()[0];
    let UVec2 { x, y } = good.size;
    let bad = FrameFormat::rgba8(x, y + 1);
    let frame = |format| HostPool::new(format, None).filled(|memory| memory.fill(7));
    let free = session.free_buffers();
    for refused in [
        session.push(0, frame(bad), FRAME).unwrap_err(),
        session.submit([frame(good), frame(bad)], FRAME).unwrap_err(),
    ] {
        assert!(refused.to_string().contains(&format!("it must be {good}")), "{refused}");
    }
    assert_eq!((session.counters().frames_in(), session.counters().sets), (0, 0));
    assert_eq!(session.free_buffers(), free);
}

#[test]
fn a_frame_that_comes_while_the_session_is_closed_is_counted() {
    let device = Device::cpu();
    for _ in 0..50 {
        let session = session(&device, LiveOptions { colour: STILL, ..LiveOptions::default() });
        let bytes = stamp(9);
        let pushed = AtomicU32::new(0);
        thread::scope(|scope| {
            for camera in [0, 1] {
                let (session, bytes, pushed) = (&session, &bytes, &pushed);
                scope.spawn(move || {
                    for i in 0.. {
                        if session.push(camera, frame(bytes), FRAME * i).is_err() {
                            return;
                        }
                        pushed.fetch_add(1, SeqCst);
                    }
                });
            }
            thread::sleep(Duration::from_millis(2));
            session.close();
        });
        let counters = session.counters();
        assert_eq!(counters.frames_in(), u64::from(pushed.load(SeqCst)));
        let repeated: u64 = counters.cameras.iter().map(|camera| camera.repeated).sum();
        let shown = counters.frames_in() - counters.frames_dropped() + repeated;
        assert_eq!(shown, 2 * counters.sets);
    }
}
