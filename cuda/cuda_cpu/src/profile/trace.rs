//! The accesses of the threads of one block.
//!
//! Each thread has a list of its accesses. A warp has converged when all its lanes wait for the
//! whole block or the whole warp, or have returned. The lists are then grouped into [`Request`]s,
//! counted and emptied, so memory is bounded by the accesses of a warp between two convergences. A
//! list holds at most [`MAX_EVENTS`]. Further accesses are dropped, and only their number is
//! reported.

use std::collections::HashMap;
use std::panic::Location;

use super::matching::{self, Event};
use super::request::Request;
use super::{Counts, KernelProfile, Operation, Site};
use crate::WARP_SIZE;

/// The maximum number of accesses of a thread between two convergences of its warp.
const MAX_EVENTS: usize = 1 << 16;

/// The number of accesses for which an empty list keeps its memory.
const KEPT_EVENTS: usize = 1 << 10;

/// The widest access of a GPU in bytes.
const MAX_BYTES: usize = 16;

/// The maximum number of accesses of one element that are told apart, when lanes diverge.
const MAX_PARTS: usize = 64;

/// The number of places whose index is found without a search in a map.
const RECENT: usize = 64;

/// A place in the source at which threads access memory or wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) at: &'static Location<'static>,
    pub(super) operation: Operation,
    /// The size of one access in bytes.
    pub(super) bytes: u32,
    /// The index of the access, if one element takes several.
    part: u16,
}

impl Place {
    /// Returns a key that sorts places by their order in the source.
    fn position(&self) -> (&'static str, u32, u32, u16, Operation, u32) {
        let at = self.at;
        (at.file(), at.line(), at.column(), self.part, self.operation, self.bytes)
    }
}

/// A place, with the address of its location: comparing file names takes longer.
type Key = (usize, Operation, u32, u16);

/// The lanes of a warp.
#[derive(Clone, Default)]
struct Warp {
    /// The lanes that have a thread.
    present: u32,
    waiting: u32,
    returned: u32,
}

/// The accesses of a block that are not counted yet, and the counts of the others.
pub(crate) struct Trace {
    warps: Vec<Warp>,
    /// One list per thread.
    lists: Vec<Vec<Event>>,
    places: Vec<Place>,
    /// The index of each place.
    indices: HashMap<Key, u16>,
    /// The last place for each value of [`slot`], and its index.
    recent: Box<[Option<(Key, u16)>; RECENT]>,
    /// The rank of each place in the source, computed when a place was added.
    positions: Vec<u32>,
    counts: Vec<Counts>,
    dropped: u64,
}

impl Trace {
    pub(crate) fn new(threads: u32) -> Self {
        let lanes = |warp: u32| (threads - warp * WARP_SIZE).min(WARP_SIZE);
        let present = |warp| u32::MAX >> (WARP_SIZE - lanes(warp));
        let warps = 0..threads.div_ceil(WARP_SIZE);
        Self {
            warps: warps.map(|warp| Warp { present: present(warp), ..Warp::default() }).collect(),
            lists: vec![Vec::new(); threads as usize],
            places: Vec::new(),
            indices: HashMap::new(),
            recent: Box::new([None; RECENT]),
            positions: Vec::new(),
            counts: Vec::new(),
            dropped: 0,
        }
    }

    /// Records an access of `thread` to a value of `size` bytes that is aligned to `align`. A GPU
    /// reads and writes such a value in pieces of `align` bytes, at most 16.
    pub(crate) fn access(
        &mut self,
        thread: u32,
        at: &'static Location<'static>,
        operation: Operation,
        address: u64,
        [size, align]: [usize; 2],
    ) {
        let bytes = align.clamp(1, MAX_BYTES);
        for part in 0..size / bytes {
            let place =
                Place { at, operation, bytes: bytes as u32, part: part.min(MAX_PARTS) as u16 };
            self.push(thread, place, address + (part * bytes) as u64);
        }
    }

    /// Records that `thread` waits for the lanes in `mask`, and counts the accesses of its warp if
    /// all lanes wait for each other or have returned.
    pub(crate) fn wait(
        &mut self,
        thread: u32,
        at: &'static Location<'static>,
        operation: Operation,
        mask: u32,
    ) {
        self.push(thread, Place { at, operation, bytes: 0, part: 0 }, 0);
        let warp = &mut self.warps[(thread / WARP_SIZE) as usize];
        if warp.present & !(mask | warp.returned) == 0 {
            warp.waiting |= 1 << (thread % WARP_SIZE);
            self.count_if_converged(thread / WARP_SIZE);
        }
    }

