//! Reads the kernel crate's metadata from cargo: its name, workspace and path dependencies.

use crate::{BuildError, cargo};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use tinyjson::{InnerAsRef, JsonValue};

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
        let problem = |reason: &str| {
            BuildError::Invalid(format!(
                "cannot use `{}` as a kernel crate: {}; pass the folder of a package that has a \
                 library target",
                path.display(),
                reason.trim()
            ))
        };
        let folder = path.canonicalize().map_err(|e| problem(&e.to_string()))?;
        let output = cargo::command(&folder)
            .args(["metadata", "--format-version=1", "--no-deps", "--manifest-path"])
            .arg(folder.join("Cargo.toml"))
            .output()
            .map_err(|source| BuildError::Start {
                program: cargo::program().to_string_lossy().into_owned(),
                operation: "read the kernel crate's metadata",
                source,
            })?;
        if !output.status.success() {
            return Err(problem(&String::from_utf8_lossy(&output.stderr)));
        }
        let json = String::from_utf8_lossy(&output.stdout).parse::<JsonValue>();
        let json = json.map_err(|error| problem(&format!("of `cargo metadata`: {error}")))?;
        let packages = list(&json, "packages");
        let package =
            find(packages, &folder).ok_or_else(|| problem("cargo finds no package there"))?;
        if !list(package, "targets").iter().any(is_library) {
            return Err(problem("the package has no library target"));
        }
        let (members, others) = path_dependencies(packages, package);
        let workspace_root = PathBuf::from(text(&json, "workspace_root"));
        Ok(Self {
            name: text(package, "name").to_owned(),
            version: text(package, "version").to_owned(),
            folder,
            target_directory: PathBuf::from(text(&json, "target_directory")),
            sources: sources(&workspace_root, &members, others),
            allocates: members.iter().flat_map(|member| dependencies(member)).any(is_allocator),
            workspace_root,
        })
    }
}

/// Returns the member `name` of a JSON object, or `None` if it is missing or has another type.
fn get<'a, T: InnerAsRef>(object: &'a JsonValue, name: &str) -> Option<&'a T> {
    object.get::<HashMap<String, JsonValue>>()?.get(name)?.get()
}

/// Returns the array `name` of a JSON object. It is empty if it is missing.
fn list<'a>(object: &'a JsonValue, name: &str) -> &'a [JsonValue] {
    get::<Vec<JsonValue>>(object, name).map_or(&[], Vec::as_slice)
}

/// Returns the text `name` of a JSON object. It is empty if it is missing.
fn text<'a>(object: &'a JsonValue, name: &str) -> &'a str {
    get::<String>(object, name).map_or("", String::as_str)
}

/// Returns whether the list of texts `name` contains one of `words`.
fn lists(object: &JsonValue, name: &str, words: &[&str]) -> bool {
    let texts = list(object, name).iter().filter_map(|text| text.get::<String>());
    texts.into_iter().any(|text| words.contains(&text.as_str()))
}

fn find<'a>(packages: &'a [JsonValue], folder: &Path) -> Option<&'a JsonValue> {
    packages.iter().find(|package| {
        let own = Path::new(text(package, "manifest_path")).parent();
        own.is_some_and(|own| own == folder || own.canonicalize().is_ok_and(|own| own == folder))
    })
}

/// Returns the dependencies of a package except those of its tests.
fn dependencies(package: &JsonValue) -> impl Iterator<Item = &JsonValue> {
    list(package, "dependencies").iter().filter(|one| text(one, "kind") != "dev")
}

/// Returns whether a dependency is `cuda_std` with its allocator.
fn is_allocator(dependency: &JsonValue) -> bool {
    ["cuda_std", "stable-cuda-std"].contains(&text(dependency, "name"))
        && lists(dependency, "features", &["alloc"])
}

/// Returns `package` and the workspace members that it depends on, and the folders of its path
/// dependencies outside the workspace.
fn path_dependencies<'a>(
    packages: &'a [JsonValue],
    package: &'a JsonValue,
) -> (Vec<&'a JsonValue>, Vec<&'a Path>) {
    let (mut members, mut others) = (vec![package], Vec::new());
    let mut seen = BTreeSet::new();
    let mut at = 0;
    while let Some(package) = members.get(at) {
        at += 1;
        for path in dependencies(package).map(|dependency| text(dependency, "path")) {
            if path.is_empty() || !seen.insert(path) {
                continue;
            }
            match find(packages, Path::new(path)) {
                Some(member) => members.push(member),
                None => others.push(Path::new(path)),
            }
        }
    }
    (members, others)
}

/// Returns the sources of the packages `members`, the folders `others`, and the workspace's own
/// files.
fn sources(root: &Path, members: &[&JsonValue], others: Vec<&Path>) -> BTreeSet<PathBuf> {
    let mut sources: BTreeSet<PathBuf> =
        ["Cargo.lock", "Cargo.toml", "rust-toolchain.toml"].map(|name| root.join(name)).into();
    for member in members {
        sources.insert(PathBuf::from(text(member, "manifest_path")));
        for target in list(member, "targets") {
            // The folder of a library, or the file of a build script. Other targets, such as tests,
            // do not affect the PTX.
            let file = Path::new(text(target, "src_path"));
            if is_library(target) {
                sources.extend(file.parent().map(Path::to_owned));
            } else if lists(target, "kind", &["custom-build"]) {
                sources.insert(file.to_owned());
            }
        }
    }
    // The layout of a folder outside the workspace is unknown, so cargo watches the whole folder.
    sources.extend(others.into_iter().map(Path::to_owned));
    // Cargo treats a missing file as always changed, so the list must not contain missing files.
    sources.retain(|path| path.exists());
    sources
}

fn is_library(target: &JsonValue) -> bool {
    !lists(target, "kind", &["bin", "test", "bench", "example", "custom-build"])
}
