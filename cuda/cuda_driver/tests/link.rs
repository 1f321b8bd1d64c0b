//! The trampolines win at link time, even against a CUDA installation's `libcuda.so`.
//!
//! Builds the example, a crate that uses `cust` and calls `cuda_driver::driver()`, in debug and in
//! release, with rustc's own linker and the system's, with the empty linker script and with a
//! library that has all the driver's functions. None of them may record that library as needed:
//! the program would then not start without a driver. The first run builds `cust` anew for each of
//! four cases; later runs find it in `target/tmp`.

mod common;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The name by which a program would ask for the stand-in of an installed `libcuda.so`.
const INSTALLED: &str = "libcuda_of_an_installation.so.1";

/// A folder as `CUDA_LIBRARY_PATH` wants it, with a library of all the driver's functions.
fn installation() -> Option<PathBuf> {
    let folder = common::folder("installation");
    fs::create_dir_all(folder.join("lib64")).expect("a folder");
    let mut source = String::new();
    for name in cuda_driver::exported_symbols() {
        writeln!(source, "int {name}(void) {{ return 999; }}").expect("a string grows");
    }
    let file = folder.join("all.c");
    fs::write(&file, source).expect("a source file");
    let soname = format!("-Wl,-soname,{INSTALLED}");
    common::shared_library(&folder.join("lib64/libcuda.so"), &[file.to_str()?, &soname])
        .then_some(folder)
}

fn linkers() -> &'static [&'static [&'static str]] {
    if cfg!(target_arch = "x86_64") { &[&[], &["-Clinker-features=-lld"]] } else { &[&[]] }
}

fn build(cuda: &Path, target: &Path, profile: &str, linker: &[&str]) -> PathBuf {
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["rustc", "--offline", "--package", "cuda_driver", "--example", "embed"])
        .args(["--profile", profile, "--target-dir"])
        .arg(target)
        .arg("--")
        .args(linker)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CUDA_LIBRARY_PATH", cuda)
        .env_remove("CARGO_BUILD_TARGET")
        .output()
        .expect("cargo starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{profile} {linker:?}:\n{errors}");
    let folder = if profile == "dev" { "debug" } else { "release" };
    target.join(folder).join("examples/embed")
}

fn check(cuda: &Path, target: &str) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(target);
    for profile in ["dev", "release"] {
        for linker in linkers() {
            let program = build(cuda, &target, profile, linker);
            let bytes = fs::read(&program).expect("the program");
            let needs = bytes.windows(INSTALLED.len()).any(|window| window == INSTALLED.as_bytes());
            assert!(!needs, "{profile} {linker:?}: needs the installed library");
            let output = Command::new(&program)
                .env(cuda_driver::LIBRARY_VARIABLE, "/nonexistent/libcuda.so.1")
                .output()
                .expect("the program starts");
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{profile} {linker:?}: {}", output.status);
            assert!(text.contains("cust: NoDevice"), "{profile} {linker:?}:\n{text}");
        }
    }
}

#[test]
fn with_the_empty_linker_script() {
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("link"), "link-empty");
}

#[test]
fn with_an_installed_library() {
    let Some(cuda) = installation() else { return };
    check(&cuda, "link-installed");
}
