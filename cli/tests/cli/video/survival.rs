//! Tests that a video is not lost if `panoweave video` is killed or the disk is full: its part file must play, and lack at
//! most the last 2 s. `cargo xtask faults` does the same many times.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::signals::{end, signal, start_with, until};
use super::{Ffmpeg, MAP};
use crate::{Done, Folder};

/// The frames per second of the videos, and the number of bytes of a panorama.
const RATE: f64 = 30.0;
const BYTES: u64 = 345 * 180 * 3 / 2;

/// Makes two videos of 60 s, whose frames are larger than the buffer of a pipe. Returns a program that stores all frames
/// for the encoder in `frames`.
fn record(folder: &Folder, ffmpeg: &Ffmpeg) -> PathBuf {
    ffmpeg.run(
        folder,
        "-f lavfi -i testsrc2=s=320x180:r=30 -f lavfi -i sine -t 60 -c:v libx264 -preset ultrafast \
         -pix_fmt yuv420p -c:a aac a.mp4",
    );
    ffmpeg.with_encoder(
        folder,
        &format!("ulimit -S -f unlimited; tee frames | {} \"$@\"; exit", ffmpeg.ffmpeg.display()),
    )
}

/// Checks that a part file decodes without an error, has sound, and lacks at most 2 s of the frames for the encoder.
fn check(folder: &Folder, ffmpeg: &Ffmpeg, part: &str) {
    let written = folder.path("frames").metadata().unwrap().len() / BYTES;
    let probe = ffmpeg.probe(folder, part);
    let lost = (written - probe.frames()) as f64 / RATE;
    println!("{part}: {} of {written} frames, {lost:.2} s lost", probe.frames());
    assert!(probe.frames() > 0 && lost <= 2.0, "{part}: {lost} s lost of {written} frames");
    assert!(probe.stream("audio").is_some(), "{part}");
}

/// Kills all processes that work in the folder.
fn kill_all(folder: &Folder) {
    let folder = folder.path("").canonicalize().unwrap();
    let works_here = |entry: &std::fs::DirEntry| {
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder)
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten().filter(works_here);
    let mut kill = Command::new("kill");
    kill.arg("-KILL").args(processes.map(|entry| entry.file_name())).status().unwrap();
}

#[test]
fn a_killed_video_plays() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let encoder = record(&folder, &ffmpeg);
    for (output, part, all, milliseconds) in [
        ("p.mp4", "p.part.mp4", false, 740),
        ("p.mp4", "p.part2.mp4", true, 130),
        ("p.mkv", "p.part.mkv", true, 1090),
        ("p.mov", "p.part.mov", false, 420),
    ] {
        let line = format!("video a.mp4 a.mp4 {MAP} --no-colour -o {output}");
        let child = start_with(&folder, &line, &[("PANOWEAVE_FFMPEG", encoder.as_os_str())]);
        until(|| folder.path(part).metadata().is_ok_and(|file| file.len() > 0));
        std::thread::sleep(Duration::from_millis(milliseconds));
        if all {
            kill_all(&folder)
        } else {
            signal(&child, "KILL")
        }
        let done = end(child);
        assert!(done.stderr.contains(&format!("recording to {part}, which plays")), "{done:?}");
        let left = " WARN p.part.mp4 is from a run that did not finish";
        assert_eq!(done.stderr.contains(left), part == "p.part2.mp4", "{done:?}");
        assert!(!folder.path(output).exists());
        check(&folder, &ffmpeg, part);
    }
    // A power loss can cut the file at any page.
    let whole = folder.read("p.part.mp4");
    for pages in (1..8).map(|n| whole.len() / 4096 * n / 8) {
        folder.write("cut.mp4", &whole[..pages * 4096]);
        let output = ffmpeg.output(&folder, "-i cut.mp4 -map 0 -c copy -f null -");
        assert!(output.status.success(), "{pages}: {output:?}");
    }
}

/// Simulates a full disk by a limit on the size of files.
#[test]
fn a_video_on_a_full_disk_plays() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    let encoder = record(&folder, &ffmpeg);
    for (output, part, blocks) in [("p.mp4", "p.part.mp4", 700), ("p.mkv", "p.part.mkv", 555)] {
        folder.write(output, "old");
        let mut shell = Command::new("sh");
        let line = format!("exec $0 video a.mp4 a.mp4 {MAP} --no-colour -o {output}");
        shell.args(["-c", &format!("ulimit -S -f {blocks}; {line}")]);
        shell.arg(env!("CARGO_BIN_EXE_panoweave")).current_dir(folder.path(""));
        let done = Done::from(shell.env("PANOWEAVE_FFMPEG", &encoder).output().unwrap());
        assert_eq!(done.code, Some(2), "{done:?}");
        let said =
            format!("error: {output}: cannot be written: File too large (os error 27); free");
        assert!(done.stderr.contains(&said), "{done:?}");
        let frames = ffmpeg.probe(&folder, part).frames();
        assert!(
            done.stderr.contains(&format!(" WARN {part} has the first {frames} frames (")),
            "{done:?}"
        );
        assert_eq!(folder.read(output), b"old");
        check(&folder, &ffmpeg, part);
    }
}
