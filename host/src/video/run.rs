//! Stitches the videos of the cameras into one: connects the sources, the live stitcher and a sink.
//!
//! One thread reads sets of frames (`feeds`) and submits them. The calling thread receives the panoramas and writes
//! them. The output has the first video's rate unless [`VideoOptions::rate`] sets another.
//!
//! If the stitcher drops a set, the next panorama is also written in the place of the missing one, so that pictures
//! and sound stay in sync.

use std::thread;
use std::time::{Duration, Instant};

use super::feeds::{Counts, Feeds};
use super::{Offset, VideoStitchError};
use crate::device::Device;
use crate::frame::{FrameFormat, FrameRef, Rate};
use crate::io::video::{Stop, VideoError, VideoFrame, VideoSink, VideoSource};
use crate::live::{
    ColourOptions, InputFormats, LiveCounters, LiveError, LiveOptions, LiveRig, Output, Pace,
    Session, StitchedFrame,
};
use crate::ops::blend::Blend;
use crate::ops::colour::{Colours, matched};
use crate::ops::refine::{RefineOptions, WarpRefiner};
use crate::ops::stitch::{StitchOptions, Vignettes};
use crate::ops::view::ViewPath;
use crate::warp::DeviceWarp;

/// Options of stitching videos.
#[derive(Clone, Debug, Default)]
pub struct VideoOptions {
    /// The stitch options, such as flip and lookup. If `colour.follow` is off, their colour corrections always apply.
    /// Otherwise, they apply only until the stitcher has matched the colours of a set of frames.
    pub stitch: StitchOptions,
    /// The options for the colour correction, which tracks changes in lighting. [`ColourOptions::at_rate`] returns
    /// those for the rate of a video.
    pub colour: ColourOptions,
    /// The kind of blending in the overlaps.
    pub blend: Blend,
    /// How to move the pictures in their overlaps once per second so that near objects fit together, or `None` to leave
    /// them as the warp places them. Views do not use the warp, so they do not change.
    pub refine: Option<RefineOptions>,
    /// The number of panoramas per second, which must equal the sink's rate. `None` selects the first video's rate.
    pub rate: Option<Rate>,
    /// The offset of each video. Videos without an element start together with the first one, and elements without a
    /// video have no effect. If another video starts later than the first one, the first panorama is at
    /// [`Offset::start`].
    pub offsets: Vec<Offset>,
    /// The number of panoramas at the beginning that are stitched but not written, so that colours and seams settle.
    pub skip: u64,
    /// The maximum number of panoramas, with those that are skipped; `None` for no limit.
    pub limit: Option<u64>,
}

/// The progress of [`stitch_video`].
#[derive(Clone, Debug)]
pub struct Progress {
    /// The number of panoramas written.
    pub frames: u64,
    /// The time from the submission of the latest panorama's frames until the panorama was finished.
    pub latency: Duration,
    /// The colour corrections of the latest panorama.
    pub colours: Colours,
}

/// The result of stitching videos.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The number of frames read from each video.
    pub read: Vec<u64>,
    /// Approximate number of frames according to the stated length of each video; `None` for a pipe.
    pub expected: Vec<Option<u64>>,
    /// The index of the video that ended before all others; `None` if several ended together or a stop was requested.
    pub ended_first: Option<usize>,
    /// The number of panoramas written.
    pub written: u64,
    /// The number of written panoramas that are copies of the next one, because the stitcher dropped their own set of
    /// frames.
    pub filled: u64,
    /// The number of frames of each video that were skipped, because they are not the nearest frame of any panorama.
    pub unpaired: Vec<u64>,
    /// The number of sets that use the same frame of a video as the previous set, for each video.
    pub repeated: Vec<u64>,
    /// The time from the first set to the last written panorama.
    pub time: Duration,
    /// The time that each stage took.
    pub stages: StageTimes,
    /// The colour corrections of the latest panorama.
    pub colours: Option<Colours>,
    /// Counters of the stitcher: drops by reason, and latency.
    pub live: LiveCounters,
    /// Whether a stop was requested before the videos ended.
    pub stopped: bool,
}

/// The total times of the stages of stitching videos. The stages run at the same time, so the slowest one sets the
/// rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// The time of waiting for frames of the videos: what decoding takes beyond the other stages.
    pub read: Duration,
    /// The time of submitting sets of frames to the device. On the CPU, this computes the panoramas; on a GPU, it is
    /// the work of the host alone.
    pub stitch: Duration,
    /// The time of writing panoramas, which waits for the encoder.
    pub write: Duration,
}

impl StageTimes {
    /// Returns a text with the mean time of each stage per panorama.
    fn per_panorama(&self, panoramas: u64) -> String {
        let mean = |time: Duration| time.as_secs_f64() * 1e3 / panoramas.max(1) as f64;
        format!(
            "per panorama: waited {:.1} ms for frames, stitched {:.1} ms, waited {:.1} ms for the encoder",
            mean(self.read),
            mean(self.stitch),
            mean(self.write)
        )
    }
}

