//! The exported names are exactly those that `cust_raw` and `cust` declare.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The folders of the packages `cust_raw` and `cust` in this build; none without their sources.
fn packages() -> Vec<PathBuf> {
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let Ok(output) = output else {
        return Vec::new();
    };
    let metadata = String::from_utf8_lossy(&output.stdout);
    let manifests = metadata.split("\"manifest_path\":\"").skip(1);
    let folders = manifests.filter_map(|rest| Path::new(rest.split('"').next()?).parent());
    let wanted = |folder: &&Path| {
        let name = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let version = name.strip_prefix("cust_raw-").or(name.strip_prefix("cust-"));
        version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    };
    folders.filter(wanted).map(Path::to_path_buf).collect()
}

/// The functions `cu…` that blocks `extern "C" { … }` of `source` declare.
fn declared(source: &str) -> impl Iterator<Item = String> {
    let blocks = source.split("extern \"C\" {").skip(1).filter_map(|rest| rest.split('}').next());
    blocks.flat_map(|block| {
        let names = block.split("fn ").skip(1).filter_map(|rest| rest.split('(').next());
        names.filter(|name| name.starts_with("cu")).map(str::to_owned).collect::<Vec<_>>()
    })
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_declared_function_is_exported() {
    let packages = packages();
    if packages.len() != 2 {
        eprintln!("SKIPPED: cargo metadata does not name the sources of cust_raw and cust");
        return;
    }
    let mut files = Vec::new();
    for package in packages {
        rust_files(&package.join("src"), &mut files);
    }
    let mut wanted = BTreeSet::new();
    for file in files {
        let source = fs::read_to_string(&file).expect("a source of a dependency");
        assert!(!source.contains("#[link_name"), "{}: read the symbol's name too", file.display());
        wanted.extend(declared(&source));
    }
    assert!(wanted.len() > 300, "only {} declarations found: has the form changed?", wanted.len());
    let exported = cuda_driver::exported_symbols().iter().map(|name| name.to_string());
    let exported: BTreeSet<_> = exported.collect();
    let add: Vec<_> = wanted.difference(&exported).collect();
    let remove: Vec<_> = exported.difference(&wanted).collect();
    assert!(add.is_empty() && remove.is_empty(), "src/names.rs: add {add:?}, remove {remove:?}");
}

#[test]
fn declarations_are_found() {
    let source = "extern \"C\" {\n    pub fn cuA_v2(\n x: u32) -> R;\n}\nextern \"C\" { fn cuB(); fn other(); }";
    assert_eq!(declared(source).collect::<Vec<_>>(), ["cuA_v2", "cuB"]);
}
