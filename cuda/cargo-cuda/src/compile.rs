//! Compiles the kernel package that the user selected.

use std::env;
use std::fs;

use cuda_builder::{Arch, ArchBuild, CudaBuilder};

use crate::error::Error;
use crate::workspace::Workspace;

/// The options that select a kernel and an architecture.
#[derive(Debug, clap::Args)]
pub(crate) struct Selection {
    /// The kernel to print. Without it, the command lists all kernels.
    pub(crate) kernel: Option<String>,
    /// The architecture to compile for. PTX for sm_75 runs on sm_75 and every later GPU.
    #[arg(long, value_name = "ARCH", default_value_t, value_parser = arch)]
    arch: Arch,
    /// The kernel package. The default is the package in the current folder if it depends on `cuda_std`, and otherwise
    /// the only such package of the workspace.
    #[arg(short, long, value_name = "PACKAGE")]
    package: Option<String>,
    /// A feature of the kernel package to enable. May be repeated.
    #[arg(short = 'F', long, value_name = "FEATURE")]
    features: Vec<String>,
}

/// A compiled kernel package.
pub(crate) struct Compiled {
    pub(crate) arch: Arch,
    pub(crate) build: ArchBuild,
    /// The PTX of all kernels.
    pub(crate) text: String,
}

impl Selection {
    /// Compiles the package. With `lines`, the PTX names the source line of each instruction.
    pub(crate) fn compile(&self, lines: bool) -> Result<Compiled, Error> {
        let here = env::current_dir().map_err(Error::io("find", ".".as_ref()))?;
        let workspace = Workspace::members()?;
        let package = workspace.kernel_package(self.package.as_deref(), &here)?;
        let suffix = if lines { ".lines" } else { "" };
        let file = format!("{}.{}{suffix}.ptx", package.name, self.arch);
        let features: Vec<_> =
            self.features.iter().map(|feature| format!("--features={feature}")).collect();
        let build = CudaBuilder::new(&package.folder)
            .arch(self.arch)
            .generate_line_info(lines)
            .build_args(&features)
            .copy_to(workspace.target.join("cargo-cuda").join(file))
            .build()?;
        let build = build.archs.into_iter().next();
        let build = build.ok_or_else(|| Error::new("the build returned no PTX"))?;
        let text = fs::read_to_string(&build.ptx).map_err(Error::io("read", &build.ptx))?;
        Ok(Compiled { arch: self.arch, build, text })
    }
}

impl Compiled {
    /// Returns an error that lists the kernels if the package has no kernel `name`.
    pub(crate) fn check(&self, name: &str) -> Result<(), Error> {
        if self.build.kernel(name).is_some() {
            return Ok(());
        }
        let known: Vec<_> = self.build.kernels.iter().map(|kernel| &*kernel.name).collect();
        let known = known.join(", ");
        Err(Error::new(format!("there is no kernel `{name}`; the package has: {known}")))
    }
}

/// Parses an architecture such as `sm_90`. The prefix is optional.
fn arch(text: &str) -> Result<Arch, String> {
    let number = text.strip_prefix("sm_").unwrap_or(text);
    let matches = |arch: &&Arch| arch.name().strip_prefix("sm_") == Some(number);
    Arch::ALL.iter().find(matches).copied().ok_or_else(|| {
        let names: Vec<_> = Arch::ALL.iter().map(|arch| arch.name()).collect();
        format!("unknown architecture; use one of: {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_read_by_name_and_by_number() {
        assert_eq!(arch("sm_90"), Ok(Arch::Sm90));
        assert_eq!(arch("90a"), Ok(Arch::Sm90a));
        let error = arch("sm_91").expect_err("no such architecture");
        assert!(error.contains("sm_75, sm_80"), "{error}");
        assert!(arch("").is_err() && arch("sm_").is_err());
    }
}
