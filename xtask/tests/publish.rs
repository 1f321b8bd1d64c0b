//! Checks the manifests: what crates.io needs, and the dependencies that `doc/dependencies.md` lists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The packages that are published. All others have `publish = false`: tests, benches, examples and tools of the
/// repository.
const PUBLISHED: [&str; 14] = [
    "gst-plugin-panoweave",
    "kernels-gpu",
    "panoweave",
    "panoweave-cli",
    "shared-types",
    "stable-cargo-cuda",
    "stable-cuda-builder",
    "stable-cuda-cpu",
    "stable-cuda-std",
    "stable-cuda-std-macros",
    "stable-cust",
    "stable-cust-core",
    "stable-cust-derive",
    "stable-cust-raw",
];

/// Returns the packages of the workspace.
fn packages() -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn published_packages_state_what_crates_io_shows() {
    let packages = packages();
    let is_published = |package: &&Value| package["publish"].is_null();
    let name = |package: &Value| package["name"].as_str().unwrap().to_owned();
    let mut names: Vec<_> = packages.iter().filter(is_published).map(name).collect();
    names.sort();
    assert_eq!(names, PUBLISHED);
    for package in packages.iter().filter(is_published) {
        let name = name(package);
        for field in ["description", "license", "readme", "rust_version"] {
            let is_stated = package[field].as_str().is_some_and(|text| !text.is_empty());
            assert!(is_stated, "{name} does not state {field}");
        }
        let count = |field: &str| package[field].as_array().unwrap().len();
        // crates.io rejects more than five of each.
        assert!((1..=5).contains(&count("keywords")), "{name}: {}", package["keywords"]);
        assert!((1..=5).contains(&count("categories")), "{name}: {}", package["categories"]);
        let docs = &package["metadata"]["docs"]["rs"]["targets"];
        assert_eq!(docs[0], "x86_64-unknown-linux-gnu", "{name}: {docs}");
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).with_file_name("");
        for file in ["LICENSE-APACHE", "LICENSE-MIT", package["readme"].as_str().unwrap()] {
            assert!(folder.join(file).exists(), "{name} has no {file}");
        }
        for dependency in package["dependencies"].as_array().unwrap() {
            let is_dev = dependency["kind"] == "dev";
            let has_version = dependency["req"] != "*";
            assert!(is_dev || has_version, "{name} needs a version of {}", dependency["name"]);
        }
    }
}

/// The packages of the workspace that depend on a crate directly, and the features that their manifests name, with
/// `default` if one of them has the default features.
#[derive(Debug, Default, PartialEq)]
struct Uses {
    packages: BTreeSet<String>,
    features: BTreeSet<String>,
}

#[test]
fn the_review_lists_every_direct_dependency_its_users_and_features() {
    let mut expected: BTreeMap<String, Uses> = BTreeMap::new();
    for package in packages() {
        let user = package["name"].as_str().unwrap();
        let dependencies = package["dependencies"].as_array().unwrap();
        for dependency in dependencies.iter().filter(|one| one["source"].is_string()) {
            let name = dependency["name"].as_str().unwrap().to_owned();
            let uses = expected.entry(name).or_default();
            uses.packages.insert(user.to_owned());
            let features = dependency["features"].as_array().unwrap();
            uses.features.extend(features.iter().map(|one| one.as_str().unwrap().to_owned()));
            if dependency["uses_default_features"] == true {
                uses.features.insert("default".to_owned());
            }
        }
    }
    for uses in expected.values_mut().filter(|uses| uses.features.is_empty()) {
        uses.features.insert("none".to_owned());
    }
    let review = include_str!("../../doc/dependencies.md");
    let mut found = BTreeMap::new();
    for line in review.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        assert!(cells.len() == 6 && cells.iter().all(|cell| !cell.is_empty()), "{line}");
        let list = |cell: &str| cell.split(", ").map(str::to_owned).collect();
        let uses = Uses { packages: list(cells[1]), features: list(cells[4]) };
        assert!(found.insert(cells[0].to_owned(), uses).is_none(), "listed twice: {line}");
    }
    for (name, uses) in &expected {
        assert_eq!(found.get(name), Some(uses), "{name} in doc/dependencies.md");
    }
    let stale: Vec<_> = found.keys().filter(|name| !expected.contains_key(*name)).collect();
    assert!(expected.len() > 40 && stale.is_empty(), "in doc/dependencies.md only: {stale:?}");
}
