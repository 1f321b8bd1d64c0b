//! The subclass of `GstVideoAggregator`: caps, states, frames.
//!
//! The base class collects one buffer of each pad for every output frame. It repeats the last buffer of a pad whose
//! next one is late, and it drops output frames that downstream would show too late (QoS).

use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use glam::UVec2;
use gst::glib::{self, Properties};
use gst_base::subclass::prelude::*;
use gst_video::prelude::*;
use gst_video::subclass::AggregateFramesToken;
use gst_video::subclass::prelude::*;
use gst_video::{VideoCapsBuilder, VideoInfo};
use panoweave::device::{Device, DeviceName};
use panoweave::frame::{FrameFormat, MAX_CANVAS_SIDE, Rate};

use super::PanoweaveStitchPad;
use super::cuda;
use super::error::StitchFailure;
use super::formats::{self, frame_format};
use super::input::{self, CameraFrame, Inputs};
use super::map::Map;
use super::pad::Taken;
use super::report::Reports;
use super::session::{Formats, Session};
use super::settings::{Blending, LookupMode, Settings, lock};

/// The debug category, for `GST_DEBUG=panoweavestitch:6`.
static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "panoweavestitch",
        gst::DebugColorFlags::empty(),
        Some("panoweave: stitches the videos of several cameras"),
    )
});

/// The implementation of the element.
#[derive(Debug, Default, Properties)]
#[properties(wrapper_type = super::PanoweaveStitch)]
pub(crate) struct Element {
    #[property(name = "rig", get, set, type = Option<String>, member = rig, nick = "Rig",
        blurb = "Path of the rig file (TOML) that `panoweave calibrate` writes", mutable_ready)]
    #[property(name = "warp", get, set, type = Option<String>, member = warp, nick = "Warp",
        blurb = "Path of a warp file that `panoweave warp` writes; instead of `rig`", mutable_ready)]
    #[property(name = "device", get, set, type = String, member = device, nick = "Device",
        blurb = "Device that stitches: cpu, cuda:N, or auto (the first GPU, otherwise the CPU)",
        default = Some("auto"), mutable_ready)]
    #[property(name = "blend", get, set, type = Blending, member = blend, nick = "Blend",
        blurb = "Blending where the pictures overlap", mutable_ready,
        builder(Blending::Feather))]
    #[property(name = "feather", get, set, type = f32, member = feather, nick = "Feather",
        blurb = "Width in pixels of the fade across a seam (0 = 16, or 4 for `multiband`)",
        minimum = 0.0, maximum = 1000.0, default = 0.0, mutable_ready)]
    #[property(name = "levels", get, set, type = u32, member = levels, nick = "Levels",
        blurb = "Levels of multiband blending; each one doubles the distance of fades",
        minimum = 1, maximum = 6, default = 5, mutable_ready)]
    #[property(name = "lookup", get, set, type = LookupMode, member = lookup, nick = "Lookup",
        blurb = "Method to find the source coordinates of a pixel", mutable_ready,
        builder(LookupMode::Mesh))]
    #[property(name = "match-colours", get, set, type = bool, member = match_colours,
        nick = "Match colours",
        blurb = "Match the colours of the cameras, unless a pad has a gain or gamma other than 1",
        default = true, mutable_ready)]
    #[property(name = "anchor", get, set, type = i32, member = anchor, nick = "Anchor",
        blurb = "Index of the camera that keeps its colours (-1 = all cameras share the changes)",
        minimum = -1, maximum = 15, default = -1, mutable_ready)]
    #[property(name = "keep-highlights", get, set, type = bool, member = keep_highlights,
        nick = "Keep highlights",
        blurb = "Compress levels above 90 % of white where a gain would clip them; slower",
        default = false, mutable_ready)]
    #[property(name = "flip", get, set, type = bool, member = flip, nick = "Flip",
        blurb = "Rotate the panorama by 180°", default = false, mutable_ready)]
    #[property(name = "edge-boost", get, set, type = bool, member = edge_boost,
        nick = "Edge boost", blurb = "Brighten the left and the right tenth of the panorama",
        default = false, mutable_ready)]
    #[property(name = "view", get, set, type = Option<String>, member = view, nick = "View",
        blurb = "Path of a track (CSV) of a virtual camera, whose view replaces the panorama; \
            requires `rig`", mutable_ready)]
    #[property(name = "view-width", get, set, type = u32, member = view_width,
        nick = "View width", blurb = "Width of the view in pixels",
        minimum = 1, maximum = MAX_CANVAS_SIDE, default = 1920, mutable_ready)]
    #[property(name = "view-height", get, set, type = u32, member = view_height,
        nick = "View height", blurb = "Height of the view in pixels",
        minimum = 1, maximum = MAX_CANVAS_SIDE, default = 1080, mutable_ready)]
    #[property(name = "view-smooth", get, set, type = f64, member = view_smooth,
        nick = "View smoothing",
        blurb = "Standard deviation in seconds of the Gaussian that smooths the track",
        minimum = 0.0, maximum = 60.0, default = 0.2, mutable_ready)]
    #[property(name = "view-free", get, set, type = bool, member = view_free,
        nick = "View free",
        blurb = "Allow the view to leave the area that the cameras cover", default = false,
        mutable_ready)]
    #[property(name = "camera-timeout", get, set, type = u64, member = camera_timeout,
        nick = "Camera timeout",
        blurb = "Time in ns without a frame after which a camera of a live pipeline leaves the \
            panorama", maximum = u64::MAX - 1, default = 1_000_000_000)]
    #[property(name = "report-interval", get, set, type = u64, member = report_interval,
        nick = "Report interval",
        blurb = "Time in ns between messages about health and colours (0 = none)",
        maximum = u64::MAX - 1, default = 1_000_000_000)]
    settings: Mutex<Settings>,
    state: Mutex<State>,
    /// The stitcher, which is locked while it stitches.
    running: Mutex<Running>,
}

