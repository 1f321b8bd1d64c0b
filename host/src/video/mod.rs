//! Stitches video files: reads the videos of 2 to 16 cameras, stitches them set by set, and writes the panoramas.
//!
//! [`stitch_video`] connects [`VideoSource`](crate::io::video::VideoSource)s and a [`VideoSink`](crate::io::video::VideoSink);
//! [`compare_videos`] compares two videos. Memory does not grow with the length of a video.
//!
//! Frames are selected by number and rate, starting with the first frame of each video. Different start times and clock
//! drift are not corrected.

mod compare;
mod error;
mod feeds;
mod measure;
mod run;

pub use compare::{AtFrame, CompareError, Comparison, FrameSimilarity, compare_videos};
pub use error::VideoStitchError;
pub use measure::{Stitched, for_each_set, stitch_each};
pub use run::{Progress, Summary, VideoOptions, stitch_video};
