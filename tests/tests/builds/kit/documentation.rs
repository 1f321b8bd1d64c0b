//! Checks that the documentation of the kit shows an example of every public item.
//!
//! The rule:
//! - Every public module, type, trait, macro, function, constant and static has an example in its own documentation.
//!   The example of a function calls it.
//! - Every public method is called in an example of the file that defines the method or its type.
//!
//! An example is a code block that `cargo test --doc` compiles. Blocks marked `ignore` or `compile_fail` do not count.
//! The rule does not apply to deprecated methods, to the methods that the crate `bitflags` generates, and to the items
//! in [`EXEMPT`].
//!
//! The check reads rustdoc's JSON, in which macros are expanded. The format is unstable, so the check uses only its
//! oldest fields.

use std::collections::{BTreeMap, BTreeSet};
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

/// The paths of items that need no example. NVIDIA's manual documents the driver's functions and types.
const EXEMPT: [&str; 1] = ["cust_raw::driver_sys::"];

/// The documentation of one crate, as rustdoc writes it.
struct Documentation {
    index: BTreeMap<u64, Value>,
    root: u64,
    /// The code of all examples in each file.
    examples: BTreeMap<String, String>,
}

/// The kind of an item, and the value that belongs to the kind.
fn inner(item: &Value) -> (&str, &Value) {
    let kind = item["inner"].as_object().and_then(|inner| inner.iter().next());
    kind.map_or(("", &Value::Null), |(kind, value)| (kind.as_str(), value))
}

/// Returns the code of the examples in a documentation text.
fn examples(docs: &str) -> Option<String> {
    let (mut code, mut count, mut block) = (String::new(), 0, None);
    for line in docs.lines() {
        match (line.trim_start().strip_prefix("```"), block) {
            (Some(_), Some(_)) => block = None,
            (Some(mark), None) => {
                let compiles = ["", "no_run", "should_panic"].contains(&mark.trim());
                count += usize::from(compiles);
                block = Some(compiles);
            }
            (None, Some(true)) => {
                code.push_str(line);
                code.push('\n');
            }
            (None, _) => {}
        }
    }
    (count > 0).then_some(code)
}

/// Returns whether `code` contains `name` as a whole word, after one of the endings in `before`.
fn mentions(code: &str, name: &str, before: &[&str]) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        let (start, end) = (&code[..at], &code[at + name.len()..]);
        let follows = before.is_empty() || before.iter().any(|ending| start.ends_with(ending));
        follows && !start.ends_with(is_word) && !end.starts_with(is_word)
    })
}

impl Documentation {
    fn new(json: &Value) -> Self {
        let items = json["index"].as_object().expect("an index of items");
        let id = |text: &String| text.parse().expect("an identifier");
        let index: BTreeMap<u64, Value> =
            items.iter().map(|(text, item)| (id(text), item.clone())).collect();
        let mut files = BTreeMap::<String, String>::new();
        for item in index.values() {
            if let Some(code) = item["docs"].as_str().and_then(examples) {
                files.entry(file(item).to_owned()).or_default().push_str(&code);
            }
        }
        Self { index, root: json["root"].as_u64().expect("the crate"), examples: files }
    }

