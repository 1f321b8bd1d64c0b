//! The live stitcher on a failing driver: at each of its calls, once and permanently, and in the colour analysis
//! alone.
//!
//! Required behaviour: a failure that CUDA recovers from costs no complete pair. If nothing works any more, the
//! stitcher reports the reason, accounts for every pair and releases all waiting threads. A lost GPU reports no
//! success. Frames never wait for the analysis.

mod every_call;
mod fake;
mod parts;
mod run;
