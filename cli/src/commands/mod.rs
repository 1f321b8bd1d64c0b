//! The subcommands. Each module contains the options, the work and the output of one subcommand.

pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod features;
pub(crate) mod info;
pub(crate) mod man;
pub(crate) mod quality;
pub(crate) mod rig;
pub(crate) mod run;
pub(crate) mod stitch;
pub(crate) mod trajectory;
pub(crate) mod video;
pub(crate) mod warp;
