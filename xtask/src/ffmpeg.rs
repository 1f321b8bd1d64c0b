//! Provides `ffmpeg` and `ffprobe` for video tests.
//!
//! If `PATH` does not contain these programs, this module downloads Debian's package `ffmpeg` into the target folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::cargo::target;
use crate::debian;

const PROGRAMS: [&str; 2] = ["ffmpeg", "ffprobe"];

/// Returns the environment variables that tell panoweave and its tests where `ffmpeg` and `ffprobe` are, each with the
/// path of the program. Returns an empty list if one of these variables is already set, if the programs in `PATH` work,
/// or if the download fails.
pub(crate) fn provide() -> Vec<(&'static str, PathBuf)> {
    let variables = ["PANOWEAVE_FFMPEG", "PANOWEAVE_FFPROBE"];
    if variables.iter().any(|name| std::env::var_os(name).is_some())
        || PROGRAMS.iter().all(|name| works(Path::new(name)))
    {
        return Vec::new();
    }
    let folder = target().join("ffmpeg");
    let programs = PROGRAMS.map(|name| folder.join(name));
    if !programs.iter().all(|program| works(program))
        && let Err(error) = fetch(&folder)
    {
        eprintln!(
            "cannot download ffmpeg: {error}; tests that need it are skipped unless you install ffmpeg"
        );
        return Vec::new();
    }
    variables.into_iter().zip(programs).collect()
}

fn works(program: &Path) -> bool {
    Command::new(program).arg("-version").output().is_ok_and(|output| output.status.success())
}

/// Downloads and unpacks `ffmpeg` and `ffprobe`. For each program, writes a script to `folder` that starts the program
/// with the unpacked libraries.
fn fetch(folder: &Path) -> Result {
    let packages = debian::fetch(folder, &["ffmpeg"])?;
    for name in PROGRAMS {
        let (script, program) = (folder.join(name), packages.root.join("usr/bin").join(name));
        let text = format!(
            "#!/bin/sh\nLD_LIBRARY_PATH='{}' exec '{}' \"$@\"\n",
            packages.library_path(),
            program.display()
        );
        fs::write(&script, text)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        if !works(&script) {
            return Err(format!("the downloaded program {} does not run", program.display()).into());
        }
    }
    Ok(())
}
