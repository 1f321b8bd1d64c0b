//! Pictures to correspondences: kernels against naive searches, made-up turns and exposures, real pairs whose
//! homographies others found, and pictures that have nothing to do with each other.

mod kernels;
mod made_up;
mod real;
mod unrelated;
