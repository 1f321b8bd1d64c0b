//! Accepts frames: checks and pairs them, and sends the pairs to the worker thread.

use std::sync::mpsc::SyncSender;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Stitcher;
use super::buffers::{ExternalFrame, FrameBuffer, Input, InputBuffer, Pair};
use super::counters::LiveCounters;
use super::error::LiveError;
use super::options::{LOOK_AGAIN, Pace};
use super::pairing::{Pairing, Side};
use super::pool::{Pool, Pooled};
use super::worker::Job;
use crate::frame::{Frame, FrameFormat};
use crate::lock::lock;

/// The result of submitting a frame or a pair of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// A pair was sent to the worker.
    Pair,
    /// The frame waits for the matching frame of the other camera.
    Waiting,
    /// The frame or pair was dropped and counted in [`Dropped`]. Either all buffers were in use, or the frame was too
    /// old to match any frame of the other camera.
    ///
    /// [`Dropped`]: super::Dropped
    Dropped,
}

/// The state of the frame intake: the waiting frames, and the channel to the worker.
#[derive(Debug)]
pub(super) struct Intake {
    pub(super) pairing: Pairing<FrameBuffer>,
    /// The channel to the worker; `None` after the stitcher was closed.
    pub(super) jobs: Option<SyncSender<Job>>,
}

impl Stitcher {
    /// Copies a pair of frames from host memory and submits it. The caller can reuse the frames' memory when the call
    /// returns.
    ///
    /// In [`Pace::Wait`], blocks until a buffer is free. In [`Pace::Live`], never blocks.
    ///
    /// # Errors
    /// Returns [`LiveError`] if a frame has the wrong format, or the stitcher was closed or has failed.
    pub fn submit(
        &self,
        left: Frame<'_>,
        right: Frame<'_>,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        for (camera, frame) in Side::ALL.into_iter().zip([&left, &right]) {
            self.check_format(camera, frame.format())?;
        }
        let (Some(mut a), Some(mut b)) = (self.buffer(Side::Left)?, self.buffer(Side::Right)?)
        else {
            return Ok(self.busy(2));
        };
        a.buffer.fill(&left);
        b.buffer.fill(&right);
        self.submit_filled(a, b, timestamp)
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
    pub fn buffer(&self, camera: Side) -> Result<Option<FrameBuffer>, LiveError> {
        let buffer = self.take(&self.shared.inputs[camera as usize])?;
        Ok(buffer.map(|buffer| FrameBuffer { buffer }))
    }

