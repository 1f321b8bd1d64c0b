//! Profiles: the memory requests of kernels, counted per source line.
//!
//! A GPU executes the 32 lanes of a warp together, so their accesses at one place form one request.
//! The cost of a request depends on the addresses: how many sectors of global memory it transfers,
//! and how many words of one bank of shared memory it needs. The simulator sees every address. It
//! groups the accesses into requests (`matching.rs`) and counts their costs (`request.rs`).
//!
//! - [`Profile::record`] profiles the launches of a closure.
//! - The environment variable `CUDA_CPU_PROFILE` names the file to which a process writes its
//!   profile when it exits, if a kernel was launched: as JSON if its extension is `.json`, or else as
//!   a table. `-` is stderr, and `%p` in the name stands for the process id. A process that a signal
//!   ends writes no file.
//!
//! A profile contains counts and no times. It counts the accesses in the source through the types
//! of `cuda_std`; a compiler can merge or remove some of them. It does not contain accesses through
//! references and raw pointers, constant memory, textures, the stack, and other instructions. A
//! launch that fails, or that a kernel starts, is not counted.
//!
//! ```
//! use cuda_cpu::profile::{Operation, Profile};
//! use cuda_cpu::{AccessKind, Launch, global_access, launch, thread_rank};
//!
//! let config = Launch::new("every_second", [1, 1, 1], [32, 1, 1]);
//! // Each thread loads an `f32`; the loads are 8 bytes apart.
//! let thread = || global_access(8 * thread_rank() as usize, [4, 4], AccessKind::Load);
//! let (result, profile) = Profile::record(|| launch(&config, &thread));
//! result?;
//! let loads = profile.kernels["every_second"].total(Operation::GlobalLoad);
//! assert_eq!((loads.requests, loads.sectors, loads.ideal_sectors), (1, 8, 4));
//! # Ok::<(), cuda_cpu::Fault>(())
//! ```

mod collect;
mod json;
mod matching;
mod request;
mod table;
mod trace;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

pub(crate) use collect::Collector;
pub use collect::is_wanted;
pub(crate) use trace::Trace;

use crate::fault::AccessKind;

/// The kind of a request: an access to memory, or a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// A load from global memory.
    GlobalLoad,
    /// A store to global memory.
    GlobalStore,
    /// An atomic operation on global memory, except a load.
    GlobalAtomic,
    /// A load from shared memory.
    SharedLoad,
    /// A store to shared memory.
    SharedStore,
    /// An atomic operation on shared memory, except a load.
    SharedAtomic,
    /// A barrier of the block.
    Barrier,
    /// A shuffle, vote, reduction or `sync_warp`.
    WarpOperation,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 8] = [
        Self::GlobalLoad,
        Self::GlobalStore,
        Self::GlobalAtomic,
        Self::SharedLoad,
        Self::SharedStore,
        Self::SharedAtomic,
        Self::Barrier,
        Self::WarpOperation,
    ];

    /// Returns the name in tables and files, such as `global load`.
    #[must_use]
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 8] = [
            "global load",
            "global store",
            "global atomic",
            "shared load",
            "shared store",
            "shared atomic",
            "barrier",
            "warp operation",
        ];
        NAMES[self as usize]
    }

    pub(crate) fn new(is_shared: bool, kind: AccessKind) -> Self {
        Self::ALL[3 * usize::from(is_shared) + kind as usize]
    }
}

/// The sums over a number of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of requests: executions by a warp.
    pub requests: u64,
    /// The number of executions by a lane. Divided by `requests`, the active lanes of a request.
    pub lanes: u64,
    /// The number of requests without some of the warp's threads: those have taken another branch,
    /// left the loop, or returned.
    pub partial: u64,
    /// The number of sectors of 32 bytes that accesses to global memory transfer.
    pub sectors: u64,
    /// The smallest number of sectors that could hold the same bytes.
    pub ideal_sectors: u64,
    /// The number of cache lines of 128 bytes that accesses to global memory touch.
    pub lines: u64,
    /// The number of wavefronts, which are passes through the banks, of accesses to shared memory.
    pub wavefronts: u64,
    /// The number of wavefronts without bank conflicts.
    pub ideal_wavefronts: u64,
}

