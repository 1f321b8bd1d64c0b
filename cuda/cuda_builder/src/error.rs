//! The error type. Every message states what failed, where it failed, and the remedy, because the
//! message is the last output of a failed build script.

use crate::Arch;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why [`CudaBuilder::build`](crate::CudaBuilder::build) failed.
///
/// `Debug` also prints the message, because many build scripts end in `.unwrap()`.
#[derive(thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the text of a variant names its fields")]
pub enum BuildError {
    /// A file or folder could not be read, written or locked.
    #[error(
        "cannot {operation} `{}`: {source}; check that the path exists and is accessible, and that \
         the disk is not full",
        path.display()
    )]
    Io { operation: &'static str, path: PathBuf, source: io::Error },
    /// A program could not be started.
    #[error("cannot start `{program}` to {operation}: {source}; install it or put it in PATH")]
    Start { program: String, operation: &'static str, source: io::Error },
    /// The kernel crate does not compile. `stderr` is the error output of cargo.
    #[error(
        "cannot compile `{kernel_crate}` for {arch}; the compiler reports:\n{stderr}{}",
        remedies(stderr)
    )]
    Compile { kernel_crate: String, arch: Arch, stderr: String },
    /// Anything else: an unusable kernel crate or toolchain, a missing source of `core`, PTX that
    /// breaks a rule, or PTX that `ptxas` rejects.
    #[error("{0}")]
    Invalid(String),
}

impl BuildError {
    /// Returns a closure for `map_err` that adds the operation and the path to an I/O error.
    pub(crate) fn io<'a>(
        operation: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { operation, path: path.to_owned(), source }
    }
}

impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Text fragments of common compiler errors, most of them of programs written for rust-cuda, each
/// with its remedy.
const REMEDIES: [(&str, &str); 5] = [
    (
        "can't find crate for `alloc`",
        "enable the feature `alloc` of `cuda_std` in the kernel crate's Cargo.toml, or delete \
         `extern crate alloc` if nothing allocates",
    ),
    (
        "find attribute `register_attr`",
        "delete `feature(register_attr)` and `register_attr(nvvm_internal)`: rustc 1.65 removed \
         them, and `#[kernel]` does not need them",
    ),
    ("find `vek` in `cuda_std`", "enable the feature `vek` of `cuda_std`"),
    (
        "because --locked was passed",
        "the dependencies changed: run `cargo update --workspace` in the folder of that lock file",
    ),
    (
        "unsupported library call operation",
        "LLVM has no code for an operation of a kernel; one is a conversion between a 128-bit \
         integer and a floating-point number: convert the two 64-bit halves separately",
    ),
];

/// Returns the remedies for the known errors in the compiler's output, one per line.
fn remedies(stderr: &str) -> String {
    let known = REMEDIES.iter().filter(|(error, _)| stderr.contains(error));
    known.map(|(_, remedy)| format!("\nhelp: {remedy}")).collect()
}
