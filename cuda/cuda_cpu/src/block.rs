//! One block: the fibers that carry its threads, and what a thread can ask of it.
//!
//! [`run`] starts fibers until every thread of the block has begun. A fiber takes threads one after
//! the other; a thread that must wait suspends its fiber, which is put aside with the reason. Once
//! all threads have begun, warps whose lanes have all met are released first, then the barrier when
//! the whole block stands at it. If neither can happen the block is stuck: that is divergence, and
//! the fault says who waits where.
//!
//! The current block is found through a thread-local pointer, set only while `run` is on the stack.
//! Cost: a thread without barriers pays one closure call; a barrier costs a fiber switch a thread.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, Location};
use std::ptr;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::fault::{Elsewhere, Fault, FaultKind, ThreadId};
use crate::shared::{Access, SharedMemory};
use crate::stacks::Stacks;
use crate::{AccessKind, Launch, SharedRegion, WARP_SIZE, WarpOp};

/// Name of the dynamic shared region in reports.
const DYNAMIC: &str = "dynamic shared memory";

/// Why a thread waits.
#[derive(Clone, Copy)]
struct Wait {
    place: &'static Location<'static>,
    reason: Reason,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    Barrier,
    Warp { op: WarpOp, mask: u32 },
}

impl Wait {
    /// Whether two lanes of a warp wait for each other. An exchange is one instruction that all its
    /// lanes execute; a `sync_warp` may be met by another.
    fn meets(&self, other: &Self) -> bool {
        let anywhere = matches!(self.reason, Reason::Warp { op: WarpOp::Sync, .. });
        self.reason == other.reason && (anywhere || self.place == other.place)
    }
}

type Fiber = Coroutine<(), Wait, (), DefaultStack>;

struct Waiting {
    thread: u32,
    wait: Wait,
    fiber: Fiber,
}

struct Block<'a> {
    launch: &'a Launch<'a>,
    index: [u32; 3],
    threads: u32,
    /// The next thread to begin.
    next: Cell<u32>,
    /// The thread that runs now.
    rank: Cell<u32>,
    thread: Cell<[u32; 3]>,
    yielder: Cell<*const Yielder<(), Wait>>,
    /// Barriers passed.
    block_epoch: Cell<u32>,
    /// Masks of the `sync_warp`s passed since the last barrier, by warp.
    warp_syncs: RefCell<Vec<Vec<u32>>>,
    shared: RefCell<SharedMemory>,
    stacks: RefCell<Stacks>,
    /// What each thread brings to a warp exchange, and what it takes away.
    offered: RefCell<Vec<u32>>,
    taken: RefCell<Vec<[u32; WARP_SIZE as usize]>>,
}

thread_local! {
    static CURRENT: Cell<*const Block<'static>> = const { Cell::new(ptr::null()) };
}

