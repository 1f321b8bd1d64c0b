//! Opens byte streams (files, pipes, standard input and standard output), and reads and writes raw frames in these
//! streams.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::VideoError;
use super::medium::{STANDARD, shown};
use crate::frame::Frame;
use crate::io::video::read_frame::ReadFrame;

/// An open input, and its length in bytes if it is a regular file.
pub(super) type Opened = (File, Option<u64>);

/// Opens an input for reading. Also returns its length in bytes if it is a regular file. Opening a named pipe blocks
/// until another program opens it for writing.
pub(super) fn open(path: &Path) -> Result<Opened, VideoError> {
    let opened = if path == Path::new(STANDARD) {
        // Open standard input as a `File`, because `Stdin` has a buffer, which would add a copy of each frame.
        io::stdin().as_fd().try_clone_to_owned().map(File::from)
    } else {
        File::open(path)
    };
    let sized = opened.and_then(|file| {
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        Ok((file, metadata.is_file().then_some(metadata.len())))
    });
    sized.map_err(|source| VideoError::Unreadable { file: shown(path, "stdin"), source })
}

/// Returns standard output as a `File`, because `Stdout` has a line buffer, which is slow for frames.
pub(super) fn standard_output() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Reads until `bytes` is full or the input ends. Returns the number of bytes that were read.
pub(super) fn fill(input: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut found = 0;
    while found < bytes.len() {
        match input.read(&mut bytes[found..]) {
            Ok(0) => break,
            Ok(n) => found += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Returns an iterator over the planes of a frame. For each plane, it yields an iterator over the rows without their
/// padding. A plane without padding is yielded as one slice.
pub(super) fn rows<'a>(frame: &Frame<'a>) -> impl Iterator<Item = impl Iterator<Item = &'a [u8]>> {
    let planes: Vec<_> = frame.planes().to_vec();
    frame.format().planes().zip(planes).map(|(extent, plane)| {
        // Treat a plane without padding as one long row, which is faster to write.
        let (row, rows) =
            if plane.pitch == extent.row { (extent.bytes(), 1) } else { (extent.row, extent.rows) };
        (0..rows).map(move |i| &plane.bytes[i * plane.pitch..][..row])
    })
}

/// Writes the bytes of a frame without padding, plane after plane.
pub(super) fn write_raw(output: &mut impl Write, frame: &Frame<'_>) -> io::Result<()> {
    rows(frame).flatten().try_for_each(|row| output.write_all(row))
}

/// Reads raw frames: frames without a header or padding, one after the other.
pub(super) struct RawReader<R> {
    file: PathBuf,
    input: R,
    frames: u64,
}

impl<R> RawReader<R> {
    pub(super) fn new(file: &Path, input: R) -> Self {
        Self { file: file.to_owned(), input, frames: 0 }
    }
}

impl<R: Read + Send> ReadFrame for RawReader<R> {
    fn read_frame(&mut self, frame: &mut [u8]) -> Result<bool, VideoError> {
        let file = || self.file.clone();
        let found = fill(&mut self.input, frame)
            .map_err(|source| VideoError::Unreadable { file: file(), source })?;
        if found == 0 {
            return Ok(false);
        }
        if found < frame.len() {
            let (frame, expected) = (self.frames, frame.len());
            return Err(VideoError::Truncated { file: file(), frame, found, expected });
        }
        self.frames += 1;
        Ok(true)
    }
}
