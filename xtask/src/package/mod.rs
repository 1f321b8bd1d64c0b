//! `cargo xtask package [--target TRIPLE]`: builds the program for users and packs it into `target/package/`.
//!
//! | target | package | devices |
//! |---|---|---|
//! | `x86_64-unknown-linux-gnu`, `aarch64-unknown-linux-gnu` | a Debian package | GPUs, CPU |
//! | `x86_64-unknown-linux-musl` | a static program in an archive | CPU |
//!
//! A static program cannot load NVIDIA's driver. Therefore, the Debian packages contain a program that is linked with
//! glibc. The same sources always give the same bytes, in any folder; `--check` builds twice and compares the results.

mod build;
mod check;
mod debian;
mod install;
mod tree;

pub(crate) use install::run as install;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::cargo::{self, output, root};

/// The version of the program, the library and the packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Builds the package for a target, by default for this machine. With `checks`, builds it again in another folder, and
/// compares the bytes.
pub(crate) fn run(triple: Option<&str>, checks: bool) -> Result {
    let host = cargo::host()?;
    let triple = triple.unwrap_or(&host);
    let place = Place { root: root(), target: cargo::target(), epoch: epoch()? };
    let package = make(&place, triple)?;
    println!("{}  {}", sha256(&package)?, package.display());
    if checks { check::run(&place, triple, &package) } else { Ok(()) }
}

/// The folders of a build, and the time that its files state.
struct Place {
    /// The root folder of the workspace.
    root: PathBuf,
    /// The target folder of cargo.
    target: PathBuf,
    /// The time of the sources in seconds since 1970, as in `SOURCE_DATE_EPOCH`.
    epoch: String,
}

/// Builds and packs the program for the target `triple`. Returns the path of the package.
fn make(place: &Place, triple: &str) -> Result<PathBuf> {
    let kind = Kind::of(triple)?;
    let program = build::program(place, triple)?;
    // The program itself writes its manual pages and completions, so it must run on this machine.
    let host = cargo::host()?;
    let is_native = triple.split('-').next() == host.split('-').next();
    let runs = if is_native { program.clone() } else { build::program(place, &host)? };
    let folder = place.target.join("package");
    let stage = folder.join(triple);
    tree::write(place, triple, &program, &runs, &stage)?;
    match kind {
        Kind::Debian(architecture) => {
            let needs = build::glibc(&program)?;
            debian::pack(place, architecture, &needs, &stage, &folder)
        }
        Kind::Static => {
            build::refuses_gpus(place, &program)?;
            archive(place, triple, &stage, &folder)
        }
    }
}

/// The kind of package for a target.
enum Kind {
    /// A package for the Debian architecture of this name.
    Debian(&'static str),
    /// A statically linked program.
    Static,
}

impl Kind {
    fn of(triple: &str) -> Result<Self> {
        match triple {
            "x86_64-unknown-linux-gnu" => Ok(Self::Debian("amd64")),
            "aarch64-unknown-linux-gnu" => Ok(Self::Debian("arm64")),
            "x86_64-unknown-linux-musl" => Ok(Self::Static),
            other => Err(format!(
                "there is no package for the target `{other}`; use x86_64-unknown-linux-gnu, aarch64-unknown-linux-gnu \
                 or x86_64-unknown-linux-musl"
            )
            .into()),
        }
    }
}

/// Packs the files in `stage` into an archive in `folder`.
fn archive(place: &Place, triple: &str, stage: &Path, folder: &Path) -> Result<PathBuf> {
    let file = folder.join(format!("panoweave-{VERSION}-{triple}.tar.xz"));
    let mut tar = Command::new("tar");
    // More threads would split the data differently.
    tar.env("XZ_OPT", "-T1 -6").args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime=@{}", place.epoch));
    tar.arg(format!("--transform=s,^\\.,panoweave-{VERSION},"));
    cargo::run(tar.arg("-cJf").arg(&file).arg("-C").arg(stage).arg("."))?;
    Ok(file)
}

/// Returns the time of the sources: `SOURCE_DATE_EPOCH`, or the time of the last commit.
fn epoch() -> Result<String> {
    if let Ok(epoch) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(epoch);
    }
    let mut git = Command::new("git");
    let time = output(git.current_dir(root()).args(["log", "-1", "--format=%ct"]));
    let time = time.map_err(|error| format!("{error}; without git, set SOURCE_DATE_EPOCH"))?;
    Ok(time.trim().to_owned())
}

fn sha256(file: &Path) -> Result<String> {
    let sum = output(Command::new("sha256sum").arg(file))?;
    Ok(sum.split(' ').next().unwrap_or_default().trim_start_matches('\\').to_owned())
}
