//! One block: its threads run on fibers and switch at barriers and warp operations.
//!
//! [`run`] starts fibers until every thread of the block has begun. A fiber runs threads one after
//! the other. A thread that must wait suspends its fiber, which is stored in the thread's slot.
//! Once all threads have begun, the block alternates between two steps: it completes every warp
//! operation whose lanes have all arrived, and it opens the barrier when all threads have reached
//! it. If neither is possible, the block has diverged, and the fault names a waiting thread and its
//! position.
//!
//! A fault always ends the block: [`fail`] records it before it unwinds the thread, so a kernel
//! cannot catch it and continue. The waiting threads are resumed one by one and unwind, too, which
//! drops their values. After a fault, no thread waits any longer: a barrier or warp operation
//! unwinds its thread again. In a destructor that runs during unwinding, the operation returns at
//! once instead, because the destructor must not unwind.
//!
//! A thread-local pointer refers to the current block. It is null unless `run` is on the stack. A
//! thread that never waits costs one closure call. A barrier costs one fiber switch per thread.

mod calls;
mod checked;
mod copy;
mod current;
mod divergence;
mod failure;
mod pace;
mod profiled;
mod spin;
mod waiting;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::atomic::Ordering::Relaxed;
use std::{iter, mem, ptr, thread};

use corosensei::trap::CoroutineTrapHandler;
use corosensei::{CoroutineResult, Yielder};

pub use calls::{
    atomic_access, block_dim, block_idx, fence, global_access, grid_dim, is_shared, shared_access,
    shared_bytes, shared_dynamic, shared_static, shared_untracked, sync_threads,
    sync_threads_count, thread_idx, thread_rank, warp_exchange, with_constant,
};
pub use copy::{commit_copies, start_copy, wait_for_copies};
pub(crate) use current::is_running;
pub use current::launch_id;
pub use failure::fail;
pub(crate) use failure::{
    abort_on_stop, install_panic_hook, is_uninterrupted, overflowing, running, stop,
};
pub use spin::{pause, spin};
pub use waiting::WarpOp;

use crate::backtrace::StackTrace;
use crate::clock::Clock;
use crate::fault::{Fault, FaultKind};
use crate::grid::Grid;
use crate::order::Order;
use crate::profile::Trace;
use crate::shared::SharedMemory;
use crate::stacks::Stacks;
use crate::{Body, Launch, WARP_SIZE};
use copy::InFlight;
use current::{Enter, pointer};
use pace::Pace;
use spin::Spinning;
use waiting::{Fiber, Reason, Slot, Wait, WaitCell, Waiting};

/// The reason why a thread was stopped at an arbitrary instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The thread accessed its stack's guard page.
    Overflow,
    /// The thread accessed this address, which does not exist. `None` if the system does not tell.
    InvalidAddress(Option<usize>),
    /// The thread ran longer than the limit.
    Endless,
}

/// The reason why a fiber returned control to the scheduler.
enum Returned {
    /// The running thread waits for the operation in [`Block::waits_for`].
    Waits,
    /// The fiber has finished: all threads have begun, or the block has failed.
    Done,
    /// The thread was stopped at an arbitrary instruction. The fiber must never be resumed or
    /// dropped.
    Stopped,
}

