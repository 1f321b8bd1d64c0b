//! Helpers that build the program `cargo-cuda`, run it, and create projects with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kit_tests::project;

/// Builds `cargo-cuda` as the outer `cargo test` builds it, so that both share their dependencies. Returns its path.
pub(crate) fn program() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let mut build =
        project::cargo(project::root(), &["build", "--quiet", "--package", "stable-cargo-cuda"]);
    build.args(["--profile", "test"]).env("CARGO_TARGET_DIR", target);
    build.env_remove("CARGO_PROFILE_DEV_DEBUG");
    project::run(build);
    target.join("debug/cargo-cuda")
}

/// Returns a `cargo cuda` command in `folder`, with the environment of [`project::cargo`].
pub(crate) fn command(program: &Path, folder: &Path, arguments: &[&str]) -> Command {
    let like = project::cargo(folder, &[]);
    let mut command = Command::new(program);
    command.current_dir(folder).arg("cuda").args(arguments).env("CARGO", env!("CARGO"));
    for (name, value) in like.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// Creates a project in the folder of copied workspaces with `cargo cuda new NAME`. Replaces the project of an
/// earlier run. Returns its folder.
pub(crate) fn new(program: &Path, name: &str) -> PathBuf {
    let folder = project::folder(name);
    let parent = folder.parent().expect("a parent");
    fs::create_dir_all(parent).expect("the folder of the workspaces");
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the project of an earlier run");
    }
    let kit = project::root().to_str().expect("a path in UTF-8");
    let mut command = Command::new(program);
    command.current_dir(parent).args(["cuda", "new", name, "--kit", kit]);
    project::run(command);
    folder
}
