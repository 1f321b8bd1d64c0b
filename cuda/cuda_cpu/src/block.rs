//! One block: the fibers that carry its threads, and what a thread can ask of it.
//!
//! [`run`] starts fibers until every thread of the block has begun. A fiber takes threads one after
//! the other; a thread that must wait suspends its fiber, which stays in the thread's slot. Once all
//! threads have begun, the block alternates between two steps: it completes every warp operation
//! whose lanes have all arrived, and it opens the barrier when all threads stand at it. If neither
//! is possible the block has diverged, and the fault says which thread waits where.
//!
//! A fault ends the block, whatever the kernel does: [`fail`] records it before it unwinds the thread,
//! so a kernel cannot catch it and carry on. Threads that still wait are resumed one by one and
//! unwind too, which drops what they own. From then on no thread waits for another: a wait unwinds
//! again, or returns at once in a destructor, which must not unwind.
//!
//! The current block is found through a thread-local pointer, set only while `run` is on the stack.
//! Cost: a thread without barriers pays one closure call; a barrier costs a fiber switch a thread.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, Location, PanicHookInfo};
use std::{iter, mem, process, ptr, thread};

use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::fault::{Elsewhere, Fault, FaultKind, ThreadId};
use crate::shared::{Now, SharedMemory};
use crate::stacks::{FiberStack, Stacks, stack_bytes};
use crate::{AccessKind, Launch, SharedRegion, WARP_SIZE, WarpOp};

/// Name of the dynamic shared region in reports.
const DYNAMIC: &str = "dynamic shared memory";

/// How often one thread of a failed block may catch the unwinding and wait again.
const MAX_CAUGHT: u32 = 1000;

/// Why a thread waits. Words alone, which a switch copies one by one: wider copies of what was just
/// written in parts would stall it.
#[derive(Clone, Copy)]
struct Wait {
    place: &'static Location<'static>,
    reason: Reason,
    /// The lanes of a warp operation.
    mask: u32,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(u32)]
enum Reason {
    #[default]
    Barrier,
    Exchange,
    SyncWarp,
}

impl Wait {
    /// The warp operation that the thread waits in.
    fn warp_op(&self) -> Option<WarpOp> {
        match self.reason {
            Reason::Barrier => None,
            Reason::Exchange => Some(WarpOp::Exchange),
            Reason::SyncWarp => Some(WarpOp::Sync),
        }
    }

    /// Whether two lanes of a warp wait for each other. An exchange is one instruction that all its
    /// lanes execute; a `sync_warp` may be met by another.
    fn meets(&self, other: &Self) -> bool {
        self.reason == other.reason
            && self.mask == other.mask
            && (self.reason == Reason::SyncWarp || same_place(self.place, other.place))
    }
}

/// Compares by address first: the text of two places takes longer to compare than a fiber to switch.
fn same_place(a: &'static Location<'static>, b: &'static Location<'static>) -> bool {
    ptr::eq(a, b) || a == b
}

type Fiber = Coroutine<(), (), (), FiberStack>;

/// A thread that waits.
struct Slot {
    wait: Wait,
    fiber: Fiber,
}

/// The threads that wait.
#[derive(Default)]
struct Waiting {
    /// One slot a thread of the block; none before the first wait.
    slots: Vec<Option<Slot>>,
    count: u32,
    /// The place of a barrier, and how many threads wait there.
    barrier: Option<&'static Location<'static>>,
    at_barrier: u32,
    /// For each warp, the lanes that wait in a warp operation.
    warps: Vec<u32>,
}

