//! Options that several subcommands share, and the parsers of their values.

pub(crate) mod blend;
pub(crate) mod fail_below;
pub(crate) mod input_limits;
pub(crate) mod inputs;
pub(crate) mod mask;
pub(crate) mod max_pixels;
pub(crate) mod recipe;
pub(crate) mod shape;
pub(crate) mod stitching;
pub(crate) mod sync;
pub(crate) mod values;
pub(crate) mod view;
pub(crate) mod warp;
