//! Checks that the table in `doc/soundness.md` lists exactly the `unsafe impl`s of `Send` and `Sync` that exist, each
//! with a reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// An `unsafe impl`: the file relative to the repository, the type and the trait.
type Impl = (String, String, String);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace around this package")
}

/// Adds the Rust files in `folder` and in the folders below it, except build outputs and hidden folders.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry of the folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Returns the type and the trait of each `unsafe impl` of `Send` or `Sync` in a source text. Examples in comments
/// count, because they are compiled, but sentences in comments and texts in quotes do not.
fn impls(text: &str) -> Vec<(String, String)> {
    let start = |line: &str| {
        line.trim_start().trim_start_matches("///").trim_start().starts_with("unsafe impl")
    };
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !start(line) {
            continue;
        }
        // A long header may continue on the next lines.
        let mut header = line.to_owned();
        while let (false, Some(more)) = (header.contains('{'), lines.clone().next()) {
            header = header + " " + more;
            lines.next();
        }
        let header = header.split('{').next().unwrap_or_default();
        let Some((before, after)) = header.split_once(" for ") else { continue };
        let name = before.trim_end().rsplit([' ', ':', '>']).next().unwrap_or_default();
        if name == "Send" || name == "Sync" {
            let end = after.find(['<', ' ']).unwrap_or(after.len());
            found.push((after[..end].trim().to_owned(), name.to_owned()));
        }
    }
    found
}

/// Returns the entries of the table, and those without a reason.
fn listed(text: &str) -> (BTreeSet<Impl>, Vec<String>) {
    let (mut entries, mut bare) = (BTreeSet::new(), Vec::new());
    let list = |cell: &str| -> Vec<String> {
        cell.split(',').map(|word| word.trim().trim_matches('`').to_owned()).collect()
    };
    for row in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [file, types, traits, reason] = cells[..] else { panic!("4 columns: {row}") };
        if reason.len() < 10 {
            bare.push(row.to_owned());
        }
        for name in list(types) {
            let file = file.trim_matches('`').to_owned();
            entries.extend(list(traits).into_iter().map(|of| (file.clone(), name.clone(), of)));
        }
    }
    (entries, bare)
}

#[test]
fn the_table_lists_every_unsafe_impl_of_send_and_sync() {
    let text = fs::read_to_string(root().join("doc/soundness.md")).expect("the document");
    let (_, section) = text.split_once("## Threads\n").expect("the section");
    let (listed, bare) = listed(section.split("\n## ").next().unwrap_or_default());
    let mut files = Vec::new();
    collect(root(), &mut files);
    let mut existing = BTreeSet::new();
    for file in files {
        let name = file
            .strip_prefix(root())
            .expect("a file of the repository")
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&file).expect("a source file");
        existing.extend(impls(&text).into_iter().map(|(of, name_of)| (name.clone(), of, name_of)));
    }
    assert!(existing.len() > 50, "{existing:?}");
    let missing: Vec<_> = existing.difference(&listed).collect();
    let stale: Vec<_> = listed.difference(&existing).collect();
    assert!(missing.is_empty() && stale.is_empty(), "not listed: {missing:?}; gone: {stale:?}");
    assert!(bare.is_empty(), "no reason: {bare:?}");
}

#[test]
fn headers_of_all_forms_are_found() {
    // Each line begins with a quote, so that the other test does not find it in this file.
    let text = [
        "unsafe impl Send for A {}",
        "    unsafe impl<T: Pod> Sync for $view<T> {}",
        "/// unsafe impl<K> Sync for B<'_, K> {}",
        "unsafe impl<T> core::marker::Send",
        "    for C<T>",
        "where",
        "    T: Pod,",
        "{",
        "}",
        "unsafe impl DeviceCopy for D {}",
        "// An unsafe impl of Send for E {}",
    ];
    let found = impls(&text.join("\n"));
    let found: Vec<_> = found.iter().map(|(of, name)| (of.as_str(), name.as_str())).collect();
    assert_eq!(found, [("A", "Send"), ("$view", "Sync"), ("B", "Sync"), ("C", "Send")]);
}
