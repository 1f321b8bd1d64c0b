//! Options that several subcommands share, and the parsers of their values.

pub(crate) mod fail_below;
pub(crate) mod job;
pub(crate) mod values;
