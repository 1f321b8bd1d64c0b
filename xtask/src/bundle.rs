//! `cargo xtask bundle [--target TRIPLE]`: creates `target/bundle.tar.xz` or `target/TRIPLE/bundle.tar.xz`, with the
//! tests, benches and programs for a GPU machine without Rust.
//!
//! The paths of the executables come from cargo's messages, so the bundle contains no stale executable. For another
//! architecture, such as that of Jetson Orin, Debian's cross compiler links the executables. The command does not run
//! these executables; test them on a machine of that architecture or in an emulator.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Result;
use crate::bench;
use crate::cargo::{self, cargo, kit, output, root, target};

/// The test executables that use a GPU. The bundle contains no other tests.
const TESTS: &[&str] = &["alone", "kit", "systems", "typed"];

/// Maximum size of the packed bundle in bytes.
const LIMIT: u64 = 60 << 20;

/// Arguments of cargo that select the release profile without symbols, which makes the bundle smaller.
const PROFILE: &[&str] = &["--release", "--config", "profile.release.strip=\"symbols\""];

const RUN: &str = r#"#!/bin/sh
# Runs the bundle: run.sh [test|bench [NAME]|demo|soak [MINUTES]|sanitize [TOOL]]. Requires NVIDIA's driver, but not Rust
# or the CUDA toolkit. Only `sanitize` requires the toolkit's compute-sanitizer.
cd "$(dirname "$0")" || exit 1
export PANOWEAVE_REQUIRE=gpu
failed=0
count=0
case "${1:-test}" in
test|bench|soak|sanitize)
    if ! ./panoweave info | grep -q '^device   cuda:'; then
        ./panoweave info | tail -n 3
        echo "no usable GPU"; exit 3
    fi ;;
