//! Tests of the files that describe cameras: rigs, homographies and calibrations.

mod calibration;
mod homography;
mod rig;
