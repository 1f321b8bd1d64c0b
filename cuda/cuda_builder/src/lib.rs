//! Compiles a kernel crate to PTX, from a build script or a task runner.
//!
//! ```no_run
//! # fn main() -> Result<(), cuda_builder::BuildError> {
//! use cuda_builder::{Arch, CudaBuilder};
//!
//! let build = CudaBuilder::new("kernels").arch(Arch::Sm75).arch(Arch::Sm90).build()?;
//! for one in &build.archs {
//!     println!("{}: {} kernels", one.ptx.display(), one.kernels.len());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! In a build script, [`CudaBuilder::build`] also writes `kernels.rs`, which embeds the PTX in the
//! host program:
//!
//! ```ignore
//! include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
//! ```
//!
//! The API follows rust-cuda where rust-cuda has an equivalent. The compiler is the workspace's
//! stable rustc with its built-in target `nvptx64-nvidia-cuda`. The builder adds launch bounds, a
//! `core` for the GPU, PTX that does not depend on the path of the source, and the crate attributes
//! that kernels need: a kernel crate needs neither `#![no_std]` nor `#![feature]`.
//!
//! The builder also checks every kernel:
//!
//! - `#[kernel]` declares every kernel in the PTX, and every declared kernel is in the PTX.
//! - The compiler has not duplicated a barrier into exclusive branches, which would hang the GPU.
//!   If a kernel declares the number of its barriers, its PTX has exactly that number.
//! - Every function that a kernel calls is in the PTX or in the driver.
//! - If `ptxas` is installed: `ptxas` assembles every kernel, every kernel fits its launch bounds,
//!   and none spills registers if [`Spills::Deny`] forbids it.
//!
//! With the feature `serde`, `Build::write_json` writes the report as JSON.
//!
//! Environment variables: `CUDA_BUILDER_CORE_SRC` names the `library` folder of the compiler's
//! source. `CUDA_BUILDER_PTXAS` names the `ptxas` program; if the variable is empty, the build does
//! not run `ptxas`.

mod arch;
mod cargo;
mod core_source;
mod error;
mod ir;
mod metadata;
mod ptx;
mod ptxas;
mod report;
mod settings;
mod tool;
mod toolchain;
mod workplace;

pub use arch::{Arch, NvvmArch};
pub use error::BuildError;
pub use report::{ArchBuild, Build, KernelReport, Resources};
pub use settings::{CudaBuilder, DebugInfo, Spills};
pub use tool::find_tool;

use metadata::KernelCrate;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use toolchain::Toolchain;

impl CudaBuilder {
    /// Runs [`build`](Self::build), prints an error to stderr, and returns the exit code. The
    /// `main` function of a build script can return the result directly.
    pub fn build_script(self) -> std::process::ExitCode {
        match self.build() {
            Ok(_) => std::process::ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                std::process::ExitCode::FAILURE
            }
        }
    }

    /// Compiles the kernel crate, checks and measures its kernels, and writes the PTX.
    ///
    /// In a build script it also prints the files and variables whose changes make cargo run the
    /// script again, warns about spilled registers, and writes the Rust file that
    /// [`Build::write_rust`] describes.
    ///
    /// # Errors
    /// Returns a [`BuildError`] if any step fails. The build writes no PTX for an architecture that
    /// fails.
    pub fn build(self) -> Result<Build, BuildError> {
        let kernels = KernelCrate::read(&self.kernel_crate)?;
        let in_build_script = workplace::build_script_out_dir();
        if in_build_script.is_some() {
            announce(&kernels);
        }
        let workplace = absolute(
            &self.work_dir.clone().unwrap_or_else(|| workplace::folder(&kernels.target_directory)),
        )?;
        let toolchain =
            Toolchain::prepare(&kernels.folder, &workplace, self.core_source.as_deref())?;
        let archs = if self.archs.is_empty() { vec![Arch::default()] } else { self.archs.clone() };
        let folder = in_build_script.clone().unwrap_or_else(|| workplace.join("ptx"));
        let (ptx, rust) = match &self.copy_to {
            Some(path) => (absolute(path)?, absolute(path)?.with_extension("rs")),
            None => (folder.join(format!("{}.ptx", kernels.name)), folder.join("kernels.rs")),
        };
        let ptxas = ptxas::Candidates::find(self.ptxas.as_deref());

        let job = Job { builder: &self, kernels, toolchain, workplace, ptxas };
        let several = archs.len() > 1;
        let named = |path: &Path, arch: Arch| {
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            if several { path.with_extension(format!("{arch}.{extension}")) } else { path.into() }
        };
        let archs = archs
            .into_iter()
            .map(|arch| job.one(arch, named(&ptx, arch), |path| named(path, arch)))
            .collect::<Result<_, _>>()?;
        let build = Build {
            kernel_crate: job.kernels.name,
            rustc: job.toolchain.version,
            archs,
            #[cfg(feature = "serde")]
            json: ptx.with_extension("json"),
            rust,
        };
        if in_build_script.is_some() {
            let spills = build.spills().filter(|_| self.spills == Spills::Report);
            for (arch, warning) in spills {
                println!("cargo:warning={} for {arch}: {warning}", build.kernel_crate);
            }
            build.write_rust()?;
        }
        Ok(build)
    }
}

