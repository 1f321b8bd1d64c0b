//! Checks that a crate outside the workspace can depend on `panoweave` by path, and that its program builds and runs.
//!
//! The crate needs no environment variable, cargo configuration or `[patch]` table, and an installed CUDA toolkit does
//! not change its build: the build has a fake one. All other builds of the workspace have none. `examples/` contains
//! larger programs that embed `panoweave`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use panoweave_tests::project;

/// Prefixes of the environment variables that the service's build must not inherit. Cargo sets such variables for the
/// tests, and a developer may have set others.
const DROPPED: [&str; 5] = ["CARGO", "CUDA", "RUSTC", "RUSTDOC", "RUSTFLAGS"];

/// Exceptions from [`DROPPED`]: prefixes of the variables that configure where and how cargo downloads crates.
const KEPT: [&str; 6] = [
    "CARGO_HOME",
    "CARGO_HTTP_",
    "CARGO_NET_",
    "CARGO_REGISTRIES_",
    "CARGO_REGISTRY_",
    "CARGO_SOURCE_",
];

/// The packages of the workspace that the service contains.
const PACKAGES: [&str; 10] = [
    "panoweave",
    "kernels-gpu",
    "shared-types",
    "stable-cuda-cpu",
    "stable-cuda-std",
    "stable-cuda-std-macros",
    "stable-cust",
    "stable-cust-core",
    "stable-cust-derive",
    "stable-cust-raw",
];

/// The name (`soname`) of the library `libcuda.so` in the fake toolkit. A program that was linked with this library
/// would contain the name.
const TOOLKITS_LIBRARY: &str = "libcuda_of_a_toolkit.so.1";

#[test]
fn a_service_builds_beside_a_cuda_toolkit() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    // The folder is the same in every run, so that cargo can reuse earlier builds.
    let mut hasher = DefaultHasher::new();
    root.hash(&mut hasher);
    let folder = env::temp_dir().join(format!("panoweave service {:016x}", hasher.finish()));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("embedding");
    // Omit debug information, so that the build takes only a third of the disk space.
    let manifest = format!(
        "[package]\nname = \"service\"\nedition = \"2024\"\n\n\
         [dependencies]\npanoweave = {{ path = {:?}, default-features = false }}\n\n\
         [profile.dev]\ndebug = false\n\n[workspace]\n",
        root.join("host")
    );
    project::write(&folder.join("Cargo.toml"), manifest.as_bytes());
    project::write(&folder.join("src/main.rs"), include_bytes!("program.rs"));
    // Use the dependency versions of the workspace, which cargo has already fetched, so that it downloads nothing.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("the lock file");

    let cargo = |subcommand: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args([subcommand, "--offline", "--target-dir"]).arg(&target).current_dir(&folder);
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            let begins = |with: &[&str]| with.iter().any(|start| text.starts_with(start));
            if begins(&DROPPED) && !begins(&KEPT) {
                cargo.env_remove(&name);
            }
        }
        // Disable incremental compilation: each build compiles whole crates, so its data would only take space.
        cargo.env("CARGO_INCREMENTAL", "0");
        cargo
    };
    let mut clean = cargo("clean");
    clean.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    project::run(clean);
    let toolkit = toolkit(&folder.join("cuda"));
    let mut build = cargo("build");
    for variable in ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"] {
        build.env(variable, &toolkit);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([toolkit.join("bin")].into_iter().chain(env::split_paths(&path)));
    build.env("PATH", path.expect("folders without a colon"));
    build.env("LIBRARY_PATH", toolkit.join("lib64"));
    project::run(build);
    assert!(!toolkit.join("nvcc-was-run").exists());
    // The build compiled no kernels: the folders of a kernel build must not exist.
    for folder in ["cuda-builder", "nvptx64-nvidia-cuda"] {
        assert!(!target.join(folder).exists(), "{folder}");
    }

    let program = target.join("debug/service");
    let bytes = fs::read(&program).expect("the program");
    let needs = bytes.windows(TOOLKITS_LIBRARY.len()).any(|w| w == TOOLKITS_LIBRARY.as_bytes());
    assert!(!needs, "the program is linked with the toolkit's library");
    let output = project::run(Command::new(&program));
    let text = String::from_utf8_lossy(&output.stdout);
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
        project::write(&folder.join(name), text.as_bytes());
        folder.join(name)
    };
    let nvcc = write("bin/nvcc", "#!/bin/sh\ntouch \"${0%/bin/nvcc}/nvcc-was-run\"\nexit 1\n");
    let mut chmod = Command::new("chmod");
    chmod.arg("+x").arg(nvcc);
    project::run(chmod);
    write("include/cuda.h", "#error not a real toolkit\n");
    let source = write("libcuda.c", "int cuInit(unsigned flags) { return 999; }\n");
    let library = write("lib64/libcuda.so", "not a library\n");
    let soname = format!("-Wl,-soname,{TOOLKITS_LIBRARY}");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", &soname, "-o"]).arg(library).arg(source);
    project::run(cc);
    folder.to_owned()
}
