//! Pictures to correspondences: kernels against formulas in f64, made-up turns and exposures, and real pairs whose
//! homographies others found.

mod real;
