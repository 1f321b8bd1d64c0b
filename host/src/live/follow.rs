//! Colour that follows the light, and the seam: an analysis of some frames, collected later without
//! waiting.
//!
//! One analysis runs at a time, on a stream of low priority. It holds on to the frames that it reads, so
//! that nothing writes over them however late it is. What it finds moves the colours of the frames that
//! come after, a little each, and the seam.
//!
//! A failure of the analysis is a strike, and so is a result that does not come until its deadline;
//! three in a row switch the correction off, and the search for better seams, and leave the seam where it
//! is. A scene too dark to say anything is no failure.
//!
//! Switched on or off, by whomever, the colours begin where they are and go on in small steps: off, to
//! those that were set by hand.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shared_types::colour::ColourSums;
use shared_types::seam::SeamCosts;

use super::buffers::Pair;
use super::{ColourOptions, Current, LiveWarp, Shared};
use crate::device::{DeviceError, Event, Pinned, Priority, Stream, insist};
use crate::lock::lock;
use crate::ops::colour::{ColourTracker, Colours, EstimateLimits, estimate};
use crate::ops::stitch::StitchError;

/// Failures in a row that switch the correction off, and the search for better seams.
const STRIKES: u32 = 3;

/// The newest analysis that gave a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Analysis {
    /// Timestamp of the pair of frames that it looked at.
    pub timestamp: Duration,
    /// Their sums over the overlap.
    pub sums: ColourSums,
}

/// How the correction stands, and the search for better seams, which shares its strikes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColourState {
    /// Whether colours follow the light.
    pub following: bool,
    /// Whether better seams are looked for.
    pub seeking: bool,
    /// Failures in a row; at three both were switched off.
    pub strikes: u32,
    /// The colours of the newest frame.
    pub colours: Colours,
    /// The newest analysis.
    pub analysis: Option<Analysis>,
}

impl ColourState {
    pub(super) fn new(following: bool, seeking: bool, colours: Colours) -> Self {
        Self { following, seeking, strikes: 0, colours, analysis: None }
    }

    /// Switches following and seeking on or off, and forgets the strikes.
    pub(super) fn switch(&mut self, following: bool, seeking: bool) {
        (self.following, self.seeking, self.strikes) = (following, seeking, 0);
    }
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
    costs: Pinned<SeamCosts>,
    options: ColourOptions,
    tracker: ColourTracker,
    /// Colours that were set by hand, at the newest frame.
    home: Colours,
    running: Option<Running>,
    /// Frames since the last analysis was due.
    frames: u32,
}

/// What estimates for this warp may answer.
fn limits(warp: &LiveWarp) -> EstimateLimits {
    warp.overlap.as_ref().map_or_else(EstimateLimits::default, |(overlap, _)| overlap.limits())
}

impl Follower {
    pub(super) fn new(shared: &Shared, options: ColourOptions) -> Result<Self, DeviceError> {
        let home = shared.current().colours();
        let mut tracker = ColourTracker::default();
        tracker.begin_at(home);
        Ok(Self {
            stream: Stream::new(&shared.device, Priority::Default)?,
            sums: Pinned::new(&shared.device, 1)?,
            costs: Pinned::new(&shared.device, 1)?,
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
                if let Some(running) = self.running.take() {
                    self.take_in(shared, &running);
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
            (Err(error), _) => self.failed(shared, error.into()),
        }
    }

    /// Takes in the result of an analysis. It may come when nobody asks any more.
    fn take_in(&mut self, shared: &Shared, running: &Running) {
        let mut found = None;
        if running.colour {
            let analysis = Analysis { timestamp: running.timestamp, sums: self.sums[0] };
            let estimate = estimate(&analysis.sums, &limits(&running.warp));
            let counters = &mut shared.tally().counters;
            counters.analyses += 1;
            counters.dark += u64::from(estimate.is_none());
            found = Some((analysis, estimate));
        }
        let seeking = {
            let mut state = shared.colour();
            if state.following || state.seeking {
                state.strikes = 0;
            }
            if let Some((analysis, estimate)) = found {
                state.analysis = Some(analysis);
                if state.following {
                    self.tracker.observe(estimate);
                }
            }
            state.seeking
        };
        if let (true, Some(seam)) = (running.seam && seeking, &running.warp.seam) {
            let moves = lock(seam).observe(self.costs[0]);
            shared.tally().counters.seam_moves += u64::from(moves);
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
        let ColourState { following, seeking, analysis, .. } = *shared.colour();
        if !following && !seeking {
            return Ok(());
        }
        self.frames = self.frames.saturating_add(1);
        let colour = following && warp.overlap.is_some();
        let seam = warp.seam.as_ref().filter(|_| seeking).map(lock);
        let first =
            (colour && analysis.is_none()) || seam.as_ref().is_some_and(|seam| seam.is_new());
        let seam = seam.is_some_and(|seam| seam.is_at_rest());
        let due = self.frames >= self.options.every || first;
        if !due || self.running.is_some() || !(colour || seam) {
            return Ok(());
        }
        self.frames = 0;
        let stage = Stage::Held(self.options.delay);
        let (pair, warp) = (Arc::clone(pair), Arc::clone(warp));
        let since = Instant::now();
        self.running = Some(Running { pair, warp, timestamp, colour, seam, since, stage });
        // What was uploaded for the stitch is there when it is done.
        if let Err(error) = self.stream.wait(stitched) {
            return self.failed(shared, error.into());
        }
        if self.options.delay == 0 { self.launch(shared) } else { Ok(()) }
    }

    fn launch(&mut self, shared: &Shared) -> Result<(), DeviceError> {
        let colours = shared.colour().colours;
        match (self.submit(colours), &mut self.running) {
            (Ok(()), Some(running)) => {
                running.since = Instant::now();
                running.stage = Stage::Launched;
                Ok(())
            }
            (Err(error), _) => self.failed(shared, error),
            (Ok(()), None) => Ok(()),
        }
    }

    fn submit(&mut self, colours: Colours) -> Result<(), StitchError> {
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
            // SAFETY: as the sums; a warp's seam is looked for on this stream alone.
            unsafe {
                lock(seam).submit(&self.stream, &warp.warp, pair, colours, &mut self.costs)?;
            }
        }
        Ok(())
    }

    /// A failure after which the device may still be reading.
    fn failed(&mut self, shared: &Shared, error: StitchError) -> Result<(), DeviceError> {
        let error = match error {
            StitchError::Device(error) if error.is_fatal() => return Err(error),
            error => error,
        };
        if let Some(running) = &mut self.running {
            running.stage = Stage::Failed;
        }
        self.strike(shared, &error);
        Ok(())
    }

    fn strike(&mut self, shared: &Shared, reason: &dyn std::fmt::Display) {
        let mut state = shared.colour();
        if !state.following && !state.seeking {
            return;
        }
        state.strikes += 1;
        let strikes = state.strikes;
        if strikes >= STRIKES {
            (state.following, state.seeking) = (false, false);
        }
        drop(state);
        shared.tally().counters.strikes += 1;
        if strikes < STRIKES {
            tracing::warn!("analysis of the frames: {reason}");
        } else {
            tracing::error!(
                "colour correction is off, and the seam stays, after {STRIKES} failures, until the correction is switched on or off again: {reason}"
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
