//! Accepts connections, up to [`MOST`]. If there is no room for another one, closes a connection that waits for nothing:
//! first those without a request, and of these the one that has been idle for the longest time. So clients that open
//! connections and send nothing do not keep others out.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

/// Maximum number of open connections. Processes usually have at least 1,024 descriptors.
const MOST: usize = 512;

/// The time to wait for a closed connection before another one is closed.
const PAUSE: Duration = Duration::from_millis(20);

/// A listener with a limit on the number of connections.
pub(crate) struct Connections {
    listener: TcpListener,
    room: Arc<Semaphore>,
    open: Vec<Weak<Mutex<Activity>>>,
}

/// The activity of a connection.
struct Activity {
    /// Whether bytes were received after the last response, so that the client waits for a response.
    asks: bool,
    /// The time of the last byte in either direction.
    last: Instant,
    closed: bool,
    /// Wakes the task that reads.
    reader: Option<Waker>,
}

/// An open connection.
pub(crate) struct Connection {
    stream: TcpStream,
    activity: Arc<Mutex<Activity>>,
    _room: OwnedSemaphorePermit,
}

fn lock(activity: &Mutex<Activity>) -> MutexGuard<'_, Activity> {
    activity.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connections {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Self { listener, room: Arc::new(Semaphore::new(MOST)), open: Vec::new() }
    }

    /// Waits for room for a connection, and closes others to make room.
    async fn room(&mut self) -> OwnedSemaphorePermit {
        loop {
            if let Ok(room) = Arc::clone(&self.room).try_acquire_owned() {
                return room;
            }
            self.close_one();
            if let Ok(Ok(room)) = timeout(PAUSE, Arc::clone(&self.room).acquire_owned()).await {
                return room;
            }
        }
    }

    /// Closes the connection that is missed the least.
    fn close_one(&mut self) {
        self.open.retain(|activity| activity.strong_count() > 0);
        let open = self.open.iter().filter_map(Weak::upgrade);
        let idle = open.filter(|activity| !lock(activity).closed).min_by_key(|activity| {
            let activity = lock(activity);
            (activity.asks, activity.last)
        });
        if let Some(activity) = idle {
            let mut activity = lock(&activity);
            activity.closed = true;
            if let Some(reader) = activity.reader.take() {
                reader.wake();
            }
        }
    }
}

impl Listener for Connections {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            let room = self.room().await;
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    let (last, reader) = (Instant::now(), None);
                    let activity = Activity { asks: false, last, closed: false, reader };
                    let activity = Arc::new(Mutex::new(activity));
                    self.open.retain(|activity| activity.strong_count() > 0);
                    self.open.push(Arc::downgrade(&activity));
                    return (Connection { stream, activity, _room: room }, address);
                }
                // The process has no more descriptors, or the client has closed the connection already.
                Err(_) => {
                    self.close_one();
                    sleep(PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        {
            let mut activity = lock(&self.activity);
            if activity.closed {
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
            activity.reader = Some(context.waker().clone());
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            let mut activity = lock(&self.activity);
            (activity.asks, activity.last) = (true, Instant::now());
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(1..)) = written {
            let mut activity = lock(&self.activity);
            (activity.asks, activity.last) = (false, Instant::now());
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
