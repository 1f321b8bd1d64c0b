//! The error types: [`BuildError`] for a build, [`PtxError`] for a rule that the PTX breaks, and
//! [`PtxasError`] for a problem that `ptxas` reports.
//!
//! Every message states what failed, where it failed, and the remedy, because the message is the
//! last output of a failed build script.

use crate::Arch;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why [`CudaBuilder::build`](crate::CudaBuilder::build) failed.
///
/// `Debug` also prints the message, because many build scripts end in `.unwrap()`.
///
/// ```no_run
/// use cuda_builder::{BuildError, CudaBuilder};
///
/// match CudaBuilder::new("kernels").build() {
///     Ok(build) => println!("{} was compiled", build.kernel_crate),
///     Err(BuildError::Io { path, source, .. }) => println!("{}: {source}", path.display()),
///     // The message names the kernel, the reason and a remedy.
///     Err(error) => println!("{error}"),
/// }
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A file or folder could not be read, written or locked.
    #[error(
        "cannot {operation} `{}`: {source}; check that the path exists and is accessible, and that \
         the disk is not full",
        path.display()
    )]
    Io {
        /// The operation that failed, as a verb, such as `read`.
        operation: &'static str,
        /// The path of the file or folder.
        path: PathBuf,
        /// The error that the operating system reported.
        source: io::Error,
    },
    /// A program could not be started.
    #[error("cannot start `{program}` to {operation}: {source}; install it or put it in PATH")]
    Start {
        /// The name or path of the program.
        program: String,
        /// The purpose of the program, as a verb phrase, such as `compile the kernel crate`.
        operation: &'static str,
        /// The error that the operating system reported.
        source: io::Error,
    },
    /// `cargo metadata` failed, or there is no library crate at the path.
    #[error(
        "cannot use `{}` as a kernel crate: {reason}; pass the folder of a package that has a \
         library target",
        path.display()
    )]
    KernelCrate {
        /// The path that the caller passed to the builder.
        path: PathBuf,
        /// The reason why the path cannot be used.
        reason: String,
    },
    /// The compiler did not report its version or its sysroot.
    #[error("cannot read the {what} of `{rustc}`: {reason}; check the toolchain with `rustc -vV`")]
    Toolchain {
        /// The name or path of the compiler.
        rustc: String,
        /// The requested property: `version` or `sysroot`.
        what: &'static str,
        /// The error output of the compiler, or the reason why its output could not be used.
        reason: String,
    },
    /// The source of `core` for this exact compiler was not found.
    #[error(
        "the source of `core` for rustc {version} is missing, and kernels need it: run \
         `rustup component add rust-src`, or set CUDA_BUILDER_CORE_SRC to the `library` folder of \
         that version's source; tried:\n{tried}"
    )]
    CoreSource {
        /// The version of the compiler, which the source must match.
        version: String,
        /// One line per attempt, with the reason why it failed.
        tried: String,
    },
    /// The kernel crate does not compile.
    #[error(
        "cannot compile `{kernel_crate}` for {arch}; the compiler reports:\n{stderr}{}",
        remedies(stderr)
    )]
    Compile {
        /// The name of the kernel crate.
        kernel_crate: String,
        /// The target architecture.
        arch: Arch,
        /// The standard error of cargo.
        stderr: String,
    },
    /// LLVM cannot generate instructions for an operation. LLVM would call a library function
    /// instead, but that function does not exist on the GPU.
    #[error(
        "cannot compile `{kernel_crate}` for {arch}: LLVM cannot compile an operation{}; \
         one such operation is a conversion between a 128-bit integer and a floating-point number: \
         convert the two 64-bit halves separately; the compiler reports:\n{stderr}",
        place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default()
    )]
    Unsupported {
        /// The name of the kernel crate.
        kernel_crate: String,
        /// The target architecture.
        arch: Arch,
        /// The file, line and column of the operation, if they could be found.
        place: Option<String>,
        /// The standard error of cargo.
        stderr: String,
    },
    /// Cargo succeeded, but the assembly file does not exist.
    #[error(
        "cargo compiled `{kernel_crate}` but wrote no assembly to `{}`; delete `{}` and build again",
        path.display(),
        target_dir.display()
    )]
    NoAssembly {
        /// The name of the kernel crate.
        kernel_crate: String,
        /// The path at which the assembly file was expected.
        path: PathBuf,
        /// The target folder of the cargo process that compiles the kernel crate.
        target_dir: PathBuf,
    },
    /// The PTX breaks a rule that this crate checks.
    #[error("`{kernel_crate}` for {arch}: {source}")]
    Ptx {
        /// The name of the kernel crate.
        kernel_crate: String,
        /// The target architecture.
        arch: Arch,
        /// The broken rule.
        source: PtxError,
    },
    /// `ptxas` could not be run or rejected the PTX, or a kernel exceeds a resource limit.
    #[error("`{}` for {arch}: {source}", ptx.display())]
    Ptxas {
        /// The PTX file.
        ptx: PathBuf,
        /// The target architecture.
        arch: Arch,
        /// The reason why `ptxas` could not be run or rejected the PTX, or the exceeded limit.
        source: PtxasError,
    },
    /// The report of the build cannot be serialised.
    #[cfg(feature = "serde")]
    #[error("cannot write the report `{}` as JSON: {source}; this is a bug in cuda_builder", path.display())]
    Report {
        /// The file to write.
        path: PathBuf,
        /// The error that `serde_json` reported.
        source: serde_json::Error,
    },
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

