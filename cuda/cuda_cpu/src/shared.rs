//! A block's shared memory and the race detector that watches it.
//!
//! The detector keeps, for every byte, the last writer and the last two distinct readers together
//! with the time of their access. Time is a pair: the number of barriers the block has passed and
//! the number of `sync_warp`s the thread's warp has passed. Two accesses by different threads are
//! ordered if a barrier lies between them, or, within one warp, a `sync_warp`. Two readers are
//! enough: a later writer differs from at least one of them.

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
    pub(crate) block_epoch: u32,
    pub(crate) warp_epoch: u32,
    pub(crate) kind: AccessKind,
}

impl Access {
    /// Whether nothing orders `self` and the earlier access `other`.
    fn races_with(self, other: Self) -> bool {
        use AccessKind::{Atomic, Load};
        let harmless = matches!((self.kind, other.kind), (Load, Load) | (Atomic, Atomic));
        let same_warp = self.thread / crate::WARP_SIZE == other.thread / crate::WARP_SIZE;
        let concurrent = self.block_epoch == other.block_epoch
            && (!same_warp || self.warp_epoch == other.warp_epoch);
        self.thread != other.thread && !harmless && concurrent
    }
}

#[derive(Clone, Copy, Default)]
struct Shadow {
    writer: Option<Access>,
    readers: [Option<Access>; 2],
}

impl Shadow {
    /// Notes the access and returns an earlier one that it races with.
    fn note(&mut self, access: Access) -> Option<Access> {
        let earlier = [self.writer, self.readers[0], self.readers[1]];
        if access.kind == AccessKind::Load {
            if self.readers[0].is_none_or(|r| r.thread != access.thread) {
                self.readers[1] = self.readers[0];
            }
            self.readers[0] = Some(access);
        } else {
            self.writer = Some(access);
        }
        earlier.into_iter().flatten().find(|&other| access.races_with(other))
    }
}

struct Region {
    name: &'static str,
    words: Box<[u128]>,
    bytes: usize,
    shadow: Vec<Shadow>,
}

/// All shared memory of one block, allocated as the kernel asks for it.
#[derive(Default)]
pub(crate) struct SharedMemory {
    regions: Vec<Region>,
}

impl SharedMemory {
    /// The region declared at `name`, made on the first call of the block.
    pub(crate) fn region(&mut self, name: &'static str, bytes: usize) -> SharedRegion {
        let id = self.regions.iter().position(|r| r.name == name).unwrap_or_else(|| {
            let word = u128::from_ne_bytes([POISON; 16]);
            let words = vec![word; bytes.div_ceil(16)].into_boxed_slice();
            self.regions.push(Region { name, words, bytes, shadow: Vec::new() });
            self.regions.len() - 1
        });
        let region = &mut self.regions[id];
        SharedRegion { base: region.words.as_mut_ptr().cast(), bytes: region.bytes, id }
    }

    /// Notes an access to `size` bytes at `offset`; returns the race it makes, as the offset, the
    /// earlier access and the region's name.
    pub(crate) fn note(
        &mut self,
        id: usize,
        offset: usize,
        size: usize,
        access: Access,
    ) -> Option<(usize, Access, &'static str)> {
        let region = &mut self.regions[id];
        region.shadow.resize(region.bytes, Shadow::default());
        let shadow = region.shadow[offset..offset + size].iter_mut();
        let name = region.name;
        (offset..)
            .zip(shadow)
            .find_map(|(at, shadow)| shadow.note(access).map(|other| (at, other, name)))
    }
}
