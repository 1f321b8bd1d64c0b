//! The stitcher for the negotiated formats.
//!
//! [`Session::stitch`] submits one set of frames and waits for its panorama, because GStreamer's aggregator expects the
//! output before it collects the next set.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use gst::ClockTime;
use panoweave::device::{Device, Stream};
use panoweave::frame::{FrameFormat, Rate};
use panoweave::live::{
    ColourOptions, FailureOptions, InputFormats, LiveOptions, Pace, StitchedFrame, StitchedFrames,
    Stitcher, Submitted,
};
use panoweave::ops::colour::{Colour, matched};
use panoweave::ops::stitch::{Colours, StitchOptions};
use panoweave::ops::view::{Track, Viewer, VirtualCamera};

use super::error::StitchFailure;
use super::input::Inputs;
use super::map::Map;
use super::settings::Settings;

/// The time between two checks that the stitcher still works.
const CHECK: Duration = Duration::from_millis(200);

/// The options for cameras that fail. [`Session::observe`] reports silent cameras by the time of the stream. The
/// stitcher's own limits use the wall clock, so a pause would exceed them.
const FAILURE: FailureOptions = FailureOptions {
    late: Duration::from_secs(24 * 3600),
    gone: Duration::from_secs(48 * 3600),
    ..FailureOptions::DEFAULT
};

/// The formats for which a session stitches.
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

/// The presence of a camera in a live pipeline.
#[derive(Clone, Copy, Debug)]
struct Presence {
    /// The time of the panorama in which the newest frame appeared first.
    since: ClockTime,
    present: bool,
    /// Whether the camera has sent a frame.
    started: bool,
}

/// A running stitcher.
#[derive(Debug)]
pub(super) struct Session {
    formats: Formats,
    stitcher: Stitcher,
    panoramas: StitchedFrames,
    /// The stream for copies of panoramas on the device.
    stream: Stream,
    /// The time of the first panorama, at which the track of a virtual camera starts.
    first: ClockTime,
    /// The number of sets that the device has rejected.
    rejected: u64,
    presences: Vec<Presence>,
}

impl Session {
    /// Starts a stitcher. `colours` are the corrections that the pads select; if all are the identity and
    /// `match-colours` is set, the colours of the `inputs` are matched first.
    pub(super) fn new(
        device: &Device,
        map: &Map,
        settings: &Settings,
        colours: &[Colour],
        formats: Formats,
        inputs: &Inputs,
        first: ClockTime,
    ) -> Result<Self, StitchFailure> {
        if let Some(anchor) = settings.anchor().filter(|anchor| *anchor >= colours.len()) {
            return Err(StitchFailure::Anchor { anchor, cameras: colours.len() });
        }
        let stream = device.stream()?;
        let warp = map.prepare(&stream)?;
        let colours = Colours::of(colours);
        let follow = settings.match_colours && colours == Colours::IDENTITY;
        let mut stitch = StitchOptions {
            colours: if settings.keep_highlights { colours.with_shoulders() } else { colours },
            flip: settings.flip,
            edge_boost: settings.edge_boost,
            lookup: settings.lookup.into(),
            vignettes: map.vignettes(),
            ..StitchOptions::default()
        };
        if follow {
            let anchor = settings.anchor();
            let frames = inputs.frames()?;
            let matched = matched(&stream, &frames, &warp, &stitch.vignettes, anchor)?;
            stitch.colours = matched.unwrap_or(stitch.colours);
        }
        let colour = match formats.rate {
            Some(rate) => ColourOptions::at_rate(rate.per_second()),
            None => ColourOptions::default(),
        };
        let live = LiveOptions {
            input: InputFormats::each(formats.inputs.iter().map(|format| format.pixels)),
            output: formats.output.pixels,
            size: Some(formats.output.size),
            stitch,
            colour: ColourOptions {
                follow,
                anchor: settings.anchor(),
                keep_highlights: settings.keep_highlights,
                ..colour
            },
            blend: settings.blend(),
            download: !formats.on_device,
            pace: if formats.live { Pace::Live } else { Pace::Wait },
            failure: formats.live.then_some(FAILURE),
            ..LiveOptions::default()
        };
        let camera = virtual_camera(&stream, map, settings, &formats)?;
        let stitcher = match camera {
            Some(camera) => Stitcher::with_view(device, warp, camera, live)?,
            None => Stitcher::new(device, warp, live)?,
        };
        let panoramas = stitcher.panoramas();
        let presence = Presence { since: first, present: true, started: false };
        let presences = vec![presence; formats.inputs.len()];
        Ok(Self { formats, stitcher, panoramas, stream, first, rejected: 0, presences })
    }

