//! Builds the program so that neither the folder nor the machine changes its bytes, and checks what it needs.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::Place;
use crate::Result;
use crate::bundle::Cross;
use crate::cargo::{self, cargo, host, output};

/// The newest version of glibc that the program may need. Debian 12, Ubuntu 22.04 and JetPack 6 have 2.35 or newer.
const GLIBC: (u32, u32) = (2, 35);

/// The libraries that every system with glibc has.
const LIBRARIES: [&str; 5] =
    ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"];

/// Builds the program `panoweave` for the target `triple`. Returns its path.
pub(super) fn program(place: &Place, triple: &str) -> Result<PathBuf> {
    let mut build = cargo(&["build", "--locked", "--release", "--package", "panoweave-cli"]);
    build.current_dir(&place.root).env("CARGO_TARGET_DIR", &place.target);
    // With `--target`, even for this machine, the flags below do not apply to build scripts and macros.
    build.args(["--target", triple, "--config", "profile.release.strip=\"symbols\""]);
    build.arg("--message-format=json-render-diagnostics");
    if !triple.starts_with(host()?.split('-').next().unwrap_or_default()) {
        let Cross { linker: (variable, linker), .. } = Cross::new(triple)?;
        build.env(variable, linker);
    } else if triple.ends_with("musl") {
        let mut rustup = Command::new("rustup");
        cargo::run(rustup.current_dir(&place.root).args(["target", "add", triple]))?;
    }
    build.env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", flags(place)?);
    build.env("CARGO_INCREMENTAL", "0").env("SOURCE_DATE_EPOCH", &place.epoch);
    for line in output(&mut build)?.lines() {
        let message: Value = serde_json::from_str(line)?;
        if let ("panoweave", Some(file)) =
            (message["target"]["name"].as_str().unwrap_or_default(), message["executable"].as_str())
        {
            return Ok(file.into());
        }
    }
    Err("the program `panoweave` was not built; see the output of cargo above".into())
}

/// Returns flags of rustc, separated by 0x1f, that replace the names of folders in the program.
fn flags(place: &Place) -> Result<OsString> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let sources =
        home.ok_or("the folder of cargo is unknown; set CARGO_HOME")?.join("registry/src");
    let mut rustc = Command::new("rustc");
    let sysroot = output(rustc.current_dir(&place.root).args(["--print", "sysroot"]))?;
    // If the component `rust-src` is installed, rustc names its folder instead of the name on the right.
    let library = Path::new(sysroot.trim()).join("lib/rustlib/src/rust");
    let mut folders = vec![
        (place.target.clone(), "/target".to_owned()),
        (place.root.clone(), "/panoweave".to_owned()),
        (library, format!("/rustc/{}", cargo::rustc("commit-hash")?)),
    ];
    // The name of a registry's folder depends on its address, which may be that of a mirror.
    if sources.is_dir() {
        for entry in fs::read_dir(sources)? {
            folders.push((entry?.path(), "/registry".to_owned()));
        }
    }
    // rustc applies the last flag that fits, so a folder inside another one must come later.
    folders.sort();
    let mut flags = OsString::new();
    for (from, to) in folders {
        if !flags.is_empty() {
            flags.push("\x1f");
        }
        flags.push("--remap-path-prefix=");
        flags.push(from);
        flags.push("=");
        flags.push(to);
    }
    Ok(flags)
}

/// Returns the version of glibc that the program needs, such as `2.34`.
///
/// # Errors
/// Returns an error if the program needs a newer version than [`GLIBC`], or another library.
pub(super) fn glibc(program: &Path) -> Result<String> {
    let text =
        output(Command::new("readelf").args(["-W", "--dyn-syms", "--dynamic"]).arg(program))?;
    let foreign: Vec<_> = libraries(&text).filter(|name| !LIBRARIES.contains(name)).collect();
    if !foreign.is_empty() {
        return Err(format!(
            "{} is linked with {}; load such a library at run time, as cust_raw loads the driver",
            program.display(),
            foreign.join(", ")
        )
        .into());
    }
    let newest = versions(&text).last().copied().ok_or("the program is not linked with glibc")?;
    if newest > GLIBC {
        let ((major, minor), (old, limit)) = (newest, GLIBC);
        return Err(format!(
            "{} needs glibc {major}.{minor}, but the oldest supported systems have {old}.{limit}; build it on Debian \
             12 or Ubuntu 22.04",
            program.display()
        )
        .into());
    }
    Ok(format!("{}.{}", newest.0, newest.1))
}

/// Returns the names of the shared libraries in the output of `readelf --dynamic`.
fn libraries(text: &str) -> impl Iterator<Item = &str> {
    let needed = text.lines().filter(|line| line.contains("(NEEDED)"));
    needed.filter_map(|line| line.split_once('[')?.1.strip_suffix(']'))
}

/// Returns the versions of glibc of all symbols in the output of `readelf --dyn-syms`.
fn versions(text: &str) -> BTreeSet<(u32, u32)> {
    let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    text.split("@GLIBC_")
        .skip(1)
        .filter_map(|version| {
            let (major, rest) = version.split_once('.')?;
            Some((number(major)?, number(rest)?))
        })
        .collect()
}

/// Checks that the static program works on the CPU, and that it says why it cannot use a GPU.
pub(super) fn refuses_gpus(place: &Place, program: &Path) -> Result {
    let panorama = place.target.join("package/static.png");
    let stitch = |device: &str| {
        let example = |name: &str| place.root.join("doc/example").join(name);
        let mut stitch = Command::new(program);
        stitch.arg("stitch").args([example("left.jpg"), example("right.jpg")]);
        stitch.arg("--rig").arg(example("rig.toml")).args(["--device", device, "-o"]);
        stitch.arg(&panorama).output()
    };
    let (cpu, gpu) = (stitch("cpu")?, stitch("cuda:0")?);
    // It does not exist if the stitch failed, which the error below reports.
    let _ = fs::remove_file(&panorama);
    let said = String::from_utf8_lossy(&gpu.stderr);
    if cpu.status.success() && gpu.status.code() == Some(3) && said.contains("linked statically") {
        print!("--device cuda:0: {said}");
        return Ok(());
    }
    Err(format!(
        "the static program must stitch on the CPU, and exit with code 3 for --device cuda:0; CPU: {}, {}; cuda:0: {}, \
         {said}",
        cpu.status,
        String::from_utf8_lossy(&cpu.stderr),
        gpu.status
    )
    .into())
}

#[cfg(test)]
mod tests {
    use super::{libraries, versions};

    #[test]
    fn libraries_and_versions_of_glibc_are_found() {
        let text = " 0x0000000000000001 (NEEDED)  Shared library: [libc.so.6]\n\
                    1: 0 0 FUNC GLOBAL DEFAULT UND dlsym@GLIBC_2.34 (4)\n\
                    2: 0 0 FUNC WEAK DEFAULT UND gnu_get_libc_version@GLIBC_2.2.5 (2)\n\
                    3: 0 0 FUNC GLOBAL DEFAULT UND _Unwind_Resume@GCC_3.0 (3)\n";
        assert_eq!(libraries(text).collect::<Vec<_>>(), ["libc.so.6"]);
        assert_eq!(versions(text).into_iter().collect::<Vec<_>>(), [(2, 2), (2, 34)]);
    }
}
