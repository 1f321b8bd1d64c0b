//! The file in which an encoded video grows, such as `match.part.mp4`. It plays at any time, also after this process was
//! killed or the disk was full.
//!
//! A thread appends each fragment that ffmpeg has completed. Until all bytes of a fragment are in the file, its first
//! bytes make players skip it. The file is flushed to the disk once a second, in case of a power loss.

use std::fs::{File, remove_file, rename};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::fragment::Container;
use crate::frame::Rate;
use crate::io::Target;

/// The interval at which the file is flushed to the disk.
const FLUSH: Duration = Duration::from_secs(1);

/// The number of bytes that are read from ffmpeg at once.
const CHUNK: usize = 1 << 16;

/// The file of a video that is being written. Dropping it removes an empty file, and logs a warning that names a file
/// with frames.
pub(super) struct Part {
    path: PathBuf,
    file: Arc<File>,
    rate: Rate,
    /// The number of frames in the file.
    frames: Arc<AtomicU64>,
    writer: Option<JoinHandle<io::Result<()>>>,
}

impl Part {
    /// Creates the file beside its target. Keeps the file of a run that was killed, with a warning.
    pub(super) fn create(target: &Target, rate: Rate) -> io::Result<Self> {
        let extension = target.path.extension().unwrap_or_default().to_string_lossy();
        for number in 1_u32.. {
            let number = if number > 1 { number.to_string() } else { String::new() };
            let path = target.path.with_extension(format!("part{number}.{extension}"));
            match File::options().write(true).mode(0o666).create_new(true).open(&path) {
                Ok(file) => {
                    // The lock tells other processes that the file is being written.
                    let _ = file.try_lock();
                    target.permit(&file)?;
                    let (file, frames) = (file.into(), Arc::default());
                    return Ok(Self { path, file, rate, frames, writer: None });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => report(&path),
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Starts a thread that appends the fragments in `stream`, and calls `watch` with the number of frames in
    /// the file and in the last fragment after each.
    pub(super) fn record(
        &mut self,
        container: Container,
        stream: impl Read + Send + 'static,
        mut watch: impl FnMut(u64, u64) + Send + 'static,
    ) -> io::Result<()> {
        let (file, frames) = (Arc::clone(&self.file), Arc::clone(&self.frames));
        let path = self.path.clone();
        let flushed = Arc::clone(&self.file);
        let (writing, end) = channel::<()>();
        let flush = move || {
            while end.recv_timeout(FLUSH) == Err(RecvTimeoutError::Timeout) {
                // A failure of the disk also makes writes fail.
                let _ = flushed.sync_data();
            }
        };
        thread::Builder::new().name("flush".into()).spawn(flush)?;
        let write = move || {
            let _writing = writing;
            append_all(&file, container, stream, |added| {
                let before = frames.fetch_add(added, Ordering::Relaxed);
                if before == 0 && added > 0 {
                    let path = path.display();
                    tracing::info!("recording to {path}, which plays even if this run is killed");
                }
                watch(before + added, added);
            })
        };
        self.writer = Some(thread::Builder::new().name("part".into()).spawn(write)?);
        Ok(())
    }

    /// Waits until ffmpeg has closed the stream, or writing has failed. Returns the number of frames in the file.
    pub(super) fn end(&mut self) -> io::Result<u64> {
        let ended = self.writer.take().map(JoinHandle::join);
        ended.unwrap_or(Ok(Ok(()))).unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(self.frames.load(Ordering::Relaxed))
    }

    /// Renames the file to its target.
    pub(super) fn rename(self, target: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        rename(&self.path, target)?;
        self.frames.store(0, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn remove(self) {
        self.frames.store(0, Ordering::Relaxed);
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = self.end();
        match self.frames.load(Ordering::Relaxed) {
            0 => drop(remove_file(&self.path)),
            frames => tracing::warn!(
                "{} has the first {frames} frames ({:.1} s) and plays; rename or remove it",
                self.path.display(),
                self.rate.time(frames).as_secs_f64()
            ),
        }
    }
}

/// Warns of a file that an earlier run has left. Removes it if it is empty.
fn report(path: &Path) {
    let Ok(file) = File::open(path) else { return };
    if file.try_lock().is_err() {
        return;
    }
    match file.metadata() {
        Ok(found) if found.is_file() && found.len() == 0 => drop(remove_file(path)),
        _ => tracing::warn!(
            "{} is from a run that did not finish, and may have frames that exist nowhere else; rename or remove it",
            path.display()
        ),
    }
}

/// Appends the fragments in `stream` to an empty file, and calls `added` with the number of frames in each.
fn append_all(
    file: &File,
    container: Container,
    mut stream: impl Read,
    mut added: impl FnMut(u64),
) -> io::Result<()> {
    let (mut pending, mut chunk, mut end) = (Vec::new(), vec![0; CHUNK], 0);
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(read) => pending.extend_from_slice(&chunk[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        while let Some(length) = container.fragment(&pending) {
            let fragment = &pending[..length];
            end =
                append(file, end, container, fragment).inspect_err(|_| drop(file.set_len(end)))?;
            added(container.frames(fragment));
            pending.drain(..length);
        }
    }
}

/// Appends a fragment at position `end` of a file. Returns the new end.
fn append(file: &File, end: u64, container: Container, fragment: &[u8]) -> io::Result<u64> {
    let (padding, hidden) = (container.padding(end), container.hidden(fragment));
    let start = end + padding.len() as u64;
    let (first, rest) = fragment.split_at(hidden.len());
    file.write_all_at(&[&padding, &hidden, rest].concat(), end)?;
    file.write_all_at(first, start)?;
    Ok(start + fragment.len() as u64)
}
