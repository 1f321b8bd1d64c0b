//! Packs the files of the program into a Debian package with `dpkg-deb`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::tree::{self, DOC};
use super::{Place, VERSION};
use crate::Result;
use crate::cargo::{output, run};

/// The revision of the package for the same version of the program.
const REVISION: u32 = 1;

/// The copyright file. Debian has the text of the Apache licence in `/usr/share/common-licenses`.
const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: panoweave
Comment:
 The program contains other packages. third-party-licences.txt.gz in this folder
 names them and has the texts of their licences. sbom.cdx.json lists them for
 programs, in the format CycloneDX.

Files: *
Copyright: the panoweave authors
License: Expat or Apache-2.0

License: Expat
";

const APACHE: &str = "
License: Apache-2.0
 Licensed under the Apache License, Version 2.0. On Debian systems, the text of
 this licence is in /usr/share/common-licenses/Apache-2.0.
";

/// Creates the package for a Debian architecture in `folder`. `glibc` is the version that the program needs.
pub(super) fn pack(
    place: &Place,
    architecture: &str,
    glibc: &str,
    stage: &Path,
    folder: &Path,
) -> Result<PathBuf> {
    let doc = stage.join(DOC);
    let mit = fs::read_to_string(place.root.join("LICENSE-MIT"))?;
    fs::write(doc.join("copyright"), format!("{COPYRIGHT}{}{APACHE}", indented(&mit)))?;
    // Debian's folders already have both texts.
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::remove_file(doc.join(licence))?;
    }
    let maintainer = maintainer();
    let date = output(Command::new("date").env("LC_ALL", "C").args([
        "-u",
        "-R",
        "-d",
        &format!("@{}", place.epoch),
    ]))?;
    let changes = format!(
        "panoweave ({VERSION}-{REVISION}) unstable; urgency=medium\n\n  \
         * Version {VERSION}; changelog.gz lists the changes.\n\n \
         -- {maintainer}  {date}"
    );
    fs::write(doc.join("changelog.Debian"), changes)?;
    tree::gzip(&doc.join("changelog.Debian"))?;
    let mut files = Vec::new();
    list(stage, &mut files)?;
    files.sort();
    let mut bytes = 0;
    let mut sums = String::new();
    for file in &files {
        bytes += fs::metadata(file)?.len();
        let sum = output(Command::new("md5sum").arg(file))?;
        let sum = sum.split(' ').next().unwrap_or_default().to_owned();
        sums += &format!("{sum}  {}\n", file.strip_prefix(stage)?.display());
    }
    let control = stage.join("DEBIAN");
    fs::create_dir(&control)?;
    fs::write(control.join("md5sums"), sums)?;
    let size = bytes.div_ceil(1024);
    fs::write(
        control.join("control"),
        format!(
            "\
Package: panoweave
Version: {VERSION}-{REVISION}
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {size}
Depends: libc6 (>= {glibc}), libgcc-s1 (>= 4.2)
Recommends: ffmpeg
Suggests: bash-completion, libcuda1
Section: graphics
Priority: optional
Description: stitches pictures and videos of several cameras into one panorama
 panoweave stitches the pictures of 2 to 64 cameras, or the videos of 2 to 16
 cameras, into one panorama on NVIDIA GPUs, and on the CPU of machines without
 one. It calibrates cameras from their pictures, matches their colours, finds
 seams and scores panoramas.
 .
 A GPU needs NVIDIA's driver for CUDA 12 or newer. Videos need ffmpeg.
"
        ),
    )?;
    tree::set_modes(stage)?;
    let file = folder.join(file_name(architecture));
    // One thread needs the least memory. dpkg-deb older than 1.21.9, as in Ubuntu 22.04, ignores the variable, and has
    // no option for it. The number of threads does not change the bytes, because the size of xz's blocks is fixed.
    run(Command::new("dpkg-deb")
        .envs([("SOURCE_DATE_EPOCH", &*place.epoch), ("DPKG_DEB_THREADS_MAX", "1")])
        .args(["--root-owner-group", "-Zxz", "--build"])
        .arg(stage)
        .arg(&file))?;
    Ok(file)
}

/// Returns the name of the package's file for a Debian architecture.
pub(super) fn file_name(architecture: &str) -> String {
    format!("panoweave_{VERSION}-{REVISION}_{architecture}.deb")
}

/// Returns the maintainer from Debian's usual environment variables. Prints a warning if there is no address.
fn maintainer() -> String {
    if std::env::var_os("DEBEMAIL").is_none() {
        eprintln!(
            "warning: the package has no address of a maintainer; set DEBFULLNAME and DEBEMAIL for a release"
        );
    }
    let variable =
        |name, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let name = variable("DEBFULLNAME", "The panoweave authors");
    format!("{name} <{}>", variable("DEBEMAIL", "panoweave@example.org"))
}

/// Indents a text as the format of the copyright file requires.
fn indented(text: &str) -> String {
    let line =
        |line: &str| if line.trim().is_empty() { " .\n".to_owned() } else { format!(" {line}\n") };
    text.trim().lines().map(line).collect()
}

/// Adds all files below `folder` to `files`.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { list(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
