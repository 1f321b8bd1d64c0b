//! The result of a build: one PTX file per architecture, and the resources of each kernel.
//!
//! With the feature `serde` the report can be serialised, so a program can ship it beside the PTX
//! and display it. The JSON contains file names but no paths, so the same source produces the same
//! JSON in every folder.

use crate::{Arch, PtxasError, Spills};
#[cfg(feature = "serde")]
use crate::{BuildError, workplace};
#[cfg(feature = "serde")]
use std::path::Path;
use std::path::PathBuf;

/// The result of [`CudaBuilder::build`](crate::CudaBuilder::build).
///
/// ```no_run
/// use cuda_builder::{Arch, CudaBuilder};
///
/// let build = CudaBuilder::new("kernels").arch(Arch::Sm90).build()?;
/// println!("{} compiled by rustc {}", build.kernel_crate, build.rustc);
/// if let Some(hopper) = build.arch(Arch::Sm90) {
///     println!("{}", hopper.ptx.display());
/// }
/// # Ok::<(), cuda_builder::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Build {
    /// The name of the kernel crate.
    pub kernel_crate: String,
    /// The version of rustc, such as `1.95.0`.
    pub rustc: String,
    /// One entry per architecture, in the requested order.
    pub archs: Vec<ArchBuild>,
    /// The path that `write_json` writes: the path of the PTX with the extension `.json`.
    #[cfg(feature = "serde")]
    #[serde(skip)]
    pub(crate) json: PathBuf,
    /// The path that [`write_rust`](Self::write_rust) writes.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) rust: PathBuf,
}

/// The PTX file for one architecture, and the report of its kernels.
///
/// ```no_run
/// use cuda_builder::CudaBuilder;
///
/// let build = CudaBuilder::new("kernels").build()?;
/// for one in &build.archs {
///     println!("{} for {}", one.file, one.arch);
///     assert!(one.kernel("add").is_some());
/// }
/// # Ok::<(), cuda_builder::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ArchBuild {
    /// The architecture that the PTX targets.
    pub arch: Arch,
    /// The file name of the PTX.
    pub file: String,
    /// The path of the PTX. Empty in a report read from JSON.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub ptx: PathBuf,
    /// The version line of the `ptxas` that measured the kernels. `None` if no `ptxas` measured
    /// them.
    pub ptxas: Option<String>,
    /// The kernels, in the order in which the PTX contains them.
    pub kernels: Vec<KernelReport>,
}

/// The launch bounds and resources of a kernel.
///
/// ```no_run
/// use cuda_builder::CudaBuilder;
///
/// let build = CudaBuilder::new("kernels").build()?;
/// for kernel in &build.archs[0].kernels {
///     println!("{}: at most {:?} threads per block", kernel.name, kernel.max_threads);
/// }
/// # Ok::<(), cuda_builder::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KernelReport {
    /// The name of the kernel.
    pub name: String,
    /// The maximum number of threads per block, or `None` if the kernel declares no maximum.
    pub max_threads: Option<u32>,
    /// The minimum number of blocks that must fit into one multiprocessor at once, or `None` if the
    /// kernel declares no minimum.
    pub min_blocks: Option<u32>,
    /// The number of barriers that `#[kernel]` declares, or `None` if it declares none.
    pub barriers_declared: Option<u32>,
    /// The number of barriers in the PTX, which equals the declared number if there is one.
    pub barriers_counted: u32,
    /// The resources that `ptxas` measured, or `None` if no `ptxas` measured the kernel.
    pub resources: Option<Resources>,
}

/// The resources that the assembler assigned to a function.
///
/// ```no_run
/// use cuda_builder::CudaBuilder;
///
/// let build = CudaBuilder::new("kernels").build()?;
/// for kernel in &build.archs[0].kernels {
///     if let Some(resources) = kernel.resources {
///         println!("{}: {} registers per thread", kernel.name, resources.registers);
///     }
/// }
/// # Ok::<(), cuda_builder::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Resources {
    /// The number of registers per thread.
    pub registers: u32,
    /// The size of static shared memory per block in bytes.
    pub shared_bytes: u32,
    /// The size of the stack frame per thread in local memory, in bytes.
    pub stack_bytes: u32,
    /// The size of spill stores to local memory in bytes.
    pub spill_store_bytes: u32,
    /// The size of spill loads from local memory in bytes.
    pub spill_load_bytes: u32,
}

impl Build {
    /// Returns the build for `arch`, or `None` if the build does not include this architecture.
    #[must_use]
    pub fn arch(&self, arch: Arch) -> Option<&ArchBuild> {
        self.archs.iter().find(|build| build.arch == arch)
    }

    /// Writes the report as `.json` beside the PTX and returns its path.
    ///
    /// ```no_run
    /// let build = cuda_builder::CudaBuilder::new("kernels").build()?;
    /// println!("the report is in {}", build.write_json()?.display());
    /// # Ok::<(), cuda_builder::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`BuildError::Io`] if the file cannot be written, and [`BuildError::Report`] if the
    /// report cannot be serialised.
    #[cfg(feature = "serde")]
    pub fn write_json(&self) -> Result<&Path, BuildError> {
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|source| BuildError::Report { path: self.json.clone(), source })?;
        text.push('\n');
        workplace::write_if_changed(&self.json, &text)?;
        Ok(&self.json)
    }
}

impl Build {
    /// Returns a warning for each kernel that spills, if the policy `spills` is [`Spills::Report`].
    pub(crate) fn warnings(&self, spills: Spills) -> impl Iterator<Item = (Arch, String)> {
        let kernels = self.archs.iter().flat_map(|one| one.kernels.iter().map(|k| (one.arch, k)));
        kernels.filter_map(move |(arch, kernel)| {
            let Resources { spill_store_bytes: stores, spill_load_bytes: loads, .. } =
                kernel.resources?;
            let spilled = PtxasError::Spill { function: kernel.name.clone(), stores, loads };
            (spills == Spills::Report && stores + loads > 0).then(|| (arch, spilled.to_string()))
        })
    }
}

impl ArchBuild {
    /// Returns the kernel called `name`.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&KernelReport> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}
