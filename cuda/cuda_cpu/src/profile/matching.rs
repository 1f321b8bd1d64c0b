//! Groups the accesses of the lanes of a warp into requests.
//!
//! On the CPU, the lanes run one after the other. Each lane leaves a list of its accesses since the
//! warp last converged. A request consists of the accesses at one place in the source that a GPU
//! executes together.
//!
//! The lanes whose next access is first in the source execute it, and the others wait, because a GPU
//! reconverges lanes after a branch. A lane whose next access is at or before its last position is
//! at the end of a loop: the last position from which any lane has jumped to the same access. There
//! it waits for the lanes that are still in the loop, and after the loop for those that repeat it;
//! of two loops with the same end, the inner one goes first.
//!
//! If all lanes execute the same places in the same order, the result is exact. Otherwise it is a
//! guess: the lists contain neither branches nor loops without accesses, and a helper function may
//! stand before or after its caller in the source.

use crate::WARP_SIZE;

const LANES: usize = WARP_SIZE as usize;

/// An access: the index of its place, and its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event(u64);

impl Event {
    /// The number of bits of the address. Addresses of a process have no more.
    const BITS: u32 = 48;

    pub(super) fn new(place: u16, address: u64) -> Self {
        Self(u64::from(place) << Self::BITS | address & ((1 << Self::BITS) - 1))
    }

    pub(super) fn place(self) -> usize {
        (self.0 >> Self::BITS) as usize
    }

    pub(super) fn address(self) -> u64 {
        self.0 & ((1 << Self::BITS) - 1)
    }
}

/// The order in which a lane executes its next access: the position, whether the lane is at the end
/// of a loop there, and the complement of the position at which the loop starts.
type Turn = (u32, bool, u32);

/// The progress of one lane.
#[derive(Clone, Copy)]
struct Lane<'a> {
    events: &'a [Event],
    last: Option<u32>,
    turn: Turn,
}

/// Groups the accesses of the lanes into requests. `positions` contains the position of each place.
/// Calls `request` with the place, the mask of the lanes and their addresses.
pub(super) fn requests(
    lanes: &[&[Event]],
    positions: &[u32],
    mut request: impl FnMut(usize, u32, &[u64; LANES]),
) {
    let ends = loop_ends(lanes, positions);
    let mut warp: [Lane<'_>; LANES] =
        [const { Lane { events: &[], last: None, turn: (0, false, 0) } }; LANES];
    let mut active = 0_u32;
    for (i, events) in lanes.iter().enumerate() {
        warp[i].events = events;
        warp[i].set_turn(positions, &ends, &mut active, i);
    }
    while active != 0 {
        let first = lanes_of(active).min_by_key(|lane| warp[*lane].turn).unwrap_or_default();
        let (place, turn) = (warp[first].events[0].place(), warp[first].turn);
        let (mut mask, mut addresses) = (0_u32, [0; LANES]);
        for i in lanes_of(active) {
            let lane = &mut warp[i];
            let event = lane.events[0];
            if event.place() == place && lane.turn == turn {
                mask |= 1 << i;
                addresses[i] = event.address();
                (lane.events, lane.last) = (&lane.events[1..], Some(positions[place]));
                lane.set_turn(positions, &ends, &mut active, i);
            }
        }
        request(place, mask, &addresses);
    }
}

impl Lane<'_> {
    /// Computes the turn of the lane's next access, or removes the lane, whose index is `i`, from
    /// the active ones.
    fn set_turn(&mut self, positions: &[u32], ends: &[u32], active: &mut u32, i: usize) {
        let Some(next) = self.events.first() else {
            *active &= !(1 << i);
            return;
        };
        *active |= 1 << i;
        let position = positions[next.place()];
        self.turn = match self.last {
            Some(last) if position <= last => (ends[next.place()], true, u32::MAX - position),
            _ => (position, false, 0),
        };
    }
}

/// Returns, for each place, the last position from which a lane jumps back to it.
fn loop_ends(lanes: &[&[Event]], positions: &[u32]) -> Vec<u32> {
    let mut ends = vec![0; positions.len()];
    for pair in lanes.iter().flat_map(|events| events.windows(2)) {
        let (from, to) = (positions[pair[0].place()], pair[1].place());
        if positions[to] <= from {
            ends[to] = from.max(ends[to]);
        }
    }
    ends
}

/// Returns the indices of the lanes in a mask.
fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
        rest &= rest - 1;
        Some(lane)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the requests as pairs of place and mask. Each lane is a list of places, whose
    /// position is their index.
    fn masks(lanes: &[&[u16]]) -> Vec<(usize, u32)> {
        let events: Vec<Vec<Event>> = lanes
            .iter()
            .map(|places| places.iter().map(|place| Event::new(*place, 0)).collect())
            .collect();
        let lists: Vec<&[Event]> = events.iter().map(Vec::as_slice).collect();
        let positions: Vec<u32> = (0..16).collect();
        let mut all = Vec::new();
        requests(&lists, &positions, |place, mask, _| all.push((place, mask)));
        all
    }

    #[test]
    fn an_event_keeps_place_and_address() {
        let event = Event::new(u16::MAX, 0x7fff_1234_5678);
        assert_eq!((event.place(), event.address()), (0xffff, 0x7fff_1234_5678));
    }

    #[test]
    fn equal_lanes_stay_together() {
        let lane: &[u16] = &[3, 1, 2, 1, 2, 0, 3, 3];
        let expected: Vec<_> = lane.iter().map(|place| (usize::from(*place), 0b111)).collect();
        assert_eq!(masks(&[lane, lane, lane]), expected);
    }

    #[test]
    fn the_sides_of_a_branch_are_separate_and_join_after_it() {
        let all = masks(&[&[0, 1, 3], &[0, 2, 3]]);
        assert_eq!(all, [(0, 3), (1, 1), (2, 2), (3, 3)]);
    }

    #[test]
    fn lanes_wait_after_a_loop() {
        let all = masks(&[&[0, 1, 3], &[0, 1, 1, 1, 3], &[0, 3]]);
        assert_eq!(all, [(0, 7), (1, 3), (1, 2), (1, 2), (3, 7)]);
    }

    #[test]
    fn lanes_wait_at_the_end_of_an_iteration() {
        // Place 1 is in a branch of the loop.
        let all = masks(&[&[0, 1, 0, 2], &[0, 0, 1, 2]]);
        assert_eq!(all, [(0, 3), (1, 1), (0, 3), (1, 2), (2, 3)]);
    }

    #[test]
    fn the_rows_of_a_sparse_matrix_stay_together() {
        // Each row reads its bounds (0), its elements (1, 2), and stores the sum (3).
        let all = masks(&[&[0, 1, 2, 3, 0, 1, 2, 3], &[0, 3, 0, 1, 2, 1, 2, 3]]);
        let first = [(0, 3), (1, 1), (2, 1), (3, 3)];
        let second = [(0, 3), (1, 3), (2, 3), (1, 2), (2, 2), (3, 3)];
        assert_eq!(all, [&first[..], &second[..]].concat());
    }

    #[test]
    fn an_inner_loop_without_an_access_after_it_ends_before_the_outer_one_repeats() {
        let all = masks(&[&[0, 1, 0, 1], &[0, 1, 1, 1, 0, 1]]);
        assert_eq!(all, [(0, 3), (1, 3), (1, 2), (1, 2), (0, 3), (1, 3)]);
    }

    #[test]
    fn a_lane_that_returns_early_is_missing() {
        assert_eq!(masks(&[&[0], &[0, 1], &[]]), [(0, 3), (1, 2)]);
    }
}
