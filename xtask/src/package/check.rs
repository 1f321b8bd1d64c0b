//! `cargo xtask package --check`: builds a package a second time, in another folder, and compares the bytes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Place, make, sha256};
use crate::Result;
use crate::cargo;

/// Copies the sources to another folder, builds the package there, and fails if it differs from `package`.
pub(super) fn run(place: &Place, triple: &str, package: &Path) -> Result {
    // A folder of another length, below the target folder, which git ignores.
    let root = place.target.join("package/the same sources in another folder");
    let target = root.join("target");
    for entry in fs::read_dir(&root).into_iter().flatten() {
        let path = entry?.path();
        // Keep what an earlier check built.
        if path == target {
            continue;
        }
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    fs::create_dir_all(&root)?;
    let mut git = Command::new("git");
    git.current_dir(&place.root).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let mut list = git.stdout(Stdio::piped()).spawn()?;
    let names = list.stdout.take().ok_or("git has no stdout")?;
    let mut copy = Command::new("tar");
    copy.current_dir(&place.root).args(["--null", "--files-from=-", "-cf", "-"]).stdin(names);
    let mut files = copy.stdout(Stdio::piped()).spawn()?;
    let archive = files.stdout.take().ok_or("tar has no stdout")?;
    cargo::run(Command::new("tar").arg("-xf").arg("-").arg("-C").arg(&root).stdin(archive))?;
    if !(files.wait()?.success() && list.wait()?.success()) {
        return Err(
            format!("cannot copy the sources to {}; see the output above", root.display()).into()
        );
    }
    let second = make(&Place { root, target, epoch: place.epoch.clone() }, triple)?;
    let sums = [sha256(package)?, sha256(&second)?];
    println!("{}  {}", sums[1], second.display());
    if sums[0] == sums[1] {
        println!("both packages have the same bytes");
        return Ok(());
    }
    let (first, second) = (package.display(), second.display());
    Err(format!("{first} and {second} differ; compare them with `diffoscope`").into())
}
