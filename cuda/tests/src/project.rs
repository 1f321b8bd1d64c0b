//! Helpers that copy packages into separate workspaces, make the packages depend on the kit, and run cargo in these
//! workspaces.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the root of the kit's workspace.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Returns the folder for a workspace of copied packages. The folder is not deleted after a run, so that the next run
/// rebuilds only changed packages.
#[must_use]
pub fn folder(name: &str) -> PathBuf {
    // The executable is in `debug/deps` of the target folder.
    let executable = std::env::current_exe().expect("the path of this executable");
    executable.ancestors().nth(3).expect("a target folder").join("tmp/kit").join(name)
}

/// Returns a dependency on a crate of the kit, as a line of `Cargo.toml`.
#[must_use]
pub fn kit(library: &str) -> String {
    let package = library.replace('_', "-");
    let path = root().join(library).canonicalize().expect("the kit's crate");
    format!("{library} = {{ package = \"stable-{package}\", path = \"{}\" }}", path.display())
}

/// Replaces the version by a folder path in each dependency on a package of the kit.
#[must_use]
pub fn with_kit_paths(manifest: &str) -> String {
    let line = |line: &str| match line.split_once(" = { package = \"stable-") {
        Some((library, _)) => kit(library),
        None => line.to_owned(),
    };
    let lines: Vec<String> = manifest.lines().map(line).collect();
    lines.join("\n") + "\n"
}

/// Returns the name and the content of each file that the page shows. A file is shown as a line with its name in
/// backticks, followed by a blank line and a code block.
#[must_use]
pub fn shown_files(page: &str) -> Vec<(&str, &str)> {
    let mut files = Vec::new();
    for (at, _) in page.match_indices("\n\n```") {
        let name = page[..at].rsplit('\n').next().unwrap_or_default();
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else {
            continue;
        };
        let code = page[at + 2..].split_once('\n').expect("a block of code").1;
        files.push((name, code.split("```").next().unwrap_or_default()));
    }
    files
}

/// Copies a folder recursively. Does not write files whose copies already have the same content.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap_or_else(|e| panic!("{}: {e}", to.display()));
    for entry in fs::read_dir(from).unwrap_or_else(|e| panic!("{}: {e}", from.display())) {
        let entry = entry.expect("a folder's entry");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            write(&to, &fs::read(entry.path()).expect("a file"));
        }
    }
}

/// Writes a file unless the file already has this content. A new modification time would make cargo rebuild the
/// package.
pub fn write(path: &Path, content: &[u8]) {
    if fs::read(path).is_ok_and(|old| old == content) {
        return;
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).unwrap_or_else(|e| panic!("{}: {e}", parent.display()));
    }
    fs::write(path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// Applies `change` to a text file.
pub fn edit(path: &Path, change: impl FnOnce(String) -> String) {
    let old = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    write(path, change(old).as_bytes());
}

/// Returns a cargo command in `folder`. The command does not inherit the package variables that cargo set for the
/// tests. All workspaces share a target folder, so that each dependency is compiled only once. A new workspace gets a
/// copy of the kit's `Cargo.lock`, so that it uses the same dependency versions.
#[must_use]
pub fn cargo(folder: &Path, arguments: &[&str]) -> Command {
    if !folder.join("Cargo.lock").exists() {
        fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("the versions");
    }
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(folder).args(arguments);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_cargos = text.starts_with("CARGO_PKG") || text.starts_with("CARGO_MANIFEST");
        if is_cargos || text == "RUSTC_WRAPPER" {
            command.env_remove(&name);
        }
    }
    // Cargo does not mark a target folder that exists. So kernel builds in these workspaces share the folder of the
    // kit's own kernel builds, with the compiled `core`.
    let target = self::folder("target");
    fs::create_dir_all(&target).expect("a target folder");
    command.env("CARGO_TARGET_DIR", target);
    command.env("CARGO_TERM_COLOR", "never");
    // Save disk space: the tests need neither incremental compilation nor debug information.
    command.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
    command
}

/// Runs a command and returns its output.
///
/// # Panics
/// Panics if the command fails. The message contains the command's output.
pub fn run(mut command: Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}
