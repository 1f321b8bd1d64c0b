//! Finds the source lines that a line table names.
//!
//! `cuda_builder` replaces the folder of the workspace with `/workspace` and the folder of any other crate with
//! `/crates/NAME-VERSION`.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use crate::workspace::Workspace;

/// The files of the workspace and its dependencies, read when a line is requested.
pub(super) struct Sources {
    workspace: Workspace,
    /// The lines of each file that was read; no lines if the file cannot be read.
    files: HashMap<String, Vec<String>>,
}

impl Sources {
    pub(super) fn new(workspace: Workspace) -> Self {
        Self { workspace, files: HashMap::new() }
    }

    /// Returns a comment with the place and the text of a line. Without the text if the file is not available.
    pub(super) fn describe(&mut self, file: &str, line: usize) -> String {
        let path = path(&self.workspace, file);
        let lines = self.files.entry(file.to_owned()).or_insert_with(|| {
            let text = fs::read_to_string(&path).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        });
        let text = line.checked_sub(1).and_then(|index| lines.get(index)).map(|text| text.trim());
        let place = short(file);
        match text {
            Some(text) => format!("// {place}:{line}: {text}"),
            None => format!("// {place}:{line}"),
        }
    }
}

/// Returns the path on this machine of a file in the line table.
fn path(workspace: &Workspace, file: &str) -> PathBuf {
    if let Some(rest) = file.strip_prefix("/workspace/") {
        return workspace.root.join(rest);
    }
    let of_package = |rest: &str| {
        let (package, rest) = rest.split_once('/')?;
        let matches =
            |name: &str, version: &str| package.strip_prefix(name) == Some(&format!("-{version}"));
        let found = workspace.packages.iter().find(|one| matches(&one.name, &one.version))?;
        Some(found.folder.join(rest))
    };
    file.strip_prefix("/crates/").and_then(of_package).unwrap_or_else(|| file.into())
}

/// Returns the file without the prefix that `cuda_builder` adds. A file of the standard library starts at the name of
/// its folder in `library`.
fn short(file: &str) -> &str {
    let file = ["/workspace/", "/crates/"]
        .iter()
        .find_map(|prefix| file.strip_prefix(prefix))
        .unwrap_or(file);
    match file.rsplit_once("/rust/library/") {
        Some((_, rest)) => rest,
        None => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Package;
    use std::path::Path;

    fn sources(root: &Path) -> Sources {
        let package = Package {
            name: "stable-cuda-std".to_owned(),
            version: "0.1.0".to_owned(),
            folder: "/kit/cuda_std".into(),
            has_kernels: false,
        };
        let target = root.join("target");
        Sources::new(Workspace { root: root.to_owned(), target, packages: vec![package] })
    }

    #[test]
    fn the_prefixes_of_cuda_builder_are_resolved() {
        let workspace = sources(Path::new("/w")).workspace;
        let path = |file| path(&workspace, file).display().to_string();
        assert_eq!(path("/workspace/kernels/src/lib.rs"), "/w/kernels/src/lib.rs");
        assert_eq!(path("/crates/stable-cuda-std-0.1.0/src/a.rs"), "/kit/cuda_std/src/a.rs");
        assert_eq!(
            path("/crates/stable-cuda-std-0.2.0/a.rs"),
            "/crates/stable-cuda-std-0.2.0/a.rs"
        );
        assert_eq!(
            short("/workspace/t/lib/rustlib/src/rust/library/core/src/bool.rs"),
            "core/src/bool.rs"
        );
    }

    #[test]
    fn a_line_is_described_with_its_text_if_there_is_one() {
        let mut sources = sources(Path::new(env!("CARGO_MANIFEST_DIR")));
        let text = sources.describe("/workspace/template/kernels/src/lib.rs", 3);
        assert_eq!(text, "// template/kernels/src/lib.rs:3: use cuda_std::prelude::*;");
        let text = sources.describe("/workspace/template/kernels/src/lib.rs", 0);
        assert_eq!(text, "// template/kernels/src/lib.rs:0");
        assert_eq!(sources.describe("/crates/absent-1.0.0/a.rs", 9), "// absent-1.0.0/a.rs:9");
    }
}
