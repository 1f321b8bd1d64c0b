//! Checks that a project of `cargo cuda new` tests and runs without changes, and that `cargo cuda ptx` finds its
//! kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::kit::project;

/// The name of the new project.
const NAME: &str = "wave-sim";

/// Builds `cargo-cuda` as the outer `cargo test` builds it, so that both share their dependencies. Returns its path.
fn cargo_cuda() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let mut build =
        project::cargo(project::root(), &["build", "--quiet", "--package", "cargo-cuda"]);
    build.args(["--profile", "test"]).env("CARGO_TARGET_DIR", target);
    build.env_remove("CARGO_PROFILE_DEV_DEBUG");
    project::run(build);
    target.join("debug/cargo-cuda")
}

/// Returns a `cargo cuda` command in `folder`, with the environment of [`project::cargo`].
fn cuda(program: &Path, folder: &Path, arguments: &[&str]) -> Command {
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

/// Creates the project in the folder of copied workspaces, and returns its folder.
fn new(program: &Path, kit: &Path) -> PathBuf {
    let folder = project::folder(NAME);
    let parent = folder.parent().expect("a parent");
    fs::create_dir_all(parent).expect("the folder of the workspaces");
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the project of an earlier run");
    }
    let kit = kit.to_str().expect("a path in UTF-8");
    let mut command = Command::new(program);
    project::run({
        command.current_dir(parent).args(["cuda", "new", NAME, "--kit", kit]);
        command
    });
    folder
}

/// Runs `cargo test` and prints its wall time. Returns its output.
fn test(folder: &Path, occasion: &str) -> String {
    let start = Instant::now();
    let output = project::run(project::cargo(folder, &["test", "--quiet"]));
    println!("`cargo test` {occasion}: {:.1} s", start.elapsed().as_secs_f64());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Checks `cargo cuda ptx`: the list, the PTX of the kernel, and the suggestion for a misspelt name.
fn shows_the_kernel(program: &Path, folder: &Path) {
    let list = project::run(cuda(program, folder, &["ptx"]));
    let said = String::from_utf8_lossy(&list.stdout).into_owned();
    let kernel: Vec<_> = said.lines().last().unwrap_or_default().split_whitespace().collect();
    assert_eq!(kernel[..2], ["add", "1024"], "{said}");
    // Only `ptxas` knows the registers.
    let is_measured = String::from_utf8_lossy(&list.stderr).contains("measured for sm_75");
    println!("the kernel needs {} registers", kernel[2]);
    assert_eq!(kernel[2].parse::<u32>().is_ok(), is_measured, "{said}");

    let ptx = project::run(cuda(program, folder, &["ptx", "add", "--arch", "sm_90"]));
    let said = String::from_utf8_lossy(&ptx.stdout).into_owned();
    assert!(said.starts_with(".visible .entry add(") && said.ends_with("}\n"), "{said}");
    assert!(said.contains("griddepcontrol.wait"), "sm_90 has dependent launches: {said}");

    let wrong = cuda(program, folder, &["ptx", "dad"]).output().expect("cargo-cuda");
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        !wrong.status.success() && said.contains("no kernel `dad`, but there is `add`"),
        "{said}"
    );
}

#[test]
fn a_new_project_tests_and_runs() {
    let program = cargo_cuda();
    let folder = new(&program, project::root());
    let passed = |said: &str| said.matches("1 passed").count();

    let said = test(&folder, "of a new project");
    assert_eq!(passed(&said), 2, "{said}");
    project::edit(&folder.join("kernels/src/lib.rs"), |kernel| kernel.replace("a + b", "b + a"));
    let said = test(&folder, "after an edit of the kernel");
    assert_eq!(passed(&said), 2, "{said}");

    let output = project::run(project::cargo(&folder, &["run", "--quiet"]));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("[11.0, 22.0, 33.0] on the "), "{said}");

    shows_the_kernel(&program, &folder);

    let again = cuda(&program, folder.parent().expect("a parent"), &["new", NAME]).output();
    let said = String::from_utf8_lossy(&again.expect("cargo-cuda").stderr).into_owned();
    assert!(said.contains("already exists; choose another name"), "{said}");
}
