//! Stitches video files: reads two videos, stitches them pair by pair, and writes the panoramas.
//!
//! [`stitch_video`] connects two [`VideoSource`](crate::io::video::VideoSource)s and a [`VideoSink`](crate::io::video::VideoSink);
//! [`compare_videos`] compares two videos. Memory does not grow with the length of a video.
//!
//! Frames are paired by number and rate, starting with the first frame of both videos. Different start times and clock
//! drift are not corrected.

mod compare;
mod error;
mod measure;
mod pairs;
mod run;

pub use compare::{AtFrame, CompareError, Comparison, FrameSimilarity, compare_videos};
pub use error::VideoStitchError;
pub use measure::{Stitched, for_each_pair, stitch_each};
pub use run::{Progress, Summary, VideoOptions, stitch_video};
