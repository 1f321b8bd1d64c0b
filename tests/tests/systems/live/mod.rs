//! Tests of the live stitcher: its input, the order and content of its panoramas, several stitchers at once, cameras
//! with unequal rates or without frames, wakers that call the stitcher, and photographs as cameras with drifting
//! exposure.

mod absent;
mod compared;
mod failure;
mod held;
mod input;
mod lost_camera;
mod many;
mod mixed_formats;
mod order;
mod outside;
mod several;
mod timing;
mod wakers;
