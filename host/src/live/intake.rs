//! Accepts frames: checks them, combines them to sets, and sends the sets to the worker thread.
//!
//! A set that lacks the frame of a camera gets the last frame of this camera instead.

use std::collections::VecDeque;
use std::sync::mpsc::SyncSender;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Stitcher;
use super::buffers::{
    CameraFrame, ExternalFrame, FrameBuffer, FrameSet, HostFrame, Input, InputBuffer,
};
use super::cameras::Cameras;
use super::counters::LiveCounters;
use super::error::LiveError;
use super::options::{LOOK_AGAIN, LiveOptions, Pace};
use super::pairing::{MatchedSet, Outcome, Pairing};
use super::pool::{Pool, Pooled};
use super::shared::Shared;
use super::worker::Job;
use crate::frame::Frame;
use crate::lock::lock;

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
    pub(super) pairing: Pairing<HostFrame>,
    /// Complete sets that wait for a token.
    ready: VecDeque<MatchedSet<HostFrame>>,
    /// The last frame of each camera, which replaces frames that a set lacks. `None` before the first frame, and if
    /// sets never lack frames.
    last: Vec<Option<HostFrame>>,
    /// Whether a set may lack frames.
    keeps_last: bool,
    /// The origin of arrival times.
    begun: Instant,
    /// The channel to the worker; `None` after the stitcher was closed.
    pub(super) jobs: Option<SyncSender<Job>>,
}

impl Intake {
    pub(super) fn new(shared: &Shared, options: &LiveOptions, jobs: SyncSender<Job>) -> Self {
        // If cameras may fail, a camera that has not delivered a frame yet shows black.
        let black = |pool: &Pool<InputBuffer>| {
            let mut buffer = pool.try_take().filter(|_| options.failure.is_some())?;
            buffer.fill_black();
            Some(FrameBuffer { buffer }.into())
        };
        Self {
            pairing: Pairing::new(shared.cameras(), options.pairing()),
            ready: VecDeque::new(),
            last: shared.inputs.iter().map(black).collect(),
            keeps_last: options.deadline().is_some(),
            begun: Instant::now(),
            jobs: Some(jobs),
        }
    }

    /// Stops accepting frames, and counts the waiting frames and sets as dropped.
    pub(super) fn close(&mut self, counters: &mut LiveCounters) {
        for (camera, _) in self.pairing.clear() {
            counters.cameras[camera].alone += 1;
        }
        for _ in self.ready.drain(..) {
            count_set(counters, false);
            counters.dropped.closing += 1;
        }
        self.last.fill(None);
        self.jobs = None;
    }

    /// Stores the complete sets, and counts the frames that were dropped.
    fn accept(&mut self, outcome: Outcome<HostFrame>, counters: &mut LiveCounters) {
        for (camera, _) in &outcome.alone {
            counters.cameras[*camera].alone += 1;
        }
        self.ready.extend(outcome.sets);
    }

    /// Returns the frames of a set, with the last frame of each camera whose frame the set lacks. Returns `None` if
    /// such a camera has not delivered a frame yet.
    fn inputs(&mut self, set: MatchedSet<HostFrame>) -> Option<Vec<Input>> {
        let mut inputs = Vec::with_capacity(set.frames.len());
        for (frame, last) in set.frames.into_iter().zip(&mut self.last) {
            if self.keeps_last && frame.is_some() {
                last.clone_from(&frame);
            }
            inputs.push(frame.or_else(|| last.clone()).map(Input::Host));
        }
        inputs.into_iter().collect()
    }
}

impl Stitcher {
    /// Copies one frame of each camera from host memory and submits them as a set. The caller can reuse the frames'
    /// memory when the call returns.
    ///
    /// In [`Pace::Wait`], blocks until buffers are free. In [`Pace::Live`], never blocks.
    ///
    /// # Errors
    /// Returns [`LiveError`] if the number of frames or the format of a frame is wrong, or the stitcher was closed or
    /// has failed.
    pub fn submit(
        &self,
        frames: &[Frame<'_>],
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        self.submit_each(frames.iter().copied().map(CameraFrame::Host), timestamp)
    }

    /// Submits one frame of each camera as a set. Copies frames in host memory like [`submit`](Self::submit), and uses
    /// frames in device memory without a copy like [`submit_external`](Self::submit_external).
    ///
    /// # Errors
    /// Returns [`LiveError`] if the number of frames or the format of a frame is wrong, a frame is on another device,
    /// or the stitcher was closed or has failed.
    pub fn submit_each<'a>(
        &self,
        frames: impl IntoIterator<Item = CameraFrame<'a>>,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        let frames: Vec<_> = frames.into_iter().collect();
        self.check_count(frames.len())?;
        for (camera, frame) in frames.iter().enumerate() {
            if let CameraFrame::Host(frame) = frame {
                self.check_format(camera, frame.format())?;
            }
        }
        // Take all buffers before copying a frame, because a set without a buffer is dropped.
        let mut buffers = Vec::with_capacity(frames.len());
        for (camera, frame) in frames.iter().enumerate() {
            let CameraFrame::Host(_) = frame else { continue };
            let Some(buffer) = self.buffer(camera)? else {
                self.report_set();
                return Ok(self.busy(true));
            };
            buffers.push(buffer);
        }
        let mut buffers = buffers.into_iter();
        let input = |frame| match frame {
            CameraFrame::Device(frame) => Some(Input::External(frame)),
            CameraFrame::Host(frame) => buffers.next().map(|mut buffer| {
                buffer.buffer.fill(&frame);
                Input::Host(buffer.into())
            }),
        };
        self.submit_set(frames.into_iter().filter_map(input).collect(), timestamp)
    }

