//! Colour that follows the light: an analysis of some frames, collected later without waiting.
//!
//! One analysis runs at a time, on a stream of low priority. It holds on to the frames that it reads, so
//! that nothing writes over them however late it is. What it finds moves the colours of the frames that
//! come after, a little each.
//!
//! A failure of the analysis is a strike, and so is a result that does not come until its deadline;
//! three in a row switch the correction off. A scene too dark to say anything is no failure.
//!
//! Switched on or off, by whomever, the colours begin where they are and go on in small steps: off, to
//! those that were set by hand.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shared_types::colour::ColourSums;

use super::buffers::Pair;
use super::{ColourOptions, Current, LiveWarp, Shared};
use crate::colour::{Colours, Limits, Tracker, estimate};
use crate::device::{DeviceError, Event, Pinned, Priority, Stream, insist};
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
#[derive(Clone, Copy, Debug, PartialEq)]
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

impl ColourState {
    pub(super) fn new(following: bool, colours: Colours) -> Self {
        Self { following, strikes: 0, colours, analysis: None }
    }

    /// Switches following on or off, and forgets the strikes.
    pub(super) fn follow(&mut self, follow: bool) {
        (self.following, self.strikes) = (follow, 0);
    }
}

/// An analysis that has not been collected.
struct Running {
    /// What it reads, kept alive until the stream is idle.
    pair: Arc<Pair>,
    warp: Arc<LiveWarp>,
    timestamp: Duration,
    /// When it was begun, or the latest strike for its being late.
    since: Instant,
    stage: Stage,
}

enum Stage {
    /// To be launched, after so many more frames in tests of what a late analysis reads.
    Held(u32),
    Launched,
    /// Failed: there will be no result, but the device may still be reading.
    Failed,
}

pub(super) struct Follower {
    stream: Stream,
    sums: Pinned<ColourSums>,
    options: ColourOptions,
    tracker: Tracker,
    /// Colours that were set by hand, at the newest frame.
    home: Colours,
    running: Option<Running>,
    /// Frames since the last analysis was due.
    frames: u32,
}

/// An overlap that is small has few pixels in the best light: a quarter of them must do.
fn limits(warp: &LiveWarp) -> Limits {
    let limits = Limits::default();
    let full = warp.overlap.as_ref().map_or(0.0, |(overlap, _)| overlap.full_weight());
    Limits { min_weight: limits.min_weight.min(0.25 * full), ..limits }
}

impl Follower {
    pub(super) fn new(shared: &Shared, options: ColourOptions) -> Result<Self, DeviceError> {
        let home = shared.current().colours();
        let mut tracker = Tracker::default();
        tracker.begin_at(home);
        Ok(Self {
            stream: Stream::new(&shared.device, Priority::Default)?,
            sums: Pinned::new(&shared.device, 1)?,
            options,
            tracker,
            home,
            running: None,
            frames: 0,
        })
    }

    /// The colours of the next frame. Fails only if the device is lost.
    pub(super) fn next(
        &mut self,
        shared: &Shared,
        current: &Current,
    ) -> Result<Colours, DeviceError> {
        self.collect(shared)?;
        let mut state = shared.colour();
        let home = current.colours();
        if !state.following && state.colours == self.home {
            // It is at rest, so what is set by hand comes at once.
            self.tracker.begin_at(home);
        } else if !state.following {
            self.tracker.head_for(home);
        }
        self.home = home;
        state.colours = self.tracker.advance();
        Ok(state.colours)
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
                let analysis = Analysis { timestamp: running.timestamp, sums: self.sums[0] };
                let limits = limits(&running.warp);
                self.running = None;
                let found = estimate(&analysis.sums, &limits);
                {
                    let counters = &mut shared.tally().counters;
                    counters.analyses += 1;
                    counters.dark += u64::from(found.is_none());
                }
                let mut state = shared.colour();
                state.analysis = Some(analysis);
                // It may come when nobody asks any more.
                if state.following {
                    state.strikes = 0;
                    self.tracker.observe(found);
                }
                Ok(())
            }
            (Ok(true), _) => {
                self.running = None;
                Ok(())
            }
            (Ok(false), _) if running.since.elapsed() >= self.options.deadline => {
                running.since = Instant::now();
                self.strike(shared, &"it gave no result until its deadline");
                Ok(())
            }
            (Ok(false), _) => Ok(()),
            (Err(error), _) => self.failed(shared, error),
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
        let ColourState { following, analysis, .. } = *shared.colour();
        if !following {
            return Ok(());
        }
        self.frames = self.frames.saturating_add(1);
        let due = self.frames >= self.options.every || analysis.is_none();
        if !due || self.running.is_some() || warp.overlap.is_none() {
            return Ok(());
        }
        self.frames = 0;
        let stage = Stage::Held(self.options.delay);
        let (pair, warp) = (Arc::clone(pair), Arc::clone(warp));
        self.running = Some(Running { pair, warp, timestamp, since: Instant::now(), stage });
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
                running.since = Instant::now();
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
        let Some(Running { pair, warp, .. }) = &self.running else { return Ok(()) };
        let Some((overlap, summing)) = &warp.overlap else { return Ok(()) };
        let mut summing = summing.lock().unwrap_or_else(|e| e.into_inner());
        let (left, right) = (pair.left.view(), pair.right.view());
        // SAFETY: only this stream has had them.
        unsafe { overlap.submit(&self.stream, left, right, &mut summing)? };
        // SAFETY: the sums are looked at, and freed, only when the stream is idle.
        unsafe { summing.submit_download(&self.stream, &mut self.sums)? };
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
        let mut state = shared.colour();
        if !state.following {
            return;
        }
        state.strikes += 1;
        let strikes = state.strikes;
        state.following = strikes < STRIKES;
        drop(state);
        shared.tally().counters.strikes += 1;
        if strikes < STRIKES {
            tracing::warn!("colour analysis: {reason}");
        } else {
            tracing::error!(
                "colour correction is off after {STRIKES} failures, until it is switched on again: {reason}"
            );
        }
    }

    /// Waits for the analysis. What it reads is never given back if that fails. Fails only if the device
    /// is lost.
    pub(super) fn end(self) -> Result<(), DeviceError> {
        if self.running.is_none() {
            return Ok(());
        }
        insist(DeviceError::is_fatal, || self.stream.synchronize()).or_else(|error| {
            std::mem::forget(self.running);
            if error.is_fatal() { Err(error) } else { Ok(()) }
        })
    }
}
