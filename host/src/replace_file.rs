//! Writing a file so that readers see the old content or the new, never half of it.
//!
//! The content goes to a temporary file in the same directory, is flushed to the disk and then
//! renamed over the target. On failure the temporary file is removed and the target is untouched.
//! Only a regular file is replaced: renaming over `/dev/null` would take it from everybody.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Replaces `path` by what `write` writes.
pub(crate) fn replace<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&mut File>) -> Result<(), E>,
) -> Result<(), E> {
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file").into());
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".panoweave-").suffix(".tmp");
    // Temporary files are private by default; the result is an ordinary file under the user's umask.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut temporary = builder.tempfile_in(directory)?;
    let mut writer = BufWriter::with_capacity(1 << 18, temporary.as_file_mut());
    write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|error| error.error)?;
    Ok(())
}
