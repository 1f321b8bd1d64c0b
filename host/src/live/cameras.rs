//! The states of the cameras, and the share of each camera in the panorama.
//!
//! Three tables define the behaviour of a live camera. All times are numbers of sets, panoramas or analyses, so this
//! module needs no clock. The first table is the *delivery* of a camera:
//!
//! | delivery | set with its frame | set without its frame | `set_present(false)` |
//! |---|---|---|---|
//! | waiting | live | gone after `gone` sets | gone |
//! | live | live | gone after `gone` consecutive sets | gone |
//! | gone | live after `settle` frames, less than `gone` sets apart | gone | gone |
//!
//! While a camera is absent, sets count as sets without its frame. The second table is the *content* of a live camera.
//! Each analysis compares a picture with the one before and measures its deviation:
//!
//! | content | equal picture | flat picture | other picture |
//! |---|---|---|---|
//! | good | frozen after `frozen` consecutive analyses | black after `black` consecutive analyses | good |
//! | frozen | frozen | | good after `settle` consecutive analyses |
//! | black | | black | good after `settle` consecutive analyses |
//!
//! The third table is the share of a camera in the panorama. Its *presence* multiplies the blending weight, so that its
//! neighbours fill what they cover. Its *cover* is the share of a constant colour in place of its picture, which
//! matters where no other camera covers a pixel. Both change from 0 to 1 in `fade` panoramas:
//!
//! | condition | presence | cover |
//! |---|---|---|
//! | present: live, and not black unless all live cameras are | rises | falls |
//! | held: failed for at most `hold` panoramas | falls | falls |
//! | covered: failed for longer, or without a frame so far | falls | rises |
//!
//! Before the first panorama, presence and cover jump to their final values.

use std::collections::VecDeque;

use shared_types::stitch::MAX_CAMERAS;

use super::failure::{CameraEvent, CameraHealth, CameraState, FailureOptions};
use crate::ops::frame_statistics::FrameStatistics;

/// The maximum number of events that wait to be read.
const EVENTS: usize = 256;

/// A black picture stays black up to this multiple of the limit, so that a camera near it does not flap.
const HYSTERESIS: f64 = 1.5;

/// The presence and the cover of each camera in one panorama. Elements without a camera are 1 and 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shares {
    pub(super) presence: [f32; MAX_CAMERAS],
    pub(super) cover: [f32; MAX_CAMERAS],
}

impl Shares {
    /// All cameras are in the panorama.
    pub(super) const FULL: Self = Self { presence: [1.0; MAX_CAMERAS], cover: [0.0; MAX_CAMERAS] };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    Waiting,
    Live,
    Gone,
}

/// A condition that some consecutive bad pictures confirm, and some good ones then refute.
#[derive(Clone, Copy, Debug, Default)]
struct Suspicion {
    bad: u32,
    good: u32,
    confirmed: bool,
}

impl Suspicion {
    fn observe(&mut self, is_bad: bool, after: u32, settle: u32) {
        if is_bad {
            (self.bad, self.good) = (self.bad.saturating_add(1), 0);
            self.confirmed |= self.bad >= after;
            return;
        }
        self.good += 1;
        if !self.confirmed || self.good >= settle {
            *self = Self::default();
        }
    }
}

/// The state of one camera.
#[derive(Clone, Debug)]
struct Camera {
    delivery: Delivery,
    /// Whether the camera is absent, so that its frames do not count.
    is_absent: bool,
    has_picture: bool,
    /// The number of consecutive sets without its frame.
    missed: u32,
    /// The number of frames that count towards its return.
    settled: u32,
    missing: u64,
    /// The statistics of the last analysed picture.
    analysed: Option<FrameStatistics>,
    frozen: Suspicion,
    black: Suspicion,
    /// The state that was reported last.
    reported: CameraState,
    /// The number of panoramas since the camera failed.
    failed: u32,
    /// Presence and cover, as numbers of panoramas from 0 to `fade`.
    presence: u32,
    cover: u32,
}

impl Camera {
    fn new() -> Self {
        Self {
            delivery: Delivery::Waiting,
            is_absent: false,
            has_picture: false,
            missed: 0,
            settled: 0,
            missing: 0,
            analysed: None,
            frozen: Suspicion::default(),
            black: Suspicion::default(),
            reported: CameraState::Waiting,
            failed: 0,
            presence: 0,
            cover: 0,
        }
    }

    /// Processes a set, which has a new frame of the camera or not.
    fn set(&mut self, has_frame: bool, options: &FailureOptions) {
        self.missing += u64::from(!has_frame);
        let delivers = has_frame && !self.is_absent;
        self.has_picture |= delivers;
        if delivers {
            (self.missed, self.settled) = (0, self.settled.saturating_add(1));
        } else {
            self.missed = self.missed.saturating_add(1);
        }
        if self.missed >= options.gone {
            self.settled = 0;
        }
        match self.delivery {
            Delivery::Waiting if delivers => self.enter(Delivery::Live),
            Delivery::Gone if self.settled >= options.settle => self.enter(Delivery::Live),
            Delivery::Waiting | Delivery::Live if self.missed >= options.gone => {
                self.enter(Delivery::Gone);
            }
            _ => {}
        }
    }

    fn enter(&mut self, delivery: Delivery) {
        (self.delivery, self.settled) = (delivery, 0);
        (self.analysed, self.frozen, self.black) = Default::default();
    }

    /// Processes the analysis of a new picture.
    fn analysed(&mut self, statistics: FrameStatistics, options: &FailureOptions) {
        if self.delivery != Delivery::Live {
            return;
        }
        let is_equal = self.analysed.replace(statistics) == Some(statistics);
        self.frozen.observe(is_equal, options.frozen, options.settle);
        let scale = if self.black.confirmed { HYSTERESIS } else { 1.0 };
        let is_flat = statistics.variance().sqrt() <= scale * options.deviation;
        self.black.observe(is_flat, options.black, options.settle);
    }

