use super::*;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A kernel without dependencies, not even `core`, so rustc compiles it quickly.
const KERNEL: &str = r#"
#![feature(no_core, lang_items, abi_ptx)]
#![allow(internal_features)]
#![no_core]
#[lang = "pointee_sized"]
pub trait PointeeSized {}
#[lang = "meta_sized"]
pub trait MetaSized: PointeeSized {}
#[lang = "sized"]
pub trait Sized: MetaSized {}
#[lang = "copy"]
pub trait Copy {}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn kernel() {}
"#;

/// Compiles a kernel for each architecture. Checks that rustc writes PTX with the version that
/// [`Arch::ptx_version`] returns. These versions are from NVIDIA's PTX manual.
#[test]
fn rustc_writes_the_first_ptx_version_of_each_architecture() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let scratch = env::temp_dir().join(format!("cuda_builder-{}", std::process::id()));
    fs::create_dir_all(&scratch).unwrap();
    let source = scratch.join("kernel.rs");
    fs::write(&source, KERNEL).unwrap();
    for arch in Arch::ALL {
        let assembly = scratch.join(format!("{arch}.s"));
        let output = Command::new("rustc")
            .current_dir(&folder)
            .env("RUSTC_BOOTSTRAP", "1")
            .args(["--target=nvptx64-nvidia-cuda", "--crate-type=lib", "-O"])
            .arg(format!("-Ctarget-cpu={arch}"))
            .arg(format!("--emit=asm={}", assembly.display()))
            .arg(&source)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arch}: {}", String::from_utf8_lossy(&output.stderr));
        let text = fs::read_to_string(&assembly).unwrap();
        let (major, minor) = arch.ptx_version();
        assert!(text.contains(&format!("\n.version {major}.{minor}\n.target {arch}\n")), "{text}");
    }
    fs::remove_dir_all(&scratch).unwrap();
}

#[test]
fn target_features_are_those_of_rust_cuda() {
    let holds = |arch: Arch, feature: &str| arch.target_features().iter().any(|f| f == feature);
    for (arch, feature, expected) in [
        (Arch::Sm70, "compute_70", true),
        (Arch::Sm70, "compute_60", true),
        (Arch::Sm70, "compute_80", false),
        (Arch::Sm90, "compute_90a", false),
        (Arch::Sm120a, "compute_120a", true),
        (Arch::Sm120a, "compute_120f", true),
        (Arch::Sm120a, "compute_90", true),
        (Arch::Sm120a, "compute_100f", false),
        (Arch::Sm103f, "compute_100f", true),
        (Arch::Sm103f, "compute_103a", false),
        (Arch::Sm103, "compute_100f", false),
        (Arch::Sm110, "compute_103", true),
    ] {
        assert_eq!(holds(arch, feature), expected, "{feature} for {arch}");
    }
}

#[test]
fn names_and_capabilities_agree() {
    for arch in Arch::ALL {
        let (major, minor) = arch.capability();
        let number = arch.number().trim_end_matches(['a', 'f']);
        assert_eq!(number, format!("{major}{minor}"));
    }
    assert!(Arch::ALL.is_sorted_by_key(|arch| arch.capability()));
    assert_eq!(NvvmArch::Compute100f, Arch::Sm100f);
}