/// The state that queries need. It is never locked during a query or while the device works.
#[derive(Debug, Default)]
struct State {
    /// The device, outside the state NULL.
    opened: Option<Opened>,
    /// The rig or the warp file, between the start and the stop of the element.
    map: Option<Arc<Map>>,
}

#[derive(Debug, Default)]
struct Running {
    session: Option<Session>,
    reports: Reports,
    /// A black frame and its format for each camera that has not sent a frame.
    black: Vec<Option<(gst::Buffer, VideoInfo)>>,
}

/// The number of frames of a camera that the element may hold: the selected one, the one before, one that is being
/// stitched, and one that is being analysed.
const HELD: u32 = 4;

/// An open device.
#[derive(Clone, Debug)]
struct Opened {
    /// The value of the property `device`.
    name: String,
    device: Device,
    /// The context that is shared with other elements, if CUDA memory is available.
    context: Option<cuda::Context>,
}

#[glib::object_subclass]
impl ObjectSubclass for Element {
    const NAME: &'static str = "GstPanoweaveStitch";
    type Type = super::PanoweaveStitch;
    type ParentType = gst_video::VideoAggregator;
    type Interfaces = (gst::ChildProxy,);
}

#[glib::derived_properties]
impl ObjectImpl for Element {}
impl GstObjectImpl for Element {}

impl ElementImpl for Element {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Panorama stitcher",
                "Filter/Editor/Video/Compositor",
                "Stitches the videos of 2 to 16 cameras into a panorama, on a GPU or the CPU",
                "The panoweave authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: OnceLock<Vec<gst::PadTemplate>> = OnceLock::new();
        TEMPLATES.get_or_init(|| {
            let caps = template_caps(cuda::is_available());
            let source = gst::PadTemplate::new(
                "src",
                gst::PadDirection::Src,
                gst::PadPresence::Always,
                &caps,
            );
            let sink = gst::PadTemplate::with_gtype(
                "sink_%u",
                gst::PadDirection::Sink,
                gst::PadPresence::Request,
                &caps,
                PanoweaveStitchPad::static_type(),
            );
            [source, sink].into_iter().map(|template| template.expect("valid template")).collect()
        })
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        // Upstream elements change their state later and then use this context.
        if transition == gst::StateChange::NullToReady
            && let Err(error) = self.open()
        {
            self.post_error_message(error.message());
            return Err(gst::StateChangeError);
        }
        let changed = self.parent_change_state(transition)?;
        if transition == gst::StateChange::ReadyToNull {
            lock(&self.state).opened = None;
        }
        Ok(changed)
    }

    fn request_new_pad(
        &self,
        template: &gst::PadTemplate,
        name: Option<&str>,
        caps: Option<&gst::Caps>,
    ) -> Option<gst::Pad> {
        let pad = self.parent_request_new_pad(template, name, caps)?;
        self.obj().child_added(&pad, &pad.name());
        Some(pad)
    }

    fn release_pad(&self, pad: &gst::Pad) {
        self.obj().child_removed(pad, &pad.name());
        self.parent_release_pad(pad);
    }
}

