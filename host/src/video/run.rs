//! From two sources through the engine to a sink.
//!
//! One thread reads pairs (`pairs`) and submits them, another takes the panoramas and writes them. The
//! panorama has the left camera's rate, or another that is asked for.
//!
//! A pair that the engine gives up leaves no hole: the next panorama stands in for it, so that pictures
//! and sound stay together.

use std::thread;
use std::time::{Duration, Instant};

use super::VideoStitchError;
use super::pairs::{Counts, Pairs};
use crate::device::Device;
use crate::frame::Rate;
use crate::frame::{DeviceFrame, FrameFormat};
use crate::io::video::{Stop, VideoError, VideoSink, VideoSource};
use crate::live::{ColourOptions, LiveCounters, LiveError, LiveOptions, Pace, Side, Stitcher};
use crate::ops::colour::{Colours, matched};
use crate::ops::seam::Blend;
use crate::ops::stitch::StitchOptions;
use crate::ops::view::VirtualCamera;
use crate::warp::DeviceWarp;

/// What to do.
#[derive(Clone, Debug, Default)]
pub struct VideoOptions {
    /// Flip, edge boost, how gamma is computed; and the colours where they do not follow the light.
    pub stitch: StitchOptions,
    /// Colour that follows the light.
    pub colour: ColourOptions,
    /// How the overlap is shown.
    pub blend: Blend,
    /// Shows what a virtual camera sees, in place of the panorama.
    pub camera: Option<VirtualCamera>,
    /// Panoramas a second, as the sink has them; the left video's frames if `None`.
    pub rate: Option<Rate>,
    /// At most so many panoramas.
    pub limit: Option<u64>,
}

/// How far a video is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Panoramas written.
    pub frames: u64,
    /// From submitting the last pair to its panorama.
    pub latency: Duration,
    /// How the last panorama's colours were corrected.
    pub colours: Colours,
}

/// What became of a video.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Frames read: left, right.
    pub read: [u64; 2],
    /// How many there are by the length of the videos, about; `None` of a pipe.
    pub expected: [Option<u64>; 2],
    /// The video that ended while the other went on.
    pub ended_first: Option<Side>,
    /// Panoramas written.
    pub written: u64,
    /// Of them, copies of the next one in place of those that could not be made.
    pub filled: u64,
    /// Frames left out, as they were nearest to no panorama: left, right.
    pub unpaired: [u64; 2],
    /// Pairs for which a frame was used once more: left, right.
    pub repeated: [u64; 2],
    /// From the first pair to the last panorama written.
    pub time: Duration,
    /// How the last panorama's colours were corrected.
    pub colours: Option<Colours>,
    /// What the engine counted: drops by reason, and latency.
    pub live: LiveCounters,
    /// An end was asked for before the videos ended.
    pub stopped: bool,
}

