//! The compiler for the GPU: the toolchain's own rustc behind a small shell script.
//!
//! The script does four things for which rustc has no flag:
//!
//! - It gives rustc a sysroot that contains `core`'s source, if the toolchain has none. That
//!   sysroot is a folder of links. The source is not linked into the toolchain itself, because a
//!   later `rustup component add` would find a damaged toolchain.
//! - It replaces the hash by which cargo distinguishes crates (`-Cmetadata`) with the crate's name
//!   and version. The hash depends on the folder of the source and affects every mangled name and
//!   the order of functions, so different folders would produce different PTX.
//! - In source paths, it replaces the workspace with `/workspace` and the folder of any other crate
//!   with `/crates/NAME-VERSION`. This includes `core` and crates that are not downloaded yet.
//! - It adds the crate attributes that kernels need (`no_std` and the features behind `#[kernel]`)
//!   to every crate that depends on `cuda_std`. A crate that enables a feature itself keeps its own
//!   attribute, because rustc rejects a duplicate (E0636).
//!
//! The script needs a POSIX shell, so kernels cannot be compiled on Windows.

use crate::workplace::{self, hash};
use crate::{BuildError, core_source};
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of the `library` folder, which contains `core`'s source, in a sysroot.
pub(crate) const LIBRARY: &str = "lib/rustlib/src/rust/library";

/// The unstable features that the output of `#[kernel]` and `shared_array!` needs.
const FEATURES: [&str; 2] = ["abi_ptx", "asm_experimental_arch"];

/// A compiler that can build `core` for the GPU.
#[derive(Debug)]
pub(crate) struct Toolchain {
    pub(crate) version: String,
    /// The path of the shell script around rustc, which cargo receives in the variable `RUSTC`.
    pub(crate) wrapper: PathBuf,
}

/// The installed compiler.
#[derive(Debug, Clone)]
pub(crate) struct Installed {
    /// The version, such as `1.95.0`.
    pub(crate) version: String,
    pub(crate) sysroot: PathBuf,
    /// The folder of the kernel crate, from which rustc was started. A `rust-toolchain.toml` in
    /// this folder or its parents selects the compiler.
    pub(crate) folder: PathBuf,
}

impl Toolchain {
    /// Finds the compiler for the crate in `folder` and the matching source of `core`, and writes
    /// the shell script around rustc.
    pub(crate) fn prepare(
        folder: &Path,
        workplace: &Path,
        core_source: Option<&Path>,
    ) -> Result<Self, BuildError> {
        let installed = Installed::find(folder)?;
        let _lock = workplace::lock(&workplace.join("toolchain.lock"))?;
        let library = core_source::find(&installed, workplace, core_source)?;
        let sysroot = if library == installed.sysroot.join(LIBRARY) {
            installed.sysroot.clone()
        } else {
            overlay(&installed, &library, workplace)?
        };
        let wrapper = write_wrapper(&installed, &sysroot, workplace)?;
        Ok(Self { version: installed.version, wrapper })
    }
}

impl Installed {
    fn find(folder: &Path) -> Result<Self, BuildError> {
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let sysroot = ask(&rustc, folder, &["--print", "sysroot"])?;
        let said = ask(&rustc, folder, &["-vV"])?;
        let version = said.lines().find_map(|line| line.strip_prefix("release: "));
        let version =
            version.ok_or_else(|| unusable(&rustc, &format!("no release in `{said}`")))?;
        Ok(Self {
            version: version.to_owned(),
            sysroot: PathBuf::from(sysroot),
            folder: folder.to_owned(),
        })
    }
}

