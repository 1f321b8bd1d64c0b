//! A race detector: the latest accesses to memory that threads share.
//!
//! For every byte, the detector records the last store and a few of the loads and atomics, each with
//! its thread, its source position and its time: the number of barriers that the block has passed,
//! and the number of `sync_warp`s that the warp has passed since. Two accesses by different threads
//! of a block are ordered if a barrier lies between them or, within one warp, if a chain of
//! `sync_warp`s leads from one lane to the other. Accesses by threads of different blocks are ordered
//! by a chain of fences and atomics; see [`Clock`]. Adjacent bytes that were always accessed together
//! form a granule, which has one entry.
//!
//! One store is enough: every older one is ordered before it, or was a race. Four loads and four
//! atomics (see [`Recent`]) find every race within a block if warps synchronise as a whole; otherwise
//! a race with an older load can go unnoticed. Every reported race is real.
//!
//! The functions on the path of an access contain no closures and iterators, because a debug build
//! does not inline them.

use std::panic::Location;

use crate::WARP_SIZE;
use crate::clock::Clock;
use crate::fault::AccessKind;

/// The maximum size of a granule in bytes: the widest access of a GPU.
const MAX_GRANULE: usize = 16;

/// The value of [`Access::thread`] if there is no access.
const NOBODY: u32 = u32::MAX;

/// The running thread, the position of its access, and the current time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now<'a> {
    pub(crate) place: &'static Location<'static>,
    /// The linear index of the block in its grid.
    pub(crate) block: u64,
    pub(crate) thread: u32,
    /// The number of barriers passed.
    pub(crate) block_epoch: u32,
    /// Masks of the `sync_warp`s that the thread's warp has passed since the last barrier.
    pub(crate) syncs: &'a [u32],
    /// The accesses of other blocks that are ordered before this one. Shared memory needs none.
    pub(crate) clock: Option<&'a Clock>,
}

impl Now<'_> {
    fn access(&self) -> Access {
        Access {
            place: self.place,
            block: self.block,
            thread: self.thread,
            block_epoch: self.block_epoch,
            warp_epoch: self.syncs.len() as u32,
        }
    }

    /// Returns whether an access by the running thread would be unordered with `earlier`.
    #[inline]
    fn races_with(&self, earlier: &Access) -> bool {
        if earlier.thread == NOBODY {
            return false;
        }
        if earlier.block != self.block {
            return self.is_unordered_with_block(earlier);
        }
        if earlier.thread == self.thread || earlier.block_epoch != self.block_epoch {
            return false;
        }
        earlier.thread / WARP_SIZE != self.thread / WARP_SIZE || !self.is_synced_with(earlier)
    }

    /// Returns whether no chain of fences leads from `earlier`, in another block, to this block.
    fn is_unordered_with_block(&self, earlier: &Access) -> bool {
        match self.clock {
            Some(clock) => !clock.contains(earlier.block, earlier.block_epoch),
            None => true,
        }
    }

    /// Returns whether a chain of `sync_warp`s leads from the lane of `earlier`, after that access,
    /// to the lane of the running thread.
    fn is_synced_with(&self, earlier: &Access) -> bool {
        let mut reached = 1 << (earlier.thread % WARP_SIZE);
        for mask in &self.syncs[earlier.warp_epoch as usize..] {
            if reached & mask != 0 {
                reached |= mask;
            }
        }
        reached & 1 << (self.thread % WARP_SIZE) != 0
    }
}

/// An access by one thread, or [`NONE`](Self::NONE).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) place: &'static Location<'static>,
    pub(crate) block: u64,
    pub(crate) thread: u32,
    block_epoch: u32,
    /// The number of `sync_warp`s that the warp had passed since the last barrier.
    warp_epoch: u32,
}

impl Access {
    const NONE: Self =
        Self { place: Location::caller(), block: 0, thread: NOBODY, block_epoch: 0, warp_epoch: 0 };
}

/// Four accesses of one kind: the newest, the newest by another thread than that one, by another
/// warp, and by another block.
///
/// A race within a block requires an access by another warp, or by another thread of the same warp
/// since its last `sync_warp`. The first three decide this as well as the full history would. If
/// all of them belong to the warp of the accessing thread, so do all other accesses of this kind in
/// this block, and the first two are the newest by two different threads. Otherwise one of the
/// three belongs to another warp.
#[derive(Clone, Copy)]
struct Recent {
    newest: Access,
    other_thread: Access,
    other_warp: Access,
    other_block: Access,
}