/// Text fragments of compiler errors that are common in programs written for rust-cuda, each with
/// its remedy.
const REMEDIES: [(&str, &str); 4] = [
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
];

/// Returns the remedies for the known errors in the compiler's output, one per line.
fn remedies(stderr: &str) -> String {
    let known = REMEDIES.iter().filter(|(error, _)| stderr.contains(error));
    known.map(|(_, remedy)| format!("\nhelp: {remedy}")).collect()
}

/// A rule that the PTX breaks.
///
/// ```
/// use cuda_builder::PtxError;
///
/// let error = PtxError::DuplicateMarker { kernel: "add".to_owned() };
/// assert_eq!(error.to_string(), "two kernels have the name `add`; rename one of them");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PtxError {
    /// A marker line could not be parsed. `#[kernel]` and `shared_array!` write markers into the
    /// PTX.
    #[error(
        "invalid marker line `{line}`: {reason}; correct the arguments of the macro that wrote it (`#[kernel]` or `shared_array!`)"
    )]
    Marker {
        /// The marker line.
        line: String,
        /// The reason why the line is invalid.
        reason: String,
    },
    /// Two `#[kernel]` markers name the same kernel.
    #[error("two kernels have the name `{kernel}`; rename one of them")]
    DuplicateMarker {
        /// The name of the kernel.
        kernel: String,
    },
    /// A marker names a kernel that is not in the PTX.
    #[error(
        "kernel `{kernel}` has a marker but is not in the PTX; it must be `#[unsafe(no_mangle)] pub` and \
         not generic"
    )]
    MarkerWithoutEntry {
        /// The name of the kernel.
        kernel: String,
    },
    /// A kernel in the PTX has no marker.
    #[error("kernel `{kernel}` in the PTX has no marker; declare it with `#[kernel]`")]
    EntryWithoutMarker {
        /// The name of the kernel.
        kernel: String,
    },
    /// The PTX has more or fewer barriers than the source declares.
    #[error(
        "kernel `{kernel}` declares {declared} barriers but its PTX has {counted}: a barrier that \
         the compiler duplicated into divergent branches hangs the GPU, and a removed barrier \
         causes a race; check the PTX, then correct the code, or the declaration if a loop was \
         unrolled"
    )]
    Barriers {
        /// The name of the kernel.
        kernel: String,
        /// The number of barriers that `#[kernel]` declares.
        declared: u32,
        /// The number of barriers in the PTX.
        counted: u32,
    },
    /// The compiler put copies of one barrier on mutually exclusive paths, where they hang the GPU.
    #[error(
        "kernel `{kernel}`: the compiler duplicated the barrier at {place} into mutually \
         exclusive branches, and the GPU hangs if threads take different branches; move the \
         barrier out of the conditional code, or declare the exact count with \
         `#[kernel(barriers({counted}))]` if the whole block takes the same branch"
    )]
    DuplicatedBarrier {
        /// The name of the kernel.
        kernel: String,
        /// File, line and column of the barrier.
        place: String,
        /// The number of barriers in the PTX.
        counted: u32,
    },
    /// A kernel calls `wait_for_kernel_before`, but one of its paths returns without that call.
    #[error(
        "kernel `{kernel}` calls `wait_for_kernel_before`, but one of its paths returns without \
         that call: later work in the stream waits only for this kernel and might not see the \
         writes of the preceding kernel; call `wait_for_kernel_before` on every path, even if \
         there is nothing to do"
    )]
    ReturnBeforeWait {
        /// The name of the kernel.
        kernel: String,
    },
    /// A kernel calls a function that neither the PTX nor the driver defines.
    #[error(
        "kernel `{kernel}` calls `{function}`, which is not in the PTX, so the kernel would not \
         load; {remedy}"
    )]
    Unresolved {
        /// The name of the kernel.
        kernel: String,
        /// The name of the function.
        function: String,
        /// Advice to the user that resolves the error.
        remedy: &'static str,
    },
    /// A function that was not inlined contains a barrier.
    #[error(
        "kernel `{kernel}` reaches the function `{function}`, which is not inlined and contains \
         {counted} barriers: cuda_builder can check only barriers in the kernel's own body, and a \
         divergent call hangs the GPU; make the function `#[inline(always)]`"
    )]
    BarrierInFunction {
        /// The name of the kernel.
        kernel: String,
        /// The function that contains the barriers.
        function: String,
        /// The number of barriers in that function.
        counted: u32,
    },
    /// The PTX could not be parsed, because its form differs from the usual output of rustc.
    #[error(
        "the PTX cannot be parsed at byte {at}: expected {reason}; check the `asm!` of the \
         kernels, and report a bug in cuda_builder if a newer rustc wrote this PTX"
    )]
    Malformed {
        /// The offset in the PTX, in bytes, at which parsing failed.
        at: usize,
        /// A description of the expected text.
        reason: &'static str,
    },
}

