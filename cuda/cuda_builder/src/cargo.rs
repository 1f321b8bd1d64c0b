//! Runs an inner cargo that compiles the kernel crate for the GPU, isolated from the settings of
//! the outer cargo that runs the build script.
//!
//! The build needs every flag that this file passes to cargo and rustc. A comment above a flag
//! states the reason.

use crate::metadata::KernelCrate;
use crate::toolchain::Toolchain;
use crate::workplace::{self, hash};
use crate::{Arch, BuildError, CudaBuilder};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "nvptx64-nvidia-cuda";

/// The character that separates flags in CARGO_ENCODED_RUSTFLAGS.
const SEPARATOR: &str = "\u{1f}";

/// The name prefixes of the environment variables that the inner cargo inherits. Most of these
/// variables control where crates come from and how cargo downloads them.
const KEPT: [&str; 8] = [
    "CARGO_HOME",
    "CARGO_NET_",
    "CARGO_HTTP_",
    "CARGO_REGISTRY_",
    "CARGO_REGISTRIES_",
    "CARGO_SOURCE_",
    // This variable gives the inner cargo the job tokens of the outer cargo. Without the tokens,
    // the two cargos together would run twice as many jobs.
    "CARGO_MAKEFLAGS",
    "CARGO_BUILD_JOBS",
];

/// Environment variables that cargo sets for a build script. The inner cargo must not inherit them,
/// because they would change its build.
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

/// The files that one compilation of the kernel crate produced.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// The PTX that LLVM wrote, with line tables.
    pub(crate) assembly: String,
    /// The path of the optimised module as LLVM IR.
    pub(crate) ir: PathBuf,
}

/// Returns the program in the environment variable CARGO, which cargo sets, or else `cargo`.
pub(crate) fn program() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Returns a cargo command that runs in `folder`, so that the folder's rust-toolchain.toml applies.
/// The command does not inherit the settings of the outer build.
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
    // An empty variable disables a compiler wrapper, even one from a configuration file. A wrapper
    // such as `sccache` expects a rustc binary, but RUSTC names a shell script here.
    for wrapper in ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        command.env(wrapper, "");
    }
    command.env("CARGO_TERM_COLOR", "never");
    command
}

/// Compiles the kernel crate. Returns the PTX assembly, and the paths of the LLVM module from which
/// LLVM generated it.
pub(crate) fn compile(
    kernels: &KernelCrate,
    toolchain: &Toolchain,
    workplace: &Path,
    arch: Arch,
    builder: &CudaBuilder,
) -> Result<Compiled, BuildError> {
    // The inner cargo also locks its target folder, but only until it ends. This lock is held until
    // the assembly has been read.
    let _lock = workplace::lock(&workplace.join("cargo.lock"))?;
    let target_dir = workplace.join("cargo");
    let flags = flags(arch, builder).join(SEPARATOR);
    let profile = profile(builder.debug_assertions);
    let last = last_crate(builder);
    // If nothing has changed, cargo does not compile, and this function reads the assembly of an
    // earlier build. So each set of flags must have its own assembly file.
    let id = hash(&(&kernels.folder, &flags, &profile, &last, &builder.build_args));
    let assembly = target_dir.join("assembly").join(format!("{}.{arch}.{id:016x}.s", kernels.name));
    let ir = assembly.with_extension("ll");
    if let Some(folder) = assembly.parent() {
        workplace::create_folder(folder)?;
    }

    let emit = format!("--emit=asm={},llvm-ir={}", assembly.display(), ir.display());
    let mut command = command(&kernels.folder);
    command
        .args(["rustc", "--release", "--lib", "--crate-type=cdylib", "--target", TARGET])
        .arg(if builder.alloc || kernels.allocates {
            "-Zbuild-std=core,alloc"
        } else {
            "-Zbuild-std=core"
        })
        .arg("--manifest-path")
        .arg(kernels.folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target_dir)
        .args(&builder.build_args);
    // If the workspace has a lock file, a build script must not change it.
    if kernels.workspace_root.join("Cargo.lock").is_file() {
        command.arg("--locked");
    }
    for setting in profile {
        command.arg("--config").arg(setting);
    }
    command
        .arg("--")
        // The arguments after `--` apply only to the kernel crate itself. The dependencies of this
        // crate produce no assembly, only bitcode.
        .arg(emit)
        .args(last)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC", &toolchain.wrapper)
        // Flags in this variable, unlike those in cargo's configuration, reach `core` and every
        // dependency, override host flags in the user's files, and do not affect proc macros.
        .env("CARGO_ENCODED_RUSTFLAGS", flags);

    let output = command.output().map_err(|source| BuildError::Start {
        program: program().to_string_lossy().into_owned(),
        operation: "compile the kernel crate",
        source,
    })?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(BuildError::Compile { kernel_crate: kernels.name.clone(), arch, stderr });
    }
    if !assembly.is_file() {
        return Err(BuildError::Invalid(format!(
            "cargo compiled `{}` but wrote no assembly to `{}`; delete `{}` and build again",
            kernels.name,
            assembly.display(),
            target_dir.display()
        )));
    }
    let assembly = fs::read_to_string(&assembly).map_err(BuildError::io("read", &assembly))?;
    Ok(Compiled { assembly, ir })
}

