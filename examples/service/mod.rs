//! A stitching service: stitches two uploaded pictures, and serves a running stitcher as live video.
//!
//! Pictures are decoded, stitched and encoded on tokio's blocking threads, so the tasks that serve connections never
//! block. The service is a module of the library, so that a fuzz target can send it requests without a network.
//!
//! | file | contents |
//! |---|---|
//! | `main` | the program |
//! | `still`, `refusal` | `POST /stitch` |
//! | `live` | `GET /live` and `GET /health` |
//! | `memory` | the limit on the memory of requests and responses |
//! | `connections` | accepts connections, and limits their number |
//! | `connection` | serves one connection, with time limits |
//!
//! The rig comes from the operator. A service that accepts rigs from its users must read them with
//! `Rig::parse_with(…, CalibrationFiles::Nowhere)`, because a rig can name any file as a calibration.
//!
//! The service has no TLS and no user accounts. If you need them, put a proxy in front of the service. The limits
//! protect the service itself, but they do not divide its time fairly: a client that keeps sending requests with large
//! pictures delays all others. So a proxy must also limit the rate and the number of requests of each client.

mod connection;
mod connections;
mod live;
mod memory;
mod refusal;
mod still;

use std::error::Error;
use std::io::{self, Write};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::post;
use futures_util::future::select;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::timeout;

use connections::Connections;
pub use connections::{MOST, MOST_PER_ADDRESS};
pub use live::{Live, MOST_VIEWERS};
pub use still::{MAX_MEMORY, Still};

/// The maximum time for open connections to finish after a signal. Containers are killed 10 seconds after SIGTERM.
pub const GRACE: Duration = Duration::from_secs(6);

/// The maximum time for work to finish after the connections have ended.
pub const WORK_GRACE: Duration = Duration::from_secs(2);

/// The result of starting or running the service.
pub type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Waits for Ctrl-C or SIGTERM. If a handler cannot be installed, this signal kills the service.
async fn signalled() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let terminate = async {
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => drop(terminate.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    select(pin!(interrupt), pin!(terminate)).await;
}

/// Returns the route `POST /stitch`.
pub fn stitching(still: Arc<Still>) -> Router {
    let stitch = post(still::stitch).layer(DefaultBodyLimit::max(still.max_body()));
    Router::new().route("/stitch", stitch).with_state(still)
}

/// Serves HTTP on `address` until Ctrl-C or SIGTERM. One client address may have `per_address` connections, usually
/// [`MOST_PER_ADDRESS`].
///
/// # Errors
/// Returns an error if the address cannot be used.
pub async fn serve(
    address: &str,
    still: Arc<Still>,
    live: Arc<Live>,
    per_address: usize,
) -> Result {
    let router = stitching(still).merge(live::routes().with_state(Arc::clone(&live)));
    let listener = TcpListener::bind(address).await?;
    writeln!(io::stdout(), "serving on http://{}", listener.local_addr()?)?;

    // Each connection has a receiver of `stop`.
    let (stop, stopped) = watch::channel(());
    let accept = Connections::new(per_address).accept(listener, router, stopped);
    select(pin!(accept), pin!(signalled())).await;
    // End the live streams, which would never end on their own.
    live.close();
    stop.send_replace(());
    // Wait for the connections, but not for clients that do not read.
    drop(timeout(GRACE, stop.closed()).await);
    Ok(())
}
