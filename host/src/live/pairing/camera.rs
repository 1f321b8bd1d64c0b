//! What pairing keeps of one camera: its waiting frames, its clock and its counts.

use std::collections::VecDeque;
use std::time::Duration;

use super::clock::Clock;
use super::frame_rate::FrameRate;

/// A frame that was not dropped yet.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    pub(super) time: Duration,
    pub(super) frame: T,
    /// Whether a set has this frame. It is kept because the next set may need it, too.
    pub(super) used: bool,
}

/// The number of recent sets whose median is the phase of a camera.
const PHASES: usize = 31;

/// Whether sets wait for a camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Present,
    /// The camera is present again, but has not delivered a frame yet.
    Returning,
    Absent,
}

/// The reason why a frame of a camera is in no set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Surplus,
    Unmatched,
    Late,
    Absent,
}

/// Counts of one camera's frames. The sum of all but `repeated` is the number of frames that do not wait any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct FrameCounts {
    /// Frames that became part of a set. The stitcher drops a set if it is busy
    /// ([`Dropped::busy`](crate::live::Dropped)).
    pub used: u64,
    /// Panoramas that show the same frame of this camera as the panorama before.
    pub repeated: u64,
    /// Frames that no panorama needs, because the camera delivers more frames than the reference camera.
    pub surplus: u64,
    /// Frames without matching frames of the other cameras, and frames out of order.
    pub unmatched: u64,
    /// Frames that arrived after the deadline, when the panorama was already made without them.
    pub late: u64,
    /// Frames that were dropped because the camera was absent.
    pub absent: u64,
}

impl FrameCounts {
    /// Returns the number of frames that are in no panorama.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.surplus + self.unmatched + self.late + self.absent
    }

    pub(super) fn add(&mut self, reason: Reason) {
        *match reason {
            Reason::Surplus => &mut self.surplus,
            Reason::Unmatched => &mut self.unmatched,
            Reason::Late => &mut self.late,
            Reason::Absent => &mut self.absent,
        } += 1;
    }
}

#[derive(Debug)]
pub(super) struct Camera<T> {
    pub(super) presence: Presence,
    /// The newest timestamp, not corrected.
    pub(super) stamp: Option<Duration>,
    /// The newest timestamp, corrected.
    pub(super) newest: Option<Duration>,
    pub(super) frame_rate: FrameRate,
    pub(super) clock: Clock,
    /// Whether the clock was set after `newest` and the times of the waiting frames were computed.
    pub(super) has_stepped: bool,
    /// The set offset, which is added to the timestamps, in nanoseconds.
    pub(super) offset: i64,
    /// Frames that are in no open set.
    pub(super) waiting: VecDeque<Waiting<T>>,
    /// The mean frame time, if the rate of this camera differs from the rate of the reference camera.
    pub(super) resampled: Option<Duration>,
    /// The time of the last set that was completed without this camera because it was late.
    pub(super) late_until: Option<Duration>,
    pub(super) counts: FrameCounts,
    /// The latest differences between a frame's time and its set's time in nanoseconds.
    phases: VecDeque<i64>,
}

impl<T> Camera<T> {
    pub(super) fn new() -> Self {
        Self {
            presence: Presence::Present,
            stamp: None,
            newest: None,
            frame_rate: FrameRate::default(),
            clock: Clock::default(),
            has_stepped: false,
            offset: 0,
            waiting: VecDeque::new(),
            resampled: None,
            late_until: None,
            counts: FrameCounts::default(),
            phases: VecDeque::with_capacity(PHASES),
        }
    }

    /// Forgets the timestamps and the frame time. The waiting frames stay.
    pub(super) fn forget(&mut self) {
        (self.stamp, self.newest, self.late_until) = (None, None, None);
        (self.frame_rate, self.resampled) = (FrameRate::default(), None);
        self.phases.clear();
    }

    /// Records that the set at this time is completed without this camera because it is late.
    pub(super) fn miss(&mut self, set: Duration) {
        self.late_until = self.late_until.max(Some(set));
    }

    /// Adds the time of a frame in a set that one frame of each camera forms.
    pub(super) fn add_phase(&mut self, frame: Duration, set: Duration) {
        if self.phases.len() == PHASES {
            self.phases.pop_front();
        }
        let apart = i64::try_from(frame.abs_diff(set).as_nanos()).unwrap_or(i64::MAX);
        self.phases.push_back(if frame < set { -apart } else { apart });
    }

    /// Returns the median time from the reference frame to this camera's frame in seconds, or 0 before the first set.
    pub(super) fn phase(&self) -> f64 {
        let mut sorted: Vec<i64> = self.phases.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).map_or(0.0, |phase| *phase as f64 * 1e-9)
    }

    /// Returns the reason why no set has a frame that was dropped, of several that may apply.
    pub(super) fn reason(&self, time: Duration, tolerance: Duration, otherwise: Reason) -> Reason {
        let late = self.late_until.is_some_and(|until| time <= until.saturating_add(tolerance));
        if late { Reason::Late } else { otherwise }
    }

    /// Returns the corrected timestamp, which is later than the one before.
    pub(super) fn correct(&self, stamp: Duration, estimate: bool) -> Duration {
        let mut time = stamp;
        if estimate && let Some(host) = self.clock.host_time(stamp) {
            time = host;
        }
        if self.offset != 0 {
            let by = Duration::from_nanos(self.offset.unsigned_abs());
            time = if self.offset > 0 { time.saturating_add(by) } else { time.saturating_sub(by) };
        }
        match self.newest {
            Some(newest) if time <= newest => newest.saturating_add(Duration::from_nanos(1)),
            _ => time,
        }
    }
}
