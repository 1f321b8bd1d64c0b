//! Tests of matching, from pictures to correspondences: kernels compared with naive searches, generated rotations and
//! exposures, real pairs with external homographies, and unrelated pictures.

mod kernels;
mod made_up;
mod real;
mod unrelated;
