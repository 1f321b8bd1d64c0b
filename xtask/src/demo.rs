//! `cargo xtask demo`: stitches a synthetic scene. This shows that the build works, and gives an impression of the
//! program.

use crate::Result;
use crate::cargo::{self, cargo, target};

/// Builds and runs the example program `demo`, whose first argument is the output folder `target/demo`, and the
/// others are `arguments`.
pub(crate) fn run(arguments: &[&str]) -> Result {
    let folder = target().join("demo");
    cargo::run(
        cargo(&["run", "--release", "--package", "panoweave-examples", "--bin", "demo", "--"])
            .arg(folder)
            .args(arguments),
    )
}
