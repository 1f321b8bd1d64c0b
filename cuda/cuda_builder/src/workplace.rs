//! The folder for intermediate files, and the file operations on it.
//!
//! All builds of a workspace, and of workspaces inside its target folder, share the folder
//! `cuda-builder` in its target folder, so `core`'s source is downloaded once and compiled once per
//! architecture. The outer cargo runs the build script, and the script starts an inner cargo for the
//! kernel crate. In the outer cargo's own folders, the inner cargo would wait forever for the lock
//! that the outer cargo holds, so this folder is separate.

use crate::BuildError;
use std::collections::hash_map::DefaultHasher;
use std::env;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// The name of the folder in the target folder.
const NAME: &str = "cuda-builder";

/// Returns the output folder of the build script that runs this code, if any.
///
/// The function also requires the variable TARGET, because `cargo run` may set OUT_DIR for an
/// ordinary program.
pub(crate) fn build_script_out_dir() -> Option<PathBuf> {
    env::var_os("TARGET")?;
    env::var_os("OUT_DIR").map(PathBuf::from)
}

/// Returns the folder for intermediate files, which all builds of a workspace share. In a build
/// script, it is in the target folder of the cargo that runs the script, and otherwise in the
/// kernel crate's target folder.
pub(crate) fn folder(kernel_target_dir: &Path) -> PathBuf {
    // The kernel crate of a build script may be in a read-only checkout, so the folder must be in
    // the target folder of the build that runs the script.
    let out_dir = build_script_out_dir();
    let inside = out_dir.as_deref().unwrap_or(kernel_target_dir);
    // Cargo marks a target folder that it creates with this file.
    let is_target = |folder: &&Path| folder.join("CACHEDIR.TAG").is_file();
    inside.ancestors().find(is_target).unwrap_or(inside).join(NAME)
}

/// Creates `path` and its parents.
pub(crate) fn create_folder(path: &Path) -> Result<(), BuildError> {
    fs::create_dir_all(path).map_err(BuildError::io("create the folder", path))
}

/// Removes the folder `path` with its contents, if it exists.
pub(crate) fn remove_folder(path: &Path) -> Result<(), BuildError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(BuildError::io("remove the folder", path)(error))
        }
        _ => Ok(()),
    }
}

/// Writes `text` atomically. Leaves an identical file unchanged, because a new time stamp would
/// cause cargo to recompile everything that includes the file.
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

/// Locks the file at `path` and waits if another process holds the lock. Dropping the returned file
/// releases the lock.
pub(crate) fn lock(path: &Path) -> Result<File, BuildError> {
    if let Some(parent) = path.parent() {
        create_folder(parent)?;
    }
    let file = File::create(path).map_err(BuildError::io("create the lock", path))?;
    file.lock().map_err(BuildError::io("lock", path))?;
    Ok(file)
}

/// Returns a hash of `value`, for the name of a file or folder that depends only on `value`.
pub(crate) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
