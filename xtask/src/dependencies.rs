//! Lists the packages that a program contains, with their versions, licences and folders.
//!
//! `cargo tree` selects the packages, because it resolves features as a build does. `cargo metadata` describes them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use crate::Result;
use crate::cargo::{cargo, output};

/// A package of the workspace or of a registry.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: String,
    pub(crate) description: String,
    /// The folder of the package's manifest.
    pub(crate) folder: PathBuf,
    /// The SHA-256 of the package in its registry. `None` for packages of the workspace.
    pub(crate) checksum: Option<String>,
    /// The names and versions of the packages in the same list on which this package depends.
    pub(crate) needs: Vec<(String, String)>,
}

/// Returns the packages that builds of `packages` for the target `triple` contain, sorted by name and version.
/// `edges` selects the kinds of dependencies, as in `cargo tree --edges`.
pub(crate) fn of(packages: &[&str], edges: &str, triple: &str) -> Result<Vec<Package>> {
    let mut tree = cargo(&["tree", "--locked", "--prefix", "none", "--no-dedupe"]);
    tree.args(["--format", "{p}", "--edges", edges, "--target", triple]);
    tree.args(packages.iter().flat_map(|package| ["--package", package]));
    let chosen: BTreeSet<(String, String)> = output(&mut tree)?.lines().filter_map(named).collect();
    let metadata = ["metadata", "--locked", "--format-version", "1", "--filter-platform", triple];
    let metadata: Value = serde_json::from_str(&output(&mut cargo(&metadata))?)?;
    let lock: BTreeMap<_, _> =
        checksums(&std::fs::read_to_string(crate::cargo::root().join("Cargo.lock"))?);
    let text = |value: &Value| value.as_str().unwrap_or_default().trim().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let key = |package: &Value| (text(&package["name"]), text(&package["version"]));
    let all = list(&metadata["packages"]);
    let by_id: BTreeMap<String, (String, String)> =
        all.iter().map(|package| (text(&package["id"]), key(package))).collect();
    let needs: BTreeMap<String, Vec<(String, String)>> = list(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| {
            let needs = list(&node["dependencies"]);
            let needs = needs.iter().filter_map(|id| by_id.get(&text(id)));
            (text(&node["id"]), needs.filter(|key| chosen.contains(key)).cloned().collect())
        })
        .collect();
    let mut found: Vec<_> = all
        .iter()
        .filter(|package| chosen.contains(&key(package)))
        .map(|package| Package {
            name: text(&package["name"]),
            version: text(&package["version"]),
            license: text(&package["license"]),
            description: text(&package["description"]),
            folder: PathBuf::from(text(&package["manifest_path"])).with_file_name(""),
            checksum: lock.get(&key(package)).cloned(),
            needs: needs.get(&text(&package["id"])).cloned().unwrap_or_default(),
        })
        .collect();
    found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    if found.len() != chosen.len() {
        let (found, chosen) = (found.len(), chosen.len());
        return Err(format!(
            "cargo metadata describes {found} of {chosen} dependencies; run `cargo update --workspace` and try again"
        )
        .into());
    }
    Ok(found)
}

/// Returns the name and the version in a line of `cargo tree`, such as `glam v0.34.0` or `panoweave v0.1.0 (/folder)`.
fn named(line: &str) -> Option<(String, String)> {
    let mut words = line.split(' ');
    Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
}

/// Returns the checksums in a `Cargo.lock` by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let entries = lock.split("[[package]]").skip(1);
    let field = |entry: &str, name: &str| {
        let value = entry.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
        value.map(|value| value.trim_end_matches('"').to_owned())
    };
    let checksum = |entry| {
        Some(((field(entry, "name")?, field(entry, "version")?), field(entry, "checksum")?))
    };
    entries.filter_map(checksum).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::{checksums, named};
    use crate::cargo::{cargo, output, root};

    #[test]
    fn the_review_has_a_line_for_every_direct_dependency() {
        let metadata =
            output(&mut cargo(&["metadata", "--no-deps", "--format-version", "1"])).unwrap();
        let metadata: Value = serde_json::from_str(&metadata).unwrap();
        let packages = metadata["packages"].as_array().unwrap().iter();
        let dependencies = packages.flat_map(|one| one["dependencies"].as_array().unwrap());
        let expected: BTreeSet<_> = dependencies
            .filter(|one| one["source"].is_string())
            .map(|one| one["name"].as_str().unwrap())
            .collect();
        let review = std::fs::read_to_string(root().join("doc/dependencies.md")).unwrap();
        let lines = review.lines().filter_map(|line| line.strip_prefix("| ")).skip(1);
        let found: BTreeSet<_> = lines.map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(found, expected, "crates in doc/dependencies.md and in the manifests");
    }

    #[test]
    fn lines_of_cargo_tree_and_of_the_lock_file_are_read() {
        let key = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        assert_eq!(named("glam v0.34.0"), Some(key("glam", "0.34.0")));
        assert_eq!(named("serde_derive v1.0.2 (proc-macro)"), Some(key("serde_derive", "1.0.2")));
        assert_eq!(named(""), None);
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"12\"\n\n\
                    [[package]]\nname = \"xtask\"\nversion = \"0.1.0\"\n";
        let found = checksums(lock);
        assert_eq!(found.len(), 1);
        assert_eq!(found[&key("a", "1.0.0")], "12");
    }
}
