//! Checks that the section "Files" of `ARCHITECTURE.md` lists exactly the source files that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace around this package")
}

/// Returns the files that the list names, and the folders at its left margin.
///
/// A line starts with a folder, whose name ends with `/`, or continues the line before. A folder at the left margin is
/// relative to the repository. The indented folders below it are relative to it.
fn listed(text: &str) -> (BTreeSet<PathBuf>, Vec<PathBuf>) {
    let (mut files, mut tops, mut folder) =
        (BTreeSet::new(), Vec::<PathBuf>::new(), PathBuf::new());
    for line in text.lines() {
        let mut words = line.split_whitespace().peekable();
        if let Some(name) = words.next_if(|word| word.ends_with('/')) {
            folder = match tops.last() {
                Some(top) if line.starts_with(' ') => top.join(name),
                _ => {
                    tops.push(PathBuf::from(name));
                    PathBuf::from(name)
                }
            };
        }
        files.extend(words.map(|name| folder.join(name).with_extension("rs")));
    }
    (files, tops)
}

/// Adds all Rust files in `folder`, which is relative to the repository, and in the folders below it.
fn collect(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(root().join(folder)).expect("a source folder") {
        let entry = entry.expect("an entry of the folder");
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.insert(path);
        }
    }
}

#[test]
fn the_architecture_lists_every_source_file() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the architecture");
    let (_, section) = text.split_once("## Files\n").expect("the section");
    let (_, list) = section.split_once("```text\n").expect("the start of the list");
    let (list, _) = list.split_once("```").expect("the end of the list");
    let (listed, tops) = listed(list);
    assert!(tops.len() > 5 && listed.len() > 200, "{tops:?}, {} files", listed.len());
    let mut existing = BTreeSet::new();
    tops.iter().for_each(|top| collect(top, &mut existing));
    let missing: Vec<_> = existing.difference(&listed).collect();
    let stale: Vec<_> = listed.difference(&existing).collect();
    assert!(missing.is_empty() && stale.is_empty(), "not listed: {missing:?}; gone: {stale:?}");
}
