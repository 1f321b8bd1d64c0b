//! Tests of each system, in a folder with the system's name.
//!
//! All run in one process, side by side. A test that needs a process of its own is in `alone`, one that runs cargo in
//! `builds`.

mod calibrate;
mod colour;
mod convolve;
mod features;
mod geometry;
mod io;
mod kit;
mod live;
mod malformed;
mod matching;
mod panorama;
mod quality;
mod resample;
mod seam;
mod ssim;
mod stitch;
mod trajectory;
mod view;
mod warp;
