//! Checks the manifests: what crates.io needs, and the dependencies that `doc/dependencies.md` lists.

use std::collections::BTreeSet;
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

/// Returns the packages of panoweave and of the kernel kit.
fn packages() -> Vec<Value> {
    let packages = |workspace: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(workspace);
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
        let output = cargo.current_dir(folder).output().unwrap();
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        metadata["packages"].as_array().unwrap().clone()
    };
    ["", "cuda"].into_iter().flat_map(packages).collect()
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

#[test]
fn the_review_has_a_line_for_every_direct_dependency() {
    let packages = packages();
    let dependencies = packages.iter().flat_map(|one| one["dependencies"].as_array().unwrap());
    let expected: BTreeSet<_> = dependencies
        .filter(|one| one["source"].is_string())
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    let review = include_str!("../../doc/dependencies.md");
    let lines = review.lines().filter_map(|line| line.strip_prefix("| ")).skip(1);
    let found: BTreeSet<_> = lines.map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(found, expected, "crates in doc/dependencies.md and in the manifests");
}
