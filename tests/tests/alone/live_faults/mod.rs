//! Tests of the live stitcher with a fake driver whose calls fail: each call in turn, alone or with all later calls,
//! and only the calls of one part, such as the colour analysis.
//!
//! Required behaviour: a single failure that CUDA recovers from loses no complete pair. If no call works any more, the
//! stitcher reports the reason, accounts for every pair and releases all waiting threads. After the GPU is lost, no
//! operation reports success. Frames never wait for the colour analysis.

mod every_call;
mod fake;
mod parts;
mod run;
