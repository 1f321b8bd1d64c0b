//! Reading files that describe cameras: rigs, homographies, calibrations.

mod calibration;
mod homography;
mod rig;
