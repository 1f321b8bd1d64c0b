//! Replaces a file atomically: other programs read either the complete old content or the complete new content.
//!
//! The new content is written to a temporary file in the same folder, which is flushed to disk and then renamed to the
//! target. If writing fails, the temporary file is removed and the target stays unchanged.
//!
//! The target must not exist yet, or must be a regular file that is not read-only: renaming over `/dev/null` would
//! remove the device for all programs. A symbolic link stays a link, and the file to which it points is replaced. A
//! link that the system does not follow, such as another user's link in `/tmp`, is refused. A file keeps its
//! permissions, but its owner may change.
//!
//! A program that is killed leaves its temporary files. Each temporary file has an advisory lock as long as it is
//! written, so the next program that writes to the folder finds and removes those that nobody writes any more.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, File, Metadata, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::lock::lock;

/// The maximum number of symbolic links to follow. The Linux kernel has the same limit.
const MAX_LINKS: usize = 40;

/// The start and the end of the names of temporary files.
const NAME: [&str; 2] = [".panoweave-", ".tmp"];

/// The number of random letters and digits between them.
const RANDOM: usize = 6;

/// The time without a change after which a temporary file that has no lock counts as left over. It is much longer than
/// the time between the creation of a file and its lock.
const LEFT_OVER: Duration = Duration::from_secs(60);

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

/// A file that is replaced or created.
pub(crate) struct Target {
    /// The path after following symbolic links.
    pub(crate) path: PathBuf,
    /// The permissions of the old file.
    permissions: Option<Permissions>,
}

impl Target {
    /// Checks the file at `path`.
    ///
    /// # Errors
    /// Returns an error if the file exists and is read-only or not a regular file, or if the system does not follow a
    /// link.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let path = followed(path)?;
        let old = fs::metadata(&path).ok();
        if old.as_ref().is_some_and(|found| !found.is_file()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        old.as_ref().map_or(Ok(()), check_writable)?;
        let mode = |found: Metadata| Permissions::from_mode(found.permissions().mode() & 0o777);
        Ok(Self { path, permissions: old.map(mode) })
    }

    /// Gives a new file the permissions of the old one.
    pub(crate) fn permit(&self, file: &File) -> io::Result<()> {
        self.permissions.clone().map_or(Ok(()), |old| file.set_permissions(old))
    }
}

/// Creates a temporary file in the folder of the target. The target is `path` after following symbolic links.
///
/// Returns the entry of the temporary file in the list of unfinished files, the temporary file itself, and the target
/// to which the caller renames it. The caller must drop the entry last, so that the file is in the list as long as it
/// exists.
///
/// # Errors
/// Returns the errors of [`Target::new`], or an error if the folder is not writable.
pub(crate) fn temporary_beside(path: &Path) -> io::Result<(Unfinished, NamedTempFile, PathBuf)> {
    let target = Target::new(path)?;
    // `tempfile` creates files that only their owner can read. Use the permissions of the old file instead, or for a
    // new file the mode 0666 without the bits of the umask.
    let mut builder = tempfile::Builder::new();
    builder.prefix(NAME[0]).suffix(NAME[1]).rand_bytes(RANDOM);
    builder.permissions(target.permissions.clone().unwrap_or(Permissions::from_mode(0o666)));
    // Hold the lock while creating and listing the file, so that `remove_unfinished` cannot run in between and miss it.
    let mut list = unfinished();
    let folder = folder_of(&target.path);
    remove_left_over(folder);
    let temporary = builder.tempfile_in(folder)?;
    // The lock belongs to the open file, so it lasts as long as this copy of the handle. Ignore the error of a file
    // system without locks, where no left over file is removed.
    let locked = temporary.as_file().try_clone()?;
    let _ = locked.try_lock();
    target.permit(temporary.as_file())?;
    let path = temporary.path().to_owned();
    list.push(path.clone());
    Ok((Unfinished { path, _locked: locked }, temporary, target.path))
}

