//! Replaces a file atomically: other programs read either the complete old content or the complete new content.
//!
//! The new content is written to a temporary file in the same folder, which is flushed to disk and then renamed to the
//! target. If writing fails, the temporary file is removed and the target stays unchanged.
//!
//! The target must not exist yet, or must be a regular file: renaming over `/dev/null` would remove the device for all
//! programs. A symbolic link stays a link, and the file to which it points is replaced. A file keeps its permissions,
//! but its owner may change.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use tempfile::NamedTempFile;

use crate::lock::lock;

/// The maximum number of symbolic links to follow. The Linux kernel has the same limit.
const MAX_LINKS: usize = 40;

/// Replaces the content of `path` with the output of `write`.
pub(crate) fn replace<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&mut File>) -> Result<(), E>,
) -> Result<(), E> {
    let (_unfinished, mut temporary, target) = temporary_beside(path)?;
    let mut writer = BufWriter::with_capacity(1 << 18, temporary.as_file_mut());
    write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    temporary.as_file().sync_all()?;
    temporary.persist(target).map_err(|error| error.error)?;
    Ok(())
}

/// Creates a temporary file in the folder of the target. The target is `path` after following symbolic links.
///
/// Returns the entry of the temporary file in the list of unfinished files, the temporary file itself, and the target
/// to which the caller renames it. The caller must drop the entry last, so that the file is in the list as long as it
/// exists.
///
/// # Errors
/// Returns an error if the target exists and is not a regular file, or if its folder is not writable.
pub(crate) fn temporary_beside(path: &Path) -> io::Result<(Unfinished, NamedTempFile, PathBuf)> {
    let target = followed(path)?;
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|found| !found.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    // `tempfile` creates files that only their owner can read. Use the permissions of the old file instead, or for a
    // new file the mode 0666 without the bits of the umask.
    let kept = old.map(|found| Permissions::from_mode(found.permissions().mode() & 0o777));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".panoweave-").suffix(".tmp");
    builder.permissions(kept.clone().unwrap_or(Permissions::from_mode(0o666)));
    // Hold the lock while creating and listing the file, so that `remove_unfinished` cannot run in between and miss it.
    let mut list = unfinished();
    let temporary = builder.tempfile_in(folder_of(&target))?;
    if let Some(kept) = kept {
        temporary.as_file().set_permissions(kept)?;
    }
    let path = temporary.path().to_owned();
    list.push(path.clone());
    Ok((Unfinished(path), temporary, target))
}

/// The paths of all temporary files that are being written.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// An entry in the list of temporary files. Dropping it removes the entry from the list, but does not remove the file.
#[derive(Debug)]
pub(crate) struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        unfinished().retain(|path| *path != self.0);
    }
}

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    lock(&UNFINISHED)
}

/// Removes the temporary files that are being written. Call this function just before the program ends early, for
/// instance after a signal.
///
/// After this call, unfinished writes may fail, and a thread that starts or finishes a write blocks forever.
pub fn remove_unfinished() {
    let list = unfinished();
    for path in list.iter() {
        // Ignore an error, because the program is about to end and cannot handle it.
        let _ = fs::remove_file(path);
    }
    // Never unlock the list, so that no other thread creates a file before the program ends.
    std::mem::forget(list);
}

/// Returns the parent folder of a file, or `.` for a file name without a folder.
pub(crate) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Follows symbolic links from `path` and returns the path of their target. The target need not exist.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = folder_of(&path).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, content: &str) -> io::Result<()> {
        replace(path, |writer| writer.write_all(content.as_bytes()))
    }

    #[test]
    fn links_stay_and_permissions_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("d")).unwrap();
        fs::write(at("d/file"), "old").unwrap();
        fs::set_permissions(at("d/file"), Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink("d/file", at("link")).unwrap();
        std::os::unix::fs::symlink("link", at("second")).unwrap();
        std::os::unix::fs::symlink("d/new", at("dangling")).unwrap();
        write(&at("second"), "content").unwrap();
        write(&at("dangling"), "new").unwrap();
        for link in ["link", "second", "dangling"] {
            assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink(), "{link}");
        }
        assert_eq!(fs::read(at("d/file")).unwrap(), b"content");
        assert_eq!(fs::read(at("d/new")).unwrap(), b"new");
        assert_eq!(fs::metadata(at("d/file")).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn rejects_cyclic_links() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("a", at("b")).unwrap();
        std::os::unix::fs::symlink("b", at("a")).unwrap();
        let error = write(&at("a"), "content").unwrap_err();
        assert_eq!(error.to_string(), "too many symbolic links");
    }
}
