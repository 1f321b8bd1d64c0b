//! The subclass of `GstVideoAggregator`: properties, states, queries.
//!
//! The base class collects one buffer of each pad for every output frame. It repeats the last buffer of a pad whose
//! next one is late, and it drops output frames that downstream would show too late (QoS).

use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use gst::glib;
use gst_base::subclass::prelude::*;
use gst_video::prelude::*;
use gst_video::subclass::AggregateFramesToken;
use gst_video::subclass::prelude::*;
use gst_video::{VideoFormat, VideoInfo};
use panoweave::device::DeviceName;

use super::allocator::HostAllocator;
use super::error::StitchFailure;
use super::map::{Map, no_map};
use super::pad::{can_seek, has_ended, has_running_time};
use super::running::{HELD, Opened, Running, Selected};
use super::settings::{self, Properties, Settings, lock};
use super::{PanoweaveStitchPad, caps, cuda, formats};

/// The debug category, for `GST_DEBUG=panoweavestitch:6`.
static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "panoweavestitch",
        gst::DebugColorFlags::empty(),
        Some("panoweave: stitches the videos of several cameras"),
    )
});

/// The implementation of the element.
#[derive(Debug, Default)]
pub(crate) struct Element {
    properties: Mutex<Properties>,
    state: Mutex<State>,
    /// The session, which is locked while it stitches.
    running: Mutex<Running>,
}

/// The state that queries need. It is never locked during a query or while the device works.
#[derive(Debug, Default)]
struct State {
    /// The device, outside the state NULL.
    opened: Option<Opened>,
    /// The rig or the warp file, between the start and the stop of the element.
    map: Option<Arc<Map>>,
    /// The last warning about caps.
    warned: Option<String>,
}

#[glib::object_subclass]
impl ObjectSubclass for Element {
    const NAME: &'static str = "GstPanoweaveStitch";
    type Type = super::PanoweaveStitch;
    type ParentType = gst_video::VideoAggregator;
    type Interfaces = (gst::ChildProxy,);
}

impl ObjectImpl for Element {
    fn properties() -> &'static [glib::ParamSpec] {
        settings::properties()
    }

    fn set_property(&self, _id: usize, value: &glib::Value, spec: &glib::ParamSpec) {
        lock(&self.properties).set(spec.name(), value);
    }

    fn property(&self, _id: usize, spec: &glib::ParamSpec) -> glib::Value {
        lock(&self.properties).get(spec)
    }
}
impl GstObjectImpl for Element {}

