//! Live stitching: stitches the frames of 1 to 16 cameras to panoramas at the frame rate of the cameras.
//!
//! A [`Session`] accepts sets with one frame of each camera ([`submit`](Session::submit)), or single frames that it
//! combines to sets by timestamp ([`push`](Session::push)). It stitches on its own threads, and makes one or more
//! [`Output`]s from each set. [`panoramas`](Session::panoramas) delivers them in order to a loop or an `async` task.
//! If frames arrive faster than the device can stitch them or the caller reads the panoramas, the session either drops
//! and counts frames, or blocks the caller ([`Pace`]). Colour correction tracks changes in lighting unless it is
//! switched off. With [`LiveOptions::failure`], the panorama goes on if a camera fails.
//!
//! Any thread may change these settings at any time. They apply from the next set on:
//!
//! | control | changes | prepared |
//! |---|---|---|
//! | [`steer`](Session::steer) | the pose of a view | |
//! | [`set_options`](Session::set_options) | flip, manual colours, lookup | |
//! | [`follow_colour`](Session::follow_colour) | whether colours are tracked | |
//! | [`swap`](Session::swap) | the warp and the viewer | in parallel with the stitch |
//! | [`set_blend`](Session::set_blend) | the blending | in parallel with the stitch |
//! | [`set_masks`](Session::set_masks) | the parts of the cameras' pictures that are used | in parallel with the stitch |
//!
//! All buffers are allocated at the start and reused. The exceptions are allocated when they are first used: the
//! page-locked memory for frames that are copied, the table of
//! [`GammaTable`](crate::ops::stitch::Lookup::GammaTable), the sums if
//! [`Auto`](crate::ops::stitch::Lookup::Auto) changes from a mesh to planes, and the mesh or the sums for a lookup that
//! [`set_options`](Session::set_options) selects later.
//!
//! # States
//!
//! | state | `submit`, `push` | `close` | fatal error, panic of a thread | last reader dropped | drop |
//! |---|---|---|---|---|---|
//! | open | stitch | closed | failed | abandoned | closed, ended |
//! | abandoned | stitch; unread panoramas are discarded | closed | failed | | closed, ended |
//! | closed | [`LiveError::Closed`]; sets in flight are finished, then the readers end | | failed | | ended |
//! | failed | the first error; sets in flight are counted as lost, and the readers end | | | | ended |
//! | ended | | | | | |
//!
//! A new reader returns an abandoned session to open. A session is closed if `Intake::jobs` is `None`, failed if
//! `Shared::failure` is set (`Shared::fail`, which [`health`](Session::health) calls for a device that other code has
//! lost), abandoned by `Shared::is_abandoned`, and ended after its `Drop`. What ends a set without a panorama is counted
//! in [`Dropped`].
//!
//! # Time
//!
//! Frames are combined, cameras fail and analyses time out by the timestamps of the frames or by numbers of sets. So a
//! session stitches files as fast as they are read, cameras by their clock, and tests by hand. The clock is read only to
//! measure latencies (`intake`, `worker`), to limit how long a call blocks (`readers`, `pool`, `Session::replace`), and
//! for a log message (`prepare`).
//!
//! | file | contents |
//! |---|---|
//! | `intake` | checks frames, combines them to sets, sends the sets to the worker |
//! | `pairing` | combines frames by timestamp |
//! | `worker` | the two threads: submits sets, repeats failed submissions, collects panoramas |
//! | `follow`, `colour_state` | colour analysis and seam search, and their failures |
//! | `live_warp`, `weights` | the warp in use, with its masks; its weights with seams and without absent cameras |
//! | `cameras`, `failure` | cameras that fail: states, fades, options, events and figures |
//! | `options`, `input_formats`, `outputs` | options, the pixel formats of the cameras, and what is made from a set |
//! | `buffers`, `pool` | buffers and their reuse |
//! | `panorama`, `readers` | finished panoramas and their readers |
//! | `counters` | counters and latencies |
//! | `shared` | state shared by the threads |
//!
//! This module does not decode, encode or access cameras. [`video`](crate::video) reads and writes files and pipes.

mod buffers;
mod cameras;
mod colour_state;
mod counters;
mod error;
mod failure;
mod follow;
mod input_formats;
mod intake;
mod live_warp;
mod options;
mod outputs;
mod pairing;
mod panorama;
mod readers;
mod shared;
mod weights;
mod worker;

use std::sync::atomic::Ordering::Release;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use shared_types::Rgba8;