pub(crate) struct Block<'a> {
    grid: &'a Grid<'a>,
    /// Starts another block on another OS thread, if one has not begun and all running blocks are
    /// stuck.
    start_another: &'a dyn Fn(),
    launch: &'a Launch<'a>,
    /// The block that this OS thread was running when this block started, or null.
    outer: *const Block<'static>,
    /// The serial number of the block, unique on this OS thread.
    serial: u64,
    index: [u32; 3],
    /// The linear index of the block in its grid.
    linear: u64,
    threads: u32,
    /// The order in which the threads start and continue.
    order: Order,
    /// The number of threads that have started.
    next: Cell<u32>,
    /// The linear index of the running thread.
    rank: Cell<u32>,
    /// The index of the running thread in x, y, z.
    thread: Cell<[u32; 3]>,
    /// The stack of the running fiber, or `None` while no fiber runs.
    stack: Cell<Option<CoroutineTrapHandler<()>>>,
    /// The handle with which the running fiber suspends itself.
    yielder: Cell<*const Yielder<(), ()>>,
    waits_for: WaitCell,
    stopped: Cell<Option<(Stop, StackTrace)>>,
    /// Whether the watchdog must not stop the running thread now.
    is_uninterrupted: Cell<bool>,
    /// The position of the running thread's last checked access or wait.
    last: Cell<Option<&'static Location<'static>>>,
    /// The number of atomics that the running thread has executed without waiting. A load counts
    /// as [`SPIN_LOAD`].
    spins: Cell<u32>,
    /// The first fault. `fault` and `panic` are not `RefCell`s, because a stop may interrupt code
    /// that has borrowed one.
    fault: Cell<Option<Fault>>,
    has_failed: Cell<bool>,
    /// Whether the block ends without a fault of its own, because another block has failed.
    is_cancelled: Cell<bool>,
    /// The latest panic: its thread, message and position.
    panic: Cell<Option<(u32, [String; 2])>>,
    /// The number of barriers and warp operations so far.
    pace: Pace,
    /// The number of completed barriers, and of atomics that ordered threads of the block.
    block_epoch: Cell<u32>,
    /// The number of threads that have reached the next barrier with a true predicate.
    votes: Cell<u32>,
    /// The number of threads that reached the last completed barrier with a true predicate.
    counted: Cell<u32>,
    /// For each warp, the masks of its `sync_warp`s since the last barrier.
    warp_syncs: RefCell<Vec<Vec<u32>>>,
    shared: RefCell<SharedMemory>,
    /// The asynchronous copies of each thread.
    copies: RefCell<Vec<InFlight>>,
    /// The accesses of the threads, if the launch is profiled.
    trace: Option<RefCell<Trace>>,
    /// Whether accesses to shared memory are checked or profiled.
    watches_shared: bool,
    /// The accesses of other blocks that happened before this block's next access.
    clock: RefCell<Clock>,
    /// Whether a thread of the block has executed a fence.
    has_fenced: Cell<bool>,
    /// The thread that last published its accesses by an atomic at an address.
    released: RefCell<HashMap<usize, u32>>,
    stacks: RefCell<Stacks>,
    /// The value that each thread offers to a warp exchange.
    offered: RefCell<Vec<u32>>,
    /// The values of the last warp exchange. All its lanes read them before the next exchange.
    taken: Cell<[u32; WARP_SIZE as usize]>,
}

/// The threads of a block that a kernel runs on one fiber, one after the other.
///
/// A kernel for [`launch_stoppable`](crate::launch_stoppable) calls [`next`](Self::next) before each
/// thread. So it can read its arguments once for all threads of a fiber.
pub struct Threads<'a> {
    block: &'a Block<'a>,
    has_begun: bool,
}

impl Threads<'_> {
    /// Selects the next thread of the block: until the next call, the kernel runs for that thread.
    /// Returns false if no thread is left.
    #[expect(clippy::should_implement_trait, reason = "the thread is not a value")]
    #[inline]
    pub fn next(&mut self) -> bool {
        let block = self.block;
        if let Some(trace) = block.trace.as_ref().filter(|_| self.has_begun) {
            trace.borrow_mut().finish(block.rank.get());
        }
        self.has_begun = true;
        if block.next.get() >= block.threads || block.has_failed.get() {
            return false;
        }
        let next = block.next.replace(block.next.get() + 1);
        block.select(block.order.at(next.into()) as u32);
        block.spins.set(0);
        true
    }

    /// Calls `thread` for each thread.
    #[inline]
    pub fn each(&mut self, thread: impl Fn()) {
        while self.next() {
            thread();
        }
    }
}

thread_local! {
    /// The number of blocks that this OS thread has started.
    static BLOCKS: Cell<u64> = const { Cell::new(0) };
}

/// Runs all threads of one block.
pub(crate) fn run(
    grid: &Grid<'_>,
    linear: u64,
    start_another: &dyn Fn(),
    body: &Body<'_>,
) -> Result<(), Fault> {
    crate::signals::prepare();
    let _limit = crate::watchdog::Limit::new(grid.launch.checks.limit);
    let block = Block::new(grid, linear, start_another);
    let _enter = Enter::new(&block);
    let mut waiting = Waiting::default();
    while block.next.get() < block.threads && !block.has_failed.get() {
        match block.fiber(body) {
            Ok(fiber) => block.start(fiber, &mut waiting),
            Err(error) => block.record(FaultKind::NoStack { error: error.to_string() }),
        }
    }
    block.finish(waiting)
}

