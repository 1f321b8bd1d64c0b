//! The two threads of a stitcher: one submits sets of frames, the other collects panoramas.
//!
//! Upload, stitch and download use one stream each, ordered by events, so that the work of different frames overlaps.
//! In normal operation, the first thread waits only for a free output buffer, never for the device. The second thread
//! waits for the panoramas one by one. If the stitcher runs on the CPU, all submissions are synchronous.
//!
//! If the driver rejects the submission of a set, the first thread drains the streams and submits the set again, up
//! to `ATTEMPTS` times in total. A fatal error or a panic stops the stitcher. After that, both threads only count the
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

use super::buffers::{FrameSet, OutputBuffer};
use super::error::LiveError;
use super::faded::Followed;
use super::failure::FailureOptions;
use super::follow::Follower;
use super::live_warp::{FrameSettings, LiveWarp};
use super::options::{ColourOptions, LOOK_AGAIN, Pace};
use super::panorama::StitchedFrame;
use super::pool::Pooled;
use super::presence::Presence;
use super::shared::{Shared, Streams};
use crate::device::{DeviceError, insist};
use crate::lock::lock;
use crate::ops::colour::Colours;
use crate::ops::stitch::{Covers, Lookup, StitchOptions, stitch};
use crate::ops::view::{ViewPath, ViewPose};

/// The time within which a reader that still waits registers its waker again after it was called.
const ANSWER: Duration = Duration::from_secs(1);

/// The maximum number of attempts to submit a set to the device.
const ATTEMPTS: u32 = 3;

