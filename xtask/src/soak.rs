//! `cargo xtask soak`: live video for long, on the GPU where there is one.

use crate::Result;
use crate::cargo::{self, cargo};

/// Builds and runs the program `soak`, which all arguments are for.
pub(crate) fn run(arguments: &[&str]) -> Result {
    let program = ["run", "--release", "--package", "panoweave-soak", "--"];
    cargo::run(cargo(&program).args(arguments))
}
