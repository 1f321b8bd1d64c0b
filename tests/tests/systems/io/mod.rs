//! Tests that read and write picture and video files.

mod nvdec;
mod picture;
mod sixteen_bit;
