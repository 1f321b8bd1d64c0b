//! Serves one connection, and ends it if the client stalls.
//!
//! hyper closes a connection that sends no complete request head within [`HEAD`]. The [`Socket`] fails if the client
//! does not read for [`STALL`]. `POST /stitch` limits the time in which a body must arrive.
//!
//! A response may end a request whose body has not arrived completely. The socket then discards bytes for up to
//! [`LINGER`] before it closes: if a socket closes with unread bytes, the client's system discards the response.

use std::future::pending;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, Sleep, sleep};

/// Maximum time for the head of a request, and maximum time between two requests. A head fits in a few packets.
const HEAD: Duration = Duration::from_secs(5);

/// Maximum time without progress while the service writes. A client that loses its network for a few seconds recovers.
const STALL: Duration = Duration::from_secs(60);

/// Maximum time in which the client of an ended connection can send the rest of its request and read the response.
const LINGER: Duration = Duration::from_secs(2);

/// The size of hyper's buffers for a connection. It also limits the size of a request head.
const BUFFER: usize = 64 << 10;

/// Ends a connection when notified. Each request has it as an extension.
#[derive(Clone, Default)]
pub(crate) struct Closer(pub(crate) Arc<Notify>);

/// The address that identifies the client of a request, as an extension of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Client(pub(crate) IpAddr);

#[derive(Clone, Copy)]
enum State {
    /// The connection has neither a complete request head nor a response since this time.
    Idle(Instant),
    /// A response is pending.
    Busy,
    /// The connection ends. It must not begin a request.
    Closing,
}

/// The activity of a connection.
pub(crate) struct Activity {
    state: Mutex<State>,
    /// Whether the service waits until the client reads.
    blocked: AtomicBool,
    pub(crate) closer: Closer,
}

impl Activity {
    pub(crate) fn new() -> Arc<Self> {
        let (state, blocked) = (Mutex::new(State::Idle(Instant::now())), AtomicBool::new(false));
        Arc::new(Self { state, blocked, closer: Closer::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time from which the connection has neither a complete request head nor a response.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        match *self.state() {
            State::Idle(since) if !self.blocked.load(Ordering::Relaxed) => Some(since),
            _ => None,
        }
    }

    /// Ends the connection if it is idle. Returns whether it is.
    pub(crate) fn close(&self) -> bool {
        let mut state = self.state();
        let is_idle = matches!(*state, State::Idle(_));
        if is_idle {
            *state = State::Closing;
            self.closer.0.notify_one();
        }
        is_idle
    }

    /// Begins a request. Returns false if the connection ends.
    fn begin(&self) -> bool {
        let mut state = self.state();
        let may_begin = !matches!(*state, State::Closing);
        if may_begin {
            *state = State::Busy;
        }
        may_begin
    }
}

/// A request in progress, from the end of its head until hyper has taken the whole response.
struct InProgress(Arc<Activity>);

impl Drop for InProgress {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if let State::Busy = *state {
            *state = State::Idle(Instant::now());
        }
    }
}

/// Serves the requests of a client's connection until it ends. After `stopped` changes, serves only the request in
/// progress.
pub(crate) async fn serve(
    stream: TcpStream,
    client: Client,
    activity: Arc<Activity>,
    router: TowerToHyperService<Router>,
    mut stopped: watch::Receiver<()>,
) {
    let service = service_fn(|mut request: Request<Incoming>| {
        let in_progress = activity.begin().then(|| InProgress(Arc::clone(&activity)));
        request.extensions_mut().insert(activity.closer.clone());
        request.extensions_mut().insert(client);
        let response = router.call(request);
        async move {
            if in_progress.is_none() {
                // The connection is about to be dropped.
                pending::<()>().await;
            }
            let response = response.await?;
            // The stream owns `in_progress` until its end.
            Ok::<_, std::convert::Infallible>(response.map(|body| {
                Body::from_stream(body.into_data_stream().map(move |chunk| {
                    let _ = &in_progress;
                    chunk
                }))
            }))
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER);
    let socket = Socket { stream, activity: Arc::clone(&activity), stall: None, linger: None };
    let mut connection = pin!(http.serve_connection(TokioIo::new(socket), service));
    let mut closed = pin!(activity.closer.0.notified());
    let ended = select(connection.as_mut(), closed.as_mut());
    if let Either::Right(_) = select(ended, pin!(stopped.changed())).await
        && activity.idle_since().is_none()
    {
        connection.as_mut().graceful_shutdown();
        select(connection, closed).await;
    }
}

/// A socket whose writes fail if the client does not read for [`STALL`], and that discards what arrives while it
/// closes.
struct Socket {
    stream: TcpStream,
    activity: Arc<Activity>,
    stall: Option<Pin<Box<Sleep>>>,
    /// The end of the time to discard bytes.
    linger: Option<Pin<Box<Sleep>>>,
}

impl Socket {
    /// Passes on the result of a write, and measures the time without progress.
    fn written(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        self.activity.blocked.store(written.is_pending(), Ordering::Relaxed);
        if written.is_ready() {
            self.stall = None;
            return written;
        }
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(STALL)));
        ready!(stall.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, written)
    }

    // hyper copies a response into its own buffer unless the socket takes several slices at once.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.written(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, linger, .. } = &mut *self;
        if linger.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
        }
        let linger = linger.get_or_insert_with(|| Box::pin(sleep(LINGER)));
        let mut bytes = [0; 8 << 10];
        loop {
            if linger.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut rest = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut *stream).poll_read(context, &mut rest))?;
            if rest.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}
