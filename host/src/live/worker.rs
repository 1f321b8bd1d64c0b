//! The two threads of a session: one submits sets of frames, the other collects panoramas.
//!
//! Upload, stitch and download use one stream each, ordered by events, so that the work of different frames overlaps.
//! In normal operation, the first thread waits only for a free output buffer, never for the device. The second thread
//! waits for the panoramas one by one. If the session runs on the CPU, all submissions are synchronous.
//!
//! If the driver rejects the submission of a set, the first thread drains the streams and submits the set again, up
//! to `ATTEMPTS` times in total. A fatal error or a panic stops the session. After that, both threads only count the
//! remaining sets and wait for the work in flight.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::AcqRel;
use std::sync::atomic::Ordering::Acquire;
use std::sync::mpsc::{Receiver, SendError, SyncSender};
use std::time::{Duration, Instant};

use glam::Vec3;
use shared_types::Rgba8;

use super::buffers::{FrameSet, Memory, OutputBuffer, SharedFrame, views};
use super::cameras::Shares;
use super::error::LiveError;
use super::follow::{Compared, Follower};
use super::live_warp::{FrameSettings, LiveWarp};
use super::options::{LOOK_AGAIN, Pace};
use super::outputs::OutputKind;
use super::panorama::{OutputFrame, StitchedFrame};
use super::shared::{Shared, Streams};
use super::weights::any_absent;
use crate::device::{DeviceError, Stream, insist};
use crate::frame::DeviceFrame;
use crate::io::video::HostPool;
use crate::lock::lock;
use crate::ops::colour::Colours;
use crate::ops::preview::preview;
use crate::ops::stitch::{Covers, StitchError, StitchOptions, StitchSet};
use crate::ops::view::ViewPose;
use crate::pool::{Pool, Pooled};

/// The maximum number of attempts to submit a set to the device.
const ATTEMPTS: u32 = 3;

/// A complete set that was not submitted to the device yet. `None` stands for the last frame of a camera.
pub(super) struct Job {
    pub(super) frames: Vec<Option<SharedFrame>>,
    pub(super) token: Pooled<()>,
    pub(super) timestamp: Duration,
    pub(super) complete: Instant,
}

/// A set that was submitted to the device, with the buffers that the device uses.
pub(super) struct Flight {
    set: Arc<FrameSet>,
    /// The cameras whose pictures are analysed.
    analysed: Vec<usize>,
    warp: Arc<LiveWarp>,
    output: Pooled<OutputBuffer>,
    colours: Colours,
    shares: Option<Shares>,
    timestamp: Duration,
    complete: Instant,
}

impl Flight {
    /// Leaks the buffers, because the GPU may still use them.
    fn abandon(self) {
        mem::forget((self.set, self.warp));
        self.output.abandon();
    }
}

/// Runs `body` and returns whether it panicked. User code that `body` runs may panic, for instance the drop of an
/// external frame.
fn panics(body: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(body)).is_err()
}

/// Submits the scaling of the first panorama to all previews.
fn previews(
    stream: &Stream,
    kinds: &[OutputKind],
    frames: &mut [OutputFrame],
) -> Result<(), StitchError> {
    let first = kinds.iter().position(|kind| matches!(kind, OutputKind::Panorama));
    for (at, kind) in kinds.iter().enumerate() {
        if let (OutputKind::Preview, Some(first)) = (kind, first)
            && let Ok([panorama, out]) = frames.get_disjoint_mut([first, at])
        {
            preview(stream, panorama.device.view(), &mut out.device)?;
        }
    }
    Ok(())
}

pub(super) struct Worker {
    shared: Arc<Shared>,
    follower: Follower,
    /// The last valid pose of each output that is a view.
    poses: Vec<ViewPose>,
    /// The number of sets.
    sets: u32,
    /// The last frame of each camera, which replaces frames that a set lacks. Black before the first frame. Empty if no
    /// set lacks frames.
    last: Vec<SharedFrame>,
    flights: SyncSender<Flight>,
}

impl Worker {
    pub(super) fn new(
        shared: &Arc<Shared>,
        flights: SyncSender<Flight>,
    ) -> Result<Self, DeviceError> {
        let lacks = shared.options.failure.is_some();
        let black = |(pool, host): &(Pool<DeviceFrame>, HostPool)| {
            let buffer = pool.try_take().filter(|_| lacks)?;
            let host = host.filled(|bytes| buffer.format().fill_black(bytes));
            Some(SharedFrame::new(Memory::Host(buffer, host)))
        };
        Ok(Self {
            last: shared.inputs.iter().filter_map(black).collect(),
            sets: 0,
            follower: Follower::new(shared)?,
            poses: vec![ViewPose::default(); shared.formats.outputs.len()],
            shared: Arc::clone(shared),
            flights,
        })
    }