impl Waiting {
    fn add(&mut self, thread: u32, wait: Wait) {
        self.count += 1;
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

    /// The threads that wait, in order.
    fn iter(&self) -> impl Iterator<Item = (u32, &Wait)> {
        (0..).zip(&self.slots).filter_map(|(thread, slot)| Some((thread, &slot.as_ref()?.wait)))
    }

    /// The lanes of `warp` that wait for the same as `wait`.
    fn meeting(&self, warp: u32, wait: &Wait) -> u32 {
        let first = (warp * WARP_SIZE) as usize;
        let slots = self.slots[first..].iter().take(WARP_SIZE as usize);
        (0..).zip(slots).fold(0, |met, (lane, slot)| {
            let meets = slot.as_ref().is_some_and(|slot| slot.wait.meets(wait));
            met | u32::from(meets) << lane
        })
    }

    /// A warp operation that all its lanes wait in.
    fn met(&self, warp: u32) -> Option<(WarpOp, u32)> {
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

/// What the running fiber waits for.
struct WaitCell {
    place: Cell<&'static Location<'static>>,
    reason: Cell<Reason>,
    mask: Cell<u32>,
}

impl WaitCell {
    #[track_caller]
    fn new() -> Self {
        let (place, reason) = (Location::caller(), Reason::Barrier);
        Self { place: Cell::new(place), reason: Cell::new(reason), mask: Cell::new(0) }
    }

    #[inline]
    fn set(&self, wait: Wait) {
        self.place.set(wait.place);
        self.reason.set(wait.reason);
        self.mask.set(wait.mask);
    }

    #[inline]
    fn get(&self) -> Wait {
        Wait { place: self.place.get(), reason: self.reason.get(), mask: self.mask.get() }
    }
}

/// How a fiber came back.
enum Returned {
    /// For what [`Block::waits_for`] says.
    Waits,
    Done,
    /// Its stack overflowed; the fiber must never be resumed or dropped.
    Overflowed,
}

pub(crate) struct Block<'a> {
    launch: &'a Launch<'a>,
    launch_id: u64,
    /// The block that this OS thread was in the middle of.
    outer: *const Block<'static>,
    /// Different for each block of this OS thread.
    serial: u64,
    index: [u32; 3],
    threads: u32,
    /// The next thread to begin.
    next: Cell<u32>,
    /// The thread that runs now.
    rank: Cell<u32>,
    thread: Cell<[u32; 3]>,
    /// The fiber that runs now: its stack, and how it comes back.
    stack: Cell<Option<CoroutineTrapHandler<()>>>,
    yielder: Cell<*const Yielder<(), ()>>,
    waits_for: WaitCell,
    has_overflowed: Cell<bool>,
    /// The first fault. It and `panic` are no `RefCell`s: a thread whose stack overflows stops in the
    /// middle of anything.
    fault: Cell<Option<Fault>>,
    has_failed: Cell<bool>,
    /// How often the running thread has caught its unwinding.
    caught: Cell<u32>,
    /// The latest panic: its thread, message and place.
    panic: Cell<Option<(u32, [String; 2])>>,
    /// Barriers passed.
    block_epoch: Cell<u32>,
    /// Threads that came to the next barrier with a predicate.
    votes: Cell<u32>,
    /// Threads that came to the last one with a predicate.
    counted: Cell<u32>,
    /// Masks of the `sync_warp`s passed since the last barrier, by warp.
    warp_syncs: RefCell<Vec<Vec<u32>>>,
    shared: RefCell<SharedMemory>,
    stacks: RefCell<Stacks>,
    /// What each thread brings to a warp exchange.
    offered: RefCell<Vec<u32>>,
    /// What the last exchange gave its lanes, which take it before there is another.
    taken: Cell<[u32; WARP_SIZE as usize]>,
}

thread_local! {
    static CURRENT: Cell<*const Block<'static>> = const { Cell::new(ptr::null()) };
    /// The id of the current block's launch, 0 outside of one. Every access compares it, so it takes
    /// one load.
    static LAUNCH: Cell<u64> = const { Cell::new(0) };
    /// Blocks that this OS thread has begun.
    static BLOCKS: Cell<u64> = const { Cell::new(0) };
}

/// Makes a block the current one; dropped, restores the one before.
struct Enter {
    block: *const Block<'static>,
    launch: u64,
}

impl Enter {
    fn new(block: &Block<'_>) -> Self {
        let earlier = Self { block: CURRENT.get(), launch: LAUNCH.get() };
        block.make_current();
        earlier
    }
}

impl Drop for Enter {
    fn drop(&mut self) {
        CURRENT.set(self.block);
        LAUNCH.set(self.launch);
    }
}

/// The payload that threads of a failed block unwind with.
struct Unwind;

/// Whether this OS thread is in the middle of a block.
pub(crate) fn is_running() -> bool {
    !CURRENT.get().is_null()
}

/// Runs all threads of one block.
pub(crate) fn run(
    launch: &Launch<'_>,
    launch_id: u64,
    index: [u32; 3],
    thread: &(impl Fn() + Sync),
) -> Result<(), Fault> {
    crate::overflow::prepare();
    let block = Block::new(launch, launch_id, index);
    let _enter = Enter::new(&block);
    let mut waiting = Waiting::default();
    while block.next.get() < block.threads && !block.has_failed.get() {
        match block.fiber(thread) {
            Ok(fiber) => block.start(fiber, &mut waiting),
            Err(error) => block.record(FaultKind::NoStack { error: error.to_string() }),
        }
    }
    block.finish(waiting)
}

impl<'a> Block<'a> {
    fn new(launch: &'a Launch<'a>, launch_id: u64, index: [u32; 3]) -> Self {
        let threads = launch.block.iter().product();
        BLOCKS.set(BLOCKS.get() + 1);
        Self {
            launch,
            launch_id,
            outer: CURRENT.get(),
            serial: BLOCKS.get(),
            index,
            threads,
            next: Cell::new(0),
            rank: Cell::new(0),
            thread: Cell::new([0; 3]),
            stack: Cell::new(None),
            yielder: Cell::new(ptr::null()),
            waits_for: WaitCell::new(),
            has_overflowed: Cell::new(false),
            fault: Cell::default(),
            has_failed: Cell::new(false),
            caught: Cell::new(0),
            panic: Cell::default(),
            block_epoch: Cell::new(0),
            votes: Cell::new(0),
            counted: Cell::new(0),
            warp_syncs: RefCell::default(),
            shared: RefCell::default(),
            stacks: RefCell::new(Stacks::new(threads)),
            offered: RefCell::default(),
            taken: Cell::new([0; WARP_SIZE as usize]),
        }
    }

    fn make_current(&self) {
        CURRENT.set(ptr::from_ref(self).cast());
        LAUNCH.set(self.launch_id);
    }

    /// A fiber that runs threads from `next` on until one waits or none is left.
    fn fiber(&self, thread: &(impl Fn() + Sync)) -> std::io::Result<Fiber> {
        let stack = self.stacks.borrow_mut().take()?;
        let body = move |yielder: &Yielder<(), ()>, ()| {
            // Before any frame of the kernel's: it may overflow as it is entered.
            self.yielder.set(yielder);
            self.run_threads(thread);
        };
        // SAFETY: the fiber borrows `self` and `thread`. It is resumed and dropped only by `run`,
        // whose frame outlives it and holds both.
        Ok(unsafe { Fiber::with_stack_unchecked(stack, body) })
    }

    /// The body of a fiber.
    #[inline(never)]
    fn run_threads(&self, thread: &(impl Fn() + Sync)) {
        let threads = AssertUnwindSafe(|| {
            while self.next.get() < self.threads && !self.has_failed.get() {
                self.select(self.next.replace(self.next.get() + 1));
                thread();
            }
        });
        if let Err(payload) = panic::catch_unwind(threads) {
            self.unwound(payload);
        }
    }

    /// Runs a new fiber, and gives it a slot if it waits.
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
            }
            Returned::Done => self.stacks.borrow_mut().give(fiber.into_stack()),
            Returned::Overflowed => mem::forget(fiber),
        }
    }

    /// Continues a thread that waits.
    fn go_on(&self, thread: u32, waiting: &mut Waiting) {
        let place = &mut waiting.slots[thread as usize];
        let Some(slot) = place else { return };
        waiting.count -= 1;
        self.select(thread);
        match self.resume(&mut slot.fiber) {
            Returned::Waits => {
                let wait = self.waits_for.get();
                slot.wait = wait;
                waiting.add(thread, wait);
            }
            Returned::Done => {
                if let Some(slot) = place.take() {
                    self.stacks.borrow_mut().give(slot.fiber.into_stack());
                }
            }
            Returned::Overflowed => mem::forget(place.take()),
        }
    }

    /// Runs a fiber until it waits or is done.
    #[inline]
    fn resume(&self, fiber: &mut Fiber) -> Returned {
        self.stack.set(Some(fiber.trap_handler()));
        let result = fiber.resume(());
        self.stack.set(None);
        if self.has_overflowed.get() {
            self.note_overflow();
            return Returned::Overflowed;
        }
        match result {
            CoroutineResult::Yield(()) => Returned::Waits,
            CoroutineResult::Return(()) => Returned::Done,
        }
    }

    /// Records the overflow, which may have stopped the thread in the middle of recording another fault.
    #[cold]
    fn note_overflow(&self) {
        self.has_overflowed.set(false);
        self.has_failed.set(true);
        let fault = self.fault.take();
        let overflow = || self.fault_of(FaultKind::StackOverflow { bytes: stack_bytes() });
        self.fault.set(Some(fault.unwrap_or_else(overflow)));
    }

    /// Once all threads have begun: carries those that wait to their end.
    fn finish(&self, mut waiting: Waiting) -> Result<(), Fault> {
        while waiting.count > 0 && !self.has_failed.get() {
            if waiting.at_barrier == self.threads {
                self.block_epoch.set(self.block_epoch.get() + 1);
                self.warp_syncs.borrow_mut().clear();
                (waiting.barrier, waiting.at_barrier) = (None, 0);
                self.counted.set(self.votes.take());
                for thread in 0..self.threads {
                    self.go_on(thread, &mut waiting);
                }
            } else if !self.complete_warp_operations(&mut waiting) {
                self.diverged(&waiting);
            }
        }
        for thread in 0..waiting.slots.len() as u32 {
            self.go_on(thread, &mut waiting);
        }
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Completes the warp operations whose lanes have all arrived, and those that follow. Returns
    /// whether there was any.
    fn complete_warp_operations(&self, waiting: &mut Waiting) -> bool {
        let mut any = false;
        for warp in 0..waiting.warps.len() as u32 {
            while !self.has_failed.get()
                && let Some((op, mask)) = waiting.met(warp)
            {
                any = true;
                self.exchange(warp, op, mask);
                waiting.warps[warp as usize] &= !mask;
                for lane in (0..WARP_SIZE).filter(|lane| mask & 1 << lane != 0) {
                    self.go_on(warp * WARP_SIZE + lane, waiting);
                }
            }
        }
        any
    }

    /// Hands out what the lanes of a warp have offered.
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

    /// Records why threads wait that nothing can release.
    fn diverged(&self, waiting: &Waiting) {
        for (thread, wait) in waiting.iter() {
            let (Some(op), mask) = (wait.warp_op(), wait.mask) else { continue };
            let missing = mask & !waiting.meeting(thread / WARP_SIZE, wait);
            self.select(thread);
            let (op, place) = (op.name(), wait.place);
            return self.record(FaultKind::WarpDivergence { op, place, mask, missing });
        }
        let Some((thread, first)) = waiting.iter().next() else { return };
        let barrier = first.place;
        let elsewhere = waiting.iter().find(|(_, wait)| !same_place(wait.place, barrier));
        let others = elsewhere.map_or(Elsewhere::Returned(self.threads - waiting.count), |other| {
            Elsewhere::Waiting(other.1.place)
        });
        let together = waiting.iter().filter(|(_, wait)| same_place(wait.place, barrier)).count();
        self.select(thread);
        self.record(FaultKind::BarrierDivergence {
            waiting: together as u32,
            threads: self.threads,
            barrier,
            others,
        });
    }

    /// Makes `rank` the thread that runs.
    #[inline]
    fn select(&self, rank: u32) {
        let [x, y, _] = self.launch.block;
        let [i, j, k] = self.thread.get();
        // Most often the next one: spares three divisions.
        let thread = match self.rank.replace(rank).wrapping_add(1) == rank {
            true if i + 1 < x => [i + 1, j, k],
            true if j + 1 < y => [0, j + 1, k],
            true => [0, 0, k + 1],
            false => [rank % x, rank / x % y, rank / (x * y)],
        };
        self.thread.set(thread);
    }

    /// Suspends the running thread.
    ///
    /// Inlined into the kernel together with its callers: then no `ret` stands between a fiber's resumption
    /// and its next wait. The CPU predicts a `ret` by the last `call`, which was the scheduler's.
    #[inline(always)]
    fn wait(&self, wait: Wait) {
        if self.has_failed.get() || thread::panicking() {
            return self.refuse_wait(wait.place);
        }
        let yielder = self.yielder.get();
        self.waits_for.set(wait);
        // SAFETY: every thread runs on a fiber, whose yielder was set when the fiber began or was
        // set again below; it lives on that fiber's stack, which is in use right now.
        unsafe { &*yielder }.suspend(());
        self.yielder.set(yielder);
        if self.has_failed.get() {
            self.caught.set(0);
            self.refuse_wait(wait.place);
        }
    }

    /// Says that a thread that unwinds waits; unwinds one that waits although its block has failed.
    #[cold]
    #[inline(never)]
    fn refuse_wait(&self, place: &'static Location<'static>) {
        if thread::panicking() {
            // It is in a destructor, which must not unwind; and with the fault nobody waits.
            self.record(FaultKind::WaitInUnwinding { place });
        } else {
            self.unwind(place);
        }
    }

    /// Unwinds a thread of a failed block.
    fn unwind(&self, place: &'static Location<'static>) -> ! {
        self.caught.set(self.caught.get() + 1);
        if self.caught.get() > MAX_CAUGHT {
            let at = self.thread_id();
            let fault = self.fault.take().map_or_else(String::new, |fault| fault.to_string());
            eprintln!(
                "fatal: {at} waits at {place} and has caught {MAX_CAUGHT} times the panic that ends its block after this fault: {fault}",
            );
            process::abort();
        }
        panic::resume_unwind(Box::new(Unwind));
    }

    fn thread_id(&self) -> ThreadId {
        ThreadId { block: self.index, thread: self.thread.get() }
    }

    /// Fails the block at the running thread, if it has not failed before.
    fn record(&self, kind: FaultKind) {
        if !self.has_failed.replace(true) {
            self.fault.set(Some(self.fault_of(kind)));
        }
    }

    fn fault_of(&self, kind: FaultKind) -> Fault {
        Fault { kernel: self.launch.kernel, at: self.thread_id(), kind }
    }

    fn check_race(&self, region: &SharedRegion, offset: usize, size: usize, kind: AccessKind) {
        if self.has_failed.get() {
            // Nobody waits at barriers any more.
            return;
        }
        let thread = self.rank.get();
        let warp_syncs = self.warp_syncs.borrow();
        let syncs = warp_syncs.get((thread / WARP_SIZE) as usize);
        let syncs = syncs.map_or(&[][..], Vec::as_slice);
        let now = Now { thread, block_epoch: self.block_epoch.get(), syncs };
        let race = self.shared.borrow_mut().note(region.id, (offset, size), kind, &now);
        if let Some(race) = race {
            drop(warp_syncs);
            fail(race);
        }
    }

    /// Records the panic that ended a thread.
    fn unwound(&self, payload: Box<dyn Any + Send>) {
        let fault = self.fault.take();
        let is_own = |fault: &Fault| {
            matches!(fault.kind, FaultKind::WaitInUnwinding { .. })
                && fault.at == self.thread_id()
                && !payload.is::<Unwind>()
        };
        if fault.as_ref().is_none_or(is_own) {
            // The panic is the cause of a wait during it.
            self.has_failed.set(false);
            let text = payload.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "a payload that is not a text".into());
            let noted = self.panic.take().filter(|(_, [noted, _])| *noted == text);
            self.record(FaultKind::Panic { text, place: noted.map(|(_, [_, place])| place) });
        } else {
            self.fault.set(fault);
        }
        self.panic.take();
        // The payload is the kernel's, and so is what its destructor does.
        let dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(payload)));
        mem::forget(dropped);
    }
}

