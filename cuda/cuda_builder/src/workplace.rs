//! The folder in which everything intermediate lies, and the few file operations it needs.
//!
//! All builds of a workspace share one, `cuda-builder` in its target folder, so that `core`'s
//! source is fetched once and compiled once for each architecture. It is separate from the outer
//! cargo's folders: an inner cargo that waits for the lock of its parent would wait for ever.

use crate::BuildError;
use std::collections::hash_map::DefaultHasher;
use std::env;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// Folder name in the target folder.
const NAME: &str = "cuda-builder";

/// The output folder of the build script that runs this, if one does.
///
/// OUT_DIR alone is no proof: `cargo run` may hand a program its own.
pub(crate) fn build_script_out_dir() -> Option<PathBuf> {
    env::var_os("TARGET")?;
    env::var_os("OUT_DIR").map(PathBuf::from)
}

/// The shared folder: in the outer cargo's target folder, else in the kernel crate's.
pub(crate) fn folder(kernel_target_dir: &Path) -> PathBuf {
    // Inside a build script the outer build decides: an embedding service has its own target
    // folder, and the kernel crate may lie in a read-only checkout.
    let outer = build_script_out_dir().map(|out_dir| {
        out_dir
            .ancestors()
            .find(|folder| folder.join("CACHEDIR.TAG").is_file())
            .map_or_else(|| out_dir.clone(), Path::to_owned)
    });
    outer.unwrap_or_else(|| kernel_target_dir.to_owned()).join(NAME)
}

/// Creates `path` and its parents.
pub(crate) fn create_folder(path: &Path) -> Result<(), BuildError> {
    fs::create_dir_all(path).map_err(BuildError::io("create the folder", path))
}

/// Removes `path` if it is there.
pub(crate) fn remove_folder(path: &Path) -> Result<(), BuildError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(BuildError::io("remove the folder", path)(error))
        }
        _ => Ok(()),
    }
}

/// Writes `text` in one step, and not at all where it stands already: a new time stamp would make
/// everything that includes the file compile again.
pub(crate) fn write_if_changed(path: &Path, text: &str) -> Result<(), BuildError> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_folder(parent)?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    fs::write(&beside, text).map_err(BuildError::io("write", &beside))?;
    fs::rename(&beside, path).map_err(BuildError::io("write", path))
}

/// Waits for the lock file at `path`; the lock ends when the file is dropped, or the process dies.
pub(crate) fn lock(path: &Path) -> Result<File, BuildError> {
    if let Some(parent) = path.parent() {
        create_folder(parent)?;
    }
    let file = File::create(path).map_err(BuildError::io("create the lock", path))?;
    file.lock().map_err(BuildError::io("lock", path))?;
    Ok(file)
}

/// A number for file names that say what is in the file.
pub(crate) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
