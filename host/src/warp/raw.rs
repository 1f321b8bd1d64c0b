//! Reads a warp from six raw files in one folder, `lut_left_x.bin` to `weight_right.bin`.
//!
//! A file contains the numbers of one plane as little-endian f32, row by row, without a header. The files do not store
//! the sizes of the panorama and its sources, so the caller must pass them.

use std::io::Read;
use std::path::Path;

use glam::UVec2;

use crate::io::text::open_regular;
use crate::warp::bytes::{CHUNK, numbers_of};
use crate::warp::{Plane, Warp, WarpError, check_sizes};

impl Warp {
    /// Reads a warp from the six raw plane files in a folder. `size` is the size of the panorama in pixels, and
    /// `sources` are the sizes of the source pictures (left, right). Checks the lengths of all files before it reads
    /// any of them.
    ///
    /// # Errors
    /// Returns [`WarpError`] if a file is missing, unreadable or has another length, or if a size or number is invalid.
    pub fn import_raw(
        directory: impl AsRef<Path>,
        size: UVec2,
        sources: [UVec2; 2],
    ) -> Result<Self, WarpError> {
        let directory = directory.as_ref();
        let in_directory = |error| WarpError::invalid(directory, error);
        check_sizes(size, &sources).map_err(in_directory)?;
        let expected = u64::from(size.x) * u64::from(size.y) * 4;
        for plane in Plane::all(2) {
            let file = plane.raw_file(directory);
            match open_regular(&file) {
                Ok((_, found)) if found == expected => {}
                Ok((_, found)) => {
                    let reason = format_args!(
                        "the file has {found} bytes, but a plane of {}×{} pixels needs {expected} bytes{}",
                        size.x,
                        size.y,
                        hint(found, size)
                    );
                    return Err(WarpError::invalid(&file, reason));
                }
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                    return Err(WarpError::invalid(
                        &file,
                        "the file is missing; a warp of raw planes has six files, lut_left_x.bin to weight_right.bin",
                    ));
                }
                Err(source) => return Err(WarpError::Unreadable { file, source }),
            }
        }
        // Check all planes before storing any, so that rejecting an invalid plane needs no memory for the planes.
        for plane in Plane::all(2) {
            read(&plane.raw_file(directory), plane, size, |_| {})?;
        }
        let mut planes = [const { Vec::new() }; 6];
        for (plane, values) in Plane::all(2).zip(&mut planes) {
            values.reserve_exact(size.x as usize * size.y as usize);
            read(&plane.raw_file(directory), plane, size, |chunk| values.extend_from_slice(chunk))?;
        }
        Self::new(size, sources, planes).map_err(in_directory)
    }
}

/// Reads one plane in chunks, checks the numbers of each chunk, and passes them to `sink`.
fn read(
    file: &Path,
    plane: Plane,
    size: UVec2,
    mut sink: impl FnMut(&[f32]),
) -> Result<(), WarpError> {
    let unreadable = |source| WarpError::Unreadable { file: file.to_owned(), source };
    let (mut reader, _) = open_regular(file).map_err(unreadable)?;
    let elements = size.x as usize * size.y as usize;
    let mut bytes = vec![0; CHUNK.min(elements * 4)];
    let mut values = Vec::with_capacity(bytes.len() / 4);
    let mut at = 0;
    while at < elements {
        let bytes = &mut bytes[..CHUNK.min((elements - at) * 4)];
        reader.read_exact(bytes).map_err(unreadable)?;
        values.clear();
        values.extend(numbers_of(bytes, f32::from_le_bytes));
        plane.check(&values, at, size.x).map_err(|error| WarpError::invalid(file, error))?;
        sink(&values);
        at += values.len();
    }
    Ok(())
}

/// Returns the end of the error message for a file whose length of `bytes` bytes does not match a panorama of `size`
/// pixels. The text names a panorama size that the length would match, or another possible cause.
fn hint(bytes: u64, size: UVec2) -> String {
    let numbers = bytes / 4;
    let (width, height) = (u64::from(size.x), u64::from(size.y));
    if bytes == 0 {
        "; the file is empty".to_owned()
    } else if !bytes.is_multiple_of(4) {
        "; this is not a whole number of f32, so the file may be truncated".to_owned()
    } else if numbers.is_multiple_of(width) {
        format!("; the file would fit {width}×{}", numbers / width)
    } else if numbers.is_multiple_of(height) {
        format!("; the file would fit {}×{height}", numbers / height)
    } else {
        format!("; the file has {numbers} numbers, which fit neither this width nor this height")
    }
}