/// Notes a panic of a kernel. Returns whether that is enough: the launch returns it as a fault.
pub(crate) fn note_panic(info: &PanicHookInfo<'_>) -> bool {
    let block = CURRENT.get();
    // SAFETY: not null, so `run` is below us on the stack and holds the block.
    let Some(block) = (unsafe { block.as_ref() }).filter(|block| block.stack.get().is_some())
    else {
        return false;
    };
    let text = info.payload_as_str().unwrap_or("a payload that is not a text").to_owned();
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let rank = block.rank.get();
    let earlier = block.panic.replace(Some((rank, [text, place])));
    // A second panic of a thread, while the first unwinds, ends the process: print both.
    if let Some((_, [text, place])) = earlier.filter(|(earlier, _)| *earlier == rank) {
        eprintln!("{}", block.fault_of(FaultKind::Panic { text, place: Some(place) }));
        return false;
    }
    true
}

/// The block of this OS thread whose running fiber's stack ends at `address`, if any.
///
/// Called by a signal handler.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn overflowing(address: usize, guard: usize) -> Option<*const Block<'static>> {
    let mut block = CURRENT.get();
    // SAFETY: not null, so its `run` is below us on the stack and holds the block; so is that of
    // the outer one.
    while let Some(at) = unsafe { block.as_ref() } {
        let in_guard = |stack: CoroutineTrapHandler<()>| {
            stack.stack_ptr_in_bounds(address) && !stack.stack_ptr_in_bounds(address - guard)
        };
        if at.stack.get().is_some_and(in_guard) {
            return Some(block);
        }
        block = at.outer;
    }
    None
}

