//! Analyses colours and searches for the best seam in parallel with the stitching, and collects the results without
//! blocking.
//!
//! One analysis runs at a time, on a stream with a lower priority than the stitch. The analysis holds a reference to
//! its set of frames, so that the buffers of the frames are not reused before the analysis ends. The result changes
//! the colours of later frames in small steps, and may move the seam.
//!
//! Each failure of an analysis, and each missed deadline, counts as a strike. Three consecutive strikes switch off the
//! colour correction and the seam search, and the seam keeps its position. An analysis of a scene that is too dark for
//! an estimate is not a failure.
//!
//! Only cameras that are completely in the panorama are compared. The colours and the seams of the others stay until
//! they work again. When a failure is noticed, the colours stop to change until the next analysis.
//!
//! When the colour correction is switched on or off, the colours change from their current values in small steps. When
//! it is switched off, they change to the manual colours, which the user sets in the stitch options.

use std::sync::Arc;
use std::time::Duration;

use shared_types::colour::ColourSums;
use shared_types::stitch::MAX_CAMERAS;

use super::buffers::{FrameSet, views};
use super::cameras::Shares;
use super::colour_state::{Analysis, OverlapSums};
use super::live_warp::{FrameSettings, LiveWarp};
use super::options::ColourOptions;
use super::shared::Shared;
use crate::device::{DeviceError, Event, Pinned, Priority, Stream, insist};
use crate::lock::lock;
use crate::ops::colour::{ColourMatcher, ColourTracker, Colours, MAX_OVERLAPS, Overlap};
use crate::ops::stitch::{StitchError, Vignettes};

/// The number of consecutive failures of the analysis after which the colour correction and the seam search are
/// switched off.
const STRIKES: u32 = 3;

/// Whether the picture of each camera is compared with those of other cameras.
pub(super) type Compared = [bool; MAX_CAMERAS];

/// An analysis in progress.
struct Running {
    /// The cameras that are compared.
    compared: Compared,
    vignettes: Vignettes,
    /// The analysed frames. This reference prevents the reuse of their buffers until the stream is idle.
    set: Arc<FrameSet>,
    warp: Arc<LiveWarp>,
    timestamp: Duration,
    /// Whether the analysis includes the colour correction.
    colour: bool,
    /// Whether the analysis includes the seam search.
    seam: bool,
    /// The time at which the deadline starts to run: the launch of the analysis, or the latest missed deadline.
    since: Duration,
    stage: Stage,
}

enum Stage {
    /// The analysis is not launched yet. The number is that of the frames until the launch. Only tests delay launches.
    Held(u32),
    Launched,
    /// The analysis failed without a result. The device may still read the frames, so they are kept.
    Failed,
}

pub(super) struct Follower {
    stream: Stream,
    sums: Pinned<ColourSums>,
    options: ColourOptions,
    matcher: ColourMatcher,
    tracker: ColourTracker,
    /// The manual colour corrections, which the user set in the stitch options, at the time of the newest frame.
    manual: Colours,
    running: Option<Running>,
    /// The timestamp of the newest set.
    time: Duration,
    /// The number of frames since the last analysis was started.
    frames: u32,
    /// The cameras of the latest set that are compared.
    compared: Compared,
}

impl Follower {
    pub(super) fn new(shared: &Shared) -> Result<Self, DeviceError> {
        let options = shared.options.colour;
        let current = shared.current();
        let (manual, cameras) = (current.stitch.colours, current.warp.warp.sources().len());
        let mut tracker = ColourTracker::new(options.frame_rate);
        tracker.begin_at(manual);
        Ok(Self {
            stream: Stream::new(&shared.device, Priority::Default)?,
            sums: Pinned::new(&shared.device, MAX_OVERLAPS as usize)?,
            options,
            matcher: ColourMatcher::new(cameras, options.anchor),
            tracker,
            manual,
            running: None,
            time: Duration::ZERO,
            frames: 0,
            compared: [false; MAX_CAMERAS],
        })
    }

    /// Returns the cameras that are compared: those that are completely in the panorama, without those that may be
    /// black. If one of them is no longer compared, the colours stay as they are. `cameras` has the shares and the
    /// suspects.
    pub(super) fn compared(
        &mut self,
        shared: &Shared,
        cameras: Option<&(Shares, Compared)>,
    ) -> Compared {
        let is_compared = |camera: usize| {
            cameras.is_none_or(|(shares, suspects)| {
                shares.presence[camera] == 1.0 && !suspects[camera]
            })
        };
        let compared = std::array::from_fn(is_compared);
        let before = std::mem::replace(&mut self.compared, compared);
        if before.iter().zip(&compared).any(|(before, now)| *before && !now) {
            self.tracker.head_for(shared.colour().colours);
        }
        compared
    }

    /// Returns the colours of the set at `time`. Fails only if the device is lost.
    pub(super) fn next(
        &mut self,
        shared: &Shared,
        current: &FrameSettings,
        time: Duration,
    ) -> Result<Colours, DeviceError> {
        self.time = time;
        self.collect(shared)?;
        let mut state = shared.colour();
        let manual = current.stitch.colours;
        if !state.following && state.colours == self.manual {
            // The colours have already reached the manual colours, so a change of the manual colours applies at once.
            self.tracker.begin_at(manual);
        } else if !state.following {
            self.tracker.head_for(manual);
        }
        self.manual = manual;
        state.colours = self.tracker.advance();
        Ok(if self.options.keep_highlights {
            state.colours.with_shoulders()
        } else {
            state.colours
        })
    }

