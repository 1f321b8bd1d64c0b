//! Selects the `ptxas` programs to try.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::tool::{self, find_tool};

/// The environment variables that select a `ptxas`. The first variable names the program, or
/// disables `ptxas` if it is empty. The other two name CUDA installations.
pub(crate) const VARIABLES: [&str; 3] =
    ["CUDA_BUILDER_PTXAS", tool::INSTALLATIONS[0], tool::INSTALLATIONS[1]];

/// The `ptxas` programs to try.
pub(crate) struct Candidates {
    /// The paths of the programs, in the order in which to try them.
    pub(crate) programs: Vec<PathBuf>,
    /// Whether the user named the program. If so, it is an error if the program cannot be started.
    pub(crate) wanted: bool,
}

impl Candidates {
    pub(crate) fn find(named: Option<&Path>) -> Self {
        let [variable, ..] = VARIABLES;
        if let Some(named) = named.map(OsString::from).or_else(|| env::var_os(variable)) {
            let programs = if named.is_empty() { Vec::new() } else { vec![PathBuf::from(named)] };
            return Self { programs, wanted: true };
        }
        Self { programs: find_tool("ptxas"), wanted: false }
    }
}
