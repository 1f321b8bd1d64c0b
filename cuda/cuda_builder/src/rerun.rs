//! Prints the inputs of the build, so that cargo runs the build script again after an input has
//! changed.

use crate::metadata::KernelCrate;
use crate::{core_source, ptxas};

/// Prints one `rerun-if` line for each source path and environment variable that the build uses.
///
/// After such a line, cargo watches only the printed paths and not the whole package of the build
/// script.
pub(crate) fn announce(kernels: &KernelCrate) {
    for path in &kernels.sources {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    for variable in [core_source::VARIABLE].iter().chain(&ptxas::VARIABLES) {
        println!("cargo:rerun-if-env-changed={variable}");
    }
}
