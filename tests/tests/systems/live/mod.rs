//! Tests of the live stitcher: its input, the order and content of its panoramas, several stitchers at once,
//! cameras with unequal rates or without frames, and photographs as cameras with drifting exposure.

mod failure;
mod input;
mod many;
mod order;
mod outside;
mod several;
mod timing;
