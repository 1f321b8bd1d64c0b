//! Colour that follows the light, and the seam: an analysis of some frames, collected later without waiting.
//!
//! One analysis runs at a time, on a stream of low priority. It holds on to the frames that it reads, so
//! that nothing writes over them however late it is. What it finds moves the colours of the frames that
//! come after, a little each.
//!
//! A failure of the analysis is a strike, and so is a result that does not come until its deadline;
//! three in a row switch the correction off, and leave the seam where it is. A scene too dark to say anything is no failure.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shared_types::colour::ColourSums;
use shared_types::seam::SeamCosts;

use super::buffers::Pair;
use super::worker::insist;
use super::{ColourOptions, Current, LiveWarp, Shared, lock};
use crate::colour::{Colours, Limits, Tracker, estimate};
use crate::device::{DeviceError, Event, Pinned, Priority, Stream};
use crate::seam::Blend;
use crate::stitch::StitchError;

/// Failures in a row that switch the correction off.
const STRIKES: u32 = 3;

/// The newest analysis that gave a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Analysis {
    /// Timestamp of the pair of frames that it looked at.
    pub timestamp: Duration,
    /// Their sums over the overlap.
    pub sums: ColourSums,
}

/// How the correction stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ColourState {
    /// Whether colours follow the light.
    pub following: bool,
    /// Failures in a row; at three the correction was switched off.
    pub strikes: u32,
    /// The colours of the newest frame.
    pub colours: Colours,
    /// The newest analysis.
    pub analysis: Option<Analysis>,
}

/// An analysis that has not been collected.
struct Running {
    /// What it reads, kept alive until the stream is idle.
    pair: Arc<Pair>,
    warp: Arc<LiveWarp>,
    timestamp: Duration,
    /// What is asked.
    colour: bool,
    seam: bool,
    /// When a strike is due if the stream is not idle by then.
    deadline: Instant,
    stage: Stage,
}

enum Stage {
    /// To be launched after so many more frames: for tests of what a late analysis reads.
    Held(u32),
    Launched,
    /// Failed: there will be no result, but the device may still be reading.
    Failed,
}

pub(super) struct Follower {
    stream: Stream,
    sums: Pinned<ColourSums>,
    costs: Pinned<SeamCosts>,
    options: ColourOptions,
    tracker: Tracker,
    running: Option<Running>,
    /// Which switching-on this is; see [`Current`].
    epoch: u64,
    state: ColourState,
    /// Whether better seams are looked for.
    seeking: bool,
    /// Frames since the last analysis was due.
    frames: u32,
}

/// What estimates for this warp may answer.
fn limits(warp: &LiveWarp) -> Limits {
    warp.overlap.as_ref().map_or_else(Limits::default, |(overlap, _)| overlap.limits())
}

impl Follower {
    pub(super) fn new(shared: &Shared, options: ColourOptions) -> Result<Self, DeviceError> {
        Ok(Self {
            stream: Stream::new(&shared.device, Priority::Default)?,
            sums: Pinned::new(&shared.device, 1)?,
            costs: Pinned::new(&shared.device, 1)?,
            options,
            tracker: Tracker::default(),
            running: None,
            epoch: 0,
            state: ColourState::default(),
            seeking: false,
            frames: 0,
        })
    }

    /// The colours of the next frame. Fails only if the device is lost.
    pub(super) fn next(
        &mut self,
        shared: &Shared,
        current: &Current,
    ) -> Result<Colours, DeviceError> {
        if self.epoch != current.follow_epoch {
            self.epoch = current.follow_epoch;
            (self.state.strikes, self.frames) = (0, 0);
            self.state.following = current.follow;
            self.seeking = shared.blend != Blend::Feather;
            if !current.follow {
                self.tracker = Tracker::default();
            }
        }
        self.collect(shared)?;
        self.state.colours = if self.state.following {
            self.tracker.advance()
        } else {
            Colours { left: current.stitch.left, right: current.stitch.right }
        };
        *shared.colour() = self.state;
        Ok(self.state.colours)
    }

    /// Takes in a result that has come, without waiting for one.
    fn collect(&mut self, shared: &Shared) -> Result<(), DeviceError> {
        let Some(running) = &mut self.running else { return Ok(()) };
        if let Stage::Held(frames) = &mut running.stage {
            *frames = frames.saturating_sub(1);
            return if *frames == 0 { self.launch(shared) } else { Ok(()) };
        }
        match (self.stream.is_done(), &running.stage) {
            (Ok(true), Stage::Launched) => {
                if let Some(running) = self.running.take() {
                    if self.state.following || self.seeking {
                        self.state.strikes = 0;
                    }
                    self.take_in(shared, &running);
                }
                Ok(())
            }
            (Ok(true), _) => {
                self.running = None;
                Ok(())
            }
            (Ok(false), _) if Instant::now() >= running.deadline => {
                running.deadline = Instant::now() + self.options.deadline;
                self.strike(shared, &"it gave no result until its deadline");
                Ok(())
            }
            (Ok(false), _) => Ok(()),
            (Err(error), _) => self.failed(shared, error),
        }
    }

