//! The cost of one request: the accesses of the lanes of a warp that execute together.
//!
//! The rules come from measurements of single requests on an H100 under Nsight Compute, which
//! `cuda/doc/profile.md` describes.
//!
//! - Global memory transfers sectors of 32 bytes. A load or store takes each sector once. An atomic
//!   takes a sector as often as its most frequent address.
//! - Shared memory has 32 banks of 4 bytes. A wavefront reads or writes one word of each bank, for
//!   any number of lanes. The lanes of an 8-byte access take turns in 2 groups of 16, and those of
//!   a 16-byte access in 4 groups of 8. Loads halve the number of groups if all lanes read the same
//!   address as their neighbour, or as the lane 2 further on. An atomic takes one wavefront for
//!   each of its lanes in a bank.

use super::{Counts, Operation};
use crate::WARP_SIZE;

/// The size of a sector in bytes.
const SECTOR: u64 = 32;
/// The size of a cache line in bytes.
const LINE: u64 = 128;
/// The number of banks of shared memory, each of 4 bytes.
const BANKS: usize = 32;

/// The accesses of the lanes in `mask`, each of `bytes` bytes (at most 16). The addresses of other
/// lanes have no meaning. An address in shared memory is an offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) operation: Operation,
    pub(super) bytes: u32,
    pub(super) mask: u32,
    pub(super) addresses: &'a [u64; WARP_SIZE as usize],
}

/// Addresses in ascending order, without a heap allocation.
struct Sorted {
    items: [u64; WARP_SIZE as usize],
    len: usize,
}

impl Sorted {
    fn new(items: impl Iterator<Item = u64>) -> Self {
        let mut sorted = Self { items: [0; WARP_SIZE as usize], len: 0 };
        for item in items {
            sorted.items[sorted.len] = item;
            sorted.len += 1;
        }
        sorted.items[..sorted.len].sort_unstable();
        sorted
    }

    fn items(&self) -> &[u64] {
        &self.items[..self.len]
    }

    /// Returns the number of different values of `key`, which must not decrease.
    fn distinct(&self, key: impl Fn(u64) -> u64) -> u64 {
        self.items().chunk_by(|a, b| key(*a) == key(*b)).count() as u64
    }
}

impl Request<'_> {
    /// Returns the counts of this request. `present` contains the lanes of the warp that have a
    /// thread.
    pub(super) fn counts(&self, present: u32) -> Counts {
        let mut counts = Counts {
            requests: 1,
            lanes: self.mask.count_ones().into(),
            partial: u64::from(self.mask != present),
            ..Counts::default()
        };
        match self.operation {
            Operation::GlobalLoad | Operation::GlobalStore | Operation::GlobalAtomic => {
                self.add_sectors(&mut counts);
            }
            Operation::SharedAtomic => {
                counts.wavefronts = self.lanes_of_a_bank();
                counts.ideal_wavefronts = 1;
            }
            Operation::SharedLoad | Operation::SharedStore => self.add_wavefronts(&mut counts),
            Operation::Barrier | Operation::WarpOperation => {}
        }
        counts
    }

    fn lanes(&self) -> impl Iterator<Item = usize> {
        let mask = self.mask;
        (0..WARP_SIZE as usize).filter(move |lane| mask & 1 << lane != 0)
    }

    fn add_sectors(&self, counts: &mut Counts) {
        let sorted = Sorted::new(self.lanes().map(|lane| self.addresses[lane]));
        let bytes = sorted.distinct(|address| address) * u64::from(self.bytes);
        counts.ideal_sectors = bytes.div_ceil(SECTOR);
        counts.lines = sorted.distinct(|address| address / LINE);
        let sectors = sorted.items().chunk_by(|a, b| a / SECTOR == b / SECTOR);
        counts.sectors = match self.operation {
            Operation::GlobalAtomic => sectors.map(most_frequent).sum(),
            _ => sectors.count() as u64,
        };
    }

    /// Returns the largest number of lanes whose first word is in the same bank.
    fn lanes_of_a_bank(&self) -> u64 {
        let mut lanes = [0; BANKS];
        self.lanes().for_each(|lane| lanes[(self.addresses[lane] / 4) as usize % BANKS] += 1);
        lanes.into_iter().max().unwrap_or(0)
    }

    fn add_wavefronts(&self, counts: &mut Counts) {
        let groups = match self.bytes {
            16 => 4,
            8 => 2,
            _ => 1,
        };
        let merges = groups > 1 && self.operation == Operation::SharedLoad && self.repeats();
        let groups = if merges { groups / 2 } else { groups };
        let size = WARP_SIZE as usize / groups;
        for group in 0..groups {
            let lanes = self.lanes().filter(|lane| lane / size == group);
            let sorted = Sorted::new(lanes.map(|lane| self.addresses[lane]));
            if sorted.len > 0 {
                counts.wavefronts += self.words_of_a_bank(&sorted);
                counts.ideal_wavefronts += 1;
            }
        }
    }

    /// Returns whether each lane reads the same address as the lane whose index differs in bit 0,
    /// or each as the lane whose index differs in bit 1. A lane without a partner counts as equal.
    fn repeats(&self) -> bool {
        [1, 2].into_iter().any(|bit| {
            self.lanes().all(|lane| {
                let other = lane ^ bit;
                self.mask & 1 << other == 0 || self.addresses[other] == self.addresses[lane]
            })
        })
    }

    /// Returns the largest number of different words in the same bank.
    fn words_of_a_bank(&self, sorted: &Sorted) -> u64 {
        let mut words = [0; BANKS];
        let mut last = None;
        for address in sorted.items() {
            for word in address / 4..(address + u64::from(self.bytes)).div_ceil(4) {
                // Addresses ascend, so a word that repeats is the last one or before it.
                if last.is_none_or(|last| word > last) {
                    words[word as usize % BANKS] += 1;
                    last = Some(word);
                }
            }
        }
        words.into_iter().max().unwrap_or(0)
    }
}