/// Stitches one video per camera of the warp, and writes an output to each of the `sinks`, at the sink's picture size:
/// the panorama, or the view along a path. Views need a rig with a viewer.
///
/// Calls `progress` after every panorama. If a source or the session fails, the panoramas so far are written and the
/// outputs are closed before [`VideoStitchError::Incomplete`] is returned. So they replace older files with the names of
/// the outputs. If a sink or the session fails, the sources' [`Stop`] is set, because a source may be blocked while it
/// waits for data from a pipe.
///
/// # Errors
/// Returns [`VideoStitchError`] if a source, a sink or the session fails.
pub fn stitch_video(
    device: &Device,
    rig: impl Into<LiveRig>,
    mut sources: Vec<VideoSource>,
    sinks: Vec<(VideoSink, Option<ViewPath>)>,
    options: &VideoOptions,
    mut progress: impl FnMut(&Progress),
) -> Result<Summary, VideoStitchError> {
    let rig = rig.into();
    let expected: Vec<_> = sources.iter().map(VideoSource::expected).collect();
    let Some(rate) = options.rate.or(sources.first().map(VideoSource::rate)) else {
        return Err(LiveError::cameras(0, rig.warp.sources().len()).into());
    };
    let refiner = |refine| {
        let stream = device.stream()?;
        let refiner = WarpRefiner::new(&stream, &rig.warp, refine)?;
        Ok::<_, LiveError>((stream, refiner))
    };
    let refiner = options.refine.map(refiner).transpose()?;
    let output = |(sink, path): &(VideoSink, Option<ViewPath>)| {
        let FrameFormat { size, pixels } = sink.format();
        match path {
            Some(path) => Output::view(pixels, size, path.clone()),
            None => Output::panorama(pixels).sized(size),
        }
    };
    let outputs: Vec<_> = sinks.iter().map(output).collect();
    let Some(session) = start(device, rig, &mut sources, options, &outputs)? else {
        return Ok(Summary { expected, stopped: true, ..Summary::default() });
    };
    let limit = options.limit.unwrap_or(u64::MAX);
    let stops: Vec<_> = sources.iter().map(|source| source.stop().clone()).collect();
    let sinks = sinks.into_iter().map(|(sink, _)| sink).collect();
    let summary = Summary { expected, ..Summary::default() };
    let mut writing = Writing { sinks, rate, skip: options.skip, summary };
    let start = Instant::now();
    let (fed, written) = thread::scope(|scope| {
        let feed = || {
            let _close = Close(&session);
            Feeds::new(sources, &options.offsets, rate).submit_all(&session, limit, refiner)
        };
        let feeder = thread::Builder::new().name("feed".into()).spawn_scoped(scope, feed);
        let feeder = feeder.map_err(VideoError::Thread)?;
        let feeder_end = FeederEnd { session: &session, stops: &stops };
        let written = session.panoramas().try_for_each(|set| writing.write(&set, &mut progress));
        if written.is_err() || session.health().is_err() {
            feeder_end.now();
        }
        // Discard the remaining panoramas, so that the feeder is not blocked and ends.
        session.panoramas().for_each(drop);
        let fed = feeder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<_, VideoStitchError>((fed, written))
    })?;
    writing.summary.time = start.elapsed();
    writing.summary.live = session.counters();
    writing.summary.written = writing.summary.written.saturating_sub(options.skip);
    writing.finish(written, fed, session.health())
}

/// The outputs that are being written.
struct Writing {
    sinks: Vec<VideoSink>,
    rate: Rate,
    skip: u64,
    summary: Summary,
}

impl Writing {
    /// Writes the outputs of a set, also in the place of sets that are missing before it.
    fn write(
        &mut self,
        set: &StitchedFrame,
        progress: &mut impl FnMut(&Progress),
    ) -> Result<(), VideoError> {
        let summary = &mut self.summary;
        let gap = gap(self.rate, summary.written, set.timestamp());
        let skipped = self.skip.saturating_sub(summary.written);
        let begin = Instant::now();
        for (sink, output) in self.sinks.iter_mut().zip(set.outputs()) {
            let Some(frame) = output.frame() else { continue };
            (skipped..=gap).try_for_each(|_| sink.write(&frame))?;
        }
        summary.stages.write += begin.elapsed();
        summary.written += gap + 1;
        summary.filled += gap;
        let (latency, colours) = (set.latency(), set.colours());
        summary.colours = Some(colours);
        progress(&Progress { frames: summary.written, latency, colours });
        Ok(())
    }

