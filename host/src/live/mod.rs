//! Live video: pairs of frames in, panoramas out, at the pace of the cameras and for hours.
//!
//! A [`Stitcher`] takes pairs of frames ([`submit`](Stitcher::submit)), or frames of either camera that
//! it pairs by timestamp ([`push`](Stitcher::push)), and returns at once; [`panoramas`](Stitcher::panoramas)
//! come out in order, to a loop, an `async` task or a callback. Warp and settings can be changed
//! between any two frames. Frames and panoramas go round in memory that is allocated at the start; what
//! cannot keep pace is dropped and counted, or waited for, as [`Pace`] says. Colours of the two cameras
//! follow the light, unless told not to.
//!
//! | file | what |
//! |---|---|
//! | `worker` | the two threads: submit, retry, collect |
//! | `follow` | analysis of colour and seam beside the stitching, and its strikes |
//! | `seam` | the seam of a warp in use, and its fades |
//! | `buffers`, `pool` | memory that goes round |
//! | `pairing` | which frame belongs to which |
//! | `panorama` | what comes out, and to whom |
//! | `counters` | what happened |
//!
//! Not here: decoding, encoding, reading cameras ([`video`](crate::video) has files and pipes).

mod buffers;
mod counters;
mod follow;
mod pairing;
mod panorama;
mod pool;
mod seam;
mod worker;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Acquire, Ordering::Release};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use async_channel::Receiver;
use glam::UVec2;
use thiserror::Error;

pub use buffers::{ExternalFrame, FrameBuffer};
pub use counters::{Dropped, LiveCounters};
pub use follow::{Analysis, ColourState};
pub use pairing::Side;
pub use panorama::{StitchedFrame, StitchedFrames};

use crate::device::{Device, DeviceError, Place, Stream};
use crate::frame::{Frame, FrameFormat, PixelFormat};
use crate::lock::lock;
use crate::ops::colour::{Colours, EVERY, GammaTable, Overlap, Summing};
use crate::ops::seam::{Blend, SeamError};
use crate::ops::stitch::{Lookup, StitchError, StitchOptions};
use crate::ops::view::{DEFAULT_SIZE, ViewError, ViewPose, Viewer, VirtualCamera};
use crate::warp::{DeviceWarp, Plane, RenderError};

use buffers::{Input, InputBuffer, OutputBuffer, Pair};
use counters::Tally;
use follow::Follower;
use pairing::Pairing;
use pool::{Pool, Pooled};
use seam::LiveSeam;
use worker::{Job, Streams, Worker};

/// What happens when frames come faster than panoramas can go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// For cameras: nobody waits. A pair that finds no buffer is dropped; of panoramas that the reader
    /// does not take, the oldest makes room for the newest.
    #[default]
    Live,
    /// For files: nothing is dropped but frames that have no partner. Whoever submits waits for a buffer,
    /// and so for the reader: read on another thread.
    ///
    /// Whoever pushes a camera's frames also waits when `slots − 1` of them are without a partner, until the
    /// other camera's frames come. So push each camera on a thread of its own, or in turns; and when one
    /// camera has ended, [`close`](Stitcher::close), which ends the other's wait with
    /// [`LiveError::Closed`].
    Wait,
}

/// How long a wait goes, at most, before the reasons for it are looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How colour follows the light.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColourOptions {
    /// Whether it does.
    pub follow: bool,
    /// Frames from one analysis to the next.
    pub every: u32,
    /// How long a result may take before it counts as a failure.
    pub deadline: Duration,
    /// Launches each analysis so many frames late: for tests of what it reads.
    #[doc(hidden)]
    pub delay: u32,
}

impl Default for ColourOptions {
    fn default() -> Self {
        Self { follow: true, every: EVERY, deadline: Duration::from_secs(2), delay: 0 }
    }
}

