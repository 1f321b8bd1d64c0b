//! Turns a kernel crate into PTX, from a build script or from a task runner.
//!
//! ```no_run
//! # fn main() -> Result<(), cuda_builder::BuildError> {
//! use cuda_builder::{Arch, CudaBuilder};
//!
//! let build = CudaBuilder::new("../kernels-gpu")
//!     .arch(Arch::Sm87)
//!     .arch(Arch::Sm90)
//!     .copy_to("kernels.ptx")
//!     .build()?;
//! build.write_json()?;
//! # Ok(())
//! # }
//! ```
//!
//! The API is rust-cuda's where it has one. The compiler is the stable rustc of the workspace, on
//! its own target `nvptx64-nvidia-cuda`; what it lacks (launch bounds, a `core` for the GPU, the
//! same bytes from every folder) is made up for here. Beyond compiling it checks, for every kernel:
//!
//! - that it was declared by `#[kernel]`, and that every declaration has its kernel;
//! - that its barriers are as many as declared, because one that the compiler duplicates into
//!   divergent branches hangs the GPU;
//! - where `ptxas` is installed, that it assembles, spills no registers and fits its bounds.
//!
//! It does not load, launch or time anything, and makes no machine code.
//!
//! Variables: `CUDA_BUILDER_CORE_SRC` names the `library` folder of the compiler's source,
//! `CUDA_BUILDER_PTXAS` one `ptxas` (empty: none).

mod arch;
mod cargo;
mod core_source;
mod error;
mod metadata;
mod ptx;
mod ptxas;
mod report;
mod rerun;
mod toolchain;
mod workplace;

pub use arch::Arch;
pub use error::{BuildError, PtxError, PtxasError};
pub use report::{ArchBuild, Build, KernelReport, Resources};

use metadata::KernelCrate;
use std::env;
use std::path::{Path, PathBuf};
use toolchain::Toolchain;

/// Architectures built for when none is named: Jetson Orin, and H100 and H200.
const DEFAULT_ARCHS: [Arch; 2] = [Arch::Sm87, Arch::Sm90];

/// Describes one build of a kernel crate; [`build`](Self::build) does it.
#[derive(Debug, Clone)]
#[must_use = "nothing is compiled before `build`"]
pub struct CudaBuilder {
    kernel_crate: PathBuf,
    archs: Vec<Arch>,
    copy_to: Option<PathBuf>,
    line_info: bool,
    ptx_version: Option<(u8, u8)>,
    work_dir: Option<PathBuf>,
    core_source: Option<PathBuf>,
    ptxas: Option<PathBuf>,
}

impl CudaBuilder {
    /// Builds the library of the package in the folder `path_to_kernel_crate`.
    pub fn new(path_to_kernel_crate: impl AsRef<Path>) -> Self {
        Self {
            kernel_crate: path_to_kernel_crate.as_ref().to_owned(),
            archs: Vec::new(),
            copy_to: None,
            line_info: false,
            ptx_version: None,
            work_dir: None,
            core_source: None,
            ptxas: None,
        }
    }

    /// Adds an architecture; without any, PTX is made for [`Arch::Sm87`] and [`Arch::Sm90`].
    pub fn arch(mut self, arch: Arch) -> Self {
        if !self.archs.contains(&arch) {
            self.archs.push(arch);
        }
        self
    }

