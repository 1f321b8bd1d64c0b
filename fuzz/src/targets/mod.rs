//! The targets, in a file per system of the library.

pub(crate) mod devices;
pub(crate) mod geometry;
pub(crate) mod names;
pub(crate) mod picture;
pub(crate) mod trajectory;
pub(crate) mod video;
pub(crate) mod warp;

/// The name of the input in error messages. Relative paths in the input are looked up in a folder that does not exist.
const NAME: &str = "/nonexistent/input";