/// A complete set that was not submitted to the device yet.
pub(super) struct Job {
    pub(super) set: FrameSet,
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
    presence: Option<Presence>,
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

/// The reason why no output buffer is available.
enum NoOutput {
    /// The readers hold all panorama buffers.
    Reader,
    /// The stitcher is being dropped or has failed.
    Closed,
}

pub(super) struct Worker {
    shared: Arc<Shared>,
    follower: Follower,
    /// The path of the virtual camera, if the stitcher renders views.
    path: Option<ViewPath>,
    /// The last valid pose of the virtual camera.
    view: ViewPose,
    /// Whether the last pose was invalid. A series of invalid poses is logged only once.
    view_stays: bool,
    /// The number of sets from one analysis of the pictures to the next, if cameras that fail are detected.
    every: Option<u32>,
    /// The colour that covers cameras that have failed.
    cover: Vec3,
    /// The number of sets since the last analysis of the pictures.
    sets: u32,
    flights: SyncSender<Flight>,
}

impl Worker {
    pub(super) fn new(
        shared: &Arc<Shared>,
        colour: ColourOptions,
        failure: Option<FailureOptions>,
        path: Option<ViewPath>,
        flights: SyncSender<Flight>,
    ) -> Result<Self, DeviceError> {
        Ok(Self {
            every: failure.map(|failure| failure.every),
            cover: failure.map_or(Vec3::ZERO, |failure| {
                let Rgba8 { r, g, b, .. } = failure.colour;
                Vec3::from([r, g, b].map(f32::from)) / 255.0
            }),
            sets: 0,
            follower: Follower::new(shared, colour)?,
            path,
            view: ViewPose::default(),
            view_stays: false,
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
        let output = match self.output() {
            Ok(output) => output,
            Err(reason) => {
                drop(job);
                return match reason {
                    NoOutput::Reader => shared.tally().counters.dropped.reader += 1,
                    NoOutput::Closed => shared.count_unfinished(1),
                };
            }
        };
        let begin = Instant::now();
        let current = shared.current();
        let colours = match self.follower.next(&shared, &current) {
            Ok(colours) => colours,
            Err(error) => return shared.fail_with_set(error.into()),
        };
        let cameras = shared.with_cameras(|cameras, now| (cameras.next(now), cameras.suspects()));
        let (presence, suspects) = cameras.unzip();
        if let Some(seam) = &current.warp.seam {
            lock(seam).advance();
        }
        if let Some(path) = &self.path {
            let view = path(job.timestamp);
            match view.check() {
                Ok(()) => (self.view, self.view_stays) = (view, false),
                Err(error) if !self.view_stays => {
                    tracing::warn!("the virtual camera keeps its last valid pose: {error}");
                    self.view_stays = true;
                }
                Err(_) => {}
            }
        }
        let Job { set, timestamp, complete } = job;
        let (set, warp) = (Arc::new(set), Arc::clone(&current.warp));
        let compared = self.follower.compared(&set, timestamp, presence.as_ref(), suspects);
        let analysed = self.analysed(&set);
        let flight = held.insert(Flight {
            set,
            analysed,
            warp,
            output,
            colours,
            presence,
            timestamp,
            complete,
        });
        let mut attempt = 1;
        while let Err(error) = self.submit(flight, &current) {
            // The device may still use the buffers, because a part of the set's work was already submitted. Wait until
            // this work is done. If the wait fails, leak the buffers.
            if let Err(error) = shared.streams.drain() {
                if let Some(flight) = held.take() {
                    flight.abandon();
                }
                return shared.fail_with_set(error.into());
            }
            let may_pass = matches!(&error, LiveError::Device(error) if error.may_pass());
            if attempt == ATTEMPTS || !may_pass {
                tracing::error!("dropped a set of frames; attempt {attempt} failed: {error}");
                *held = None;
                shared.tally().counters.dropped.failed += 1;
                return;
            }
            tracing::warn!("submitting a set of frames again after an error: {error}");
            shared.tally().counters.retries += 1;
            attempt += 1;
        }
        let Flight { set, warp, output, .. } = &*flight;
        if let Some(seam) = &warp.seam {
            lock(seam).submitted();
        }
        shared.tally().counters.submitting += begin.elapsed().as_secs_f64();
        let stitched = &output.stitched;
        let offered = self.follower.offer(&shared, &current, set, compared, stitched, timestamp);
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

    /// Returns the cameras of a set with new frames, if an analysis of the pictures is due.
    fn analysed(&mut self, set: &FrameSet) -> Vec<usize> {
        let Some(every) = self.every else { return Vec::new() };
        self.sets += 1;
        if self.sets < every {
            return Vec::new();
        }
        self.sets = 0;
        let frames = set.frames.iter().enumerate();
        frames.filter(|(_, frame)| frame.is_new()).map(|(camera, _)| camera).collect()
    }

    /// Submits the upload, the stitch and the download of a set to their streams.
    fn submit(&mut self, flight: &mut Flight, current: &FrameSettings) -> Result<(), LiveError> {
        let Streams { upload, compute, download } = &self.shared.streams;
        let Flight { set, analysed, warp, output, colours, presence, .. } = flight;
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
        let covers = match presence {
            Some(Presence { cover, .. }) => Covers { colour: self.cover, parts: *cover },
            None => Covers::NONE,
        };
        let options = StitchOptions { colours: *colours, covers, ..current.stitch };
        let frames = set.lock();
        let frames = frames.views();
        if let Some(vitals) = output.vitals.as_mut().filter(|_| !analysed.is_empty()) {
            // SAFETY: the frames stay valid and unchanged until the panorama of this set is done. The work of earlier
            // sets on this output buffer is done.
            unsafe { vitals.sampler.submit(compute, &frames)? };
        }
        let presences = presence.as_ref().unwrap_or(&Presence::FULL).presence;
        let (mut seam, mut faded) = (warp.seam.as_ref().map(lock), warp.faded.as_ref().map(lock));
        let (viewer, multiband) = (warp.viewer.as_ref(), warp.multiband.as_ref());
        let by_mesh = viewer.is_none() && options.lookup == Lookup::Mesh;
        let followed = Followed { presences: &presences, by_mesh };
        let (warp, weights) = match (&mut seam, &mut faded) {
            (Some(seam), _) => {
                let seamed = seam.warp(compute, &warp.warp, followed)?;
                (seamed, Some(seamed))
            }
            (None, Some(faded)) => {
                let faded = faded.follow(compute, &warp.warp, followed, false, |_| Ok(()))?;
                // A view of present cameras is feathered without the weights of the warp.
                (faded, followed.any_absent().then_some(faded))
            }
            (None, None) => (&warp.warp, None),
        };
        let out = &mut output.device;
        if let Some(viewer) = viewer {
            viewer.submit(compute, &frames, weights, &self.view, &options, out)?;
        } else {
            stitch(compute, &frames, warp, &options, &mut *out)?;
        }
        if let Some(multiband) = multiband {
            lock(multiband).submit(compute, &frames, warp, &options, &mut output.device)?;
        }
        output.stitched.record(compute)?;
        download.wait(&output.stitched)?;
        let OutputBuffer { device, host, done, vitals, .. } = &mut **output;
        if let Some(vitals) = vitals.as_mut().filter(|_| !analysed.is_empty()) {
            // SAFETY: the results are read, and `output` is dropped, only after the panorama is done or the streams are
            // drained.
            unsafe { vitals.sampler.submit_download(download, &mut vitals.results)? };
        }
        if let Some(host) = host {
            // SAFETY: the host memory of `output` is read, and `output` is dropped, only after the panorama is done or
            // the streams are drained.
            unsafe { device.submit_download(download, host)? };
        }
        Ok(done.record(download)?)
    }

    /// Takes a free output buffer. If no buffer is free:
    /// - In [`Pace::Wait`], waits until a reader returns a buffer. If the readers hold all buffers and a caller depends
    ///   on the next panorama, the stitcher fails after the time limit for held panoramas.
    /// - In [`Pace::Live`], and whenever all readers were dropped, discards the oldest unread panorama to free its
    ///   buffer. If all panoramas were read but sets are in flight, waits for their panoramas. If the readers hold all
    ///   buffers, returns [`NoOutput::Reader`].
    ///
    /// Returns [`NoOutput::Closed`] if the stitcher is being dropped or has failed.
    fn output(&self) -> Result<Pooled<OutputBuffer>, NoOutput> {
        let shared = &self.shared;
        let mut waited = false;
        // The time since which the readers hold all buffers, and the number of changes of the pool at this time.
        let mut held: Option<(Instant, u64)> = None;
        // The time at which all wakers were called and removed, and the number of changes at this time. A reader that
        // still waits registers again.
        let mut asked: Option<(Instant, u64)> = None;
        loop {
            let seen = shared.outputs.changes();
            if let Some(output) = shared.outputs.try_take() {
                return Ok(output);
            }
            if shared.outputs.is_closed() {
                return Err(NoOutput::Closed);
            }
            // Load `in_flight` before the use of the channel. The collecting thread first sends a panorama and then
            // decrements `in_flight`. In the opposite order, this thread could find the channel empty, then find
            // `in_flight` 0, and miss a panorama that was sent in between.
            let in_flight = shared.in_flight.load(Acquire);
            if shared.pace == Pace::Live || shared.is_abandoned() {
                if shared.finished.try_recv().is_ok() {
                    shared.tally().counters.dropped.unread += 1;
                    continue;
                }
                if in_flight == 0 {
                    return Err(NoOutput::Reader);
                }
            } else if in_flight == 0 && shared.finished.is_empty() && shared.is_awaited() {
                let (slots, limit) = (shared.slots, shared.held_limit);
                let is_same =
                    |(since, changes): (Instant, u64)| (changes == seen).then(|| since.elapsed());
                match (held.and_then(is_same), asked.and_then(is_same)) {
                    // The reader has registered its waker again, so it still waits.
                    (_, Some(since)) if since < ANSWER => {
                        shared.fail(LiveError::Held { slots, limit });
                        continue;
                    }
                    (Some(since), _) if since >= limit => {
                        // A task that stopped waiting leaves its waker behind.
                        shared.wakers.wake_elsewhere();
                        (held, asked) = (None, Some((Instant::now(), seen)));
                        continue;
                    }
                    (Some(_), _) => {}
                    (None, _) => held = Some((Instant::now(), seen)),
                }
            } else {
                held = None;
            }
            if !waited {
                waited = true;
                shared.tally().counters.slot_waits += 1;
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
    drop(finished);
    if panics(|| shared.wakers.wake()) {
        shared.fail(LiveError::Panicked);
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
    if let Some(vitals) = output.vitals.as_ref().filter(|_| !analysed.is_empty()) {
        let vitals = analysed.iter().map(|&camera| (camera, vitals.results[camera]));
        shared.with_cameras(|cameras, now| cameras.analysed(now, vitals));
    }
    let latency = complete.elapsed();
    let (buffer, format) = (output, shared.formats.output);
    let panorama = StitchedFrame { buffer, format, timestamp, latency, colours };
    // Send and count the panorama under the lock of the tally. Then the counters always include a panorama that a
    // reader has received, and never a panorama that was not sent.
    let mut tally = shared.tally();
    // The channel has room for all output buffers, so it is never full.
    let sent = finished.try_send(panorama);
    if sent.is_ok() {
        tally.panorama(latency);
    }
    drop(tally);
    shared.wakers.wake();
    if sent.is_err() {
        // The channel is closed, because the stitcher has failed in the meantime.
        shared.count_unfinished(1);
    }
    drop((set, warp));
}