    /// Where the PTX goes: exactly there for one architecture, `x.sm_87.ptx` and so on beside
    /// `x.ptx` for several. Without it, into OUT_DIR, or the work folder outside of build scripts.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_owned());
        self
    }

    /// Keeps the source line of each instruction, for profilers. Paths in it begin with
    /// `/workspace`, or with `/crates/NAME-VERSION` for crates from elsewhere.
    pub fn generate_line_info(mut self, line_info: bool) -> Self {
        self.line_info = line_info;
        self
    }

    /// Asks for a newer PTX version than the architecture's first, for instructions in `asm!`.
    pub fn ptx_version(mut self, major: u8, minor: u8) -> Self {
        self.ptx_version = Some((major, minor));
        self
    }

    /// Sets the folder for intermediate files; it is `cuda-builder` in the target folder otherwise.
    pub fn work_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.work_dir = Some(path.as_ref().to_owned());
        self
    }

    /// Names the `library` folder of the compiler's source, as `CUDA_BUILDER_CORE_SRC` does.
    pub fn core_source(mut self, path: impl AsRef<Path>) -> Self {
        self.core_source = Some(path.as_ref().to_owned());
        self
    }

    /// Names the `ptxas` that measures the kernels, as `CUDA_BUILDER_PTXAS` does.
    pub fn ptxas(mut self, program: impl AsRef<Path>) -> Self {
        self.ptxas = Some(program.as_ref().to_owned());
        self
    }

    /// [`build`](Self::build) for a build script: the report beside the PTX, an error as text.
    pub fn build_script(self) -> std::process::ExitCode {
        match self.build().and_then(|build| build.write_json().map(drop)) {
            Ok(()) => std::process::ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                std::process::ExitCode::FAILURE
            }
        }
    }

    /// Compiles, checks, measures and writes the PTX.
    ///
    /// In a build script it also tells cargo when to run again.
    ///
    /// # Errors
    /// See [`BuildError`]; no PTX is written for an architecture that fails.
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
        let archs = if self.archs.is_empty() { DEFAULT_ARCHS.to_vec() } else { self.archs.clone() };
        let ptx = absolute(&self.copy_to.clone().unwrap_or_else(|| {
            in_build_script
                .unwrap_or_else(|| workplace.join("ptx"))
                .join(format!("{}.ptx", kernels.name))
        }))?;
        let ptxas = ptxas::Candidates::find(self.ptxas.as_deref());

        let mut builds = Vec::with_capacity(archs.len());
        for &arch in &archs {
            let path = if archs.len() == 1 {
                ptx.clone()
            } else {
                ptx.with_extension(format!("{arch}.ptx"))
            };
            builds.push(self.build_one(&kernels, &toolchain, &workplace, arch, path, &ptxas)?);
        }
        Ok(Build {
            kernel_crate: kernels.name,
            rustc: toolchain.version,
            archs: builds,
            json: ptx.with_extension("json"),
        })
    }

    fn build_one(
        &self,
        kernels: &KernelCrate,
        toolchain: &Toolchain,
        workplace: &Path,
        arch: Arch,
        path: PathBuf,
        ptxas: &ptxas::Candidates,
    ) -> Result<ArchBuild, BuildError> {
        let options =
            cargo::Options { arch, line_info: self.line_info, ptx_version: self.ptx_version };
        let assembly = cargo::compile(kernels, toolchain, workplace, options)?;
        let finished = ptx::finish(&assembly, arch, self.line_info).map_err(|source| {
            BuildError::Ptx { kernel_crate: kernels.name.clone(), arch, source }
        })?;
        // Measured before it is put in place: PTX that fails a check must not be picked up.
        let candidate = workplace.join("candidate").join(format!(
            "{}.{}.{arch}.ptx",
            kernels.name,
            std::process::id()
        ));
        workplace::write_if_changed(&candidate, &finished.text)?;
        let mut reports: Vec<KernelReport> = finished.kernels.into_iter().map(report).collect();
        let measured = ptxas::measure(ptxas, arch, &candidate, &mut reports)
            .map_err(|source| BuildError::Ptxas { ptx: candidate.clone(), arch, source })?;
        workplace::write_if_changed(&path, &finished.text)?;
        std::fs::remove_file(&candidate).map_err(BuildError::io("remove", &candidate))?;
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
}

/// A kernel as the report shows it, before it is measured.
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

/// The inner cargo runs in another folder, so relative paths would mean something else there.
fn absolute(path: &Path) -> Result<PathBuf, BuildError> {
    let here = env::current_dir().map_err(BuildError::io("find the current folder for", path))?;
    Ok(here.join(path))
}
