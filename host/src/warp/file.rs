//! The panoweave warp file: one safetensors file that says everything about itself.
//!
//! Tensors `lut_left_x … weight_right`, F32, shape `[height, width]`, in that order and without gaps.
//! `__metadata__` holds strings:
//!
//! | key | value |
//! |---|---|
//! | `format` | `panoweave-warp` |
//! | `version` | `1` |
//! | `left`, `right` | source sizes, as `3840x2160` |
//! | `projection` | `planar`, `cylindrical`, `equirectangular` or `unknown` |
//! | `rig` | the rig or homography it was made from; may be missing |
//! | `checksum` | eight hex digits: CRC-32 of the six planes' bytes in order, then of the text `{left} {right} {projection} {rig}` |
//!
//! This file writes; `read` reads.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use glam::UVec2;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};

use crate::replace_file::replace;
use crate::rig::ProjectionName;
use crate::warp::raw::bytes_of;
use crate::warp::{Plane, Warp, WarpError};

/// Value of the metadata key `format`.
pub(crate) const FORMAT: &str = "panoweave-warp";
/// Value of the metadata key `version`.
pub(crate) const VERSION: &str = "1";

/// Longest header that is read, in bytes. A rig's text is a few kilobytes.
pub(crate) const HEADER_LIMIT: u64 = 1 << 20;

impl Warp {
    /// Writes a panoweave warp file, by custom named `….safetensors`; replaces the file at once or
    /// not at all.
    ///
    /// # Errors
    /// [`Header`](WarpError::Header) if the rig's text is too long for one, or
    /// [`Unwritable`](WarpError::Unwritable).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), WarpError> {
        let file = path.as_ref();
        let header =
            self.header().map_err(|reason| WarpError::Header { file: file.to_owned(), reason })?;
        replace(file, |out| {
            out.write_all(&(header.len() as u64).to_le_bytes())?;
            out.write_all(&header)?;
            self.planes().iter().try_for_each(|plane| bytes_of(plane, |b| out.write_all(b)))
        })
        .map_err(|source| WarpError::Unwritable { file: file.to_owned(), source })
    }

    /// The header: JSON, padded with spaces so that the planes begin at a multiple of 8.
    fn header(&self) -> Result<Vec<u8>, String> {
        let mut crc = crc32fast::Hasher::new();
        for plane in self.planes() {
            let done: Result<(), std::convert::Infallible> = bytes_of(plane, |bytes| {
                crc.update(bytes);
                Ok(())
            });
            let Ok(()) = done;
        }
        let [left, right] = self.sources().map(size_text);
        let projection = self.projection().map_or("unknown", ProjectionName::as_str);
        crc.update(sealed_text(&left, &right, projection, self.rig()).as_bytes());
        let mut metadata = HashMap::from(
            [
                ("format", FORMAT),
                ("version", VERSION),
                ("left", &left),
                ("right", &right),
                ("projection", projection),
                ("checksum", &format!("{:08x}", crc.finalize())),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
        );
        if let Some(rig) = self.rig() {
            metadata.insert("rig".to_owned(), rig.to_owned());
        }
        let shape = vec![self.size().y as usize, self.size().x as usize];
        let bytes = 4 * shape[0] * shape[1];
        let tensors = Plane::ALL.into_iter().enumerate().map(|(i, plane)| {
            let data_offsets = (i * bytes, (i + 1) * bytes);
            let info = TensorInfo { dtype: Dtype::F32, shape: shape.clone(), data_offsets };
            (plane.name().to_owned(), info)
        });
        let layout =
            Metadata::new(Some(metadata), tensors.collect()).map_err(|error| error.to_string())?;
        // By way of a Value, whose keys are sorted: equal warps give equal files.
        let mut json = serde_json::to_value(&layout)
            .and_then(|value| serde_json::to_vec(&value))
            .map_err(|error| error.to_string())?;
        json.resize(json.len().next_multiple_of(8), b' ');
        if json.len() as u64 > HEADER_LIMIT {
            let length = json.len();
            return Err(format!("{length} bytes long, at most {HEADER_LIMIT}: shorten the rig"));
        }
        Ok(json)
    }
}

/// A size as the metadata have it.
pub(crate) fn size_text(size: UVec2) -> String {
    format!("{}x{}", size.x, size.y)
}

/// What the checksum covers besides the planes.
pub(crate) fn sealed_text(left: &str, right: &str, projection: &str, rig: Option<&str>) -> String {
    format!("{left} {right} {projection} {}", rig.unwrap_or(""))
}
