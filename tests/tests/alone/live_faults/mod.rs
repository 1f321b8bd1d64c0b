//! Tests of the live stitcher with a fake driver. The tests make its calls fail: each call in turn, with and without
//! all later calls, or only the calls of one part of the stitcher, such as the colour analysis.
//!
//! The stitcher must behave as follows:
//!
//! - A single failure from which CUDA recovers loses no pair of frames.
//! - If every call fails, the stitcher reports the reason, accounts for every pair and releases all waiting threads.
//! - After a fatal error of the GPU, no operation reports success.
//! - Frames never wait for the colour analysis.

mod every_call;
mod fake;
mod parts;
mod run;
