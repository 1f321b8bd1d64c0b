//! Accepts frames: checks them, combines them to sets, and sends the sets to the worker thread.

use std::mem;
use std::sync::MutexGuard;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use super::Session;
use super::buffers::{CameraFrame, Memory, SharedFrame};
use super::counters::{CameraCounters, LiveCounters};
use super::error::LiveError;
use super::options::{LOOK_AGAIN, LiveOptions, Pace};
use super::pairing::{MatchedSet, Outcome, Pairing};
use super::shared::Shared;
use super::worker::Job;
use crate::frame::FrameFormat;
use crate::lock::lock;
use crate::pool::{Pool, Pooled};

/// The result of submitting a frame or a set of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// A set with one frame of each camera was sent to the worker.
    Set,
    /// The frame waits for the matching frames of the other cameras.
    Waiting,
    /// The frame or set was dropped and counted in [`LiveCounters`]. Either all buffers were in use, or the frame was
    /// too old to match any frames of the other cameras.
    Dropped,
}

/// The state of the frame intake: the waiting frames, and the channel to the worker.
#[derive(Debug)]
pub(super) struct Intake {
    pairing: Pairing<SharedFrame>,
    /// Frames that are dropped when the intake is unlocked. The drop of an external frame runs user code, which may
    /// call the session.
    discarded: Vec<SharedFrame>,
    /// The channel to the worker; `None` after the session was closed.
    jobs: Option<SyncSender<Job>>,
}

impl Intake {
    pub(super) fn new(shared: &Shared, options: &LiveOptions, jobs: SyncSender<Job>) -> Self {
        Self {
            pairing: Pairing::new(shared.cameras(), options.pairing()),
            discarded: Vec::new(),
            jobs: Some(jobs),
        }
    }

    fn discard(&mut self, set: MatchedSet<SharedFrame>) {
        self.discarded.extend(set.frames.into_iter().flatten());
    }

    /// Counts the frames of a set that was submitted as a whole. `given` is whether it has the frame of each camera.
    fn count(&mut self, given: &[bool], count: impl Fn(&mut CameraCounters) -> &mut u64) {
        for (counters, given) in self.pairing.counters.iter_mut().zip(given) {
            counters.frames_in += u64::from(*given);
            *count(counters) += u64::from(*given);
        }
    }
}

/// Unlocks the intake, and then drops the discarded frames.
fn unlock(mut intake: MutexGuard<'_, Intake>) {
    let discarded = mem::take(&mut intake.discarded);
    drop(intake);
    drop(discarded);
}

impl Session {
    /// Submits one frame of each camera as a set: any [`CameraFrame`], such as a [`Frame`](crate::frame::Frame) in host
    /// memory, which is copied, a shared [`HostFrame`](crate::io::video::HostFrame), or an
    /// [`ExternalFrame`](super::ExternalFrame) in device memory.
    ///
    /// In [`Pace::Wait`], blocks until buffers are free. In [`Pace::Live`], never blocks: if no buffer is free, the set
    /// is dropped.
    pub fn submit<'a, F: Into<CameraFrame<'a>>>(
        &self,
        frames: impl IntoIterator<Item = F>,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        let frames: Vec<_> = frames.into_iter().map(Into::into).collect();
        let (found, expected) = (frames.len(), self.shared.cameras());
        if found != expected {
            return Err(LiveError::cameras(found, expected));
        }
        for (camera, frame) in frames.iter().enumerate() {
            self.check(camera, frame)?;
        }
        let is_given = |frame: &CameraFrame<'_>| !matches!(frame, CameraFrame::Missing);
        let given: Vec<_> = frames.iter().map(is_given).collect();
        let mut set = MatchedSet { time: timestamp, frames: Vec::with_capacity(frames.len()) };
        for (camera, frame) in frames.into_iter().enumerate() {
            set.frames.push(match frame {
                CameraFrame::Missing => None,
                frame => match self.admit(camera, frame)? {
                    Some(frame) => Some(frame),
                    None => return Ok(self.refuse(&given)),
                },
            });
        }
        let Some(token) = self.take(&self.shared.tokens)? else { return Ok(self.refuse(&given)) };
        let mut intake = lock(&self.intake);
        self.check_taking(&intake)?;
        intake.count(&given, |counters| &mut counters.used);
        let submitted = self.send(&mut intake, set, Some(token));
        unlock(intake);
        submitted
    }