/// What a stitcher is made for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveOptions {
    /// What the cameras' pixels are; their sizes are the warp's.
    pub input: PixelFormat,
    /// What the panorama's pixels are.
    pub output: PixelFormat,
    /// The panorama's size, if it is not the warp's; or the view's.
    pub size: Option<UVec2>,
    /// Flip, edge boost, how gamma is computed; and the colours where they do not follow the light, or
    /// have not yet begun to.
    pub stitch: StitchOptions,
    /// Colour that follows the light.
    pub colour: ColourOptions,
    /// How the overlap is shown. A seam is looked at as often as colours are; see [`seam`](crate::ops::seam).
    pub blend: Blend,
    /// What happens when frames come too fast.
    pub pace: Pace,
    /// Pairs under way at once, of frames in whosever memory, and one more that a colour analysis may hold
    /// on to. There is memory for so many panoramas and a frame of each camera more; at least 2.
    pub slots: usize,
    /// How far apart the timestamps of a pair may be; never more than half of the cameras' frame time, as
    /// [`Stitcher::push`] sees it.
    pub tolerance: Duration,
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self {
            input: PixelFormat::Rgba8,
            output: PixelFormat::Rgba8,
            size: None,
            stitch: StitchOptions::default(),
            colour: ColourOptions::default(),
            blend: Blend::default(),
            pace: Pace::default(),
            slots: 4,
            tolerance: Duration::from_millis(16),
        }
    }
}

/// A stitcher cannot be made, or does not take what it is given.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum LiveError {
    /// A frame is not of the format that the stitcher was made for.
    #[error(
        "live stitching: the {camera:?} frame is {found}, but the stitcher was made for {expected}"
    )]
    Format {
        /// Whose frame.
        camera: Side,
        /// Its format.
        found: FrameFormat,
        /// The stitcher's.
        expected: FrameFormat,
    },
    /// Chroma of a frame on the device that is not half of its luma in size, rounded up.
    #[error(
        "live stitching: the {camera:?} frame's chroma is not half of its luma in size, rounded up"
    )]
    Chroma {
        /// Whose frame.
        camera: Side,
    },
    /// A frame on the device, or the event that it waits for, is on another device.
    #[error(
        "live stitching: the {camera:?} frame, or its event, is on {found}, but the stitcher runs on {expected}; copy it there first"
    )]
    Place {
        /// Whose frame.
        camera: Side,
        /// Where it is.
        found: Place,
        /// Where the stitcher runs.
        expected: Place,
    },
    /// A buffer to be filled that was taken for the other camera, or from another stitcher.
    #[error(
        "live stitching: the {camera:?} buffer is the other camera's or another stitcher's; take it with `Stitcher::buffer`"
    )]
    Buffer {
        /// For whose frame it was given.
        camera: Side,
    },
    /// A warp for other cameras.
    #[error(
        "live stitching: the warp is for sources of {found:?} pixels, but the stitcher takes {expected:?}; make a new stitcher"
    )]
    Sources {
        /// The warp's sources.
        found: [UVec2; 2],
        /// The stitcher's.
        expected: [UVec2; 2],
    },
    /// Options that make no stitcher.
    #[error("live stitching: {0}")]
    Options(&'static str),
    /// A warp, or settings, that cannot be used.
    #[error("live stitching: {0}")]
    Unusable(Arc<dyn std::error::Error + Send + Sync>),
    /// The stitcher was closed.
    #[error("live stitching: the stitcher was closed and takes no more frames")]
    Closed,
    /// The device failed: see [`DeviceError::is_fatal`] for whether the process must be restarted.
    #[error("live stitching: {0}")]
    Device(#[from] DeviceError),
    /// A thread of the stitcher's panicked: when a frame was dropped, in what was given to
    /// [`ExternalFrame::new`] with it, in a virtual camera's path, or by a fault of the stitcher's own.
    #[error(
        "live stitching: a thread of the stitcher panicked, as was reported there; make a new stitcher"
    )]
    Panicked,
    /// The operating system gives no thread.
    #[error("live stitching: a thread could not be started: {0}")]
    Thread(Arc<std::io::Error>),
}

impl From<StitchError> for LiveError {
    fn from(error: StitchError) -> Self {
        match error {
            StitchError::Device(error) => Self::Device(error),
            error => Self::Unusable(Arc::new(error)),
        }
    }
}

impl From<ViewError> for LiveError {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::Stitch(error) => error.into(),
            error => Self::Unusable(Arc::new(error)),
        }
    }
}

