//! Live video: pairs of frames in, panoramas out, at the pace of the cameras and for hours.
//!
//! A [`Stitcher`] takes pairs of frames ([`submit`](Stitcher::submit)), or frames of either camera that
//! it pairs by timestamp ([`push`](Stitcher::push)), and returns at once; [`panoramas`](Stitcher::panoramas)
//! come out in order, to a loop, an `async` task or a callback. Warp and settings can be changed
//! between any two frames. Memory is allocated at the start and then never more; what cannot keep
//! pace is dropped and counted, or waited for, as [`Pace`] says. Colours of the two cameras follow
//! the light, unless told not to.
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
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use async_channel::Receiver;
use glam::UVec2;
use thiserror::Error;

pub use buffers::{ExternalFrame, FrameBuffer};
pub use counters::{Dropped, LiveCounters};
pub use follow::{Analysis, ColourState};
pub use pairing::Camera;
pub use panorama::{Panorama, Panoramas};

use crate::colour::{EVERY, GammaTable, Overlap, Summing};
use crate::device::{Device, DeviceError, Stream};
use crate::frame::{Frame, FrameFormat, PixelFormat};
use crate::seam::{Blend, SeamError};
use crate::stitch::{StitchError, StitchOptions};
use crate::warp::{DeviceWarp, RenderError};

use buffers::{Input, InputBuffer, OutputBuffer, Pair};
use counters::Tally;
use follow::Follower;
use pairing::Pairing;
use pool::Pool;
use seam::LiveSeam;
use worker::{Job, Streams, Worker};

/// What happens when frames come faster than panoramas can go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// For cameras: nobody waits. A pair that finds no buffer is dropped; of panoramas that the reader
    /// does not take, the oldest makes room for the newest.
    #[default]
    Live,
    /// For files: nothing is dropped. Whoever submits waits for a buffer, and so for the reader: read
    /// on another thread.
    Wait,
}

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
    /// The panorama's size, if it is not the warp's.
    pub size: Option<UVec2>,
    /// Flip, edge boost, how gamma is computed; and the colours where they do not follow the light.
    pub stitch: StitchOptions,
    /// Colour that follows the light.
    pub colour: ColourOptions,
    /// How the overlap is shown. A seam is looked at as often as colours are; see [`seam`](crate::seam).
    pub blend: Blend,
    /// What happens when frames come too fast.
    pub pace: Pace,
    /// Pairs under way at once, with memory for so many panoramas and a frame of each camera more; at
    /// least 2.
    pub slots: usize,
    /// How far apart the timestamps of a pair may be.
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
        camera: Camera,
        /// Its format.
        found: FrameFormat,
        /// The stitcher's.
        expected: FrameFormat,
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

/// A warp in use, with what was derived from it.
#[derive(Debug)]
struct LiveWarp {
    warp: DeviceWarp,
    overlap: Option<(Overlap, Mutex<Summing>)>,
    seam: Option<Mutex<LiveSeam>>,
}

impl LiveWarp {
    fn new(
        stream: &Stream,
        warp: DeviceWarp,
        size: UVec2,
        blend: Blend,
    ) -> Result<Self, LiveError> {
        warp.await_ready(stream)?;
        let warp = if warp.size() == size { warp } else { warp.resized(stream, size)? };
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
        Ok(Self { warp, overlap, seam })
    }
}

/// What the next frame is stitched with.
#[derive(Clone)]
struct Current {
    warp: Arc<LiveWarp>,
    stitch: StitchOptions,
    follow: bool,
    /// Counts how often following was switched on or off, so that switching on again is seen.
    follow_epoch: u64,
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
    current: Mutex<Current>,
    tally: Mutex<Tally>,
    colour: Mutex<ColourState>,
    failure: Mutex<Option<LiveError>>,
    /// Panoramas that nobody has read.
    finished: Receiver<Panorama>,
    in_flight: AtomicUsize,
    readers: AtomicUsize,
    /// Whether there ever was a reader.
    read: AtomicBool,
}

/// What nothing panics with cannot be poisoned.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    jobs: Mutex<Option<Sender<Job>>>,
    pairing: Mutex<Pairing<FrameBuffer>>,
    /// Streams on which warps are made, beside those of the frames.
    aside: Mutex<Aside>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Aside {
    stream: Stream,
    /// Warps that were swapped out but may still be in use.
    retired: Vec<Arc<LiveWarp>>,
}