    fn state(&self) -> CameraState {
        match self.delivery {
            Delivery::Waiting => CameraState::Waiting,
            Delivery::Gone => CameraState::Gone,
            Delivery::Live if self.black.confirmed => CameraState::Black,
            Delivery::Live if self.frozen.confirmed => CameraState::Frozen,
            Delivery::Live => CameraState::Live,
        }
    }

    /// Advances presence and cover to the next panorama.
    fn fade(&mut self, is_present: bool, is_first: bool, options: &FailureOptions) {
        let is_covered = !is_present && (!self.has_picture || self.failed >= options.hold);
        self.failed = if is_present { 0 } else { self.failed.saturating_add(1) };
        let step = |value: u32, rises: bool| match rises {
            _ if is_first => options.fade * u32::from(rises),
            true => (value + 1).min(options.fade),
            false => value.saturating_sub(1),
        };
        self.presence = step(self.presence, is_present);
        self.cover = step(self.cover, is_covered);
    }
}

/// The states of all cameras, and the queue of their changes.
#[derive(Debug)]
pub(super) struct CameraStates {
    options: FailureOptions,
    cameras: Vec<Camera>,
    events: VecDeque<CameraEvent>,
    /// Whether a panorama was made.
    started: bool,
}

impl CameraStates {
    pub(super) fn new(cameras: usize, options: FailureOptions) -> Self {
        let (cameras, events) = (vec![Camera::new(); cameras], VecDeque::with_capacity(EVENTS));
        Self { options, cameras, events, started: false }
    }

    /// Processes a complete set. `frames` yields for each camera whether the set has its frame.
    pub(super) fn set(&mut self, frames: impl IntoIterator<Item = bool>) {
        for (camera, has_frame) in self.cameras.iter_mut().zip(frames) {
            camera.set(has_frame, &self.options);
        }
        self.report();
    }

    /// Sets whether a camera is present. An absent camera is gone until it is present and delivers frames.
    pub(super) fn set_present(&mut self, camera: usize, present: bool) {
        let camera = &mut self.cameras[camera];
        camera.is_absent = !present;
        if !present {
            camera.enter(Delivery::Gone);
        }
        self.report();
    }

    /// Processes the analysis of new pictures: the index of each camera and the statistics of its picture.
    pub(super) fn analysed(
        &mut self,
        statistics: impl IntoIterator<Item = (usize, FrameStatistics)>,
    ) {
        for (camera, statistics) in statistics {
            self.cameras[camera].analysed(statistics, &self.options);
        }
        self.report();
    }

    /// Records the changes of the states.
    fn report(&mut self) {
        for (index, camera) in self.cameras.iter_mut().enumerate() {
            let state = camera.state();
            if std::mem::replace(&mut camera.reported, state) == state {
                continue;
            }
            if state == CameraState::Live {
                tracing::info!("camera {} works", index + 1);
            } else {
                tracing::warn!("camera {} is {state}", index + 1);
            }
            if self.events.len() == EVENTS {
                self.events.pop_front();
            }
            self.events.push_back(CameraEvent { camera: index, state });
        }
    }

    /// Advances presence and cover to the next panorama.
    pub(super) fn next(&mut self) -> Shares {
        let bad = self.bad(|camera| camera.black.confirmed);
        for (camera, is_bad) in self.cameras.iter_mut().zip(bad) {
            let is_present = camera.delivery == Delivery::Live && !is_bad;
            camera.fade(is_present, !self.started, &self.options);
        }
        self.started = true;
        self.shares()
    }

    /// Returns the presence and the cover of the newest panorama.
    fn shares(&self) -> Shares {
        let mut shares = Shares::FULL;
        let fade = self.options.fade as f32;
        for (index, camera) in self.cameras.iter().enumerate() {
            shares.presence[index] = camera.presence as f32 / fade;
            shares.cover[index] = camera.cover as f32 / fade;
        }
        shares
    }

    /// Returns whether each camera may be black: its latest picture has no content although that of another camera has.
    pub(super) fn suspects(&self) -> [bool; MAX_CAMERAS] {
        self.bad(|camera| camera.black.bad > 0)
    }

    /// Returns whether the pictures of each camera are bad, which they are not if those of all live cameras are.
    fn bad(&self, is_bad: impl Fn(&Camera) -> bool) -> [bool; MAX_CAMERAS] {
        let is_good = |camera: &Camera| camera.delivery == Delivery::Live && !is_bad(camera);
        let any_good = self.cameras.iter().any(is_good);
        std::array::from_fn(|index| any_good && self.cameras.get(index).is_some_and(&is_bad))
    }

    /// Returns the state and the figures of each camera.
    pub(super) fn health(&self) -> Vec<CameraHealth> {
        let Shares { presence, cover } = self.shares();
        let health = |(index, camera): (usize, &Camera)| {
            let statistics = camera.analysed.as_ref();
            CameraHealth {
                state: camera.reported,
                missing: camera.missing,
                presence: presence[index],
                cover: cover[index],
                mean: statistics.map_or(0.0, FrameStatistics::mean),
                deviation: statistics.map_or(0.0, |statistics| statistics.variance().sqrt()),
            }
        };
        self.cameras.iter().enumerate().map(health).collect()
    }

    /// Removes and returns the changes that were not read yet.
    pub(super) fn take_events(&mut self) -> Vec<CameraEvent> {
        self.events.drain(..).collect()
    }
}

#[cfg(test)]
mod tests;
