//! Checks that a fresh build of the kernels produces exactly the PTX stored in `host/ptx/`, no matter in which folder
//! the kernels are built: one architecture here, the other in a copy of the workspace. `ptxas`, if found, must assemble
//! the stored PTX for every GPU that it claims.
//!
//! Register counts depend on the version of `ptxas`, so they are compared only if the versions are equal.

use std::fs;
use std::path::{Path, PathBuf};

use cuda_builder::{Arch, Build, CudaBuilder, Spills};

const HOW: &str = "run `cargo xtask kernels` and commit `host/ptx/`";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace around this package")
}

fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("kept_ptx")
}

/// Returns the work folder that all kernel builds of the workspace share. It contains the source of `core` if the
/// toolchain does not include this source.
fn shared_work() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("cuda-builder")
}

/// Builds the kernels for `arch` and compares the result with the stored PTX.
fn compare(builder: CudaBuilder, arch: Arch, out: &Path) {
    // Use the same settings as `cargo xtask kernels`.
    let builder = builder.arch(arch).fma_contraction(false).spills(Spills::Deny);
    let builder = builder.copy_to(out.join("kernels.ptx"));
    let build = builder.build().unwrap_or_else(|e| panic!("{e}"));
    let fresh_report = build.write_json().expect("the report is written");
    assert_eq!(build.archs.len(), 1);
    for arch in &build.archs {
        // The PTX for `sm_80` is that for `sm_87`, which the kernels are tuned for.
        let stored = if arch.arch == Arch::Sm87 { Arch::Sm80.name() } else { arch.arch.name() };
        let image = panoweave::kernels::IMAGES
            .iter()
            .find(|image| image.arch.to_string() == stored)
            .expect("stored PTX for the architecture");
        let fresh = fs::read_to_string(&arch.ptx).expect("the PTX just built");
        let target = |name: &str| format!("\n.target {name}\n");
        assert!(
            image.text.get() == fresh.replacen(&target(arch.arch.name()), &target(stored), 1),
            "the stored PTX for {} differs from a build of the kernels; {HOW}",
            image.arch
        );
    }
    let (mut fresh, mut kept) =
        (report(fresh_report), report(&root().join("host/ptx/kernels.json")));
    kept.archs.retain(|kept| kept.arch == arch);
    for (fresh, kept) in fresh.archs.iter_mut().zip(&mut kept.archs) {
        // A build for a single architecture omits the architecture from the PTX file's name.
        fresh.file.clone_from(&kept.file);
        if fresh.ptxas != kept.ptxas {
            for arch in [fresh, kept] {
                arch.ptxas = None;
                arch.kernels.iter_mut().for_each(|kernel| kernel.resources = None);
            }
        }
    }
    assert!(fresh == kept, "host/ptx/kernels.json differs from a build of the kernels; {HOW}");
}

fn report(path: &Path) -> Build {
    let text =
        fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}; {HOW}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}; {HOW}", path.display()))
}

#[test]
fn a_fresh_build_gives_the_same_bytes() {
    let builder = CudaBuilder::new(root().join("kernels-gpu")).work_dir(shared_work());
    compare(builder, Arch::Sm90, &scratch().join("here"));
}

#[test]
fn a_copy_in_another_folder_gives_the_same_bytes() {
    let copy = scratch().join("a copy");
    if copy.exists() {
        fs::remove_dir_all(&copy).expect("the last run's copy goes");
    }
    copy_sources(root(), &copy);
    // Use a separate work folder, so that `core` is also compiled in another folder.
    let mut builder =
        CudaBuilder::new(copy.join("kernels-gpu")).work_dir(scratch().join("other work"));
    if let Some(core) = fetched_core() {
        builder = builder.core_source(core);
    }
    compare(builder, Arch::Sm87, &scratch().join("there"));
}

/// Copies a folder, except hidden files and cargo's build output.
fn copy_sources(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder for the copy");
    for entry in fs::read_dir(from).expect("a folder of the workspace") {
        let entry = entry.expect("an entry of it");
        let name = entry.file_name();
        if name == "target" || name.to_string_lossy().starts_with('.') {
            continue;
        }
        let (from, to) = (entry.path(), to.join(&name));
        if from.is_dir() {
            copy_sources(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap_or_else(|e| panic!("{}: {e}", from.display()));
        }
    }
}

/// Returns the folder with the source of `core` that an earlier kernel build fetched, or `None` if there is none
/// because the toolchain includes the source.
fn fetched_core() -> Option<PathBuf> {
    let folders = fs::read_dir(shared_work()).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let core = |folder: &PathBuf| {
        folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("core-"))
    };
    folders.filter(core).map(|folder| folder.join("library")).find(|library| library.is_dir())
}

/// `cargo xtask test` provides `ptxas`.
#[test]
fn the_stored_ptx_assembles_for_every_gpu_that_it_claims() {
    let Some(ptxas) = std::env::var_os("CUDA_BUILDER_PTXAS") else {
        return println!("no ptxas: set CUDA_BUILDER_PTXAS");
    };
    fs::create_dir_all(scratch()).expect("a folder");
    for (image, gpus) in panoweave::kernels::IMAGES.iter().zip([
        // A build assembles the PTX for `sm_87` and `sm_90`.
        &["sm_80", "sm_86", "sm_89"][..],
        &["sm_100", "sm_120"],
    ]) {
        let file = scratch().join(format!("claimed.{}.ptx", image.arch));
        fs::write(&file, image.text.get()).expect("the PTX");
        for gpu in gpus {
            // Without optimisation, which the driver does not omit, but which rejects nothing.
            let mut command = std::process::Command::new(&ptxas);
            command.args(["-O0", "-arch", gpu, "-o", "/dev/null"]).arg(&file);
            let done = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
            assert!(done.status.success(), "{gpu}: {}", String::from_utf8_lossy(&done.stderr));
        }
    }
}
