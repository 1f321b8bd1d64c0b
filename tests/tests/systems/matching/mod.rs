//! Tests of matching, from pictures to correspondences. They compare the kernels with naive searches, and match
//! generated pictures with known rotations and exposures, photographs with known homographies, and unrelated pictures.

mod kernels;
mod made_up;
mod real;
mod relocate;
