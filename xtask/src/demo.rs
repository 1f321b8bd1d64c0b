//! `cargo xtask demo`: the first thing a newcomer runs.

use crate::Result;
use crate::cargo::{self, cargo, target};

/// Builds and runs the example `demo` with an output folder; further arguments are passed on.
pub(crate) fn run(arguments: &[&str]) -> Result {
    let folder = target().join("demo");
    cargo::run(
        cargo(&["run", "--release", "--package", "panoweave", "--example", "demo", "--"])
            .arg(folder)
            .args(arguments),
    )
}
