//! A block's shared memory: its regions, each with a race detector.

use std::ptr;

use crate::arrays::Array;
use crate::fault::{AccessKind, FaultKind};
use crate::shadow::{Conflict, Now, Shadow};

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

struct Region {
    name: &'static str,
    array: Array,
    bytes: usize,
    shadow: Shadow,
}

/// The shared memory of one block, allocated on demand.
#[derive(Default)]
pub(crate) struct SharedMemory {
    regions: Vec<Region>,
    /// The first read of bytes that no thread had written: the thread and the fault.
    unwritten: Option<(u32, FaultKind)>,
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
        let region = &self.regions[id];
        Ok(SharedRegion { base: region.array.start(), bytes: region.bytes, id, block })
    }

    /// Allocates a region and returns its index.
    fn make(&mut self, name: &'static str, bytes: usize) -> Result<usize, FaultKind> {
        let total = self.bytes().saturating_add(bytes);
        if total > MAX_SHARED {
            let (array, bytes) = (name, total);
            return Err(FaultKind::SharedTooLarge { array, bytes, limit: MAX_SHARED });
        }
        let (array, shadow) = (Array::new(bytes), Shadow::new(bytes, true));
        self.regions.push(Region { name, array, bytes, shadow });
        Ok(self.regions.len() - 1)
    }

    /// Returns the size of all regions so far in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.regions.iter().map(|region| region.bytes).sum()
    }

    /// Returns the index of the region that contains an address, and the offset in it.
    pub(crate) fn find(&self, address: usize) -> Option<[usize; 2]> {
        let region = self.regions.iter().position(|region| region.contains(address))?;
        Some([region, address - self.regions[region].array.start().addr()])
    }

    /// Stops reporting reads of unwritten bytes in the region that contains `address`.
    pub(crate) fn assume_written(&mut self, address: usize) {
        if let Some(region) = self.regions.iter_mut().find(|region| region.contains(address)) {
            region.shadow.assume_written();
        }
    }

    /// Returns and forgets the first read of bytes that no thread had written.
    ///
    /// The block reports it at the next barrier or at its end. Until then, another thread may write
    /// the bytes. That is a race, whose report contains both accesses.
    pub(crate) fn take_unwritten(&mut self) -> Option<(u32, FaultKind)> {
        self.unwritten.take()
    }

    /// Treats `size` bytes at `offset` as unwritten, because an asynchronous copy will write them.
    pub(crate) fn forget_writes(&mut self, id: usize, offset: usize, size: usize) {
        self.regions[id].shadow.forget_writes(offset, size);
    }

    /// Records an access to `size` bytes at `offset`. Returns the race that it causes, if any.
    #[inline]
    pub(crate) fn note(
        &mut self,
        id: usize,
        offset: usize,
        size: usize,
        access: AccessKind,
        now: &Now<'_>,
    ) -> Option<FaultKind> {
        let region = &mut self.regions[id];
        let conflict = region.shadow.note(offset, size, access, now)?;
        let fault = region.fault(conflict, access, now);
        if matches!(conflict, Conflict::Race { .. }) {
            return Some(fault);
        }
        self.unwritten.get_or_insert((now.thread, fault));
        None
    }
}

impl Region {
    fn contains(&self, address: usize) -> bool {
        let first = self.array.start().addr();
        (first..first + self.bytes).contains(&address)
    }

    #[cold]
    fn fault(&self, conflict: Conflict, access: AccessKind, now: &Now<'_>) -> FaultKind {
        let (array, place) = (self.name, now.place);
        match conflict {
            Conflict::Race { offset, other_access, other } => FaultKind::SharedRace {
                access,
                place,
                other_access,
                other: other.thread,
                other_place: other.place,
                offset,
                array,
            },
            Conflict::Uninitialised { offset } => {
                FaultKind::Uninitialised { access, place, offset, array }
            }
        }
    }
}
