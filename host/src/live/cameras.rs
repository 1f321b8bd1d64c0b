//! The states of all cameras, the queue of their changes, and the share of each camera in the panorama.
//!
//! `vitals` has the state of one camera, and `presence` the fades. This module adds the rule for all cameras together:
//! pictures without content make a camera leave the panorama only if another camera has content.

use std::collections::VecDeque;
use std::time::Duration;

use shared_types::stitch::MAX_CAMERAS;

use super::failure::{CameraEvent, CameraEvents, CameraHealth, CameraState, FailureOptions};
use super::presence::{Condition, Fades, Presence};
use super::vitals::CameraMonitor;
use crate::ops::vitals::Vitals;
use crate::warp::camera_name;

/// The maximum number of changes that wait to be read.
const EVENTS: usize = 256;

/// The states of all cameras. All times are since the creation of the stitcher.
#[derive(Debug)]
pub(super) struct Cameras {
    options: FailureOptions,
    monitors: Vec<CameraMonitor>,
    fades: Fades,
    events: VecDeque<CameraEvent>,
    lost: u64,
}

impl Cameras {
    pub(super) fn new(cameras: usize, options: FailureOptions) -> Self {
        Self {
            options,
            monitors: vec![CameraMonitor::new(Duration::ZERO); cameras],
            fades: Fades::new(cameras),
            events: VecDeque::with_capacity(EVENTS),
            lost: 0,
        }
    }

    /// Processes the arrival of a frame that the stitcher accepts.
    pub(super) fn arrived(&mut self, camera: usize, now: Duration) {
        self.monitors[camera].arrived(now, &self.options);
        self.update(now);
    }

    /// Processes a frame that the stitcher or the device rejects.
    pub(super) fn rejected(&mut self, camera: usize, now: Duration) {
        self.monitors[camera].rejected();
        self.update(now);
    }

    /// Processes a complete set of frames. `frames` yields for each camera whether the set contains its frame.
    pub(super) fn set(&mut self, now: Duration, frames: impl IntoIterator<Item = bool>) {
        for (monitor, has_frame) in self.monitors.iter_mut().zip(frames) {
            monitor.set(now, has_frame, &self.options);
        }
        self.update(now);
    }

    /// Connects or disconnects a camera.
    pub(super) fn connect(&mut self, camera: usize, connected: bool, now: Duration) {
        self.monitors[camera].connect(connected);
        self.update(now);
    }

    /// Processes the analysis of new pictures: the index of each camera and the vitals of its picture.
    pub(super) fn analysed(
        &mut self,
        now: Duration,
        vitals: impl IntoIterator<Item = (usize, Vitals)>,
    ) {
        for (camera, vitals) in vitals {
            // A camera without a picture shows black.
            if self.monitors[camera].has_picture() {
                self.monitors[camera].analysed(now, vitals, &self.options);
            }
        }
        self.update(now);
    }

    /// Updates all states to the time `now`, and records the changes.
    fn update(&mut self, now: Duration) {
        let cameras = self.monitors.len();
        for (camera, monitor) in self.monitors.iter_mut().enumerate() {
            let Some(state) = monitor.update(now, &self.options) else { continue };
            let name = camera_name(camera, cameras);
            if state != CameraState::Live {
                tracing::warn!(camera, "the {name} camera is {state}");
            } else {
                tracing::info!(camera, "the {name} camera works again");
            }
            if self.events.len() == EVENTS {
                self.events.pop_front();
                self.lost += 1;
            }
            self.events.push_back(CameraEvent { camera, state, at: now.as_secs_f64() });
        }
    }

    /// Returns whether sets should wait for a frame of the camera, because its frames arrive.
    pub(super) fn delivers(&self, camera: usize) -> bool {
        self.monitors[camera].delivers()
    }

    /// Advances the fades to the next panorama.
    pub(super) fn next(&mut self, now: Duration) -> Presence {
        self.update(now);
        let Self { options, monitors, fades, .. } = self;
        let is_bad = |monitor: &CameraMonitor| monitor.has_bad_pictures(options);
        let any_content = any_content(monitors, is_bad);
        let conditions = monitors.iter().map(|monitor| match () {
            () if !monitor.has_picture() => Condition::NoPicture,
            () if monitor.is_gone() => Condition::Failed,
            () if any_content && is_bad(monitor) => Condition::Failed,
            () => Condition::Works,
        });
        fades.next(now, conditions, options)
    }

    /// Returns whether each camera may have failed, because its latest picture has no content although that of another
    /// camera has.
    pub(super) fn suspects(&self) -> [bool; MAX_CAMERAS] {
        let is_suspect = |monitor: &CameraMonitor| monitor.may_be_black(&self.options);
        let any_content = any_content(&self.monitors, is_suspect);
        let mut suspects = [false; MAX_CAMERAS];
        for (suspect, monitor) in suspects.iter_mut().zip(&self.monitors) {
            *suspect = any_content && is_suspect(monitor);
        }
        suspects
    }

    /// Returns the state and the counters of each camera.
    pub(super) fn health(&mut self, now: Duration) -> Vec<CameraHealth> {
        self.update(now);
        let Presence { presence, cover } = *self.fades.current();
        let figures = presence.into_iter().zip(cover);
        let health = |(monitor, (presence, cover)): (&CameraMonitor, _)| CameraHealth {
            presence,
            cover,
            ..monitor.health()
        };
        self.monitors.iter().zip(figures).map(health).collect()
    }

    /// Removes and returns the changes that were not read yet.
    pub(super) fn take_events(&mut self, now: Duration) -> CameraEvents {
        self.update(now);
        CameraEvents {
            events: self.events.drain(..).collect(),
            lost: std::mem::take(&mut self.lost),
        }
    }
}

/// Returns whether any camera that works shows a picture that is not `bad`.
fn any_content(monitors: &[CameraMonitor], bad: impl Fn(&CameraMonitor) -> bool) -> bool {
    monitors.iter().any(|monitor| monitor.has_picture() && !monitor.is_gone() && !bad(monitor))
}

#[cfg(test)]
mod tests;