/// Restores the previous block when a block ends, however it ends.
struct Enter(*const Block<'static>);

impl Drop for Enter {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Runs all threads of one block.
pub(crate) fn run(
    launch: &Launch<'_>,
    index: [u32; 3],
    thread: &(impl Fn() + Sync),
) -> Result<(), Fault> {
    let threads = launch.block.iter().product();
    let block = Block {
        launch,
        index,
        threads,
        next: Cell::new(0),
        rank: Cell::new(0),
        thread: Cell::new([0; 3]),
        yielder: Cell::new(ptr::null()),
        block_epoch: Cell::new(0),
        warp_syncs: RefCell::default(),
        shared: RefCell::default(),
        stacks: RefCell::new(Stacks::new(threads)),
        offered: RefCell::default(),
        taken: RefCell::default(),
    };
    let _enter = Enter(CURRENT.replace(ptr::from_ref(&block).cast()));
    let mut waiting = Vec::new();
    while block.next.get() < threads {
        let fiber = block.fiber(thread)?;
        block.resume(fiber, &mut waiting)?;
    }
    while !waiting.is_empty() {
        let ready = block.release(&mut waiting)?;
        for Waiting { thread, fiber, .. } in ready {
            block.select(thread);
            block.resume(fiber, &mut waiting)?;
        }
    }
    Ok(())
}

impl Block<'_> {
    /// A fiber that runs threads from `next` on until one waits or none is left.
    fn fiber(&self, thread: &(impl Fn() + Sync)) -> Result<Fiber, Fault> {
        let stack = self.stacks.borrow_mut().take().map_err(|e| {
            self.fault(FaultKind::Panic(format!("no memory for a fiber's stack: {e}")))
        })?;
        let body = move |yielder: &Yielder<(), Wait>, ()| {
            while self.next.get() < self.threads {
                self.select(self.next.replace(self.next.get() + 1));
                self.yielder.set(yielder);
                thread();
            }
        };
        // SAFETY: the fiber borrows `self` and `thread`. It is resumed and dropped only by `run`,
        // whose frame outlives it and holds both.
        Ok(unsafe { Fiber::with_stack_unchecked(stack, body) })
    }

    /// Continues a fiber until it waits again or is done.
    fn resume(&self, mut fiber: Fiber, waiting: &mut Vec<Waiting>) -> Result<(), Fault> {
        match panic::catch_unwind(AssertUnwindSafe(|| fiber.resume(()))) {
            Ok(CoroutineResult::Yield(wait)) => {
                waiting.push(Waiting { thread: self.rank.get(), wait, fiber });
                Ok(())
            }
            Ok(CoroutineResult::Return(())) => {
                self.stacks.borrow_mut().give(fiber.into_stack());
                Ok(())
            }
            Err(payload) => Err(self.caught(payload)),
        }
    }

    /// Takes out of `waiting` those that may go on: a warp that has met, else the whole block.
    fn release(&self, waiting: &mut Vec<Waiting>) -> Result<Vec<Waiting>, Fault> {
        waiting.sort_unstable_by_key(|w| w.thread);
        let mut stuck = None;
        for at in 0..waiting.len() {
            let Waiting { thread, wait, .. } = &waiting[at];
            let Reason::Warp { op, mask } = wait.reason else {
                continue;
            };
            let warp = thread / WARP_SIZE;
            let met = waiting
                .iter()
                .filter(|w| w.thread / WARP_SIZE == warp && w.wait.meets(wait))
                .fold(0, |met, w| met | 1 << (w.thread % WARP_SIZE));
            if met & mask == mask {
                self.exchange(warp, op, mask);
                let wait = *wait;
                return Ok(extract(waiting, |w| {
                    w.thread / WARP_SIZE == warp
                        && w.wait.meets(&wait)
                        && mask & 1 << (w.thread % WARP_SIZE) != 0
                }));
            }
            stuck = stuck.or(Some((at, op, mask, mask & !met)));
        }
        if let Some((at, op, mask, missing)) = stuck {
            let Waiting { thread, wait, .. } = &waiting[at];
            let kind =
                FaultKind::WarpDivergence { op: op.name(), place: wait.place, mask, missing };
            self.select(*thread);
            return Err(self.fault(kind));
        }
        let barrier = waiting[0].wait.place;
        let together = waiting.iter().filter(|w| w.wait.place == barrier).count() as u32;
        if together == self.threads {
            self.block_epoch.set(self.block_epoch.get() + 1);
            self.warp_syncs.borrow_mut().clear();
            return Ok(std::mem::take(waiting));
        }
        let others = waiting
            .iter()
            .find(|w| w.wait.place != barrier)
            .map_or(Elsewhere::Returned(self.threads - waiting.len() as u32), |w| {
                Elsewhere::Waiting(w.wait.place)
            });
        self.select(waiting[0].thread);
        Err(self.fault(FaultKind::BarrierDivergence {
            waiting: together,
            threads: self.threads,
            barrier,
            others,
        }))
    }

    /// Completes a warp operation for the lanes of `mask`.
    fn exchange(&self, warp: u32, op: WarpOp, mask: u32) {
        let first = (warp * WARP_SIZE) as usize;
        match op {
            WarpOp::Sync => {
                let mut syncs = self.warp_syncs.borrow_mut();
                syncs.resize(self.threads.div_ceil(WARP_SIZE) as usize, Vec::new());
                syncs[warp as usize].push(mask);
            }
            WarpOp::Exchange => {
                let offered = self.offered.borrow();
                let mut taken = self.taken.borrow_mut();
                taken.resize(self.threads as usize, [0; WARP_SIZE as usize]);
                let end = offered.len().min(first + WARP_SIZE as usize);
                let mut lanes = [0; WARP_SIZE as usize];
                lanes[..end - first].copy_from_slice(&offered[first..end]);
                for lane in (0..WARP_SIZE).filter(|lane| mask & 1 << lane != 0) {
                    taken[first + lane as usize] = lanes;
                }
            }
        }
    }

    /// Makes `rank` the thread that runs.
    fn select(&self, rank: u32) {
        let [x, y, _] = self.launch.block;
        self.rank.set(rank);
        self.thread.set([rank % x, rank / x % y, rank / (x * y)]);
    }

    /// Suspends the running thread.
    fn wait(&self, wait: Wait) {
        let yielder = self.yielder.get();
        // SAFETY: every thread runs on a fiber, whose yielder was set when the thread began or was
        // set again below; it lives on that fiber's stack, which is in use right now.
        unsafe { &*yielder }.suspend(wait);
        self.yielder.set(yielder);
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        let at = ThreadId { block: self.index, thread: self.thread.get() };
        Fault { kernel: self.launch.kernel, at, kind }
    }

    /// Turns what a thread unwound with into a fault.
    fn caught(&self, payload: Box<dyn Any + Send>) -> Fault {
        match payload.downcast::<FaultKind>() {
            Ok(kind) => self.fault(*kind),
            Err(payload) => {
                let text = payload
                    .downcast_ref::<&str>()
                    .map(ToString::to_string)
                    .or_else(|| payload.downcast_ref::<String>().cloned());
                self.fault(FaultKind::Panic(text.unwrap_or_else(|| "unknown".into())))
            }
        }
    }
}

/// Removes and returns the elements for which `take` holds, in order.
fn extract(from: &mut Vec<Waiting>, take: impl Fn(&Waiting) -> bool) -> Vec<Waiting> {
    let (taken, left) = std::mem::take(from).into_iter().partition(take);
    *from = left;
    taken
}

/// The block that this OS thread runs.
#[inline]
fn current<'a>() -> &'a Block<'a> {
    let block = CURRENT.get();
    assert!(!block.is_null(), "a function of the GPU was called outside of a kernel launch");
    // SAFETY: not null, so `run` is below us on the stack and holds the block; the reference does
    // not leave the functions of this module.
    unsafe { &*block }
}

