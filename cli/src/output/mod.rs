//! Prints results to stdout, and checks output files before any work starts.

pub(crate) mod colour;
pub(crate) mod conversions;
pub(crate) mod failure;
pub(crate) mod interrupt;
pub(crate) mod log;
pub(crate) mod meter;
pub(crate) mod plot;
pub(crate) mod report;
pub(crate) mod stages;

use std::borrow::Cow;
use std::fs::{self, FileType};
use std::io::{self, BufWriter, StdoutLock, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use panoweave::io::video::STANDARD;
use serde::Serialize;

use crate::output::failure::Failure;

/// The path of standard output.
pub(crate) const STDOUT: &str = "/dev/stdout";

/// Prints text to stdout with [`escaped`] control characters. A reader that closes the pipe early (`| head`) is not an
/// error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_with(|out| out.write_all(escaped(text).as_bytes()))
}

/// Returns whether a character can be printed to a terminal without changing its state. Control characters, except line
/// ends and tabs, and characters that reverse the direction of writing can change it.
pub(crate) fn is_plain(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => false,
        c => !c.is_control(),
    }
}

/// Escapes the characters that are not [plain](is_plain), because text from a file, such as a camera's name, could
/// control the terminal.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_plain(c) { escaped.push(c) } else { escaped.extend(c.escape_default()) }
    }
    escaped.into()
}

/// Calls `write` with a buffered stdout, and flushes it. Like [`print()`], does not fail if the reader has closed the
/// pipe.
pub(crate) fn print_with(
    write: impl FnOnce(&mut BufWriter<StdoutLock<'_>>) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::stdout(error)),
        _ => Ok(()),
    }
}

/// Prints JSON to stdout.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut text =
        serde_json::to_string_pretty(value).map_err(|error| Failure::stdout(error.into()))?;
    text.push('\n');
    print_with(|out| out.write_all(text.as_bytes()))
}

/// Checks that `file` can be written: it is a regular file or does not exist yet, its folder exists, and it is not one
/// of the files in `inputs`.
pub(crate) fn check(file: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    let is_folder = || Err(Failure::output(file, "it is a folder; name a file in it"));
    if names_folder(file) {
        return is_folder();
    }
    match fs::metadata(file) {
        Ok(found) if found.is_dir() => return is_folder(),
        Ok(found) if !found.is_file() => {
            let reason = "it is not a regular file; choose another name";
            return Err(Failure::output(file, reason));
        }
        Ok(_) => {
            if inputs.iter().any(|input| same(file, input)) {
                return Err(Failure::output_is_input(file));
            }
        }
        // Usually the file does not exist, which is fine. Any other problem fails when the file is written.
        Err(_) => {}
    }
    let folder = folder_of(file);
    if !folder.is_dir() {
        let reason = format!("the folder {} does not exist; create it", folder.display());
        return Err(Failure::output(file, reason));
    }
    Ok(())
}

/// Returns the file from which an input is read. For `-`, it is the pipe or the file of stdin.
pub(crate) fn input_file(path: &Path) -> &Path {
    if path == Path::new(STANDARD) { Path::new("/dev/stdin") } else { path }
}

/// Returns whether a path is the pipe or the file of stdout, such as `/dev/stdout`. Devices do not count, because a
/// terminal or `/dev/null` can be opened a second time.
pub(crate) fn is_stdout(path: &Path) -> bool {
    let is_no_device = |kind: FileType| !kind.is_char_device();
    inode(path, is_no_device).is_some_and(|file| inode(STDOUT.as_ref(), is_no_device) == Some(file))
}

/// Returns whether both paths are the same existing file or folder.
pub(crate) fn same(a: &Path, b: &Path) -> bool {
    identity(a).is_some_and(|a| identity(b) == Some(a))
}

/// Returns the device number and the inode number of a regular file or folder. All paths of one file, including hard
/// links, have the same pair of numbers.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    inode(path, |kind| kind.is_file() || kind.is_dir())
}

/// Returns the device number and the inode number of a file, if it exists and `accepts` its type.
pub(crate) fn inode(path: &Path, accepts: impl Fn(FileType) -> bool) -> Option<(u64, u64)> {
    let found = fs::metadata(path).ok().filter(|found| accepts(found.file_type()))?;
    Some((found.dev(), found.ino()))
}

/// Returns whether both paths name the same file, which need not exist. Existing files are the same if they have the
/// same inode. Otherwise, the paths must have the same folder and file name.
pub(crate) fn would_be_same(a: &Path, b: &Path) -> bool {
    same(a, b) || place(a).is_some_and(|a| place(b) == Some(a))
}

/// Returns the absolute path of a file, which need not exist. Returns `None` if its folder does not exist.
fn place(file: &Path) -> Option<PathBuf> {
    Some(fs::canonicalize(folder_of(file)).ok()?.join(file.file_name()?))
}

/// Returns the parent folder of a file. If the path is only a file name, returns `.`.
fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Returns whether a path can only be a folder: it is empty, ends in `/`, or its last component is `.` or `..`.
fn names_folder(file: &Path) -> bool {
    let bytes = file.as_os_str().as_encoded_bytes();
    file.file_name().is_none() || bytes.ends_with(b"/") || bytes.ends_with(b"/.")
}
