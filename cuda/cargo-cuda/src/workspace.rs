//! The packages of the workspace around the current folder, and the choice of a kernel package.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use serde_json::Value;

use crate::error::Error;

/// The names of the package whose users are kernel packages: the kit's, and rust-cuda's.
const CUDA_STD: [&str; 2] = ["stable-cuda-std", "cuda_std"];

/// The part of the output of `cargo metadata` that this program uses.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// The target folder.
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

/// A package, either a member of the workspace or a dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) folder: PathBuf,
    /// Whether the package has a normal dependency on `cuda_std`.
    pub(crate) has_kernels: bool,
}

/// Returns the cargo that runs this program, or `cargo`.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns the exit code of a command, or a failure if a signal has ended it.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

impl Workspace {
    /// Reads the members of the workspace around the current folder.
    pub(crate) fn members() -> Result<Self, Error> {
        Self::read(&["--no-deps"])
    }

    /// Reads the members of the workspace and all their dependencies.
    pub(crate) fn with_dependencies() -> Result<Self, Error> {
        Self::read(&[])
    }

    fn read(arguments: &[&str]) -> Result<Self, Error> {
        let mut command = cargo();
        command.args(["metadata", "--format-version=1"]).args(arguments);
        let output = command.output().map_err(Error::start("cargo", "read the workspace"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let reason = said.trim().trim_start_matches("error: ");
            return Err(Error::new(format!(
                "cannot read the workspace: {reason}; run the command in the folder of a package"
            )));
        }
        let unknown = "the output of `cargo metadata` has an unknown format; update cargo-cuda";
        Self::parse(&output.stdout).ok_or_else(|| Error::new(unknown))
    }

    /// Parses the output of `cargo metadata`. Returns `None` if it is not in the documented format.
    fn parse(json: &[u8]) -> Option<Self> {
        let json: Value = serde_json::from_slice(json).ok()?;
        let packages = json["packages"].as_array()?;
        Some(Self {
            root: json["workspace_root"].as_str()?.into(),
            target: json["target_directory"].as_str()?.into(),
            packages: packages.iter().map(Package::parse).collect::<Option<_>>()?,
        })
    }

    /// Returns the package called `named`, or else the kernel package in the folder `here`, or else the only kernel
    /// package.
    pub(crate) fn kernel_package(
        &self,
        named: Option<&str>,
        here: &Path,
    ) -> Result<&Package, Error> {
        let mut all: Vec<_> = self.packages.iter().filter(|package| package.has_kernels).collect();
        let is_meant = |package: &&&Package| match named {
            Some(name) => package.name == name,
            None => package.folder == here,
        };
        match (all.iter().find(is_meant), all.len(), named) {
            (Some(package), ..) => Ok(package),
            (None, 1, None) => Ok(all.remove(0)),
            (None, 0, _) => Err(Error::new(format!(
                "no package of the workspace `{}` depends on cuda_std, so it has no kernels; run the command in \
                 another folder, or create a project with `cargo cuda new`",
                self.root.display()
            ))),
            (None, ..) => {
                let names: Vec<_> = all.iter().map(|package| &*package.name).collect();
                Err(Error::new(format!(
                    "these packages depend on cuda_std: {}; select one with -p, or run the command in its folder",
                    names.join(", ")
                )))
            }
        }
    }
}

impl Package {
    fn parse(json: &Value) -> Option<Self> {
        let is_cuda_std = |dependency: &Value| {
            let name = dependency["name"].as_str().unwrap_or_default();
            dependency["kind"].is_null() && CUDA_STD.contains(&name)
        };
        Some(Self {
            name: json["name"].as_str()?.to_owned(),
            version: json["version"].as_str()?.to_owned(),
            folder: Path::new(json["manifest_path"].as_str()?).parent()?.to_owned(),
            has_kernels: json["dependencies"].as_array()?.iter().any(is_cuda_std),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, has_kernels: bool) -> Package {
        let folder = Path::new("/w").join(name);
        Package { name: name.to_owned(), version: "0.1.0".to_owned(), folder, has_kernels }
    }

    fn workspace(packages: &[Package]) -> Workspace {
        Workspace { root: "/w".into(), target: "/w/target".into(), packages: packages.to_vec() }
    }

    #[test]
    fn only_normal_dependencies_on_cuda_std_make_a_kernel_package() {
        let parse = |dependency: &str| {
            let json = format!(
                r#"{{"workspace_root": "/w", "target_directory": "/w/target", "packages": [{{"name": "a",
                "version": "0.1.0", "manifest_path": "/w/a/Cargo.toml", "dependencies": [{dependency}]}}]}}"#
            );
            Workspace::parse(json.as_bytes()).expect("valid metadata").packages.remove(0)
        };
        assert_eq!(parse(r#"{"name": "stable-cuda-std", "kind": null}"#), package("a", true));
        assert_eq!(parse(r#"{"name": "stable-cuda-std", "kind": "dev"}"#), package("a", false));
        assert_eq!(parse(r#"{"name": "stable-cust", "kind": null}"#), package("a", false));
        assert!(Workspace::parse(b"{}").is_none() && Workspace::parse(b"").is_none());
    }

    #[test]
    fn the_kernel_package_is_the_named_the_local_or_the_only_one() {
        let (host, one, two) = (package("host", false), package("one", true), package("two", true));
        let several = workspace(&[host.clone(), one.clone(), two.clone()]);
        let find = |workspace: &Workspace, named, here: &str| {
            let found = workspace.kernel_package(named, Path::new(here));
            found.map(|package| package.name.clone()).map_err(|error| error.to_string())
        };
        assert_eq!(find(&several, Some("two"), "/w/one"), Ok("two".into()));
        assert_eq!(find(&several, None, "/w/two"), Ok("two".into()));
        assert_eq!(find(&workspace(&[host.clone(), one]), None, "/w/host"), Ok("one".into()));

        let error = find(&several, None, "/w/host").expect_err("two packages");
        assert!(error.contains("one, two") && error.contains("-p"), "{error}");
        for wrong in ["tow", "host"] {
            let error = find(&several, Some(wrong), "/w").expect_err("no such package");
            assert!(error.contains("one, two"), "{error}");
        }
        let error = find(&workspace(&[host]), None, "/w").expect_err("no kernels");
        assert!(error.contains("depends on cuda_std"), "{error}");
    }
}
