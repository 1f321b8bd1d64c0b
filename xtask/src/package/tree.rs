//! Writes the files of a package below `usr/`, in the standard places of Debian.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Place;
use crate::Result;
use crate::cargo::{output, run};
use crate::{dependencies, licences, sbom};

/// The documents of a package.
const DOCUMENTS: [&str; 3] = ["README.md", "doc/cli.md", "doc/quality.md"];

/// The completions: the shell, and the path of its script.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/panoweave"),
    ("fish", "usr/share/fish/vendor_completions.d/panoweave.fish"),
    ("zsh", "usr/share/zsh/vendor-completions/_panoweave"),
];

/// The folder of the documents, below the folder of the package.
pub(super) const DOC: &str = "usr/share/doc/panoweave";

/// Writes all files of the package for the target `triple` to the folder `stage`. `program` is for the target, and
/// `runs` is the same program for this machine.
pub(super) fn write(
    place: &Place,
    triple: &str,
    program: &Path,
    runs: &Path,
    stage: &Path,
) -> Result {
    if stage.exists() {
        fs::remove_dir_all(stage)?;
    }
    let to = |path: &str| -> Result<_> {
        let path = stage.join(path);
        fs::create_dir_all(path.parent().ok_or("a path without a folder")?)?;
        Ok(path)
    };
    fs::copy(program, to("usr/bin/panoweave")?)?;
    for (shell, path) in COMPLETIONS {
        fs::write(to(path)?, output(Command::new(runs).args(["completions", shell]))?)?;
    }
    let manual = stage.join("usr/share/man/man1");
    fs::create_dir_all(&manual)?;
    output(Command::new(runs).arg("man").arg(&manual))?;
    for page in fs::read_dir(&manual)? {
        gzip(&page?.path())?;
    }
    for document in DOCUMENTS {
        let name = document.rsplit('/').next().unwrap_or(document);
        fs::copy(place.root.join(document), to(&format!("{DOC}/{name}"))?)?;
    }
    fs::copy(place.root.join("CHANGELOG.md"), to(&format!("{DOC}/changelog"))?)?;
    gzip(&stage.join(DOC).join("changelog"))?;
    for folder in ["doc/example", "rigs"] {
        for file in fs::read_dir(place.root.join(folder))? {
            let file = file?.path();
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            fs::copy(&file, to(&format!("{DOC}/examples/{name}"))?)?;
        }
    }
    let packages = dependencies::of(&["panoweave-cli"], "normal", triple)?;
    fs::write(to(&format!("{DOC}/third-party-licences.txt"))?, licences::texts(&packages)?)?;
    gzip(&stage.join(DOC).join("third-party-licences.txt"))?;
    fs::copy(library_notices(place)?, to(&format!("{DOC}/rust-standard-library.html"))?)?;
    gzip(&stage.join(DOC).join("rust-standard-library.html"))?;
    let bill = sbom::cyclonedx("panoweave", "panoweave-cli", &packages);
    fs::write(to(&format!("{DOC}/sbom.cdx.json"))?, serde_json::to_string_pretty(&bill)? + "\n")?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(place.root.join(licence), to(&format!("{DOC}/{licence}"))?)?;
    }
    set_modes(stage)
}

/// Returns the path of the licences and notices of the Rust standard library, which every Rust program contains.
fn library_notices(place: &Place) -> Result<PathBuf> {
    let mut rustc = Command::new("rustc");
    let sysroot = output(rustc.current_dir(&place.root).args(["--print", "sysroot"]))?;
    let notices = Path::new(sysroot.trim()).join("share/doc/rust/COPYRIGHT-library.html");
    if notices.exists() {
        return Ok(notices);
    }
    Err(format!("{} does not exist; use a toolchain of rustup, which has it", notices.display())
        .into())
}

/// Compresses a file without its name and time, so that the same content always gives the same bytes.
pub(super) fn gzip(file: &Path) -> Result {
    run(Command::new("gzip").args(["-9", "-n", "-f"]).arg(file))
}

/// Sets the modes of all files and folders, because they would otherwise depend on the user's umask.
pub(super) fn set_modes(folder: &Path) -> Result {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            set_modes(&path)?;
        } else {
            let mode = if path.ends_with("usr/bin/panoweave") { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}
