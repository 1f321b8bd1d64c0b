//! Runs the examples `blocking_loop` and `camera_callback` on the CPU. Checks the last panorama, and that every frame
//! is in a panorama or counted as dropped.

use std::process::Command;

use panoweave::frame::Rgba8;
use panoweave::io::picture::Picture;
use serde_json::Value;
use tempfile::TempDir;

/// Runs an example for 30 panoramas or pairs. Returns its output, the session's counters from the output, and the last
/// panorama.
fn run(program: &str) -> (String, Value, Picture) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("last.png");
    let output = Command::new(program).arg("30").arg(&file).arg("cpu").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let counters = text.lines().find(|line| line.starts_with('{')).expect("counters");
    let counters = serde_json::from_str(counters).unwrap();
    (text, counters, Picture::open(file).unwrap())
}

fn count(counters: &Value, name: &str) -> u64 {
    counters.pointer(name).and_then(Value::as_u64).expect(name)
}

/// Returns the number of cameras, and the sum of one of their counters.
fn cameras(counters: &Value, name: &str) -> (u64, u64) {
    let cameras = counters["cameras"].as_array().expect("cameras");
    let of = |camera: &Value| camera[name].as_u64().expect(name);
    (cameras.len() as u64, cameras.iter().map(of).sum())
}

/// Checks that every frame was in a set or counted as dropped, and that every set was stitched or counted as dropped.
fn accounted_for(counters: &Value) {
    let count = |name| count(counters, name);
    let (_, frames) = cameras(counters, "frames_in");
    let reasons = ["unmatched", "late", "absent", "unbuffered"];
    let dropped: u64 = reasons.iter().map(|reason| cameras(counters, reason).1).sum();
    assert_eq!(cameras(counters, "used").1 + dropped, frames, "{counters}");
    let dropped = count("/dropped/busy") + count("/dropped/reader");
    assert_eq!(count("/sets"), count("/panoramas") + dropped, "{counters}");
    for name in ["/dropped/failed", "/dropped/lost", "/dropped/closing"] {
        assert_eq!(count(name), 0, "{counters}");
    }
}

/// Checks that all cameras contribute: no pixel of the middle row is black.
fn is_whole(panorama: &Picture, width: u32) {
    assert_eq!((panorama.width(), panorama.height()), (width, 240));
    let middle = &panorama.pixels()[(120 * width) as usize..][..width as usize];
    assert!(middle.iter().all(|pixel| *pixel != Rgba8::BLACK));
}

#[test]
fn the_blocking_loop_ends_after_its_panoramas() {
    let (text, counters, last) = run(env!("CARGO_BIN_EXE_blocking_loop"));
    assert!(count(&counters, "/panoramas") >= 30, "{text}");
    accounted_for(&counters);
    assert_eq!(cameras(&counters, "frames_in").0, 3);
    is_whole(&last, 1033);
}

#[test]
fn every_buffer_comes_back_to_the_camera_driver() {
    let (text, counters, last) = run(env!("CARGO_BIN_EXE_camera_callback"));
    let number = |line: &str, word: usize| -> u64 {
        let line = text.lines().find(|l| l.contains(line)).expect(line);
        line.split(' ').nth(word).expect(line).parse().expect(line)
    };
    assert_eq!(number("lent", 0) + number("lent", 3), 30, "{text}");
    assert_eq!(number("are back", 0), number("are back", 2), "{text}");
    assert_eq!(cameras(&counters, "frames_in"), (2, 2 * number("lent", 0)));
    accounted_for(&counters);
    is_whole(&last, 720);
}