impl Recent {
    const NONE: Self = Self {
        newest: Access::NONE,
        other_thread: Access::NONE,
        other_warp: Access::NONE,
        other_block: Access::NONE,
    };

    #[inline]
    fn note(&mut self, access: Access) {
        let newest = self.newest;
        if newest.thread != NOBODY {
            if newest.block != access.block {
                self.other_block = newest;
            } else if newest.thread != access.thread {
                self.other_thread = newest;
                if newest.thread / WARP_SIZE != access.thread / WARP_SIZE {
                    self.other_warp = newest;
                }
            }
        }
        self.newest = access;
    }

    #[inline]
    fn racing(&self, now: &Now<'_>) -> Option<Access> {
        if self.newest.thread == NOBODY {
            return None;
        }
        if now.races_with(&self.newest) {
            return Some(self.newest);
        }
        if now.races_with(&self.other_thread) {
            return Some(self.other_thread);
        }
        if now.races_with(&self.other_warp) {
            return Some(self.other_warp);
        }
        if now.races_with(&self.other_block) {
            return Some(self.other_block);
        }
        None
    }
}

/// The accesses to one granule.
#[derive(Clone, Copy)]
struct Granule {
    /// Whether a thread has written the granule.
    is_written: bool,
    store: Access,
    loads: Recent,
    atomics: Recent,
}

impl Granule {
    const NEW: Self =
        Self { is_written: false, store: Access::NONE, loads: Recent::NONE, atomics: Recent::NONE };

    /// Records an access. Returns the kind of an earlier access that it races with, and that
    /// access.
    #[inline]
    fn note(&mut self, kind: AccessKind, now: &Now<'_>) -> Option<(AccessKind, Access)> {
        let mut racing = None;
        if now.races_with(&self.store) {
            racing = Some((AccessKind::Store, self.store));
        }
        if racing.is_none()
            && kind != AccessKind::Load
            && let Some(load) = self.loads.racing(now)
        {
            racing = Some((AccessKind::Load, load));
        }
        if racing.is_none()
            && kind != AccessKind::Atomic
            && let Some(atomic) = self.atomics.racing(now)
        {
            racing = Some((AccessKind::Atomic, atomic));
        }
        match kind {
            AccessKind::Load => self.loads.note(now.access()),
            AccessKind::Store => self.store = now.access(),
            AccessKind::Atomic => self.atomics.note(now.access()),
        }
        racing
    }
}

/// The outcome of an access that the detector rejects.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Conflict {
    /// The access races with an earlier one.
    Race { offset: usize, other_access: AccessKind, other: Access },
    /// No thread has written the bytes that the access reads.
    Uninitialised { offset: usize },
}

/// The accesses to a range of bytes.
pub(crate) struct Shadow {
    bytes: usize,
    /// One entry per granule; empty before the first access.
    granules: Vec<Granule>,
    /// The logarithm of a granule's size in bytes. All accesses so far covered whole granules, so
    /// the bytes of a granule have the same history.
    shift: u32,
    /// Whether reads of bytes that no thread has written are reported.
    requires_writes: bool,
}

impl Shadow {
    /// Creates the shadow of `bytes` bytes.
    pub(crate) fn new(bytes: usize, requires_writes: bool) -> Self {
        Self { bytes, granules: Vec::new(), shift: 0, requires_writes }
    }

    /// Stops reporting reads of bytes that no thread has written, because the kernel may write
    /// them through a raw pointer.
    pub(crate) fn assume_written(&mut self) {
        self.requires_writes = false;
    }

    /// Treats `size` bytes at `offset` as unwritten. The latest access must have covered these
    /// bytes.
    pub(crate) fn forget_writes(&mut self, offset: usize, size: usize) {
        let granules = offset >> self.shift..(offset + size) >> self.shift;
        for granule in self.granules.get_mut(granules).into_iter().flatten() {
            granule.is_written = false;
        }
    }

