//! The live stitcher: frames in, panoramas out.

mod input;
mod order;
mod several;