    /// Submits sets until the channel is closed.
    pub(super) fn run(mut self, jobs: Receiver<Job>) {
        for job in &jobs {
            let mut held = None;
            if panics(|| self.stitch(job, &mut held)) {
                if let Some(flight) = held {
                    flight.abandon();
                }
                self.shared.fail_with_set(LiveError::Panicked);
            }
        }
        if panics(|| self.last.clear()) {
            self.shared.fail(LiveError::Panicked);
        }
        // Close the channel to the collecting thread first. Otherwise that thread would not end if the colour and seam
        // analysis never ended.
        drop(self.flights);
        let (shared, follower) = (self.shared, self.follower);
        let end = || follower.end().unwrap_or_else(|error| shared.fail(error.into()));
        if panics(end) {
            shared.fail(LiveError::Panicked);
        }
    }

    /// Submits one set, or drops and counts it. Stores the set and its buffers in `held` during the submission, so
    /// that the caller can leak them after a panic.
    fn stitch(&mut self, job: Job, held: &mut Option<Flight>) {
        let shared = Arc::clone(&self.shared);
        let Some(output) = self.output() else { return };
        let begin = Instant::now();
        let current = shared.current();
        let (flight, compared) = match self.flight(job, output, &current) {
            Ok(flight) => flight,
            Err(error) => return shared.fail_with_set(error.into()),
        };
        *held = Some(flight);
        if !self.insist(held, &current) {
            return;
        }
        let Some(Flight { set, warp, output, timestamp, .. }) = &*held else { return };
        if let Some(weights) = &warp.weights {
            lock(weights).submitted();
        }
        shared.tally().counters.submitting += begin.elapsed().as_secs_f64();
        let stitched = &output.stitched;
        let offered = self.follower.offer(&shared, &current, set, compared, stitched, *timestamp);
        if let Err(error) = offered {
            shared.fail(error.into());
        }
        let Some(flight) = held.take() else { return };
        shared.in_flight.fetch_add(1, AcqRel);
        if let Err(SendError(flight)) = self.flights.send(flight) {
            shared.in_flight.fetch_sub(1, AcqRel);
            flight.abandon();
            shared.fail_with_set(LiveError::Panicked);
        }
    }

    /// Returns what a set is stitched from and to, with the colours, shares and poses at its time, and the cameras that
    /// are compared. Fails only if the device is lost.
    fn flight(
        &mut self,
        job: Job,
        output: Pooled<OutputBuffer>,
        current: &FrameSettings,
    ) -> Result<(Flight, Compared), DeviceError> {
        let Job { frames, token, timestamp, complete } = job;
        let shared = Arc::clone(&self.shared);
        let colours = self.follower.next(&shared, current, timestamp)?;
        let cameras = shared.with_cameras(|cameras| (cameras.next(), cameras.suspects()));
        if let Some(weights) = &current.warp.weights {
            lock(weights).advance();
        }
        self.steer(current, timestamp);
        let set = Arc::new(FrameSet { frames: self.frames(frames), _token: token });
        let (analysed, warp) = (self.analysed(&set), Arc::clone(&current.warp));
        let compared = self.follower.compared(&shared, cameras.as_ref());
        let shares = cameras.map(|(shares, _)| shares);
        let flight = Flight { set, analysed, warp, output, colours, shares, timestamp, complete };
        Ok((flight, compared))
    }

    /// Submits a set, again if the device has rejected it. If it is not submitted, drops and counts it, and returns
    /// false.
    fn insist(&mut self, held: &mut Option<Flight>, current: &FrameSettings) -> bool {
        let shared = Arc::clone(&self.shared);
        for attempt in 1.. {
            let Some(flight) = held else { return false };
            let Err(error) = self.submit(flight, current) else { return true };
            // The device may still use the buffers, because a part of the set's work was already submitted. Wait until
            // this work is done. If the wait fails, leak the buffers.
            if let Err(error) = shared.streams.drain() {
                if let Some(flight) = held.take() {
                    flight.abandon();
                }
                shared.fail_with_set(error.into());
                return false;
            }
            let may_pass = matches!(&error, LiveError::Device(error) if error.may_pass());
            if attempt == ATTEMPTS || !may_pass {
                tracing::error!("dropped a set of frames; attempt {attempt} failed: {error}");
                *held = None;
                shared.tally().counters.dropped.failed += 1;
                return false;
            }
            tracing::warn!("submitting a set of frames again after an error: {error}");
            shared.tally().counters.retries += 1;
        }
        false
    }

