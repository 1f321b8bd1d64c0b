//! Limits the memory for the bytes of all requests and responses together.
//!
//! Each request and each response has a [`Share`] of the memory. When the memory runs out, the service ends another
//! transfer, so that clients that stop sending a request or reading a response do not keep their memory:
//!
//! - A transfer that has had memory for [`OLD`] may end, unless it is a complete request that waits for a work slot.
//! - After [`SPARED`], every transfer may end for one of another client address if its own address has at least as many
//!   bytes, and for one of its own address if it has as many bytes as that one needs, or as many as the average.
//! - Of these transfers, the service ends one of the client address that has the most bytes: the one that has occupied
//!   the most bytes for the longest time.

use std::collections::BTreeMap;
use std::future::pending;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::connection::Client;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// The age from which a transfer may be ended, so that clients that transfer without a pause can finish.
const SPARED: Duration = Duration::from_secs(1);

/// The age from which a transfer may be ended although it is small.
const OLD: Duration = Duration::from_secs(10);

/// The time to wait for the memory of one transfer before another transfer is ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Maximum number of pauses before a transfer fails: 5 seconds.
const PAUSES: u32 = 250;

/// There is too little memory.
pub(crate) struct OutOfMemory;

/// The memory for all requests and responses.
pub(crate) struct Memory {
    /// The number of bytes for all transfers together.
    pub(crate) total: usize,
    free: Arc<Semaphore>,
    shares: Mutex<Vec<Weak<Share>>>,
}

/// The memory of one request or response. Dropping it returns the memory.
pub(crate) struct Share {
    memory: Arc<Memory>,
    client: Client,
    held: Mutex<Held>,
    /// Ends the transfer. `None` if nothing can end it.
    end: Option<Arc<Notify>>,
}

struct Held {
    permits: Option<OwnedSemaphorePermit>,
    /// The time of the first permit.
    since: Option<Instant>,
    state: State,
}

impl Held {
    fn bytes(&self) -> usize {
        self.permits.as_ref().map_or(0, OwnedSemaphorePermit::num_permits)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// The client sends the request or reads the response.
    Transfer,
    /// The request is complete and waits for a work slot.
    Queue,
    /// The service uses the bytes. It cannot stop before it is done.
    Work,
    /// The service ends the transfer.
    Ending,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    pub(crate) fn new(bytes: usize) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(bytes));
        Arc::new(Self { total: bytes, free, shares: Mutex::default() })
    }

    /// Adds a transfer of `client` without bytes. The memory notifies `end` to end the transfer, if there is one.
    pub(crate) fn share(self: &Arc<Self>, client: Client, end: Option<Arc<Notify>>) -> Arc<Share> {
        let held = Mutex::new(Held { permits: None, since: None, state: State::Transfer });
        let share = Share { memory: Arc::clone(self), client, held, end };
        let share = Arc::new(share);
        let mut shares = lock(&self.shares);
        shares.retain(|share| share.strong_count() > 0);
        shares.push(Arc::downgrade(&share));
        share
    }

    /// Ends a transfer as the module describes, unless another one is about to end. The memory is for the transfer
    /// `asks`, which needs `bytes` in total.
    fn make_room(&self, asks: &Share, bytes: usize) {
        let shares: Vec<_> = lock(&self.shares).iter().filter_map(Weak::upgrade).collect();
        if shares.iter().any(|share| lock(&share.held).state == State::Ending) {
            return;
        }
        let mut clients = BTreeMap::new();
        for share in &shares {
            *clients.entry(share.client).or_insert(0) += lock(&share.held).bytes();
        }
        let least = bytes.min(self.total / shares.len().max(1));
        let used = |share: &Share| {
            let held = lock(&share.held);
            let age = held.since?.elapsed();
            let is_large = match share.client == asks.client {
                true => held.bytes() >= least,
                // The asker's client must not have more than the client that makes room.
                false => clients[&share.client] >= clients[&asks.client],
            };
            let may_end = match held.state {
                State::Transfer => is_large || age >= OLD,
                State::Queue => is_large,
                State::Work | State::Ending => false,
            };
            let may_end = may_end && age >= SPARED;
            may_end.then(|| (clients[&share.client], held.bytes() as u128 * age.as_millis()))
        };
        let others = shares.iter().filter(|share| !ptr::eq(&***share, asks));
        let most = others.filter_map(|share| Some((used(share)?, share, share.end.as_ref()?)));
        if let Some((_, share, end)) = most.max_by_key(|(used, ..)| *used) {
            let mut held = lock(&share.held);
            if matches!(held.state, State::Transfer | State::Queue) {
                held.state = State::Ending;
                end.notify_one();
            }
        }
    }
}

impl Share {
    /// Returns whether the transfer would have more memory than there is for all transfers if it took `bytes`.
    pub(crate) fn exceeds(&self, bytes: usize) -> bool {
        lock(&self.held).bytes().saturating_add(bytes) > self.memory.total
    }

    /// Takes memory for `bytes`. Waits and ends other transfers if there is too little.
    pub(crate) async fn take(&self, bytes: usize) -> Result<(), OutOfMemory> {
        if self.exceeds(bytes) {
            return Err(OutOfMemory);
        }
        let whole = lock(&self.held).bytes() + bytes;
        let bytes = u32::try_from(bytes).map_err(|_| OutOfMemory)?;
        // One future for all pauses keeps its place among the transfers that wait.
        let mut taken = Box::pin(Arc::clone(&self.memory.free).acquire_many_owned(bytes));
        for _ in 0..PAUSES {
            if let Ok(permits) = timeout(PAUSE, taken.as_mut()).await {
                let permits = permits.map_err(|_| OutOfMemory)?;
                let mut held = lock(&self.held);
                held.since.get_or_insert_with(Instant::now);
                match &mut held.permits {
                    Some(held) => held.merge(permits),
                    none => *none = Some(permits),
                }
                return Ok(());
            }
            self.memory.make_room(self, whole);
        }
        Err(OutOfMemory)
    }

    /// Ends the transfer.
    pub(crate) fn end(&self) {
        lock(&self.held).state = State::Ending;
        self.end.iter().for_each(|end| end.notify_one());
    }

    /// Waits until the transfer must end.
    pub(crate) async fn ended(&self) {
        match &self.end {
            Some(end) => end.notified().await,
            None => pending().await,
        }
    }

    /// Marks the request as complete. Returns an error if the transfer must end.
    pub(crate) fn queue(&self) -> Result<(), OutOfMemory> {
        self.set(State::Queue)
    }

    /// Keeps the memory until the share is dropped. Returns an error if the transfer must end.
    pub(crate) fn work(&self) -> Result<(), OutOfMemory> {
        self.set(State::Work)
    }

    fn set(&self, state: State) -> Result<(), OutOfMemory> {
        let mut held = lock(&self.held);
        if held.state == State::Ending {
            return Err(OutOfMemory);
        }
        held.state = state;
        Ok(())
    }
}
