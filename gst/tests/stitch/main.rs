//! Tests the element `panoweavestitch` with harnesses of gst-check and in pipelines.
//!
//! The element always stitches on the CPU here. `cargo xtask test` runs these tests if GStreamer can be found or
//! downloaded.

mod bad_streams;
mod caps;
mod errors;
mod flow;
mod launch;
mod live;
mod network;
mod pixels;
mod support;
