//! The result of a build: one PTX file per architecture, and the resources of each kernel.
//!
//! With the feature `serde` the report can be serialised, so a program can ship it beside the PTX
//! and display it. The JSON contains file names but no paths, so the same source produces the same
//! JSON in every folder.

use crate::{Arch, BuildError, workplace};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The result of [`CudaBuilder::build`](crate::CudaBuilder::build).
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

impl Resources {
    /// Returns an error about spilled registers of a function, if there are any.
    pub(crate) fn spill(&self, function: &str) -> Option<String> {
        let Self { spill_store_bytes: stores, spill_load_bytes: loads, .. } = self;
        (stores + loads > 0).then(|| {
            format!(
                "`{function}` spills {stores} bytes of stores and {loads} bytes of loads to slow \
                 local memory; lower the launch bounds, or use fewer values at once"
            )
        })
    }
}

impl Build {
    /// Returns the build for `arch`, or `None` if the build does not include this architecture.
    #[must_use]
    pub fn arch(&self, arch: Arch) -> Option<&ArchBuild> {
        self.archs.iter().find(|build| build.arch == arch)
    }

    /// Writes the report as `.json` beside the PTX and returns its path.
    ///
    /// # Errors
    /// Returns [`BuildError::Io`] if the file cannot be written.
    #[cfg(feature = "serde")]
    pub fn write_json(&self) -> Result<&Path, BuildError> {
        let mut text = serde_json::to_string_pretty(self).map_err(|error| {
            BuildError::Invalid(format!("cannot write the report as JSON: {error}"))
        })?;
        text.push('\n');
        workplace::write_if_changed(&self.json, &text)?;
        Ok(&self.json)
    }

    /// Writes a Rust file beside the PTX and returns its path: `kernels.rs`, or the path that
    /// `copy_to` set, with its extension replaced by `.rs`. A host program that includes the file
    /// with `include!` embeds the PTX. The file is one call of the macro `cust::kernels!`:
    ///
    /// ```text
    /// ::cust::kernels! {
    ///     package: "vecadd-kernels",
    ///     images: [
    ///         (7, 5, include_str!("kernels.sm_75.ptx")),
    ///         (9, 0, include_str!("kernels.sm_90.ptx")),
    ///     ],
    /// }
    /// ```
    ///
    /// The numbers are the compute capability. They do not distinguish a variant such as `sm_90a`
    /// from `sm_90`; the `.target` line of the PTX does.
    ///
    /// # Errors
    /// Returns [`BuildError::Io`] if the file cannot be written.
    pub fn write_rust(&self) -> Result<&Path, BuildError> {
        let mut text =
            format!("::cust::kernels! {{\n    package: {:?},\n    images: [\n", self.kernel_crate);
        for one in &self.archs {
            let (major, minor) = one.arch.capability();
            let _ = writeln!(text, "        ({major}, {minor}, include_str!({:?})),", one.file);
        }
        text.push_str("    ],\n}\n");
        workplace::write_if_changed(&self.rust, &text)?;
        Ok(&self.rust)
    }

    /// Returns a warning for each kernel that spills registers.
    pub(crate) fn spills(&self) -> impl Iterator<Item = (Arch, String)> {
        let kernels = self.archs.iter().flat_map(|one| one.kernels.iter().map(|k| (one.arch, k)));
        kernels.filter_map(|(arch, kernel)| Some((arch, kernel.resources?.spill(&kernel.name)?)))
    }
}

impl ArchBuild {
    /// Returns the kernel called `name`.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&KernelReport> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}
