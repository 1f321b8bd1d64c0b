//! The live stitcher with a driver whose calls fail: each call in turn, once or permanently, and only the calls of one
//! part, such as the colour analysis.
//!
//! Required behaviour: after a failure that CUDA recovers from, no complete pair is lost. If no call works any more,
//! the stitcher reports the reason, accounts for every pair and releases all waiting threads. After the GPU is lost,
//! no operation reports success. Frames never wait for the analysis.

mod every_call;
mod fake;
mod parts;
mod run;