impl<'a> Block<'a> {
    fn new(grid: &'a Grid<'a>, linear: u64, start_another: &'a dyn Fn()) -> Self {
        let launch = grid.launch;
        let threads = launch.block.iter().product();
        BLOCKS.set(BLOCKS.get() + 1);
        Self {
            grid,
            start_another,
            launch,
            outer: pointer(),
            serial: BLOCKS.get(),
            index: launch.block_index(linear),
            linear,
            threads,
            order: Order::new(launch.checks.order, linear + 1, threads.into()),
            next: Cell::new(0),
            rank: Cell::new(0),
            thread: Cell::new([0; 3]),
            stack: Cell::new(None),
            yielder: Cell::new(ptr::null()),
            waits_for: WaitCell::new(),
            stopped: Cell::default(),
            is_uninterrupted: Cell::new(false),
            last: Cell::default(),
            spins: Cell::new(0),
            fault: Cell::default(),
            has_failed: Cell::new(false),
            is_cancelled: Cell::new(false),
            panic: Cell::default(),
            pace: Pace::default(),
            block_epoch: Cell::new(0),
            votes: Cell::new(0),
            counted: Cell::new(0),
            warp_syncs: RefCell::default(),
            shared: RefCell::default(),
            copies: RefCell::default(),
            trace: grid.profile.map(|_| RefCell::new(Trace::new(threads))),
            watches_shared: launch.checks.shared || grid.profile.is_some(),
            clock: RefCell::default(),
            has_fenced: Cell::new(false),
            released: RefCell::default(),
            stacks: RefCell::new(Stacks::new(threads)),
            offered: RefCell::default(),
            taken: Cell::new([0; WARP_SIZE as usize]),
        }
    }

    /// Returns a fiber that runs threads from `next` on until none is left. The fiber is suspended
    /// while a thread waits on it.
    fn fiber(&self, body: &Body<'_>) -> std::io::Result<Fiber> {
        let stack = self.stacks.borrow_mut().take()?;
        let run = move |yielder: &Yielder<(), ()>, ()| {
            // The yielder must be set before the kernel is entered, because the entry may already
            // overflow the stack.
            self.yielder.set(yielder);
            self.run_threads(body);
        };
        // SAFETY: the fiber borrows `self` and `body`, which live until `run` returns. Before
        // that, `run` drops the fiber, or forgets it after a stack overflow and never resumes it.
        Ok(unsafe { Fiber::with_stack_unchecked(stack, run) })
    }

    /// Runs threads from `next` on until none is left or the block has failed. It is the body of a
    /// fiber.
    #[inline(never)]
    fn run_threads(&self, body: &Body<'_>) {
        let mut threads = Threads { block: self, has_begun: false };
        let run = AssertUnwindSafe(|| body(&mut threads));
        if let Err(payload) = panic::catch_unwind(run) {
            self.unwound(payload);
        }
    }

    /// Runs a new fiber. If a thread on it waits, stores the fiber in that thread's slot.
    fn start(&self, mut fiber: Fiber, waiting: &mut Waiting) {
        match self.resume(&mut fiber) {
            Returned::Waits => {
                if waiting.slots.is_empty() {
                    waiting.slots.extend(iter::repeat_with(|| None).take(self.threads as usize));
                    waiting.warps.resize(self.threads.div_ceil(WARP_SIZE) as usize, 0);
                }
                let (thread, wait) = (self.rank.get(), self.waits_for.get());
                waiting.slots[thread as usize] = Some(Slot { wait, fiber });
                waiting.add(thread, wait);
                self.profile_wait(thread, wait);
            }
            Returned::Done => self.stacks.borrow_mut().give(fiber.into_stack()),
            Returned::Stopped => mem::forget(fiber),
        }
    }

    /// Resumes a waiting thread until it waits again or its fiber is done.
    fn go_on(&self, thread: u32, waiting: &mut Waiting) {
        let place = &mut waiting.slots[thread as usize];
        let Some(slot) = place else { return };
        waiting.count -= 1;
        waiting.spinning -= u32::from(slot.wait.reason == Reason::Spin);
        self.select(thread);
        self.spins.set(0);
        match self.resume(&mut slot.fiber) {
            Returned::Waits => {
                let wait = self.waits_for.get();
                slot.wait = wait;
                waiting.add(thread, wait);
                self.profile_wait(thread, wait);
            }
            Returned::Done => {
                if let Some(slot) = place.take() {
                    self.stacks.borrow_mut().give(slot.fiber.into_stack());
                }
            }
            Returned::Stopped => mem::forget(place.take()),
        }
    }

    /// Runs a fiber until it waits or is done.
    #[inline]
    fn resume(&self, fiber: &mut Fiber) -> Returned {
        crate::watchdog::note_progress();
        self.stack.set(Some(fiber.trap_handler()));
        let result = fiber.resume(());
        self.stack.set(None);
        if let Some((stop, trace)) = self.stopped.take() {
            self.is_uninterrupted.set(false);
            self.grid.was_stopped.store(true, Relaxed);
            self.note_stop(stop, &trace);
            return Returned::Stopped;
        }
        match result {
            CoroutineResult::Yield(()) => Returned::Waits,
            CoroutineResult::Return(()) => Returned::Done,
        }
    }

