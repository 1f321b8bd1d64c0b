//! Operations that launch kernels on a device, mostly on frames and pictures. The operations start no threads; only
//! [`live`](crate::live) does.

pub mod colour;
pub mod convolve;
pub(crate) mod cut;
pub mod features;
pub mod matching;
pub mod multiband;
pub mod photometry;
pub mod refine;
pub mod resample;
pub mod seam;
pub mod ssim;
pub mod stitch;
pub mod trajectory;
pub mod view;
pub mod vitals;