    /// Moves the views to their poses at `timestamp`.
    fn steer(&mut self, current: &FrameSettings, timestamp: Duration) {
        for (pose, kind) in self.poses.iter_mut().zip(&current.outputs) {
            let OutputKind::View(path) = kind else { continue };
            let new = path.at(timestamp);
            match new.check() {
                Ok(()) => *pose = new,
                Err(error) => {
                    tracing::warn!("the virtual camera keeps its last valid pose: {error}");
                }
            }
        }
    }

    /// Returns the frames of a set, with the last frame of each camera whose frame the set lacks.
    fn frames(&mut self, frames: Vec<Option<SharedFrame>>) -> Vec<SharedFrame> {
        if self.last.is_empty() {
            return frames.into_iter().flatten().collect();
        }
        for (last, frame) in self.last.iter_mut().zip(frames) {
            *last = frame.unwrap_or_else(|| last.clone());
        }
        self.last.clone()
    }

    /// Returns the cameras of a set with new frames, if an analysis of the pictures is due.
    fn analysed(&mut self, set: &FrameSet) -> Vec<usize> {
        self.sets = self.sets.wrapping_add(1);
        let failure = self.shared.options.failure;
        let is_due = failure.is_some_and(|failure| self.sets.is_multiple_of(failure.every));
        let is_new = |camera: &usize| is_due && set.frames[*camera].is_new();
        (0..set.frames.len()).filter(is_new).collect()
    }

    /// Submits the upload, the stitch and the download of a set to their streams.
    fn submit(&self, flight: &mut Flight, current: &FrameSettings) -> Result<(), LiveError> {
        self.upload(flight)?;
        self.render(flight, current)?;
        self.download(flight)
    }

    /// Submits the upload of the frames. Later work on the compute stream follows it.
    fn upload(&self, Flight { set, output, .. }: &Flight) -> Result<(), LiveError> {
        let Streams { upload, compute, .. } = &self.shared.streams;
        for input in &set.frames {
            // SAFETY: the buffers of `input` are not changed during the upload. They are dropped only after the
            // panorama of this set is done or the streams are drained.
            unsafe { input.submit_upload(upload)? };
        }
        output.uploaded.record(upload)?;
        compute.wait(&output.uploaded)?;
        for input in &set.frames {
            input.await_ready(compute)?;
        }
        Ok(())
    }

    /// Submits the analysis of the frames and the rendering of the outputs.
    fn render(&self, flight: &mut Flight, current: &FrameSettings) -> Result<(), LiveError> {
        let compute = &self.shared.streams.compute;
        let Flight { set, analysed, warp, output, colours, shares, .. } = flight;
        let covers = match (shares.as_ref(), self.shared.options.failure) {
            (Some(Shares { cover, .. }), Some(failure)) => {
                let Rgba8 { r, g, b, .. } = failure.colour;
                let colour = Vec3::from([r, g, b].map(f32::from)) / 255.0;
                Covers { colour, parts: *cover }
            }
            _ => Covers::NONE,
        };
        let options = StitchOptions { colours: *colours, covers, ..current.stitch };
        let frames = set.lock();
        let frames = views(&frames);
        if let Some((sampler, _)) = output.statistics.as_mut().filter(|_| !analysed.is_empty()) {
            // SAFETY: the frames stay valid and unchanged until the panorama of this set is done. The work of earlier
            // sets on this output buffer is done.
            unsafe { sampler.submit(compute, &frames)? };
        }
        let presences = shares.as_ref().unwrap_or(&Shares::FULL).presence;
        let mut weights = warp.weights.as_ref().map(lock);
        let (viewer, blend) = (warp.recipe.viewer.as_ref(), &warp.blend);
        // A view of present cameras without seams and other weights is feathered without the weights of the warp.
        let is_changed = warp.is_reweighted() || any_absent(&presences);
        let (warp, weights) = match &mut weights {
            Some(weights) => {
                let is_used = is_changed || weights.has_seams();
                let by_mesh = self.shared.formats.uses_mesh(&self.shared.options, options)?;
                let warp = weights.write(compute, &warp.warp, &presences, by_mesh)?;
                (warp, is_used.then_some(warp))
            }
            None => (&*warp.warp, is_changed.then_some(&*warp.warp)),
        };
        let panorama = StitchSet::new(frames.iter().copied(), warp, &options)?;
        let kinds = current.outputs.iter().zip(&self.poses);
        for ((kind, pose), OutputFrame { device: out, .. }) in kinds.zip(&mut output.frames) {
            match (kind, viewer) {
                (OutputKind::View(_), Some(viewer)) => {
                    viewer.render(compute, &panorama.pictures, weights, pose, &options, out)?;
                }
                (OutputKind::Panorama, _) => lock(blend).submit(compute, &panorama, out)?,
                // `Formats::new` has checked that views have a viewer. Previews follow below.
                (OutputKind::View(_), None) | (OutputKind::Preview, _) => {}
            }
        }
        previews(compute, &current.outputs, &mut output.frames)?;
        Ok(output.stitched.record(compute)?)
    }