/// Refuses a file that is read-only. The system refuses it only for users without the rights of root.
pub(crate) fn check_writable(file: &Metadata) -> io::Result<()> {
    if !file.permissions().readonly() {
        return Ok(());
    }
    let text = "the file is read-only; make it writable, or write another file";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

/// The paths of all temporary files that are being written.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// An entry in the list of temporary files. Dropping it removes the entry from the list, but does not remove the file.
#[derive(Debug)]
pub(crate) struct Unfinished {
    path: PathBuf,
    /// The file, with its lock.
    _locked: File,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        unfinished().retain(|path| *path != self.path);
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

/// Returns whether [`temporary_beside`] makes such names. A user's file may have a similar name.
fn is_temporary(name: &str) -> bool {
    let random = name.strip_prefix(NAME[0]).and_then(|name| name.strip_suffix(NAME[1]));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

/// Removes the temporary files in a folder that a program has left there when it was killed. Examines each folder only
/// once, because a folder may have many files.
fn remove_left_over(folder: &Path) {
    static EXAMINED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let is_new = folder.canonicalize().is_ok_and(|folder| lock(&EXAMINED).insert(folder));
    // Ignore errors: a file that cannot be examined or removed does no harm.
    let Some(entries) = is_new.then(|| fs::read_dir(folder).ok()).flatten() else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if is_temporary(&name) && is_left_over(&entry) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns whether a temporary file is not written any more.
fn is_left_over(entry: &DirEntry) -> bool {
    let Ok(found) = entry.metadata() else { return false };
    let age = found.modified().ok().and_then(|time| time.elapsed().ok());
    found.is_file()
        && age.is_some_and(|age| age >= LEFT_OVER)
        && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
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
            Ok(to) => {
                // Only the system knows whether it follows this link. A target that does not exist is no obstacle.
                if let Err(error) = fs::metadata(&path)
                    && error.kind() == io::ErrorKind::PermissionDenied
                {
                    return Err(error);
                }
                path = folder_of(&path).join(to);
            }
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
    fn a_read_only_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
        let error = write(&file, "new").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::read(&file).unwrap(), b"old");
    }

    #[test]
    fn files_of_killed_programs_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let old = |name: &str| {
            let path = folder.path().join(name);
            let file = File::create(&path).unwrap();
            file.set_modified(std::time::SystemTime::now() - 2 * LEFT_OVER).unwrap();
            (path, file)
        };
        let (left, _) = old(".panoweave-aB3aaa.tmp");
        let (locked, file) = old(".panoweave-bbbbbb.tmp");
        file.lock().unwrap();
        let others =
            [".other.tmp", ".panoweave-notes.tmp", ".panoweave-a-b-cd.tmp", ".panoweave-.tmp"];
        let others = others.map(|name| old(name).0);
        let fresh = folder.path().join(".panoweave-cccccc.tmp");
        File::create(&fresh).unwrap();
        write(&folder.path().join("out"), "content").unwrap();
        assert!(!left.exists());
        assert!(locked.exists() && fresh.exists());
        for other in &others {
            assert!(other.exists(), "{}", other.display());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3 + others.len());
    }

    #[test]
    fn a_temporary_file_is_locked_as_long_as_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("file");
        let (entry, temporary, _) = temporary_beside(&target).unwrap();
        // ffmpeg writes the file, so this process closes its first handle.
        let path = temporary.into_temp_path();
        assert!(File::open(&path).unwrap().try_lock().is_err());
        drop(entry);
        assert!(File::open(&path).unwrap().try_lock().is_ok());
    }

    /// In a folder like `/tmp`, Linux follows a link only if it belongs to the user or to the owner of the folder.
    #[test]
    fn a_link_of_another_user_in_a_shared_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
        let (link, target) = (folder.path().join("link"), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(target.path().join("file"), &link).unwrap();
        let is_on = fs::read_to_string("/proc/sys/fs/protected_symlinks");
        let is_on = is_on.is_ok_and(|text| text.trim() == "1");
        // Only the superuser can give the link to another user.
        if !is_on || std::os::unix::fs::lchown(&link, Some(12345), None).is_err() {
            assert!(write(&link, "content").is_ok());
            return;
        }
        let error = write(&link, "content").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(!target.path().join("file").exists());
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
