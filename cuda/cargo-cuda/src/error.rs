//! The error type of the program. Each message names the operation, the place and the remedy.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use cuda_builder::{Arch, BuildError};

/// The reason why a subcommand failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A file or folder could not be read or written.
    #[error("cannot {operation} `{}`: {source}; check that the path is accessible", path.display())]
    Io {
        /// The operation that failed, as a verb.
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The folder of a new project exists.
    #[error("cannot create the project: `{}` already exists; choose another name, or delete it", path.display())]
    Exists { path: PathBuf },
    /// A package name breaks a rule.
    #[error("cannot use `{name}` as a package name: {reason}; choose another name")]
    Name {
        name: String,
        /// The broken rule, as a sentence about the name.
        reason: &'static str,
    },
    /// A folder is not a checkout of the kit.
    #[error(
        "cannot find the kit in `{}`: neither this folder nor its folder `cuda` has `cust/Cargo.toml`, \
         `cuda_std/Cargo.toml` and `cuda_builder/Cargo.toml`; correct --kit or CARGO_CUDA_KIT",
        path.display()
    )]
    NoKit { path: PathBuf },
    /// A program could not be started.
    #[error("cannot start `{program}` to {operation}: {source}; install it or put it in PATH")]
    Start {
        program: String,
        /// The purpose of the program, as a verb phrase.
        operation: &'static str,
        source: io::Error,
    },
    /// `cargo metadata` failed.
    #[error("cannot read the workspace: {reason}; run the command in the folder of a package")]
    Workspace { reason: String },
    /// The workspace has no package of this name.
    #[error("the workspace has no package `{name}`{}; correct -p", suggestion(nearest.as_deref()))]
    UnknownPackage { name: String, nearest: Option<String> },
    /// The named package has no kernels.
    #[error(
        "the package `{package}` does not depend on cuda_std, so it has no kernels; correct -p, or omit it"
    )]
    NoKernels { package: String },
    /// No package of the workspace has kernels.
    #[error(
        "no package of the workspace `{}` depends on cuda_std, so it has no kernels; run the command in another \
         folder, or create a project with `cargo cuda new`",
        workspace.display()
    )]
    NoKernelPackage { workspace: PathBuf },
    /// More than one package of the workspace has kernels.
    #[error(
        "several packages depend on cuda_std: {names}; select one with -p, or run the command in its folder"
    )]
    SeveralKernelPackages {
        /// The names, separated by commas.
        names: String,
    },
    /// The kernel package does not compile.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The builder returned no PTX.
    #[error("the build of `{package}` for {arch} returned no PTX; this is a bug in cargo-cuda")]
    NoPtx { package: String, arch: Arch },
    /// The kernel package has no kernel of this name.
    #[error(
        "there is no kernel `{name}`{}; run the command without a name to list the kernels",
        suggestion(nearest.as_deref())
    )]
    UnknownKernel { name: String, nearest: Option<String> },
    /// A kernel is in the report, but its text was not found.
    #[error("cannot find the kernel `{kernel}` in `{}`; this is a bug in cargo-cuda", file.display())]
    NoEntry { kernel: String, file: PathBuf },
    /// A tool of NVIDIA is not installed.
    #[error("cannot find `{name}`, which is needed to {purpose}; {remedy}")]
    MissingTool { name: &'static str, purpose: &'static str, remedy: &'static str },
    /// A tool of NVIDIA failed.
    #[error(
        "`{program}` failed ({status}):\n{said}\nif it is older than the PTX, install a newer version"
    )]
    Tool { program: String, status: ExitStatus, said: String },
    /// There is no usable GPU.
    #[error(
        "cannot run kernels on a GPU: {reason}; to check kernels on the CPU, use `cargo cuda test`"
    )]
    NoGpu { reason: String },
    /// The tests do not compile.
    #[error("the tests do not compile; correct the errors above")]
    Tests,
    /// The packages have no test executables.
    #[error("cargo built no test executable; add a test, or correct the arguments")]
    NoTests,
    /// No test launched a kernel on the CPU.
    #[error(
        "no test launched a kernel on the CPU, so there is no profile; write a test that launches one, with \
         `Device::cpu()` for example"
    )]
    NoLaunches,
    /// A profile has an unknown format.
    #[error(
        "cannot read the profile `{}`: the tests use another version of the kit; install the cargo-cuda of that version",
        file.display()
    )]
    ForeignProfile { file: PathBuf },
    /// No test used the GPU.
    #[error(
        "no test used the GPU, so nothing was checked; write a test that opens it, with `Device::auto()` for example"
    )]
    NoGpuTests,
    /// A test executable failed under `compute-sanitizer`.
    #[error("{tool}: failed: {failed}; the output above names the kernels and tests")]
    Sanitize { tool: &'static str, failed: String },
}

impl Error {
    /// Returns a closure for `map_err` that adds the operation and the path to an I/O error.
    pub(crate) fn io<'a>(
        operation: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { operation, path: path.to_owned(), source }
    }

    /// Returns a closure for `map_err` that adds the program and its purpose to an I/O error.
    pub(crate) fn start<'a>(
        program: &'a str,
        operation: &'static str,
    ) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Start { program: program.to_owned(), operation, source }
    }
}

/// Returns the part of a message that suggests a name.
fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(", but there is `{name}`")).unwrap_or_default()
}