impl ChildProxyImpl for Element {
    fn children_count(&self) -> u32 {
        u32::from(self.obj().num_sink_pads())
    }

    fn child_by_name(&self, name: &str) -> Option<glib::Object> {
        self.obj().sink_pads().into_iter().find(|pad| pad.name() == name).map(Cast::upcast)
    }

    fn child_by_index(&self, index: u32) -> Option<glib::Object> {
        self.obj().sink_pads().into_iter().nth(index as usize).map(Cast::upcast)
    }
}

impl AggregatorImpl for Element {
    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let map = self.open().and_then(|()| Map::open(&lock(&self.settings)));
        lock(&self.state).map = Some(Arc::new(map.map_err(|error| error.message())?));
        self.parent_start()
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        lock(&self.state).map = None;
        *lock(&self.running) = Running::default();
        self.cameras().iter().for_each(PanoweaveStitchPad::clear);
        self.parent_stop()
    }

    fn flush(&self) -> Result<gst::FlowSuccess, gst::FlowError> {
        self.cameras().iter().for_each(PanoweaveStitchPad::clear);
        self.parent_flush()
    }

    fn sink_query(&self, pad: &gst_base::AggregatorPad, query: &mut gst::QueryRef) -> bool {
        match query.view_mut() {
            gst::QueryViewMut::Caps(query) => {
                let caps = self.sink_caps(pad);
                let caps = match query.filter() {
                    Some(filter) => {
                        filter.intersect_with_mode(&caps, gst::CapsIntersectMode::First)
                    }
                    None => caps,
                };
                query.set_result(&caps);
                true
            }
            gst::QueryViewMut::AcceptCaps(query) => {
                let accepted = query.caps().can_intersect(&self.sink_caps(pad));
                if !accepted && let Some(error) = self.size_error(pad, query.caps()) {
                    // The caps cause an error upstream that does not name the reason.
                    gst::element_imp_warning!(self, gst::StreamError::Format, ("{error}"));
                }
                query.set_result(accepted);
                true
            }
            _ => self.answer(query) || self.parent_sink_query(pad, query),
        }
    }

    fn src_query(&self, query: &mut gst::QueryRef) -> bool {
        self.answer(query) || self.parent_src_query(query)
    }

    fn propose_allocation(
        &self,
        pad: &gst_base::AggregatorPad,
        decided: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(pad, decided, query)?;
        query.add_allocation_meta::<gst_video::VideoMeta>(None);
        if let (Some(caps), true) = query.get_owned()
            && let Some((pool, size)) = self.pool(&caps, HELD, 0)
        {
            query.add_allocation_pool(Some(&pool), size, HELD, 0);
        }
        Ok(())
    }

    fn decide_allocation(
        &self,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        let proposed = query.allocation_pools().next().map(|(_, _, least, most)| (least, most));
        let (least, most) = proposed.unwrap_or((0, 0));
        if let (Some(caps), _) = query.get_owned()
            && is_of_cuda(&caps)
        {
            let (pool, size) = self
                .pool(&caps, least, most)
                .ok_or_else(|| gst::loggable_error!(CAT, "no pool of CUDA memory"))?;
            // Pools of other elements may have memory of another context.
            if proposed.is_none() {
                query.add_allocation_pool(Some(&pool), size, least, most);
            } else {
                query.set_nth_allocation_pool(0, Some(&pool), size, least, most);
            }
            return Ok(());
        }
        self.parent_decide_allocation(query)
    }
}

