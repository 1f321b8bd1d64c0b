//! Videos: two are read, stitched pair by pair, and the panoramas written.
//!
//! A video is a file that `ffmpeg` reads or writes as a child process, a stream of Y4M, NV12 or RGBA frames
//! in a file or a pipe, or a sequence of pictures. [`Source`] and [`Sink`] do not tell which;
//! [`stitch_video`] connects them; [`compare_videos`] compares two. Memory does not grow with the length of a video.
//!
//! Pairing is by frame number and rate, from the first frame of both. What two cameras do not have in
//! common (clocks that drift, starts apart) is not corrected here.

mod compare;
mod error;
mod ffmpeg;
mod measure;
mod medium;
mod pairs;
mod pattern;
mod pictures;
mod rate;
mod run;
mod sink;
mod source;
mod stop;
mod stream;
mod y4m;

pub use compare::{AtFrame, CompareError, Comparison, FrameSimilarity, compare_videos};
pub use error::{VideoError, Work};
pub use ffmpeg::{Crf, Sound};
pub use measure::{Stitched, for_each_pair, stitch_each};
pub use medium::{Medium, STANDARD, StreamFormat};
pub use pattern::Pattern;
pub use rate::{MAX_INTERVAL, MAX_RATE, Rate, RateError};
pub use run::{Progress, Summary, VideoOptions, stitch_video};
pub use sink::{Output, Sink};
pub use source::{Input, Source};
pub use stop::Stop;
