//! The live stitcher's memory: flat under a slow reader, and all given back in the end.
//!
//! A file of its own with one test: the counters are the process's, and tests of one file run side by
//! side.

use panoweave_tests::alone::alone;
use std::thread;
use std::time::Duration;

use panoweave::device::{Counters, Device};
use panoweave::live::{ColourOptions, LiveOptions};
use panoweave_tests::live::{FRAME, STILL, device_warp, frame, stamp, stitcher, waiting};
use panoweave_tests::panoweave_devices;

#[test]
fn memory_is_flat_and_given_back() {
    alone(memory_is_flat_and_given_back, || {
        for device in panoweave_devices() {
            a_slow_reader_costs_frames_but_no_memory(&device);
            stitchers_come_and_go_without_a_trace(&device);
        }
    });
}

/// A reader that takes none, one that holds all, and one that went away: live pace goes on in bounded
/// memory, and everything is accounted for.
fn a_slow_reader_costs_frames_but_no_memory(device: &Device) {
    let stitcher = stitcher(device, LiveOptions { colour: STILL, ..LiveOptions::default() });
    let mut panoramas = stitcher.panoramas();
    let bytes = stamp(9);
    let memory = Counters::now();
    // One after the other: how many are given up must not depend on how fast the machine is.
    let submit = |n: u32| {
        for i in 0..n {
            stitcher.submit(frame(&bytes), frame(&bytes), FRAME * i).unwrap();
            let settled = || {
                let c = stitcher.counters();
                c.pairs == c.panoramas + c.dropped.busy + c.dropped.reader
            };
            while !settled() {
                thread::sleep(Duration::from_millis(1));
            }
        }
    };
    submit(50);
    let unread = stitcher.counters().dropped.unread;
    assert!(unread >= 20, "{unread} given up");
    let held: Vec<_> = panoramas.by_ref().take(4).collect();
    submit(20);
    let reader = stitcher.counters().dropped.reader;
    assert!(reader >= 5, "{:?}", stitcher.counters());
    drop(held);
    drop(panoramas);
    submit(20);
    assert_eq!(stitcher.counters().dropped.reader, reader);
    // Texture objects are made when a buffer is first stitched from: at most one for each of two cameras' buffers.
    let now = Counters::now();
    assert!(
        now.textures <= memory.textures + 2 * (LiveOptions::default().slots as i64 + 1),
        "{now:?}"
    );
    assert_eq!(Counters { textures: 0, ..now }, Counters { textures: 0, ..memory }, "{device}");
    drop(stitcher);
}

fn stitchers_come_and_go_without_a_trace(device: &Device) {
    let before = Counters::now();
    for i in 0..200 {
        let colour = ColourOptions { follow: true, every: 1, delay: i % 3, ..STILL };
        let stitcher = stitcher(device, LiveOptions { colour, ..waiting() });
        let bytes = stamp(50);
        for i in 0..i % 5 {
            stitcher.submit(frame(&bytes), frame(&bytes), FRAME * i).unwrap();
        }
        if i % 4 == 0 {
            stitcher.swap_warp(device_warp(device, 1.0)).unwrap();
        }
        // On a thread of its own, with frames under way.
        thread::spawn(move || drop(stitcher)).join().unwrap();
    }
    assert_eq!(Counters::now(), before, "{device}");
}