impl From<SeamError> for LiveError {
    fn from(error: SeamError) -> Self {
        match error {
            SeamError::Device(error) => Self::Device(error),
            error => Self::Unusable(Arc::new(error)),
        }
    }
}

impl From<RenderError> for LiveError {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Device(error) => Self::Device(error),
            error => Self::Unusable(Arc::new(error)),
        }
    }
}

/// What became of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// A pair is under way.
    Pair,
    /// The frame waits for its partner.
    Waiting,
    /// It was dropped, as [`Dropped`] counts: every buffer is in use, or it came too late.
    Dropped,
}

/// Formats of a stitcher.
#[derive(Clone, Copy, Debug)]
struct Formats {
    inputs: [FrameFormat; 2],
    output: FrameFormat,
}

/// A warp in use, with what was derived from it, and the cameras where a view is made of them.
#[derive(Debug)]
struct LiveWarp {
    warp: DeviceWarp,
    overlap: Option<(Overlap, Mutex<Summing>)>,
    seam: Option<Mutex<LiveSeam>>,
    viewer: Option<Viewer>,
}

impl LiveWarp {
    fn new(
        stream: &Stream,
        warp: DeviceWarp,
        viewer: Option<Viewer>,
        size: UVec2,
        (blend, lookup): (Blend, Lookup),
    ) -> Result<Self, LiveError> {
        let warp = match &viewer {
            Some(viewer) => {
                viewer.check_warp(&warp)?;
                warp
            }
            None if warp.size() == size => warp,
            None => warp.resized(stream, size)?,
        };
        if lookup == Lookup::Mesh && viewer.is_none() {
            // Now, so that the first frame need not wait, and before a seam gives a copy other weights.
            warp.mesh(stream)?;
        }
        let overlap = match Overlap::find(stream, &warp)? {
            Some(overlap) => {
                let summing = Summing::new(stream.device())?;
                Some((overlap, Mutex::new(summing)))
            }
            None => None,
        };
        let seam = match blend {
            Blend::Feather => None,
            Blend::Seam(options) => LiveSeam::new(stream, &warp, options)?.map(Mutex::new),
        };
        Ok(Self { warp, overlap, seam, viewer })
    }
}

/// What the next frame is stitched with.
#[derive(Clone)]
struct Current {
    warp: Arc<LiveWarp>,
    stitch: StitchOptions,
}

impl Current {
    /// Colours that were set by hand.
    fn colours(&self) -> Colours {
        Colours { left: self.stitch.left, right: self.stitch.right }
    }
}

/// What the stitcher, its threads and its readers share.
struct Shared {
    device: Device,
    formats: Formats,
    pace: Pace,
    blend: Blend,
    streams: Streams,
    inputs: [Pool<InputBuffer>; 2],
    outputs: Pool<OutputBuffer>,
    /// One for each pair that may be under way.
    tokens: Pool<()>,
    current: Mutex<Current>,
    tally: Mutex<Tally>,
    colour: Mutex<ColourState>,
    failure: Mutex<Option<LiveError>>,
    /// Panoramas that nobody has read.
    finished: Receiver<StitchedFrame>,
    in_flight: AtomicUsize,
    readers: AtomicUsize,
    /// Whether there ever was a reader.
    read: AtomicBool,
}

impl Shared {
    fn current(&self) -> Current {
        lock(&self.current).clone()
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        lock(&self.tally)
    }

    fn colour(&self) -> MutexGuard<'_, ColourState> {
        lock(&self.colour)
    }

    /// Whether all readers are gone: what they do not take need not be kept for them.
    fn is_abandoned(&self) -> bool {
        self.read.load(Acquire) && self.readers.load(Acquire) == 0
    }

    /// Counts pairs that will not be finished, since the stitcher has failed or is being dropped.
    fn count_unfinished(&self, pairs: u64) {
        let failed = lock(&self.failure).is_some() || !self.device.is_healthy();
        let dropped = &mut self.tally().counters.dropped;
        *(if failed { &mut dropped.lost } else { &mut dropped.closing }) += pairs;
    }

    /// Ends everything: from now on nothing is taken, nobody waits, and readers' loops end.
    fn fail(&self, error: LiveError) {
        tracing::error!("{error}");
        lock(&self.failure).get_or_insert(error);
        self.close_pools();
        self.finished.close();
    }

    /// Fails on a pair, which is counted.
    fn fail_with_pair(&self, error: LiveError) {
        self.fail(error);
        self.count_unfinished(1);
    }

    fn health(&self) -> Result<(), LiveError> {
        // Others may use the device too, and lose it.
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

    fn close_pools(&self) {
        self.outputs.close();
        self.tokens.close();
        self.inputs.iter().for_each(Pool::close);
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.formats.output, self.device)
    }
}

