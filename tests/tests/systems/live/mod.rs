//! Tests of the live stitcher: its input, the order and content of its panoramas, several stitchers at once, and
//! cameras with unequal rates or without frames.

mod absent;
mod failure;
mod input;
mod lost_camera;
mod many;
mod mixed_formats;
mod order;
mod outside;
mod several;
mod timing;