    /// Records an access to `size` bytes at `offset`. Returns a conflict that it causes, if any.
    #[inline]
    pub(crate) fn note(
        &mut self,
        offset: usize,
        size: usize,
        kind: AccessKind,
        now: &Now<'_>,
    ) -> Option<Conflict> {
        if self.granules.is_empty() || (offset | size) & ((1 << self.shift) - 1) != 0 {
            self.refine((offset | size).trailing_zeros().min(MAX_GRANULE.ilog2()));
        }
        let mut at = offset >> self.shift;
        let end = (offset + size) >> self.shift;
        while at < end {
            let granule = &mut self.granules[at];
            if let Some((other_access, other)) = granule.note(kind, now) {
                return Some(Conflict::Race { offset: at << self.shift, other_access, other });
            }
            if kind == AccessKind::Store {
                granule.is_written = true;
            } else if !granule.is_written && self.requires_writes {
                return Some(Conflict::Uninitialised { offset: at << self.shift });
            }
            at += 1;
        }
        None
    }

    /// Splits every granule into granules of `1 << shift` bytes.
    #[cold]
    fn refine(&mut self, shift: u32) {
        let parts = self.bytes.div_ceil(1 << shift);
        if self.granules.is_empty() {
            self.granules = vec![Granule::NEW; parts];
        } else {
            let factor = 1 << (self.shift - shift);
            self.granules = (0..parts).map(|part| self.granules[part / factor]).collect();
        }
        self.shift = shift;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A detector that stores every access to every byte.
    #[derive(Default)]
    struct Everything {
        accesses: Vec<(usize, AccessKind, u32, u32, usize)>,
    }

    impl Everything {
        fn races(&mut self, at: (usize, usize), kind: AccessKind, now: &Now<'_>) -> bool {
            let mut found = false;
            for byte in at.0..at.0 + at.1 {
                for &(other, other_kind, epoch, thread, warp_epoch) in &self.accesses {
                    let harmless = kind == other_kind && kind != AccessKind::Store;
                    if other != byte || harmless || epoch != now.block_epoch || thread == now.thread
                    {
                        continue;
                    }
                    let mut reached = 1_u32 << (thread % WARP_SIZE);
                    for mask in now.syncs.get(warp_epoch..).unwrap_or_default() {
                        reached |= if reached & mask == 0 { 0 } else { *mask };
                    }
                    let is_reached = reached & 1 << (now.thread % WARP_SIZE) != 0;
                    found |= thread / WARP_SIZE != now.thread / WARP_SIZE || !is_reached;
                }
                self.accesses.push((byte, kind, now.block_epoch, now.thread, now.syncs.len()));
            }
            found
        }
    }

    /// Makes random accesses of all widths up to the first race. If warps synchronise as a whole,
    /// the detector must agree exactly with [`Everything`]. If parts of warps synchronise, every
    /// race it finds must be real.
    #[test]
    fn it_agrees_with_a_detector_that_stores_every_access() {
        let mut state = 1_u64;
        let mut random = move |below: usize| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let (mut races, mut passed) = (0, 0);
        for round in 0..4000 {
            let in_parts = round % 4 == 0;
            let mut shadow = Shadow::new(64, false);
            let mut everything = Everything::default();
            let mut syncs = [vec![], vec![]];
            let mut block_epoch = 0;
            for _ in 0..40 {
                match random(8) {
                    0 => {
                        block_epoch += 1;
                        syncs = [vec![], vec![]];
                        continue;
                    }
                    1 | 2 => {
                        let mask = if in_parts { random(1 << 31) as u32 } else { u32::MAX };
                        syncs[random(2)].push(mask);
                        continue;
                    }
                    _ => {}
                }
                // Few threads and offsets, so that races occur, some of them late.
                let thread = (random(2) * 32 + random(3)) as u32;
                let kind =
                    [AccessKind::Load, AccessKind::Load, AccessKind::Store, AccessKind::Atomic]
                        [random(4)];
                let size = [1, 2, 4, 8, 12, 16][random(6)];
                let at = (random(64 / size) * size, size);
                let now = Now {
                    place: Location::caller(),
                    block: 0,
                    thread,
                    block_epoch,
                    syncs: &syncs[(thread / WARP_SIZE) as usize],
                    clock: None,
                };
                let expected = everything.races(at, kind, &now);
                let found = shadow.note(at.0, at.1, kind, &now).is_some();
                assert!(
                    found == expected || in_parts && !found,
                    "round {round}: {kind:?} at {at:?}, {now:?}"
                );
                races += u32::from(found);
                passed += 1;
                if expected {
                    break;
                }
            }
        }
        assert!(races > 1000 && passed > 10_000, "{races} races, {passed} accesses");
    }
}
