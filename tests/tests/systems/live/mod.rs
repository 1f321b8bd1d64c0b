//! Tests of the live session: its input, the order and content of its panoramas, several outputs, several sessions at once, cameras
//! with unequal rates or without frames, and photographs as cameras with drifting exposure.

mod absent;
mod compared;
mod controls;
mod failing;
mod input;
mod many;
mod mixed_formats;
mod order;
mod outputs;
mod outside;
mod several;
