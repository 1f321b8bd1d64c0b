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
//! stable rustc with its built-in target `nvptx64-nvidia-cuda`. The builder adds features that the
//! compiler lacks: launch bounds, a `core` for the GPU, PTX that does not depend on the path of the
//! source, and the crate attributes that kernels need. A kernel crate therefore needs neither
//! `#![no_std]` nor `#![feature]`.
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
//! The builder does not load, launch or time kernels, and generates no machine code.
//!
//! With the feature `serde`, `Build::write_json` writes the report as JSON.
//!
//! Environment variables: `CUDA_BUILDER_CORE_SRC` names the `library` folder of the compiler's
//! source. `CUDA_BUILDER_PTXAS` names the `ptxas` program; if the variable is empty, the build does
//! not run `ptxas`.

mod arch;
mod cargo;
mod core_source;
mod embed;
mod error;
mod ir;
mod metadata;
mod ptx;
mod ptxas;
mod report;
mod rerun;
mod settings;
mod tool;
mod toolchain;
mod workplace;

pub use arch::{Arch, NvvmArch};
pub use error::{BuildError, PtxError, PtxasError};
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
    ///
    /// ```no_run
    /// fn main() -> std::process::ExitCode {
    ///     cuda_builder::CudaBuilder::new("kernels").build_script()
    /// }
    /// ```
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
            rerun::announce(&kernels);
        }
        let workplace = absolute(
            &self.work_dir.clone().unwrap_or_else(|| workplace::folder(&kernels.target_directory)),
        )?;
        let toolchain =
            Toolchain::prepare(&kernels.folder, &workplace, self.core_source.as_deref())?;
        let archs = if self.archs.is_empty() { vec![Arch::default()] } else { self.archs.clone() };
        let folder = in_build_script.clone().unwrap_or_else(|| workplace.join("ptx"));
        let ptx = match &self.copy_to {
            Some(path) => absolute(path)?,
            None => folder.join(format!("{}.ptx", kernels.name)),
        };
        let rust = match &self.copy_to {
            Some(_) => ptx.with_extension("rs"),
            None => folder.join("kernels.rs"),
        };
        let ptxas = ptxas::Candidates::find(self.ptxas.as_deref());

        let build = Job { builder: &self, kernels, toolchain, workplace, ptxas };
        let several = archs.len() > 1;
        let named = |path: &Path, arch: Arch| {
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            if several { path.with_extension(format!("{arch}.{extension}")) } else { path.into() }
        };
        let archs = archs
            .into_iter()
            .map(|arch| build.one(arch, named(&ptx, arch), |path| named(path, arch)))
            .collect::<Result<_, _>>()?;
        let build = Build {
            kernel_crate: build.kernels.name,
            rustc: build.toolchain.version,
            archs,
            #[cfg(feature = "serde")]
            json: ptx.with_extension("json"),
            rust,
        };
        if in_build_script.is_some() {
            for (arch, warning) in build.warnings(self.spills) {
                println!("cargo:warning={} for {arch}: {warning}", build.kernel_crate);
            }
            build.write_rust()?;
        }
        Ok(build)
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
        let broken = |source| BuildError::Ptx { kernel_crate: kernels.name.clone(), arch, source };
        let compiled = cargo::compile(kernels, toolchain, workplace, arch, &builder.options)?;
        if let Some(module) = &builder.final_module {
            copy(&compiled.ir, &named(&absolute(module)?))?;
        }
        if builder.emit_llvm_ir {
            copy(&compiled.ir, &path.with_extension("ll"))?;
        }
        if builder.options.bitcode {
            copy(&compiled.bitcode, &path.with_extension("bc"))?;
        }
        let mut assembly = ptx::fold_constants(&ptx::lower_local_swaps(&compiled.assembly));
        assembly = ptx::load_shared_matrices(&assembly);
        if ptx::has_unordered_atomics(&assembly) {
            let ir = read(&compiled.ir)?;
            assembly = ptx::order_atomics(&assembly, &ir::Orders::read(&ir));
        }
        let lines = builder.options.line_info;
        if lines {
            // The order of atomics is found by the lines that LLVM writes.
            assembly = ptx::name_callers(&assembly, &kernels.name);
        }
        let mut finished =
            ptx::finish(&assembly, arch, lines, &builder.external).map_err(broken)?;
        self.check_copies(&finished.kernels, &compiled.ir, broken)?;
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
        let mut reports: Vec<KernelReport> = finished.kernels.into_iter().map(report).collect();
        let measured = ptxas::measure(ptxas, arch, &candidate, builder.spills, &mut reports)
            .map_err(|source| BuildError::Ptxas { ptx: candidate.clone(), arch, source })?;
        workplace::write_if_changed(&path, &text)?;
        fs::remove_file(&candidate).map_err(BuildError::io("remove", &candidate))?;
        Ok(ArchBuild {
            arch,
            file: path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            ptx: path,
            ptxas: measured,
            kernels: reports,
        })
    }

    /// Returns an error if the compiler has duplicated a barrier in a kernel that does not declare
    /// its number of barriers.
    fn check_copies(
        &self,
        kernels: &[ptx::Kernel],
        ir: &Path,
        broken: impl Fn(PtxError) -> BuildError,
    ) -> Result<(), BuildError> {
        // A kernel with a single barrier has no duplicate, and `ptx::finish` has already compared
        // the declared numbers of barriers with the PTX.
        let uncounted = kernels
            .iter()
            .filter(|kernel| kernel.barriers_declared.is_none() && kernel.barriers_counted > 1);
        let mut text = None;
        for kernel in uncounted {
            let text = match &mut text {
                Some(text) => text,
                None => text.insert(read(ir)?),
            };
            if let Some(place) = ir::duplicated_barrier(text, &kernel.name) {
                return Err(broken(PtxError::DuplicatedBarrier {
                    kernel: kernel.name.clone(),
                    place,
                    counted: kernel.barriers_counted,
                }));
            }
        }
        Ok(())
    }
}

/// Returns the report of a kernel, without the resources that `ptxas` measures later.
fn report(kernel: ptx::Kernel) -> KernelReport {
    KernelReport {
        name: kernel.name,
        max_threads: kernel.max_threads,
        min_blocks: kernel.min_blocks,
        barriers_declared: kernel.barriers_declared,
        barriers_counted: kernel.barriers_counted,
        resources: None,
    }
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
