//! Reads and writes files: pictures, text and video.
//!
//! Pictures, text files and encoded videos are written to another file first, which is then renamed. So other programs
//! never read an incomplete file. Streams of frames are written directly to their file or pipe.

mod conversion;
pub mod picture;
mod replace;
pub mod text;
pub mod video;

pub use conversion::Conversion;
pub use replace::remove_unfinished;
pub(crate) use replace::{Target, folder_of, replace, temporary_beside};
