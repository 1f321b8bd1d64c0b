//! `cargo xtask soak`: runs live video for a long time, on the GPU if there is one.

use crate::Result;
use crate::cargo::{self, cargo};

/// Builds and runs the program `soak` with all arguments.
pub(crate) fn run(arguments: &[&str]) -> Result {
    let program = ["run", "--release", "--package", "panoweave-soak", "--"];
    cargo::run(cargo(&program).args(arguments))
}
