//! Checks that a crate outside the workspace can depend on `panoweave` by path, and that its program builds and runs.
//!
//! The crate needs no environment variable, cargo configuration or `[patch]` table, and an installed CUDA toolkit does
//! not change its build: the build has a fake one. All other builds of the workspace have none. `examples/` contains
//! larger programs that embed `panoweave`.

mod service;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use service::Service;

/// The name (`soname`) of the library `libcuda.so` in the fake toolkit. A program that was linked with this library
/// would contain the name.
const TOOLKITS_LIBRARY: &str = "libcuda_of_a_toolkit.so.1";

#[test]
fn a_service_builds_beside_a_cuda_toolkit() {
    let service = Service::new();
    service.clean();
    let toolkit = toolkit(&service.folder().join("cuda"));
    check(&service, |cargo| {
        for variable in ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"] {
            cargo.env(variable, &toolkit);
        }
        let bin = [toolkit.join("bin")];
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(bin.into_iter().chain(env::split_paths(&path)));
        cargo.env("PATH", path.expect("folders without a colon"));
        cargo.env("LIBRARY_PATH", toolkit.join("lib64"));
    });
    assert!(!toolkit.join("nvcc-was-run").exists());
}

/// Builds and runs the service. `prepare` sets the environment variables of the cargo command.
fn check(service: &Service, prepare: impl Fn(&mut Command)) {
    let program = service.build(prepare);
    let bytes = fs::read(&program).expect("the program");
    let needs = bytes.windows(TOOLKITS_LIBRARY.len()).any(|w| w == TOOLKITS_LIBRARY.as_bytes());
    assert!(!needs, "the program is linked with the toolkit's library");

    let output = Command::new(&program).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{text}{errors}", output.status);
    let lines: Vec<_> = text.lines().collect();
    let [cpu, gpu] = lines[..] else { panic!("two devices: {text}") };
    assert_eq!(cpu, "CPU: the scene");
    assert!(gpu.ends_with(": the scene") || gpu.starts_with("no GPU: "), "{gpu}");
}

/// Creates a fake CUDA installation. It contains the files that a build script would look for, but none of them works.
fn toolkit(folder: &Path) -> PathBuf {
    if folder.exists() {
        fs::remove_dir_all(folder).expect("the last run's toolkit goes");
    }
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder of the toolkit");
        fs::write(&file, text).expect("a file of the toolkit");
        file
    };
    let nvcc = write("bin/nvcc", "#!/bin/sh\ntouch \"${0%/bin/nvcc}/nvcc-was-run\"\nexit 1\n");
    let mut chmod = Command::new("chmod");
    assert!(chmod.arg("+x").arg(nvcc).status().is_ok_and(|status| status.success()));
    write("include/cuda.h", "#error not a real toolkit\n");
    let source = write("libcuda.c", "int cuInit(unsigned flags) { return 999; }\n");
    let library = write("lib64/libcuda.so", "");
    let soname = format!("-Wl,-soname,{TOOLKITS_LIBRARY}");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", &soname, "-o"]).arg(library).arg(source);
    assert!(cc.status().is_ok_and(|status| status.success()), "{cc:?}");
    folder.to_owned()
}