/// Where a thread goes on whose stack has overflowed, on another stack: stops it for good.
///
/// # Safety
/// `block` came from [`overflowing`] on this OS thread, just now.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) unsafe extern "C" fn overflowed(block: *const Block<'static>) -> ! {
    // SAFETY: `run` of this block is below us on the stack and holds it.
    let block = unsafe { &*block };
    // A block within this one has stopped for good with its thread.
    block.make_current();
    if thread::panicking() {
        // The thread would stay half unwound, and its OS thread count as panicking for ever.
        abort_on_overflow(block, "while it unwinds");
    }
    block.has_overflowed.set(true);
    // SAFETY: as in `wait`.
    unsafe { &*block.yielder.get() }.suspend(());
    process::abort()
}

/// Ends the process where a stack overflow cannot be returned as a fault.
///
/// Called by a signal handler, so it does not allocate.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn abort_on_overflow(block: &Block<'_>, when: &str) -> ! {
    let kernel = block.launch.kernel;
    let at = block.thread_id();
    let kind = FaultKind::StackOverflow { bytes: stack_bytes() };
    crate::overflow::print(format_args!("fatal: kernel `{kernel}`, {at}, {when}: {kind}\n"));
    process::abort()
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

/// The id of the launch that this OS thread runs a block of: unique in the process and never 0.
/// Returns 0 outside of a launch.
///
/// A kernel argument notes the id when the launch makes it and compares it on every access. A
/// handle that a kernel kept from an earlier launch is then a [`FaultKind::StaleHandle`] instead of
/// an access to memory that may be gone.
#[inline]
#[must_use]
pub fn launch_id() -> u64 {
    LAUNCH.get()
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
///
/// In a destructor that runs while the thread unwinds it returns at once: the block has failed.
#[inline]
#[track_caller]
pub fn sync_threads() {
    let (place, reason) = (Location::caller(), Reason::Barrier);
    current().wait(Wait { place, reason, mask: 0 });
}

/// [`sync_threads`]; returns the number of threads that come with a `predicate`.
///
/// In a destructor that runs while the thread unwinds it returns at once, with the last barrier's number.
#[inline]
#[track_caller]
#[must_use]
pub fn sync_threads_count(predicate: bool) -> u32 {
    let block = current();
    block.votes.set(block.votes.get() + u32::from(predicate));
    sync_threads();
    block.counted.get()
}

/// Meets the lanes of `mask` in `op` at `place`; returns what each lane of the warp offered. Lanes
/// outside of `mask` hold whatever they offered last.
///
/// In a destructor that runs while the thread unwinds it returns at once, with this thread's value
/// for all lanes: the block has failed.
#[inline]
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
    if op == WarpOp::Exchange {
        let mut offered = block.offered.borrow_mut();
        offered.resize(block.threads as usize, 0);
        offered[rank as usize] = value;
    }
    let reason = match op {
        WarpOp::Exchange => Reason::Exchange,
        WarpOp::Sync => Reason::SyncWarp,
    };
    block.wait(Wait { place, reason, mask });
    if block.has_failed.get() {
        return [value; WARP_SIZE as usize];
    }
    block.taken.get()
}