    /// Counts a set that was submitted as a whole and dropped, because no buffer was free.
    fn refuse(&self, given: &[bool]) -> Submitted {
        self.shared.with_cameras(|cameras| cameras.set(given.iter().copied()));
        lock(&self.intake).count(given, |counters| &mut counters.unbuffered);
        let counters = &mut self.shared.tally().counters;
        counters.sets += 1;
        counters.dropped.busy += 1;
        Submitted::Dropped
    }

    /// Returns the number of free buffers of each camera.
    #[doc(hidden)]
    #[must_use]
    pub fn free_buffers(&self) -> Vec<usize> {
        self.shared.inputs.iter().map(|(buffers, _)| buffers.free()).collect()
    }

    /// Takes an item from a pool. If no item is free, returns `None` in [`Pace::Live`] and blocks in [`Pace::Wait`].
    fn take<T>(&self, pool: &Pool<T>) -> Result<Option<Pooled<T>>, LiveError> {
        loop {
            let seen = pool.changes();
            self.check_open()?;
            if let Some(item) = pool.try_take() {
                return Ok(Some(item));
            }
            if self.shared.options.pace == Pace::Live {
                return Ok(None);
            }
            pool.wait(seen, LOOK_AGAIN);
        }
    }

    /// Pushes a frame of one camera, of the same kinds as for [`submit`](Self::submit). If the matching frames of all
    /// other cameras have arrived, submits them as a set. Otherwise, the frame waits. Requires [`Pace::Live`].
    ///
    /// The frames of each camera must arrive in the order of their timestamps, which are on one clock for all cameras.
    /// Each frame of the reference camera forms a set with the nearest frames of the other cameras, at most ⅝ of their
    /// frame times away. So a frame may be in several sets, and frames that no set needs are dropped and counted in
    /// [`CameraCounters`].
    pub fn push<'a>(
        &self,
        camera: usize,
        frame: impl Into<CameraFrame<'a>>,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        let frame = frame.into();
        self.check_camera(camera)?;
        self.check(camera, &frame)?;
        if matches!(frame, CameraFrame::Missing) {
            return Err(LiveError::invalid("`push` needs a frame; `submit` sets that lack one"));
        }
        if self.shared.options.pace == Pace::Wait {
            return Err(LiveError::invalid(
                "`push` requires `Pace::Live`; submit whole sets of files",
            ));
        }
        let Some(frame) = self.admit(camera, frame)? else {
            let counters = &mut lock(&self.intake).pairing.counters[camera];
            counters.frames_in += 1;
            counters.unbuffered += 1;
            return Ok(Submitted::Dropped);
        };
        let mut intake = lock(&self.intake);
        self.check_taking(&intake)?;
        let outcome = intake.pairing.push(camera, timestamp, frame);
        let waits = intake.pairing.is_waiting(camera, timestamp);
        let submitted = self.accept(intake, outcome)?;
        Ok(submitted.unwrap_or(if waits { Submitted::Waiting } else { Submitted::Dropped }))
    }

    /// Sets whether a camera is present. An absent camera is [`Gone`](super::CameraState::Gone) at once: the session
    /// does not wait for its frames, and drops them if they are pushed one by one. When it is present again, it returns
    /// after it has delivered [`settle`](super::FailureOptions::settle) frames in time. After all cameras were absent,
    /// the clocks may start again, so the timestamps of the panoramas may be earlier than before.
    pub fn set_present(&self, camera: usize, present: bool) -> Result<(), LiveError> {
        self.check_camera(camera)?;
        let mut intake = lock(&self.intake);
        self.check_taking(&intake)?;
        let set = self.shared.with_cameras(|cameras| cameras.set_present(camera, present));
        set.ok_or_else(|| {
            LiveError::invalid("only a session with `failure` accepts absent cameras")
        })?;
        let outcome = intake.pairing.set_present(camera, present);
        self.accept(intake, outcome).map(drop)
    }

    /// Returns the counters since the creation of the session.
    #[must_use]
    pub fn counters(&self) -> LiveCounters {
        let cameras = lock(&self.intake).pairing.counters.clone();
        let (counters, latencies) = self.shared.tally().snapshot();
        LiveCounters { cameras, ..counters }.with_latencies(latencies)
    }

    /// Stops accepting frames. The sets that were already submitted are still stitched. The readers end after the last
    /// panorama.
    pub fn close(&self) {
        let mut intake = lock(&self.intake);
        let waiting = intake.pairing.clear();
        intake.discarded.extend(waiting.into_iter().map(|(_, frame)| frame));
        intake.jobs = None;
        unlock(intake);
    }

    /// Sends the sets that a change of the pairing has completed to the worker. If no token is free, which limits the
    /// number of sets in flight, drops them. Returns `None` if there was no set.
    fn accept(
        &self,
        mut intake: MutexGuard<'_, Intake>,
        Outcome { sets, dropped }: Outcome<SharedFrame>,
    ) -> Result<Option<Submitted>, LiveError> {
        intake.discarded.extend(dropped.into_iter().map(|(_, frame)| frame));
        let mut submitted = None;
        for set in sets {
            submitted = Some(self.send(&mut intake, set, self.shared.tokens.try_take())?);
        }
        unlock(intake);
        Ok(submitted)
    }

    /// Counts a set and sends it to the worker, or drops it if there is no token. The intake is locked, so that sets
    /// are sent in the order in which they were completed.
    fn send(
        &self,
        intake: &mut Intake,
        set: MatchedSet<SharedFrame>,
        token: Option<Pooled<()>>,
    ) -> Result<Submitted, LiveError> {
        let frames = set.frames.iter().map(Option::is_some);
        self.shared.with_cameras(|cameras| cameras.set(frames));
        let counters = &mut self.shared.tally().counters;
        counters.sets += 1;
        let Some(token) = token else {
            counters.dropped.busy += 1;
            intake.discard(set);
            return Ok(Submitted::Dropped);
        };
        let MatchedSet { time: timestamp, frames } = set;
        let job = Job { frames, token, timestamp, complete: Instant::now() };
        if intake.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok()) {
            return Ok(Submitted::Set);
        }
        self.shared.count_unfinished(1);
        Err(self.health().err().unwrap_or(LiveError::Closed))
    }

    pub(super) fn check_open(&self) -> Result<(), LiveError> {
        self.check_taking(&lock(&self.intake))
    }

    /// Checks that the session has not failed and was not closed. While the caller holds the lock of `intake`, no
    /// other thread can close the session.
    fn check_taking(&self, intake: &Intake) -> Result<(), LiveError> {
        self.health()?;
        if intake.jobs.is_none() { Err(LiveError::Closed) } else { Ok(()) }
    }

    /// Checks that the session has this camera.
    fn check_camera(&self, camera: usize) -> Result<(), LiveError> {
        let expected = self.shared.cameras();
        let found = camera.saturating_add(1);
        if camera < expected { Ok(()) } else { Err(LiveError::cameras(found, expected)) }
    }

    /// Checks that the session can use a frame of a camera.
    fn check(&self, camera: usize, frame: &CameraFrame<'_>) -> Result<(), LiveError> {
        let invalid = |text| Err(LiveError::Invalid(format!("camera {}: its {text}", camera + 1)));
        let expected = self.shared.formats.inputs[camera];
        let format = |found: FrameFormat, expected: FrameFormat| match found == expected {
            true => Ok(()),
            false => invalid(format!(
                "frame is {found}; it must be {expected}, the format for which the session was created"
            )),
        };
        match frame {
            CameraFrame::Host(frame) => format(frame.format(), expected),
            CameraFrame::Shared(frame) => format(frame.frame().format(), expected),
            CameraFrame::Device(frame) => {
                format(frame.format(), expected.stored())?;
                if !frame.is_whole() {
                    return invalid(
                        "chroma plane must have half the width and height of its luma plane, rounded up".into(),
                    );
                }
                let expected = self.shared.device.place();
                match frame.places().find(|place| *place != expected) {
                    None => Ok(()),
                    Some(found) => invalid(format!(
                        "frame or its event is on {found}, but the session runs on {expected}; copy the frame to {expected} first"
                    )),
                }
            }
            CameraFrame::Missing if self.shared.with_cameras(|_| ()).is_some() => Ok(()),
            CameraFrame::Missing => {
                invalid("frame is missing, which requires `failure` in `LiveOptions`".into())
            }
        }
    }

    /// Returns a frame for a set. Copies a frame in host memory to a buffer. Returns `None` if no buffer is free.
    fn admit(
        &self,
        camera: usize,
        frame: CameraFrame<'_>,
    ) -> Result<Option<SharedFrame>, LiveError> {
        let buffer = || self.take(&self.shared.inputs[camera].0);
        let memory = match frame {
            CameraFrame::Missing => return Ok(None),
            CameraFrame::Device(frame) => Some(Memory::Device(frame)),
            CameraFrame::Shared(frame) => buffer()?.map(|buffer| Memory::Host(buffer, frame)),
            CameraFrame::Host(frame) => buffer()?.map(|buffer| {
                let host = self.shared.inputs[camera].1.filled(|memory| frame.copy_to(memory));
                Memory::Host(buffer, host)
            }),
        };
        Ok(memory.map(SharedFrame::new))
    }
}
