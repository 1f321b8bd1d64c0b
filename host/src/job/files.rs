//! Checks of the files of a job before any work starts: outputs that can be written, and pipes with one reader.

use std::fs::{self, FileType};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::JobError;
use crate::io::video::{Medium, STANDARD};

/// The path of standard output.
pub const STDOUT: &str = "/dev/stdout";

/// Checks that `file` can be written: it is a regular file or does not exist yet, its folder exists, and it is not one
/// of the files in `inputs`.
pub fn check_output(file: &Path, inputs: &[&Path]) -> Result<(), JobError> {
    let is_folder = || Err(JobError::output(file, "it is a folder; name a file in it"));
    if names_folder(file) {
        return is_folder();
    }
    match fs::metadata(file) {
        Ok(found) if found.is_dir() => return is_folder(),
        Ok(found) if !found.is_file() => {
            let reason = "it is not a regular file; choose another name";
            return Err(JobError::output(file, reason));
        }
        Ok(_) => {
            if inputs.iter().any(|input| same(file, input)) {
                return Err(JobError::output_is_input(file));
            }
        }
        // Usually the file does not exist, which is fine. Any other problem fails when the file is written.
        Err(_) => {}
    }
    let folder = folder_of(file);
    if !folder.is_dir() {
        let reason = format!("the folder {} does not exist; create it", folder.display());
        return Err(JobError::output(file, reason));
    }
    Ok(())
}

/// Returns the file from which an input is read. For `-`, it is the pipe or the file of standard input.
#[must_use]
pub fn input_file(path: &Path) -> &Path {
    if path == Path::new(STANDARD) { Path::new("/dev/stdin") } else { path }
}

/// Returns whether a path is the pipe or the file of standard output, such as `/dev/stdout`. Devices do not count,
/// because a terminal or `/dev/null` can be opened a second time.
#[must_use]
pub fn is_stdout(path: &Path) -> bool {
    let is_no_device = |kind: FileType| !kind.is_char_device();
    inode(path, is_no_device).is_some_and(|file| inode(STDOUT.as_ref(), is_no_device) == Some(file))
}

/// Returns whether both paths are the same existing file or folder.
#[must_use]
pub fn same(a: &Path, b: &Path) -> bool {
    identity(a).is_some_and(|a| identity(b) == Some(a))
}

/// Returns the device number and the inode number of a regular file or folder. All paths of one file, including hard
/// links, have the same pair of numbers.
fn identity(path: &Path) -> Option<(u64, u64)> {
    inode(path, |kind| kind.is_file() || kind.is_dir())
}

/// Returns the device number and the inode number of a file, if it exists and `accepts` its type.
fn inode(path: &Path, accepts: impl Fn(FileType) -> bool) -> Option<(u64, u64)> {
    let found = fs::metadata(path).ok().filter(|found| accepts(found.file_type()))?;
    Some((found.dev(), found.ino()))
}

/// Returns whether both paths name the same file, which need not exist. Existing files are the same if they have the
/// same inode. Otherwise, the paths must have the same folder and file name.
#[must_use]
pub fn would_be_same(a: &Path, b: &Path) -> bool {
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

/// Returns the files from which a video is read. For a pattern of numbered pictures, these are all existing pictures.
/// For any other video, it is a single file.
///
/// # Errors
/// Returns [`JobError::Video`] if the folder of a pattern cannot be read.
pub fn input_files(path: &Path, medium: &Medium) -> Result<Vec<PathBuf>, JobError> {
    Ok(match medium {
        Medium::Pictures(pattern) => {
            pattern.numbers()?.into_iter().map(|n| pattern.file(n)).collect()
        }
        _ => vec![input_file(path).into()],
    })
}

/// Checks that no two videos are read from the same pipe or device, because each frame of a pipe reaches only one of
/// its readers.
pub fn check_pipes<P: AsRef<Path>>(files: &[P]) -> Result<(), JobError> {
    let mut pipes = Vec::new();
    let mut reads_stdin = false;
    for file in files.iter().map(AsRef::as_ref) {
        let is_stdin = file == Path::new(STANDARD);
        if is_stdin && reads_stdin {
            return Err(JobError::usage("only one of the videos can be standard input"));
        }
        reads_stdin |= is_stdin;
        // Ignore a file that cannot be queried here: opening it returns an error that names it.
        let Some(pipe) = inode(input_file(file), |kind| kind.is_fifo() || kind.is_char_device())
        else {
            continue;
        };
        if pipes.contains(&pipe) {
            return Err(JobError::usage(
                "two of the videos are the same pipe or device, which would split its frames between them; use one for each video",
            ));
        }
        pipes.push(pipe);
    }
    Ok(())
}

/// Checks that an output video can be written, and replaces none of the files in `inputs`. `path` is `-` for standard
/// output.
pub(super) fn check_video_output(
    path: &Path,
    medium: &Medium,
    inputs: &[&Path],
) -> Result<(), JobError> {
    match medium {
        Medium::File => check_output(path, inputs),
        Medium::Stream(_) if path == Path::new(STANDARD) => {
            // If the shell redirects standard output with `>> input`, the input would grow while it is read.
            let is_input = inputs.iter().any(|file| same(file, STDOUT.as_ref()));
            if is_input { Err(JobError::output_is_input(Path::new("stdout"))) } else { Ok(()) }
        }
        Medium::Stream(_) => {
            let is_special =
                fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
            if is_special { Ok(()) } else { check_output(path, inputs) }
        }
        Medium::Pictures(pattern) => {
            check_output(&pattern.file(1), inputs)?;
            // No output picture may replace an input. The number of output pictures is not known yet, so check every
            // existing file that matches the pattern.
            let files = pattern.numbers()?.into_iter().map(|number| pattern.file(number));
            let mut files = files.filter(|file| inputs.iter().any(|input| same(file, input)));
            files.next().map_or(Ok(()), |file| Err(JobError::output_is_input(&file)))
        }
    }
}