impl VideoAggregatorImpl for Element {
    fn update_caps(&self, downstream: &gst::Caps) -> Result<gst::Caps, gst::LoggableError> {
        let state = lock(&self.state);
        let Some(map) = &state.map else {
            return Err(gst::loggable_error!(CAT, "the element has not started"));
        };
        // The first camera may be silent.
        let Some(first) = self.cameras().iter().find_map(|pad| pad.video_info()) else {
            return Err(gst::loggable_error!(CAT, "no camera has caps"));
        };
        let size = lock(&self.settings).view_size().unwrap_or_else(|| map.size());
        let mut wanted = gst::Caps::new_empty();
        for feature in features(state.opened.as_ref().is_some_and(|it| it.context.is_some())) {
            for format in formats::of_panoramas(first.format()) {
                let caps = || {
                    VideoCapsBuilder::new()
                        .features([feature])
                        .format(format)
                        .width(size.x as i32)
                        .height(size.y as i32)
                        .pixel_aspect_ratio(gst::Fraction::new(1, 1))
                        .field("interlace-mode", "progressive")
                };
                // The stitcher converts the matrix and the range, but no primaries or transfer functions.
                let colorimetry = first.colorimetry().to_string();
                for colorimetry in formats::colorimetries(&colorimetry) {
                    wanted.merge(caps().field("colorimetry", colorimetry).build());
                }
            }
        }
        Ok(wanted.intersect_with_mode(downstream, gst::CapsIntersectMode::First))
    }

    fn aggregate_frames(
        &self,
        token: &AggregateFramesToken<'_>,
        output: &mut gst::BufferRef,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        let pads = self.cameras();
        let taken: Vec<_> = pads.iter().map(|pad| pad.take(token)).collect();
        if self.has_ended(&pads, &taken, token) {
            gst::info!(CAT, imp = self, "the panorama ends");
            return Err(gst::FlowError::Eos);
        }
        let Some(info) = self.obj().video_info() else {
            return Err(gst::FlowError::NotNegotiated);
        };
        let stitched = self.stitch(&pads, taken, &info, output);
        self.report(output.pts().unwrap_or_default());
        match stitched {
            Ok(()) => Ok(gst::FlowSuccess::Ok),
            Err(error) => {
                self.post_error_message(error.message());
                Err(gst::FlowError::Error)
            }
        }
    }
}

impl Element {
    /// Returns the pads in the order of their cameras.
    fn cameras(&self) -> Vec<PanoweaveStitchPad> {
        let mut pads = Vec::new();
        self.obj().foreach_sink_pad(|_, pad| {
            pads.extend(pad.downcast_ref::<PanoweaveStitchPad>().cloned());
            ControlFlow::Continue(())
        });
        pads.sort_by_key(PanoweaveStitchPad::index);
        pads
    }

    /// Returns whether the panorama ends: with the last camera of a live pipeline, otherwise with the first camera that
    /// ends and is not repeated.
    fn has_ended(
        &self,
        pads: &[PanoweaveStitchPad],
        taken: &[Taken],
        token: &AggregateFramesToken<'_>,
    ) -> bool {
        let ended = |pad: &PanoweaveStitchPad| pad.is_eos() && !pad.has_current_buffer(token);
        let all_used = taken.iter().all(|taken| !taken.is_new);
        (pads.iter().all(|pad| pad.is_eos()) && all_used)
            || (!self.is_live() && pads.iter().any(ended))
    }

    /// Opens the device, and shares its context with the other elements.
    fn open(&self) -> Result<(), StitchFailure> {
        let name = lock(&self.settings).device.clone();
        if lock(&self.state).opened.as_ref().is_some_and(|opened| opened.name == name) {
            return Ok(());
        }
        let device = name.parse::<DeviceName>()?.open()?;
        let context = cuda::Context::of(&device);
        if let Some(context) = &context {
            context.share(self.obj().upcast_ref());
        }
        lock(&self.state).opened = Some(Opened { name, device, context });
        Ok(())
    }

    /// Returns whether a camera upstream is live.
    fn is_live(&self) -> bool {
        if let Some(session) = &lock(&self.running).session {
            return session.formats().live;
        }
        let mut query = gst::query::Latency::new();
        self.obj().static_pad("src").is_some_and(|pad| pad.query(&mut query)) && query.result().0
    }

    /// Posts the messages that are due at the time of a panorama.
    fn report(&self, time: gst::ClockTime) {
        let interval = gst::ClockTime::from_nseconds(lock(&self.settings).report_interval);
        let messages = {
            let Running { session, reports, .. } = &mut *lock(&self.running);
            let stitcher = session.as_ref().map(Session::stitcher);
            stitcher.map(|stitcher| reports.due(stitcher, time, interval)).unwrap_or_default()
        };
        for structure in messages {
            let message = gst::message::Element::builder(structure).src(&*self.obj()).build();
            // Without a bus, nobody reads messages.
            let _ = self.obj().post_message(message);
        }
    }

