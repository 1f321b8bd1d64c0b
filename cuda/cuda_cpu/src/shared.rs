//! A block's shared memory and its race detector.
//!
//! For every byte, the detector records the last store and some of the loads and atomics, each with
//! its time. A time is a pair: the number of barriers that the block has passed, and the number of
//! `sync_warp`s that the thread's warp has passed since. Two accesses by different threads are
//! ordered if a barrier lies between them or, within one warp, if a chain of `sync_warp`s leads
//! from one lane to the other. The first access after a barrier therefore discards the history.
//! Adjacent bytes that were always accessed together form a granule, which has one entry.
//!
//! One store is enough: every older store is ordered before it, because the newer one would have
//! been reported as a race otherwise. The detector records three loads and three atomics (see
//! [`Recent`]), which is enough to find every race if warps synchronise as a whole. If only part of
//! a warp synchronises, a race with an older load of the same warp can go unnoticed. Every reported
//! race is real.

use std::{iter, ptr};

use crate::fault::{AccessKind, FaultKind};
use crate::{POISON, WARP_SIZE};

/// The maximum size of a granule in bytes: the widest access of a GPU.
const MAX_GRANULE: usize = 16;

/// The largest amount of shared memory in bytes that a block can have on any GPU (compute
/// capability 9.0).
const MAX_SHARED: usize = 227 << 10;

/// A region of a block's shared memory.
#[derive(Clone, Copy, Debug)]
pub struct SharedRegion {
    /// The first byte, aligned to 16 bytes.
    pub base: *mut u8,
    /// The size in bytes.
    pub bytes: usize,
    /// The index of the region in its block.
    pub(crate) id: usize,
    /// The serial number of the block. The pointer is invalid in other blocks.
    pub(crate) block: u64,
}

/// The running thread and the current time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now<'a> {
    pub(crate) thread: u32,
    /// The number of barriers passed.
    pub(crate) block_epoch: u32,
    /// Masks of the `sync_warp`s that the thread's warp has passed since the last barrier.
    pub(crate) syncs: &'a [u32],
}

impl Now<'_> {
    fn warp(&self) -> u32 {
        self.thread / WARP_SIZE
    }

    /// Returns whether `earlier`, an access since the last barrier, is by another thread and is not
    /// ordered before an access by the running thread.
    #[inline]
    fn races_with(&self, earlier: Access) -> bool {
        if earlier.thread == self.thread || earlier.is_none() {
            return false;
        }
        earlier.warp() != self.warp() || !self.is_synced_with(earlier)
    }

    /// Returns whether a chain of `sync_warp`s leads from the lane of `earlier`, after that access,
    /// to the lane of the running thread.
    fn is_synced_with(&self, earlier: Access) -> bool {
        let between = &self.syncs[earlier.warp_epoch as usize..];
        let reached = between.iter().fold(1 << (earlier.thread % WARP_SIZE), |lanes, mask| {
            lanes | if lanes & mask == 0 { 0 } else { *mask }
        });
        reached & 1 << (self.thread % WARP_SIZE) != 0
    }
}

/// An access by one thread since the last barrier, or [`NONE`](Self::NONE).
#[derive(Clone, Copy, Debug)]
struct Access {
    thread: u32,
    /// The number of `sync_warp`s that the warp had passed since the last barrier.
    warp_epoch: u32,
}

impl Access {
    const NONE: Self = Self { thread: u32::MAX, warp_epoch: 0 };

    fn is_none(self) -> bool {
        self.thread == u32::MAX
    }

    fn warp(self) -> u32 {
        self.thread / WARP_SIZE
    }
}

/// Three accesses of one kind: the newest, the newest by another thread, and the newest by another
/// warp.
///
/// A race requires an access by another warp, or by another thread of the same warp since its last
/// `sync_warp`. These three accesses decide this as well as the full history would. If all of them
/// belong to the warp of the accessing thread, so do all other accesses of this kind, and the first
/// two are the newest by two different threads. Otherwise one of the three belongs to another warp.
#[derive(Clone, Copy)]
struct Recent {
    newest: Access,
    other_thread: Access,
    other_warp: Access,
}

impl Recent {
    const NONE: Self =
        Self { newest: Access::NONE, other_thread: Access::NONE, other_warp: Access::NONE };

    #[inline]
    fn note(&mut self, access: Access) {
        if self.newest.thread != access.thread && !self.newest.is_none() {
            self.other_thread = self.newest;
            if self.newest.warp() != access.warp() {
                self.other_warp = self.newest;
            }
        }
        self.newest = access;
    }

    #[inline]
    fn racing(&self, now: &Now<'_>) -> Option<u32> {
        let all = [self.newest, self.other_thread, self.other_warp];
        all.into_iter().find(|access| now.races_with(*access)).map(|access| access.thread)
    }
}

/// The accesses to one granule since barrier `block_epoch`.
#[derive(Clone, Copy)]
struct Shadow {
    block_epoch: u32,
    store: Access,
    loads: Recent,
    atomics: Recent,
}

impl Shadow {
    const fn new(block_epoch: u32) -> Self {
        Self { block_epoch, store: Access::NONE, loads: Recent::NONE, atomics: Recent::NONE }
    }

