//! The waiting threads of a block, and the barriers and warp operations that they wait for.

use std::cell::Cell;
use std::panic::Location;
use std::ptr;

use corosensei::Coroutine;

use crate::WARP_SIZE;
use crate::fault::Elsewhere;
use crate::stacks::FiberStack;

/// The two kinds of warp operation that the simulator implements; `cuda_std` builds all others from
/// them. A lane waits only for lanes that call an operation of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpOp {
    /// Each lane exchanges a 32-bit word.
    Exchange,
    /// Lanes wait for each other and order their memory accesses.
    Sync,
}

impl WarpOp {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Exchange => "exchange (shuffle, vote or reduction)",
            Self::Sync => "sync_warp",
        }
    }
}

/// The operation that a thread waits for, and its source position. [`WaitCell`] stores and loads
/// the fields one by one, because a wider load of recently stored fields would stall.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    pub(super) place: &'static Location<'static>,
    pub(super) reason: Reason,
    /// The mask of the lanes of a warp operation; 0 for a barrier.
    pub(super) mask: u32,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Reason {
    #[default]
    Barrier,
    Exchange,
    SyncWarp,
    /// The thread may continue at any time; it lets other threads run first.
    Spin,
}

impl Wait {
    /// Returns the warp operation that the thread waits for, or `None` if it waits for none.
    pub(super) fn warp_op(&self) -> Option<WarpOp> {
        match self.reason {
            Reason::Barrier | Reason::Spin => None,
            Reason::Exchange => Some(WarpOp::Exchange),
            Reason::SyncWarp => Some(WarpOp::Sync),
        }
    }

    /// Returns whether two lanes of a warp wait for each other. The lanes of an exchange must be at
    /// the same source position; those of a `sync_warp` need not be.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.reason == other.reason
            && self.mask == other.mask
            && (self.reason == Reason::SyncWarp || same_place(self.place, other.place))
    }
}

/// Returns whether two source positions are equal. Compares addresses first, because comparing the
/// file names takes longer than a fiber switch.
pub(super) fn same_place(a: &'static Location<'static>, b: &'static Location<'static>) -> bool {
    ptr::eq(a, b) || a == b
}

pub(super) type Fiber = Coroutine<(), (), (), FiberStack>;

/// A waiting thread.
pub(super) struct Slot {
    pub(super) wait: Wait,
    pub(super) fiber: Fiber,
}

/// The waiting threads of a block.
#[derive(Default)]
pub(super) struct Waiting {
    /// One slot per thread of the block; empty before the first wait.
    pub(super) slots: Vec<Option<Slot>>,
    /// The number of waiting threads.
    pub(super) count: u32,
    /// The source position of the first barrier that a thread has reached since all threads last
    /// passed one.
    pub(super) barrier: Option<&'static Location<'static>>,
    /// The number of threads that wait at `barrier`.
    pub(super) at_barrier: u32,
    /// The number of threads that let others run.
    pub(super) spinning: u32,
    /// For each warp, the lanes that wait for a warp operation.
    pub(super) warps: Vec<u32>,
}

impl Waiting {
    pub(super) fn add(&mut self, thread: u32, wait: Wait) {
        self.count += 1;
        if wait.reason == Reason::Spin {
            self.spinning += 1;
            return;
        }
        if wait.reason != Reason::Barrier {
            self.warps[(thread / WARP_SIZE) as usize] |= 1 << (thread % WARP_SIZE);
            return;
        }
        match self.barrier {
            Some(barrier) if same_place(barrier, wait.place) => self.at_barrier += 1,
            Some(_) => {}
            None => (self.barrier, self.at_barrier) = (Some(wait.place), 1),
        }
    }

    /// Returns the index and the wait of each waiting thread, in ascending order of the index.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Wait)> {
        (0..).zip(&self.slots).filter_map(|(thread, slot)| Some((thread, &slot.as_ref()?.wait)))
    }

    /// Returns the mask of the lanes of `warp` that wait for the same operation as `wait`.
    pub(super) fn meeting(&self, warp: u32, wait: &Wait) -> u32 {
        let first = (warp * WARP_SIZE) as usize;
        let slots = self.slots[first..].iter().take(WARP_SIZE as usize);
        (0..).zip(slots).fold(0, |met, (lane, slot)| {
            let meets = slot.as_ref().is_some_and(|slot| slot.wait.meets(wait));
            met | u32::from(meets) << lane
        })
    }

    /// Returns the state of the `missing` lanes of a warp: the place where the first one waits, or
    /// that none waits. A lane that the block does not have counts as returned.
    pub(super) fn elsewhere(&self, warp: u32, missing: u32) -> Elsewhere {
        let first = (warp * WARP_SIZE) as usize;
        let lanes = (0..WARP_SIZE).zip(self.slots[first..].iter());
        let waits = lanes
            .filter(|(lane, _)| missing & 1 << lane != 0)
            .find_map(|(_, slot)| Some(slot.as_ref()?.wait.place));
        waits.map_or(Elsewhere::Returned(missing.count_ones()), Elsewhere::Waiting)
    }

    /// Returns the rank of the first thread that does not wait, because it has returned.
    pub(super) fn first_returned(&self) -> Option<u32> {
        self.slots.iter().position(Option::is_none).map(|thread| thread as u32)
    }

    /// Returns a warp operation whose lanes have all arrived, and the mask of these lanes.
    pub(super) fn met(&self, warp: u32) -> Option<(WarpOp, u32)> {
        let mut lanes = self.warps[warp as usize];
        let present = lanes;
        while lanes != 0 {
            let slot = &self.slots[(warp * WARP_SIZE + lanes.trailing_zeros()) as usize];
            lanes &= lanes - 1;
            let Some(Slot { wait, .. }) = slot else { continue };
            let (Some(op), mask) = (wait.warp_op(), wait.mask) else { continue };
            if present & mask == mask && self.meeting(warp, wait) & mask == mask {
                return Some((op, mask));
            }
        }
        None
    }
}

/// The latest wait of the running fiber, one cell per field.
pub(super) struct WaitCell {
    pub(super) place: Cell<&'static Location<'static>>,
    pub(super) reason: Cell<Reason>,
    pub(super) mask: Cell<u32>,
}

impl WaitCell {
    #[track_caller]
    pub(super) fn new() -> Self {
        let (place, reason) = (Location::caller(), Reason::Barrier);
        Self { place: Cell::new(place), reason: Cell::new(reason), mask: Cell::new(0) }
    }

    #[inline]
    pub(super) fn set(&self, wait: Wait) {
        self.place.set(wait.place);
        self.reason.set(wait.reason);
        self.mask.set(wait.mask);
    }

    #[inline]
    pub(super) fn get(&self) -> Wait {
        Wait { place: self.place.get(), reason: self.reason.get(), mask: self.mask.get() }
    }
}
