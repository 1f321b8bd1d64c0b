//! Provides `ffmpeg` and `ffprobe` for video tests.
//!
//! If `PATH` does not contain these programs, this module downloads Debian's package `ffmpeg` and the libraries that
//! the system lacks, and unpacks them into the target folder. Nothing is installed, and no privileges are needed,
//! because `apt-get` writes its lists and cache to the target folder. `apt-get` uses the system's package sources and
//! verifies signatures.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;
use crate::cargo::{run, target};

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
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for part in ["apt/lists/partial", "apt/cache/archives/partial"] {
        fs::create_dir_all(folder.join(part))?;
    }
    let apt = |arguments: &[&str]| {
        let option = |name: &str, part: &str| format!("-o{name}={}", folder.join(part).display());
        let mut command = Command::new("apt-get");
        command
            .env("LC_ALL", "C")
            .stdout(Stdio::null())
            .args(["-q", "-y"])
            .arg(option("Dir::State::lists", "apt/lists"))
            .arg(option("Dir::Cache", "apt/cache"))
            .args(["-oAcquire::Languages=none", "-oDebug::NoLocking=true"])
            // Without root privileges, apt cannot switch to its own user for the download.
            .arg("-oAPT::Sandbox::User=")
            .args(arguments);
        run(&mut command)
    };
    // `apt-get update` may fail because of a single package source that is not needed. Therefore, report its error only
    // if the download fails, too.
    let updated = apt(&["update"]);
    apt(&["install", "--download-only", "--no-install-recommends", "ffmpeg"])
        .or_else(|error| updated.and(Err(error)))?;
    let root = folder.join("root");
    for entry in fs::read_dir(folder.join("apt/cache/archives"))? {
        let package = entry?.path();
        if package.extension().is_some_and(|extension| extension == "deb") {
            run(Command::new("dpkg").arg("-x").arg(&package).arg(&root))?;
        }
    }
    fs::remove_dir_all(folder.join("apt"))?;
    let mut libraries = BTreeSet::new();
    for place in ["usr/lib", "lib"].map(|place| root.join(place)) {
        if place.is_dir() {
            find_libraries(&place, &mut libraries)?;
        }
    }
    let libraries: Vec<_> = libraries.iter().map(|path| path.to_string_lossy()).collect();
    for name in PROGRAMS {
        let (script, program) = (folder.join(name), root.join("usr/bin").join(name));
        let libraries = libraries.join(":");
        let text = format!(
            "#!/bin/sh\nLD_LIBRARY_PATH='{libraries}' exec '{}' \"$@\"\n",
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

/// Adds `folder` and all folders below it that contain shared libraries to `found`.
fn find_libraries(folder: &Path, found: &mut BTreeSet<PathBuf>) -> Result {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            find_libraries(&entry.path(), found)?;
        } else if entry.file_name().to_string_lossy().contains(".so") {
            found.insert(folder.to_owned());
        }
    }
    Ok(())
}
