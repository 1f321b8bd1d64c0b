//! Counts live driver objects, so that a test or a service can detect leaks.
//!
//! The counts are process-wide. Every type of [`typed`](crate::typed) that owns a driver object
//! holds a [`Token`]. Creating the token increases a count, and dropping it decreases the count.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// The resources that are counted: bytes of memory, and driver objects by type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    DeviceBytes,
    PinnedBytes,
    Streams,
    Events,
    Modules,
    Textures,
    Arrays,
}

const KINDS: usize = 7;

static LIVE: [AtomicI64; KINDS] = [const { AtomicI64::new(0) }; KINDS];

/// The amounts of memory and the numbers of driver objects that currently exist on all GPUs of the
/// process. Of the CPU device, only device memory is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Counters {
    /// The number of allocated bytes of device memory.
    pub device_bytes: i64,
    /// The number of allocated bytes of page-locked host memory.
    pub pinned_bytes: i64,
    /// The number of streams.
    pub streams: i64,
    /// The number of events.
    pub events: i64,
    /// The number of loaded PTX modules.
    pub modules: i64,
    /// The number of texture objects.
    pub textures: i64,
    /// The number of CUDA arrays.
    pub arrays: i64,
}

impl Counters {
    /// Returns the current counts.
    #[must_use]
    pub fn now() -> Self {
        let live = |kind: Kind| LIVE[kind as usize].load(Relaxed);
        Self {
            device_bytes: live(Kind::DeviceBytes),
            pinned_bytes: live(Kind::PinnedBytes),
            streams: live(Kind::Streams),
            events: live(Kind::Events),
            modules: live(Kind::Modules),
            textures: live(Kind::Textures),
            arrays: live(Kind::Arrays),
        }
    }
}

/// The amount that one driver object adds to a count. Dropping the token subtracts the amount
/// again.
#[derive(Debug)]
pub(crate) struct Token {
    kind: Kind,
    amount: i64,
}

impl Token {
    pub(crate) fn new(kind: Kind, amount: usize) -> Self {
        let amount = amount as i64;
        LIVE[kind as usize].fetch_add(amount, Relaxed);
        Self { kind, amount }
    }
}

impl Token {
    /// Keeps the object in the count even after the token is dropped. This is called if the driver
    /// failed to release the object, which is then leaked.
    pub(crate) fn keep(&mut self) {
        self.amount = 0;
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        LIVE[self.kind as usize].fetch_sub(self.amount, Relaxed);
    }
}
