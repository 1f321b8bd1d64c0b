//! Calibration from correspondences: made-up cameras whose answer is known, outside truth, refusals.

mod outside;
mod pairs;
mod refusals;
mod rigs;
mod several;
