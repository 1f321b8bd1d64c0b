//! Accepts connections, up to [`MOST`] in total and up to a limit for each client address. If there is no room for a
//! new connection, closes the one that has been idle for the longest time. A connection is idle while it has neither a
//! complete request head nor a response in progress. So clients that open connections and send nothing do not keep
//! others out, and they do not end the requests of others.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::Router;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::sleep;

use super::connection::{Activity, Client, serve};

/// Maximum number of open connections. Processes usually have at least 1,024 descriptors.
pub const MOST: usize = 512;

/// Maximum number of open connections of one client address, unless the operator sets another one. Several addresses
/// can be served at once, and a browser opens at most 6 connections.
pub const MOST_PER_ADDRESS: usize = MOST / 4;

/// The time after which an idle connection may be closed for a connection from another address. A client sends its
/// request within this time.
const SPARED: Duration = Duration::from_secs(1);

/// The time to wait before the service looks for an idle connection again.
const PAUSE: Duration = Duration::from_millis(20);

/// The open connections.
pub(crate) struct Connections {
    per_address: usize,
    open: Vec<(IpAddr, Weak<Activity>)>,
}

/// Returns the address that identifies a client. An IPv6 client usually owns a whole /64 network.
fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

impl Connections {
    pub(crate) fn new(per_address: usize) -> Self {
        Self { per_address, open: Vec::new() }
    }

    /// Accepts and serves connections. Never returns.
    pub(crate) async fn accept(
        mut self,
        listener: TcpListener,
        router: Router,
        stopped: watch::Receiver<()>,
    ) {
        let router = TowerToHyperService::new(router);
        loop {
            match listener.accept().await {
                Ok((stream, address)) => {
                    let client = client(address.ip());
                    if let Some(activity) = self.admit(client).await {
                        let (router, stopped) = (router.clone(), stopped.clone());
                        tokio::spawn(serve(stream, Client(client), activity, router, stopped));
                    }
                }
                // The process has no more descriptors, or the client has closed the connection already.
                Err(_) => {
                    self.close_idle(SPARED, |_| true);
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Waits for room for a connection from `client`. Returns `None` if the client has too many connections in use.
    async fn admit(&mut self, client: IpAddr) -> Option<Arc<Activity>> {
        let is_same = |address: &IpAddr| *address == client;
        self.open.retain(|(_, activity)| activity.strong_count() > 0);
        let same = self.open.iter().filter(|(address, _)| is_same(address)).count();
        if same >= self.per_address && !self.close_idle(Duration::ZERO, is_same) {
            return None;
        }
        while self.open.len() >= MOST && !self.close_idle(SPARED, |_| true) {
            sleep(PAUSE).await;
            self.open.retain(|(_, activity)| activity.strong_count() > 0);
        }
        let activity = Activity::new();
        self.open.push((client, Arc::downgrade(&activity)));
        Some(activity)
    }

    /// Closes the connection that has been idle for the longest time, and at least for `least`, among those of the
    /// clients `which`. Returns whether there was one.
    fn close_idle(&mut self, least: Duration, which: impl Fn(&IpAddr) -> bool) -> bool {
        loop {
            let of_clients =
                self.open.iter().enumerate().filter(|(_, (address, _))| which(address));
            let idle = of_clients.filter_map(|(index, (_, activity))| {
                let since = activity.upgrade()?.idle_since()?;
                (since.elapsed() >= least).then_some((since, index))
            });
            let Some((_, index)) = idle.min() else { return false };
            // A request may have begun on it meanwhile.
            let activity = self.open[index].1.upgrade();
            if activity.is_none_or(|activity| activity.close()) {
                self.open.swap_remove(index);
                return true;
            }
        }
    }
}
