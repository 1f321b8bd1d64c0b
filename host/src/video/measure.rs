//! Stitches videos one set of frames at a time, so that a program can measure each panorama together with the
//! camera frames and the blending weights that it was made from.
//!
//! Uses the same stitcher and options as [`stitch_video`](super::stitch_video), so colours and seams change in the same
//! way. However, a set is submitted only after the previous panorama was processed. So the panorama, the frames and
//! the weights belong to the same set.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use futures_core::Stream as _;

use super::feeds::Feeds;
use super::run::start;
use super::{VideoOptions, VideoStitchError};
use crate::device::Device;
use crate::frame::{Frame, Rate};
use crate::io::video::{VideoError, VideoSource};
use crate::live::{LiveError, Output, Session, StitchedFrame, StitchedFrames};
use crate::warp::DeviceWarp;

/// The time between two polls for a finished panorama.
const LOOK: Duration = Duration::from_millis(1);

/// A panorama, with the frames and the weights that it was made from.
pub struct Stitched<'a> {
    /// The panorama's number, from 0.
    pub number: u64,
    /// The panorama, in the first video's pixel format.
    pub panorama: &'a StitchedFrame,
    /// The cameras' frames.
    pub cameras: Vec<Frame<'a>>,
    stitcher: &'a Session,
}

impl Stitched<'_> {
    /// Returns the blending weights of each camera for this panorama, row by row. With seam blending,
    /// these are the weights of the current seam; otherwise, they are the weights of the warp.
    pub fn weights(&self) -> Result<Vec<Vec<f32>>, LiveError> {
        self.stitcher.weights()
    }
}

/// Stitches the videos of the cameras and passes each panorama to `each`. Returns the number of panoramas.
///
/// # Errors
/// Returns the error of `each`, or [`VideoStitchError`].
pub fn stitch_each<E: From<VideoStitchError>>(
    device: &Device,
    warp: DeviceWarp,
    mut sources: Vec<VideoSource>,
    options: &VideoOptions,
    mut each: impl FnMut(&Stitched<'_>) -> Result<(), E>,
) -> Result<u64, E> {
    let Some(first) = sources.first() else { return Ok(0) };
    let output = Output::panorama(first.format().pixels);
    let rate = options.rate.unwrap_or(first.rate());
    let Some(stitcher) = start(device, warp.into(), &mut sources, options, &[output])? else {
        return Ok(0);
    };
    let mut panoramas = stitcher.panoramas();
    let mut feeds = Feeds::new(sources, &options.offsets, rate);
    let mut number = 0;
    for n in 0..options.limit.unwrap_or(u64::MAX) {
        let Some(cameras) = feeds.frames(n).map_err(VideoStitchError::Video)? else {
            // Call `ended_first` only for the warning that it logs.
            feeds.ended_first(n);
            break;
        };
        stitcher.submit(&cameras, rate.time(n)).map_err(VideoStitchError::Live)?;
        // A dropped set has no panorama. As in `stitch_video`, stitching continues with the next set.
        if let Some(panorama) = next(&stitcher, &mut panoramas, n - number)? {
            let panorama = &panorama;
            each(&Stitched { number, panorama, cameras, stitcher: &stitcher })?;
            number += 1;
        }
    }
    stitcher.health().map_err(VideoStitchError::Live)?;
    Ok(number)
}

/// Selects the frames of the videos for panoramas at `rate`. Passes every `every`-th of the first `limit` sets to
/// `each`, with its number.
///
/// # Errors
/// Returns the error of `each`, or [`VideoError`].
pub fn for_each_set<E: From<VideoError>>(
    sources: Vec<VideoSource>,
    rate: Rate,
    every: u64,
    limit: u64,
    mut each: impl FnMut(u64, &[Frame<'_>]) -> Result<(), E>,
) -> Result<(), E> {
    let mut feeds = Feeds::new(sources, &[], rate);
    let mut n = 0;
    while n < limit {
        let Some(cameras) = feeds.frames(n)? else {
            // Call `ended_first` only for the warning that it logs.
            feeds.ended_first(n);
            break;
        };
        each(n, &cameras)?;
        n += every.max(1);
    }
    Ok(())
}

/// Waits for the panorama of the only set in flight. Returns `None` if the stitcher drops this set. `given_up` is the
/// number of sets that the stitcher had dropped before this set was submitted.
fn next(
    stitcher: &Session,
    panoramas: &mut StitchedFrames,
    given_up: u64,
) -> Result<Option<StitchedFrame>, VideoStitchError> {
    let mut context = Context::from_waker(Waker::noop());
    loop {
        let dropped = stitcher.counters().dropped.failed > given_up;
        match Pin::new(&mut *panoramas).poll_next(&mut context) {
            Poll::Ready(Some(panorama)) => return Ok(Some(panorama)),
            Poll::Ready(None) => {
                stitcher.health()?;
                return Err(LiveError::Closed.into());
            }
            Poll::Pending if dropped => return Ok(None),
            Poll::Pending => thread::sleep(LOOK),
        }
    }
}