/// Returns the number of times that the most frequent of the ascending addresses occurs.
fn most_frequent(addresses: &[u64]) -> u64 {
    addresses.chunk_by(|a, b| a == b).map(|same| same.len() as u64).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u32 = u32::MAX;

    fn counts(operation: Operation, bytes: u32, mask: u32, index: impl Fn(u64) -> u64) -> Counts {
        let addresses = std::array::from_fn(|lane| index(lane as u64) * u64::from(bytes));
        Request { operation, bytes, mask, addresses: &addresses }.counts(ALL)
    }

    /// Returns the sectors, the ideal sectors and the cache lines.
    fn sectors(
        operation: Operation,
        bytes: u32,
        mask: u32,
        index: impl Fn(u64) -> u64,
    ) -> [u64; 3] {
        let counts = counts(operation, bytes, mask, index);
        [counts.sectors, counts.ideal_sectors, counts.lines]
    }

    /// Returns the wavefronts and the bank conflicts.
    fn waves(operation: Operation, bytes: u32, mask: u32, index: impl Fn(u64) -> u64) -> [u64; 2] {
        let counts = counts(operation, bytes, mask, index);
        [counts.wavefronts, counts.conflicts()]
    }

    #[test]
    fn global_accesses_take_each_sector_once() {
        use Operation::{GlobalLoad as Load, GlobalStore as Store};
        assert_eq!(sectors(Load, 4, ALL, |i| i), [4, 4, 1]);
        assert_eq!(sectors(Load, 4, ALL, |i| i + 1), [5, 4, 2]);
        assert_eq!(sectors(Load, 4, ALL, |i| 2 * i), [8, 4, 2]);
        assert_eq!(sectors(Store, 4, ALL, |i| 32 * i), [32, 4, 32]);
        assert_eq!(sectors(Load, 4, ALL, |_| 7), [1, 1, 1]);
        assert_eq!(sectors(Store, 16, ALL, |i| i), [16, 16, 4]);
        assert_eq!(sectors(Load, 16, ALL, |i| i / 4), [4, 4, 1]);
        assert_eq!(sectors(Load, 1, ALL, |i| 8 * i), [8, 1, 2]);
        assert_eq!(sectors(Load, 4, 0xffff, |i| i), [2, 2, 1]);
        assert_eq!(sectors(Load, 4, 0x8000_0000, |i| i), [1, 1, 1]);
    }

    #[test]
    fn global_atomics_on_one_address_take_turns() {
        let of = |index: fn(u64) -> u64| sectors(Operation::GlobalAtomic, 4, ALL, index)[0];
        assert_eq!(of(|i| i), 4);
        assert_eq!(of(|_| 0), 32);
        assert_eq!(of(|i| i / 8), 8);
        assert_eq!(of(|i| i % 8), 4);
        assert_eq!(of(|i| 8 * (i % 4)), 32);
    }

    #[test]
    fn shared_words_of_one_bank_take_turns() {
        use Operation::{SharedLoad as Load, SharedStore as Store};
        for operation in [Load, Store] {
            assert_eq!(waves(operation, 4, ALL, |i| i), [1, 0]);
            assert_eq!(waves(operation, 4, ALL, |i| 2 * i), [2, 1]);
            assert_eq!(waves(operation, 4, ALL, |i| 3 * i), [1, 0]);
            assert_eq!(waves(operation, 4, ALL, |i| 32 * i), [32, 31]);
            assert_eq!(waves(operation, 4, ALL, |i| 33 * i), [1, 0]);
            assert_eq!(waves(operation, 4, ALL, |_| 5), [1, 0]);
            assert_eq!(waves(operation, 4, 0xffff, |i| 32 * i), [16, 15]);
            assert_eq!(waves(operation, 1, ALL, |i| 32 * i), [8, 7]);
            assert_eq!(waves(operation, 2, ALL, |i| 4 * i), [2, 1]);
        }
    }

    #[test]
    fn lanes_of_wide_shared_accesses_take_turns_in_groups() {
        use Operation::{SharedLoad as Load, SharedStore as Store};
        assert_eq!(waves(Load, 8, ALL, |i| i), [2, 0]);
        assert_eq!(waves(Load, 8, ALL, |i| 2 * i), [4, 2]);
        assert_eq!(waves(Load, 8, 0xffff, |i| i), [1, 0]);
        assert_eq!(waves(Load, 16, ALL, |i| i), [4, 0]);
        assert_eq!(waves(Store, 16, ALL, |i| 2 * i), [8, 4]);
        assert_eq!(waves(Store, 16, 0x1, |i| i), [1, 0]);
        // Words 0 to 15 and 32 to 47 are in the same banks, but in different groups.
        assert_eq!(waves(Load, 16, 0xf0f, |i| i), [2, 0]);
    }

    #[test]
    fn wide_loads_of_repeated_addresses_have_half_the_groups() {
        use Operation::{SharedLoad as Load, SharedStore as Store};
        assert_eq!(waves(Load, 8, ALL, |_| 0), [1, 0]);
        assert_eq!(waves(Load, 8, ALL, |i| i / 2), [1, 0]);
        assert_eq!(waves(Load, 8, ALL, |i| i % 2), [1, 0]);
        assert_eq!(waves(Load, 8, ALL, |i| i % 4), [2, 0]);
        assert_eq!(waves(Load, 16, ALL, |i| i / 4), [2, 0]);
        assert_eq!(waves(Load, 16, ALL, |i| i % 8), [4, 0]);
        assert_eq!(waves(Store, 8, ALL, |i| i / 2), [2, 0]);
        assert_eq!(waves(Store, 16, ALL, |_| 0), [4, 0]);
    }

    #[test]
    fn shared_atomics_take_one_wavefront_per_lane_of_a_bank() {
        let of = |index: fn(u64) -> u64| waves(Operation::SharedAtomic, 4, ALL, index);
        assert_eq!(of(|i| i), [1, 0]);
        assert_eq!(of(|_| 0), [32, 31]);
        assert_eq!(of(|i| i / 8), [8, 7]);
        assert_eq!(of(|i| i % 2), [16, 15]);
        assert_eq!(of(|i| 32 * i), [32, 31]);
    }

    #[test]
    fn a_request_without_all_lanes_of_the_warp_is_partial() {
        let addresses = [0; 32];
        let request = |mask| {
            let operation = Operation::Barrier;
            Request { operation, bytes: 0, mask, addresses: &addresses }
        };
        let of = |mask, present| {
            let counts = request(mask).counts(present);
            [counts.requests, counts.lanes, counts.partial]
        };
        assert_eq!(of(ALL, ALL), [1, 32, 0]);
        assert_eq!(of(0xffff, ALL), [1, 16, 1]);
        assert_eq!(of(0xffff, 0xffff), [1, 16, 0]);
    }
}
