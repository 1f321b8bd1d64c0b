//! The session for the negotiated formats.
//!
//! [`Stitching::stitch`] submits one set of frames and waits for its panorama, because GStreamer's aggregator expects the
//! output before it collects the next set.

use std::task::Poll;
use std::time::Duration;

use gst::ClockTime;
use panoweave::device::{Device, Stream};
use panoweave::frame::{FrameFormat, Rate};
use panoweave::live::{
    ColourOptions, FailureOptions, InputFormats, LiveOptions, LiveRig, Output, Pace, Session,
    StitchedFrame, StitchedFrames, Submitted,
};
use panoweave::ops::colour::{Colour, matched};
use panoweave::ops::stitch::{Colours, Lookup, StitchOptions};

use super::error::StitchFailure;
use super::input::{self, Input};
use super::map::Map;
use super::settings::Settings;

/// The time between two checks that the session still works.
const CHECK: Duration = Duration::from_millis(200);

/// The formats of a session.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Formats {
    /// The formats of the cameras' frames, in the order of the cameras.
    pub(super) inputs: Vec<FrameFormat>,
    pub(super) output: FrameFormat,
    /// Whether panoramas stay on the device.
    pub(super) on_device: bool,
    /// The rate of the panoramas, or `None` if it varies.
    pub(super) rate: Option<Rate>,
    /// Whether the pipeline is live, so that cameras may fail.
    pub(super) live: bool,
    /// The index of each pad's camera.
    pub(super) cameras: Vec<usize>,
}

/// A running session, which makes one panorama or view from each set of frames.
#[derive(Debug)]
pub(super) struct Stitching {
    pub(super) formats: Formats,
    pub(super) session: Session,
    panoramas: StitchedFrames,
    /// The stream for copies of panoramas on the device.
    pub(super) stream: Stream,
    /// The time of the first panorama, at which the track of a virtual camera starts.
    first: ClockTime,
    /// The number of sets that the device has rejected.
    rejected: u64,
    /// Whether a panorama was made.
    started: bool,
}

impl Stitching {
    /// Starts a session. `colours` are the corrections that the pads select; if all are the identity and
    /// `match-colours` is set, the colours of the `inputs` are matched first.
    pub(super) fn new(
        device: &Device,
        map: &Map,
        settings: &Settings,
        colours: &[Colour],
        formats: Formats,
        inputs: &[Input],
        first: ClockTime,
    ) -> Result<Self, StitchFailure> {
        settings.look.check(colours.len())?;
        let stream = device.stream()?;
        let warp = map.prepare(&stream)?;
        let colours = Colours::of(colours);
        let follow = settings.match_colours && colours == Colours::IDENTITY;
        let keep_highlights = settings.look.keep_highlights;
        let anchor = settings.look.anchor(settings.match_colours)?;
        let mut stitch = StitchOptions {
            colours: if keep_highlights { colours.with_shoulders() } else { colours },
            vignettes: map.vignettes(),
            ..settings.look.stitch(Lookup::Auto)
        };
        if let (true, Some(frames)) = (follow, input::frames(inputs)) {
            let matched = matched(&stream, &frames, &warp, &stitch.vignettes, anchor)?;
            stitch.colours = matched.unwrap_or(stitch.colours);
        }
        let per_second = formats.rate.map_or(30.0, Rate::per_second);
        let live = LiveOptions {
            input: InputFormats::each(formats.inputs.iter().map(|format| format.pixels)),
            stitch,
            colour: ColourOptions {
                follow,
                anchor,
                keep_highlights,
                ..ColourOptions::at_rate(per_second)
            },
            blend: settings.blend()?,
            download: !formats.on_device,
            pace: if formats.live { Pace::Live } else { Pace::Wait },
            failure: formats.live.then(|| failure(settings, per_second)),
            ..LiveOptions::default()
        };
        let FrameFormat { size, pixels } = formats.output;
        let rate = formats.rate.filter(|_| settings.view.view.is_some());
        let view = match rate {
            Some(rate) => settings.view.open(&stream, map.rig(), &stitch, rate)?,
            None if settings.view.view.is_some() => {
                return Err(StitchFailure::settings("`view` requires a constant frame rate"));
            }
            None => None,
        };
        let (viewer, output) = match view {
            Some(view) => (Some(view.viewer), Output::view(pixels, size, view.path)),
            None => (None, Output::panorama(pixels).sized(size)),
        };
        let session = Session::new(device, LiveRig { warp, viewer }, &[output], live)?;
        let panoramas = session.panoramas();
        Ok(Self { formats, session, panoramas, stream, first, rejected: 0, started: false })
    }

    /// Stitches one frame of each camera and waits for the panorama.
    pub(super) fn stitch(
        &mut self,
        inputs: &[Input],
        time: ClockTime,
    ) -> Result<StitchedFrame, StitchFailure> {
        let since = time.saturating_sub(self.first).into();
        let started = std::mem::replace(&mut self.started, true);
        let rejected = || {
            StitchFailure::failed(format!(
                "the device has rejected the frames at {time} several times"
            ))
        };
        let submitted = input::submit(inputs, &self.session, since, self.formats.live, started)?;
        if submitted != Submitted::Set {
            return Err(rejected());
        }
        loop {
            match self.panoramas.next_timeout(CHECK) {
                Poll::Ready(Some(panorama)) => return Ok(panorama),
                Poll::Ready(None) => {
                    self.session.health()?;
                    return Err(panoweave::live::LiveError::Closed.into());
                }
                Poll::Pending => self.session.health()?,
            }
            let failed = self.session.counters().dropped.failed;
            if std::mem::replace(&mut self.rejected, failed) != failed {
                return Err(rejected());
            }
        }
    }
}

/// Returns the options for cameras that fail.
fn failure(settings: &Settings, per_second: f64) -> FailureOptions {
    let timeout = Duration::from_nanos(settings.camera_timeout).as_secs_f64();
    let gone = (timeout * per_second).round().clamp(1.0, 10_000.0) as u32;
    FailureOptions { gone, ..FailureOptions::at_rate(per_second) }
}
