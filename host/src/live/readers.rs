//! Readers of the panoramas: a blocking iterator, and a stream for any `async` runtime.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use async_channel::Receiver;
use futures_core::Stream;

use super::panorama::StitchedFrame;

/// A reader of a session's panoramas, in the order of the frames. It is a blocking [`Iterator`] and an `async`
/// [`Stream`]. The reader ends when the session was closed or has failed. To distinguish the two, call
/// [`Session::health`], which returns an error after a failure.
///
/// If there are several readers, each panorama is delivered to exactly one of them.
///
/// [`Session::health`]: super::Session::health
#[derive(Debug)]
pub struct StitchedFrames {
    receiver: Pin<Box<Receiver<StitchedFrame>>>,
}

impl StitchedFrames {
    pub(super) fn new(receiver: Receiver<StitchedFrame>) -> Self {
        Self { receiver: Box::pin(receiver) }
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
