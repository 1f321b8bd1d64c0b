//! The subcommands, one module each: options, work and output.

pub(crate) mod calibrate;
pub(crate) mod calibrated;
pub(crate) mod compare;
pub(crate) mod features;
pub(crate) mod info;
pub(crate) mod quality;
pub(crate) mod stitch;
pub(crate) mod trajectory;
pub(crate) mod video;
pub(crate) mod warp;