    /// Submits the download of the results.
    fn download(&self, Flight { analysed, output, .. }: &mut Flight) -> Result<(), LiveError> {
        let download = &self.shared.streams.download;
        let OutputBuffer { frames, stitched, done, statistics, .. } = &mut **output;
        download.wait(stitched)?;
        if let Some((sampler, results)) = statistics.as_mut().filter(|_| !analysed.is_empty()) {
            // SAFETY: the results are read, and `output` is dropped, only after the panorama is done or the streams are
            // drained.
            unsafe { sampler.statistics.submit_download(download, results)? };
        }
        for OutputFrame { device, host } in frames {
            let Some(host) = host else { continue };
            // SAFETY: the host memory of `output` is read, and `output` is dropped, only after the panorama is done or
            // the streams are drained.
            unsafe { device.submit_download(download, host)? };
        }
        Ok(done.record(download)?)
    }

    /// Takes a free output buffer. If no buffer is free:
    /// - In [`Pace::Wait`], waits until a reader returns a buffer.
    /// - In [`Pace::Live`], and whenever all readers were dropped, discards the oldest unread panorama to free its
    ///   buffer. If all panoramas were read but sets are in flight, waits for their panoramas. If the readers hold all
    ///   buffers, counts the set as dropped and returns `None`.
    ///
    /// Returns `None`, too, if the session is being dropped or has failed.
    fn output(&self) -> Option<Pooled<OutputBuffer>> {
        let shared = &self.shared;
        loop {
            let seen = shared.outputs.changes();
            if let Some(output) = shared.outputs.try_take() {
                return Some(output);
            }
            if shared.outputs.is_closed() {
                shared.count_unfinished(1);
                return None;
            }
            // Load `in_flight` before the use of the channel. The collecting thread first sends a panorama and then
            // decrements `in_flight`. In the opposite order, this thread could find the channel empty, then find
            // `in_flight` 0, and miss a panorama that was sent in between.
            let in_flight = shared.in_flight.load(Acquire);
            if shared.options.pace == Pace::Live || shared.is_abandoned() {
                if shared.finished.try_recv().is_ok() {
                    shared.tally().counters.dropped.unread += 1;
                    continue;
                }
                if in_flight == 0 {
                    shared.tally().counters.dropped.reader += 1;
                    return None;
                }
            }
            shared.outputs.wait(seen, LOOK_AGAIN);
        }
    }
}

/// Waits for the panoramas one by one and sends each to the readers.
pub(super) fn collect(
    shared: &Shared,
    flights: Receiver<Flight>,
    finished: async_channel::Sender<StitchedFrame>,
) {
    for flight in &flights {
        if panics(|| land(shared, flight, &finished)) {
            shared.fail(LiveError::Panicked);
        }
        shared.in_flight.fetch_sub(1, AcqRel);
        shared.outputs.nudge();
    }
}

/// Waits for one panorama and sends it to the readers. The drop of the input frames is the last step, because it runs
/// user code, which may panic.
fn land(shared: &Shared, flight: Flight, finished: &async_channel::Sender<StitchedFrame>) {
    // If the wait for the event fails, try to drain the streams. If they can be drained, the panorama is complete, too.
    let done = insist(DeviceError::is_fatal, || flight.output.done.synchronize())
        .or_else(|_| shared.streams.drain());
    if let Err(error) = done {
        flight.abandon();
        return shared.fail_with_set(error.into());
    }
    let Flight { set, analysed, warp, output, colours, timestamp, complete, .. } = flight;
    if let Some((_, results)) = &output.statistics {
        let statistics = analysed.iter().map(|&camera| (camera, results[camera]));
        shared.with_cameras(|cameras| cameras.analysed(statistics));
    }
    let latency = complete.elapsed();
    let panorama = StitchedFrame { buffer: output, timestamp, latency, colours };
    // Count the panorama first. Then the counters always include a panorama that a reader has received.
    shared.tally().panorama(latency);
    // The channel has room for all output buffers, so it is never full. It is closed if the session has failed in the
    // meantime.
    if finished.try_send(panorama).is_err() {
        shared.tally().counters.panoramas -= 1;
        shared.count_unfinished(1);
    }
    drop((set, warp));
}