pub use buffers::{CameraFrame, ExternalFrame};
pub use colour_state::{Analysis, ColourState, OverlapSums};
pub use counters::{CameraCounters, Dropped, LiveCounters};
pub use error::LiveError;
pub use failure::{CameraEvent, CameraHealth, CameraState, FailureOptions};
pub use input_formats::InputFormats;
pub use intake::Submitted;
pub use live_warp::LiveRig;
pub use options::{ColourOptions, LiveOptions, Pace};
pub use outputs::{Output, OutputKind};
pub use panorama::{OutputFrame, StitchedFrame};
pub use readers::StitchedFrames;

use crate::device::{Device, DeviceError, Stream};
use crate::frame::FrameFormat;
use crate::io::picture::{Mask, Picture};
use crate::lock::lock;
use crate::ops::blend::Blend;
use crate::ops::stitch::StitchOptions;
use crate::ops::view::ViewPath;
use crate::warp::Plane;

use intake::Intake;
use live_warp::{FrameSettings, LiveWarp, Recipe};
use outputs::Formats;
use shared::Shared;
use worker::Worker;

/// A session for live video. Any thread may call its methods.
///
/// A method returns [`LiveError`] and changes nothing if an argument does not fit the session, for instance a frame of
/// another format or a warp for pictures of another size. It also does so after the session was closed or has failed.
///
/// Dropping the session discards the sets in flight. To receive all panoramas, call [`close`](Self::close) and read
/// until the reader ends before you drop the session.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    intake: Mutex<Intake>,
    /// The stream on which a new warp is prepared in parallel with the stitching, and replaced warps that frames in
    /// flight may still use. Locked while a call replaces the warp.
    swap: Mutex<(Stream, Vec<Arc<LiveWarp>>)>,
    threads: Vec<JoinHandle<()>>,
}

/// Compiles the kernels that a session first launches while panoramas are already shown, such as those that search for
/// a seam, so that no panorama waits for the driver.
#[track_caller]
fn prepare(device: &Device, options: &LiveOptions, formats: &Formats) -> Result<(), DeviceError> {
    let unused: Vec<_> = ["rgba8", "nv12", "p010", "rgba16"]
        .into_iter()
        .filter(|name| formats.all().all(|format| format.pixels.kernel_name() != *name))
        .collect();
    let is_wanted = |kernel: &str| {
        let begins = |system: &str| kernel.starts_with(system);
        let is_used = begins("colour_sums")
            || options.blend.mode().kernels().iter().any(|&system| begins(system))
            || options.failure.is_some()
                && (["sample_pictures", "warp_fade", "mesh_weigh"].into_iter().any(begins)
                    || kernel.contains("mixed"));
        is_used && !unused.iter().any(|format| kernel.contains(format))
    };
    let (start, mut told) = (Instant::now(), false);
    device.prepare(is_wanted, |kernel| {
        if !told && start.elapsed() > Duration::from_secs(1) {
            told = true;
            tracing::info!("compiling kernels such as `{kernel}` for this GPU; the driver keeps them for the next start");
        }
    })
}

impl Session {
    /// Creates a session for frames of the warp's source sizes, which makes `outputs` from each set in this order.
    /// Allocates its buffers. `rig` is a [`DeviceWarp`](crate::warp::DeviceWarp), or a
    /// warp with a [`Viewer`](crate::ops::view::Viewer) for views.
    pub fn new(
        device: &Device,
        rig: impl Into<LiveRig>,
        outputs: &[Output],
        options: LiveOptions,
    ) -> Result<Self, LiveError> {
        let rig = rig.into();
        let cameras = rig.warp.sources().len();
        options.check(cameras)?;
        let formats = Formats::new(options.input.of(cameras)?, outputs, &rig.warp)?;
        prepare(device, &options, &formats)?;
        let stream = device.stream()?;
        let recipe = Recipe::new(&stream, rig, options.blend, &formats)?;
        let warp = Arc::new(LiveWarp::new(&stream, recipe, &options, &formats, None)?);
        stream.synchronize()?;
        // Sending to one of these channels never blocks: each item in a channel holds a token or an output buffer, and
        // the channel has room for as many items as there are tokens or output buffers.
        let (finish, finished) = async_channel::bounded(options.slots);
        let (jobs, to_stitch) = mpsc::sync_channel(options.sets());
        let (flights, flying) = mpsc::sync_channel(options.slots);
        let outputs = outputs.iter().map(|output| output.kind.clone()).collect();
        let current = FrameSettings { warp, stitch: options.stitch, outputs };
        let shared = Arc::new(Shared::new(device, &options, formats, current, finished)?);
        let worker = Worker::new(&shared, flights)?;
        let intake = Intake::new(&shared, &options, jobs);
        let mut session = Self {
            shared: Arc::clone(&shared),
            intake: Mutex::new(intake),
            swap: Mutex::new((stream, Vec::new())),
            threads: Vec::new(),
        };
        // If a thread cannot be started, the error return drops `session`, which ends the threads that are already
        // running.
        let mut spawn = |name: &str, body: Box<dyn FnOnce() + Send>| -> Result<(), LiveError> {
            let thread = thread::Builder::new().name(name.to_owned()).spawn(body);
            session.threads.push(thread.map_err(|e| LiveError::Thread(Arc::new(e)))?);
            Ok(())
        };
        spawn("panoweave-stitch", Box::new(move || worker.run(to_stitch)))?;
        spawn("panoweave-collect", Box::new(move || worker::collect(&shared, flying, finish)))?;
        Ok(session)
    }