impl Stitcher {
    /// A stitcher of frames as large as the warp's sources. Allocates all memory that it will ever use,
    /// but for warps.
    ///
    /// # Errors
    /// [`LiveError`].
    pub fn new(device: &Device, warp: DeviceWarp, options: LiveOptions) -> Result<Self, LiveError> {
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
                size: options.size.unwrap_or(warp.size()),
                pixels: options.output,
            },
        };
        let stream = device.stream()?;
        let warp = Arc::new(LiveWarp::new(&stream, warp, formats.output.size, options.blend)?);
        stream.synchronize()?;
        // One more than pairs under way: an analysis may hold on to one.
        let inputs = |format| -> Result<_, DeviceError> {
            let buffer = |_| InputBuffer::new(device, format);
            (0..options.slots + 1).map(buffer).collect::<Result<_, _>>().map(Pool::new)
        };
        let output = |_| OutputBuffer::new(device, formats.output);
        let outputs = (0..options.slots).map(output).collect::<Result<_, _>>().map(Pool::new)?;
        let colour = options.colour;
        let (finish, finished) = async_channel::unbounded();
        let shared = Arc::new(Shared {
            device: device.clone(),
            formats,
            pace: options.pace,
            blend: options.blend,
            streams: Streams::new(device)?,
            inputs: [inputs(formats.inputs[0])?, inputs(formats.inputs[1])?],
            outputs,
            current: Mutex::new(Current {
                warp,
                stitch: options.stitch,
                follow: colour.follow,
                follow_epoch: 1,
            }),
            tally: Mutex::default(),
            colour: Mutex::default(),
            failure: Mutex::default(),
            finished,
            in_flight: AtomicUsize::new(0),
            readers: AtomicUsize::new(0),
            read: AtomicBool::new(false),
        });
        let (jobs, pairs) = mpsc::channel();
        let (flights, flying) = mpsc::channel();
        let worker = Worker {
            follower: Follower::new(&shared, colour)?,
            table: GammaTable::new(device)?,
            shared: Arc::clone(&shared),
            flights,
        };
        let pairing = Mutex::new(Pairing::new(options.tolerance, options.slots - 1));
        let mut stitcher = Self {
            shared: Arc::clone(&shared),
            jobs: Mutex::new(Some(jobs)),
            pairing,
            aside: Mutex::new(Aside { stream, retired: Vec::new() }),
            threads: Vec::new(),
        };
        // Dropping the stitcher on an error ends the threads that there are.
        let mut spawn = |name: &str, body: Box<dyn FnOnce() + Send>| -> Result<(), LiveError> {
            let thread = thread::Builder::new().name(name.to_owned()).spawn(body);
            stitcher.threads.push(thread.map_err(|e| LiveError::Thread(Arc::new(e)))?);
            Ok(())
        };
        spawn("panoweave-stitch", Box::new(move || worker.run(pairs)))?;
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
        for (camera, frame) in Camera::ALL.into_iter().zip([&left, &right]) {
            self.check_format(camera, frame.format())?;
        }
        let (Some(mut a), Some(mut b)) = (self.buffer(Camera::Left)?, self.buffer(Camera::Right)?)
        else {
            return Ok(self.busy());
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
    pub fn buffer(&self, camera: Camera) -> Result<Option<FrameBuffer>, LiveError> {
        let pool = &self.shared.inputs[camera as usize];
        let mut waited = false;
        loop {
            if let Some(buffer) = pool.try_take() {
                return Ok(Some(FrameBuffer { buffer }));
            }
            self.check_open()?;
            if self.shared.pace == Pace::Live {
                return Ok(None);
            }
            if !waited {
                waited = true;
                self.shared.tally().counters.slot_waits += 1;
            }
            pool.wait(Duration::from_millis(100));
        }
    }

    /// Submits a pair of frames that were filled in place.
    ///
    /// # Errors
    /// [`LiveError`]; also a buffer of the other camera where sizes differ, or of another stitcher.
    pub fn submit_filled(
        &self,
        left: FrameBuffer,
        right: FrameBuffer,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        self.send([Input::Host(left.buffer), Input::Host(right.buffer)], timestamp, 2)
    }

    /// Submits a pair of frames that lie on the device: nothing is copied.
    ///
    /// # Errors
    /// [`LiveError`].
    pub fn submit_external(
        &self,
        left: ExternalFrame,
        right: ExternalFrame,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        self.send([Input::External(left), Input::External(right)], timestamp, 2)
    }

    /// Takes a frame of one camera, which is copied, and stitches it when its partner is there.
    ///
    /// Each camera's frames come in the order of their timestamps. Frames without a partner are dropped
    /// and counted.
    ///
    /// # Errors
    /// [`LiveError`].
    pub fn push(
        &self,
        camera: Camera,
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
    /// [`LiveError`].
    pub fn push_filled(
        &self,
        camera: Camera,
        buffer: FrameBuffer,
        timestamp: Duration,
    ) -> Result<Submitted, LiveError> {
        self.check_open()?;
        let mut pairing = lock(&self.pairing);
        let outcome = pairing.push(camera, timestamp, buffer);
        {
            let counters = &mut self.shared.tally().counters;
            counters.frames_in += 1;
            for (camera, _) in &outcome.alone {
                alone(counters, *camera);
            }
        }
        // Pairs go out in the order in which they are found.
        match outcome.pair {
            Some((left, right, timestamp)) => {
                self.send([Input::Host(left.buffer), Input::Host(right.buffer)], timestamp, 0)
            }
            None => Ok(Submitted::Waiting),
        }
    }

    /// The panoramas, from now on.
    #[must_use]
    pub fn panoramas(&self) -> Panoramas {
        self.shared.read.store(true, Release);
        Panoramas::new(Arc::clone(&self.shared))
    }

    /// Takes no more frames. Panoramas under way are finished, then the readers' loops end.
    pub fn close(&self) {
        for (camera, _) in lock(&self.pairing).clear() {
            alone(&mut self.shared.tally().counters, camera);
        }
        lock(&self.jobs).take();
    }

    /// Stitches with another warp from the next frame on. The panorama's size stays.
    ///
    /// Makes what is needed of it before, beside the frames, and waits until the former warp is out of
    /// use.
    ///
    /// # Errors
    /// A warp for other source sizes, or what the device says; the former stays then.
    pub fn swap_warp(&self, warp: DeviceWarp) -> Result<(), LiveError> {
        self.check_open()?;
        let expected = self.shared.formats.inputs.map(|format| format.size);
        if warp.sources() != expected {
            return Err(LiveError::Sources { found: warp.sources(), expected });
        }
        let mut aside = lock(&self.aside);
        let warp =
            LiveWarp::new(&aside.stream, warp, self.shared.formats.output.size, self.shared.blend)?;
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
    /// the light.
    ///
    /// # Errors
    /// [`LiveError::Unusable`].
    pub fn set_options(&self, options: StitchOptions) -> Result<(), LiveError> {
        options.check()?;
        lock(&self.shared.current).stitch = options;
        Ok(())
    }

    /// Switches on or off, from the next frame on, that colours follow the light. Switching on also
    /// forgets the strikes that switched it off.
    pub fn follow_colour(&self, follow: bool) {
        let mut current = lock(&self.shared.current);
        current.follow = follow;
        current.follow_epoch += 1;
    }

    /// How the colour correction stands.
    #[must_use]
    pub fn colour(&self) -> ColourState {
        *self.shared.colour()
    }

    /// What happened so far.
    #[must_use]
    pub fn counters(&self) -> LiveCounters {
        self.shared.tally().snapshot()
    }

    /// Whether it works.
    ///
    /// # Errors
    /// Why it does not, for good: the device was lost, or even waiting for it fails.
    pub fn health(&self) -> Result<(), LiveError> {
        self.shared.health()
    }

    fn check_format(&self, camera: Camera, found: FrameFormat) -> Result<(), LiveError> {
        let expected = self.shared.formats.inputs[camera as usize];
        if found == expected { Ok(()) } else { Err(LiveError::Format { camera, found, expected }) }
    }

    fn check_open(&self) -> Result<(), LiveError> {
        self.health()?;
        if lock(&self.jobs).is_none() { Err(LiveError::Closed) } else { Ok(()) }
    }

    /// A pair that finds no buffer.
    fn busy(&self) -> Submitted {
        let counters = &mut self.shared.tally().counters;
        counters.frames_in += 2;
        counters.pairs += 1;
        counters.dropped.busy += 1;
        Submitted::Dropped
    }

    /// Hands a pair to the worker; so many of its frames have not been counted.
    fn send(
        &self,
        inputs: [Input; 2],
        timestamp: Duration,
        frames_in: u64,
    ) -> Result<Submitted, LiveError> {
        for (camera, input) in Camera::ALL.into_iter().zip(&inputs) {
            self.check_format(camera, input.view().format())?;
        }
        self.health()?;
        let jobs = lock(&self.jobs);
        let Some(sender) = &*jobs else { return Err(LiveError::Closed) };
        {
            let counters = &mut self.shared.tally().counters;
            counters.frames_in += frames_in;
            counters.pairs += 1;
        }
        let [left, right] = inputs;
        let job = Job { pair: Pair { left, right }, timestamp, complete: Instant::now() };
        // The worker takes jobs until the stitcher is dropped.
        drop(sender.send(job));
        Ok(Submitted::Pair)
    }
}

/// Counts a frame without a partner.
fn alone(counters: &mut LiveCounters, camera: Camera) {
    match camera {
        Camera::Left => counters.dropped.left_alone += 1,
        Camera::Right => counters.dropped.right_alone += 1,
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