    /// Processes the result of the running analysis if it is done. If it is not done, checks its deadline.
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
            (Ok(false), _) => {
                // The cameras' clock may have been set back.
                running.since = running.since.min(self.time);
                if self.time - running.since >= self.options.deadline {
                    running.since = self.time;
                    self.strike(shared, &"no result before the deadline");
                }
                Ok(())
            }
            (Err(error), _) => self.failed(shared, error.into()),
        }
    }

    /// Processes the result of an analysis. Ignores the result for the colours if the colour correction was switched
    /// off after the launch, and the result for the seam if the seam search was switched off.
    fn take_in(&mut self, shared: &Shared, running: &Running) {
        let mut found = None;
        if let (true, Some((overlaps, _))) = (running.colour, &running.warp.overlaps) {
            let mut edges = overlaps.edges(&self.sums, &running.vignettes);
            // A camera may have failed since the launch.
            let is_compared = |camera: &usize| running.compared[*camera] && self.compared[*camera];
            edges.retain(|edge| edge.cameras().iter().all(is_compared));
            let estimate = self.matcher.observe(&edges).map(Colours::of);
            let sums = overlaps.all().iter().zip(&self.sums[..]);
            let sums =
                sums.map(|(overlap, &sums)| OverlapSums { cameras: overlap.cameras(), sums });
            let analysis = Analysis { timestamp: running.timestamp, overlaps: sums.collect() };
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
        if let (true, Some(seam)) = (running.seam && seeking, &running.warp.weights) {
            let moved = lock(seam).observe();
            shared.tally().counters.seam_moves += moved;
        }
    }

    /// Starts an analysis of a submitted set if an analysis is due and none is running. Fails only if the device is
    /// lost.
    pub(super) fn offer(
        &mut self,
        shared: &Shared,
        settings: &FrameSettings,
        set: &Arc<FrameSet>,
        compared: Compared,
        stitched: &Event,
        timestamp: Duration,
    ) -> Result<(), DeviceError> {
        let warp = &settings.warp;
        let vignettes = settings.stitch.vignettes;
        let (following, seeking, is_analysed) = {
            let state = shared.colour();
            (state.following, state.seeking, state.analysis.is_some())
        };
        if !following && !seeking {
            return Ok(());
        }
        self.frames = self.frames.saturating_add(1);
        let is_compared = |overlap: &Overlap| overlap.cameras().iter().all(|i| compared[*i]);
        let overlaps = warp.overlaps.as_ref().filter(|_| following);
        let colour = overlaps.is_some_and(|(overlaps, _)| overlaps.all().iter().any(is_compared));
        let seam = warp.weights.as_ref().filter(|_| seeking).map(lock);
        let is_new = seam.as_ref().is_some_and(|seam| seam.is_new(&compared));
        let first = (colour && !is_analysed) || is_new;
        let seam = seam.is_some_and(|seam| seam.is_at_rest(&compared));
        let due = self.frames >= self.options.every || first;
        if !due || self.running.is_some() || !(colour || seam) {
            return Ok(());
        }
        self.frames = 0;
        let stage = Stage::Held(self.options.delay);
        let (set, warp) = (Arc::clone(set), Arc::clone(warp));
        self.running = Some(Running {
            compared,
            vignettes,
            set,
            warp,
            timestamp,
            colour,
            seam,
            since: timestamp,
            stage,
        });
        // The analysis must start after all frames are uploaded. The `stitched` event follows all uploads, because
        // the stitch reads the frames.
        if let Err(error) = self.stream.wait(stitched) {
            return self.failed(shared, error.into());
        }
        if self.options.delay == 0 { self.launch(shared) } else { Ok(()) }
    }

    fn launch(&mut self, shared: &Shared) -> Result<(), DeviceError> {
        let colours = shared.colour().colours;
        if let Some(running) = &mut self.running {
            (running.since, running.stage) = (self.time, Stage::Launched);
        }
        self.submit(colours).or_else(|error| self.failed(shared, error))
    }

    fn submit(&mut self, colours: Colours) -> Result<(), StitchError> {
        let Some(Running { compared, set, warp, colour, seam, .. }) = &self.running else {
            return Ok(());
        };
        if let (true, Some((overlaps, summing))) = (*colour, &warp.overlaps) {
            let mut summing = lock(summing);
            let frames = set.lock();
            // SAFETY: only this stream uses `summing`. `running` keeps the frames and the warp alive until the stream
            // is idle.
            unsafe { overlaps.submit(&self.stream, &views(&frames), &mut summing)? };
            // SAFETY: `self.sums`, to which the device copies the sums, is read and freed only when the stream is idle.
            unsafe { summing.sums.submit_download(&self.stream, &mut self.sums)? };
        }
        if let (true, Some(seam)) = (*seam, &warp.weights) {
            // SAFETY: every search for this warp's seams runs on this stream, so no two searches run at the same time.
            // `running` keeps the warp with its seams, and the frames, until the stream is idle.
            unsafe { lock(seam).search(&self.stream, &warp.warp, set, compared, colours)? };
        }
        Ok(())
    }

    /// Handles a failure of the running analysis. Keeps the analysed frames, because the device may still read them.
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

    /// Waits until the running analysis ends. If the wait fails, leaks the analysed frames, because the device may
    /// still read them. Returns an error only if the device is lost.
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
