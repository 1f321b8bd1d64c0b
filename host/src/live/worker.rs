//! The two threads of a stitcher: one that has pairs stitched, one that waits for the panoramas.
//!
//! Upload, stitch and download are on streams of their own, joined by events, so that those of
//! different frames run side by side. The first thread never waits for the device, only for a free
//! output buffer; the second waits for one panorama after the other. On the CPU the same calls do the
//! work at once.
//!
//! A pair whose submission the driver refuses is submitted again when the streams have run dry, and given
//! up after some attempts. A fatal error ends the stitcher, and so does a panic: both threads then go on only to
//! count what comes, and to wait for what the device still uses.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::AcqRel;
use std::sync::atomic::Ordering::Acquire;
use std::sync::mpsc::{Receiver, SendError, SyncSender};
use std::time::{Duration, Instant};

use super::buffers::{OutputBuffer, Pair};
use super::follow::Follower;
use super::pool::Pooled;
use super::{Current, LOOK_AGAIN, LiveError, LiveWarp, Pace, Shared, StitchedFrame};
use crate::device::{Device, DeviceError, Priority, Stream, insist};
use crate::lock::lock;
use crate::ops::colour::{Colours, GammaTable};
use crate::ops::stitch::{Power, StitchOptions, stitch, stitch_with_table};
use crate::ops::view::{ViewPath, ViewPose};

/// How often a pair is tried.
const ATTEMPTS: u32 = 3;

/// The streams that all frames go through.
pub(super) struct Streams {
    upload: Stream,
    pub(super) compute: Stream,
    download: Stream,
}

impl Streams {
    pub(super) fn new(device: &Device) -> Result<Self, DeviceError> {
        let stream = || Stream::new(device, Priority::High);
        Ok(Self { upload: stream()?, compute: stream()?, download: stream()? })
    }

    /// Waits until nothing runs on them.
    fn drain(&self) -> Result<(), DeviceError> {
        for stream in [&self.upload, &self.compute, &self.download] {
            insist(DeviceError::is_fatal, || stream.synchronize())?;
        }
        Ok(())
    }
}

/// A complete pair that waits to be stitched.
pub(super) struct Job {
    pub(super) pair: Pair,
    pub(super) timestamp: Duration,
    pub(super) complete: Instant,
}

/// A pair that the device has been told to stitch.
pub(super) struct Flight {
    pair: Arc<Pair>,
    warp: Arc<LiveWarp>,
    output: Pooled<OutputBuffer>,
    colours: Colours,
    timestamp: Duration,
    complete: Instant,
}

impl Flight {
    /// Gives nothing back: the GPU may be using it for ever.
    fn abandon(self) {
        mem::forget((self.pair, self.warp));
        self.output.abandon();
    }
}

/// Whether it panics: dropping a frame runs what its owner left there.
fn panics(body: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(body)).is_err()
}

/// Why there is no output buffer.
enum NoOutput {
    Reader,
    Closed,
}

pub(super) struct Worker {
    pub(super) shared: Arc<Shared>,
    pub(super) follower: Follower,
    pub(super) table: GammaTable,
    /// Where a virtual camera looks.
    pub(super) path: Option<ViewPath>,
    /// Where it looked last.
    pub(super) view: ViewPose,
    /// It stays, since the path led nowhere; said once.
    pub(super) view_stays: bool,
    pub(super) flights: SyncSender<Flight>,
}

impl Worker {
    /// Has all pairs stitched, until no more can come.
    pub(super) fn run(mut self, jobs: Receiver<Job>) {
        for job in &jobs {
            let mut held = None;
            if panics(|| self.stitch(job, &mut held)) {
                if let Some(flight) = held {
                    flight.abandon();
                }
                self.shared.fail_with_pair(LiveError::Panicked);
            }
        }
        // The other thread ends without the analysis, which may take for ever.
        drop(self.flights);
        let (shared, follower) = (self.shared, self.follower);
        let end = || follower.end().unwrap_or_else(|error| shared.fail(error.into()));
        if panics(end) {
            shared.fail(LiveError::Panicked);
        }
    }

