//! Tests of readers that hold all panoramas of a stitcher that waits for them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use futures_core::Stream as _;
use panoweave::live::{LiveError, LiveOptions, StitchedFrames};
use panoweave_tests::live::{FRAME, frame, stamp, stitcher, waiting};
use panoweave_tests::panoweave_devices;

/// Waits at most a minute for `thread`, so that a test of a stitcher that hangs fails.
pub(super) fn joined<T>(thread: thread::JoinHandle<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    while !thread.is_finished() {
        assert!(Instant::now() < end, "the thread has not ended after a minute");
        thread::sleep(Duration::from_millis(5));
    }
    thread.join().unwrap()
}

#[test]
fn a_reader_that_holds_all_panoramas_and_waits_for_another_ends_with_an_error() {
    for device in panoweave_devices() {
        for closes in [false, true] {
            let options = LiveOptions { held_limit: Duration::from_millis(250), ..waiting() };
            let stitcher = Arc::new(stitcher(&device, options));
            let mut panoramas = stitcher.panoramas();
            let reader = thread::spawn(move || {
                let held: Vec<_> = panoramas.by_ref().take(if closes { 4 } else { 5 }).collect();
                // Hold the panoramas without waiting for another one.
                thread::sleep(Duration::from_millis(500));
                (held.len(), panoramas.next().is_none())
            });
            let filling = Arc::clone(&stitcher);
            let writer = thread::spawn(move || {
                let bytes = stamp(9);
                let submit = |i| filling.submit(&[frame(&bytes), frame(&bytes)], FRAME * i);
                if !closes {
                    return (0..30).find_map(|i| submit(i).err());
                }
                (0..6).for_each(|i| assert!(submit(i).is_ok()));
                filling.close();
                None
            });
            assert_eq!(joined(reader), (4, true), "{device}");
            let error = if closes { stitcher.health().err() } else { joined(writer) };
            let held = LiveError::Held { slots: 4, limit: options.held_limit };
            assert_eq!(error.unwrap().to_string(), held.to_string());
            assert!(stitcher.health().is_err());
            let counters = stitcher.counters();
            let dropped = counters.dropped;
            assert_eq!(counters.sets, counters.panoramas + dropped.lost, "{dropped:?}");
        }
    }
}

/// Holds all panoramas for ten times the limit, after a call of `then` with the reader. The stitcher must not fail.
fn hold_all(then: impl Fn(&mut StitchedFrames)) {
    for device in panoweave_devices() {
        let options = LiveOptions { held_limit: Duration::from_millis(50), ..waiting() };
        let stitcher = stitcher(&device, options);
        let mut panoramas = stitcher.panoramas();
        let bytes = stamp(9);
        let submit = |i| stitcher.submit(&[frame(&bytes), frame(&bytes)], FRAME * i).unwrap();
        for i in 0..4 {
            submit(i);
        }
        let held: Vec<_> = panoramas.by_ref().take(4).collect();
        then(&mut panoramas);
        submit(4);
        thread::sleep(Duration::from_millis(500));
        stitcher.health().unwrap();
        drop(held);
        assert_eq!(panoramas.next().unwrap().timestamp(), FRAME * 4);
    }
}

#[test]
fn a_reader_may_hold_all_panoramas_as_long_as_it_does_not_wait() {
    hold_all(|_| {});
}

/// A task that stopped waiting, for instance after a time limit, leaves its waker behind.
#[test]
fn a_reader_that_stopped_waiting_may_hold_all_panoramas() {
    hold_all(|panoramas| {
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(panoramas).poll_next(&mut context).is_pending());
    });
}

/// Polls the reader again when it is woken, as executors do.
struct Again(Thread);

impl Wake for Again {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn a_task_that_holds_all_panoramas_and_waits_for_another_ends_with_an_error() {
    for device in panoweave_devices() {
        let options = LiveOptions { held_limit: Duration::from_millis(250), ..waiting() };
        let stitcher = Arc::new(stitcher(&device, options));
        let mut panoramas = stitcher.panoramas();
        let reader = thread::spawn(move || {
            let waker = Waker::from(Arc::new(Again(thread::current())));
            let mut context = Context::from_waker(&waker);
            let mut held = Vec::new();
            loop {
                match Pin::new(&mut panoramas).poll_next(&mut context) {
                    Poll::Ready(Some(panorama)) => held.push(panorama),
                    Poll::Ready(None) => return held.len(),
                    Poll::Pending => thread::park(),
                }
            }
        });
        let bytes = stamp(9);
        let submit = |i| stitcher.submit(&[frame(&bytes), frame(&bytes)], FRAME * i);
        assert!((0..30).any(|i| submit(i).is_err()), "{device}");
        assert_eq!(joined(reader), 4, "{device}");
        let held = LiveError::Held { slots: 4, limit: options.held_limit };
        assert_eq!(stitcher.health().unwrap_err().to_string(), held.to_string());
    }
}

/// A reader may poll at intervals instead of waiting to be woken.
#[test]
fn a_reader_that_holds_all_panoramas_and_polls_slowly_ends_with_an_error() {
    for device in panoweave_devices() {
        let options = LiveOptions { held_limit: Duration::from_millis(400), ..waiting() };
        let stitcher = Arc::new(stitcher(&device, options));
        let mut panoramas = stitcher.panoramas();
        let reader = thread::spawn(move || {
            let mut context = Context::from_waker(Waker::noop());
            let mut held = Vec::new();
            loop {
                match Pin::new(&mut panoramas).poll_next(&mut context) {
                    Poll::Ready(Some(panorama)) => held.push(panorama),
                    Poll::Ready(None) => return held.len(),
                    Poll::Pending => thread::sleep(Duration::from_millis(200)),
                }
            }
        });
        let bytes = stamp(9);
        let filling = Arc::clone(&stitcher);
        let writer = thread::spawn(move || {
            let submit = |i| filling.submit(&[frame(&bytes), frame(&bytes)], FRAME * i);
            (0..30).any(|i| submit(i).is_err())
        });
        assert!(joined(writer), "{device}");
        assert_eq!(joined(reader), 4, "{device}");
    }
}

/// The limit may be 0.
#[test]
fn a_reader_that_waits_fails_at_once_without_a_time_limit() {
    for device in panoweave_devices() {
        for closes in [false, true] {
            let options = LiveOptions { held_limit: Duration::ZERO, ..waiting() };
            let stitcher = Arc::new(stitcher(&device, options));
            let mut panoramas = stitcher.panoramas();
            let reader = thread::spawn(move || panoramas.by_ref().take(5).collect::<Vec<_>>());
            let filling = Arc::clone(&stitcher);
            let writer = thread::spawn(move || {
                let bytes = stamp(9);
                let submit = |i| filling.submit(&[frame(&bytes), frame(&bytes)], FRAME * i);
                let most = if closes { 6 } else { 30 };
                let failed = (0..most).any(|i| submit(i).is_err());
                filling.close();
                failed
            });
            joined(writer);
            let held = joined(reader);
            assert_eq!(held.len(), 4, "{device}");
            let error = stitcher.health().unwrap_err();
            assert!(matches!(error, LiveError::Held { slots: 4, .. }), "{device}: {error}");
        }
    }
}
