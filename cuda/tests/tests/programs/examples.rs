//! Checks that rust-cuda's examples and samples build and run with only their dependency lines changed.
//!
//! For a GPU, nothing else is changed. For the CPU, a program must link its kernels, so the test adds one `use` line
//! and a dependency on the kernel crate. It also reduces matrix sizes and an iteration count, because the CPU would
//! take hours.

use std::fs;
use std::path::{Path, PathBuf};

use kit_tests::{data, first_gpu, project};

/// An example program: its folder in the test data, the library of its kernels, and the lines that the program must
/// print. `smaller` contains replacements (old and new text) that reduce constants for the CPU.
struct Example {
    folder: &'static str,
    kernels: &'static str,
    prints: &'static [&'static str],
    smaller: &'static [(&'static str, &'static str)],
}

const EXAMPLES: [Example; 6] = [
    Example {
        folder: "examples/vecadd",
        kernels: "vecadd_kernels",
        prints: &["threads per block", " + "],
        smaller: &[],
    },
    Example {
        folder: "examples/gemm",
        kernels: "gemm_kernels",
        prints: &["cuBLAS 32x32:", "gemm_naive 64x64:", "gemm_tiled 64x64:"],
        smaller: &[(
            "[usize; 8] = [32, 64, 128, 256, 512, 1024, 2048, 4096]",
            "[usize; 2] = [32, 64]",
        )],
    },
    Example {
        folder: "examples/sha2_crates_io",
        kernels: "sha2_crates_io_kernels",
        prints: &["Results match"],
        smaller: &[],
    },
    Example {
        folder: "examples/i128_demo",
        kernels: "i128_demo_kernels",
        prints: &["All i128 GPU results match CPU computations."],
        smaller: &[],
    },
    Example {
        folder: "samples/introduction/async_api",
        kernels: "async_api_kernels",
        prints: &["test PASSED"],
        smaller: &[],
    },
    Example {
        folder: "samples/introduction/matmul",
        kernels: "kernels",
        prints: &["Result = PASS"],
        smaller: &[
            ("const N_ITER: u32 = 300", "const N_ITER: u32 = 2"),
            ("USizeVec2::new(40 * block_size as usize", "USizeVec2::new(2 * block_size as usize"),
            (
                "USizeVec2::new(80 * block_size as usize, 40 *",
                "USizeVec2::new(4 * block_size as usize, 2 *",
            ),
            ("block_size as usize, 40 *", "block_size as usize, 2 *"),
        ],
    },
];

impl Example {
    fn name(&self) -> &'static str {
        self.folder.rsplit('/').next().unwrap_or(self.folder)
    }

    /// Checks that the output contains the lines in `prints`. If a result is wrong, a program panics or prints other
    /// lines.
    fn check(&self, output: &[u8]) {
        let output = String::from_utf8_lossy(output);
        for line in self.prints {
            assert!(output.contains(line), "{} does not print `{line}`:\n{output}", self.name());
        }
    }
}

/// Copies all examples into a workspace and makes their dependency lines refer to the kit.
fn workspace(data: &Path, name: &str) -> PathBuf {
    let folder = project::folder(name);
    let members: Vec<String> = EXAMPLES
        .iter()
        .flat_map(|e| [format!("\"{}\"", e.name()), format!("\"{}/kernels\"", e.name())])
        .collect();
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{}]\n\n[workspace.dependencies]\n{}\n\n\
         [profile.dev]\nopt-level = 2\n",
        members.join(", "),
        project::kit("cuda_builder").replace(" }", ", default-features = false }"),
    );
    project::write(&folder.join("Cargo.toml"), manifest.as_bytes());
    for example in &EXAMPLES {
        let to = folder.join(example.name());
        project::copy(&data.join(example.folder), &to);
        for manifest in [to.join("Cargo.toml"), to.join("kernels/Cargo.toml")] {
            project::edit(&manifest, dependencies);
        }
    }
    let blastoff = project::root().join("tests/blastoff").canonicalize().expect("blastoff");
    project::edit(&folder.join("gemm/Cargo.toml"), |manifest| {
        let path = format!("blastoff = {{ path = \"{}\" }}", blastoff.display());
        manifest.replace("blastoff = { path = \"../../crates/blastoff\" }", &path)
    });
    folder
}

/// Returns the manifest of an example with its dependencies on rust-cuda replaced by the kit's crates.
fn dependencies(manifest: String) -> String {
    let line = |line: &str| {
        let library = line.split(" = ").next().unwrap_or_default();
        let is_kits = line.contains("/crates/") && library.starts_with("cu");
        if is_kits { project::kit(library) } else { line.to_owned() }
    };
    let lines: Vec<String> = manifest.lines().map(line).collect();
    lines.join("\n") + "\n"
}

#[test]
fn upstreams_examples_build_and_run() {
    let Some(data) = data("rust-cuda") else { return };
    // Run these two functions in sequence, because they build programs with the same names in a shared target folder.
    // Without a GPU, the programs for the CPU prove the same, because they contain all lines of the others.
    if first_gpu(&[]).is_some() {
        on_the_gpu(&data);
    }
    on_the_cpu(&data);
}

fn on_the_gpu(data: &Path) {
    let folder = workspace(data, "examples");
    for example in &EXAMPLES {
        let command = project::cargo(&folder, &["run", "--quiet", "--bin", example.name()]);
        example.check(&project::run(command).stdout);
    }
}

fn on_the_cpu(data: &Path) {
    let folder = workspace(data, "examples-cpu");
    for example in &EXAMPLES {
        let (name, kernels) = (example.name(), example.kernels);
        let package = fs::read_to_string(folder.join(name).join("kernels/Cargo.toml"))
            .expect("the kernels' manifest");
        let package = package.split('"').nth(1).expect("a package's name").to_owned();
        project::edit(&folder.join(name).join("Cargo.toml"), |manifest| {
            if manifest.contains(&format!("\n{package} = ")) {
                return manifest;
            }
            let line = format!("[dependencies]\n{package} = {{ path = \"kernels\" }}\n");
            manifest.replacen("[dependencies]\n", &line, 1)
        });
        project::edit(&folder.join(name).join("src/main.rs"), |main| {
            let smaller = |main: String, (old, new): &(&str, &str)| {
                assert!(main.contains(old), "{name} has changed: `{old}` is gone");
                main.replace(old, new)
            };
            let main = example.smaller.iter().fold(main, smaller);
            // Insert the new `use` line before the first `use`, because the file may begin with a comment.
            let at = main.find("\nuse ").map_or(0, |at| at + 1);
            format!("{}use {kernels} as _;\n{}", &main[..at], &main[at..])
        });
    }
    project::run(project::cargo(&folder, &["build", "--workspace", "--bins"]));
    for example in &EXAMPLES {
        let mut command = project::cargo(&folder, &["run", "--quiet", "--bin", example.name()]);
        command.env("CUST_DEVICE", "cpu");
        example.check(&project::run(command).stdout);
    }
}
