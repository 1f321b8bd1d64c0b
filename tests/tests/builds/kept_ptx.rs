//! Checks that a build of the kernels in another folder produces exactly the PTX stored in `host/ptx/`, and that the
//! library launches each of the kernels. `ptxas`, if found, must assemble the stored PTX for every GPU that it claims.
//!
//! Register counts depend on the version of `ptxas`, so they are compared only if the versions are equal.

use std::collections::BTreeSet;
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

/// Compares the stored PTX and its report with a build of a copy of the workspace. A test of `cuda_builder` also compiles
/// `core` in another folder.
#[test]
fn a_build_in_another_folder_gives_the_same_bytes() {
    let copy = scratch().join("a copy");
    if copy.exists() {
        fs::remove_dir_all(&copy).expect("the last run's copy goes");
    }
    copy_sources(root(), &copy);
    // Use the same settings as `cargo xtask kernels`.
    let builder = CudaBuilder::new(copy.join("kernels-gpu"))
        .copy_to(scratch().join("kernels.ptx"))
        .arch(Arch::Sm90)
        .fma_contraction(false)
        .spills(Spills::Deny);
    let build = builder.build().unwrap_or_else(|e| panic!("{e}"));
    let newest = panoweave::kernels::IMAGES.last().expect("stored PTX");
    let fresh = fs::read_to_string(&build.archs[0].ptx).expect("the PTX just built");
    assert!(
        newest.text.get() == fresh,
        "the stored PTX differs from a build of the kernels; {HOW}"
    );

    let mut fresh = report(build.write_json().expect("the report is written"));
    let mut kept = report(&root().join("host/ptx/kernels.json"));
    kept.archs.retain(|kept| kept.arch == Arch::Sm90);
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

/// A kernel without a caller takes space in the PTX of every program. Code that only measures or tests a kernel is no
/// caller. A launch names the type that `#[kernel]` derives from the kernel's name: `Pack` for `pack`.
#[test]
fn the_library_launches_every_kernel() {
    let mut text = String::new();
    read_sources(&root().join("host/src"), &mut text);
    let words: BTreeSet<_> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let kernels = &report(&root().join("host/ptx/kernels.json")).archs[0].kernels;
    let is_idle = |name: &&str| {
        let parts = name.split('_').map(|part| part[..1].to_uppercase() + &part[1..]);
        !words.contains(&*parts.collect::<String>())
    };
    let idle: Vec<_> = kernels.iter().map(|kernel| &*kernel.name).filter(is_idle).collect();
    assert!(kernels.len() > 100 && idle.is_empty(), "no code in `host/src` launches {idle:?}");
}

/// Appends the text of all files in a folder.
fn read_sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry of it").path();
        match path.is_dir() {
            true => read_sources(&path, text),
            false => *text += &fs::read_to_string(&path).expect("a source file"),
        }
    }
}

/// `cargo xtask test` provides `ptxas`.
#[test]
fn the_stored_ptx_assembles_for_every_gpu_that_it_claims() {
    let Some(ptxas) = std::env::var_os("CUDA_BUILDER_PTXAS") else {
        return println!("no ptxas: set CUDA_BUILDER_PTXAS");
    };
    fs::create_dir_all(scratch()).expect("a folder");
    for (image, gpus) in panoweave::kernels::IMAGES.iter().zip([
        &["sm_80", "sm_86", "sm_87", "sm_89"][..],
        // The test above assembles it for `sm_90`.
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
