//! Checks the compiler and the source of `core`.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use super::{Finding, State};

/// The oldest supported version of rustc.
const OLDEST: (u32, u32) = (1, 95);

/// The versions of rustc with which the kit's tests run.
const TESTED: [&str; 1] = ["1.95.0"];

/// The path of the source of `core` in a toolchain.
const LIBRARY: &str = "lib/rustlib/src/rust/library";

/// The compiler that cargo would use in the current folder.
struct Rustc {
    version: String,
    sysroot: PathBuf,
}

/// Returns a line for the compiler and a line for the source of `core`.
pub(super) fn check() -> Vec<Finding> {
    match Rustc::find() {
        Ok(rustc) => vec![compiler(&rustc.version), core(&rustc)],
        Err(reason) => vec![Finding::new(State::Error, "rustc", reason)],
    }
}

impl Rustc {
    fn find() -> Result<Self, String> {
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let said = ask(&rustc, &["-vV"])?;
        let version = said.lines().find_map(|line| line.strip_prefix("release: "));
        let version = version.ok_or("`rustc -vV` prints no release; reinstall Rust")?.to_owned();
        Ok(Self { version, sysroot: ask(&rustc, &["--print", "sysroot"])?.into() })
    }
}

fn ask(rustc: &OsString, arguments: &[&str]) -> Result<String, String> {
    let name = rustc.to_string_lossy();
    let output = Command::new(rustc).args(arguments).output().map_err(|error| {
        format!("cannot start `{name}`: {error}; install Rust from https://rustup.rs")
    })?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => {
            Err(format!("`{name}` failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
    }
}

/// Returns the line for a compiler of this version, such as `1.95.0` or `1.97.0-nightly`.
fn compiler(version: &str) -> Finding {
    let mut numbers = version.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let (major, minor) = OLDEST;
    if found < OLDEST {
        let text =
            format!("{version} is too old: run `rustup update` for {major}.{minor} or later");
        return Finding::new(State::Error, "rustc", text);
    }
    let tested = if TESTED.contains(&version) {
        "tested".to_owned()
    } else {
        format!("not tested; the kit's tests use {}", TESTED.join(", "))
    };
    Finding::new(State::Ok, "rustc", format!("{version} ({tested})"))
}

/// Returns the line for the source of `core`, which `cuda_builder` otherwise gets at the first build.
fn core(rustc: &Rustc) -> Finding {
    let named = env::var_os("CUDA_BUILDER_CORE_SRC").map(PathBuf::from);
    let installed = [named, Some(rustc.sysroot.join(LIBRARY))];
    let is_library = |folder: &PathBuf| folder.join("core/src/lib.rs").is_file();
    match installed.into_iter().flatten().find(is_library) {
        Some(folder) => Finding::new(State::Ok, "source of core", folder.display().to_string()),
        None => Finding::new(
            State::Missing,
            "source of core",
            "not installed; the first build tries to get it. If it fails, run `rustup component add rust-src`, or set \
             CUDA_BUILDER_CORE_SRC to the `library` folder of the compiler's source",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(compiler("1.95.0").state, State::Ok);
        assert!(compiler("1.95.0").text.ends_with("(tested)"));
        assert!(compiler("1.100.0-nightly").text.contains("not tested"));
        assert_eq!(compiler("2.0.0").state, State::Ok);
        for old in ["1.94.1", "1.9.0", "0.95.0", "unknown"] {
            assert_eq!(compiler(old).state, State::Error, "{old}");
        }
        assert!(compiler("1.94.1").text.contains("1.95 or later"));
    }
}
