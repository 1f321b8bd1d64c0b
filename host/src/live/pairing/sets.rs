//! The open sets: sets that wait for frames of some cameras.
//!
//! Each frame of the reference camera opens a set. A camera with the same rate gives each set its own frame, the
//! nearest within the tolerance. Of a camera with another rate, the set takes a copy of the nearest frame when it is
//! completed.

use std::time::Duration;

use super::camera::{Presence, Reason, Waiting};
use super::{MatchedSet, Outcome, Pairing};

/// The frame of one camera in an open set.
#[derive(Debug)]
pub(super) enum Slot<T> {
    Frame(Duration, T),
    /// The frame can still arrive.
    Awaited,
    /// The nearest frame, which is chosen when the set is completed.
    Nearest,
    /// The frame can no longer arrive.
    Lost,
    /// The set does not wait for the camera.
    Absent,
}

#[derive(Debug)]
pub(super) struct OpenSet<T> {
    /// The corrected timestamp of the reference frame.
    pub(super) time: Duration,
    /// One slot for each camera.
    pub(super) slots: Vec<Slot<T>>,
}

/// Which of the waiting frames of a camera is nearest to a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nearest {
    Frame(usize),
    /// A later frame may be nearer.
    Unknown,
    /// No frame is near enough.
    None,
}

impl<T: Clone> Pairing<T> {
    /// Adds a frame to the open set to which it belongs, opens a set for it, or lets it wait.
    pub(super) fn place(&mut self, camera: usize, time: Duration, frame: T, out: &mut Outcome<T>) {
        let tolerance = self.tolerance(camera);
        let mut nearest = None;
        for (i, set) in self.open.iter_mut().enumerate() {
            if !matches!(set.slots[camera], Slot::Awaited) {
                continue;
            }
            let apart = set.time.abs_diff(time);
            if set.time.saturating_add(tolerance) < time {
                set.slots[camera] = Slot::Lost;
            } else if apart <= tolerance && nearest.is_none_or(|(least, _)| apart < least) {
                nearest = Some((apart, i));
            }
        }
        if let Some((_, found)) = nearest {
            self.lose_before(found, camera);
            self.open[found].slots[camera] = Slot::Frame(time, frame);
            self.drop_waiting(camera, usize::MAX, Reason::Unmatched, out);
            return self.drop_lost(out);
        }
        self.drop_lost(out);
        let is_before = self.open.back().is_some_and(|last| time <= last.time);
        if self.lead == Some(camera) && !(is_before && self.is_chosen_from(camera)) {
            return self.open_set(camera, time, frame, out);
        }
        // The reference camera has already delivered a later frame, so no set can need this frame.
        let passed = self.lead.and_then(|lead| self.cameras[lead].newest);
        if self.lead != Some(camera)
            && self.cameras[camera].resampled.is_none()
            && passed.is_some_and(|newest| newest > time.saturating_add(tolerance))
        {
            let reason = self.cameras[camera].reason(time, tolerance, Reason::Unmatched);
            return self.drop_frame(camera, frame, reason, out);
        }
        self.cameras[camera].waiting.push_back(Waiting { time, frame, used: false });
    }

    /// Returns whether open sets choose their frames of this camera when they are completed. If it is the camera that
    /// opens sets, another one led before.
    fn is_chosen_from(&self, camera: usize) -> bool {
        self.open.iter().any(|set| matches!(set.slots[camera], Slot::Nearest))
    }

    /// Opens a set for a frame of the reference camera.
    fn open_set(&mut self, camera: usize, time: Duration, frame: T, out: &mut Outcome<T>) {
        let newest_set = self.open.back().map(|set| set.time).max(self.last_key);
        if newest_set.is_some_and(|newest| time <= newest) {
            let reason = self.cameras[camera].reason(time, Duration::ZERO, Reason::Unmatched);
            return self.drop_frame(camera, frame, reason, out);
        }
        let mut slots = Vec::with_capacity(self.cameras.len());
        for other in 0..self.cameras.len() {
            let slot = if other == camera {
                Slot::Absent
            } else {
                self.slot(other, time, self.open.len(), out)
            };
            slots.push(slot);
        }
        slots[camera] = Slot::Frame(time, frame);
        self.drop_lost(out);
        self.open.push_back(OpenSet { time, slots });
        self.drop_lost(out);
    }