/// Stitches live video. Its methods may be called from any thread.
///
/// Dropping it gives up what is under way; [`close`](Self::close) it and read to the end for all.
#[derive(Debug)]
pub struct Stitcher {
    shared: Arc<Shared>,
    intake: Mutex<Intake>,
    /// When a frame came, or the stitcher was closed.
    moved: Condvar,
    /// Streams on which warps are made, beside those of the frames.
    aside: Mutex<Aside>,
    threads: Vec<JoinHandle<()>>,
}

/// Where frames come in.
#[derive(Debug)]
struct Intake {
    pairing: Pairing<FrameBuffer>,
    /// To the worker; none when the stitcher was closed.
    jobs: Option<SyncSender<Job>>,
}

#[derive(Debug)]
struct Aside {
    stream: Stream,
    /// Warps that were swapped out but may still be in use.
    retired: Vec<Arc<LiveWarp>>,
}

impl Stitcher {
    /// A stitcher of frames as large as the warp's sources. Allocates all memory for frames and panoramas
    /// that it will ever use.
    ///
    /// # Errors
    /// [`LiveError`].
    pub fn new(device: &Device, warp: DeviceWarp, options: LiveOptions) -> Result<Self, LiveError> {
        Self::start(device, warp, None, options)
    }

    /// As [`new`](Self::new), but what comes out are views of a virtual camera, of [`LiveOptions::size`] pixels or
    /// [`DEFAULT_SIZE`]. They are made straight from the frames; the warp, which is of
    /// the same geometry, says where colours are compared and where a seam goes.
    ///
    /// # Errors
    /// [`LiveError`].
    pub fn with_view(
        device: &Device,
        warp: DeviceWarp,
        camera: VirtualCamera,
        options: LiveOptions,
    ) -> Result<Self, LiveError> {
        Self::start(device, warp, Some(camera), options)
    }