    /// Returns a buffer in page-locked memory for a frame of `camera`. Fill the buffer and pass it to
    /// [`submit_filled`](Self::submit_filled) or [`push_filled`](Self::push_filled). This avoids a copy of the frame in
    /// host memory.
    ///
    /// If all buffers are in use, returns `None` in [`Pace::Live`] and blocks in [`Pace::Wait`]. The initial contents
    /// of the buffer are unspecified.
    ///
    /// # Errors
    /// Returns [`LiveError`] if the stitcher was closed or has failed.
    pub fn buffer(&self, camera: usize) -> Result<Option<FrameBuffer>, LiveError> {
        self.check_camera(camera)?;
        let buffer = self.take(&self.shared.inputs[camera])?;
        Ok(buffer.map(|buffer| FrameBuffer { buffer }))
    }

    /// Takes an item from a pool. If no item is free, returns `None` in [`Pace::Live`] and blocks in [`Pace::Wait`].
    fn take<T>(&self, pool: &Pool<T>) -> Result<Option<Pooled<T>>, LiveError> {
        let mut waited = false;
        loop {
            let seen = pool.changes();
            self.check_open()?;
            if let Some(item) = pool.try_take() {
                return Ok(Some(item));
            }
            if self.shared.pace == Pace::Live {
                return Ok(None);
            }
            if !waited {
                waited = true;
                self.shared.tally().counters.slot_waits += 1;
            }
            pool.wait(seen, LOOK_AGAIN);
        }
    }

    /// Submits one buffer per camera, which the caller has filled with frames, as a set.
    ///
    /// # Errors
    /// Returns [`LiveError`] if the number of buffers is wrong, a buffer belongs to another camera or to another
    /// stitcher, or the stitcher was closed or has failed.
    pub fn submit_filled(
        &self,
        buffers: impl IntoIterator<Item = FrameBuffer>,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        let frames = buffers.into_iter().map(|buffer| Input::Host(buffer.into()));
        self.submit_set(frames.collect(), timestamp)
    }

    /// Submits one frame per camera in device memory as a set, without a copy. The set counts towards the maximum
    /// number of sets in flight, like a set in host memory. If the maximum is reached, the set is dropped in
    /// [`Pace::Live`], and the call blocks in [`Pace::Wait`].
    ///
    /// # Errors
    /// Returns [`LiveError`] if the number of frames is wrong, a frame has the wrong format or is on another device, or
    /// the stitcher was closed or has failed.
    pub fn submit_external(
        &self,
        frames: impl IntoIterator<Item = ExternalFrame>,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        self.submit_set(frames.into_iter().map(Input::External).collect(), timestamp)
    }

    /// Copies a frame of one camera from host memory. If the matching frames of all other cameras have arrived, submits
    /// them as a set. Otherwise, the frame waits.
    ///
    /// The frames of each camera must arrive in the order of their timestamps. Each frame of the reference camera forms
    /// a set with the frames of the other cameras whose timestamps differ by at most
    /// [`LiveOptions::tolerance`](super::LiveOptions::tolerance). Of a camera with another frame rate, the set has the
    /// nearest frame, or an earlier one within half a frame time if the nearest one has not arrived, so a frame may be in
    /// several sets. Frames that are in no set are dropped and counted; see [`timing`](Self::timing). In [`Pace::Wait`],
    /// the call blocks while `slots − 1` frames of `camera` wait for frames of the other cameras; [`Pace::Wait`] states
    /// when one thread can push for all cameras.
    ///
    /// # Errors
    /// Returns [`LiveError`] if the frame has the wrong format, or the stitcher was closed or has failed.
    pub fn push(
        &self,
        camera: usize,
        frame: Frame<'_>,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        self.check_camera(camera)?;
        self.check_format(camera, frame.format())?;
        match self.buffer(camera)? {
            Some(mut buffer) => {
                buffer.buffer.fill(&frame);
                self.push_filled(camera, buffer, timestamp)
            }
            None => {
                let counters = &mut self.shared.tally().counters.cameras[camera];
                counters.frames_in += 1;
                counters.alone += 1;
                Ok(Submitted::Dropped)
            }
        }
    }

