//! Checks that the demo, the program and the benches share every crate that they have in common. Cargo would compile a
//! crate again, and everything that depends on it, if one of them asked for another feature of a shared dependency.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What `cargo xtask demo`, `cargo build --release -p panoweave-cli` and `cargo xtask bench` build.
const BUILDS: [&[&str]; 3] = [
    &["build", "--release", "--package", "panoweave-examples", "--bin", "demo"],
    &["build", "--release", "--package", "panoweave-cli"],
    &["bench", "--no-run", "--package", "panoweave-benches", "--benches"],
];

/// Returns the libraries of a build: their packages, names and profiles, and the features of each.
fn libraries(arguments: &[&str]) -> Vec<(String, String)> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace"));
    cargo.args(arguments).args(["--offline", "--unit-graph", "-Z", "unstable-options"]);
    // Only cargo may use the unstable option, which prints the crates and builds nothing.
    let output = cargo.env("RUSTC_BOOTSTRAP", "1").output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let graph: Value = serde_json::from_slice(&output.stdout).expect("a graph of units");
    let units = graph["units"].as_array().expect("units").iter();
    let units = units.filter(|unit| unit["mode"] == "build");
    let is_library = |unit: &&Value| {
        let kind = unit["target"]["kind"][0].as_str().expect("a kind");
        kind.ends_with("lib") || kind == "proc-macro"
    };
    let describe = |unit: &Value| {
        // Cargo shares crates between profiles with other names.
        let mut profile = unit["profile"].clone();
        profile["name"] = Value::Null;
        let library = format!("{} {} {profile}", unit["pkg_id"], unit["target"]["name"]);
        (library, unit["features"].to_string())
    };
    units.filter(is_library).map(describe).collect()
}

#[test]
fn the_demo_the_program_and_the_benches_share_their_crates() {
    let mut features: BTreeMap<String, String> = BTreeMap::new();
    for build in BUILDS {
        let libraries = libraries(build);
        assert!(libraries.len() > 50, "{build:?}");
        for (library, own) in libraries {
            let earlier = features.entry(library.clone()).or_insert_with(|| own.clone());
            assert_eq!(
                *earlier, own,
                "{library} is compiled twice; name the missing features in a package that both builds contain: {build:?}"
            );
        }
    }
}