/// An error of the step that runs `ptxas` and checks the resources of the kernels.
///
/// ```
/// use cuda_builder::PtxasError;
///
/// let (program, reason) = ("ptxas".to_owned(), "not found".to_owned());
/// let error = PtxasError::Run { program, reason };
/// assert!(error.to_string().starts_with("cannot run the ptxas `ptxas`: not found"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PtxasError {
    /// The `ptxas` that the user named could not be started.
    #[error(
        "cannot run the ptxas `{program}`: {reason}; correct the path in \
         CUDA_BUILDER_PTXAS or `CudaBuilder::ptxas`; to build without ptxas, set that path to an \
         empty string"
    )]
    Run {
        /// The name or path of the program.
        program: String,
        /// The error that the operating system reported.
        reason: String,
    },
    /// `ptxas` rejected the PTX.
    #[error(
        "ptxas rejects the PTX:\n{stderr}\nthe driver would reject it, too; correct the kernel or its `asm!`"
    )]
    Refused {
        /// The output of `ptxas`.
        stderr: String,
    },
    /// `ptxas` warned that it ignores a directive, such as launch bounds that the GPU cannot
    /// satisfy.
    #[error(
        "ptxas ignores a directive: {warning}; use launch bounds that every requested \
         architecture can satisfy"
    )]
    Ignored {
        /// The warning of `ptxas`.
        warning: String,
    },
    /// A kernel spills registers to local memory.
    #[error(
        "`{function}` spills {stores} bytes of stores and {loads} bytes of loads to slow local memory; \
         lower the launch bounds, or use fewer values at once"
    )]
    Spill {
        /// The kernel, or a function that it calls.
        function: String,
        /// The size of spill stores in bytes.
        stores: u32,
        /// The size of spill loads in bytes.
        loads: u32,
    },
    /// A multiprocessor has too few registers for the kernel's minimum number of blocks.
    #[error(
        "kernel `{kernel}` uses {registers} registers per thread, so {min_blocks} blocks of \
         {max_threads} threads need more than the {limit} registers of a multiprocessor; lower the \
         launch bounds"
    )]
    OverBounds {
        /// The name of the kernel.
        kernel: String,
        /// The number of registers per thread.
        registers: u32,
        /// The maximum number of threads per block in the launch bounds.
        max_threads: u32,
        /// The minimum number of blocks per multiprocessor in the launch bounds.
        min_blocks: u32,
        /// The number of registers of a multiprocessor.
        limit: u32,
    },
}
