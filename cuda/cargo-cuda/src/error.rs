//! The error type of the program.

use std::fmt;
use std::io;
use std::path::Path;

use cuda_builder::BuildError;

/// The reason why a subcommand failed: a message that names the operation, the place and the remedy.
#[derive(Debug)]
pub(crate) struct Error(String);

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Returns a closure for `map_err` that adds the operation, as a verb, and the path to an I/O error.
    pub(crate) fn io<'a>(
        operation: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> Self + 'a {
        move |error| {
            let path = path.display();
            Self(format!("cannot {operation} `{path}`: {error}; check that the path is accessible"))
        }
    }

    /// Returns a closure for `map_err` that adds the program and its purpose to an I/O error.
    pub(crate) fn start<'a>(
        program: &'a str,
        operation: &'static str,
    ) -> impl FnOnce(io::Error) -> Self + 'a {
        move |error| {
            Self(format!(
                "cannot start `{program}` to {operation}: {error}; install it or put it in PATH"
            ))
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<BuildError> for Error {
    fn from(error: BuildError) -> Self {
        Self(error.to_string())
    }
}
