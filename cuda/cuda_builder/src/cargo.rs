//! Runs a second cargo, for the GPU, out of reach of the first one's settings.
//!
//! Every flag here was found to matter; the comments say for what.

use crate::metadata::KernelCrate;
use crate::toolchain::Toolchain;
use crate::{Arch, BuildError, workplace};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

const TARGET: &str = "nvptx64-nvidia-cuda";

/// What separates flags in CARGO_ENCODED_RUSTFLAGS.
const SEPARATOR: &str = "\u{1f}";

/// Of cargo's variables, those that say where crates come from and how to reach them.
const KEPT: [&str; 8] = [
    "CARGO_HOME",
    "CARGO_NET_",
    "CARGO_HTTP_",
    "CARGO_REGISTRY_",
    "CARGO_REGISTRIES_",
    "CARGO_SOURCE_",
    // The outer cargo's job tokens: without them the machine has twice its load.
    "CARGO_MAKEFLAGS",
    "CARGO_BUILD_JOBS",
];

/// Variables that cargo sets for a build script and that would reach the inner rustc or cargo.
const DROPPED: [&str; 12] = [
    "DEBUG",
    "HOST",
    "NUM_JOBS",
    "OPT_LEVEL",
    "OUT_DIR",
    "PROFILE",
    "RUSTC",
    "RUSTC_LINKER",
    "RUSTDOC",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "TARGET",
];

/// What one PTX is compiled with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) arch: Arch,
    pub(crate) line_info: bool,
    pub(crate) ptx_version: Option<(u8, u8)>,
}

/// The cargo that runs this, or the one in PATH.
pub(crate) fn program() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// A cargo in `folder` (so that its rust-toolchain.toml counts) without the outer build's settings.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(program());
    command.current_dir(folder);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let is_cargos =
            text.starts_with("CARGO") && !KEPT.iter().any(|kept| text.starts_with(kept));
        if is_cargos || DROPPED.contains(&&*text) {
            command.env_remove(&name);
        }
    }
    // Set and empty, these also win over a wrapper in a configuration file: a cache of compiler
    // outputs does not know that the compiler here is a script.
    for wrapper in ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        command.env(wrapper, "");
    }
    command.env("CARGO_TERM_COLOR", "never");
    command
}

/// Compiles the crate and gives the assembly that LLVM wrote.
pub(crate) fn compile(
    kernels: &KernelCrate,
    toolchain: &Toolchain,
    workplace: &Path,
    options: Options,
) -> Result<String, BuildError> {
    // The inner cargo locks its folder too, but not the assembly beside it.
    let _lock = workplace::lock(&workplace.join("cargo.lock"))?;
    let target_dir = workplace.join("cargo");
    let assembly = target_dir.join("assembly").join(format!(
        "{}.{}{}.s",
        kernels.name,
        options.arch,
        if options.line_info { ".lines" } else { "" }
    ));
    if let Some(folder) = assembly.parent() {
        workplace::create_folder(folder)?;
    }

    let mut command = command(&kernels.folder);
    command
        .args(["rustc", "--release", "--lib", "--crate-type=cdylib"])
        .args(["--target", TARGET, "-Zbuild-std=core"])
        .arg("--manifest-path")
        .arg(kernels.folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target_dir);
    // Where the workspace has a lock file, it decides; a build script has no business writing it.
    if kernels.workspace_root.join("Cargo.lock").is_file() {
        command.arg("--locked");
    }
    for setting in profile(options.line_info) {
        command.arg("--config").arg(setting);
    }
    command
        .arg("--")
        // In the last crate alone: the others have no assembly of their own, only bitcode.
        .arg(format!("--emit=asm={}", assembly.display()))
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC", &toolchain.wrapper)
        // The variable, not the configuration: it reaches `core` and every dependency, replaces
        // whatever flags the user's files have for the host, and leaves proc macros alone.
        .env("CARGO_ENCODED_RUSTFLAGS", flags(options).join(SEPARATOR));

    let output = command.output().map_err(|source| BuildError::Start {
        program: program().to_string_lossy().into_owned(),
        operation: "compile the kernel crate",
        source,
    })?;
    if !output.status.success() {
        return Err(BuildError::Compile {
            kernel_crate: kernels.name.clone(),
            arch: options.arch,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    if !assembly.is_file() {
        return Err(BuildError::NoAssembly {
            kernel_crate: kernels.name.clone(),
            path: assembly,
            target_dir,
        });
    }
    fs::read_to_string(&assembly).map_err(BuildError::io("read", &assembly))
}

/// The release profile, whole: the workspace's own must not shape the PTX.
fn profile(line_info: bool) -> [String; 9] {
    let debug = if line_info { "\"line-directives-only\"" } else { "false" };
    [
        "opt-level=3",
        // Everything is one module: calls between crates are inlined, unused code goes.
        "lto=\"fat\"",
        "codegen-units=1",
        "panic=\"abort\"",
        "incremental=false",
        "debug-assertions=false",
        "overflow-checks=false",
        "strip=false",
        &format!("debug={debug}"),
    ]
    .map(|setting| format!("profile.release.{setting}"))
}

/// Flags for every crate compiled for the GPU, `core` among them.
fn flags(options: Options) -> Vec<String> {
    let mut flags = vec![
        format!("-Ctarget-cpu={}", options.arch),
        // Jump threading copies barriers into divergent branches, which hangs the GPU. It works
        // on functions that are inlined later, so it has to be off in every crate.
        "-Zmir-enable-passes=-JumpThreading".to_owned(),
        // A failed bounds check becomes `trap` instead of a call that formats a message.
        "-Zunstable-options".to_owned(),
        "-Cpanic=immediate-abort".to_owned(),
        // Nothing is linked: the assembly is the result. The program `true` needs no installing.
        "-Clinker=true".to_owned(),
    ];
    if let Some((major, minor)) = options.ptx_version {
        flags.push(format!("-Ctarget-feature=+ptx{major}{minor}"));
    }
    flags
}
