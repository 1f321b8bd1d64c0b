//! Reads the kernel crate's metadata from cargo: its name, workspace and path dependencies.

use crate::{BuildError, cargo};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use tinyjson::{InnerAsRef, JsonValue};

/// The part of the output of `cargo metadata --no-deps` that this module uses.
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

struct Package {
    name: String,
    version: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
    dependencies: Vec<Dependency>,
}

struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
}

struct Dependency {
    name: String,
    kind: Option<String>,
    path: Option<PathBuf>,
    features: Vec<String>,
}

/// The kernel crate's metadata that the build needs.
#[derive(Debug)]
pub(crate) struct KernelCrate {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) folder: PathBuf,
    pub(crate) workspace_root: PathBuf,
    pub(crate) target_directory: PathBuf,
    /// The files and folders whose contents determine the PTX. Crates from a registry are not
    /// listed, because a change of such a crate also changes the lock file, which is listed.
    pub(crate) sources: BTreeSet<PathBuf>,
    /// Whether the crate, or a workspace member that it depends on, enables the allocator of
    /// `cuda_std`.
    pub(crate) allocates: bool,
}

impl KernelCrate {
    /// Reads the package in `path` with `cargo metadata`.
    pub(crate) fn read(path: &Path) -> Result<Self, BuildError> {
        let problem = |reason: String| BuildError::KernelCrate { path: path.to_owned(), reason };
        let folder = path.canonicalize().map_err(|e| problem(e.to_string()))?;
        let manifest = folder.join("Cargo.toml");
        let output = cargo::command(&folder)
            .args(["metadata", "--format-version=1", "--no-deps"])
            .arg("--manifest-path")
            .arg(&manifest)
            .output()
            .map_err(|source| BuildError::Start {
                program: cargo::program().to_string_lossy().into_owned(),
                operation: "read the kernel crate's metadata",
                source,
            })?;
        if !output.status.success() {
            return Err(problem(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let metadata =
            Metadata::parse(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
                problem("the output of `cargo metadata` has an unknown format".to_owned())
            })?;
        let package = metadata
            .find(&folder)
            .ok_or_else(|| problem("cargo finds no package there".to_owned()))?;
        if package.library().is_none() {
            return Err(problem("the package has no library target".to_owned()));
        }
        Ok(Self {
            name: package.name.clone(),
            version: package.version.clone(),
            sources: metadata.sources(package),
            allocates: metadata.allocates(package),
            workspace_root: metadata.workspace_root.clone(),
            target_directory: metadata.target_directory.clone(),
            folder,
        })
    }
}

/// Returns the member `name` of a JSON object, or `None` if it is missing or has another type.
fn get<'a, T: InnerAsRef>(object: &'a JsonValue, name: &str) -> Option<&'a T> {
    object.get::<HashMap<String, JsonValue>>()?.get(name)?.get()
}

/// Returns the elements of the array `name` in a JSON object, each converted by `read`.
fn list<T>(
    object: &JsonValue,
    name: &str,
    read: impl Fn(&JsonValue) -> Option<T>,
) -> Option<Vec<T>> {
    get::<Vec<JsonValue>>(object, name)?.iter().map(read).collect()
}

fn text(object: &JsonValue, name: &str) -> Option<String> {
    get(object, name).cloned()
}

fn path(object: &JsonValue, name: &str) -> Option<PathBuf> {
    text(object, name).map(PathBuf::from)
}

impl Metadata {
    /// Parses the output of cargo. Returns `None` if it is not in cargo's documented format.
    fn parse(json: &str) -> Option<Self> {
        let json = json.parse::<JsonValue>().ok()?;
        Some(Self {
            packages: list(&json, "packages", Package::read)?,
            workspace_root: path(&json, "workspace_root")?,
            target_directory: path(&json, "target_directory")?,
        })
    }

