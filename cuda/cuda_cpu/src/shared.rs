//! A block's shared memory and the race detector that watches it.
//!
//! The detector keeps, for every byte, the last store and a few of the loads and of the atomics after
//! it, together with the time of their access. Time is a pair: the number of barriers the block has
//! passed, and the number of `sync_warp`s the thread's warp has passed since. Two accesses by
//! different threads are ordered if a barrier lies between them or, within one warp, a chain of
//! `sync_warp`s that leads from one lane to the other.
//!
//! One store is enough: an earlier one that is not ordered before it was reported then. Of loads
//! and atomics three are kept, see [`Recent`]: enough to find every race among whole warps. Where a
//! warp synchronises in parts, a race with an older load of the same warp can go unnoticed; a race
//! that is reported is always one.

use crate::WARP_SIZE;
use crate::fault::AccessKind;

/// Uninitialised shared memory is filled with this, so that a float read too early is a NaN.
const POISON: u8 = 0xff;

/// A region of a block's shared memory, as handed to a kernel.
#[derive(Clone, Copy, Debug)]
pub struct SharedRegion {
    /// First byte, aligned to 16.
    pub base: *mut u8,
    /// Size in bytes.
    pub bytes: usize,
    /// Which region of the block; a handle for the race detector.
    pub(crate) id: usize,
}

/// One thread's access: who, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) thread: u32,
    /// Barriers passed.
    pub(crate) block_epoch: u32,
    /// `sync_warp`s that the warp has passed since the last barrier.
    pub(crate) warp_epoch: u32,
    pub(crate) kind: AccessKind,
}

impl Access {
    fn warp(self) -> u32 {
        self.thread / WARP_SIZE
    }

    fn lane_bit(self) -> u32 {
        1 << (self.thread % WARP_SIZE)
    }

    /// Whether nothing orders `self` and the earlier access `other`. `syncs` are the masks of the
    /// `sync_warp`s that the warp of `self` has passed since the last barrier.
    fn races_with(self, other: Self, syncs: &[u32]) -> bool {
        use AccessKind::{Atomic, Load};
        let harmless = matches!((self.kind, other.kind), (Load, Load) | (Atomic, Atomic));
        if harmless || self.thread == other.thread || self.block_epoch != other.block_epoch {
            return false;
        }
        if self.warp() != other.warp() {
            return true;
        }
        let between = &syncs[other.warp_epoch as usize..];
        let reached = between.iter().fold(other.lane_bit(), |lanes, mask| {
            lanes | if lanes & mask == 0 { 0 } else { *mask }
        });
        reached & self.lane_bit() == 0
    }
}

/// Of the accesses of one kind, the newest, the newest by another thread and the newest by another
/// warp than the newest.
///
/// Is there an access by another warp than a given one, or by another thread of the given warp since
/// its last `sync_warp`? These three answer it as all would: if the first two are of the given warp,
/// they are its last two; if not, one of the three is of another warp.
#[derive(Clone, Copy, Default)]
struct Recent {
    newest: Option<Access>,
    other_thread: Option<Access>,
    other_warp: Option<Access>,
}

impl Recent {
    fn note(&mut self, access: Access) {
        if self.newest.is_some_and(|n| n.thread != access.thread) {
            self.other_thread = self.newest;
        }
        if self.newest.is_some_and(|n| n.warp() != access.warp()) {
            self.other_warp = self.newest;
        }
        self.newest = Some(access);
    }

    fn iter(self) -> impl Iterator<Item = Access> {
        [self.newest, self.other_thread, self.other_warp].into_iter().flatten()
    }
}

#[derive(Clone, Copy, Default)]
struct Shadow {
    store: Option<Access>,
    loads: Recent,
}

struct Region {
    name: &'static str,
    words: Box<[u128]>,
    bytes: usize,
    /// One a byte, once the first access is watched.
    shadow: Vec<Shadow>,
    /// One a byte, once there is an atomic.
    atomics: Vec<Recent>,
}

impl Region {
    /// Notes the access to one byte and returns an earlier one that it races with.
    fn note(&mut self, at: usize, access: Access, syncs: &[u32]) -> Option<Access> {
        let shadow = &mut self.shadow[at];
        let mut atomics = self.atomics.get_mut(at);
        let earlier = (shadow.store.into_iter())
            .chain(shadow.loads.iter())
            .chain(atomics.iter().flat_map(|atomics| atomics.iter()))
            .find(|&other| access.races_with(other, syncs));
        match (access.kind, &mut atomics) {
            (AccessKind::Load, _) => shadow.loads.note(access),
            (AccessKind::Atomic, Some(atomics)) => atomics.note(access),
            (AccessKind::Atomic, None) | (AccessKind::Store, _) => shadow.store = Some(access),
        }
        earlier
    }
}

/// All shared memory of one block, allocated as the kernel asks for it.
#[derive(Default)]
pub(crate) struct SharedMemory {
    regions: Vec<Region>,
}

impl SharedMemory {
    /// The region declared at `name`, made on the first call of the block.
    pub(crate) fn region(&mut self, name: &'static str, bytes: usize) -> SharedRegion {
        let id =
            self.regions.iter().position(|r| r.name == name && r.bytes == bytes).unwrap_or_else(
                || {
                    let word = u128::from_ne_bytes([POISON; 16]);
                    let words = vec![word; bytes.div_ceil(16)].into_boxed_slice();
                    self.regions.push(Region {
                        name,
                        words,
                        bytes,
                        shadow: Vec::new(),
                        atomics: Vec::new(),
                    });
                    self.regions.len() - 1
                },
            );
        let region = &mut self.regions[id];
        SharedRegion { base: region.words.as_mut_ptr().cast(), bytes: region.bytes, id }
    }

    /// Notes an access to `size` bytes at `offset`; returns the race it makes, as the offset, the
    /// earlier access and the region's name. `syncs` as in [`Access::races_with`].
    pub(crate) fn note(
        &mut self,
        id: usize,
        offset: usize,
        size: usize,
        access: Access,
        syncs: &[u32],
    ) -> Option<(usize, Access, &'static str)> {
        let region = &mut self.regions[id];
        region.shadow.resize(region.bytes, Shadow::default());
        if access.kind == AccessKind::Atomic {
            region.atomics.resize(region.bytes, Recent::default());
        }
        (offset..offset + size).find_map(|at| {
            let other = region.note(at, access, syncs)?;
            Some((at, other, region.name))
        })
    }
}
