//! From pictures to correspondences: kernels against naive searches, generated turns and exposures, real pairs with
//! external homographies, and unrelated pictures.

mod kernels;
mod made_up;
mod real;
mod unrelated;
