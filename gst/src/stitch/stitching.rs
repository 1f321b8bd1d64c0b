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
use panoweave::ops::stitch::{Colours, StitchOptions};
use panoweave::ops::view::{Track, ViewPath, Viewer};

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
        if let Some(anchor) = settings.anchor().filter(|anchor| *anchor >= colours.len()) {
            return Err(StitchFailure::settings(format!(
                "`anchor` is {anchor}, but the last camera is {}; set it to a camera, counted from 0, or to -1",
                colours.len() - 1
            )));
        }
        let stream = device.stream()?;
        let warp = map.prepare(&stream)?;
        let colours = Colours::of(colours);
        let follow = settings.match_colours && colours == Colours::IDENTITY;
        let mut stitch = StitchOptions {
            colours: if settings.keep_highlights { colours.with_shoulders() } else { colours },
            flip: settings.flip,
            edge_boost: settings.edge_boost,
            lookup: settings.lookup()?,
            vignettes: map.vignettes(),
            ..StitchOptions::default()
        };
        if let (true, Some(frames)) = (follow, input::frames(inputs)) {
            let anchor = settings.anchor();
            let matched = matched(&stream, &frames, &warp, &stitch.vignettes, anchor)?;
            stitch.colours = matched.unwrap_or(stitch.colours);
        }
        let per_second = formats.rate.map_or(30.0, Rate::per_second);
        let live = LiveOptions {
            input: InputFormats::each(formats.inputs.iter().map(|format| format.pixels)),
            stitch,
            colour: ColourOptions {
                follow,
                anchor: settings.anchor(),
                keep_highlights: settings.keep_highlights,
                ..ColourOptions::at_rate(per_second)
            },
            blend: settings.blend()?,
            download: !formats.on_device,
            pace: if formats.live { Pace::Live } else { Pace::Wait },
            failure: formats.live.then(|| failure(settings, per_second)),
            ..LiveOptions::default()
        };
        let FrameFormat { size, pixels } = formats.output;
        let (viewer, output) = match virtual_camera(&stream, map, settings, &formats)? {
            Some((viewer, path)) => (Some(viewer), Output::view(pixels, size, path)),
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

/// Opens the track of the virtual camera. Returns `None` if `view` is not set.
fn virtual_camera(
    stream: &Stream,
    map: &Map,
    settings: &Settings,
    formats: &Formats,
) -> Result<Option<(Viewer, ViewPath)>, StitchFailure> {
    let Some(file) = &settings.view else { return Ok(None) };
    let needs = |needed| StitchFailure::settings(format!("`view` requires `{needed}`"));
    let geometry = map.geometry().ok_or_else(|| needs("rig"))?;
    if settings.edge_boost {
        return Err(needs("edge-boost=false"));
    }
    let rate = formats.rate.ok_or_else(|| needs("a constant frame rate"))?;
    let viewer = Viewer::new(geometry, settings.flip)?;
    let track = Track::open(stream, file, rate, settings.view_smooth)?;
    let limits = if settings.view_free { None } else { viewer.limits() };
    if limits.is_none() && !settings.view_free {
        return Err(StitchFailure::settings(
            "`view` cannot be kept inside the area that this rig's cameras cover; set `view-free`",
        ));
    }
    let size = formats.output.size;
    let path = move |time| {
        let wanted = track.at(time);
        limits.as_ref().map_or(wanted, |limits| limits.keep(&wanted, size))
    };
    Ok(Some((viewer, ViewPath::new(path))))
}
