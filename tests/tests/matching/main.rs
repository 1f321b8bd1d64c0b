//! Pictures to correspondences: kernels against naive searches, made-up turns and exposures, and real pairs whose
//! homographies others found.

mod kernels;
mod made_up;
mod real;