    fn start(
        device: &Device,
        warp: DeviceWarp,
        camera: Option<VirtualCamera>,
        options: LiveOptions,
    ) -> Result<Self, LiveError> {
        if options.slots < 2 {
            return Err(LiveError::Options("fewer than 2 slots; use 4"));
        }
        if options.colour.every == 0 {
            return Err(LiveError::Options("a colour analysis every 0 frames; use 1 or more"));
        }
        options.stitch.check()?;
        let formats = Formats {
            inputs: warp.sources().map(|size| FrameFormat { size, pixels: options.input }),
            output: FrameFormat {
                size: options.size.unwrap_or(match camera {
                    Some(_) => DEFAULT_SIZE,
                    None => warp.size(),
                }),
                pixels: options.output,
            },
        };
        let (viewer, path) = camera.map(|camera| (camera.viewer, camera.path)).unzip();
        let stream = device.stream()?;
        let how = (options.blend, options.stitch.lookup);
        let warp = Arc::new(LiveWarp::new(&stream, warp, viewer, formats.output.size, how)?);
        stream.synchronize()?;
        // One more than panoramas: an analysis may hold on to a pair.
        let pairs = options.slots + 1;
        let inputs = |format| -> Result<_, DeviceError> {
            let buffer = |_| InputBuffer::new(device, format);
            (0..pairs).map(buffer).collect::<Result<_, _>>().map(Pool::new)
        };
        let output = |_| OutputBuffer::new(device, formats.output);
        let outputs = (0..options.slots).map(output).collect::<Result<_, _>>().map(Pool::new)?;
        let colour = options.colour;
        let current = Current { warp, stitch: options.stitch };
        // No channel is ever full: who sends holds a token, or an output buffer.
        let (finish, finished) = async_channel::bounded(options.slots);
        let (jobs, to_stitch) = mpsc::sync_channel(pairs);
        let (flights, flying) = mpsc::sync_channel(options.slots);
        let shared = Arc::new(Shared {
            device: device.clone(),
            formats,
            pace: options.pace,
            blend: options.blend,
            streams: Streams::new(device)?,
            inputs: [inputs(formats.inputs[0])?, inputs(formats.inputs[1])?],
            outputs,
            tokens: Pool::new(vec![(); pairs]),
            colour: Mutex::new(ColourState::new(
                colour.follow,
                options.blend.is_seam(),
                current.colours(),
            )),
            current: Mutex::new(current),
            tally: Mutex::default(),
            failure: Mutex::default(),
            finished,
            in_flight: AtomicUsize::new(0),
            readers: AtomicUsize::new(0),
            read: AtomicBool::new(false),
        });
        let worker = Worker {
            follower: Follower::new(&shared, colour)?,
            table: GammaTable::new(device)?,
            path,
            view: ViewPose::default(),
            view_stays: false,
            shared: Arc::clone(&shared),
            flights,
        };
        let pairing = Pairing::new(options.tolerance, options.slots - 1);
        let mut stitcher = Self {
            shared: Arc::clone(&shared),
            intake: Mutex::new(Intake { pairing, jobs: Some(jobs) }),
            moved: Condvar::new(),
            aside: Mutex::new(Aside { stream, retired: Vec::new() }),
            threads: Vec::new(),
        };
        // Dropping the stitcher on an error ends the threads that there are.
        let mut spawn = |name: &str, body: Box<dyn FnOnce() + Send>| -> Result<(), LiveError> {
            let thread = thread::Builder::new().name(name.to_owned()).spawn(body);
            stitcher.threads.push(thread.map_err(|e| LiveError::Thread(Arc::new(e)))?);
            Ok(())
        };
        spawn("panoweave-stitch", Box::new(move || worker.run(to_stitch)))?;
        spawn("panoweave-collect", Box::new(move || worker::collect(&shared, flying, finish)))?;
        Ok(stitcher)
    }

    /// Formats of the left and the right camera's frames.
    #[must_use]
    pub fn input_formats(&self) -> [FrameFormat; 2] {
        self.shared.formats.inputs
    }

    /// Format of the panoramas.
    #[must_use]
    pub fn output_format(&self) -> FrameFormat {
        self.shared.formats.output
    }

    /// The device that it runs on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// Submits a pair of frames in host memory: they are copied, and can be used again.
    ///
    /// Waits for a free buffer in [`Pace::Wait`], never in [`Pace::Live`].
    ///
    /// # Errors
    /// [`LiveError`].
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

    /// Room for a frame of `camera` in page-locked memory, to be filled and given to
    /// [`submit_filled`](Self::submit_filled) or [`push_filled`](Self::push_filled): no copy more than
    /// the one to the device. `None` in [`Pace::Live`] where all are in use; otherwise it waits.
    ///
    /// What was in it before is unspecified.
    ///
    /// # Errors
    /// A stitcher that was closed or has failed.
    pub fn buffer(&self, camera: Side) -> Result<Option<FrameBuffer>, LiveError> {
        let buffer = self.take(&self.shared.inputs[camera as usize])?;
        Ok(buffer.map(|buffer| FrameBuffer { buffer }))
    }

    /// Something of a pool, which is waited for as the pace says.
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

    /// Submits a pair of frames that were filled in place.
    ///
    /// # Errors
    /// [`LiveError`]; also a buffer of the other camera, or of another stitcher.
    pub fn submit_filled(
        &self,
        left: FrameBuffer,
        right: FrameBuffer,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        self.submit_pair([Input::Host(left.buffer), Input::Host(right.buffer)], timestamp)
    }

    /// Submits a pair of frames that lie on the device: nothing is copied. As many may be under way as of
    /// frames in host memory; otherwise they are dropped or waited for, as [`Pace`] says.
    ///
    /// # Errors
    /// [`LiveError`].
    pub fn submit_external(
        &self,
        left: ExternalFrame,
        right: ExternalFrame,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        self.submit_pair([Input::External(left), Input::External(right)], timestamp)
    }

