//! Analyses colours and searches the seam in parallel with the stitching, and collects the results without waiting.
//!
//! One analysis runs at a time, on a stream with a lower priority than the stitch. The analysis owns a reference to its
//! pair of frames, so that the frames' buffers are not reused before it ends. Its result changes the colours of later
//! frames in small steps, and may move the seam.
//!
//! Each failure of an analysis, and each missed deadline, counts as a strike. The third consecutive strike switches off
//! the colour correction and the seam search. The seam then keeps its position. A scene too dark for an estimate is not
//! a failure.
//!
//! When the correction is switched on or off, the colours change from their current values in small steps. After it is
//! switched off, they change to the manual colours, those of the stitcher's options.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shared_types::colour::ColourSums;
use shared_types::seam::SeamCosts;

use super::buffers::Pair;
use super::colour_state::{Analysis, ColourState};
use super::live_warp::{FrameSettings, LiveWarp};
use super::options::ColourOptions;
use super::shared::Shared;
use crate::device::{DeviceError, Event, Pinned, Priority, Stream, insist};
use crate::lock::lock;
use crate::ops::colour::{ColourTracker, Colours, EstimateLimits, estimate};
use crate::ops::stitch::StitchError;

/// The number of consecutive failures that switches off the colour correction and the seam search.
const STRIKES: u32 = 3;

/// An analysis in progress.
struct Running {
    /// The analysed frames. The reference keeps their buffers from being reused until the stream is idle.
    pair: Arc<Pair>,
    warp: Arc<LiveWarp>,
    timestamp: Duration,
    /// Whether the analysis includes the colours.
    colour: bool,
    /// Whether the analysis includes the seam.
    seam: bool,
    /// The time from which the deadline counts: the launch, or the latest strike for a missed deadline.
    since: Instant,
    stage: Stage,
}

enum Stage {
    /// Not launched yet, with the number of frames until the launch. Only tests delay launches.
    Held(u32),
    Launched,
    /// Failed without a result. The device may still read the frames, so they are kept.
    Failed,
}

pub(super) struct Follower {
    stream: Stream,
    sums: Pinned<ColourSums>,
    costs: Pinned<SeamCosts>,
    options: ColourOptions,
    tracker: ColourTracker,
    /// The manual colours that were valid for the newest frame.
    manual: Colours,
    running: Option<Running>,
    /// The number of frames since the last analysis was started.
    frames: u32,
}

/// Returns the limits for colour estimates in the overlap of this warp.
fn limits(warp: &LiveWarp) -> EstimateLimits {
    warp.overlap.as_ref().map_or_else(EstimateLimits::default, |(overlap, _)| overlap.limits())
}

impl Follower {
    pub(super) fn new(shared: &Shared, options: ColourOptions) -> Result<Self, DeviceError> {
        let manual = shared.current().colours();
        let mut tracker = ColourTracker::default();
        tracker.begin_at(manual);
        Ok(Self {
            stream: Stream::new(&shared.device, Priority::Default)?,
            sums: Pinned::new(&shared.device, 1)?,
            costs: Pinned::new(&shared.device, 1)?,
            options,
            tracker,
            manual,
            running: None,
            frames: 0,
        })
    }

    /// Returns the colours of the next frame. Fails only if the device is lost.
    pub(super) fn next(
        &mut self,
        shared: &Shared,
        current: &FrameSettings,
    ) -> Result<Colours, DeviceError> {
        self.collect(shared)?;
        let mut state = shared.colour();
        let manual = current.colours();
        if !state.following && state.colours == self.manual {
            // The fade to the manual colours is complete, so new manual colours apply at once.
            self.tracker.begin_at(manual);
        } else if !state.following {
            self.tracker.head_for(manual);
        }
        self.manual = manual;
        state.colours = self.tracker.advance();
        Ok(state.colours)
    }

    /// Processes the result of the running analysis if the analysis is done. Otherwise, checks its deadline.
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
                self.strike(shared, &"no result before the deadline");
                Ok(())
            }
            (Ok(false), _) => Ok(()),
            (Err(error), _) => self.failed(shared, error.into()),
        }
    }

    /// Processes the result of an analysis. Ignores the colours or the seam if they were switched off since its launch.
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

    /// Starts an analysis of a submitted pair if an analysis is due and none is running. Fails only if the device is
    /// lost.
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
        // The analysis must start after both frames are uploaded. The stitch reads them, so its event follows their
        // uploads.
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
            // SAFETY: only this stream uses `summing`, and `running` keeps the frames and the warp alive until the
            // stream is idle.
            unsafe { overlap.submit(&self.stream, left, right, &mut summing)? };
            // SAFETY: `self.sums` is read and freed only when the stream is idle.
            unsafe { summing.submit_download(&self.stream, &mut self.sums)? };
        }
        if let (true, Some(seam)) = (*seam, &warp.seam) {
            // SAFETY: all searches of a warp's seam use this stream, and `self.costs` is read and freed only when the
            // stream is idle.
            unsafe {
                lock(seam).submit(&self.stream, &warp.warp, pair, colours, &mut self.costs)?;
            }
        }
        Ok(())
    }

    /// Handles a failure of the running analysis. Keeps its frames, because the device may still read them.
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
            tracing::warn!("colour and seam analysis failed: {reason}");
        } else {
            tracing::error!(
                "colour correction and seam search were switched off after {STRIKES} failures; `follow_colour` switches them on again; the last failure: {reason}"
            );
        }
    }

    /// Waits for the running analysis. If the wait fails, leaks the analysed frames, because the device may still read
    /// them. Returns an error only if the device is lost.
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
