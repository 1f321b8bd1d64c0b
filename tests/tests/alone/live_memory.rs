//! Checks that the live session's memory use stays constant while its reader is slow, and that the session frees all
//! memory.
//!
//! [`Counters`] cover the whole process, so this test runs in its own process.

use panoweave_tests::alone::{alone, objects};
use std::thread;
use std::time::Duration;

use panoweave::device::{Counters, Device};
use panoweave::live::{ColourOptions, LiveOptions};
use panoweave_tests::live::{FRAME, STILL, device_warp, frame, session, stamp, waiting};
use panoweave_tests::panoweave_devices;

#[test]
fn memory_is_flat_and_given_back() {
    alone(memory_is_flat_and_given_back, || {
        for device in panoweave_devices() {
            a_slow_reader_costs_frames_but_no_memory(&device);
            sessions_come_and_go_without_a_trace(&device);
        }
    });
}

/// Checks the memory and the counters of a session that drops frames when it is busy (`Pace::Live`). The reader first
/// takes no panorama, then holds four panoramas, and finally is dropped.
fn a_slow_reader_costs_frames_but_no_memory(device: &Device) {
    let session = session(device, LiveOptions { colour: STILL, ..LiveOptions::default() });
    let mut panoramas = session.panoramas();
    let bytes = stamp(9);
    let memory = objects();
    // Wait until each pair is stitched or dropped, so that the number of dropped pairs does not depend on the machine's
    // speed.
    let submit = |n: u32| {
        for i in 0..n {
            session.submit([frame(&bytes), frame(&bytes)], FRAME * i).unwrap();
            let settled = || {
                let c = session.counters();
                c.sets == c.panoramas + c.dropped.busy + c.dropped.reader
            };
            while !settled() {
                thread::sleep(Duration::from_millis(1));
            }
        }
    };
    submit(50);
    let unread = session.counters().dropped.unread;
    assert!(unread >= 20, "{unread} given up");
    let held: Vec<_> = panoramas.by_ref().take(4).collect();
    submit(20);
    let reader = session.counters().dropped.reader;
    assert!(reader >= 5, "{:?}", session.counters());
    drop(held);
    drop(panoramas);
    submit(20);
    assert_eq!(session.counters().dropped.reader, reader);
    // The two cameras have `slots + 2` input buffers each. A stitch creates a texture object when it reads one for the
    // first time, and a frame is copied to page-locked memory that is allocated when it is first needed.
    let (now, buffers) = (objects(), 2 * (LiveOptions::default().slots as i64 + 2));
    assert!(now.textures <= memory.textures + buffers, "{now:?}");
    assert!(now.pinned_bytes <= memory.pinned_bytes + buffers * bytes.len() as i64, "{now:?}");
    let rest = |of| Counters { textures: 0, pinned_bytes: 0, ..of };
    assert_eq!(rest(now), rest(memory), "{device}");
    drop(session);
}

fn sessions_come_and_go_without_a_trace(device: &Device) {
    let before = objects();
    for i in 0..200 {
        let colour = ColourOptions { follow: true, every: 1, delay: i % 3, ..STILL };
        let session = session(device, LiveOptions { colour, ..waiting() });
        let bytes = stamp(50);
        for i in 0..i % 5 {
            session.submit([frame(&bytes), frame(&bytes)], FRAME * i).unwrap();
        }
        if i % 4 == 0 {
            session.swap(device_warp(device, 1.0)).unwrap();
        }
        // Drop the session on another thread, while frames may be in flight.
        thread::spawn(move || drop(session)).join().unwrap();
    }
    assert_eq!(objects(), before, "{device}");
}