    /// Runs the waiting threads until they return. Requires that all threads have begun or that the
    /// block has failed.
    fn finish(&self, mut waiting: Waiting) -> Result<(), Fault> {
        let mut spinning = Spinning::default();
        while waiting.count > 0 && !self.has_failed.get() {
            if waiting.at_barrier == self.threads {
                spinning = Spinning::default();
                self.report_unwritten();
                self.block_epoch.set(self.block_epoch.get() + 1);
                self.warp_syncs.borrow_mut().clear();
                self.note_round(&waiting);
                (waiting.barrier, waiting.at_barrier) = (None, 0);
                self.counted.set(self.votes.take());
                self.profile_resume(None);
                for i in 0..self.threads {
                    self.go_on(self.order.at(i.into()) as u32, &mut waiting);
                }
            } else if self.complete_warp_operations(&mut waiting) {
                spinning = Spinning::default();
            } else if waiting.spinning > 0 {
                self.let_spin(&mut waiting, &mut spinning);
            } else {
                self.diverged(&waiting);
            }
        }
        for thread in 0..waiting.slots.len() as u32 {
            self.go_on(thread, &mut waiting);
        }
        self.report_unwritten();
        if let (Some(profile), Some(trace)) = (self.grid.profile, &self.trace) {
            profile.add(&trace.borrow());
        }
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Completes every warp operation whose lanes have all arrived, including those that the
    /// resumed lanes reach next. Returns whether any operation was completed.
    fn complete_warp_operations(&self, waiting: &mut Waiting) -> bool {
        let mut any = false;
        for warp in 0..waiting.warps.len() as u32 {
            while !self.has_failed.get()
                && let Some((op, mask)) = waiting.met(warp)
            {
                any = true;
                self.note_round(waiting);
                self.exchange(warp, op, mask);
                self.profile_resume(Some((warp, mask)));
                waiting.warps[warp as usize] &= !mask;
                for lane in (0..WARP_SIZE).filter(|lane| mask & 1 << lane != 0) {
                    self.go_on(warp * WARP_SIZE + lane, waiting);
                }
            }
        }
        any
    }

    /// Records a `sync_warp`, or stores the values that the lanes of a warp have offered.
    fn exchange(&self, warp: u32, op: WarpOp, mask: u32) {
        match op {
            WarpOp::Sync => {
                let mut syncs = self.warp_syncs.borrow_mut();
                syncs.resize(self.threads.div_ceil(WARP_SIZE) as usize, Vec::new());
                syncs[warp as usize].push(mask);
            }
            WarpOp::Exchange => {
                let mut lanes = [0; WARP_SIZE as usize];
                let offered = self.offered.borrow();
                let offered = offered[(warp * WARP_SIZE) as usize..].iter();
                lanes.iter_mut().zip(offered).for_each(|(lane, value)| *lane = *value);
                self.taken.set(lanes);
            }
        }
    }

    /// Makes `rank` the running thread.
    #[inline]
    fn select(&self, rank: u32) {
        let [x, y, _] = self.launch.block;
        let [i, j, k] = self.thread.get();
        // If `rank` follows the previously running thread, the index needs no divisions.
        let thread = match self.rank.replace(rank).wrapping_add(1) == rank {
            true if i + 1 < x => [i + 1, j, k],
            true if j + 1 < y => [0, j + 1, k],
            true => [0, 0, k + 1],
            false => self.launch.thread_index(rank),
        };
        self.thread.set(thread);
    }

    /// Suspends the running thread.
    ///
    /// Inlined into the kernel together with its callers, so that no `ret` is executed between the
    /// resumption of a fiber and its next wait. The CPU would predict that such a `ret` returns to
    /// the last `call`, which was in the scheduler, and mispredict.
    #[inline(always)]
    fn wait(&self, wait: Wait) {
        if self.has_failed.get() || thread::panicking() {
            return self.refuse_wait(wait.place);
        }
        let yielder = self.yielder.get();
        self.waits_for.set(wait);
        // SAFETY: every thread runs on a fiber. `yielder` was set when that fiber began, or below
        // when it was resumed. It points into the fiber's stack, which is in use.
        unsafe { &*yielder }.suspend(());
        self.yielder.set(yielder);
        if self.has_failed.get() {
            self.refuse_wait(wait.place);
        }
    }
}
