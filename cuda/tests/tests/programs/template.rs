//! Checks that a project of `cargo cuda new` passes its tests and runs without changes, and that `cargo cuda ptx` finds its kernel.

use std::path::Path;
use std::time::Instant;

use crate::cargo_cuda::{self, command};
use kit_tests::project;

/// The name of the new project.
const NAME: &str = "wave-sim";

/// Runs `cargo test` and prints its wall time. Returns its output.
fn test(folder: &Path, occasion: &str) -> String {
    let start = Instant::now();
    let output = project::run(project::cargo(folder, &["test", "--quiet"]));
    println!("`cargo test` {occasion}: {:.1} s", start.elapsed().as_secs_f64());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Checks `cargo cuda ptx`: the list, the PTX of the kernel, and the error for a misspelt name.
fn shows_the_kernel(program: &Path, folder: &Path) {
    let list = project::run(command(program, folder, &["ptx"]));
    let said = String::from_utf8_lossy(&list.stdout).into_owned();
    let kernel: Vec<_> = said.lines().last().unwrap_or_default().split_whitespace().collect();
    assert_eq!(kernel[..2], ["add", "1024"], "{said}");
    // Only `ptxas` knows the registers.
    let is_measured = String::from_utf8_lossy(&list.stderr).contains("measured for sm_75");
    println!("the kernel needs {} registers", kernel[2]);
    assert_eq!(kernel[2].parse::<u32>().is_ok(), is_measured, "{said}");

    let ptx = project::run(command(program, folder, &["ptx", "add", "--arch", "sm_90"]));
    let said = String::from_utf8_lossy(&ptx.stdout).into_owned();
    assert!(said.contains("\n.visible .entry add(") && said.contains(".target sm_90"), "{said}");
    assert!(said.contains("griddepcontrol.wait"), "sm_90 has dependent launches: {said}");

    let wrong = command(program, folder, &["ptx", "dad"]).output().expect("cargo-cuda");
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        !wrong.status.success() && said.contains("no kernel `dad`; the package has: add"),
        "{said}"
    );
}

#[test]
fn a_new_project_tests_and_runs() {
    let program = cargo_cuda::program();
    let folder = cargo_cuda::new(&program, NAME);
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

    let again = command(&program, folder.parent().expect("a parent"), &["new", NAME]).output();
    let said = String::from_utf8_lossy(&again.expect("cargo-cuda").stderr).into_owned();
    assert!(said.contains("already exists; choose another name"), "{said}");
}
