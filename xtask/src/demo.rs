//! `cargo xtask demo`: stitches a synthetic scene, as a first run for newcomers.

use crate::Result;
use crate::cargo::{self, cargo, target};

/// Builds and runs the example `demo` with an output folder, and passes further arguments on.
pub(crate) fn run(arguments: &[&str]) -> Result {
    let folder = target().join("demo");
    cargo::run(
        cargo(&["run", "--release", "--package", "panoweave", "--example", "demo", "--"])
            .arg(folder)
            .args(arguments),
    )
}
