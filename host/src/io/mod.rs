//! Files: pictures, text and video. Writers replace a file in one step, so a reader never sees half a file.

pub mod picture;
mod replace;
pub mod text;
pub mod video;

pub use replace::remove_unfinished;
pub(crate) use replace::{Unfinished, folder_of, replace, temporary_beside};