    /// Returns the formats of the cameras' frames.
    #[must_use]
    pub fn input_formats(&self) -> &[FrameFormat] {
        &self.shared.formats.inputs
    }

    /// Returns the format of the first output.
    #[must_use]
    pub fn output_format(&self) -> FrameFormat {
        self.shared.formats.outputs[0]
    }

    /// Replaces the pose of a view over time from the next set on. `output` counts all outputs from 0.
    pub fn steer(&self, output: usize, path: impl Into<ViewPath>) -> Result<(), LiveError> {
        match lock(&self.shared.current).outputs.get_mut(output) {
            Some(OutputKind::View(current)) => *current = path.into(),
            _ => return Err(LiveError::Invalid(format!("output {output} is no view"))),
        }
        Ok(())
    }

    /// Returns the device on which the session runs.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// Returns a reader of the panoramas. If there are several readers, each panorama is delivered to exactly one of
    /// them.
    #[must_use]
    pub fn panoramas(&self) -> StitchedFrames {
        self.shared.read.store(true, Release);
        StitchedFrames::new(self.shared.finished.clone())
    }

    /// Replaces the warp, and the viewer if there are views, from the next frame on. The panorama keeps its size.
    ///
    /// The new warp is prepared in parallel with the stitching. The call then waits at most half a second until no
    /// frame uses the old warp, and frees it. If the old warp is still in use, a later call or the drop of the session
    /// frees it.
    pub fn swap(&self, rig: impl Into<LiveRig>) -> Result<(), LiveError> {
        self.replace(|stream, recipe| recipe.swap(stream, rig.into(), &self.shared.formats))
    }

    /// Replaces the blending from the next frame on. It is prepared like a new warp by [`swap`](Self::swap), and
    /// resumes the seam search if failures have switched it off.
    pub fn set_blend(&self, blend: Blend) -> Result<(), LiveError> {
        self.replace(|_, recipe| {
            recipe.blend = blend;
            Ok(())
        })?;
        self.follow_colour(self.colour().following);
        Ok(())
    }

    /// Replaces the masks of the cameras from the next frame on. A camera is not used where its mask is darker than
    /// half. There is one element per camera, `None` for a camera that is used everywhere. The masks are prepared like
    /// a new warp by [`swap`](Self::swap), and stay if the warp is swapped.
    pub fn set_masks(&self, masks: &[Option<&Picture>]) -> Result<(), LiveError> {
        let inputs = &self.shared.formats.inputs;
        let of = |(mask, input): (&Option<&Picture>, &FrameFormat)| {
            let Some(mask) = mask else { return Some(None) };
            let mut used = Picture::filled(input.size.x, input.size.y, Rgba8::opaque(0, 0, 0));
            used.mask(mask).then(|| Mask::of(&used))
        };
        let made: Option<Vec<_>> = masks.iter().zip(inputs).map(of).collect();
        let made = made.filter(|_| masks.len() == inputs.len()).ok_or_else(|| {
            LiveError::invalid("pass one mask per camera, each in the size of the camera's frames")
        })?;
        self.replace(|_, recipe| {
            recipe.masks = made.into();
            Ok(())
        })
    }

