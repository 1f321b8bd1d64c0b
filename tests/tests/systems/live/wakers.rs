//! Tests of wakers that call the stitcher, or drop it. The stitcher's own thread calls a waker when it sends a
//! panorama.

use std::pin::Pin;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use futures_core::Stream as _;
use panoweave::live::{LiveOptions, StitchedFrames, Stitcher};
use panoweave_tests::live::{frame, stamp, stitcher};
use panoweave_tests::panoweave_devices;

/// What a waker does with the stitcher.
type Act = fn(&Stitcher);

/// A waker that calls the stitcher, and drops its reference to it.
struct Calling {
    stitcher: Mutex<Option<Arc<Stitcher>>>,
    act: Act,
}

impl Wake for Calling {
    fn wake(self: Arc<Self>) {
        if let Some(stitcher) = self.stitcher.lock().unwrap().take() {
            (self.act)(&stitcher);
        }
    }
}

/// A waker that drops a reader which waits, as an executor does that drops a task when it is woken.
struct Dropping(Mutex<Option<StitchedFrames>>);

impl Wake for Dropping {
    fn wake(self: Arc<Self>) {
        let reader = self.0.lock().unwrap().take();
        drop(reader);
    }
}

#[test]
fn a_waker_may_drop_its_reader() {
    for device in panoweave_devices() {
        let (done, waits) = channel();
        thread::spawn(move || {
            let stitcher = stitcher(&device, LiveOptions::default());
            let mut rest = stitcher.panoramas();
            let dropping = Arc::new(Dropping(Mutex::new(None)));
            let waker = Waker::from(Arc::clone(&dropping));
            let mut panoramas = stitcher.panoramas();
            let mut context = Context::from_waker(&waker);
            assert!(Pin::new(&mut panoramas).poll_next(&mut context).is_pending());
            *dropping.0.lock().unwrap() = Some(panoramas);
            let bytes = stamp(9);
            stitcher.submit(&[frame(&bytes), frame(&bytes)], Duration::ZERO).unwrap();
            // The reader that is dropped does not receive the panorama.
            assert!(rest.next().is_some());
            // The stitcher calls the waker after it has sent the panorama.
            while dropping.0.lock().unwrap().is_some() {
                thread::sleep(Duration::from_millis(1));
            }
            done.send(()).unwrap();
        });
        assert_eq!(waits.recv_timeout(Duration::from_secs(60)), Ok(()));
    }
}

/// A waker that panics.
struct Panicking;

impl Wake for Panicking {
    fn wake(self: Arc<Self>) {
        panic!("planted");
    }
}

/// A waker that panics must not keep another reader from being woken.
#[test]
fn a_waker_that_panics_stops_no_other_reader() {
    for device in panoweave_devices() {
        let stitcher = stitcher(&device, LiveOptions::default());
        let mut bad = stitcher.panoramas();
        let waker = Waker::from(Arc::new(Panicking));
        let mut context = Context::from_waker(&waker);
        assert!(Pin::new(&mut bad).poll_next(&mut context).is_pending());
        let mut good = stitcher.panoramas();
        let reader = thread::spawn(move || good.next_timeout(Duration::from_secs(60)).is_ready());
        thread::sleep(Duration::from_millis(100));
        stitcher.close();
        let start = Instant::now();
        assert!(reader.join().unwrap());
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    }
}

#[test]
fn a_waker_may_call_the_stitcher_and_drop_it() {
    let acts: [Act; 5] = [
        |_| {},
        |stitcher| assert!(stitcher.counters().panoramas <= 1),
        |stitcher| assert!(stitcher.health().is_ok()),
        Stitcher::close,
        |stitcher| {
            let bytes = stamp(1);
            drop(stitcher.push(0, frame(&bytes), Duration::from_secs(9)));
        },
    ];
    for device in panoweave_devices() {
        for (index, act) in acts.into_iter().enumerate() {
            let (done, waits) = channel();
            let device = device.clone();
            // The thread is not joined, because a stitcher that hangs would keep it.
            thread::spawn(move || {
                let stitcher = Arc::new(stitcher(&device, LiveOptions::default()));
                let mut panoramas = stitcher.panoramas();
                let calling =
                    Arc::new(Calling { stitcher: Mutex::new(Some(Arc::clone(&stitcher))), act });
                let waker = Waker::from(Arc::clone(&calling));
                let mut context = Context::from_waker(&waker);
                assert!(Pin::new(&mut panoramas).poll_next(&mut context).is_pending());
                let bytes = stamp(9);
                stitcher.submit(&[frame(&bytes), frame(&bytes)], Duration::ZERO).unwrap();
                // The waker has the last reference.
                drop((stitcher, waker));
                // The next call of the reader would replace the waker.
                while calling.stitcher.lock().unwrap().is_some() {
                    thread::sleep(Duration::from_millis(1));
                }
                done.send(panoramas.count()).unwrap();
            });
            let count = waits.recv_timeout(Duration::from_secs(60));
            assert_eq!(count, Ok(1), "act {index}");
        }
    }
}
