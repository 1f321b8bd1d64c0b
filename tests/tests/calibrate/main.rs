//! Calibration from correspondences: made-up cameras whose answer is known, outside truth, refusals.

mod made_up;
mod outside;
mod pairs;
mod refusals;
mod rigs;
mod several;
