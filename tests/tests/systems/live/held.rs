//! Tests of readers that hold all panoramas of a stitcher that waits for them.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use panoweave::live::{LiveError, LiveOptions};
use panoweave_tests::live::{FRAME, frame, stamp, stitcher, waiting};
use panoweave_tests::panoweave_devices;

/// Waits at most a minute for `thread`, so that a test of a stitcher that hangs fails.
fn joined<T>(thread: thread::JoinHandle<T>) -> T {
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

#[test]
fn a_reader_may_hold_all_panoramas_as_long_as_it_does_not_wait() {
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
        submit(4);
        thread::sleep(Duration::from_millis(500));
        stitcher.health().unwrap();
        drop(held);
        assert_eq!(panoramas.next().unwrap().timestamp(), FRAME * 4);
    }
}
