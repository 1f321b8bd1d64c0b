//! Readers of the panoramas: a blocking iterator, a stream for any `async` runtime, and a callback.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::AcqRel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use async_channel::Receiver;
use futures_core::Stream;

use super::panorama::StitchedFrame;
use super::shared::Shared;

/// A reader of a stitcher's panoramas, in the order of the frames. It is a blocking [`Iterator`] and an `async`
/// [`Stream`]. The reader ends when the stitcher was closed or has failed. To distinguish the two, call
/// [`Stitcher::health`], which returns an error after a failure.
///
/// If there are several readers, each panorama is delivered to exactly one of them.
///
/// [`Stitcher::health`]: super::Stitcher::health
#[derive(Debug)]
pub struct StitchedFrames {
    receiver: Pin<Box<Receiver<StitchedFrame>>>,
    shared: Arc<Shared>,
}

impl StitchedFrames {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        shared.readers.fetch_add(1, AcqRel);
        Self { receiver: Box::pin(shared.finished.clone()), shared }
    }

    /// Waits at most `timeout` for the next panorama. Returns `Poll::Pending` after this time, and `Poll::Ready(None)`
    /// if the reader has ended.
    pub fn next_timeout(&mut self, timeout: Duration) -> Poll<Option<StitchedFrame>> {
        let end = Instant::now().checked_add(timeout);
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            let next = self.receiver.as_mut().poll_next(&mut context);
            let left =
                end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            if next.is_ready() || left.is_zero() {
                return next;
            }
            thread::park_timeout(left);
        }
    }

    /// Starts a thread that calls `reader` with each panorama. The thread ends after the last panorama.
    pub fn for_each_on_thread(
        self,
        mut reader: impl FnMut(StitchedFrame) + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        let name = "panoweave-reader".to_owned();
        thread::Builder::new().name(name).spawn(move || self.for_each(&mut reader))
    }
}

/// Wakes a thread that waits for a panorama.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Iterator for StitchedFrames {
    type Item = StitchedFrame;

    fn next(&mut self) -> Option<StitchedFrame> {
        self.receiver.recv_blocking().ok()
    }
}

impl Stream for StitchedFrames {
    type Item = StitchedFrame;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<StitchedFrame>> {
        self.receiver.as_mut().poll_next(context)
    }
}

impl Drop for StitchedFrames {
    fn drop(&mut self) {
        self.shared.readers.fetch_sub(1, AcqRel);
        self.shared.outputs.nudge();
    }
}