impl Counts {
    /// Returns the number of wavefronts that are due to bank conflicts.
    #[must_use]
    pub fn conflicts(&self) -> u64 {
        self.wavefronts - self.ideal_wavefronts
    }

    /// Returns the number of sectors that are due to uncoalesced accesses, or of wavefronts that are
    /// due to bank conflicts.
    #[must_use]
    pub fn excess(&self) -> u64 {
        self.sectors - self.ideal_sectors + self.conflicts()
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.lanes += other.lanes;
        self.partial += other.partial;
        self.sectors += other.sectors;
        self.ideal_sectors += other.ideal_sectors;
        self.lines += other.lines;
        self.wavefronts += other.wavefronts;
        self.ideal_wavefronts += other.ideal_wavefronts;
    }
}

/// A place in the source, the operation there, and the size of one access in bytes.
///
/// An access at one place can have several sizes, for example in a generic function. A barrier has
/// size 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The file as the compiler named it: relative to the workspace, or absolute.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The operation.
    pub operation: Operation,
    /// The size of one access in bytes. An element that is larger than its alignment takes several
    /// accesses, each of the size of the alignment.
    pub bytes: u32,
}

/// The sum over all launches of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelProfile {
    /// The number of launches.
    pub launches: u64,
    /// The number of blocks.
    pub blocks: u64,
    /// The number of warps.
    pub warps: u64,
    /// The number of accesses by a lane that are not counted, because a thread executed too many
    /// without a barrier or warp operation.
    pub dropped: u64,
    /// The counts of each place.
    pub sites: BTreeMap<Site, Counts>,
}

impl KernelProfile {
    /// Returns the sum over all places with this operation.
    #[must_use]
    pub fn total(&self, operation: Operation) -> Counts {
        let mut sum = Counts::default();
        let sites = self.sites.iter().filter(|(site, _)| site.operation == operation);
        sites.for_each(|(_, counts)| sum += *counts);
        sum
    }

    /// Returns the number of sectors and wavefronts above the ideal, over all places.
    #[must_use]
    pub fn excess(&self) -> u64 {
        self.sites.values().map(Counts::excess).sum()
    }

    /// Returns the places, the worst first: by excess, and then by the number of inactive lanes.
    #[must_use]
    pub fn worst_first(&self) -> Vec<(&Site, &Counts)> {
        let mut sites: Vec<_> = self.sites.iter().collect();
        let inactive = |counts: &Counts| counts.requests * 32 - counts.lanes;
        sites.sort_by_key(|(_, counts)| {
            std::cmp::Reverse((counts.excess(), inactive(counts), counts.requests))
        });
        sites
    }

    fn merge(&mut self, other: Self) {
        self.launches += other.launches;
        self.blocks += other.blocks;
        self.warps += other.warps;
        self.dropped += other.dropped;
        for (site, counts) in other.sites {
            *self.sites.entry(site).or_default() += counts;
        }
    }
}

/// The memory requests of a number of launches. It displays as a table, the worst lines first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The profile of each kernel, by name.
    pub kernels: BTreeMap<String, KernelProfile>,
}

impl Profile {
    /// Runs `launches` and profiles the launches of this thread during the call.
    ///
    /// Calls can be nested. The outer profile then contains the launches of the inner one.
    pub fn record<R>(launches: impl FnOnce() -> R) -> (R, Self) {
        collect::record(launches)
    }

    /// Adds the counts of another profile.
    pub fn merge(&mut self, other: Self) {
        for (name, kernel) in other.kernels {
            self.kernels.entry(name).or_default().merge(kernel);
        }
    }

    /// Returns the kernels, the one with the largest excess first.
    #[must_use]
    pub fn worst_first(&self) -> Vec<(&str, &KernelProfile)> {
        let mut kernels: Vec<_> = self.kernels.iter().map(|(name, k)| (name.as_str(), k)).collect();
        kernels.sort_by_key(|(_, kernel)| std::cmp::Reverse(kernel.excess()));
        kernels
    }

    /// Returns the profile as JSON. `cuda/doc/profile.md` describes the format.
    #[must_use]
    pub fn to_json(&self) -> String {
        json::write(self)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        table::write(self, f)
    }
}
