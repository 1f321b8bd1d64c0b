//! Writes and builds the crate `service`, which depends on `panoweave` from outside the workspace. Its build does not
//! inherit cargo's environment variables from the build of the tests.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

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

/// The folder of the crate `service`, and the folder for its build output.
pub(crate) struct Service {
    folder: PathBuf,
    target: PathBuf,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace around this package")
}

impl Service {
    /// Writes the crate. The folder is the same in every run, so that cargo can reuse earlier builds.
    pub(crate) fn new() -> Self {
        let mut hasher = DefaultHasher::new();
        root().hash(&mut hasher);
        let folder = format!("panoweave service {:016x}", hasher.finish());
        let folder = env::temp_dir().join(folder);
        fs::create_dir_all(folder.join("src")).expect("a temporary folder");
        let write = |name: &str, text: &str| {
            fs::write(folder.join(name), text).expect("a file of the service");
        };
        // Omit debug information, so that the build takes only a third of the disk space.
        let manifest = format!(
            "[package]\nname = \"service\"\nedition = \"2024\"\n\n\
             [dependencies]\npanoweave = {{ path = {:?}, default-features = false }}\n\n\
             [profile.dev]\ndebug = false\n\n[workspace]\n",
            root().join("host")
        );
        write("Cargo.toml", &manifest);
        write("src/main.rs", include_str!("program.rs"));
        // Use the dependency versions of the workspace, which cargo has already fetched, so that it downloads nothing.
        fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("the lock file");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("embedding");
        Self { folder, target }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns a cargo command in the crate's folder that does not inherit the variables listed in [`DROPPED`].
    fn cargo(&self, subcommand: &str) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args([subcommand, "--offline", "--target-dir"]).arg(&self.target);
        cargo.current_dir(&self.folder);
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
    }

    /// Removes the compiled crates of this project, so that the next build compiles them again.
    pub(crate) fn clean(&self) {
        let mut cargo = self.cargo("clean");
        for package in ["panoweave", "kernels-gpu", "shared-types"] {
            cargo.args(["--package", package]);
        }
        let kit = ["cuda-cpu", "cuda-std", "cuda-std-macros"];
        for library in kit.into_iter().chain(["cust", "cust-core", "cust-derive", "cust-raw"]) {
            cargo.arg("--package").arg(format!("stable-{library}"));
        }
        let output = cargo.output().expect("cargo starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Builds the crate and returns the path of its program.
    pub(crate) fn build(&self, prepare: impl Fn(&mut Command)) -> PathBuf {
        let mut cargo = self.cargo("build");
        prepare(&mut cargo);
        let output = cargo.output().expect("cargo starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // Check that the build compiled no kernels: the folders of a kernel build must not exist.
        for folder in ["cuda-builder", "nvptx64-nvidia-cuda"] {
            assert!(!self.target.join(folder).exists(), "{folder}");
        }
        self.target.join("debug/service")
    }
}