    /// Returns the items with these identifiers that belong to the crate.
    fn items<'a>(&'a self, ids: &'a Value) -> impl Iterator<Item = (u64, &'a Value)> {
        let ids = ids.as_array().into_iter().flatten().filter_map(Value::as_u64);
        ids.filter_map(|id| Some((id, self.index.get(&id).filter(|item| item["crate_id"] == 0)?)))
    }

    /// Returns the path of every public item of the crate, and whether the rule holds for the item.
    fn checked(&self) -> BTreeMap<String, bool> {
        let (mut found, mut seen) = (BTreeMap::new(), BTreeSet::new());
        let mut open = vec![(self.root, String::new())];
        while let Some((id, parent)) = open.pop() {
            let Some(item) = self.index.get(&id).filter(|item| item["crate_id"] == 0) else {
                continue;
            };
            let (kind, value) = inner(item);
            if kind == "use" {
                // A glob re-exports the items of its module. A private module is not an item of its own.
                let target = value["id"].as_u64().and_then(|id| self.index.get(&id));
                let is_module = target.is_some_and(|target| inner(target).0 == "module");
                if value["is_glob"] == true {
                    let items = target.map_or(&Value::Null, |module| &inner(module).1["items"]);
                    open.extend(self.items(items).map(|(id, _)| (id, parent.clone())));
                } else if !is_module || target.is_some_and(|to| to["visibility"] == "public") {
                    open.extend(value["id"].as_u64().map(|id| (id, parent)));
                }
                continue;
            }
            if !seen.insert(id) {
                continue;
            }
            let name = item["name"].as_str().unwrap_or_default();
            let path =
                if parent.is_empty() { name.to_owned() } else { format!("{parent}::{name}") };
            if let Some(holds) = self.has_example(item) {
                found.insert(path.clone(), holds);
            }
            if kind == "module" {
                open.extend(self.items(&value["items"]).map(|(id, _)| (id, path.clone())));
            }
            for method in self.methods(item) {
                let name = method["name"].as_str().unwrap_or_default();
                let called = |file: &str| {
                    self.examples.get(file).is_some_and(|code| mentions(code, name, &[".", "::"]))
                };
                let holds = called(file(method)) || called(file(item));
                found.insert(format!("{path}::{name}"), holds);
            }
        }
        found.retain(|path, _| !EXEMPT.iter().any(|exempt| path.starts_with(exempt)));
        found
    }

    /// Returns whether an item has an example, or `None` if items of its kind need none.
    fn has_example(&self, item: &Value) -> Option<bool> {
        let (kind, _) = inner(item);
        let code = item["docs"].as_str().and_then(examples);
        match kind {
            "function" => {
                let name = item["name"].as_str().unwrap_or_default();
                Some(code.is_some_and(|code| mentions(&code, name, &[])))
            }
            "module" | "struct" | "enum" | "union" | "trait" | "macro" | "proc_macro"
            | "type_alias" | "static" | "constant" => Some(code.is_some()),
            _ => None,
        }
    }

    /// Returns the public methods of a type or trait.
    fn methods<'a>(&'a self, item: &'a Value) -> Vec<&'a Value> {
        let (kind, value) = inner(item);
        let impls = || self.items(&value["impls"]).map(|(_, item)| inner(item).1);
        let of_bitflags = impls().any(|one| one["trait"]["path"] == "Flags");
        let lists: Vec<&Value> = match kind {
            "trait" => vec![&value["items"]],
            "struct" | "enum" | "union" if !of_bitflags => {
                let inherent = impls().filter(|one| one["trait"].is_null());
                inherent.map(|one| &one["items"]).collect()
            }
            _ => Vec::new(),
        };
        let methods = lists.into_iter().flat_map(|list| self.items(list).map(|(_, item)| item));
        methods
            .filter(|item| inner(item).0 == "function" && item["deprecation"].is_null())
            .filter(|item| kind == "trait" || item["visibility"] == "public")
            .collect()
    }
}

/// Returns the path of the file that defines an item.
fn file(item: &Value) -> &str {
    item["span"]["filename"].as_str().unwrap_or_default()
}

/// Runs rustdoc for the kit and returns the documentation of each library.
fn documentation() -> Vec<Documentation> {
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
        Documentation::new(&serde_json::from_str(&text).expect("JSON"))
    };
    CRATES.map(read).into()
}

#[test]
fn every_public_item_of_the_kit_has_an_example() {
    let all: Vec<BTreeMap<String, bool>> =
        documentation().iter().map(Documentation::checked).collect();
    let count: usize = all.iter().map(BTreeMap::len).sum();
    assert!(count > 900, "only {count} items were found");
    let without: Vec<&String> =
        all.iter().flatten().filter(|(_, holds)| !**holds).map(|(path, _)| path).collect();
    assert!(without.is_empty(), "{} of {count} items need an example: {without:#?}", without.len());
}

#[test]
fn items_without_an_example_are_found() {
    let span = serde_json::json!({ "filename": "lib.rs" });
    let item = |id: u64, name: &str, docs: &str, inner: Value| {
        let item = serde_json::json!({
            "id": id, "crate_id": 0, "name": name, "docs": docs, "span": span, "inner": inner,
            "visibility": "public", "deprecation": null,
        });
        (id.to_string(), item)
    };
    let function = || serde_json::json!({ "function": {} });
    let index = serde_json::Map::from_iter([
        item(
            0,
            "kit",
            "```\nuse kit::f;\n```",
            serde_json::json!({ "module": { "items": [1, 2, 3, 4] } }),
        ),
        item(1, "f", "```\nkit::f();\n```", function()),
        item(2, "g", "```\nkit::f();\n```", function()),
        item(3, "T", "```text\nkit::T\n```", serde_json::json!({ "struct": { "impls": [5] } })),
        item(4, "M", "```ignore\nkit::M!();\n```", serde_json::json!({ "macro": "" })),
        item(5, "", "", serde_json::json!({ "impl": { "trait": null, "items": [6, 7] } })),
        item(6, "shown", "```no_run\nT.shown();\n```", function()),
        item(7, "show", "", function()),
    ]);
    let json = serde_json::json!({ "root": 0, "index": index });
    let checked = Documentation::new(&json).checked();
    let held: Vec<(&str, bool)> = checked.iter().map(|(path, holds)| (&**path, *holds)).collect();
    let expected = [
        ("kit", true),
        ("kit::M", false),
        ("kit::T", false),
        ("kit::T::show", false),
        ("kit::T::shown", true),
        ("kit::f", true),
        ("kit::g", false),
    ];
    assert_eq!(held, expected);
}
