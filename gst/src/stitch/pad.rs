//! The request pads `sink_%u`. Each receives the video of one camera.

use std::sync::Mutex;

use gst::glib::{self, Properties};
use gst::prelude::*;
use gst_base::subclass::prelude::*;
use gst_video::VideoInfo;
use gst_video::prelude::*;
use gst_video::subclass::AggregateFramesToken;
use gst_video::subclass::prelude::*;
use panoweave::ops::colour::Colour;

/// The implementation of a request pad.
#[derive(Debug, Default, Properties)]
#[properties(wrapper_type = super::PanoweaveStitchPad)]
pub(crate) struct CameraPad {
    #[property(name = "camera", get, set, type = i32, member = camera, nick = "Camera",
        blurb = "Index of the camera in the rig, from 0 (-1 = the number of the pad)",
        minimum = -1, maximum = 15, default = -1, construct, mutable_ready)]
    #[property(name = "gain-red", get, set, type = f32, member = gain_red, nick = "Red gain",
        blurb = "Factor of the red levels; colours are matched only if all gains and gammas are 1",
        minimum = 0.0, maximum = 1000.0, default = 1.0, construct, mutable_ready)]
    #[property(name = "gain-green", get, set, type = f32, member = gain_green, nick = "Green gain",
        blurb = "Factor of the green levels; colours are matched only if all gains and gammas are 1",
        minimum = 0.0, maximum = 1000.0, default = 1.0, construct, mutable_ready)]
    #[property(name = "gain-blue", get, set, type = f32, member = gain_blue, nick = "Blue gain",
        blurb = "Factor of the blue levels; colours are matched only if all gains and gammas are 1",
        minimum = 0.0, maximum = 1000.0, default = 1.0, construct, mutable_ready)]
    #[property(name = "gamma", get, set, type = f32, member = gamma, nick = "Gamma",
        blurb = "Exponent of the levels, which are scaled to 0 to 1, after the gain",
        minimum = 0.01, maximum = 100.0, default = 1.0, construct, mutable_ready)]
    settings: Mutex<PadSettings>,
    /// The newest frame and its format.
    newest: Mutex<Option<(gst::Buffer, VideoInfo)>>,
}

/// A camera's frame for a panorama.
#[derive(Debug)]
pub(super) struct Taken {
    /// The newest frame and its format, or `None` if the camera has not sent a frame.
    pub(super) frame: Option<(gst::Buffer, VideoInfo)>,
    /// Whether no earlier panorama has used the frame.
    pub(super) is_new: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct PadSettings {
    camera: i32,
    gain_red: f32,
    gain_green: f32,
    gain_blue: f32,
    gamma: f32,
}

impl CameraPad {
    fn settings(&self) -> PadSettings {
        *super::settings::lock(&self.settings)
    }
}

impl super::PanoweaveStitchPad {
    /// Returns the index of the pad's camera in the rig.
    pub(super) fn index(&self) -> usize {
        let number = || self.name().strip_prefix("sink_").and_then(|number| number.parse().ok());
        usize::try_from(self.imp().settings().camera).ok().or_else(number).unwrap_or(usize::MAX)
    }

    /// Returns the frame for the next panorama: the one that the base class has selected or, if there is none, the one
    /// before. A gap in the stream is an empty buffer, so it selects none.
    pub(super) fn take(&self, token: &AggregateFramesToken<'_>) -> Taken {
        let newest = &mut *super::settings::lock(&self.imp().newest);
        let is_frame = |buffer: &gst::Buffer| {
            buffer.size() > 0 || !buffer.flags().contains(gst::BufferFlags::GAP)
        };
        let selected = self.current_buffer(token).filter(is_frame).zip(self.video_info());
        let id = |(buffer, _): &(gst::Buffer, VideoInfo)| (buffer.as_ptr(), buffer.pts());
        let is_new = selected.is_some() && selected.as_ref().map(id) != newest.as_ref().map(id);
        if is_new {
            *newest = selected;
        }
        Taken { frame: newest.clone(), is_new }
    }

    /// Forgets the newest frame.
    pub(super) fn clear(&self) {
        *super::settings::lock(&self.imp().newest) = None;
    }

    /// Returns the colour correction that the properties of the pad select.
    pub(super) fn colour(&self) -> Colour {
        let PadSettings { gain_red, gain_green, gain_blue, gamma, .. } = self.imp().settings();
        let gain = [gain_red, gain_green, gain_blue].into();
        Colour { gain, gamma, ..Colour::IDENTITY }
    }
}

/// Returns whether the panorama ends: with the last camera of a live pipeline, otherwise with the first camera that
/// ends and is not repeated.
pub(super) fn has_ended(
    pads: &[super::PanoweaveStitchPad],
    taken: &[Taken],
    live: bool,
    token: &AggregateFramesToken<'_>,
) -> bool {
    let ended = |pad: &super::PanoweaveStitchPad| pad.is_eos() && !pad.has_current_buffer(token);
    let all_used = taken.iter().all(|taken| !taken.is_new);
    (pads.iter().all(|pad| pad.is_eos()) && all_used) || (!live && pads.iter().any(ended))
}

/// Returns whether the part of a buffer in the segment of its pad has running times, which the base class asserts. It
/// reports buffers without timestamp itself.
pub(super) fn has_running_time(pad: &gst_base::AggregatorPad, buffer: &gst::BufferRef) -> bool {
    let Ok(segment) = pad.segment().downcast::<gst::ClockTime>() else { return false };
    let Some(pts) = buffer.pts() else { return true };
    let Some(end) = pts.checked_add(buffer.duration().unwrap_or_default()) else { return false };
    let start = segment.start().map_or(pts, |start| pts.max(start));
    let end = segment.stop().map_or(end, |stop| end.min(stop));
    [start, end].into_iter().all(|time| segment.to_running_time(time).is_some())
}

/// Returns whether the cameras can follow a seek. The base class stops before a seek that flushes, and would remain
/// stopped if a camera did not seek.
pub(super) fn can_seek(pads: &[super::PanoweaveStitchPad], seek: &gst::event::Seek) -> bool {
    let (_, flags, _, start, ..) = seek.get();
    let can_seek = |pad: &super::PanoweaveStitchPad| {
        let mut query = gst::query::Seeking::new(start.format());
        pad.peer_query(&mut query) && query.result().0
    };
    !flags.contains(gst::SeekFlags::FLUSH) || pads.iter().all(can_seek)
}

#[glib::object_subclass]
impl ObjectSubclass for CameraPad {
    const NAME: &'static str = "GstPanoweaveStitchPad";
    type Type = super::PanoweaveStitchPad;
    type ParentType = gst_video::VideoAggregatorPad;
}

#[glib::derived_properties]
impl ObjectImpl for CameraPad {}
impl GstObjectImpl for CameraPad {}
impl PadImpl for CameraPad {}
impl AggregatorPadImpl for CameraPad {}

impl VideoAggregatorPadImpl for CameraPad {
    fn prepare_frame(
        &self,
        _aggregator: &gst_video::VideoAggregator,
        _token: &AggregateFramesToken<'_>,
        _buffer: &gst::Buffer,
    ) -> Option<gst_video::VideoFrame<gst_video::video_frame::Readable>> {
        // The base class would map the frame to host memory. The element maps it where it is.
        None
    }
}
