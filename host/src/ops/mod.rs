//! Operations that launch kernels on a device, mostly on frames and pictures. They start no threads;
//! [`live`](crate::live) does.

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