/// Runs the compiler and returns its output.
fn ask(rustc: &OsStr, folder: &Path, arguments: &[&str]) -> Result<String, BuildError> {
    let output = Command::new(rustc).current_dir(folder).args(arguments).output();
    let output = output.map_err(|source| BuildError::Start {
        program: rustc.to_string_lossy().into_owned(),
        operation: "read its version",
        source,
    })?;
    if !output.status.success() {
        return Err(unusable(rustc, String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn unusable(rustc: &OsStr, reason: &str) -> BuildError {
    BuildError::Invalid(format!(
        "cannot read the version and the sysroot of `{}`: {reason}; check the toolchain with \
         `rustc -vV`",
        rustc.display()
    ))
}

/// Creates a sysroot that contains links to the toolchain's libraries, and a link to the folder
/// `library` as the source of `core`.
fn overlay(installed: &Installed, library: &Path, workplace: &Path) -> Result<PathBuf, BuildError> {
    // The name is a hash of the link targets, so an existing folder is correct and never changes.
    let links = hash(&(&installed.sysroot, library));
    let sysroot = workplace.join(format!("sysroot-{links:016x}"));
    if sysroot.is_dir() {
        return Ok(sysroot);
    }
    let fresh = sysroot.with_extension("new");
    workplace::remove_folder(&fresh)?;
    let source = fresh.join(LIBRARY);
    if let Some(parent) = source.parent() {
        workplace::create_folder(parent)?;
    }
    link(library, &source)?;
    let lib = installed.sysroot.join("lib");
    link_all(&lib, &fresh.join("lib"), |name| name.contains(".so"))?;
    link_all(&lib.join("rustlib"), &fresh.join("lib/rustlib"), |name| name != "src")?;
    fs::rename(&fresh, &sysroot).map_err(BuildError::io("create", &sysroot))?;
    Ok(sysroot)
}

/// Links every entry of `from` that satisfies `wanted` into `into`.
fn link_all(from: &Path, into: &Path, wanted: impl Fn(&str) -> bool) -> Result<(), BuildError> {
    let entries = fs::read_dir(from).map_err(BuildError::io("list", from))?;
    for entry in entries {
        let entry = entry.map_err(BuildError::io("list", from))?;
        if wanted(&entry.file_name().to_string_lossy()) {
            link(&entry.path(), &into.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn link(original: &Path, link: &Path) -> Result<(), BuildError> {
    symlink(original, link).map_err(BuildError::io("create the link", link))
}

fn write_wrapper(
    installed: &Installed,
    sysroot: &Path,
    workplace: &Path,
) -> Result<PathBuf, BuildError> {
    let text = wrapper(&installed.sysroot.join("bin/rustc"), sysroot);
    // The name is a hash of the content, so builds with different toolchains can run concurrently.
    let path = workplace.join(format!("rustc-{:016x}", hash(&text)));
    workplace::write_if_changed(&path, &text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        .map_err(BuildError::io("make executable", &path))?;
    Ok(path)
}

/// Returns the text of the shell script around rustc. The script uses the environment variables
/// that name the crate, which cargo sets for each run of rustc.
fn wrapper(rustc: &Path, sysroot: &Path) -> String {
    format!(
        r#"#!/bin/sh
# Written by cuda_builder. The documentation of its module `toolchain` explains every step.
case " $* " in
*" --target nvptx64-nvidia-cuda "*)
    if [ -n "$CARGO_MANIFEST_DIR" ]; then
        crate="$CARGO_PKG_NAME-$CARGO_PKG_VERSION"
        for argument; do
            shift
            case "$argument" in
            metadata=*) argument="metadata=$crate" ;;
            esac
            set -- "$@" "$argument"
        done
        set -- "$@" "--remap-path-prefix=$PWD=/workspace"
        [ -z "$OUT_DIR" ] || set -- "$@" "--remap-path-prefix=$OUT_DIR=/crates/$crate/out"
        set -- "$@" "--remap-path-prefix=$CARGO_MANIFEST_DIR=/crates/$crate"
    fi
    case " $* " in
    *=*/libcuda_std-*)
        root=
        for argument; do
            case "$argument" in
            -*) ;;
            *.rs) root="$argument" ;;
            esac
        done
        # A crate may declare `no_std` itself. The duplicate must not cause a warning.
        set -- "$@" -Zcrate-attr=no_std -Aunused_attributes
        for feature in {features}; do
            grep -Eqs "^[^/]*$feature" "$root" ||
                set -- "$@" "-Zcrate-attr=feature($feature)"
        done
        ;;
    esac
    ;;
esac
exec {} --sysroot {} "$@"
"#,
        quoted(rustc),
        quoted(sysroot),
        features = FEATURES.join(" ")
    )
}

/// Quotes a path as one shell word.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_in_a_path_does_not_end_the_word() {
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
