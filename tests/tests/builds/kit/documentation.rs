//! Checks that the documentation of every public module and macro of the kit has an example.
//!
//! An example is a code block that `cargo test --doc` compiles. Blocks marked `ignore` or `compile_fail` do not count.
//!
//! The check reads rustdoc's JSON, in which macros are expanded. The format is unstable, so the check uses only its
//! oldest fields.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::kit::project;

/// The libraries of the kit.
const CRATES: [&str; 8] = [
    "cuda_builder",
    "cuda_cpu",
    "cuda_std",
    "cuda_std_macros",
    "cust",
    "cust_core",
    "cust_derive",
    "cust_raw",
];

/// Modules without an example: NVIDIA's manual documents the one, and the other only re-exports items.
const EXEMPT: [&str; 2] = ["driver_sys", "prelude"];

/// Returns whether a documentation text has an example.
fn has_example(docs: &str) -> bool {
    let fences = docs.lines().filter_map(|line| line.trim_start().strip_prefix("```"));
    fences.step_by(2).any(|mark| ["", "no_run", "should_panic"].contains(&mark.trim()))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the names of the crate's public modules and macros, and whether each has an example.
fn checked(json: &Value) -> Vec<(&str, bool)> {
    let items = json["index"].as_object().expect("an index of items").values();
    let own = items.filter(|item| item["crate_id"] == 0 && item["visibility"] == "public");
    let named = own.filter(|item| {
        let kind = item["inner"].as_object().and_then(|inner| inner.keys().next());
        kind.is_some_and(|kind| ["module", "macro", "proc_macro"].contains(&kind.as_str()))
    });
    let documented = named.filter(|item| !EXEMPT.iter().any(|name| item["name"] == *name));
    documented.map(|item| (text(&item["name"]), has_example(text(&item["docs"])))).collect()
}

/// Runs rustdoc for the kit and returns the documentation of each library.
fn documentation() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Only rustdoc may use unstable options. If cargo saw the variable, it would compile some dependencies again.
    let rustdoc = folder.join("rustdoc.sh");
    let script = b"#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";
    project::write(&rustdoc, script);
    fs::set_permissions(&rustdoc, fs::Permissions::from_mode(0o755)).expect("an executable file");

    let target = folder.parent().expect("the target folder");
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(project::root()).args(["doc", "--quiet", "--no-deps", "--target-dir"]);
    command.arg(target).env("RUSTDOC", &rustdoc);
    command.env("RUSTDOCFLAGS", "-Zunstable-options --output-format=json");
    for library in CRATES {
        command.args(["--package", &format!("stable-{}", library.replace('_', "-"))]);
    }
    project::run(command);
    let read = |library: &str| {
        let path = target.join("doc").join(library).with_extension("json");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        serde_json::from_str(&text).expect("JSON")
    };
    CRATES.map(read).into()
}

#[test]
fn every_public_module_and_macro_of_the_kit_has_an_example() {
    let all = documentation();
    let checked: Vec<_> = all.iter().flat_map(checked).collect();
    assert!(checked.len() > 30, "only {} items were found", checked.len());
    let without: Vec<_> = checked.iter().filter(|(_, has)| !has).map(|(name, _)| name).collect();
    assert!(without.is_empty(), "{} need an example: {without:?}", without.len());
}

#[test]
fn items_without_an_example_are_found() {
    let item = |id: &str, docs: &str, inner: &str| {
        let item = serde_json::json!({
            "crate_id": 0, "name": id, "docs": docs, "visibility": "public", "inner": { inner: {} },
        });
        (id.to_owned(), item)
    };
    let index = serde_json::Map::from_iter([
        item("a", "```\nkit::f();\n```", "module"),
        item("b", "```text\nkit::f();\n```", "module"),
        item("c", "```no_run\nkit::M!();\n```", "macro"),
        item("d", "```ignore\nkit::M!();\n```", "macro"),
        item("e", "", "function"),
    ]);
    let json = serde_json::json!({ "index": index });
    assert_eq!(checked(&json), [("a", true), ("b", false), ("c", true), ("d", false)]);
}