    /// Changes the slots of a camera whose rate has become equal to the rate of the reference camera, or is so no more.
    pub(super) fn convert(&mut self, camera: usize, out: &mut Outcome<T>) {
        let is_resampled = self.cameras[camera].resampled.is_some();
        for i in 0..self.open.len() {
            match self.open[i].slots[camera] {
                Slot::Awaited if is_resampled => self.open[i].slots[camera] = Slot::Nearest,
                Slot::Nearest if !is_resampled => {
                    let slot = self.slot(camera, self.open[i].time, i, out);
                    self.open[i].slots[camera] = slot;
                }
                _ => {}
            }
        }
        self.drop_lost(out);
    }

    /// Returns the slot of a camera in the set with this time and index, with the matching frame if it waits.
    fn slot(
        &mut self,
        camera: usize,
        time: Duration,
        index: usize,
        out: &mut Outcome<T>,
    ) -> Slot<T> {
        let state = &mut self.cameras[camera];
        match state.presence {
            Presence::Absent | Presence::Returning => return Slot::Absent,
            Presence::Present if state.resampled.is_some() => return Slot::Nearest,
            Presence::Present => {}
        }
        state.waiting.retain(|waiting| !waiting.used);
        let tolerance = self.tolerance(camera);
        let state = &self.cameras[camera];
        let early = |waiting: &Waiting<T>| waiting.time.saturating_add(tolerance) < time;
        let first = state.waiting.iter().take_while(|waiting| early(waiting)).count();
        let apart = |waiting: &Waiting<T>| waiting.time.abs_diff(time);
        let near = state.waiting.iter().enumerate().skip(first);
        let nearest = near.map(|(i, waiting)| (apart(waiting), i)).min();
        let passed = state.newest.is_some_and(|newest| newest > time.saturating_add(tolerance));
        match nearest.filter(|(apart, _)| *apart <= tolerance) {
            Some((_, found)) => {
                self.drop_waiting(camera, found, Reason::Unmatched, out);
                self.lose_before(index, camera);
                match self.cameras[camera].waiting.pop_front() {
                    Some(waiting) => Slot::Frame(waiting.time, waiting.frame),
                    None => Slot::Lost,
                }
            }
            None => {
                self.drop_waiting(camera, first, Reason::Unmatched, out);
                if passed { Slot::Lost } else { Slot::Awaited }
            }
        }
    }

    /// Marks that the camera has passed the open sets before the index `end`.
    fn lose_before(&mut self, end: usize, camera: usize) {
        for set in self.open.iter_mut().take(end) {
            if matches!(set.slots[camera], Slot::Awaited) {
                set.slots[camera] = Slot::Lost;
            }
        }
    }

    /// Drops the open sets that can no longer be completed. With a deadline, every set is completed that has a frame of
    /// its own.
    pub(super) fn drop_lost(&mut self, out: &mut Outcome<T>) {
        let mut i = 0;
        while i < self.open.len() {
            let slots = &self.open[i].slots;
            let is_lost = slots.iter().any(|slot| matches!(slot, Slot::Lost));
            let has_none = |slot| matches!(slot, &Slot::Lost | &Slot::Absent | &Slot::Nearest);
            let is_empty = slots.iter().all(has_none);
            if is_empty || (is_lost && self.options.deadline.is_none()) {
                self.drop_set(i, out);
            } else {
                i += 1;
            }
        }
    }

    /// Drops an open set with its frames.
    pub(super) fn drop_set(&mut self, index: usize, out: &mut Outcome<T>) {
        let Some(set) = self.open.remove(index) else { return };
        for (camera, slot) in set.slots.into_iter().enumerate() {
            if let Slot::Frame(_, frame) = slot {
                self.drop_frame(camera, frame, Reason::Unmatched, out);
            }
        }
    }

    pub(super) fn drop_frame(
        &mut self,
        camera: usize,
        frame: T,
        reason: Reason,
        out: &mut Outcome<T>,
    ) {
        self.cameras[camera].counts.add(reason);
        out.alone.push((camera, frame));
    }

    /// Drops the first `count` waiting frames of a camera.
    pub(super) fn drop_waiting(
        &mut self,
        camera: usize,
        count: usize,
        reason: Reason,
        out: &mut Outcome<T>,
    ) {
        let state = &mut self.cameras[camera];
        let count = count.min(state.waiting.len());
        for Waiting { time, frame, used } in state.waiting.drain(..count).collect::<Vec<_>>() {
            if !used {
                let reason = self.cameras[camera].reason(time, Duration::ZERO, reason);
                self.drop_frame(camera, frame, reason, out);
            }
        }
    }

