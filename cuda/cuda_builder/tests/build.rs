//! Tests that build a small kernel crate as a user would, once unchanged and then with one
//! deliberate error each.
//!
//! All tests share the compiled `core`, one per architecture and set of flags. Where `ptxas` is not installed, tests that need it print that
//! they are skipped, and pass.

use cuda_builder::{Arch, Build, BuildError, CudaBuilder, Spills};
use std::fs;
use std::path::{Path, PathBuf};

/// A copy of the crate `tests/fixture` in the test's own folder, with some text replaced.
struct Fixture {
    folder: PathBuf,
}

impl Fixture {
    fn new(name: &str, changes: &[(&str, &str)]) -> Self {
        let folder = scratch().join("crates").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixture");
        for file in ["Cargo.toml", "src/lib.rs", "helper/Cargo.toml", "helper/src/lib.rs"] {
            let mut text = fs::read_to_string(original.join(file)).unwrap();
            if file == "src/lib.rs" {
                for (from, to) in changes {
                    assert!(text.contains(from), "the fixture has no `{from}`");
                    text = text.replace(from, to);
                }
            }
            let copy = folder.join(file);
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::write(copy, text).unwrap();
        }
        Self { folder }
    }

    fn builder(&self) -> CudaBuilder {
        CudaBuilder::new(&self.folder).copy_to(self.folder.join("out/kernels.ptx"))
    }

    fn build_one(&self) -> Result<Build, BuildError> {
        self.builder().arch(Arch::Sm80).build()
    }
}

fn scratch() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn two_architectures_and_a_report() {
    let fixture = Fixture::new("plain", &[]);
    let build = fixture.builder().arch(Arch::Sm80).arch(Arch::Sm90).build().unwrap();

    let archs: Vec<Arch> = build.archs.iter().map(|one| one.arch).collect();
    assert_eq!(archs, [Arch::Sm80, Arch::Sm90]);
    for one in &build.archs {
        assert_eq!(one.ptx, fixture.folder.join(format!("out/kernels.{}.ptx", one.arch)));
        let text = fs::read_to_string(&one.ptx).unwrap();
        assert!(text.contains(&format!(".target {}", one.arch)), "{text}");
        assert!(text.contains(")\n.maxntid 256, 1, 1\n.minnctapersm 4\n{"), "{text}");
        assert!(!text.contains("cuda_std.kernel") && !text.contains("\t.loc\t"));
        let blocks = one.kernel("blocks").unwrap();
        assert_eq!((blocks.max_threads, blocks.min_blocks), (Some(256), Some(4)));
        assert_eq!((blocks.barriers_declared, blocks.barriers_counted), (Some(1), 1));
        assert_eq!(one.kernel("counts").unwrap().barriers_counted, 1);
        assert!(one.kernel("from_helper").is_some());
        match &one.ptxas {
            Some(version) => {
                println!("measured by {version}");
                assert!(one.kernels.iter().all(|k| k.resources.is_some()));
                assert!(blocks.resources.unwrap().registers > 0);
            }
            None => println!("skipped: no ptxas here, kernels are not measured"),
        }
    }

    let json = build.write_json().unwrap();
    assert_eq!(json, fixture.folder.join("out/kernels.json"));
    let text = fs::read_to_string(json).unwrap();
    assert!(!text.contains(scratch().to_str().unwrap()), "{text}");
    let read: Build = serde_json::from_str(&text).unwrap();
    assert_eq!(read.archs[1].kernels, build.archs[1].kernels);
}

#[test]
fn one_architecture_is_written_to_the_given_path() {
    let fixture = Fixture::new("one", &[]);
    let build = fixture.build_one().unwrap();
    assert_eq!(build.archs[0].ptx, fixture.folder.join("out/kernels.ptx"));
    assert!(build.archs[0].ptx.is_file());
}

