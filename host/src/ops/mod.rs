//! Operations that launch kernels on a device, mostly on frames and pictures. The operations start no threads; only
//! [`live`](crate::live) does.

pub mod blend;
pub mod colour;
pub mod convolve;
pub mod features;
pub mod frame_statistics;
pub(crate) mod graph_cut;
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