/// Returns cargo settings that define the whole release profile. They override the release profile
/// of the user's workspace, which must not affect the PTX.
fn profile(debug_assertions: bool) -> [String; 9] {
    [
        "opt-level=3",
        // LLVM compiles a single module, so it can inline calls between crates and remove unused
        // code.
        "lto=\"fat\"",
        "codegen-units=1",
        "panic=\"abort\"",
        "incremental=false",
        &format!("debug-assertions={debug_assertions}"),
        &format!("overflow-checks={debug_assertions}"),
        "strip=false",
        // Line directives do not change the code. With them, the check of barriers can distinguish
        // two barriers in the source from two copies of one barrier.
        "debug=\"line-directives-only\"",
    ]
    .map(|setting| format!("profile.release.{setting}"))
}

/// Returns the flags for every crate compiled for the GPU, including `core`.
fn flags(arch: Arch, builder: &CudaBuilder) -> Vec<String> {
    let values: Vec<String> =
        Arch::all_target_features().iter().map(|feature| format!("{feature:?}")).collect();
    let mut flags = vec![
        format!("-Ctarget-cpu={arch}"),
        // Jump threading copies barriers into divergent branches, which hangs the GPU. It also
        // transforms functions that are inlined later, so it must be off in every crate.
        "-Zmir-enable-passes=-JumpThreading".to_owned(),
        // This flag keeps the source lines inside macros, so that two barriers from one macro
        // expansion have different lines.
        "-Ccollapse-macro-debuginfo=no".to_owned(),
        // The build uses only the assembly, so nothing needs to be linked. The program `true` does
        // nothing and exists everywhere.
        "-Clinker=true".to_owned(),
        // The first flag disables a lint that rejects `--cfg=target_feature`, because rustc
        // normally sets it. The second flag declares the values that are set below: rustc does not
        // know them.
        "-Aexplicit_builtin_cfgs_in_flags".to_owned(),
        format!("--check-cfg=cfg(target_feature, values({}))", values.join(", ")),
    ];
    let features = arch.target_features();
    flags.extend(features.iter().map(|feature| format!("--cfg=target_feature={feature:?}")));
    if !builder.debug_assertions {
        // With these flags, a failed bounds check executes `trap` and formats no message.
        flags.extend(["-Zunstable-options", "-Cpanic=immediate-abort"].map(str::to_owned));
    }
    if builder.optix {
        flags.push("--cfg=optix".to_owned());
    }
    if let Some((major, minor)) = builder.ptx_version {
        flags.push(format!("-Ctarget-feature=+ptx{major}{minor}"));
    }
    flags
}

/// Returns the flags for the kernel crate only. LLVM generates the code of the whole program when
/// rustc compiles this crate, so `core` need not be compiled again when these flags change.
fn last_crate(builder: &CudaBuilder) -> Vec<String> {
    let switches = [
        (!builder.without_fma, "-fp-contract=fast"),
        // This flag selects the PTX instruction `div.full`, with an error of up to 2 ULP.
        (builder.fast_div, "-nvptx-prec-divf32=1"),
        (builder.fast_sqrt, "-nvptx-prec-sqrtf32=0"),
    ];
    let switches = switches.into_iter().filter(|(wanted, _)| *wanted);
    let arguments = switches.map(|(_, argument)| argument.to_owned());
    let inline = builder.inline_threshold;
    let inline = inline.map(|threshold| format!("-inline-threshold={threshold}"));
    arguments.chain(inline).map(|argument| format!("-Cllvm-args={argument}")).collect()
}
