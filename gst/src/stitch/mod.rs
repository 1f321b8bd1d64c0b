//! The element `panoweavestitch`.
//!
//! | file | contents |
//! |---|---|
//! | `element` | the subclass of `GstVideoAggregator`: properties, states, queries |
//! | `caps` | the caps of the pads |
//! | `running` | the session while the element runs: from selected frames to a panorama |
//! | `pad` | the request pads `sink_%u` and their properties |
//! | `settings` | the properties of the element, and the options that they select |
//! | `map` | the rig or the warp file: sizes of pictures and panorama |
//! | `formats` | video infos as frame formats |
//! | `input`, `allocator`, `cuda` | mapped frames, in host memory and in CUDA memory |
//! | `stitching` | the session for the negotiated formats |
//! | `report` | messages on the bus about cameras, health and colours |
//! | `error` | errors, and the domains of their messages on the bus |

mod allocator;
mod caps;
mod cuda;
mod element;
mod error;
mod formats;
mod input;
mod map;
mod mapped;
mod pad;
mod report;
mod running;
mod settings;
mod stitching;

use gst::glib;
use gst::prelude::*;

glib::wrapper! {
    /// The element `panoweavestitch`: stitches one video per request pad into a panorama.
    pub(crate) struct PanoweaveStitch(ObjectSubclass<element::Element>)
        @extends gst_video::VideoAggregator, gst_base::Aggregator, gst::Element, gst::Object,
        @implements gst::ChildProxy;
}

glib::wrapper! {
    /// A request pad of `panoweavestitch`: the video of one camera.
    pub(crate) struct PanoweaveStitchPad(ObjectSubclass<pad::CameraPad>)
        @extends gst_video::VideoAggregatorPad, gst_base::AggregatorPad, gst::Pad, gst::Object;
}

/// Registers the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    let kind = PanoweaveStitch::static_type();
    gst::Element::register(Some(plugin), "panoweavestitch", gst::Rank::NONE, kind)
}
