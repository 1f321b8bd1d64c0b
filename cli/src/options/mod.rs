//! Options that several subcommands share, and their values.

pub(crate) mod blend;
pub(crate) mod gate;
pub(crate) mod inputs;
pub(crate) mod look;
pub(crate) mod map;
pub(crate) mod recipe;
pub(crate) mod values;
pub(crate) mod view;
