//! Tests of the live stitcher: its input, the order and content of its panoramas, and several stitchers at once.

mod input;
mod order;
mod several;