/// Prints one `rerun-if` line for each source path and environment variable that the build uses.
///
/// After such a line, cargo watches only the printed paths and not the whole package of the build
/// script.
fn announce(kernels: &KernelCrate) {
    for path in &kernels.sources {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    for variable in [core_source::VARIABLE].iter().chain(&ptxas::VARIABLES) {
        println!("cargo:rerun-if-env-changed={variable}");
    }
}

/// The state shared by all architectures of one build.
struct Job<'a> {
    builder: &'a CudaBuilder,
    kernels: KernelCrate,
    toolchain: Toolchain,
    workplace: PathBuf,
    ptxas: ptxas::Candidates,
}

impl Job<'_> {
    /// Builds for one architecture and writes the PTX to `path`. `named` converts the paths of
    /// additional output files: if the build has several architectures, it inserts the
    /// architecture's name.
    fn one(
        &self,
        arch: Arch,
        path: PathBuf,
        named: impl Fn(&Path) -> PathBuf,
    ) -> Result<ArchBuild, BuildError> {
        let Self { builder, kernels, toolchain, workplace, ptxas } = self;
        let broken =
            |reason| BuildError::Invalid(format!("`{}` for {arch}: {reason}", kernels.name));
        let compiled = cargo::compile(kernels, toolchain, workplace, arch, builder)?;
        if let Some(module) = &builder.final_module {
            copy(&compiled.ir, &named(&absolute(module)?))?;
        }
        if builder.emit_llvm_ir {
            copy(&compiled.ir, &path.with_extension("ll"))?;
        }
        let mut assembly = ptx::load_shared_matrices(&ptx::lower_local_swaps(&compiled.assembly));
        if ptx::has_unordered_atomics(&assembly) {
            let ir = read(&compiled.ir)?;
            assembly = ptx::order_atomics(&assembly, &ir::Orders::read(&ir));
        }
        let mut finished =
            ptx::finish(&assembly, arch, builder.line_info, &builder.external).map_err(broken)?;
        check_copies(&finished.kernels, &compiled.ir, broken)?;
        if builder.ftz {
            finished.text = ptx::flush_denormals(&finished.text);
        }
        let text = format!(
            "// cuda_builder.package {} {}\n{}",
            kernels.name, kernels.version, finished.text
        );

        // `ptxas` measures a temporary file. The PTX is written to its final path only if all
        // checks pass.
        let candidate = workplace.join("candidate").join(format!(
            "{}.{}.{arch}.ptx",
            kernels.name,
            std::process::id()
        ));
        workplace::write_if_changed(&candidate, &text)?;
        let mut reports = finished.kernels;
        let measured = ptxas::measure(ptxas, arch, &candidate, builder.spills, &mut reports)
            .map_err(|reason| {
                BuildError::Invalid(format!("`{}` for {arch}: {reason}", candidate.display()))
            })?;
        workplace::write_if_changed(&path, &text)?;
        fs::remove_file(&candidate).map_err(BuildError::io("remove", &candidate))?;
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(ArchBuild { arch, file, ptx: path, ptxas: measured, kernels: reports })
    }
}

/// Returns an error if the compiler has duplicated a barrier in a kernel that does not declare its
/// number of barriers.
fn check_copies(
    kernels: &[KernelReport],
    ir: &Path,
    broken: impl Fn(String) -> BuildError,
) -> Result<(), BuildError> {
    // A kernel with a single barrier has no duplicate, and `ptx::finish` has already compared the
    // declared numbers of barriers with the PTX.
    let uncounted =
        |kernel: &&KernelReport| kernel.barriers_declared.is_none() && kernel.barriers_counted > 1;
    let mut kernels = kernels.iter().filter(uncounted).peekable();
    if kernels.peek().is_none() {
        return Ok(());
    }
    let text = read(ir)?;
    for KernelReport { name, barriers_counted, .. } in kernels {
        if let Some(place) = ir::duplicated_barrier(&text, name) {
            return Err(broken(format!(
                "kernel `{name}`: the compiler duplicated the barrier at {place} into mutually \
                 exclusive branches, and the GPU hangs if threads take different branches; move the \
                 barrier out of the conditional code, or declare the exact count with \
                 `#[kernel(barriers({barriers_counted}))]` if the whole block takes the same branch"
            )));
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, BuildError> {
    fs::read_to_string(path).map_err(BuildError::io("read", path))
}

fn copy(from: &Path, to: &Path) -> Result<(), BuildError> {
    if let Some(folder) = to.parent() {
        workplace::create_folder(folder)?;
    }
    fs::copy(from, to).map(drop).map_err(BuildError::io("write", to))
}

/// Makes a path absolute, because the cargo process that this crate starts runs in another folder.
fn absolute(path: &Path) -> Result<PathBuf, BuildError> {
    let here = env::current_dir().map_err(BuildError::io("find the current folder for", path))?;
    Ok(here.join(path))
}