    /// Has one pair stitched, or drops and counts it. What the device may be using is in `held` meanwhile.
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
        let current = shared.current();
        let colours = match self.follower.next(&shared, &current) {
            Ok(colours) => colours,
            Err(error) => return shared.fail_with_pair(error.into()),
        };
        if let Some(seam) = &current.warp.seam {
            lock(seam).advance();
        }
        if let Some(path) = &self.path {
            let view = path(job.timestamp);
            match view.check() {
                Ok(()) => (self.view, self.view_stays) = (view, false),
                Err(error) if !self.view_stays => {
                    tracing::warn!("the last view stays: {error}");
                    self.view_stays = true;
                }
                Err(_) => {}
            }
        }
        let Job { pair, timestamp, complete } = job;
        let (pair, warp) = (Arc::new(pair), Arc::clone(&current.warp));
        let flight = held.insert(Flight { pair, warp, output, colours, timestamp, complete });
        let mut attempt = 1;
        while let Err(error) = self.submit(flight, &current) {
            // What was submitted still uses the buffers. A lost device cannot be waited for.
            if let Err(error) = shared.streams.drain() {
                if let Some(flight) = held.take() {
                    flight.abandon();
                }
                return shared.fail_with_pair(error.into());
            }
            let may_pass = matches!(&error, LiveError::Device(error) if error.may_pass());
            if attempt == ATTEMPTS || !may_pass {
                tracing::error!("a pair of frames was given up: {error}");
                *held = None;
                shared.tally().counters.dropped.failed += 1;
                return;
            }
            tracing::warn!("a pair of frames is stitched again: {error}");
            shared.tally().counters.retries += 1;
            attempt += 1;
        }
        let Flight { pair, warp, output, .. } = &*flight;
        if let Some(seam) = &warp.seam {
            lock(seam).submitted();
        }
        if let Err(error) = self.follower.offer(&shared, warp, pair, &output.stitched, timestamp) {
            shared.fail(error.into());
        }
        let Some(flight) = held.take() else { return };
        shared.in_flight.fetch_add(1, AcqRel);
        if let Err(SendError(flight)) = self.flights.send(flight) {
            shared.in_flight.fetch_sub(1, AcqRel);
            flight.abandon();
            shared.fail_with_pair(LiveError::Panicked);
        }
    }

    /// Tells the device all that is to be done for a pair.
    fn submit(&mut self, flight: &mut Flight, current: &Current) -> Result<(), LiveError> {
        let Streams { upload, compute, download } = &self.shared.streams;
        let Flight { pair, warp, output, colours, .. } = flight;
        let Some(pair) = Arc::get_mut(pair) else {
            unreachable!("shared only when it has been submitted")
        };
        for input in [&mut pair.left, &mut pair.right] {
            // SAFETY: the pair is dropped only when its panorama is done, or the streams are.
            unsafe { input.submit_upload(upload)? };
        }
        output.uploaded.record(upload)?;
        compute.wait(&output.uploaded)?;
        pair.left.await_ready(compute)?;
        pair.right.await_ready(compute)?;
        let options = StitchOptions { left: colours.left, right: colours.right, ..current.stitch };
        let (left, right) = (pair.left.view(), pair.right.view());
        let mut seam = warp.seam.as_ref().map(lock);
        let viewer = warp.viewer.as_ref();
        let (warp, weights) = match &mut seam {
            Some(seam) => {
                let seamed = seam.warp(compute, &warp.warp)?;
                (seamed, Some(seamed))
            }
            None => (&warp.warp, None),
        };
        let out = &mut output.device;
        if let Some(viewer) = viewer {
            viewer.submit(compute, [left, right], weights, &self.view, &options, out)?;
        } else if options.power == Power::Table {
            stitch_with_table(compute, left, right, warp, &options, &mut self.table, out)?;
        } else {
            stitch(compute, left, right, warp, &options, out)?;
        }
        output.stitched.record(compute)?;
        download.wait(&output.stitched)?;
        let OutputBuffer { device, host, done, .. } = &mut **output;
        // SAFETY: as for the upload; the host's side is looked at when the panorama is done.
        unsafe { device.submit_download(download, host)? };
        Ok(done.record(download)?)
    }

    /// Room for a panorama. Where the reader is slow, it waits, or in live pace takes the oldest panorama
    /// that has not been read.
    fn output(&self) -> Result<Pooled<OutputBuffer>, NoOutput> {
        let shared = &self.shared;
        let mut waited = false;
        loop {
            let seen = shared.outputs.changes();
            if let Some(output) = shared.outputs.try_take() {
                return Ok(output);
            }
            if shared.outputs.is_closed() {
                return Err(NoOutput::Closed);
            }
            if shared.pace == Pace::Live || shared.is_abandoned() {
                // In this order: a panorama is unread before it stops being in flight.
                let in_flight = shared.in_flight.load(Acquire);
                if shared.finished.try_recv().is_ok() {
                    shared.tally().counters.dropped.unread += 1;
                    continue;
                }
                if in_flight == 0 {
                    return Err(NoOutput::Reader);
                }
            }
            if !waited {
                waited = true;
                shared.tally().counters.slot_waits += 1;
            }
            shared.outputs.wait(seen, LOOK_AGAIN);
        }
    }
}

/// Waits for one panorama after the other and hands them on.
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

/// Waits for one panorama and hands it on. Only dropping the frames may panic, after all was counted.
fn land(shared: &Shared, flight: Flight, finished: &async_channel::Sender<StitchedFrame>) {
    // Perhaps only the wait failed. When the streams have run dry, the panorama is done too.
    let done = insist(DeviceError::is_fatal, || flight.output.done.synchronize())
        .or_else(|_| shared.streams.drain());
    if let Err(error) = done {
        flight.abandon();
        return shared.fail_with_pair(error.into());
    }
    let Flight { pair, warp, output, colours, timestamp, complete } = flight;
    let latency = complete.elapsed();
    let (buffer, format) = (output, shared.formats.output);
    let panorama = StitchedFrame { buffer, format, timestamp, latency, colours };
    // Counted with the sending, not before or after: nobody reads one that does not count, or sees one
    // counted that nobody can read.
    let mut tally = shared.tally();
    // There is room for as many as there are buffers.
    let sent = finished.try_send(panorama);
    if sent.is_ok() {
        tally.panorama(latency);
    }
    drop(tally);
    if sent.is_err() {
        // The stitcher has failed meanwhile, and nobody reads any more.
        shared.count_unfinished(1);
    }
    drop((pair, warp));
}
