//! Operations on frames and pictures: each launches kernels on a device.

pub mod colour;
pub mod convolve;
pub mod features;
pub mod matching;
pub mod resample;
pub mod seam;
pub mod ssim;
pub mod stitch;
pub mod trajectory;
pub mod view;