    /// Completes the outputs, also after an error: `written` is the result of writing, `fed` that of reading, and `health`
    /// that of the session.
    fn finish(
        self,
        written: Result<(), VideoError>,
        (counts, fed): (Counts, Result<(), VideoStitchError>),
        health: Result<(), LiveError>,
    ) -> Result<Summary, VideoStitchError> {
        let Self { sinks, summary, .. } = self;
        let Counts { read, unpaired, repeated, ended_first, stopped, waited } = counts;
        let stitch = Duration::try_from_secs_f64(summary.live.submitting).unwrap_or_default();
        let stages = StageTimes { read: waited, stitch, ..summary.stages };
        let (panoramas, filled) = (summary.written, summary.filled);
        if filled > 0 {
            tracing::warn!(
                "{filled} panoramas could not be made; each was replaced by the next one"
            );
        }
        let name = sinks.first().map(|sink| sink.name().to_owned()).unwrap_or_default();
        let sinks = sinks.into_iter().filter(|_| panoramas > 0);
        // A sink that fails must not keep the others from being completed.
        sinks.map(VideoSink::finish).fold(written, Result::and)?;
        health.map_err(VideoStitchError::from).and(fed).map_err(|source| match panoramas {
            0 => source,
            written => {
                VideoStitchError::Incomplete { output: name, written, source: source.into() }
            }
        })?;
        tracing::debug!("{}", stages.per_panorama(panoramas));
        Ok(Summary { read, unpaired, repeated, ended_first, stopped, stages, ..summary })
    }
}

/// Ends the feeder after an error, or if the thread panics while it exists.
struct FeederEnd<'a> {
    session: &'a Session,
    stops: &'a [Stop],
}

impl FeederEnd<'_> {
    /// Closes the stitcher. Also stops the sources, because the feeder may be waiting for data from a pipe.
    fn now(&self) {
        self.session.close();
        self.stops.iter().for_each(Stop::ask);
    }
}

impl Drop for FeederEnd<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.now();
        }
    }
}

/// Checks that the frames of all videos have the same number of bits per sample, which stitching requires. Call this
/// before expensive preparations; a [`Session`] refuses such videos, too.
///
/// # Errors
/// Returns [`VideoError::InputDepths`] for the first video whose frames differ from those of the first one.
pub fn check_depths(sources: &[VideoSource]) -> Result<(), VideoError> {
    let bits = |source: &VideoSource| source.format().pixels.bits();
    let Some(first) = sources.first() else { return Ok(()) };
    match sources.iter().find(|source| bits(source) != bits(first)) {
        Some(source) => Err(VideoError::InputDepths {
            file: source.name().to_owned(),
            found: bits(source),
            first: first.name().to_owned(),
            expected: bits(first),
        }),
        None => Ok(()),
    }
}

/// Waits for the first frame of each source, and starts the stitcher for them. Returns `None` if a stop is requested
/// before all frames arrive.
pub(super) fn start(
    device: &Device,
    rig: LiveRig,
    sources: &mut [VideoSource],
    options: &VideoOptions,
    outputs: &[Output],
) -> Result<Option<Session>, VideoStitchError> {
    let (found, expected) = (sources.len(), rig.warp.sources().len());
    if found != expected {
        return Err(LiveError::cameras(found, expected).into());
    }
    // Wait before creating the stitcher, which allocates gigabytes for large frames.
    for source in &mut *sources {
        if !source.await_first()? {
            return Ok(None);
        }
    }
    let mut stitch = options.stitch;
    if options.colour.follow
        && let Some(colours) = first_colours(
            device,
            &rig.warp,
            sources,
            &options.stitch.vignettes,
            options.colour.anchor,
        )?
    {
        stitch.colours = colours;
    }
    let live = LiveOptions {
        input: InputFormats::each(sources.iter().map(|source| source.format().pixels)),
        stitch,
        colour: options.colour,
        blend: options.blend,
        pace: Pace::Wait,
        ..LiveOptions::default()
    };
    Ok(Some(Session::new(device, rig, outputs, live)?))
}

/// Returns the colour corrections that match the first frames, so that the first panorama is already corrected. Returns
/// `None` if the first frames cannot be matched.
fn first_colours(
    device: &Device,
    warp: &DeviceWarp,
    sources: &[VideoSource],
    vignettes: &Vignettes,
    anchor: Option<usize>,
) -> Result<Option<Colours>, VideoStitchError> {
    let stream = device.stream().map_err(LiveError::from)?;
    let mut frames = Vec::with_capacity(sources.len());
    for source in sources {
        frames.push(match source.first() {
            Some(VideoFrame::Host(frame)) => FrameRef::Host(frame.frame()),
            Some(VideoFrame::Device(frame)) => FrameRef::Device(frame.view()),
            None => return Ok(None),
        });
    }
    Ok(matched(&stream, &frames, warp, vignettes, anchor).map_err(LiveError::from)?)
}

/// Returns the number of panoramas that are missing between the first `written` panoramas and the one at `time`.
fn gap(rate: Rate, written: u64, time: Duration) -> u64 {
    (written..).take_while(|n| rate.time(*n) < time).count() as u64
}

/// A guard that closes the stitcher when the feeder ends for any reason.
struct Close<'a>(&'a Session);

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