/// The block's static shared array declared at `name`, `bytes` long.
#[must_use]
pub fn shared_static(name: &'static str, bytes: usize) -> SharedRegion {
    let block = current();
    let region = block.shared.borrow_mut().region(name, bytes, block.serial);
    region.unwrap_or_else(|fault| fail(fault))
}

/// The block's dynamic shared memory.
#[must_use]
pub fn shared_dynamic() -> SharedRegion {
    shared_static(DYNAMIC, current().launch.dynamic_shared)
}

/// Bytes of the block's shared memory: dynamic, and the static arrays that a thread has reached so far.
#[must_use]
pub fn shared_bytes() -> usize {
    // Dynamic memory is a region from its first use on.
    let _ = shared_dynamic();
    current().shared.borrow().bytes()
}

/// Returns whether an address is in the block's shared memory.
#[must_use]
pub fn is_shared(address: usize) -> bool {
    current().shared.borrow().contains(address)
}

/// Checks an access to `size` bytes of `region` at `offset`, which lie inside: the region must be this
/// block's, and the access must not race.
#[inline]
pub fn shared_access(region: &SharedRegion, offset: usize, size: usize, kind: AccessKind) {
    let block = current();
    if region.block != block.serial {
        fail(FaultKind::StaleHandle { what: "Shared" });
    }
    if block.launch.check_races {
        block.check_race(region, offset, size, kind);
    }
}

/// Calls `read` with the words of a constant, or `None` where the host never set it.
#[inline]
pub fn with_constant<R>(symbol: &str, read: impl FnOnce(Option<&[u128]>) -> R) -> R {
    read(current().launch.constants.get(symbol))
}

/// Ends the launch with a fault at the running thread.
///
/// The fault is recorded at once: a kernel that catches the unwinding cannot undo it. In a destructor
/// that runs while the thread unwinds, Rust ends the process; the fault is on stderr then.
///
/// # Panics
/// Outside of a launch, with the text of `kind`.
#[cold]
pub fn fail(kind: FaultKind) -> ! {
    let block = CURRENT.get();
    // SAFETY: not null, so `run` is below us on the stack and holds the block.
    let Some(block) = (unsafe { block.as_ref() }) else {
        panic!("outside of a kernel launch: {kind}");
    };
    if thread::panicking() || cfg!(panic = "abort") {
        eprintln!("fatal: {}", block.fault_of(kind.clone()));
    }
    block.record(kind);
    // Not a panic: the hook must stay silent, since the fault is returned as a value.
    panic::resume_unwind(Box::new(Unwind))
}
