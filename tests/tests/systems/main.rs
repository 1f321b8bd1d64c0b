//! Tests of each system, in a module with the system's name.
//!
//! All tests run in parallel in one process. Tests that need their own process are in `alone`, and tests that run
//! cargo are in `builds`.

mod calibrate;
mod colour;
mod convolve;
mod features;
mod formats;
mod frame_statistics;
mod geometry;
mod io;
mod live;
mod malformed;
mod matching;
mod multiband;
mod on_cpu;
mod panorama;
mod photometry;
mod preview;
mod ptx;
mod quality;
mod refine;
mod resample;
mod seam;
mod sets;
mod ssim;
mod stitch;
mod ten_bit;
mod trajectory;
mod view;
mod warp;
