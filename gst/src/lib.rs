//! GStreamer elements that stitch the videos of 1 to 16 cameras into a panorama, on an NVIDIA GPU or the CPU.
//!
//! `stitch` is the element `panoweavestitch`. `doc/gstreamer.md` has pipelines.
//!
//! This crate converts between GStreamer and the library `panoweave`: caps to frame formats, properties to options,
//! errors to messages. It does not stitch, and it does not link CUDA.

#![allow(
    missing_docs,
    unreachable_pub,
    reason = "the macros of glib and gst generate public items without documentation"
)]

mod stitch;

use gst::glib;

fn plugin_init(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    stitch::register(plugin)
}

gst::plugin_define!(
    panoweave,
    env!("CARGO_PKG_DESCRIPTION"),
    plugin_init,
    env!("CARGO_PKG_VERSION"),
    // One of the licences that GStreamer knows. They do not include "MIT OR Apache-2.0".
    "MIT/X11",
    env!("CARGO_PKG_NAME"),
    env!("CARGO_PKG_NAME"),
    "panoweave",
    "2026-11-26"
);
