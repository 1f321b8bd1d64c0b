//! Passes the input to functions that read a file. The files are in memory (`/dev/shm`) and are used again, because a
//! fuzzer runs thousands of inputs per second.

use std::cell::OnceCell;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

thread_local! {
    static FOLDER: OnceCell<TempDir> = const { OnceCell::new() };
}

/// Calls `read` with a folder that contains files with these names and contents.
///
/// # Panics
/// Panics if the files cannot be written.
pub(crate) fn with_files(files: &[(&str, &[u8])], read: impl FnOnce(&Path)) {
    FOLDER.with(|folder| {
        let folder = folder.get_or_init(|| {
            let memory = Path::new("/dev/shm");
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }
                .expect("a temporary folder")
        });
        for (name, contents) in files {
            fs::write(folder.path().join(name), contents).expect("a file in the temporary folder");
        }
        read(folder.path());
    });
}
