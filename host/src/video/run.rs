//! From two sources through the engine to a sink.
//!
//! One thread reads pairs and submits them, another takes the panoramas and writes them. Frames are paired
//! by time: the left camera leads, and to each of its frames goes the right one that is nearest. So
//! the output has the left camera's rate, and right frames are repeated or left out if theirs differs.

use std::thread;
use std::time::{Duration, Instant};

use super::{Sink, Source, Stop, VideoError};
use crate::colour::Colours;
use crate::device::Device;
use crate::frame::Frame;
use crate::live::{ColourOptions, LiveCounters, LiveOptions, Pace, Stitcher};
use crate::seam::Blend;
use crate::stitch::StitchOptions;
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
    /// At most so many panoramas.
    pub limit: Option<u64>,
    /// Ends the video early.
    pub stop: Stop,
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
    /// Panoramas written.
    pub written: u64,
    /// Right frames left out, as none of the left was nearest.
    pub unpaired: u64,
    /// Pairs for which a right frame was used once more.
    pub repeated: u64,
    /// From the first pair to the last panorama written.
    pub time: Duration,
    /// How the last panorama's colours were corrected.
    pub colours: Option<Colours>,
    /// What the engine counted: drops by reason, and latency.
    pub live: LiveCounters,
    /// An end was asked for before the videos ended.
    pub stopped: bool,
}

/// Stitches two videos.
///
/// `progress` is called after every panorama. If a source fails, what was stitched before is written and
/// the output closed properly, and then its error is returned.
///
/// # Errors
/// [`VideoError`].
pub fn stitch_video(
    device: &Device,
    warp: DeviceWarp,
    sources: [Source; 2],
    mut sink: Sink,
    options: &VideoOptions,
    mut progress: impl FnMut(&Progress),
) -> Result<Summary, VideoError> {
    let live = LiveOptions {
        input: sources[0].format().pixels,
        output: sink.format().pixels,
        stitch: options.stitch,
        colour: options.colour,
        blend: options.blend,
        pace: Pace::Wait,
        ..LiveOptions::default()
    };
    let stitcher = Stitcher::new(device, warp, live)?;
    let start = Instant::now();
    let (fed, written) = thread::scope(|scope| {
        let feeder = scope.spawn(|| {
            let _close = Close(&stitcher);
            let mut pairs = Pairs::new(sources);
            let result = pairs.submit_all(&stitcher, options);
            (pairs.counts, result)
        });
        let mut summary = Summary::default();
        let mut result = Ok(());
        for panorama in stitcher.panoramas() {
            if result.is_err() {
                // The engine is emptied, so that the feeder comes to its end.
                continue;
            }
            result = sink.write(&panorama.frame());
            if result.is_err() {
                options.stop.ask();
                continue;
            }
            summary.written += 1;
            let (latency, colours) = (panorama.latency(), panorama.colours());
            summary.colours = Some(colours);
            progress(&Progress { frames: summary.written, latency, colours });
        }
        let fed = feeder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (fed, result.map(|()| summary))
    });
    let (counts, fed) = fed;
    let summary = written?;
    stitcher.health()?;
    let (time, live) = (start.elapsed(), stitcher.counters());
    if summary.written > 0 {
        sink.finish()?;
    }
    fed?;
    let Counts { read, unpaired, repeated, stopped } = counts;
    Ok(Summary { read, unpaired, repeated, stopped, time, live, ..summary })
}

/// Ends the panoramas when the feeder ends, however it does.
struct Close<'a>(&'a Stitcher);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[derive(Default)]
struct Counts {
    read: [u64; 2],
    unpaired: u64,
    repeated: u64,
    stopped: bool,
}

/// The two sources in step.
struct Pairs {
    left: Source,
    right: Source,
    /// The right frame at hand, and its number.
    held: Option<(u64, Vec<u8>)>,
    counts: Counts,
}

impl Pairs {
    fn new([left, right]: [Source; 2]) -> Self {
        Self { left, right, held: None, counts: Counts::default() }
    }

    fn submit_all(
        &mut self,
        stitcher: &Stitcher,
        options: &VideoOptions,
    ) -> Result<(), VideoError> {
        let limit = options.limit.unwrap_or(u64::MAX);
        let rates = [&self.left, &self.right].map(|source| source.rate());
        let formats = [&self.left, &self.right].map(|source| source.format());
        while self.counts.read[0] < limit {
            let n = self.counts.read[0];
            let Some(left) = self.left.frame()? else { break };
            self.counts.read[0] += 1;
            let Some(right) = self.right_at(rates[1].nearest(n, rates[0]))? else { break };
            let [left_frame, right_frame] =
                [Frame::tight(formats[0], &left)?, Frame::tight(formats[1], right)?];
            stitcher.submit(left_frame, right_frame, rates[0].time(n))?;
            self.left.give_back(left);
        }
        self.counts.stopped = options.stop.is_asked();
        Ok(())
    }

    /// The right frame of this number; `None` if the video ends before.
    fn right_at(&mut self, n: u64) -> Result<Option<&[u8]>, VideoError> {
        match &self.held {
            Some((number, _)) if *number == n => self.counts.repeated += 1,
            _ => loop {
                if let Some((_, frame)) = self.held.take() {
                    self.right.give_back(frame);
                }
                let Some(frame) = self.right.frame()? else { return Ok(None) };
                let number = self.counts.read[1];
                self.counts.read[1] += 1;
                self.held = Some((number, frame));
                if number == n {
                    break;
                }
                self.counts.unpaired += 1;
            },
        }
        Ok(self.held.as_ref().map(|(_, frame)| frame.as_slice()))
    }
}