/// Stitches two videos, to panoramas or views of the sink's size.
///
/// `progress` is called after every panorama. If a source fails, what was stitched before is written and
/// the output closed properly, and then its error is returned. If the sink or the engine fails, the
/// sources' [`Stop`] is asked, since they may wait for a pipe.
///
/// # Errors
/// [`VideoStitchError`].
pub fn stitch_video(
    device: &Device,
    warp: DeviceWarp,
    mut sources: [VideoSource; 2],
    mut sink: VideoSink,
    options: &VideoOptions,
    mut progress: impl FnMut(&Progress),
) -> Result<Summary, VideoStitchError> {
    let expected = sources.each_ref().map(VideoSource::expected);
    let (output, camera) = (sink.format(), options.camera.as_ref());
    let Some(stitcher) = start(device, warp, &mut sources, options, output, camera)? else {
        return Ok(Summary { expected, stopped: true, ..Summary::default() });
    };
    let rate = options.rate.unwrap_or(sources[0].rate());
    let limit = options.limit.unwrap_or(u64::MAX);
    let stops = sources.each_ref().map(|source| source.stop().clone());
    let start = Instant::now();
    let (fed, written) = thread::scope(|scope| {
        let feed = || {
            let _close = Close(&stitcher);
            Pairs::new(sources, rate).submit_all(&stitcher, limit)
        };
        let feeder = thread::Builder::new().name("feed".into()).spawn_scoped(scope, feed);
        let feeder = feeder.map_err(VideoError::Thread)?;
        // The feeder may wait for a pipe that nothing comes from.
        let give_up = || {
            stitcher.close();
            stops.iter().for_each(Stop::ask);
        };
        let mut summary = Summary { expected, ..Summary::default() };
        let mut result = Ok(());
        for panorama in stitcher.panoramas() {
            if result.is_err() {
                // The engine is emptied, so that the feeder comes to its end.
                continue;
            }
            let gap = gap(rate, summary.written, panorama.timestamp());
            result = (0..=gap).try_for_each(|_| sink.write(&panorama.frame()));
            if result.is_err() {
                give_up();
                continue;
            }
            summary.written += gap + 1;
            summary.filled += gap;
            let (latency, colours) = (panorama.latency(), panorama.colours());
            summary.colours = Some(colours);
            progress(&Progress { frames: summary.written, latency, colours });
        }
        if stitcher.health().is_err() {
            give_up();
        }
        let fed = feeder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<_, VideoStitchError>((fed, result.map(|()| summary)))
    })?;
    let (Counts { read, unpaired, repeated, ended_first, stopped }, fed) = fed;
    let summary = written?;
    stitcher.health()?;
    let (time, live) = (start.elapsed(), stitcher.counters());
    if summary.filled > 0 {
        tracing::warn!("{} panoramas could not be made; the next stands in", summary.filled);
    }
    if summary.written > 0 {
        sink.finish()?;
    }
    fed?;
    Ok(Summary { read, unpaired, repeated, ended_first, stopped, time, live, ..summary })
}

/// The engine for two sources, whose first frames it waits for; `None` if an end was asked for before they
/// came.
pub(super) fn start(
    device: &Device,
    warp: DeviceWarp,
    sources: &mut [VideoSource; 2],
    options: &VideoOptions,
    output: FrameFormat,
    camera: Option<&VirtualCamera>,
) -> Result<Option<Stitcher>, VideoStitchError> {
    // The engine takes gigabytes for large frames.
    for source in &mut *sources {
        if !source.await_first()? {
            return Ok(None);
        }
    }
    let mut stitch = options.stitch;
    if options.colour.follow
        && let Some(Colours { left, right }) = first_colours(device, &warp, sources)?
    {
        (stitch.left, stitch.right) = (left, right);
    }
    let live = LiveOptions {
        input: sources[0].format().pixels,
        output: output.pixels,
        size: Some(output.size),
        stitch,
        colour: options.colour,
        blend: options.blend,
        pace: Pace::Wait,
        ..LiveOptions::default()
    };
    Ok(Some(match camera {
        Some(camera) => Stitcher::with_view(device, warp, camera.clone(), live)?,
        None => Stitcher::new(device, warp, live)?,
    }))
}

/// The colours that match the first frames: a video begins as it goes on.
fn first_colours(
    device: &Device,
    warp: &DeviceWarp,
    sources: &[VideoSource; 2],
) -> Result<Option<Colours>, VideoStitchError> {
    let stream = device.stream().map_err(LiveError::from)?;
    let upload = |source: &VideoSource| {
        let Some(frame) = source.first() else { return Ok(None) };
        let mut on_device = DeviceFrame::new(device, source.format()).map_err(LiveError::from)?;
        let frame = frame.map_err(VideoError::Pair)?;
        on_device.upload(&stream, &frame).map_err(LiveError::from)?;
        Ok::<_, VideoStitchError>(Some(on_device))
    };
    let (Some(left), Some(right)) = (upload(&sources[0])?, upload(&sources[1])?) else {
        return Ok(None);
    };
    Ok(matched(&stream, left.view(), right.view(), warp).map_err(LiveError::from)?)
}

/// How many panoramas are missing before the one of this time, if so many are written.
fn gap(rate: Rate, written: u64, time: Duration) -> u64 {
    (written..).take_while(|n| rate.time(*n) < time).count() as u64
}

/// Ends the panoramas when the feeder ends, however it does.
struct Close<'a>(&'a Stitcher);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_by_time() {
        let rate: Rate = "30000/1001".parse().unwrap();
        for n in [0, 1, 29, 1_000_000, 123_456_789] {
            for missing in 0..4 {
                assert_eq!(gap(rate, n, rate.time(n + missing)), missing, "{n}");
            }
        }
    }
}
