//! Compiles the compile tests of rust-cuda ("upstream") with the kit. Comments in each test state whether the test must
//! build or fail. The result must be the same with the kit, except for the tests in [`EXCEPTIONS`].

use std::fs;
use std::path::{Path, PathBuf};

use cuda_builder::{Arch, CudaBuilder};
use kit_tests::{data, project};

/// Compile tests whose result with the kit deliberately differs from the result with upstream, and the reasons.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "lang/control_flow/for_with_custom_range_iter.rs",
        "upstream exports the crate `vek`, which its own documentation deprecates for glam",
    ),
    (
        "dis/target_feature_arch_cc.rs",
        "upstream expects its compiler, which is older than this architecture, to fail; ours builds it",
    ),
    (
        "lang/consts/constant_memory_overflow.rs",
        "upstream places statics in constant memory by itself and runs out; here they are in global memory \
         unless declared with `constant!`, so nothing overflows",
    ),
];

/// A compile test: its name and its source.
struct Case {
    name: String,
    text: String,
}

impl Case {
    /// Returns whether the comments in the test expect the test to build.
    fn builds(&self) -> bool {
        let passes = |line: &str| ["// build-pass", "// run-pass", "// check-pass"].contains(&line);
        self.text.lines().any(passes)
    }

    /// Returns the crate name that the test sets with `#![crate_name]`, or `None` if it sets none.
    fn library(&self) -> Option<&str> {
        self.text
            .lines()
            .find_map(|line| line.strip_prefix("#![crate_name = \"")?.strip_suffix("\"]"))
    }

    /// Returns the architecture that the test names in a comment `// only-compute_…`. Without such a comment, returns
    /// compute capability 7.5, the oldest that CUDA 13 supports.
    fn arch(&self) -> Arch {
        let only = self.text.lines().find_map(|line| line.strip_prefix("// only-compute_"));
        match only.map(str::trim) {
            Some("70") => Arch::Sm70,
            Some("120a") => Arch::Sm120a,
            Some(other) => {
                panic!("{}: unsupported architecture in `only-compute_{other}`", self.name)
            }
            None => Arch::Sm75,
        }
    }
}

fn cases(folder: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inside) = open.pop() {
        for entry in fs::read_dir(folder.join(&inside)).expect("the compile tests") {
            let path = inside.join(entry.expect("a folder's entry").file_name());
            if folder.join(&path).is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(folder.join(&path)).expect("a compile test");
                cases.push(Case { name: path.display().to_string(), text });
            }
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

#[test]
fn upstreams_compile_tests_end_as_expected() {
    let Some(data) = data("rust-cuda/compiletests") else { return };
    let cases = cases(&data);
    assert!(cases.len() >= 44, "only {} compile tests", cases.len());
    let folder = project::folder("compiletests");
    let package = |case: &Case| case.name.trim_end_matches(".rs").replace(['/', '-'], "_");
    let members: Vec<_> = cases.iter().map(|case| format!("\"{}\"", package(case))).collect();
    let manifest = format!("[workspace]\nresolver = \"3\"\nmembers = [{}]\n", members.join(", "));
    project::write(&folder.join("Cargo.toml"), manifest.as_bytes());
    for case in &cases {
        let (name, folder) = (package(case), folder.join(package(case)));
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
             [lib]\nname = \"{}\"\ncrate-type = [\"cdylib\", \"rlib\"]\n\n[dependencies]\n{}\n",
            case.library().unwrap_or(&name),
            project::kit("cuda_std")
        );
        project::write(&folder.join("Cargo.toml"), manifest.as_bytes());
        project::write(&folder.join("src/lib.rs"), case.text.as_bytes());
    }
    project::run(project::cargo(&folder, &["generate-lockfile"]));

    let mut wrong = Vec::new();
    for case in &cases {
        let mut builder = CudaBuilder::new(folder.join(package(case)));
        if case.arch() == Arch::Sm70 {
            // Skip `ptxas`, because CUDA 13 no longer supports this architecture.
            builder = builder.ptxas("");
        }
        let result = builder
            .arch(case.arch())
            .copy_to(folder.join("target").join(package(case)).with_extension("ptx"))
            .build();
        let is_exception = EXCEPTIONS.iter().any(|(name, _)| *name == case.name);
        if (result.is_ok() == case.builds()) == is_exception {
            let said = result.map_or_else(|e| e.to_string(), |_| "it builds".to_owned());
            wrong.push(format!("{}: {said}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n\n"));
}