    fn find(&self, folder: &Path) -> Option<&Package> {
        self.packages.iter().find(|package| {
            let own = package.folder();
            own == folder || own.canonicalize().is_ok_and(|own| own == folder)
        })
    }

    /// Returns `package` and the workspace members that it depends on, and the folders of its path
    /// dependencies outside the workspace.
    fn path_dependencies<'a>(&'a self, package: &'a Package) -> (Vec<&'a Package>, Vec<&'a Path>) {
        let (mut members, mut others) = (vec![package], Vec::new());
        let mut seen = BTreeSet::new();
        let mut at = 0;
        while let Some(package) = members.get(at) {
            at += 1;
            for dependency in &package.dependencies {
                let Some(path) = &dependency.path else {
                    continue;
                };
                if dependency.is_dev() || !seen.insert(path) {
                    continue;
                }
                match self.find(path) {
                    Some(member) => members.push(member),
                    None => others.push(path.as_path()),
                }
            }
        }
        (members, others)
    }

    /// Returns the sources of `package` and its path dependencies, and the workspace's own files.
    fn sources(&self, package: &Package) -> BTreeSet<PathBuf> {
        let mut sources: BTreeSet<PathBuf> = ["Cargo.lock", "Cargo.toml", "rust-toolchain.toml"]
            .iter()
            .map(|name| self.workspace_root.join(name))
            .collect();
        let (members, others) = self.path_dependencies(package);
        for member in members {
            sources.insert(member.manifest_path.clone());
            sources.extend(member.targets.iter().filter_map(Target::source));
        }
        // The layout of a folder outside the workspace is unknown, so cargo watches the whole
        // folder.
        sources.extend(others.into_iter().map(Path::to_owned));
        // Cargo treats a missing file as always changed, so the list must not contain missing
        // files.
        sources.retain(|path| path.exists());
        sources
    }

    /// Returns whether `package`, or a member that it depends on, enables the feature `alloc` of
    /// `cuda_std`.
    fn allocates(&self, package: &Package) -> bool {
        let (members, _) = self.path_dependencies(package);
        members.iter().flat_map(|member| &member.dependencies).any(|dependency| {
            let is_std = ["cuda_std", "stable-cuda-std"].contains(&dependency.name.as_str());
            is_std && !dependency.is_dev() && dependency.features.iter().any(|f| f == "alloc")
        })
    }
}

impl Dependency {
    fn read(json: &JsonValue) -> Option<Self> {
        Some(Self {
            name: text(json, "name")?,
            kind: text(json, "kind"),
            path: path(json, "path"),
            features: list(json, "features", |feature| feature.get().cloned())?,
        })
    }

    fn is_dev(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

impl Package {
    fn read(json: &JsonValue) -> Option<Self> {
        Some(Self {
            name: text(json, "name")?,
            version: text(json, "version")?,
            manifest_path: path(json, "manifest_path")?,
            targets: list(json, "targets", Target::read)?,
            dependencies: list(json, "dependencies", Dependency::read)?,
        })
    }

    fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(Path::new("."))
    }

    fn library(&self) -> Option<&Target> {
        self.targets.iter().find(|target| target.is_library())
    }
}

impl Target {
    fn read(json: &JsonValue) -> Option<Self> {
        Some(Self {
            kind: list(json, "kind", |kind| kind.get().cloned())?,
            src_path: path(json, "src_path")?,
        })
    }

    fn is_library(&self) -> bool {
        let other = ["bin", "test", "bench", "example", "custom-build"];
        !self.kind.iter().any(|kind| other.contains(&kind.as_str()))
    }

    /// Returns the path whose changes affect the PTX: the folder of a library, or the file of a
    /// build script. Returns `None` for other targets, such as tests.
    fn source(&self) -> Option<PathBuf> {
        if self.is_library() {
            self.src_path.parent().map(Path::to_owned)
        } else if self.kind.iter().any(|kind| kind == "custom-build") {
            Some(self.src_path.clone())
        } else {
            None
        }
    }
}
