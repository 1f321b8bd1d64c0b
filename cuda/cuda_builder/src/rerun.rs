//! Tells the outer cargo when a build script has to run again.

use crate::metadata::KernelCrate;
use crate::{core_source, ptxas};

/// Prints the lines that cargo reads from a build script.
///
/// Once one of them is printed, cargo no longer watches the whole package of the build script.
pub(crate) fn announce(kernels: &KernelCrate) {
    for path in &kernels.sources {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    for variable in [core_source::VARIABLE].iter().chain(&ptxas::VARIABLES) {
        println!("cargo:rerun-if-env-changed={variable}");
    }
}
