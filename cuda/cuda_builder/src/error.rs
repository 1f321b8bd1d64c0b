//! Everything that can go wrong, by domain: the build as a whole, the text of the PTX, `ptxas`.
//!
//! Every message says what was being done, where, and what to do about it, because most people meet
//! it as the last lines of a failed build script.

use crate::Arch;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why [`CudaBuilder::build`](crate::CudaBuilder::build) gave no PTX.
///
/// `Debug` prints the message too, because many build scripts end in `.unwrap()`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A file or folder could not be read, written or locked.
    #[error("cannot {operation} `{}`: {source}; check that it exists, its rights and the free space", path.display())]
    Io {
        /// What was being done, as a verb.
        operation: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A program could not be started at all.
    #[error("cannot start `{program}` to {operation}: {source}; install it or put it in PATH")]
    Start {
        /// The program.
        program: String,
        /// What it was wanted for.
        operation: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// `cargo metadata` failed, or there is no library crate at the path.
    #[error(
        "cannot use `{}` as a kernel crate: {reason}; give the folder of a package with a library target",
        path.display()
    )]
    KernelCrate {
        /// The path given to the builder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The compiler does not say what it is.
    #[error("cannot ask `{rustc}` for its {what}: {reason}; check the toolchain with `rustc -vV`")]
    Toolchain {
        /// The compiler asked.
        rustc: String,
        /// What was asked.
        what: &'static str,
        /// What it said.
        reason: String,
    },
    /// The source of `core` for this very compiler was found nowhere.
    #[error(
        "the source of `core` for rustc {version} is missing, and kernels need it: run \
         `rustup component add rust-src`, or set CUDA_BUILDER_CORE_SRC to the `library` folder of \
         that version's source; tried:\n{tried}"
    )]
    CoreSource {
        /// Version of the compiler, which the source must match.
        version: String,
        /// One line for each place that was tried, with the reason why it did not serve.
        tried: String,
    },
    /// The kernel crate does not compile.
    #[error(
        "cannot compile `{kernel_crate}` for {arch}; the compiler said:\n{stderr}{}",
        remedies(stderr)
    )]
    Compile {
        /// Name of the kernel crate.
        kernel_crate: String,
        /// For which GPU.
        arch: Arch,
        /// All of cargo's standard error.
        stderr: String,
    },
    /// LLVM has no code for an operation and would call a library, which the GPU does not have.
    #[error(
        "cannot compile `{kernel_crate}` for {arch}: LLVM has no code for an operation{}; known is \
         the conversion between 128-bit integers and floating-point numbers, which can go through \
         two 64-bit halves; the compiler said:\n{stderr}",
        place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default()
    )]
    Unsupported {
        /// Name of the kernel crate.
        kernel_crate: String,
        /// For which GPU.
        arch: Arch,
        /// File, line and column, if the operation is known.
        place: Option<String>,
        /// All of cargo's standard error.
        stderr: String,
    },
    /// Cargo was content, yet the assembly file is not there.
    #[error(
        "cargo compiled `{kernel_crate}` but left no assembly at `{}`; delete `{}` and build again",
        path.display(),
        target_dir.display()
    )]
    NoAssembly {
        /// Name of the kernel crate.
        kernel_crate: String,
        /// Where the file should be.
        path: PathBuf,
        /// The target folder of the inner cargo.
        target_dir: PathBuf,
    },
    /// The PTX breaks a rule of this workspace.
    #[error("`{kernel_crate}` for {arch}: {source}")]
    Ptx {
        /// Name of the kernel crate.
        kernel_crate: String,
        /// For which GPU.
        arch: Arch,
        /// The rule.
        source: PtxError,
    },
    /// `ptxas` found the PTX wanting.
    #[error("`{}` for {arch}: {source}", ptx.display())]
    Ptxas {
        /// The PTX file.
        ptx: PathBuf,
        /// For which GPU.
        arch: Arch,
        /// What is wrong.
        source: PtxasError,
    },
    /// The report does not serialise.
    #[cfg(feature = "serde")]
    #[error("cannot write the report `{}` as JSON: {source}; this is a fault in cuda_builder", path.display())]
    Report {
        /// The file wanted.
        path: PathBuf,
        /// What serde said.
        source: serde_json::Error,
    },
}

