//! Stitches video files: reads the videos of 1 to 16 cameras, stitches them set by set, and writes the panoramas.
//!
//! [`stitch_video`] connects [`VideoSource`](crate::io::video::VideoSource)s and a
//! [`VideoSink`](crate::io::video::VideoSink); [`compare_videos`] compares two videos. Memory does not grow with the
//! length of a video.
//!
//! Frames are selected by time. By default, all videos start together; the [`Offset`] of a video states its start and
//! the drift of its clock, and [`sound`] finds offsets.

mod compare;
mod error;
mod feeds;
mod measure;
mod run;
pub mod sound;
mod sync;

pub use compare::{AtFrame, CompareError, Comparison, FrameSimilarity, compare_videos};
pub use error::VideoStitchError;
pub use measure::{Stitched, for_each_set, stitch_each};
pub use run::{Progress, StageTimes, Summary, VideoOptions, check_depths, stitch_video};
pub use sync::{MAX_OFFSET, Offset};