    /// Records an access. Returns the kind and thread of an earlier access that it races with.
    #[inline]
    fn note(&mut self, kind: AccessKind, now: &Now<'_>) -> Option<(AccessKind, u32)> {
        if self.block_epoch != now.block_epoch {
            // The barrier orders all earlier accesses before this one.
            *self = Self::new(now.block_epoch);
        }
        let store = Some(self.store.thread).filter(|_| now.races_with(self.store));
        let mut racing = store.map(|thread| (AccessKind::Store, thread));
        if kind != AccessKind::Load {
            racing = racing.or_else(|| Some((AccessKind::Load, self.loads.racing(now)?)));
        }
        if kind != AccessKind::Atomic {
            racing = racing.or_else(|| Some((AccessKind::Atomic, self.atomics.racing(now)?)));
        }
        let access = Access { thread: now.thread, warp_epoch: now.syncs.len() as u32 };
        match kind {
            AccessKind::Load => self.loads.note(access),
            AccessKind::Store => self.store = access,
            AccessKind::Atomic => self.atomics.note(access),
        }
        racing
    }
}

struct Region {
    name: &'static str,
    words: Box<[u128]>,
    bytes: usize,
    /// The accesses to each granule; empty before the first access.
    shadow: Vec<Shadow>,
    /// The size of a granule in bytes, a power of two. All accesses so far covered whole granules,
    /// so the bytes of a granule have the same history.
    granule: usize,
}

impl Region {
    /// Splits every granule into granules of `granule` bytes.
    #[cold]
    fn refine(&mut self, granule: usize, block_epoch: u32) {
        if self.shadow.is_empty() {
            self.shadow = vec![Shadow::new(block_epoch); self.bytes.div_ceil(granule)];
        } else {
            let parts = self.granule / granule;
            let finer = self.shadow.iter().flat_map(|shadow| iter::repeat_n(*shadow, parts));
            self.shadow = finer.collect();
        }
        self.granule = granule;
    }
}

/// The shared memory of one block, allocated on demand.
#[derive(Default)]
pub(crate) struct SharedMemory {
    regions: Vec<Region>,
}

impl SharedMemory {
    /// Returns the region that is identified by `name` and `bytes`, and allocates it on the first
    /// call of the block. Fails if the block's regions would exceed [`MAX_SHARED`].
    pub(crate) fn region(
        &mut self,
        name: &'static str,
        bytes: usize,
        block: u64,
    ) -> Result<SharedRegion, FaultKind> {
        let is_it = |r: &Region| (ptr::eq(r.name, name) || r.name == name) && r.bytes == bytes;
        let id = match self.regions.iter().position(is_it) {
            Some(id) => id,
            None => self.make(name, bytes)?,
        };
        let region = &mut self.regions[id];
        Ok(SharedRegion { base: region.words.as_mut_ptr().cast(), bytes: region.bytes, id, block })
    }

    /// Allocates a region and returns its index.
    fn make(&mut self, array: &'static str, bytes: usize) -> Result<usize, FaultKind> {
        let total = self.bytes().saturating_add(bytes);
        if total > MAX_SHARED {
            return Err(FaultKind::SharedTooLarge { array, bytes: total, limit: MAX_SHARED });
        }
        let word = u128::from_ne_bytes([POISON; 16]);
        let words = vec![word; bytes.div_ceil(16)].into_boxed_slice();
        self.regions.push(Region { name: array, words, bytes, shadow: Vec::new(), granule: 1 });
        Ok(self.regions.len() - 1)
    }

    /// Returns the size of all regions so far in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.regions.iter().map(|region| region.bytes).sum()
    }

    /// Returns whether an address is in one of the regions.
    pub(crate) fn contains(&self, address: usize) -> bool {
        self.regions.iter().any(|region| {
            let first = region.words.as_ptr().addr();
            (first..first + region.bytes).contains(&address)
        })
    }

    /// Records an access to `size` bytes at `offset`. Returns the race that it causes, if any.
    pub(crate) fn note(
        &mut self,
        id: usize,
        (offset, size): (usize, usize),
        kind: AccessKind,
        now: &Now<'_>,
    ) -> Option<FaultKind> {
        let region = &mut self.regions[id];
        if region.shadow.is_empty() || (offset | size) & (region.granule - 1) != 0 {
            let granule = 1 << (offset | size).trailing_zeros().min(MAX_GRANULE.ilog2());
            region.refine(granule, now.block_epoch);
        }
        let first = offset / region.granule;
        let shadow = &mut region.shadow[first..first + size / region.granule];
        for (i, shadow) in shadow.iter_mut().enumerate() {
            if let Some((other_access, other)) = shadow.note(kind, now) {
                return Some(FaultKind::SharedRace {
                    access: kind,
                    other_access,
                    other,
                    offset: offset + i * region.granule,
                    array: region.name,
                });
            }
        }
        None
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
            let mut memory = SharedMemory::default();
            let region = memory.region("array", 64, 1).unwrap();
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
                let now = Now { thread, block_epoch, syncs: &syncs[(thread / WARP_SIZE) as usize] };
                let expected = everything.races(at, kind, &now);
                let found = memory.note(region.id, at, kind, &now).is_some();
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