impl BuildError {
    /// For `map_err`: an input or output error with its operation and place.
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

/// Errors of the compiler that programs for rust-cuda meet, with the remedy.
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

/// The remedies for what the compiler said, a line each.
fn remedies(stderr: &str) -> String {
    let known = REMEDIES.iter().filter(|(error, _)| stderr.contains(error));
    known.map(|(_, remedy)| format!("\nhelp: {remedy}")).collect()
}

/// A rule that the text of the PTX breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PtxError {
    /// A marker line that cannot be read.
    #[error(
        "marker line `{line}`: {reason}; `#[kernel]` or `shared_array!` wrote it, check its arguments"
    )]
    Marker {
        /// The line.
        line: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Two markers with the same name.
    #[error("two kernels claim the name `{kernel}`; rename one of them")]
    DuplicateMarker {
        /// The name.
        kernel: String,
    },
    /// A marker whose kernel is not in the PTX.
    #[error(
        "kernel `{kernel}` is marked but not in the PTX; it must be `#[unsafe(no_mangle)] pub` and \
         not generic"
    )]
    MarkerWithoutEntry {
        /// The name.
        kernel: String,
    },
    /// A kernel that nothing has declared.
    #[error("kernel `{kernel}` is in the PTX without a marker; write it with `#[kernel]`")]
    EntryWithoutMarker {
        /// The name.
        kernel: String,
    },
    /// The compiler made more or fewer barriers than the source declares.
    #[error(
        "kernel `{kernel}` declares {declared} barriers and its PTX has {counted}: a barrier that \
         the compiler duplicated into divergent branches hangs the GPU, one that it removed is a \
         race; look at the PTX, then correct the code, or the declaration if a loop was unrolled"
    )]
    Barriers {
        /// The name.
        kernel: String,
        /// Barriers that `#[kernel]` declares.
        declared: u32,
        /// Barriers in the PTX.
        counted: u32,
    },
    /// The compiler put copies of one barrier on exclusive paths.
    #[error(
        "kernel `{kernel}`: the compiler duplicated the barrier at {place} into branches that \
         exclude each other, and threads that take different branches hang the GPU; move the \
         barrier out of the conditional code, or state the exact count with \
         `#[kernel(barriers({counted}))]` if the whole block takes the same branch"
    )]
    DuplicatedBarrier {
        /// The name.
        kernel: String,
        /// File, line and column of the barrier.
        place: String,
        /// Barriers in the PTX.
        counted: u32,
    },
    /// A kernel that waits for the one before it returns on some path without.
    #[error(
        "kernel `{kernel}` waits for the kernel before it, but can return without: what comes next \
         in the stream waits for this kernel alone, and would not see what the one before writes; \
         call `wait_for_kernel_before` on every path, also where there is nothing to do"
    )]
    ReturnBeforeWait {
        /// The name.
        kernel: String,
    },
    /// A kernel calls a function that neither the PTX nor the driver has.
    #[error(
        "kernel `{kernel}` calls `{function}`, which is not in the PTX, so that it would not load; \
         {remedy}"
    )]
    Unresolved {
        /// The kernel.
        kernel: String,
        /// The function.
        function: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A barrier hides in a function that was not inlined.
    #[error(
        "kernel `{kernel}` reaches {counted} barriers in the function `{function}`, where they \
         cannot be counted for the kernel and a divergent call hangs the GPU; make the function \
         `#[inline(always)]`"
    )]
    BarrierInFunction {
        /// The kernel.
        kernel: String,
        /// The function it calls.
        function: String,
        /// Barriers in that function.
        counted: u32,
    },
    /// The text is not PTX as the compiler writes it.
    #[error("the PTX cannot be read near byte {at}: {reason}; was rustc or LLVM changed?")]
    Malformed {
        /// Offset in the text.
        at: usize,
        /// What was expected.
        reason: &'static str,
    },
}

/// What `ptxas` says against the PTX.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PtxasError {
    /// The program that was asked for by name does not run.
    #[error(
        "cannot run the ptxas `{program}` that CUDA_BUILDER_PTXAS names: {reason}; correct the \
         variable, or set it empty to build without ptxas"
    )]
    Run {
        /// The program.
        program: String,
        /// What the system said.
        reason: String,
    },
    /// `ptxas` does not assemble the file.
    #[error("ptxas refuses the PTX:\n{stderr}\na kernel that ptxas refuses does not load either")]
    Refused {
        /// All that it said.
        stderr: String,
    },
    /// `ptxas` would go on without a directive, such as bounds beyond the GPU's threads.
    #[error(
        "ptxas ignores what was asked: {warning}; the launch bounds must be possible on every \
         architecture that is built for"
    )]
    Ignored {
        /// Its words.
        warning: String,
    },
    /// Registers go to memory.
    #[error(
        "`{function}` spills {stores} bytes of stores and {loads} of loads; spilled registers are \
         slow local memory: lower the launch bounds, or use fewer values at once"
    )]
    Spill {
        /// The kernel, or a function it calls.
        function: String,
        /// Bytes of spill stores.
        stores: u32,
        /// Bytes of spill loads.
        loads: u32,
    },
    /// The promised number of blocks does not fit into a multiprocessor.
    #[error(
        "kernel `{kernel}` uses {registers} registers, so {min_blocks} blocks of {max_threads} \
         threads need more than the {limit} registers of a multiprocessor; lower the launch bounds"
    )]
    OverBounds {
        /// The kernel.
        kernel: String,
        /// Registers of one thread.
        registers: u32,
        /// Threads of the largest block.
        max_threads: u32,
        /// Blocks promised to fit at once.
        min_blocks: u32,
        /// Registers there are.
        limit: u32,
    },
}
