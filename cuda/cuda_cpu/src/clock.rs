//! The order between blocks: which accesses of other blocks happened before the running block's.
//!
//! Blocks synchronise with a fence and an atomic: one block writes its data, executes a fence and
//! sets a flag atomically; another block reads the flag atomically, executes a fence and reads the
//! data. A [`Clock`] records, for each other block, the last barrier epoch whose accesses are known
//! to have happened before. An atomic publishes the block's clock at its address if the block
//! executed a fence before, and merges the clock that others have published there. This ignores that
//! a fence is also needed after the atomic, and which thread executed it, so the clock may contain
//! more than a GPU guarantees. It never contains less: a race that it does not excuse is real.

use std::collections::BTreeMap;

/// The accesses of other blocks that happened before the running block's next access.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    /// The last barrier epoch of each block that is contained.
    blocks: BTreeMap<u64, u32>,
}

impl Clock {
    /// Returns whether the accesses that `block` made in barrier epoch `epoch` are contained.
    pub(crate) fn contains(&self, block: u64, epoch: u32) -> bool {
        self.blocks.get(&block).is_some_and(|last| epoch <= *last)
    }

    /// Adds the accesses that `block` made up to barrier epoch `epoch`.
    pub(crate) fn add(&mut self, block: u64, epoch: u32) {
        let last = self.blocks.entry(block).or_default();
        *last = epoch.max(*last);
    }

    /// Adds everything that `other` contains.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (block, epoch) in &other.blocks {
            self.add(*block, *epoch);
        }
    }
}