    /// Takes a frame of one camera, which is copied, and stitches it when its partner is there.
    ///
    /// Each camera's frames come in the order of their timestamps. Partners are at most
    /// [`LiveOptions::tolerance`] apart. Frames without a partner are dropped and counted. In [`Pace::Wait`]
    /// a camera that is ahead waits for the other.
    ///
    /// # Errors
    /// [`LiveError`].
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
                alone(counters, camera);
                Ok(Submitted::Dropped)
            }
        }
    }

    /// As [`push`](Self::push), of a frame that was filled in place.
    ///
    /// # Errors
    /// [`LiveError`]; also a buffer of the other camera, or of another stitcher.
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
                alone(counters, *camera);
            }
        }
        match outcome.pair {
            Some((left, right, timestamp)) => match token {
                Some(token) => {
                    let (left, right) = (Input::Host(left.buffer), Input::Host(right.buffer));
                    let pair = Pair { left, right, _token: token };
                    // Pairs go out in the order in which they are found.
                    self.send(&intake, pair, timestamp, 0)
                }
                None => Ok(self.busy(0)),
            },
            None if outcome.waits => Ok(Submitted::Waiting),
            None => Ok(Submitted::Dropped),
        }
    }

    /// The intake, open, and room for a pair if there is any. In [`Pace::Wait`] there is, and the frame
    /// pushes out none that waits.
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

    /// The panoramas, from now on.
    #[must_use]
    pub fn panoramas(&self) -> StitchedFrames {
        self.shared.read.store(true, Release);
        StitchedFrames::new(Arc::clone(&self.shared))
    }

    /// Takes no more frames. Panoramas under way are finished, then the readers' loops end.
    pub fn close(&self) {
        let mut intake = lock(&self.intake);
        for (camera, _) in intake.pairing.clear() {
            alone(&mut self.shared.tally().counters, camera);
        }
        intake.jobs = None;
        self.moved.notify_all();
    }

    /// Stitches with another warp from the next frame on. The panorama's size stays.
    ///
    /// Makes what is needed of it before, beside the frames. Then waits until the former warp is out of
    /// use, to free it: for at most half a second, after which it is freed by a later call, or with the
    /// stitcher.
    ///
    /// # Errors
    /// A warp for other source sizes, a stitcher that makes views, or what the device says; the former stays
    /// then.
    pub fn swap_warp(&self, warp: DeviceWarp) -> Result<(), LiveError> {
        self.swap(warp, None)
    }

    /// As [`swap_warp`](Self::swap_warp), for a stitcher that makes views: with the cameras that the warp was made
    /// from.
    ///
    /// # Errors
    /// As [`swap_warp`](Self::swap_warp), for a stitcher that makes panoramas.
    pub fn swap_viewer(&self, warp: DeviceWarp, viewer: Viewer) -> Result<(), LiveError> {
        self.swap(warp, Some(viewer))
    }

    fn swap(&self, warp: DeviceWarp, viewer: Option<Viewer>) -> Result<(), LiveError> {
        self.check_open()?;
        if viewer.is_some() != self.shared.current().warp.viewer.is_some() {
            return Err(LiveError::Options(match viewer {
                Some(_) => "it makes panoramas and takes no viewer; use `swap_warp`",
                None => "it makes views and takes their cameras too; use `swap_viewer`",
            }));
        }
        let expected = self.shared.formats.inputs.map(|format| format.size);
        if warp.sources() != expected {
            return Err(LiveError::Sources { found: warp.sources(), expected });
        }
        let mut aside = lock(&self.aside);
        let how = (self.shared.blend, self.shared.current().stitch.lookup);
        let warp =
            LiveWarp::new(&aside.stream, warp, viewer, self.shared.formats.output.size, how)?;
        aside.stream.synchronize()?;
        let former = std::mem::replace(&mut lock(&self.shared.current).warp, Arc::new(warp));
        aside.retired.push(former);
        // Freed here, since freeing waits for the device, and the frames' threads have no time for that.
        let most = Instant::now() + Duration::from_millis(500);
        loop {
            aside.retired.retain(|warp| Arc::strong_count(warp) > 1);
            if aside.retired.is_empty() || Instant::now() > most {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Stitches with other options from the next frame on. Colours count only while they do not follow
    /// the light; if the correction has just been switched off, it fades to them.
    ///
    /// # Errors
    /// [`LiveError::Unusable`].
    pub fn set_options(&self, options: StitchOptions) -> Result<(), LiveError> {
        options.check()?;
        lock(&self.shared.current).stitch = options;
        Ok(())
    }

    /// Switches on or off, from the next frame on, that colours follow the light. Either begins at the
    /// colours that there are, and no level of the picture moves by more than one from frame to frame.
    /// Either also forgets the strikes that switched it off, and with it the search for better seams, which
    /// goes on again.
    pub fn follow_colour(&self, follow: bool) {
        self.shared.colour().switch(follow, self.shared.blend.is_seam());
    }

    /// How the colour correction stands, and whether better seams are looked for.
    #[must_use]
    pub fn colour(&self) -> ColourState {
        *self.shared.colour()
    }

    /// The weights that the last pair was stitched with, left and right, row by row: those of the warp, or of the
    /// seam where it stands. Waits for what is under way; while pairs are, which one is the last is not known.
    ///
    /// # Errors
    /// What the device says.
    #[track_caller]
    pub fn weights(&self) -> Result<[Vec<f32>; 2], LiveError> {
        let (current, stream) = (self.shared.current(), &self.shared.streams.compute);
        let seam = current.warp.seam.as_ref().map(lock);
        let warp = seam.as_ref().map_or(&current.warp.warp, |seam| seam.seamed());
        warp.await_ready(stream)?;
        let [left, right] =
            [Plane::WeightLeft, Plane::WeightRight].map(|plane| warp.plane(plane).download(stream));
        Ok([left?, right?])
    }

    /// What happened so far.
    #[must_use]
    pub fn counters(&self) -> LiveCounters {
        let (counters, latencies) = self.shared.tally().snapshot();
        counters.with_latencies(latencies)
    }

    /// Whether it works.
    ///
    /// It does as long as the device can be waited for. A pair that the device refuses several times costs
    /// only itself, and is counted in [`Dropped::failed`]: if that grows and
    /// [`panoramas`](LiveCounters::panoramas) do not, nothing comes out.
    ///
    /// # Errors
    /// Why it does not, for good: the device was lost, even waiting for it fails, or a thread of the
    /// stitcher's panicked.
    pub fn health(&self) -> Result<(), LiveError> {
        self.shared.health()
    }

    fn check_format(&self, camera: Side, found: FrameFormat) -> Result<(), LiveError> {
        let expected = self.shared.formats.inputs[camera as usize];
        if found == expected { Ok(()) } else { Err(LiveError::Format { camera, found, expected }) }
    }

    /// Checks what would have every attempt to stitch it fail.
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

    fn check_open(&self) -> Result<(), LiveError> {
        self.check_taking(&lock(&self.intake))
    }

    /// As `check_open`, which stays true while the intake is locked.
    fn check_taking(&self, intake: &Intake) -> Result<(), LiveError> {
        self.health()?;
        if intake.jobs.is_none() { Err(LiveError::Closed) } else { Ok(()) }
    }

    /// A pair that finds no room; so many of its frames have not been counted.
    fn busy(&self, frames_in: u64) -> Submitted {
        let counters = &mut self.shared.tally().counters;
        counters.frames_in += frames_in;
        counters.pairs += 1;
        counters.dropped.busy += 1;
        Submitted::Dropped
    }

    /// Checks a pair, and hands it to the worker as soon as there is room.
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

    /// Hands a pair to the worker; so many of its frames have not been counted.
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

/// Counts a frame without a partner.
fn alone(counters: &mut LiveCounters, camera: Side) {
    match camera {
        Side::Left => counters.dropped.left_alone += 1,
        Side::Right => counters.dropped.right_alone += 1,
    }
}

impl Drop for Stitcher {
    fn drop(&mut self) {
        self.close();
        self.shared.close_pools();
        for thread in self.threads.drain(..) {
            // A panic there was reported there.
            drop(thread.join());
        }
    }
}
