//! Downloads packages of Debian or Ubuntu and unpacks them into a folder.
//!
//! Nothing is installed, and no privileges are needed, because `apt-get` writes its lists and cache to the folder.
//! `apt-get` uses the system's package sources and verifies signatures. It leaves out packages that are installed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;
use crate::cargo::run;

/// Unpacked packages.
pub(crate) struct Packages {
    /// The folder that corresponds to the root folder of the system.
    pub(crate) root: PathBuf,
    /// The folders with shared libraries.
    pub(crate) libraries: Vec<PathBuf>,
}

/// Downloads and unpacks packages, and those on which they depend and which the system lacks.
pub(crate) fn fetch(folder: &Path, packages: &[&str]) -> Result<Packages> {
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
    let install = ["install", "--download-only", "--no-install-recommends"];
    apt(&[&install, packages].concat()).or_else(|error| updated.and(Err(error)))?;
    let root = folder.join("root");
    fs::create_dir_all(&root)?;
    for entry in fs::read_dir(folder.join("apt/cache/archives"))? {
        let package = entry?.path();
        if package.extension().is_some_and(|extension| extension == "deb") {
            run(Command::new("dpkg").arg("-x").arg(&package).arg(&root))?;
        }
    }
    fs::remove_dir_all(folder.join("apt"))?;
    Packages::open(root)
}

impl Packages {
    /// Finds the libraries of packages that are unpacked in `root`.
    pub(crate) fn open(root: PathBuf) -> Result<Self> {
        let mut libraries = BTreeSet::new();
        for place in ["usr/lib", "lib"].map(|place| root.join(place)) {
            if place.is_dir() {
                find_libraries(&place, &mut libraries)?;
            }
        }
        Ok(Self { root, libraries: libraries.into_iter().collect() })
    }

    /// Returns the value of `LD_LIBRARY_PATH` for programs of these packages.
    pub(crate) fn library_path(&self) -> String {
        let libraries: Vec<_> = self.libraries.iter().map(|path| path.to_string_lossy()).collect();
        libraries.join(":")
    }

    /// Makes the packages usable for building: links of development packages to libraries that the system has lead
    /// there, and the files of pkg-config name the folder of these packages.
    pub(crate) fn prepare_for_builds(&self) -> Result {
        for folder in &self.libraries {
            for entry in fs::read_dir(folder)? {
                let link = entry?.path();
                let Ok(to) = fs::read_link(&link) else { continue };
                let Ok(inside) = folder.strip_prefix(&self.root) else { continue };
                let installed = Path::new("/").join(inside).join(&to);
                if !link.exists() && installed.exists() {
                    fs::remove_file(&link)?;
                    symlink(installed, &link)?;
                }
            }
        }
        for folder in self.pkg_config() {
            for entry in fs::read_dir(folder)? {
                let file = entry?.path();
                let text = fs::read_to_string(&file)?;
                fs::write(&file, text.replace("=/usr", &format!("={}/usr", self.root.display())))?;
            }
        }
        Ok(())
    }

    /// Returns the folders with files of pkg-config.
    pub(crate) fn pkg_config(&self) -> Vec<PathBuf> {
        let shared = self.root.join("usr/share");
        let folders = self.libraries.iter().chain([&shared]).map(|folder| folder.join("pkgconfig"));
        folders.filter(|folder| folder.is_dir()).collect()
    }
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
