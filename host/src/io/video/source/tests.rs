//! Tests of the end of a reader thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// A reader of endless frames that records its end.
struct Endless(Arc<AtomicBool>);

impl NextFrame for Endless {
    fn next_frame(&mut self) -> Result<Option<VideoFrame>, VideoError> {
        Ok(Some(VideoFrame::Host(Vec::new())))
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
    let reader = |_| Box::new(reader) as Box<dyn NextFrame>;
    let name = "endless.mp4".into();
    let (source, thread) =
        VideoSource::start(name, format, rate, None, reader, &Stop::default()).unwrap();
    let mut source = VideoSource { _gpu_reader: Some(GpuReader(thread)), ..source };
    assert!(source.next_frame().unwrap().is_some());
    drop(source);
    assert!(ended.load(Ordering::SeqCst));
}