    /// Gives up the frames of cameras that are later than the deadline.
    fn give_up_late(&mut self) {
        let Some(horizon) = self.horizon() else { return };
        for set in self.open.iter_mut().filter(|set| set.time < horizon) {
            for (slot, camera) in set.slots.iter_mut().zip(&mut self.cameras) {
                if matches!(slot, Slot::Awaited) {
                    *slot = Slot::Lost;
                    camera.miss(set.time);
                }
            }
        }
    }

    /// Completes the sets that wait for no camera any more.
    pub(super) fn complete(&mut self, out: &mut Outcome<T>) {
        self.complete_first_sets(out);
        if let Some(lead) = self.lead
            && !self.is_chosen_from(lead)
        {
            // They were for sets of the last lead.
            self.drop_waiting(lead, usize::MAX, Reason::Surplus, out);
        }
    }

    fn complete_first_sets(&mut self, out: &mut Outcome<T>) {
        self.give_up_late();
        self.drop_lost(out);
        while let Some(set) = self.open.front() {
            let time = set.time;
            if set.slots.iter().any(|slot| matches!(slot, Slot::Awaited)) {
                return;
            }
            let choices: Vec<(usize, Nearest)> = set
                .slots
                .iter()
                .enumerate()
                .filter(|(_, slot)| matches!(slot, Slot::Nearest))
                .map(|(camera, _)| (camera, self.nearest(camera, time)))
                .collect();
            if choices.iter().any(|(_, choice)| *choice == Nearest::Unknown) {
                return;
            }
            let is_lost = choices.iter().any(|(_, choice)| *choice == Nearest::None);
            if is_lost && self.options.deadline.is_none() {
                self.drop_set(0, out);
                continue;
            }
            self.finish(&choices, out);
        }
    }

    /// Removes the first open set, and returns it as a complete set.
    fn finish(&mut self, choices: &[(usize, Nearest)], out: &mut Outcome<T>) {
        let Some(set) = self.open.pop_front() else { return };
        let mut latest = None;
        let mut frames = Vec::with_capacity(set.slots.len());
        for (slot, camera) in set.slots.into_iter().zip(&mut self.cameras) {
            frames.push(match slot {
                Slot::Frame(time, frame) => {
                    camera.counts.used += 1;
                    camera.add_phase(time, set.time);
                    latest = latest.max(Some(time));
                    Some(frame)
                }
                _ => None,
            });
        }
        for &(camera, choice) in choices {
            let Nearest::Frame(found) = choice else {
                if self.horizon().is_some_and(|horizon| set.time < horizon) {
                    self.cameras[camera].miss(set.time);
                }
                continue;
            };
            self.drop_waiting(camera, found, Reason::Surplus, out);
            let state = &mut self.cameras[camera];
            if let Some(waiting) = state.waiting.front_mut() {
                *(if waiting.used {
                    &mut state.counts.repeated
                } else {
                    &mut state.counts.used
                }) += 1;
                waiting.used = true;
                frames[camera] = Some(waiting.frame.clone());
            }
        }
        let mut time = latest.unwrap_or(set.time);
        if let Some(last) = self.last
            && time <= last
        {
            time = last.saturating_add(Duration::from_nanos(1));
        }
        (self.last, self.last_key) = (Some(time), Some(set.time));
        out.sets.push(MatchedSet { time, frames });
    }

    /// Returns which waiting frame of a camera is nearest to `time`. The next frame is expected one frame time after
    /// the newest, so that a set need not wait for a frame that will be farther away.
    pub(super) fn nearest(&self, camera: usize, time: Duration) -> Nearest {
        let state = &self.cameras[camera];
        let waiting = &state.waiting;
        let frame_time = state.resampled.unwrap_or(self.options.tolerance.saturating_mul(2));
        // Half a frame, and an eighth for jitter.
        let limit = frame_time / 8 * 5;
        let after = waiting.iter().position(|waiting| waiting.time > time);
        let before = after.unwrap_or(waiting.len()).checked_sub(1);
        let apart = |i: usize| waiting[i].time.abs_diff(time);
        let nearest = match (before, after) {
            (Some(before), Some(after)) if apart(after) < apart(before) => Some(after),
            (Some(before), _) => Some(before),
            (None, after) => after,
        };
        let is_late = self.horizon().is_some_and(|horizon| time < horizon);
        let is_final = after.is_some()
            || before.is_some_and(|before| apart(before) <= frame_time / 2)
            || is_late
            || state.newest.is_some_and(|newest| newest > time);
        match nearest {
            _ if !is_final => Nearest::Unknown,
            Some(found) if apart(found) <= limit => Nearest::Frame(found),
            _ => Nearest::None,
        }
    }
}
