//! `cargo xtask demo`: stitches a synthetic scene, to show that the build works and what the program does.

use crate::Result;
use crate::cargo::{self, cargo, target};

/// Builds and runs the example `demo`. Its arguments are the output folder `target/demo` and then `arguments`.
pub(crate) fn run(arguments: &[&str]) -> Result {
    let folder = target().join("demo");
    cargo::run(
        cargo(&["run", "--release", "--package", "panoweave", "--example", "demo", "--"])
            .arg(folder)
            .args(arguments),
    )
}
