//! Fades a failed camera out of the panorama, and back in when it returns.
//!
//! Each camera has a *presence* from 1 to 0 and a *cover* from 0 to 1. The presence multiplies the camera's blending
//! weight, so that its neighbours fill the pixels that they cover. The cover is the share of a constant colour in place
//! of the camera's picture, which matters where no other camera covers a pixel. There the last frame stays for a
//! while before the cover grows.
//!
//! Both change by a fixed step per panorama. They are integers, so that a camera that returns is exactly where it was
//! before.

use std::time::Duration;

use shared_types::stitch::MAX_CAMERAS;

use super::failure::FailureOptions;

/// The presence and the cover of each camera in one panorama. Elements without a camera are 1 and 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Presence {
    pub(super) presence: [f32; MAX_CAMERAS],
    pub(super) cover: [f32; MAX_CAMERAS],
}

impl Presence {
    /// All cameras are in the panorama.
    pub(super) const FULL: Self = Self { presence: [1.0; MAX_CAMERAS], cover: [0.0; MAX_CAMERAS] };
}

/// Whether the picture of each camera is compared with those of other cameras.
pub(super) type Compared = [bool; MAX_CAMERAS];

/// A number from 0 to 1 that rises and falls by different steps: it is `at` / (`up` · `down`).
#[derive(Clone, Copy, Debug, Default)]
struct Fade {
    at: u32,
}

impl Fade {
    /// Moves to 1 in `up` steps, or to 0 in `down` steps.
    fn step(&mut self, rises: bool, up: u32, down: u32) {
        self.at = if rises { (self.at + down).min(up * down) } else { self.at.saturating_sub(up) };
    }

    fn jump(&mut self, to_one: bool, up: u32, down: u32) {
        self.at = if to_one { up * down } else { 0 };
    }

    fn value(self, up: u32, down: u32) -> f32 {
        self.at as f32 / (up * down) as f32
    }
}

/// The condition of a camera at the time of a panorama.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// The camera works.
    Works,
    /// The camera has failed. Its last frame can be shown for a while.
    Failed,
    /// The camera has never delivered a frame.
    NoPicture,
}

#[derive(Clone, Copy, Debug, Default)]
struct CameraFade {
    presence: Fade,
    cover: Fade,
    /// The time of the first panorama since the camera failed.
    failed: Option<Duration>,
}

/// The fades of all cameras.
#[derive(Debug)]
pub(super) struct Fades {
    cameras: Vec<CameraFade>,
    current: Presence,
    /// Whether `current` is that of a panorama. If not, the next panorama is the first, and starts without a fade.
    started: bool,
}

impl Fades {
    pub(super) fn new(cameras: usize) -> Self {
        let cameras = vec![CameraFade::default(); cameras];
        Self { cameras, current: Presence::FULL, started: false }
    }

    /// Advances the fades to the next panorama.
    pub(super) fn next(
        &mut self,
        now: Duration,
        conditions: impl IntoIterator<Item = Condition>,
        options: &FailureOptions,
    ) -> Presence {
        let FailureOptions { fade_in, fade_out, fade_colour, hold, .. } = *options;
        let Presence { presence, cover } = &mut self.current;
        let values = presence.iter_mut().zip(cover);
        for ((fade, condition), (presence, cover)) in
            self.cameras.iter_mut().zip(conditions).zip(values)
        {
            let works = condition == Condition::Works;
            let failed = (!works).then(|| *fade.failed.get_or_insert(now));
            fade.failed = failed;
            let is_held = failed.is_none_or(|failed| now.saturating_sub(failed) < hold);
            let covers = condition == Condition::NoPicture || !is_held;
            if self.started {
                fade.presence.step(works, fade_in, fade_out);
                fade.cover.step(covers, fade_colour, fade_in);
            } else {
                fade.presence.jump(works, fade_in, fade_out);
                fade.cover.jump(covers, fade_colour, fade_in);
            }
            *presence = fade.presence.value(fade_in, fade_out);
            *cover = fade.cover.value(fade_colour, fade_in);
        }
        self.started = true;
        self.current
    }

    /// Returns the presence and cover of the newest panorama.
    pub(super) fn current(&self) -> &Presence {
        &self.current
    }
}