    /// Takes an item from a pool. If no item is free, returns `None` in [`Pace::Live`] and blocks in [`Pace::Wait`].
    fn take<T>(&self, pool: &Pool<T>) -> Result<Option<Pooled<T>>, LiveError> {
        let mut waited = false;
        loop {
            let seen = pool.changes();
            if let Some(item) = pool.try_take() {
                return Ok(Some(item));
            }
            self.check_open()?;
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

    /// Submits a pair of buffers that the caller has filled with frames.
    ///
    /// # Errors
    /// Returns [`LiveError`] if a buffer belongs to the other camera or to another stitcher, or if the stitcher was
    /// closed or has failed.
    pub fn submit_filled(
        &self,
        left: FrameBuffer,
        right: FrameBuffer,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        self.submit_pair([Input::Host(left.buffer), Input::Host(right.buffer)], timestamp)
    }

    /// Submits a pair of frames in device memory, without a copy. The pair counts towards the maximum number of pairs
    /// in flight, like a pair in host memory. If the maximum is reached, the pair is dropped in [`Pace::Live`], and the
    /// call blocks in [`Pace::Wait`].
    ///
    /// # Errors
    /// Returns [`LiveError`] if a frame has the wrong format or is on another device, or if the stitcher was closed or
    /// has failed.
    pub fn submit_external(
        &self,
        left: ExternalFrame,
        right: ExternalFrame,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        self.submit_pair([Input::External(left), Input::External(right)], timestamp)
    }

    /// Copies a frame of one camera from host memory. If the matching frame of the other camera has arrived, submits
    /// both as a pair. Otherwise, the frame waits.
    ///
    /// The frames of each camera must arrive in the order of their timestamps. Two frames form a pair if their
    /// timestamps differ by at most [`LiveOptions::tolerance`](super::LiveOptions::tolerance). Frames without a partner
    /// are dropped and counted. In [`Pace::Wait`], the call blocks while `slots − 1` frames of `camera` wait for a
    /// frame of the other camera.
    ///
    /// # Errors
    /// Returns [`LiveError`] if the frame has the wrong format, or the stitcher was closed or has failed.
    pub fn push(
        &self,
        camera: Side,
        frame: Frame<'_>,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        self.check_format(camera, frame.format())?;
        match self.buffer(camera)? {
            Some(mut buffer) => {
                buffer.buffer.fill(&frame);
                self.push_filled(camera, buffer, timestamp)
            }
            None => {
                let counters = &mut self.shared.tally().counters;
                counters.frames_in += 1;
                count_unpaired(counters, camera);
                Ok(Submitted::Dropped)
            }
        }
    }

    /// Pushes a filled buffer, like [`push`](Self::push) but without copying the frame.
    ///
    /// # Errors
    /// Returns [`LiveError`] if the buffer belongs to the other camera or to another stitcher, or if the stitcher was
    /// closed or has failed.
    pub fn push_filled(
        &self,
        camera: Side,
        buffer: FrameBuffer,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        self.check_buffer(camera, &buffer.buffer)?;
        let (mut intake, token) = self.room_to_push(camera, timestamp)?;
        let outcome = intake.pairing.push(camera, timestamp, buffer);
        self.moved.notify_all();
        {
            let counters = &mut self.shared.tally().counters;
            counters.frames_in += 1;
            for (camera, _) in &outcome.alone {
                count_unpaired(counters, *camera);
            }
        }
        match outcome.pair {
            Some((left, right, timestamp)) => match token {
                Some(token) => {
                    let (left, right) = (Input::Host(left.buffer), Input::Host(right.buffer));
                    let pair = Pair { left, right, _token: token };
                    // The intake is still locked, so that pairs are sent in the order in which they were completed.
                    self.send(&intake, pair, timestamp, 0)
                }
                None => Ok(self.busy(0)),
            },
            None if outcome.waits => Ok(Submitted::Waiting),
            None => Ok(Submitted::Dropped),
        }
    }

    /// Locks the intake, checks that it is open, and takes a token for a pair. A token limits the number of pairs in
    /// flight.
    /// - In [`Pace::Wait`], blocks until a token is free and the queue of waiting frames of `camera` has room.
    /// - In [`Pace::Live`], returns `None` if no token is free.
    fn room_to_push(
        &self,
        camera: Side,
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

    fn check_format(&self, camera: Side, found: FrameFormat) -> Result<(), LiveError> {
        let expected = self.shared.formats.inputs[camera as usize];
        if found == expected { Ok(()) } else { Err(LiveError::Format { camera, found, expected }) }
    }

    /// Checks that the stitcher can use a frame. A buffer must come from this stitcher and be for `camera`. An external
    /// frame must have the right format, planes and device.
    fn check(&self, camera: Side, input: &Input) -> Result<(), LiveError> {
        let frame = match input {
            Input::Host(buffer) => return self.check_buffer(camera, buffer),
            Input::External(frame) => frame,
        };
        self.check_format(camera, frame.format())?;
        if !frame.is_whole() {
            return Err(LiveError::Chroma { camera });
        }
        let expected = self.shared.device.place();
        match frame.places().find(|place| *place != expected) {
            Some(found) => Err(LiveError::Place { camera, found, expected }),
            None => Ok(()),
        }
    }

    fn check_buffer(&self, camera: Side, buffer: &Pooled<InputBuffer>) -> Result<(), LiveError> {
        let is_own = self.shared.inputs[camera as usize].owns(buffer);
        if is_own { Ok(()) } else { Err(LiveError::Buffer { camera }) }
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

    /// Counts a pair that was dropped because no buffer was free. `frames_in` is the number of frames of the pair that
    /// must still be added to the counter of received frames.
    fn busy(&self, frames_in: u64) -> Submitted {
        let counters = &mut self.shared.tally().counters;
        counters.frames_in += frames_in;
        counters.pairs += 1;
        counters.dropped.busy += 1;
        Submitted::Dropped
    }

    /// Checks a pair, takes a token (which limits the pairs in flight), and sends the pair to the worker. Drops the
    /// pair if no token is free.
    fn submit_pair(&self, pair: [Input; 2], timestamp: Duration) -> Result<Submitted, LiveError> {
        for (camera, input) in Side::ALL.into_iter().zip(&pair) {
            self.check(camera, input)?;
        }
        self.health()?;
        let Some(token) = self.take(&self.shared.tokens)? else { return Ok(self.busy(2)) };
        let intake = lock(&self.intake);
        self.check_taking(&intake)?;
        let [left, right] = pair;
        self.send(&intake, Pair { left, right, _token: token }, timestamp, 2)
    }

    /// Sends a pair to the worker. `frames_in` is the number of frames of the pair that must still be added to the
    /// counter of received frames.
    fn send(
        &self,
        intake: &Intake,
        pair: Pair,
        timestamp: Duration,
        frames_in: u64,
    ) -> Result<Submitted, LiveError> {
        {
            let counters = &mut self.shared.tally().counters;
            counters.frames_in += frames_in;
            counters.pairs += 1;
        }
        let job = Job { pair, timestamp, complete: Instant::now() };
        if intake.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok()) {
            return Ok(Submitted::Pair);
        }
        self.shared.count_unfinished(1);
        Err(self.health().err().unwrap_or(LiveError::Closed))
    }
}

/// Counts a frame that was dropped because no frame of the other camera matches it.
pub(super) fn count_unpaired(counters: &mut LiveCounters, camera: Side) {
    match camera {
        Side::Left => counters.dropped.left_alone += 1,
        Side::Right => counters.dropped.right_alone += 1,
    }
}
