//! Tests of the live session with a fake driver. The tests make its calls fail: each call in turn, with and without
//! all later calls, or only the calls of one part of the session, such as the colour analysis.
//!
//! The session must behave as follows:
//!
//! - A single failure from which CUDA recovers loses no pair of frames.
//! - If every call fails, the session reports the reason, accounts for every pair and releases all waiting threads.
//! - After a fatal error of the GPU, no operation reports success.
//! - Frames never wait for the colour analysis.

mod every_call;
mod fake;
mod parts;
mod run;