    /// Pushes a filled buffer, like [`push`](Self::push) but without copying the frame.
    ///
    /// # Errors
    /// Returns [`LiveError`] if the buffer belongs to another camera or to another stitcher, or if the stitcher was
    /// closed or has failed.
    pub fn push_filled(
        &self,
        camera: usize,
        buffer: FrameBuffer,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        self.check_camera(camera)?;
        self.check_buffer(camera, self.shared.inputs[camera].owns(&buffer.buffer))?;
        let arrived = Instant::now();
        let (mut intake, token) = self.room_to_push(camera, timestamp)?;
        self.shared.with_cameras(|cameras, now| cameras.arrived(camera, now));
        self.update_presence(&mut intake);
        let arrival = arrived.saturating_duration_since(intake.begun);
        intake.pairing.observe(camera, timestamp, arrival);
        let outcome = intake.pairing.push(camera, timestamp, buffer.into());
        self.moved.notify_all();
        let waits = outcome.waits;
        {
            let counters = &mut self.shared.tally().counters;
            counters.cameras[camera].frames_in += 1;
            intake.accept(outcome, counters);
        }
        let submitted = self.send_ready(intake, token)?;
        Ok(submitted.unwrap_or(if waits { Submitted::Waiting } else { Submitted::Dropped }))
    }

    /// Sets whether a camera is present. The stitcher does not wait for the frames of an absent camera, and drops them
    /// if they are pushed one by one. Panoramas show the last frame of this camera. When it is present again, the
    /// stitcher waits for it from its next frame on. After all cameras were absent, the clocks may start anew, so the
    /// timestamps of the panoramas may be earlier than before.
    ///
    /// If [`LiveOptions::failure`] is set, an absent camera is [`Gone`](super::CameraState::Gone) at once. When it is
    /// present again, it returns after it has delivered [`settle`](super::FailureOptions::settle) frames in time.
    ///
    /// # Errors
    /// Returns [`LiveError`] if there is no such camera, neither
    /// [`LiveOptions::deadline`](field@super::LiveOptions::deadline) nor [`LiveOptions::failure`] is set, or the
    /// stitcher was closed or has failed.
    pub fn set_present(&self, camera: usize, present: bool) -> Result<(), LiveError> {
        self.check_camera(camera)?;
        let mut intake = lock(&self.intake);
        if !intake.keeps_last {
            return Err(LiveError::Options(
                "only a stitcher with a `deadline` or with `failure` accepts absent cameras",
            ));
        }
        self.check_taking(&intake)?;
        let connect = |cameras: &mut Cameras, now| cameras.connect(camera, present, now);
        if self.shared.with_cameras(connect).is_some() {
            self.update_presence(&mut intake);
        } else {
            let outcome = intake.pairing.set_present(camera, present);
            intake.accept(outcome, &mut self.shared.tally().counters);
        }
        self.moved.notify_all();
        self.send_ready(intake, None).map(drop)
    }

    /// Stops waiting for cameras whose frames no longer arrive, and waits again for those that deliver.
    fn update_presence(&self, intake: &mut Intake) {
        for camera in 0..self.shared.cameras() {
            let delivers = |cameras: &mut Cameras, _| cameras.delivers(camera);
            let Some(present) = self.shared.with_cameras(delivers) else { return };
            let outcome = intake.pairing.set_present(camera, present);
            intake.accept(outcome, &mut self.shared.tally().counters);
        }
    }