    /// Prepares a warp from a changed recipe while the stitch goes on, and replaces the current one by it.
    fn replace(
        &self,
        change: impl FnOnce(&Stream, &mut Recipe) -> Result<(), LiveError>,
    ) -> Result<(), LiveError> {
        self.check_open()?;
        let mut swap = lock(&self.swap);
        let (stream, retired) = &mut *swap;
        let FrameSettings { warp: former, stitch, .. } = self.shared.current();
        let mut recipe = former.recipe.clone();
        change(stream, &mut recipe)?;
        let Shared { device, formats, options, .. } = &*self.shared;
        let options = LiveOptions { stitch, blend: recipe.blend, ..*options };
        prepare(device, &options, formats)?;
        let mut warp = LiveWarp::new(stream, recipe, &options, formats, Some(&former))?;
        stream.synchronize()?;
        warp.take_over(stream, &former)?;
        drop(former);
        retired.push(std::mem::replace(&mut lock(&self.shared.current).warp, Arc::new(warp)));
        // Freeing device memory waits for the device, so it must not happen on the threads that process frames.
        let deadline = Instant::now() + Duration::from_millis(500);
        loop {
            retired.retain(|warp| Arc::strong_count(warp) > 1);
            if retired.is_empty() || Instant::now() > deadline {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Replaces the options from the next frame on. The colours in `options` apply only while colour correction is
    /// switched off. After colour correction is switched off, the current colours fade to the colours in `options`. The
    /// covers in `options` have no effect; see [`LiveOptions::stitch`].
    pub fn set_options(&self, options: StitchOptions) -> Result<(), LiveError> {
        options.check(self.shared.cameras())?;
        self.shared.formats.uses_mesh(&self.shared.options, options)?;
        lock(&self.shared.current).stitch = options;
        Ok(())
    }

    /// Switches colour correction on or off from the next frame on. The colours change from their current values in
    /// small steps: for the same input level, the output level changes by at most one level per frame.
    ///
    /// The call also resets [`ColourState::strikes`], and resumes the seam search if failures have switched it off.
    pub fn follow_colour(&self, follow: bool) {
        self.shared.colour().switch(follow);
    }

    /// Returns the state of the colour correction and of the seam search.
    #[must_use]
    pub fn colour(&self) -> ColourState {
        self.shared.colour().clone()
    }

    /// Returns the blending weights of each camera for the last set of frames, row by row. The weights include the seam
    /// and the presences of cameras that fail. Views without a seam use them only while a camera is absent. Waits until
    /// the sets in flight are stitched. If frames arrive during the call, it is unspecified to which set the weights
    /// belong. In a panorama of another size than the warp, the weights of a pixel at the border of a camera may have
    /// another sum than 1. The panorama is neither darker nor brighter there.
    #[track_caller]
    pub fn weights(&self) -> Result<Vec<Vec<f32>>, LiveError> {
        let (current, stream) = (self.shared.current(), &self.shared.streams.compute);
        let weights = current.warp.weights.as_ref().map(lock);
        let warp = weights.as_ref().map_or(&*current.warp.warp, |weights| weights.warp());
        warp.await_ready(stream)?;
        let weights = (0..warp.sources().len()).map(Plane::Weight);
        Ok(weights.map(|plane| warp.plane(plane).download(stream)).collect::<Result<_, _>>()?)
    }

    /// Returns the state and the figures of each camera. The list is empty if [`LiveOptions::failure`] is `None`.
    #[must_use]
    pub fn cameras(&self) -> Vec<CameraHealth> {
        self.shared.with_cameras(|cameras| cameras.health()).unwrap_or_default()
    }

    /// Returns the changes of the cameras' states since the last call, oldest first. If more than 256 changes are not
    /// read, the oldest are lost. There are none if [`LiveOptions::failure`] is `None`.
    #[must_use]
    pub fn camera_events(&self) -> Vec<CameraEvent> {
        self.shared.with_cameras(|cameras| cameras.take_events()).unwrap_or_default()
    }

    /// Checks that the session has not failed.
    ///
    /// A set that the device rejects several times is dropped and counted in [`Dropped::failed`], and the session
    /// continues. Therefore watch the counters, too: if [`Dropped::failed`] grows and [`LiveCounters::panoramas`] does
    /// not, the session produces no output, although this method returns no error.
    ///
    /// # Errors
    /// Returns [`LiveError`] if the session has failed permanently: the device was lost, a wait for the device
    /// failed, or a thread of the session panicked.
    pub fn health(&self) -> Result<(), LiveError> {
        self.shared.health()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close();
        self.shared.close_pools();
        // If one of these threads drops the last owner of the session, it cannot wait for itself, nor for the other
        // thread, which may wait for it. Both end after this.
        let current = thread::current().id();
        if self.threads.iter().any(|thread| thread.thread().id() == current) {
            return;
        }
        for thread in self.threads.drain(..) {
            // Ignore the result, because a panic of the thread was already reported.
            drop(thread.join());
        }
    }
}
