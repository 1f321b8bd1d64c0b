//! The target of the stitching service.

use std::future::pending;
use std::io::Result;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use panoweave::device::Device;
use panoweave_examples::service::{Still, stitching};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

/// Maximum number of pixels in a panorama, so that a valid request stays within the limits of an input.
const PIXELS: u64 = 1 << 18;

/// The time without a response after which the client closes its side. The clock is simulated: it stands still while
/// the service works, and advances at once if all tasks wait.
const PATIENCE: Duration = Duration::from_millis(10);

/// The simulated time in which the service must close the connection after the client has closed its side.
const LIMIT: Duration = Duration::from_secs(70);

/// Accepts connections in memory.
struct InMemory(UnboundedReceiver<DuplexStream>);

impl Listener for InMemory {
    type Io = DuplexStream;
    type Addr = ();

    async fn accept(&mut self) -> (DuplexStream, ()) {
        match self.0.recv().await {
            Some(stream) => (stream, ()),
            None => pending().await,
        }
    }

    fn local_addr(&self) -> Result<()> {
        Ok(())
    }
}

/// A running service.
struct Service {
    runtime: Runtime,
    connections: UnboundedSender<DuplexStream>,
}

impl Service {
    fn start() -> Self {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime");
        let still = Still::new(&Device::cpu(), None).expect("the rig of the examples");
        let router = stitching(Arc::new(still.with_limit(PIXELS)));
        let (connections, accepted) = unbounded_channel();
        runtime.spawn(async move { axum::serve(InMemory(accepted), router).await });
        Self { runtime, connections }
    }
}

/// The bytes of a connection, which may contain several requests. Each response must begin with a status line, and the
/// service must close the connection after the client has closed its side.
pub(crate) fn requests(data: &[u8]) {
    thread_local! {
        static SERVICE: Service = Service::start();
    }
    SERVICE.with(|service| {
        let (mut client, server) = duplex(1 << 16);
        service.connections.send(server).expect("a running service");
        let exchange = async {
            // The service may close the connection before it has read everything.
            let _ = timeout(PATIENCE, client.write_all(data)).await;
            let mut received = Vec::new();
            while let Ok(Ok(1..)) = timeout(PATIENCE, client.read_buf(&mut received)).await {}
            let _ = client.shutdown().await;
            let ended = timeout(LIMIT, client.read_to_end(&mut received)).await;
            drop(ended.expect("the service closes the connection"));
            received
        };
        let received = service.runtime.block_on(exchange);
        let begins = received.is_empty() || received.starts_with(b"HTTP/1.");
        assert!(begins, "{:?}", String::from_utf8_lossy(&received));
    });
}