    /// Returns the context that is shared with other elements.
    fn context(&self) -> Option<cuda::Context> {
        lock(&self.state).opened.as_ref()?.context.clone()
    }

    /// Answers queries for a CUDA context.
    fn answer(&self, query: &mut gst::QueryRef) -> bool {
        // Elements downstream start first, and ask before this element has started.
        if cuda::is_asked_for(query) && self.open().is_err() {
            return false;
        }
        let context = self.context();
        context.is_some_and(|context| context.answer(self.obj().upcast_ref(), query))
    }

    /// Returns a pool of CUDA memory and the size of its buffers, if these are the caps of CUDA memory.
    fn pool(&self, caps: &gst::Caps, least: u32, most: u32) -> Option<(gst::BufferPool, u32)> {
        if !is_of_cuda(caps) {
            return None;
        }
        self.context()?.pool(caps, &VideoInfo::from_caps(caps).ok()?, least, most)
    }

    /// Returns the caps that a pad accepts, with the size of its camera.
    fn sink_caps(&self, pad: &gst_base::AggregatorPad) -> gst::Caps {
        let index = pad.downcast_ref::<PanoweaveStitchPad>().map(PanoweaveStitchPad::index);
        let state = lock(&self.state);
        let mut caps =
            template_caps(state.opened.as_ref().is_some_and(|opened| opened.context.is_some()));
        // All cameras have the same number of bits per sample.
        let others = self.obj().sink_pads().into_iter().filter(|other| other != pad);
        let mut infos =
            others.filter_map(|other| VideoInfo::from_caps(other.current_caps()?.as_ref()).ok());
        if let Some(other) = infos.next() {
            let formats = formats::of_panoramas(other.format());
            let formats = formats.into_iter().map(|format| format.to_str().to_send_value());
            caps.make_mut().set("format", gst::List::new(formats));
        }
        let sources = state.map.as_deref().map(Map::sources).unwrap_or_default();
        if let Some(size) = index.and_then(|index| sources.get(index)) {
            for structure in caps.make_mut().iter_mut() {
                structure.set("width", size.x as i32);
                structure.set("height", size.y as i32);
            }
        }
        caps
    }

    /// Returns the error for caps whose size is not that of the pad's camera.
    fn size_error(
        &self,
        pad: &gst_base::AggregatorPad,
        caps: &gst::CapsRef,
    ) -> Option<StitchFailure> {
        let structure = caps.structure(0)?;
        let side = |name: &str| structure.get::<i32>(name).ok();
        let found = UVec2::new(side("width")?.try_into().ok()?, side("height")?.try_into().ok()?);
        let camera = pad.downcast_ref::<PanoweaveStitchPad>()?.index();
        let map = lock(&self.state).map.clone()?;
        let expected = *map.sources().get(camera)?;
        let (pad, map) = (pad.name().to_string(), map.name().to_owned());
        (found != expected).then_some(StitchFailure::Size { pad, found, camera, map, expected })
    }

