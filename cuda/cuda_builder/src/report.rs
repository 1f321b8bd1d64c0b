//! What a build gives back: one PTX file for each architecture, and what each kernel needs.
//!
//! With the feature `serde` the report serialises, so that a program can carry it beside the PTX and
//! show it. Paths are not part of the JSON, only file names: the same source gives the same bytes in
//! every folder.

use crate::{Arch, PtxasError, Spills};
#[cfg(feature = "serde")]
use crate::{BuildError, workplace};
#[cfg(feature = "serde")]
use std::path::Path;
use std::path::PathBuf;

/// The result of [`CudaBuilder::build`](crate::CudaBuilder::build).
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Build {
    /// Name of the kernel crate.
    pub kernel_crate: String,
    /// Version of the compiler that made the PTX.
    pub rustc: String,
    /// One for each architecture, in the order asked for.
    pub archs: Vec<ArchBuild>,
    /// Where `write_json` writes: the path given to `copy_to`, as `.json`.
    #[cfg(feature = "serde")]
    #[serde(skip)]
    pub(crate) json: PathBuf,
    /// Where [`write_rust`](Self::write_rust) writes.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) rust: PathBuf,
}

/// The PTX for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ArchBuild {
    /// The architecture.
    pub arch: Arch,
    /// File name of the PTX.
    pub file: String,
    /// Path of the PTX; empty in a report that was read from JSON.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub ptx: PathBuf,
    /// Version line of the `ptxas` that measured the kernels; none where there is no `ptxas`.
    pub ptxas: Option<String>,
    /// The kernels, in the order of the PTX.
    pub kernels: Vec<KernelReport>,
}

/// One kernel: what it promises and what it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KernelReport {
    /// Name of the entry.
    pub name: String,
    /// Threads of the largest block it may be launched with.
    pub max_threads: Option<u32>,
    /// Blocks that must fit into one multiprocessor at once.
    pub min_blocks: Option<u32>,
    /// Barriers that the source declares, if it does.
    pub barriers_declared: Option<u32>,
    /// Barriers in the PTX: as many as declared, if the source declares a count.
    pub barriers_counted: u32,
    /// What `ptxas` measured, where it was found.
    pub resources: Option<Resources>,
}

/// What the assembler gives one function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Resources {
    /// Registers of one thread.
    pub registers: u32,
    /// Static shared memory of one block, in bytes.
    pub shared_bytes: u32,
    /// Stack frame of one thread in local memory, in bytes.
    pub stack_bytes: u32,
    /// Bytes of registers stored to local memory.
    pub spill_store_bytes: u32,
    /// Bytes of registers loaded back.
    pub spill_load_bytes: u32,
}

impl Build {
    /// The build for `arch`, if it was asked for.
    #[must_use]
    pub fn arch(&self, arch: Arch) -> Option<&ArchBuild> {
        self.archs.iter().find(|build| build.arch == arch)
    }

    /// Writes the report as `.json` beside the PTX and returns its path.
    ///
    /// # Errors
    /// [`BuildError::Io`] where the file cannot be written.
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
    /// What a build script should warn of under a policy.
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
    /// The kernel called `name`.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&KernelReport> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}
