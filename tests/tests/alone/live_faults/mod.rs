//! The live stitcher on a driver that fails: at each of its calls, once and for ever, and in the analysis
//! of colours alone.
//!
//! What must hold: a failure that CUDA recovers from costs no complete pair; where nothing works any more
//! the stitcher says why, accounts for every pair and lets everybody go; a lost GPU reports no success;
//! frames never stop for the analysis.

mod every_call;
mod fake;
mod parts;
mod run;