    /// Takes in the result of an analysis.
    fn take_in(&mut self, shared: &Shared, running: &Running) {
        let counters = &mut shared.tally().counters;
        if running.colour {
            let analysis = Analysis { timestamp: running.timestamp, sums: self.sums[0] };
            self.state.analysis = Some(analysis);
            let found = estimate(&analysis.sums, &limits(&running.warp));
            counters.analyses += 1;
            counters.dark += u64::from(found.is_none());
            // It may come when nobody asks any more.
            if self.state.following {
                self.tracker.observe(found);
            }
        }
        if let (true, Some(seam)) = (running.seam, &running.warp.seam) {
            counters.seam_moves += u64::from(lock(seam).observe(self.costs[0]));
        }
    }

    /// Has a pair of frames, which the device has been told to stitch, analysed if it is time. Fails
    /// only if the device is lost.
    pub(super) fn offer(
        &mut self,
        shared: &Shared,
        warp: &Arc<LiveWarp>,
        pair: &Arc<Pair>,
        stitched: &Event,
        timestamp: Duration,
    ) -> Result<(), DeviceError> {
        if !self.state.following && !self.seeking {
            return Ok(());
        }
        self.frames += 1;
        let colour = self.state.following && warp.overlap.is_some();
        let seam = warp.seam.as_ref().filter(|_| self.seeking).map(lock);
        let first = (colour && self.state.analysis.is_none())
            || seam.as_ref().is_some_and(|seam| seam.is_new());
        let seam = seam.is_some_and(|seam| seam.is_at_rest());
        let due = self.frames >= self.options.every || first;
        if !due || self.running.is_some() || !(colour || seam) {
            return Ok(());
        }
        self.frames = 0;
        let stage = match self.options.delay {
            0 => Stage::Failed,
            frames => Stage::Held(frames),
        };
        let (pair, warp) = (Arc::clone(pair), Arc::clone(warp));
        let deadline = Instant::now() + self.options.deadline;
        self.running = Some(Running { pair, warp, timestamp, colour, seam, deadline, stage });
        // What was uploaded for the stitch is there when it is done.
        if let Err(error) = self.stream.wait(stitched) {
            return self.failed(shared, error);
        }
        if self.options.delay == 0 { self.launch(shared) } else { Ok(()) }
    }

    fn launch(&mut self, shared: &Shared) -> Result<(), DeviceError> {
        let launched = self.submit();
        match (launched, &mut self.running) {
            (Ok(()), Some(running)) => {
                running.deadline = Instant::now() + self.options.deadline;
                running.stage = Stage::Launched;
                Ok(())
            }
            (Err(StitchError::Device(error)), _) => self.failed(shared, error),
            (Err(error), _) => {
                self.strike(shared, &error);
                self.running = None;
                Ok(())
            }
            (Ok(()), None) => Ok(()),
        }
    }

    fn submit(&mut self) -> Result<(), StitchError> {
        let Some(Running { pair, warp, colour, seam, .. }) = &self.running else { return Ok(()) };
        if let (true, Some((overlap, summing))) = (*colour, &warp.overlap) {
            let mut summing = lock(summing);
            let (left, right) = (pair.left.view(), pair.right.view());
            // SAFETY: only this stream has had them.
            unsafe { overlap.submit(&self.stream, left, right, &mut summing)? };
            // SAFETY: the sums are looked at, and freed, only when the stream is idle.
            unsafe { summing.submit_download(&self.stream, &mut self.sums)? };
        }
        if let (true, Some(seam)) = (*seam, &warp.seam) {
            let colours = self.state.colours;
            // SAFETY: as the sums; a warp's seam is looked for on this stream alone.
            unsafe {
                lock(seam).submit(&self.stream, &warp.warp, pair, colours, &mut self.costs)?;
            }
        }
        Ok(())
    }

    /// A failure after which the device may still be reading.
    fn failed(&mut self, shared: &Shared, error: DeviceError) -> Result<(), DeviceError> {
        if error.is_fatal() {
            return Err(error);
        }
        if let Some(running) = &mut self.running {
            running.stage = Stage::Failed;
        }
        self.strike(shared, &error);
        Ok(())
    }

    fn strike(&mut self, shared: &Shared, reason: &dyn std::fmt::Display) {
        if !self.state.following && !self.seeking {
            return;
        }
        self.state.strikes += 1;
        shared.tally().counters.strikes += 1;
        if self.state.strikes < STRIKES {
            tracing::warn!("analysis of the frames: {reason}");
        } else {
            (self.state.following, self.seeking) = (false, false);
            self.tracker = Tracker::default();
            tracing::error!(
                "colour correction is off, and the seam stays, after {STRIKES} failures, until the correction is switched on again: {reason}"
            );
        }
        *shared.colour() = self.state;
    }

    /// Waits for the analysis. What it reads is never given back if that fails. Fails only if the device
    /// is lost.
    pub(super) fn end(self) -> Result<(), DeviceError> {
        if self.running.is_none() {
            return Ok(());
        }
        insist(|| self.stream.synchronize()).or_else(|error| {
            std::mem::forget(self.running);
            if error.is_fatal() { Err(error) } else { Ok(()) }
        })
    }
}
