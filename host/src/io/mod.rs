//! Files: pictures, text and video.
//!
//! Pictures, text files and encoded videos are written to a temporary file first and then renamed, so that a reader
//! never sees an incomplete file. Streams of frames are written directly.

pub mod picture;
mod replace;
pub mod text;
pub mod video;

pub use replace::remove_unfinished;
pub(crate) use replace::{Unfinished, folder_of, replace, temporary_beside};