    /// Sends the complete sets to the worker in the order in which they were completed. `token` is for the first set.
    /// If no further token is free, drops the set in [`Pace::Live`], and blocks in [`Pace::Wait`]. Returns `None` if
    /// there was no set.
    fn send_ready<'a>(
        &'a self,
        mut intake: MutexGuard<'a, Intake>,
        mut token: Option<Pooled<()>>,
    ) -> Result<Option<Submitted>, LiveError> {
        let tokens = &self.shared.tokens;
        let mut submitted = None;
        while !intake.ready.is_empty() {
            let seen = tokens.changes();
            token = token.or_else(|| tokens.try_take());
            if token.is_none() && self.shared.pace == Pace::Wait {
                drop(intake);
                tokens.wait(seen, LOOK_AGAIN);
                intake = lock(&self.intake);
                self.check_taking(&intake)?;
                continue;
            }
            let Some(set) = intake.ready.pop_front() else { break };
            let timestamp = set.time;
            let frames = set.frames.iter().map(Option::is_some);
            self.shared.with_cameras(|cameras, now| cameras.set(now, frames));
            // The intake is still locked, so that sets are sent in the order in which they were completed.
            submitted = Some(match (intake.inputs(set), token.take()) {
                (Some(frames), Some(token)) => {
                    self.send(&intake, FrameSet { frames, _token: token }, timestamp, false)?
                }
                (Some(_), None) => self.busy(false),
                (None, _) => self.incomplete(),
            });
        }
        Ok(submitted)
    }

    /// Locks the intake, checks that it is open, and takes a token for a set. A token limits the number of sets in
    /// flight.
    /// - In [`Pace::Wait`], blocks until a token is free and the queue of waiting frames of `camera` has room.
    /// - In [`Pace::Live`], returns `None` if no token is free.
    fn room_to_push(
        &self,
        camera: usize,
        timestamp: Duration,
    ) -> Result<(MutexGuard<'_, Intake>, Option<Pooled<()>>), LiveError> {
        let tokens = &self.shared.tokens;
        let mut waited = false;
        let mut intake = lock(&self.intake);
        loop {
            self.check_taking(&intake)?;
            let seen = tokens.changes();
            let is_full = intake.pairing.is_full(camera, timestamp);
            if self.shared.pace == Pace::Live {
                return Ok((intake, tokens.try_take()));
            }
            if !is_full && let Some(token) = tokens.try_take() {
                return Ok((intake, Some(token)));
            }
            if !waited {
                waited = true;
                self.shared.tally().counters.slot_waits += 1;
            }
            if is_full {
                let woken = self.moved.wait_timeout(intake, LOOK_AGAIN);
                intake = woken.unwrap_or_else(PoisonError::into_inner).0;
            } else {
                drop(intake);
                tokens.wait(seen, LOOK_AGAIN);
                intake = lock(&self.intake);
            }
        }
    }

    pub(super) fn check_open(&self) -> Result<(), LiveError> {
        self.check_taking(&lock(&self.intake))
    }

    /// Checks that the stitcher has not failed and was not closed. While the caller holds the lock of `intake`, no
    /// other thread can close the stitcher.
    fn check_taking(&self, intake: &Intake) -> Result<(), LiveError> {
        self.health()?;
        if intake.jobs.is_none() { Err(LiveError::Closed) } else { Ok(()) }
    }

    /// Reports a set with a frame of each camera to the states of the cameras.
    fn report_set(&self) {
        let all = 0..self.shared.cameras();
        self.shared.with_cameras(|cameras, now| {
            all.clone().for_each(|camera| cameras.arrived(camera, now));
            cameras.set(now, all.map(|_| true));
        });
    }

    /// Counts a set that was dropped because no buffer was free. `received` is whether its frames must still be added
    /// to the counters of received frames.
    fn busy(&self, received: bool) -> Submitted {
        let counters = &mut self.shared.tally().counters;
        counters.dropped.busy += 1;
        count_set(counters, received);
        Submitted::Dropped
    }

    /// Counts a set that was dropped because a camera whose frame it lacks has not delivered a frame yet.
    fn incomplete(&self) -> Submitted {
        let counters = &mut self.shared.tally().counters;
        counters.dropped.incomplete += 1;
        count_set(counters, false);
        Submitted::Dropped
    }

    /// Checks a set, takes a token (which limits the sets in flight), and sends the set to the worker. Drops the set if
    /// no token is free.
    fn submit_set(&self, frames: Vec<Input>, timestamp: Duration) -> Result<Submitted, LiveError> {
        self.check_count(frames.len())?;
        for (camera, input) in frames.iter().enumerate() {
            self.check(camera, input)?;
        }
        self.report_set();
        self.health()?;
        let Some(token) = self.take(&self.shared.tokens)? else { return Ok(self.busy(true)) };
        let intake = lock(&self.intake);
        self.check_taking(&intake)?;
        self.send(&intake, FrameSet { frames, _token: token }, timestamp, true)
    }

    /// Sends a set to the worker. `received` is whether its frames must still be added to the counters of received
    /// frames.
    fn send(
        &self,
        intake: &Intake,
        set: FrameSet,
        timestamp: Duration,
        received: bool,
    ) -> Result<Submitted, LiveError> {
        count_set(&mut self.shared.tally().counters, received);
        let job = Job { set, timestamp, complete: Instant::now() };
        if intake.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok()) {
            return Ok(Submitted::Set);
        }
        self.shared.count_unfinished(1);
        Err(self.health().err().unwrap_or(LiveError::Closed))
    }
}

/// Counts a complete set and, if `received` is true, the frames of which it consists.
fn count_set(counters: &mut LiveCounters, received: bool) {
    counters.sets += 1;
    for camera in &mut counters.cameras {
        camera.frames_in += u64::from(received);
    }
}
