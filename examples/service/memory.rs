//! Limits the memory for the bytes of all requests and responses together.
//!
//! Each request and each response has a [`Share`] of the memory. When the memory runs out, the service ends the
//! transfer that has occupied the most bytes for the longest time. So a client that stops sending a request or reading
//! a response does not keep its memory. A transfer with less memory than the one that needs it, and with less than the
//! average, does not end.

use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// The age from which a transfer may be ended, so that clients that transfer without a pause can finish.
const SPARED: Duration = Duration::from_secs(1);

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
    /// The client sends the request, waits for a work slot, or reads the response.
    Transfer,
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

    /// Adds a transfer without bytes. The memory notifies `end` to end the transfer, if there is one.
    pub(crate) fn share(self: &Arc<Self>, end: Option<Arc<Notify>>) -> Arc<Share> {
        let held = Mutex::new(Held { permits: None, since: None, state: State::Transfer });
        let share = Share { memory: Arc::clone(self), held, end };
        let share = Arc::new(share);
        let mut shares = lock(&self.shares);
        shares.retain(|share| share.strong_count() > 0);
        shares.push(Arc::downgrade(&share));
        share
    }

    /// Ends the transfer that has occupied the most bytes for the longest time, unless another one is about to end. The
    /// memory is for a transfer that needs `bytes` in total.
    fn make_room(&self, bytes: usize) {
        let shares: Vec<_> = lock(&self.shares).iter().filter_map(Weak::upgrade).collect();
        if shares.iter().any(|share| lock(&share.held).state == State::Ending) {
            return;
        }
        let least = bytes.min(self.total / shares.len().max(1));
        let used = |share: &Share| {
            let held = lock(&share.held);
            let age = held.since?.elapsed();
            let may_end = held.state == State::Transfer && held.bytes() >= least && age >= SPARED;
            may_end.then(|| held.bytes() as u128 * age.as_millis())
        };
        let most =
            shares.iter().filter_map(|share| Some((used(share)?, share, share.end.as_ref()?)));
        if let Some((_, share, end)) = most.max_by_key(|(used, ..)| *used) {
            let mut held = lock(&share.held);
            if held.state == State::Transfer {
                held.state = State::Ending;
                end.notify_one();
            }
        }
    }
}

impl Share {
    /// Takes memory for `bytes`. Waits and ends other transfers if there is too little.
    pub(crate) async fn take(&self, bytes: usize) -> Result<(), OutOfMemory> {
        let whole = lock(&self.held).bytes().saturating_add(bytes);
        if whole > self.memory.total {
            return Err(OutOfMemory);
        }
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
            self.memory.make_room(whole);
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

    /// Keeps the memory until the share is dropped. Returns an error if the transfer must end.
    pub(crate) fn work(&self) -> Result<(), OutOfMemory> {
        let mut held = lock(&self.held);
        if held.state == State::Ending {
            return Err(OutOfMemory);
        }
        held.state = State::Work;
        Ok(())
    }
}