esac
case "${1:-test}" in
test)
    for t in tests/*; do
        echo "== $t"
        "$t" --nocapture || { failed=1; count=$((count + 1)); }
    done
    echo "$count of $(ls tests | wc -l) test programs failed" ;;
bench)
    for b in benches/${2:-*}; do [ -x "$b" ] || { echo "no bench $2; the benches are:" $(ls benches); exit 2; }; done
    mkdir -p bench && : > bench/record.jsonl || exit 1
    export PANOWEAVE_BENCH_RECORD="$PWD/bench/record.jsonl" PANOWEAVE_COMMIT="$(cat commit)"
    if [ -z "$PANOWEAVE_REFERENCE_PTX" ] && cuda/compile.sh bench/ptx; then
        export PANOWEAVE_REFERENCE_PTX="$PWD/bench/ptx"
    fi
    for b in benches/${2:-*}; do echo "== $b"; "$b" --bench || failed=1; done ;;
demo)
    ./demo demo-out && ./panoweave stitch inputs/left.png inputs/right.png \
        --rig inputs/rig.toml --gain 1 --gain 1.389 -o demo-out/stitched.png || failed=1 ;;
soak)
    ./soak --minutes "${2:-10}" --device cuda:0 --json soak.json || failed=1 ;;
sanitize)
    # PANOWEAVE_TEST_ALONE runs each test of `alone` directly instead of in a child process. Some tests are skipped:
    # lost_gpu breaks its GPU on purpose, live_faults and files_memory use no GPU, and running_out_of_memory requests
    # more memory than exists. The tests in planted, which are ignored otherwise, contain faults on purpose.
    alone=$(tests/alone --list --format terse | sed -n 's/: test$//p' | grep -v -e live_faults -e files_memory)
    for tool in ${2:-memcheck racecheck initcheck synccheck}; do
        log="log.$tool"
        sanitizer="compute-sanitizer --tool $tool --error-exitcode 9 --report-api-errors no"
        check() {
            echo "== $tool $*"
            PANOWEAVE_TEST_ALONE=1 $sanitizer "$@" > "$log" 2>&1 || { failed=1; cat "$log"; }
            tail -n 1 "$log"
        }
        for t in kit systems typed; do
            check "tests/$t" --test-threads 1 --skip running_out_of_memory --skip lost_gpu
        done
        for t in $alone; do check tests/alone --exact "$t"; done
        echo "== $tool, planted fault"
        timeout 60 $sanitizer tests/kit --ignored --exact "planted::$tool" > "$log" 2>&1
        [ $? = 9 ] || { failed=1; echo "the planted fault was not found"; cat "$log"; }
        tail -n 1 "$log"
        rm -f "$log"
    done ;;
*)
    echo "usage: run.sh [test|bench [NAME]|demo|soak [MINUTES]|sanitize [TOOL]]"; exit 2 ;;
esac
exit $failed
"#;

/// Creates the bundle for the host's architecture or for a Linux target triple.
pub(crate) fn run(triple: Option<&str>) -> Result {
    let (cross, place) = match triple {
        Some(triple) => (Some(Cross::new(triple)?), target().join(triple)),
        None => (None, target()),
    };
    let build = |command: Command| build(command, cross.as_ref());
    let folder = place.join("bundle");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let panoweave = cargo(&["test", "--no-run", "--package", "panoweave-tests"]);
    let kit = kit(&["test", "--no-run", "--package", "kit-tests", "--package", "stable-cust"]);
    for (name, file) in [build(panoweave)?, build(kit)?].concat() {
        if TESTS.contains(&name.as_str()) {
            put(&file, &folder.join("tests").join(name))?;
        }
    }
    let benches = ["test", "--no-run", "--package", "panoweave-benches", "--benches"];
    for (name, file) in build(cargo(&benches))? {
        put(&file, &folder.join("benches").join(name))?;
    }
    for package in [PROGRAM, &["panoweave-soak", "--bins"]] {
        for (name, file) in build(cargo(&[&["build", "--package"], package].concat()))? {
            put(&file, &folder.join(name))?;
        }
    }
    let programs = ["panoweave", "demo", "soak"].map(PathBuf::from);
    let tests = TESTS.iter().map(|test| Path::new("tests").join(test));
    for executable in tests.chain(programs) {
        if !folder.join(&executable).exists() {
            return Err(format!(
                "the executable `{}` was not built; see the output of cargo above",
                executable.display()
            )
            .into());
        }
    }
    // The program `demo` creates the bundle's input pictures, which are the same for every architecture. Run the
    // program that is built for the host.
    let demo = match &cross {
        None => folder.join("demo"),
        Some(_) => {
            let own = self::build(cargo(&[&["build", "--package"], PROGRAM].concat()), None)?;
            let demo = own.into_iter().find(|(name, _)| name == "demo");
            demo.ok_or("the demo for this machine was not built; see the output of cargo above")?.1
        }
    };
    cargo::run(Command::new(demo).arg(folder.join("inputs")).args(["--device", "cpu"]))?;
    fs::write(folder.join("commit"), bench::commit())?;
    // Add the sources of the reference kernels, which `run.sh bench` compiles if it finds a CUDA compiler.
    for entry in fs::read_dir(root().join("benches/cuda"))? {
        let entry = entry?;
        put(&entry.path(), &folder.join("cuda").join(entry.file_name()))?;
    }
    let script = folder.join("run.sh");
    fs::write(&script, RUN)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let packed = place.join("bundle.tar.xz");
    let mut tar = Command::new("tar");
    // All executables contain the same library and kernels. A dictionary of 64 MiB spans several executables, so xz
    // compresses these repetitions well.
    tar.env("XZ_OPT", "-T1 --lzma2=preset=3,dict=64MiB")
        .arg("-cJf")
        .arg(&packed)
        .arg("-C")
        .arg(&place)
        .arg("bundle");
    cargo::run(&mut tar)?;
    let bytes = fs::metadata(&packed)?.len();
    println!("{}: {:.1} MiB", packed.display(), bytes as f64 / f64::from(1 << 20));
    if bytes > LIMIT {
        return Err(format!("the bundle exceeds its limit of {} MiB; remove files from it, or raise LIMIT in xtask/src/bundle.rs", LIMIT >> 20).into());
    }
    Ok(())
}

/// Arguments for `cargo build --package` that build the programs `panoweave` and `demo`.
const PROGRAM: &[&str] =
    &["panoweave-cli", "--package", "panoweave-examples", "--bin", "panoweave", "--bin", "demo"];

/// The target triple and the linker of a build for another architecture.
pub(crate) struct Cross {
    triple: String,
    /// The name of cargo's environment variable for the linker, and its value.
    pub(crate) linker: (String, String),
}

impl Cross {
    /// Checks that the linker for the target `triple` runs, and installs the target's standard library if it is
    /// missing.
    pub(crate) fn new(triple: &str) -> Result<Self> {
        let [arch, .., "linux", "gnu"] = triple.split('-').collect::<Vec<_>>()[..] else {
            return Err(format!(
                "unsupported target `{triple}`; give a Linux target with glibc, such as `{ORIN}`"
            )
            .into());
        };
        let variable =
            format!("CARGO_TARGET_{}_LINKER", triple.replace('-', "_").to_ascii_uppercase());
        let debian = format!("{arch}-linux-gnu-gcc");
        let linker = std::env::var(&variable).unwrap_or_else(|_| debian.clone());
        if Command::new(&linker).arg("--version").output().is_err() {
            let packages = "gcc-aarch64-linux-gnu and libc6-dev-arm64-cross";
            return Err(format!(
                "cannot run the linker `{linker}`; install it (for `{ORIN}` on Debian: the packages {packages}) or name \
                 another one in {variable}"
            )
            .into());
        }
        // Run rustup in the root folder, where `rust-toolchain.toml` selects the toolchain.
        let mut rustup = Command::new("rustup");
        cargo::run(rustup.current_dir(root()).args(["target", "add", triple]))?;
        Ok(Self { triple: triple.to_owned(), linker: (variable, linker) })
    }
}

/// The target triple of Jetson Orin with JetPack 6.
const ORIN: &str = "aarch64-unknown-linux-gnu";

/// Runs a cargo command for the host or the target `cross`. Returns the name and the file of every executable that it
/// built.
fn build(mut command: Command, cross: Option<&Cross>) -> Result<Vec<(String, PathBuf)>> {
    command.args(PROFILE).arg("--message-format=json-render-diagnostics");
    if let Some(Cross { triple, linker: (variable, linker) }) = cross {
        command.args(["--target", triple]).env(variable, linker);
    }
    let mut executables = Vec::new();
    for line in output(&mut command)?.lines() {
        let message: Value = serde_json::from_str(line)?;
        let (name, file) = (&message["target"]["name"], &message["executable"]);
        if let (Some(name), Some(file)) = (name.as_str(), file.as_str()) {
            executables.push((name.to_owned(), file.into()));
        }
    }
    Ok(executables)
}

fn put(from: &Path, to: &Path) -> Result {
    let folder = to.parent().ok_or("the destination path has no parent folder")?;
    fs::create_dir_all(folder)?;
    fs::copy(from, to)
        .map_err(|e| format!("cannot copy {} to {}: {e}", from.display(), to.display()))?;
    Ok(())
}
