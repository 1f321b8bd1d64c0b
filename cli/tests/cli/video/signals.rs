//! Tests Ctrl-C, SIGTERM and SIGHUP during `panoweave video`. After the first signal, the program must complete the
//! output file with the frames so far. After a second signal, it must end at once.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Ffmpeg, MAP, flat, luma};
use crate::{Done, Folder};

pub(super) fn start(folder: &Folder, line: &str) -> Child {
    start_with(folder, line, &[])
}

/// Starts panoweave with these environment variables.
pub(super) fn start_with(folder: &Folder, line: &str, variables: &[(&str, &OsStr)]) -> Child {
    let mut command = folder.command();
    command.args(line.split_whitespace()).envs(variables.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

pub(super) fn signal(child: &Child, name: &str) {
    let mut kill = Command::new("kill");
    assert!(kill.args(["-s", name, &child.id().to_string()]).status().unwrap().success());
}

/// Waits until the process ends, and returns its output. Kills the process and panics after 20 seconds.
pub(super) fn end(mut child: Child) -> Done {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            panic!("the process does not end: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Done::from(child.wait_with_output().unwrap())
}

/// Returns whether the process has a handler for signal number `signal`.
fn catches(child: &Child, signal: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

/// Returns the paths of the temporary files, whose names begin with a full stop, and of the part files.
fn temporary(folder: &Folder) -> Vec<PathBuf> {
    let names = std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap());
    let own = |name: &str| name.starts_with('.') || name.contains(".part");
    names
        .filter(|entry| own(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect()
}

pub(super) fn until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "the condition did not become true");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_pipe_that_waits_is_left() {
    let folder = Folder::new();
    folder.write("r.y4m", flat("30:1", 0..9));
    let mut child = start(&folder, &format!("video - r.y4m {MAP} -o p.y4m"));
    // Write two frames of the left video, and keep the pipe open, so that the program waits for more frames.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&flat("30:1", [50, 60])).unwrap();
    let size = || std::fs::metadata(folder.path("p.y4m")).map_or(0, |file| file.len());
    until(|| size() > 2 * 65 * 32 * 3 / 2);
    signal(&child, "TERM");
    let done = end(child);
    assert_eq!(done.code, Some(130), "{done:?}");
    assert!(done.stderr.contains("stopping: "), "{done:?}");
    assert!(done.stdout.contains("p.y4m: 2 frames") && done.stdout.contains("stopped early"));
    assert_eq!(luma(&folder.read("p.y4m")).1.len(), 2);
    drop(stdin);
}

#[test]
fn before_the_first_frame_there_is_nothing_to_finish() {
    let folder = Folder::new();
    folder.write("r.y4m", flat("30:1", 0..9));
    // The left video is a pipe. Before the signal, it delivers nothing in the first run and only the Y4M header in the
    // second run.
    for header in ["", "YUV4MPEG2 W40 H30 F30:1 XCOLORRANGE=FULL\n"] {
        let mut child = start(&folder, &format!("video - r.y4m {MAP} -o p.y4m --json"));
        until(|| catches(&child, 2));
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(header.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        signal(&child, "INT");
        let done = end(child);
        assert_eq!(done.code, Some(130), "{done:?}");
        assert_eq!(done.json()["error"]["kind"], "interrupted");
        let said = "error: p.y4m: not written: stopped before the first frame\n";
        assert_eq!(done.stderr, said);
        assert!(!folder.path("p.y4m").exists());
        drop(stdin);
    }
}

#[test]
fn a_pipe_that_nobody_reads_is_left() {
    let folder = Folder::new();
    folder.write("a.y4m", flat("30:1", 0..9));
    assert!(Command::new("mkfifo").arg(folder.path("f")).status().unwrap().success());
    let line = format!("video a.y4m a.y4m {MAP} --output-format y4m -o f");
    let child = start(&folder, &line);
    until(|| catches(&child, 15));
    // Give the program time to block: it opens the output pipe, which no process reads.
    std::thread::sleep(Duration::from_secs(1));
    signal(&child, "TERM");
    let done = end(child);
    assert_eq!(done.code, Some(130), "{done:?}");
    assert!(done.stderr.contains("f: not written: stopped before the first frame"), "{done:?}");
}

#[test]
fn an_interrupted_file_plays() {
    let Some(ffmpeg) = Ffmpeg::find() else { return };
    let folder = Folder::new();
    ffmpeg.pair(&folder, 300.0);
    folder.write("p.mp4", "old");
    let child = start(&folder, &format!("video left.mp4 right.mp4 {MAP} --json -o p.mp4"));
    // Stop it early: a fast machine writes the 9,000 frames in a few seconds.
    until(|| {
        temporary(&folder).iter().any(|path| path.metadata().is_ok_and(|file| file.len() > 0))
    });
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(folder.read("p.mp4"), b"old", "the old file stays until the new one is complete");
    signal(&child, "INT");
    let done = end(child);
    assert_eq!(done.code, Some(130), "{done:?}");
    let json = done.json();
    assert_eq!(json["stopped"], true, "{json}");
    let probe = ffmpeg.probe(&folder, "p.mp4");
    assert!(probe.frames() > 5, "{json}");
    assert_eq!(json["frames"]["written"], probe.frames());
    // The sound must have been cut to the length of the shortened video.
    let (video, audio) = (probe.video(), probe.stream("audio").unwrap());
    assert!((super::seconds(video) - super::seconds(audio)).abs() < 0.1, "{probe:?}");
}

/// Sends SIGHUP, as a terminal that is closed does, after two frames. The program must complete the video with these
/// frames. If the program was started with SIGHUP ignored, it must continue to the end of the input.
#[test]
fn a_hangup_ends_in_order_unless_it_is_ignored() {
    let folder = Folder::new();
    folder.write("r.y4m", flat("30:1", 0..9));
    let size = || std::fs::metadata(folder.path("p.y4m")).map_or(0, |file| file.len());
    for (ignored, code, frames) in [(false, 130, 2), (true, 0, 3)] {
        let _ = std::fs::remove_file(folder.path("p.y4m"));
        // Set explicitly whether the program ignores SIGHUP, because it would inherit this from the test runner.
        let how = if ignored { "--ignore-signal=HUP" } else { "--default-signal=HUP" };
        let mut command = Command::new("env");
        command.args([how, env!("CARGO_BIN_EXE_panoweave")]).current_dir(folder.path(""));
        command.args(format!("video - r.y4m {MAP} -o p.y4m").split(' '));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let all = flat("30:1", [50, 60, 70]);
        let two = flat("30:1", [50, 60]).len();
        stdin.write_all(&all[..two]).unwrap();
        until(|| size() > 2 * 65 * 32 * 3 / 2);
        signal(&child, "HUP");
        if ignored {
            std::thread::sleep(Duration::from_millis(300));
            stdin.write_all(&all[two..]).unwrap();
            drop(stdin);
        }
        let done = end(child);
        assert_eq!(done.code, Some(code), "{done:?}");
        assert_eq!(luma(&folder.read("p.y4m")).1.len(), frames);
    }
}

/// Runs a video with an encoder that does not read, and sends a signal. Then sends a second signal if `twice`. Returns
/// the output of the program, which must leave no file.
fn stuck(options: &str, twice: bool) -> Option<Done> {
    let ffmpeg = Ffmpeg::find()?;
    let folder = Folder::new();
    ffmpeg.pair(&folder, 20.0);
    // Replace the encoder by a process that does not read its input and runs for 60 s.
    let stuck = ffmpeg.with_encoder(&folder, "exec sleep 60");
    let mut command = folder.command();
    command.args(format!("video left.mp4 right.mp4 {MAP} -o p.mp4{options}").split(' '));
    command.env("PANOWEAVE_FFMPEG", stuck);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until(|| !temporary(&folder).is_empty());
    // Give the program time to fill the pipe to the encoder, so that its writes block.
    std::thread::sleep(Duration::from_secs(1));
    signal(&child, "INT");
    let mut said = Vec::new();
    while !said.ends_with(b" INFO stopping") {
        said.push(0);
        let end = said.len() - 1;
        child.stderr.as_mut().unwrap().read_exact(&mut said[end..]).unwrap();
    }
    if twice {
        signal(&child, "INT");
    }
    let done = end(child);
    assert_eq!(done.code, Some(130), "{done:?}");
    assert!(temporary(&folder).is_empty());
    assert!(!folder.path("p.mp4").exists());
    Some(done)
}

#[test]
fn twice_leaves_nothing() {
    let Some(done) = stuck("", true) else { return };
    assert!(
        done.stderr.contains("p.mp4: stopped by a second signal before it was finished"),
        "{done:?}"
    );
}

#[test]
fn an_encoder_that_does_not_read_has_a_time_limit() {
    let Some(done) = stuck(" --finish-limit 1", false) else { return };
    assert!(
        done.stderr.contains("p.mp4: stopped by a signal, but not finished within 1 s"),
        "{done:?}"
    );
    assert!(done.stderr.contains("--finish-limit"), "{done:?}");
}
