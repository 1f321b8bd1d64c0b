//! Collects the counts of the blocks of a launch, and adds them to the profiles that want them: the
//! recordings of the launching thread, and the profile of the process.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::trace::Place;
use super::{Counts, KernelProfile, Operation, Profile, Site, Trace, process};

thread_local! {
    /// The profiles that this thread records, the innermost last.
    static RECORDINGS: RefCell<Vec<Profile>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` with the recordings of this thread. Returns the default while the thread ends, when a
/// destructor can still launch a kernel.
fn with_recordings<R: Default>(f: impl FnOnce(&mut Vec<Profile>) -> R) -> R {
    RECORDINGS.try_with(|all| f(&mut all.borrow_mut())).unwrap_or_default()
}

/// Ends the innermost recording, also if its closure panics.
struct Recording;

impl Recording {
    fn take() -> Profile {
        with_recordings(Vec::pop).unwrap_or_default()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        Self::take();
    }
}

/// Implements [`Profile::record`].
pub(super) fn record<R>(launches: impl FnOnce() -> R) -> (R, Profile) {
    with_recordings(|all| all.push(Profile::default()));
    let recording = Recording;
    let result = launches();
    std::mem::forget(recording);
    let profile = Recording::take();
    with_recordings(|all| {
        if let Some(outer) = all.last_mut() {
            outer.merge(profile.clone());
        }
    });
    (result, profile)
}

/// The counts of the blocks of one launch. The order of the blocks does not matter, because the
/// counts are sums.
#[derive(Default)]
pub(crate) struct Collector {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    places: HashMap<(&'static str, u32, u32, Operation, u32), Counts>,
    blocks: u64,
    warps: u64,
    dropped: u64,
}

/// Returns whether launches of this thread are profiled: this thread records a profile, or the process has one.
///
/// ```
/// use cuda_cpu::profile::{Profile, is_wanted};
///
/// assert!(Profile::record(is_wanted).0);
/// ```
#[must_use]
pub fn is_wanted() -> bool {
    with_recordings(|all| !all.is_empty()) || process::is_wanted()
}

impl Collector {
    /// Returns a collector if this thread records a profile, or if the process has one.
    pub(crate) fn if_wanted() -> Option<Self> {
        is_wanted().then(Self::default)
    }

    /// Adds the counts of a block whose threads have all returned.
    pub(crate) fn add(&self, trace: &Trace) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (totals, dropped) = trace.totals();
        for (Place { at, operation, bytes, .. }, counts) in totals {
            let key = (at.file(), at.line(), at.column(), *operation, *bytes);
            *state.places.entry(key).or_default() += *counts;
        }
        state.dropped += dropped;
        state.blocks += 1;
        state.warps += trace.warps();
    }

    /// Adds the counts of a launch that succeeded to the profiles.
    pub(crate) fn finish(self, kernel: &str) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let site = |(file, line, column, operation, bytes): (&str, u32, u32, Operation, u32)| {
            Site { file: file.to_owned(), line, column, operation, bytes }
        };
        let profile = KernelProfile {
            launches: 1,
            blocks: state.blocks,
            warps: state.warps,
            dropped: state.dropped,
            sites: state.places.into_iter().map(|(place, counts)| (site(place), counts)).collect(),
        };
        let profile = Profile { kernels: [(kernel.to_owned(), profile)].into() };
        with_recordings(|all| {
            if let Some(innermost) = all.last_mut() {
                innermost.merge(profile.clone());
            }
        });
        process::add(profile);
    }
}
