//! `cargo xtask soak`: runs the live stitcher for a long time to find leaks, on the GPU if there is one.

use crate::Result;
use crate::cargo::{self, cargo};

/// Builds the program `soak` and runs it with `arguments`.
pub(crate) fn run(arguments: &[&str]) -> Result {
    let program = ["run", "--release", "--package", "panoweave-soak", "--"];
    cargo::run(cargo(&program).args(arguments))
}