#[test]
fn the_same_bytes_from_every_folder() {
    // Both builds keep line information, because it contains paths. The second build uses another
    // work folder, so even `core` is compiled from another path.
    let here = Fixture::new("here", &[]);
    let there = Fixture::new("elsewhere/deeper", &[]);
    let first = here.builder().arch(Arch::Sm80).generate_line_info(true).build().unwrap();
    let core = core_source(&scratch().with_file_name("cuda-builder"));
    let mut second = there
        .builder()
        .arch(Arch::Sm80)
        .generate_line_info(true)
        .work_dir(scratch().join("other work"));
    if let Some(core) = core {
        second = second.core_source(core);
    }
    let second = second.build().unwrap();

    let text = fs::read_to_string(&first.archs[0].ptx).unwrap();
    assert!(text.contains("\t.loc\t"), "{text}");
    assert!(text.contains("\"/crates/fixture_kernels-0.1.0/src/lib.rs\""));
    assert!(text.contains("\"/workspace/helper/src/lib.rs\""));
    assert!(!text.contains(scratch().to_str().unwrap()), "{text}");
    assert!(
        text == fs::read_to_string(&second.archs[0].ptx).unwrap(),
        "`{}` and `{}` differ",
        first.archs[0].ptx.display(),
        second.archs[0].ptx.display()
    );
    let json = |build: &Build| fs::read(build.write_json().unwrap()).unwrap();
    assert_eq!(json(&first), json(&second));
}

/// Returns the folder of `core`'s source that a build downloaded into the folder `work`, or `None`
/// if the build used the toolchain's own source.
fn core_source(work: &Path) -> Option<PathBuf> {
    fs::read_dir(work)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.file_name().unwrap().to_string_lossy().starts_with("core-"))
        .map(|path| path.join("library"))
}

#[test]
fn one_planted_error_each_is_reported() {
    for (name, from, to, expected) in [
        (
            "undeclared",
            "minnctapersm=4 barriers=1",
            "minnctapersm=4 barriers=0",
            "declares 0 barriers",
        ),
        (
            "second",
            "            _syncthreads();",
            "_syncthreads(); _syncthreads();",
            "its PTX has 2",
        ),
        ("marker", "kernel counts", "kernel cuonts", "`cuonts` has a marker but is not in the PTX"),
        ("broken", "let inside = i < n;", "", "cannot find value `inside`"),
        (
            "remedy",
            "let inside = i < n;",
            "extern crate alloc;",
            "help: enable the feature `alloc` of `cuda_std` in the kernel crate's Cargo.toml, or delete \
             `extern crate alloc` if nothing allocates",
        ),
    ] {
        let error = Fixture::new(name, &[(from, to)]).build_one().expect_err(name).to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
    let error = CudaBuilder::new(scratch().join("nothing")).build().expect_err("no crate");
    assert!(error.to_string().contains("as a kernel crate"), "{error}");
}

/// Needs `ptxas`, which alone knows the resources.
#[test]
fn kernels_that_the_gpu_cannot_keep_are_errors() {
    for (name, bounds, expected) in [
        // 2 blocks of 768 threads leave 40 registers per thread for 48 values.
        ("spill", "maxntid=768 minnctapersm=2", "`many` spills"),
        // 3 blocks of 1024 threads exceed the 2048 threads that a multiprocessor of `sm_80` holds,
        // so `ptxas` would ignore the bounds.
        ("ignored", "maxntid=1024 minnctapersm=3", "ptxas ignores a directive"),
    ] {
        let bounds = format!("kernel many {bounds}");
        let fixture = Fixture::new(name, &[("kernel many maxntid=32", &bounds)]);
        match fixture.builder().arch(Arch::Sm80).spills(Spills::Deny).build() {
            Ok(build) if build.archs[0].ptxas.is_none() => {
                println!("skipped: no ptxas here, kernels are not measured");
            }
            Ok(_) => panic!("{name} was built"),
            Err(error) => {
                assert!(!fixture.folder.join("out/kernels.ptx").exists());
                assert!(error.to_string().contains(expected), "{error}");
            }
        }
    }
}