impl ElementImpl for Element {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Panorama stitcher",
                "Filter/Editor/Video/Compositor",
                "Stitches the videos of 1 to 16 cameras into a panorama, on a GPU or the CPU",
                "The panoweave authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: OnceLock<Vec<gst::PadTemplate>> = OnceLock::new();
        TEMPLATES.get_or_init(|| {
            let caps = caps::template(cuda::is_available());
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
        let map = self.open().and_then(|()| Map::open(&self.settings()?));
        lock(&self.state).map = Some(Arc::new(map.map_err(|error| error.message())?));
        if self.cameras().is_empty() {
            gst::element_imp_warning!(self, gst::StreamError::Failed, ("no camera is linked yet"));
        }
        self.parent_start()
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        lock(&self.state).map = None;
        lock(&self.state).warned = None;
        *lock(&self.running) = Running::default();
        self.cameras().iter().for_each(PanoweaveStitchPad::clear);
        self.parent_stop()
    }

    fn update_src_caps(&self, downstream: &gst::Caps) -> Result<gst::Caps, gst::FlowError> {
        // At the first deadline of a live pipeline, perhaps no camera has started. The base class would return no caps,
        // which its binding cannot represent.
        if self.cameras().iter().all(|pad| pad.video_info().is_none()) {
            return Err(gst_base::AGGREGATOR_FLOW_NEED_DATA);
        }
        self.parent_update_src_caps(downstream)
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
                if caps.is_empty()
                    && let Some(filter) = query.filter()
                {
                    self.warn(pad, filter);
                }
                query.set_result(&caps);
                true
            }
            gst::QueryViewMut::AcceptCaps(query) => {
                let accepted = query.caps().can_intersect(&self.sink_caps(pad));
                if !accepted {
                    self.warn(pad, query.caps());
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

    fn clip(&self, pad: &gst_base::AggregatorPad, buffer: gst::Buffer) -> Option<gst::Buffer> {
        has_running_time(pad, &buffer).then(|| self.parent_clip(pad, buffer))?
    }

    fn src_event(&self, event: gst::Event) -> bool {
        match event.view() {
            gst::EventView::Seek(seek) if !can_seek(&self.cameras(), seek) => false,
            _ => self.parent_src_event(event),
        }
    }

    fn propose_allocation(
        &self,
        pad: &gst_base::AggregatorPad,
        decided: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(pad, decided, query)?;
        query.add_allocation_meta::<gst_video::VideoMeta>(None);
        let (Some(caps), _) = query.get_owned() else { return Ok(()) };
        if let Some((pool, size)) = self.pool(&caps, HELD, 0) {
            query.add_allocation_pool(Some(&pool), size, HELD, 0);
        } else if let (Some(opened), Ok(info)) =
            (lock(&self.state).opened.clone(), VideoInfo::from_caps(&caps))
        {
            let allocator = HostAllocator::new(opened.device);
            query.add_allocation_param(Some(&allocator), gst::AllocationParams::default());
            // The pool of the element upstream allocates that many frames.
            let size = u32::try_from(info.size()).unwrap_or(u32::MAX);
            query.add_allocation_pool(gst::BufferPool::NONE, size, HELD, 0);
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
            && caps::is_of_cuda(&caps)
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
        // The first camera may be silent.
        let cameras = self.cameras();
        let Some(first) = cameras.iter().find_map(|pad| pad.video_info()) else {
            return Err(gst::loggable_error!(CAT, "no camera has caps"));
        };
        for pad in &cameras {
            let Some(info) = pad.video_info() else { continue };
            let [own, others] = [info, first.clone()].map(|info| info.colorimetry());
            if !formats::are_alike(&own, &others) {
                let name = pad.name();
                gst::element_imp_warning!(
                    self,
                    gst::StreamError::Format,
                    ("{name} has the colorimetry {own}, but another camera has {others}; their levels are mixed without conversion; convert one of the videos with videoconvert")
                );
            }
        }
        let state = lock(&self.state);
        let Some(map) = &state.map else {
            return Err(gst::loggable_error!(CAT, "the element has not started"));
        };
        let settings = self.settings().map_err(|error| gst::loggable_error!(CAT, "{error}"))?;
        let size = settings.view_size().unwrap_or_else(|| map.size());
        let with_cuda = state.opened.as_ref().is_some_and(|opened| opened.context.is_some());
        let wanted = caps::of_panorama(&first, size, with_cuda);
        Ok(wanted.intersect_with_mode(downstream, gst::CapsIntersectMode::First))
    }

    fn aggregate_frames(
        &self,
        token: &AggregateFramesToken<'_>,
        output: &mut gst::BufferRef,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        let pads = self.cameras();
        let taken: Vec<_> = pads.iter().map(|pad| pad.take(token)).collect();
        let live = self.is_live();
        if has_ended(&pads, &taken, live, token) {
            gst::info!(CAT, imp = self, "the panorama ends");
            return Err(gst::FlowError::Eos);
        }
        let Some(info) = self.obj().video_info() else {
            return Err(gst::FlowError::NotNegotiated);
        };
        let stitched = self.stitch(Selected { pads, taken, live }, &info, output);
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
    fn settings(&self) -> Result<Settings, StitchFailure> {
        lock(&self.properties).settings()
    }

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

    /// Stitches frames, in the order of the cameras, to an output buffer with the format `info`.
    fn stitch(
        &self,
        selected: Selected,
        info: &VideoInfo,
        output: &mut gst::BufferRef,
    ) -> Result<(), StitchFailure> {
        let settings = self.settings()?;
        let (opened, map) = {
            let state = lock(&self.state);
            (state.opened.clone(), state.map.clone())
        };
        let (Some(opened), Some(map)) = (opened, map) else { return Err(no_map()) };
        lock(&self.running).stitch(&opened, &map, &settings, selected, info, output)
    }

    /// Returns whether a camera upstream is live.
    fn is_live(&self) -> bool {
        let known = lock(&self.running).is_live();
        let ask = || {
            let mut query = gst::query::Latency::new();
            self.obj().src_pad().query(&mut query) && query.result().0
        };
        known.unwrap_or_else(ask)
    }

    /// Posts the messages that are due at the time of a panorama.
    fn report(&self, time: gst::ClockTime) {
        let Ok(settings) = self.settings() else { return };
        let messages = lock(&self.running).messages(time, &settings);
        for structure in messages {
            let message = gst::message::Element::builder(structure).src(&*self.obj()).build();
            // Without a bus, nobody reads messages.
            let _ = self.obj().post_message(message);
        }
    }

    /// Opens the device, and shares its context with the other elements.
    fn open(&self) -> Result<(), StitchFailure> {
        let name = self.settings()?.device;
        if lock(&self.state).opened.as_ref().is_some_and(|opened| opened.name == name) {
            return Ok(());
        }
        let device = name.parse::<DeviceName>().map_err(StitchFailure::settings)?.open()?;
        let context = cuda::Context::of(&device);
        if let Some(context) = &context {
            context.share(self.obj().upcast_ref());
        }
        lock(&self.state).opened = Some(Opened { name, device, context });
        Ok(())
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
        if !caps::is_of_cuda(caps) {
            return None;
        }
        self.context()?.pool(caps, &VideoInfo::from_caps(caps).ok()?, least, most)
    }

    /// Returns the caps that a pad accepts, with the size of its camera.
    fn sink_caps(&self, pad: &gst_base::AggregatorPad) -> gst::Caps {
        let index = pad.downcast_ref::<PanoweaveStitchPad>().map(PanoweaveStitchPad::index);
        let state = lock(&self.state);
        let with_cuda = state.opened.as_ref().is_some_and(|opened| opened.context.is_some());
        let sources = state.map.as_ref().map(|map| map.sources()).unwrap_or_default();
        let size = index.and_then(|index| sources.get(index)).copied();
        caps::of_camera(size, self.other_format(pad), with_cuda)
    }

    /// Posts a warning with the reason why a pad does not accept caps. The error upstream does not name it.
    fn warn(&self, pad: &gst_base::AggregatorPad, caps: &gst::CapsRef) {
        let Some(camera) = pad.downcast_ref::<PanoweaveStitchPad>() else { return };
        let (camera, map) = (camera.index(), lock(&self.state).map.clone());
        let text = caps::error(caps, &pad.name(), camera, map.as_deref(), self.other_format(pad));
        let Some(text) = text else { return };
        // A pad is asked several times.
        if lock(&self.state).warned.replace(text.clone()).as_ref() != Some(&text) {
            gst::element_imp_warning!(self, gst::StreamError::Format, ("{text}"));
        }
    }

    /// Returns the format of another camera's frames, if the caps of one are known.
    fn other_format(&self, pad: &gst_base::AggregatorPad) -> Option<VideoFormat> {
        let others = self.obj().sink_pads().into_iter().filter(|other| other != pad);
        others.filter_map(|other| caps::format(other.current_caps()?.as_ref())).next()
    }
}