    /// Returns the formats for which the session stitches.
    pub(super) fn formats(&self) -> &Formats {
        &self.formats
    }

    /// Returns the stream for copies of panoramas on the device.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Returns the stitcher, for its health.
    pub(super) fn stitcher(&self) -> &Stitcher {
        &self.stitcher
    }

    /// Removes the cameras of a live pipeline that have not sent a frame, or no new one for `timeout`, from the
    /// panoramas. Returns them when they send frames again. `frames` has for each camera whether it has a frame and
    /// whether that is new.
    pub(super) fn observe(
        &mut self,
        frames: &[(bool, bool)],
        time: ClockTime,
        timeout: ClockTime,
    ) -> Result<(), StitchFailure> {
        if !self.formats.live {
            return Ok(());
        }
        let presences = self.presences.iter_mut().zip(frames).enumerate();
        for (camera, (presence, &(has_frame, is_new))) in presences {
            // After a seek, the time may be before the newest frame.
            if is_new || time < presence.since {
                presence.since = time;
            }
            presence.started |= has_frame;
            let present = has_frame && time - presence.since <= timeout;
            if present != presence.present {
                presence.present = present;
                self.stitcher.set_present(camera, present)?;
            }
        }
        Ok(())
    }

    /// Returns whether a camera has sent a frame.
    pub(super) fn has_started(&self, camera: usize) -> bool {
        self.presences.get(camera).is_none_or(|presence| presence.started)
    }

    /// Returns whether more than `timeout` has passed since the first panorama.
    pub(super) fn is_older(&self, time: ClockTime, timeout: ClockTime) -> bool {
        time.saturating_sub(self.first) > timeout
    }

    /// Stitches one frame of each camera and waits for the panorama.
    pub(super) fn stitch(
        &mut self,
        inputs: &Inputs,
        time: ClockTime,
    ) -> Result<StitchedFrame, StitchFailure> {
        let since = time.saturating_sub(self.first).into();
        let submitted = inputs.submit(&self.stitcher, since)?;
        if submitted != Submitted::Set {
            return Err(StitchFailure::Rejected(time));
        }
        loop {
            match self.panoramas.next_timeout(CHECK) {
                Poll::Ready(Some(panorama)) => return Ok(panorama),
                Poll::Ready(None) => {
                    self.stitcher.health()?;
                    return Err(panoweave::live::LiveError::Closed.into());
                }
                Poll::Pending => self.stitcher.health()?,
            }
            let rejected = self.stitcher.counters().dropped.failed;
            if rejected > self.rejected {
                self.rejected = rejected;
                return Err(StitchFailure::Rejected(time));
            }
        }
    }
}

/// Opens the track of the virtual camera. Returns `None` if `view` is not set.
fn virtual_camera(
    stream: &Stream,
    map: &Map,
    settings: &Settings,
    formats: &Formats,
) -> Result<Option<VirtualCamera>, StitchFailure> {
    let Some(file) = &settings.view else { return Ok(None) };
    let needs = |property, needed| StitchFailure::Needs { property, needed };
    let geometry = map.geometry().ok_or_else(|| needs("view", "rig"))?;
    if settings.edge_boost {
        return Err(needs("view", "edge-boost=false"));
    }
    let rate = formats.rate.ok_or_else(|| needs("view", "a constant frame rate"))?;
    let viewer = Viewer::new(geometry, settings.flip)?;
    let track = Track::open(stream, file, rate, settings.view_smooth)?;
    let limits = if settings.view_free { None } else { viewer.limits() };
    if limits.is_none() && !settings.view_free {
        return Err(StitchFailure::Unlimited);
    }
    let size = formats.output.size;
    let path = move |time| {
        let wanted = track.at(time);
        limits.as_ref().map_or(wanted, |limits| limits.keep(&wanted, size))
    };
    Ok(Some(VirtualCamera { viewer, path: Arc::new(path) }))
}