    /// Stitches buffers, in the order of the cameras, to an output buffer with the format `info`.
    fn stitch(
        &self,
        pads: &[PanoweaveStitchPad],
        taken: Vec<Taken>,
        info: &VideoInfo,
        output: &mut gst::BufferRef,
    ) -> Result<(), StitchFailure> {
        let live = self.is_live();
        let (opened, map) = {
            let state = lock(&self.state);
            (state.opened.clone(), state.map.clone())
        };
        let (Some(Opened { device, context, .. }), Some(map)) = (opened, map) else {
            return Err(StitchFailure::NoMap);
        };
        let (device, map) = (&device, &*map);
        let Running { session, black, .. } = &mut *lock(&self.running);
        let time = output.pts().unwrap_or_default();
        let seen: Vec<_> = taken.iter().map(|it| (it.frame.is_some(), it.is_new)).collect();
        let on_device =
            is_of_cuda(&self.obj().src_pad().current_caps().unwrap_or_else(gst::Caps::new_empty));
        black.resize(pads.len(), None);
        let frames = pads.iter().zip(taken).zip(black).enumerate();
        let frames = frames.map(|(camera, ((pad, taken), black))| {
            let pad = pad.name().to_string();
            let frame = taken.frame.or_else(|| {
                let info = missing_info(pads, camera, map)?;
                let memory = context.as_ref().filter(|_| on_device);
                if black.as_ref().is_none_or(|(_, known)| *known != info) {
                    let frame = input::black(&info, frame_format(&info)?, memory);
                    *black = frame.map(|frame| (frame, info));
                }
                black.clone()
            });
            let (buffer, info) = frame.ok_or_else(|| StitchFailure::Map { pad: pad.clone() })?;
            let format = supported(&pad, &info)?;
            Ok(CameraFrame { pad, buffer, info, format })
        });
        let frames = frames.collect::<Result<_, StitchFailure>>()?;
        let inputs = Inputs::map(frames, context.as_ref().map(|it| (it, device.place())))?;
        let (numerator, denominator) = info.fps().into();
        let formats = Formats {
            inputs: inputs.formats(),
            output: supported("src", info)?,
            on_device: context.as_ref().is_some_and(|context| context.owns(output)),
            rate: Rate::new(numerator.unsigned_abs(), denominator.unsigned_abs()).ok(),
            live,
            cameras: pads.iter().map(PanoweaveStitchPad::index).collect(),
        };
        if session.as_ref().is_none_or(|session| *session.formats() != formats) {
            check_cameras(map, pads)?;
            let colours: Vec<_> = pads.iter().map(PanoweaveStitchPad::colour).collect();
            let settings = lock(&self.settings).clone();
            let new = Session::new(device, map, &settings, &colours, formats, &inputs, time)?;
            gst::info!(CAT, imp = self, "stitching {:?} on {device}", new.formats());
            *session = Some(new);
        }
        let session = session.as_mut().ok_or(StitchFailure::NoMap)?;
        let timeout = gst::ClockTime::from_nseconds(lock(&self.settings).camera_timeout);
        session.observe(&seen, time, timeout)?;
        let panorama = session.stitch(inputs, time)?;
        match context {
            Some(context) if session.formats().on_device => {
                let target = cuda::Mapped::write(output, info).ok_or(StitchFailure::Output)?;
                let copied = context.copy(panorama.device_frame(), &target, session.stream());
                copied.map_err(StitchFailure::Copy)
            }
            _ => {
                let written = panorama.frame().and_then(|frame| input::write(&frame, info, output));
                written.ok_or(StitchFailure::Output)
            }
        }
    }
}

/// Returns the format of frames with this info on a pad.
fn supported(pad: &str, info: &VideoInfo) -> Result<FrameFormat, StitchFailure> {
    let found = || info.to_caps().map_or_else(|_| "none".to_owned(), |caps| caps.to_string());
    frame_format(info).ok_or_else(|| StitchFailure::Format { pad: pad.to_owned(), found: found() })
}

/// Returns the info of a camera that has not sent caps yet: the format of another camera, and the size in the rig.
fn missing_info(pads: &[PanoweaveStitchPad], camera: usize, map: &Map) -> Option<VideoInfo> {
    let other = pads.iter().find_map(|pad| pad.video_info())?;
    let size = *map.sources().get(camera)?;
    VideoInfo::builder(other.format(), size.x, size.y)
        .colorimetry(&other.colorimetry())
        .build()
        .ok()
}

/// Returns whether these are the caps of CUDA memory.
fn is_of_cuda(caps: &gst::Caps) -> bool {
    caps.features(0).is_some_and(|features| features.contains(cuda::FEATURE))
}

/// Returns the caps features of supported memory, the preferred one first.
fn features(with_cuda: bool) -> impl Iterator<Item = &'static str> {
    with_cuda.then_some(cuda::FEATURE).into_iter().chain(["memory:SystemMemory"])
}

/// Returns the caps of all supported formats.
fn template_caps(with_cuda: bool) -> gst::Caps {
    let mut all = gst::Caps::new_empty();
    for feature in features(with_cuda) {
        let caps = VideoCapsBuilder::new().features([feature]).format_list(formats::ALL);
        all.merge(caps.field("interlace-mode", "progressive").build());
    }
    all
}

/// Checks that there is exactly one pad per camera. `pads` is in the order of the cameras.
fn check_cameras(map: &Map, pads: &[PanoweaveStitchPad]) -> Result<(), StitchFailure> {
    let expected = map.sources().len();
    let found: Vec<_> = pads.iter().map(PanoweaveStitchPad::index).collect();
    if found.iter().copied().eq(0..expected) {
        return Ok(());
    }
    let found = found.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    Err(StitchFailure::Cameras { map: map.name().to_owned(), expected, found })
}
