//! Tests of the end of a reader thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::io::video::StreamFormat;

/// A reader of endless frames that records its end.
struct Endless(Arc<AtomicBool>);

impl NextFrame for Endless {
    fn next_frame(&mut self) -> Result<Option<VideoFrame>, VideoError> {
        let frame = HostPool::new(FrameFormat::rgba8(2, 2), None).filled(|_| ());
        Ok(Some(VideoFrame::Host(frame)))
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        thread::sleep(Duration::from_millis(50));
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn drop_waits_for_a_reader_that_uses_the_gpu() {
    let ended = Arc::new(AtomicBool::new(false));
    let format = FrameFormat::rgba8(2, 2);
    let rate = Rate::new(30, 1).unwrap();
    let reader = Endless(Arc::clone(&ended));
    let name = "endless.mp4".into();
    let (source, thread) =
        VideoSource::start(name, format, rate, None, Box::new(reader), &Stop::default()).unwrap();
    let mut source = VideoSource { _gpu_reader: Some(GpuReader(thread)), ..source };
    assert!(source.next_frame(None).unwrap().is_some());
    drop(source);
    assert!(ended.load(Ordering::SeqCst));
}

/// A stop request ends the wait for a pipe that no program writes.
#[test]
fn a_stop_ends_the_opening_of_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("a.y4m");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let input = VideoInput::new(&pipe, Medium::Stream(StreamFormat::Y4m));
    let stop = Stop::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(100));
            stop.ask();
        });
        let error = VideoSource::open_all(&[input.clone(), input], &stop).err().unwrap();
        assert!(matches!(&error, VideoError::NoWriter { file } if *file == pipe), "{error}");
    });
}

/// A missing file is an error although the input before it waits for a program that writes its pipe.
#[test]
fn a_missing_file_is_found_before_a_pipe_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let [pipe, missing] = ["a.y4m", "b.mp4"].map(|name| folder.path().join(name));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let pipe = VideoInput::new(&pipe, Medium::Stream(StreamFormat::Y4m));
    let inputs = [pipe, VideoInput::new(&missing, Medium::File)];
    let error = VideoSource::open_all(&inputs, &Stop::default()).err().unwrap();
    assert!(matches!(&error, VideoError::Unreadable { file, .. } if *file == missing), "{error}");
}
