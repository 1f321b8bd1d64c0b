//! Tests the library function `stitch_video` without the command-line program: panoramas with another size than the
//! warp, and an output that fails while an input pipe delivers no data.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use glam::UVec2;
use panoweave::device::Device;
use panoweave::geometry::homography::Homography;
use panoweave::io::video::{
    Medium, Stop, StreamFormat, VideoError, VideoInput, VideoOutput, VideoSink, VideoSource,
};
use panoweave::video::{Progress, Summary, VideoOptions, VideoStitchError, stitch_video};
use panoweave::warp::DeviceWarp;

use super::flat;
use crate::{Folder, SHIFT};

fn open(folder: &Folder, name: &str) -> VideoSource {
    let path = folder.path(name);
    let medium = Medium::of_input(&path, None).unwrap();
    VideoSource::open(&VideoInput::new(path, medium), None, &Stop::default()).unwrap()
}

/// Stitches two videos, and writes panoramas with `size` pixels to the file `output`.
fn stitch(
    sources: [VideoSource; 2],
    output: PathBuf,
    size: UVec2,
    progress: impl FnMut(&Progress) + Send,
) -> Result<Summary, VideoStitchError> {
    let device = Device::cpu();
    let stream = device.stream().unwrap();
    let sizes = sources.each_ref().map(|source| source.format().size);
    let shift = Homography::parse(SHIFT, "shift").unwrap();
    let warp = DeviceWarp::render(&stream, &shift.geometry(sizes[0], sizes[1]).unwrap()).unwrap();
    stream.synchronize().unwrap();
    let medium = Medium::of_output(&output, None).unwrap();
    let output = VideoOutput::new(output, medium);
    let sink = VideoSink::create(&output, size, sources[0].rate(), &Stop::default()).unwrap();
    let (sinks, options) = (vec![(sink, None)], VideoOptions::default());
    stitch_video(&device, warp, sources.into(), sinks, &options, progress)
}

#[test]
fn panoramas_have_the_size_of_the_sink() {
    let folder = Folder::new();
    folder.write("a.y4m", flat("30:1", [50, 60]));
    let sources = [0, 1].map(|_| open(&folder, "a.y4m"));
    let done = stitch(sources, folder.path("p.rgba"), UVec2::new(130, 64), |_| ()).unwrap();
    assert_eq!(done.written, 2);
    assert_eq!(folder.read("p.rgba").len(), 2 * 130 * 64 * 4);
}

/// Tests an output that cannot be written while an input is an open pipe that delivers no more data. `stitch_video`
/// must return the error without waiting for the pipe.
#[test]
fn an_error_of_the_sink_does_not_wait_for_a_pipe() {
    let folder = Folder::new();
    let fifo = folder.path("live.y4m");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    folder.write("a.y4m", flat("30:1", [50, 60, 70]));
    std::os::unix::fs::symlink("/dev/full", folder.path("full.rgba")).unwrap();
    let ((held, hold), (done, ended)) = (channel::<()>(), channel());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut pipe = std::fs::OpenOptions::new().write(true).open(&fifo).unwrap();
            pipe.write_all(&flat("30:1", [50])).unwrap();
            // Keep the pipe open until the test is over.
            let _ = hold.recv();
        });
        let folder = &folder;
        scope.spawn(move || {
            let size = UVec2::new(65, 32);
            let sources = ["live.y4m", "a.y4m"].map(|name| open(folder, name));
            done.send(stitch(sources, folder.path("full.rgba"), size, |_| ())).unwrap();
        });
        let result = ended.recv_timeout(Duration::from_secs(20));
        drop(held);
        let error = result.expect("`stitch_video` does not end").unwrap_err();
        assert!(matches!(error, VideoStitchError::Video(VideoError::Unwritable { .. })), "{error}");
    });
}

/// A panic of the caller's function ends the readers of endless inputs.
#[test]
fn a_panic_while_reporting_progress_ends_the_stitch() {
    let folder = Folder::new();
    let stop = Stop::default();
    let sources = [0, 1].map(|_| {
        let mut input = VideoInput::new("/dev/zero", Medium::Stream(StreamFormat::NV12));
        (input.size, input.rate) = (Some(UVec2::new(40, 30)), Some("30".parse().unwrap()));
        VideoSource::open(&input, None, &stop).unwrap()
    });
    let (output, (sent, ended)) = (folder.path("p.y4m"), channel());
    std::thread::spawn(move || {
        let progress = |done: &Progress| assert!(done.frames < 3);
        let stitch = AssertUnwindSafe(|| stitch(sources, output, UVec2::new(64, 30), progress));
        sent.send(catch_unwind(stitch).is_err())
    });
    assert_eq!(ended.recv_timeout(Duration::from_secs(60)), Ok(true));
}
