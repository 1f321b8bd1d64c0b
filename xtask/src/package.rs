//! `cargo xtask package [--target TRIPLE]`: creates the Debian package of the program in `target/package/`.
//!
//! `cargo deb` builds the program and packs it. `[package.metadata.deb]` in `cli/Cargo.toml` lists the files. This
//! module creates those files that are not in the repository.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::bundle::Cross;
use crate::cargo::{self, cargo, output, root};

/// The tools, with the arguments of `cargo install --locked` for each.
const TOOLS: [(&str, &str); 3] = [
    ("about", "cargo-about@0.9.3 --features cli"),
    ("cyclonedx", "cargo-cyclonedx@0.5.9"),
    ("deb", "cargo-deb@3.8.0"),
];

/// The name of the bills of materials. `cargo cyclonedx` writes one beside each manifest.
const BILL: &str = "sbom.cdx";

/// Builds the package for a target, by default for this machine.
pub(crate) fn run(triple: Option<&str>) -> Result {
    for (tool, package) in TOOLS {
        if output(&mut cargo(&[tool, "--version"])).is_err() {
            let install = format!("cargo install --locked {package}");
            return Err(format!("`cargo {tool}` does not work; run `{install}`").into());
        }
    }
    let host = cargo::host()?;
    let triple = triple.unwrap_or(&host);
    // The manifest has these paths, so the folder does not depend on CARGO_TARGET_DIR.
    let folder = root().join("target/package");
    let manual = folder.join("man");
    fs::create_dir_all(&manual)?;
    // The program itself writes its manual pages and completions, so this one is for this machine.
    let program = ["run", "--locked", "--release", "--package", "panoweave-cli", "--"];
    cargo::run(cargo(&program).arg("man").arg(manual))?;
    for shell in ["bash", "fish", "zsh"] {
        let script = output(cargo(&program).args(["completions", shell]))?;
        fs::write(folder.join(shell), script)?;
    }
    let manifest = ["--manifest-path", "cli/Cargo.toml"];
    let licences = folder.join("third-party-licences.txt");
    let mut about = cargo(&["about", "generate", "--locked", "--fail", "--target", triple]);
    about.args(manifest).arg("--output-file").arg(licences).arg("cli/about.hbs");
    cargo::run(&mut about)?;
    let sysroot = output(Command::new("rustc").current_dir(root()).args(["--print", "sysroot"]))?;
    let notices = Path::new(sysroot.trim()).join("share/doc/rust/COPYRIGHT-library.html");
    fs::copy(notices, folder.join("rust-standard-library.html"))
        .map_err(|e| format!("cannot copy the notices of Rust, use a toolchain of rustup: {e}"))?;
    let mut bill = cargo(&["cyclonedx", "--format=json", "--spec-version=1.5", "--no-build-deps"]);
    cargo::run(bill.args(manifest).args(["--override-filename", BILL, "--target", triple]))?;
    fs::rename(root().join(format!("cli/{BILL}.json")), folder.join("bill.json"))?;
    let others = format!(":(glob)**/{BILL}.json");
    cargo::run(Command::new("git").current_dir(root()).args(["clean", "-fqx", "--", &others]))?;

    let mut deb = cargo(&["deb", "--locked", "--package", "panoweave-cli", "--target", triple]);
    deb.arg("--output").arg(folder);
    // Names of folders on this machine do not belong in the program.
    let home = std::env::home_dir().ok_or("the home folder is unknown; set HOME")?;
    let flag = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let flags = [flag(&home, "/home"), flag(&root(), "/panoweave")].join("\x1f");
    deb.env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", flags);
    if triple.split('-').next() != host.split('-').next() {
        let Cross { linker: (variable, linker), .. } = Cross::new(triple)?;
        deb.env(variable, linker);
    }
    // The host's `strip` cannot strip programs for other targets, but rustc can.
    deb.arg("--no-strip").env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    cargo::run(&mut deb)
}