    /// Records that `thread` has returned, like [`wait`](Self::wait).
    pub(crate) fn finish(&mut self, thread: u32) {
        self.warps[(thread / WARP_SIZE) as usize].returned |= 1 << (thread % WARP_SIZE);
        self.count_if_converged(thread / WARP_SIZE);
    }

    /// Records that all threads, or the lanes in the mask of a warp, stop waiting.
    pub(crate) fn resume(&mut self, lanes: Option<(u32, u32)>) {
        match lanes {
            Some((warp, mask)) => self.warps[warp as usize].waiting &= !mask,
            None => self.warps.iter_mut().for_each(|warp| warp.waiting = 0),
        }
    }

    /// Returns the counts of the block. Requires that all threads have returned.
    pub(super) fn total(&self) -> KernelProfile {
        let mut total = KernelProfile {
            blocks: 1,
            warps: self.warps.len() as u64,
            dropped: self.dropped,
            ..KernelProfile::default()
        };
        for (Place { at, operation, bytes, .. }, counts) in self.places.iter().zip(&self.counts) {
            let (file, line, column) = (at.file().to_owned(), at.line(), at.column());
            let site = Site { file, line, column, operation: *operation, bytes: *bytes };
            *total.sites.entry(site).or_default() += *counts;
        }
        total
    }

    fn push(&mut self, thread: u32, place: Place, address: u64) {
        let Some(index) = self.index(place) else {
            self.dropped += 1;
            return;
        };
        let list = &mut self.lists[thread as usize];
        if list.len() < MAX_EVENTS {
            list.push(Event::new(index, address));
        } else {
            self.dropped += 1;
        }
    }

    /// Returns the index of a place, or `None` if there are too many places.
    fn index(&mut self, place: Place) -> Option<u16> {
        let address = std::ptr::from_ref(place.at).addr();
        let key = (address, place.operation, place.bytes, place.part);
        let recent = slot(&key);
        if let Some((_, index)) = self.recent[recent].filter(|(other, _)| *other == key) {
            return Some(index);
        }
        let index = match self.indices.get(&key) {
            Some(index) => *index,
            None => self.add(place, key)?,
        };
        self.recent[recent] = Some((key, index));
        Some(index)
    }

    /// Adds a place. Returns its index, or `None` if there are too many places.
    #[cold]
    fn add(&mut self, place: Place, key: Key) -> Option<u16> {
        // The compiler may store one location at several addresses.
        let index = match self.places.iter().position(|other| *other == place) {
            Some(index) => index,
            None => {
                self.places.push(place);
                self.counts.push(Counts::default());
                self.places.len() - 1
            }
        };
        let index = u16::try_from(index).ok()?;
        self.indices.insert(key, index);
        Some(index)
    }

    fn count_if_converged(&mut self, warp: u32) {
        let Warp { present, waiting, returned } = self.warps[warp as usize];
        if waiting | returned != present {
            return;
        }
        if self.positions.len() < self.places.len() {
            self.positions = ranks(&self.places);
        }
        let first = (warp * WARP_SIZE) as usize;
        let end = (first + WARP_SIZE as usize).min(self.lists.len());
        let lists: Vec<&[Event]> = self.lists[first..end].iter().map(Vec::as_slice).collect();
        matching::requests(&lists, &self.positions, |place, mask, addresses| {
            let Place { operation, bytes, .. } = self.places[place];
            let request = Request { operation, bytes, mask, addresses };
            self.counts[place] += request.counts(present);
        });
        for list in &mut self.lists[first..end] {
            list.clear();
            list.shrink_to(KEPT_EVENTS);
        }
    }
}

/// Returns the element of [`Trace::recent`] for a place.
fn slot((address, operation, _, part): &Key) -> usize {
    (address / align_of::<Location<'_>>() + *operation as usize * 8 + usize::from(*part)) % RECENT
}

/// Returns the rank of each place in the order of the source.
fn ranks(places: &[Place]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_unstable_by_key(|place| places[*place].position());
    let mut ranks = vec![0; places.len()];
    (0..).zip(order).for_each(|(rank, place)| ranks[place] = rank);
    ranks
}