/// Index of the running thread in its block.
#[inline]
#[must_use]
pub fn thread_idx() -> [u32; 3] {
    current().thread.get()
}

/// Linear index of the running thread in its block, x fastest; its warp is `rank / 32`.
#[inline]
#[must_use]
pub fn thread_rank() -> u32 {
    current().rank.get()
}

/// Index of the running block in its grid.
#[inline]
#[must_use]
pub fn block_idx() -> [u32; 3] {
    current().index
}

/// Threads of a block.
#[inline]
#[must_use]
pub fn block_dim() -> [u32; 3] {
    current().launch.block
}

/// Blocks of the grid.
#[inline]
#[must_use]
pub fn grid_dim() -> [u32; 3] {
    current().launch.grid
}

/// Waits until every thread of the block is at this barrier.
#[track_caller]
pub fn sync_threads() {
    current().wait(Wait { place: Location::caller(), reason: Reason::Barrier });
}

/// Meets the lanes of `mask` in `op` at `place`; returns what each lane of the warp offered. Lanes
/// outside of `mask` hold whatever they offered last.
pub fn warp_exchange(
    op: WarpOp,
    mask: u32,
    value: u32,
    place: &'static Location<'static>,
) -> [u32; WARP_SIZE as usize] {
    let block = current();
    let rank = block.rank.get();
    if mask & 1 << (rank % WARP_SIZE) == 0 {
        let missing = 1 << (rank % WARP_SIZE);
        fail(FaultKind::WarpDivergence { op: op.name(), place, mask, missing });
    }
    {
        let mut offered = block.offered.borrow_mut();
        offered.resize(block.threads as usize, 0);
        offered[rank as usize] = value;
    }
    block.wait(Wait { place, reason: Reason::Warp { op, mask } });
    block.taken.borrow().get(rank as usize).copied().unwrap_or_default()
}

/// The block's static shared array declared at `name`, `bytes` long.
#[must_use]
pub fn shared_static(name: &'static str, bytes: usize) -> SharedRegion {
    current().shared.borrow_mut().region(name, bytes)
}

/// The block's dynamic shared memory.
#[must_use]
pub fn shared_dynamic() -> SharedRegion {
    let block = current();
    block.shared.borrow_mut().region(DYNAMIC, block.launch.dynamic_shared)
}

/// Tells the race detector of an access to `size` bytes of `region` at `offset`, which lie inside.
#[inline]
pub fn shared_access(region: &SharedRegion, offset: usize, size: usize, kind: AccessKind) {
    let block = current();
    if !block.launch.check_races {
        return;
    }
    let thread = block.rank.get();
    let warp_syncs = block.warp_syncs.borrow();
    let syncs = warp_syncs.get((thread / WARP_SIZE) as usize);
    let syncs = syncs.map_or(&[][..], Vec::as_slice);
    let access = Access {
        thread,
        block_epoch: block.block_epoch.get(),
        warp_epoch: syncs.len() as u32,
        kind,
    };
    let race = block.shared.borrow_mut().note(region.id, offset, size, access, syncs);
    if let Some((offset, other, array)) = race {
        fail(FaultKind::SharedRace {
            access: kind,
            other_access: other.kind,
            other: other.thread,
            offset,
            array,
        });
    }
}

/// Calls `read` with the words of a constant, or `None` where the host never set it.
#[inline]
pub fn with_constant<R>(symbol: &str, read: impl FnOnce(Option<&[u128]>) -> R) -> R {
    read(current().launch.constants.get(symbol))
}

/// Ends the launch with a fault at the running thread.
#[cold]
pub fn fail(kind: FaultKind) -> ! {
    // Not a panic: the hook must stay silent, since the fault is returned as a value.
    panic::resume_unwind(Box::new(kind))
}
