//! The subcommands, one module each.

pub(crate) mod doctor;
pub(crate) mod new;
pub(crate) mod profile;
pub(crate) mod ptx;
pub(crate) mod sanitize;
pub(crate) mod sass;
pub(crate) mod test;
