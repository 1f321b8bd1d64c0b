//! The state that the session, its two threads and its readers share: pools, streams, settings, counters and the first
//! failure.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Acquire};
use std::sync::{Mutex, MutexGuard};

use async_channel::Receiver;

use super::buffers::OutputBuffer;
use super::cameras::CameraStates;
use super::colour_state::ColourState;
use super::counters::Tally;
use super::error::LiveError;
use super::live_warp::FrameSettings;
use super::options::LiveOptions;
use super::outputs::Formats;
use super::panorama::StitchedFrame;
use crate::device::{Device, DeviceError, Priority, Stream, insist};
use crate::frame::{DeviceFrame, FrameFormat};
use crate::io::video::HostPool;
use crate::lock::lock;
use crate::pool::Pool;

/// The streams for upload, stitch and download. All frames use the same three streams.
pub(super) struct Streams {
    pub(super) upload: Stream,
    pub(super) compute: Stream,
    pub(super) download: Stream,
}

impl Streams {
    pub(super) fn new(device: &Device) -> Result<Self, DeviceError> {
        let stream = || Stream::new(device, Priority::High);
        Ok(Self { upload: stream()?, compute: stream()?, download: stream()? })
    }

    /// Waits until all three streams are idle.
    pub(super) fn drain(&self) -> Result<(), DeviceError> {
        for stream in [&self.upload, &self.compute, &self.download] {
            insist(DeviceError::is_fatal, || stream.synchronize())?;
        }
        Ok(())
    }
}

/// The state that the session, its two threads and its readers share.
pub(super) struct Shared {
    pub(super) device: Device,
    pub(super) formats: Formats,
    pub(super) options: LiveOptions,
    pub(super) streams: Streams,
    /// The device memory for the frames of each camera, and the host memory for those that are copied.
    pub(super) inputs: Vec<(Pool<DeviceFrame>, HostPool)>,
    pub(super) outputs: Pool<OutputBuffer>,
    /// The pool of tokens. Each set in flight holds one token.
    pub(super) tokens: Pool<()>,
    pub(super) current: Mutex<FrameSettings>,
    pub(super) tally: Mutex<Tally>,
    pub(super) colour: Mutex<ColourState>,
    /// The states of the cameras, if cameras that fail are detected.
    cameras: Option<Mutex<CameraStates>>,
    pub(super) failure: Mutex<Option<LiveError>>,
    /// The receiving end of the channel of finished panoramas that no reader has received yet.
    pub(super) finished: Receiver<StitchedFrame>,
    pub(super) in_flight: AtomicUsize,
    /// Whether a reader was ever created.
    pub(super) read: AtomicBool,
}

impl Shared {
    /// Creates the shared state, and allocates all buffers and streams.
    pub(super) fn new(
        device: &Device,
        options: &LiveOptions,
        formats: Formats,
        current: FrameSettings,
        finished: Receiver<StitchedFrame>,
    ) -> Result<Self, DeviceError> {
        let inputs = |&format: &FrameFormat| -> Result<_, DeviceError> {
            let buffers = (0..options.input_buffers()).map(|_| DeviceFrame::new(device, format));
            let host = HostPool::new(format, Some(device.clone()));
            Ok((Pool::new(buffers.collect::<Result<_, _>>()?), host))
        };
        let cameras = formats.inputs.len();
        let (samples, downloads) = (options.failure.is_some(), options.download);
        let output = |_| OutputBuffer::new(device, &formats.outputs, samples, downloads);
        let buffers = (0..options.slots).map(output).collect::<Result<_, _>>().map(Pool::new)?;
        let colour = ColourState::new(options.colour.follow, current.stitch.colours);
        Ok(Self {
            device: device.clone(),
            options: *options,
            streams: Streams::new(device)?,
            inputs: formats.inputs.iter().map(inputs).collect::<Result<_, _>>()?,
            outputs: buffers,
            tokens: Pool::new(vec![(); options.sets()]),
            colour: Mutex::new(colour),
            current: Mutex::new(current),
            tally: Mutex::new(Tally::new()),
            cameras: options.failure.map(|failure| Mutex::new(CameraStates::new(cameras, failure))),
            failure: Mutex::default(),
            finished,
            formats,
            in_flight: AtomicUsize::new(0),
            read: AtomicBool::new(false),
        })
    }

    /// Calls `body` with the states of the cameras. Returns `None` if cameras that fail are not detected.
    pub(super) fn with_cameras<R>(&self, body: impl FnOnce(&mut CameraStates) -> R) -> Option<R> {
        Some(body(&mut lock(self.cameras.as_ref()?)))
    }

    /// Returns the number of cameras.
    pub(super) fn cameras(&self) -> usize {
        self.formats.inputs.len()
    }

    pub(super) fn current(&self) -> FrameSettings {
        lock(&self.current).clone()
    }

    pub(super) fn tally(&self) -> MutexGuard<'_, Tally> {
        lock(&self.tally)
    }

    pub(super) fn colour(&self) -> MutexGuard<'_, ColourState> {
        lock(&self.colour)
    }

    /// Returns whether readers were created and all of them were dropped. Nobody can read the panoramas then, so they
    /// may be discarded.
    pub(super) fn is_abandoned(&self) -> bool {
        // One receiver is `self.finished`.
        self.read.load(Acquire) && self.finished.receiver_count() == 1
    }

    /// Counts sets that will not be finished because the session has failed or is being dropped.
    pub(super) fn count_unfinished(&self, sets: u64) {
        let failed = lock(&self.failure).is_some() || !self.device.is_healthy();
        let dropped = &mut self.tally().counters.dropped;
        *(if failed { &mut dropped.lost } else { &mut dropped.closing }) += sets;
    }

    /// Records the first error and stops the session: it accepts no more frames, blocked calls return, and the
    /// readers end.
    pub(super) fn fail(&self, error: LiveError) {
        tracing::error!("{error}");
        lock(&self.failure).get_or_insert(error);
        self.close_pools();
        self.finished.close();
    }

    /// Stops the session because of an error with a set, and counts the set as unfinished.
    pub(super) fn fail_with_set(&self, error: LiveError) {
        self.fail(error);
        self.count_unfinished(1);
    }

    pub(super) fn health(&self) -> Result<(), LiveError> {
        // Check the device, too, because an error of other code in this process may have made the device unusable.
        if lock(&self.failure).is_none()
            && let Err(error) = self.device.health()
        {
            self.fail(error.into());
        }
        match &*lock(&self.failure) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    pub(super) fn close_pools(&self) {
        self.outputs.close();
        self.tokens.close();
        self.inputs.iter().for_each(|(buffers, _)| buffers.close());
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} outputs on {}", self.formats.outputs.len(), self.device)
    }
}
