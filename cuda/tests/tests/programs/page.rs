//! Checks that the program in `cuda/README.md` builds as printed and runs, and that it needs at most 45 packages.

use std::fs;
use std::path::Path;

use kit_tests::project;

/// The maximum number of packages that a host program with a kernel may need, including the two packages of the program
/// itself.
const MOST_PACKAGES: usize = 45;

/// The program's output, without the name of the device.
const PRINTS: &str = "[11.0, 22.0, 33.0] on the ";

#[test]
fn the_program_of_the_readme_builds_as_printed() {
    let page = fs::read_to_string(project::root().join("README.md")).expect("the README");
    let files = project::shown_files(&page);
    let names: Vec<_> = files.iter().map(|(name, _)| *name).collect();
    let all = ["kernels/src/lib.rs", "src/main.rs", "kernels/Cargo.toml", "Cargo.toml", "build.rs"];
    assert_eq!(names, all);
    let folder = project::folder("page");
    for (name, code) in files {
        // The kit's packages are not in a registry yet, so replace their versions by paths. Change nothing else.
        let code = match name.ends_with(".toml") {
            true => project::with_kit_paths(code),
            false => code.to_owned(),
        };
        project::write(&folder.join(name), code.as_bytes());
    }
    let output = project::run(project::cargo(&folder, &["run", "--quiet"]));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with(PRINTS), "{said}");

    let packages = packages(&folder);
    println!("{packages} packages");
    assert!(packages <= MOST_PACKAGES, "{packages} packages; at most {MOST_PACKAGES}");
}

/// Returns the number of packages that cargo compiles for this machine to build the program. The two packages of the
/// program itself are included.
fn packages(folder: &Path) -> usize {
    let arguments = ["tree", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"];
    let output = project::run(project::cargo(folder, &arguments));
    let tree = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut all: Vec<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    all.sort_unstable();
    all.dedup();
    all.iter().filter(|line| !line.is_empty()).count()
}
