//! Writes the panoweave warp file, a safetensors file that contains a warp and its description. `read` reads the file.
//!
//! The file has three tensors per camera for the planes, of type F32 and shape `[height, width]`: `lut_1_x`,
//! `lut_1_y`, `lut_2_x` and so on, then `weight_1` and so on. They have the order of [`Plane::all`] and no gaps. All
//! numbers are little-endian.
//!
//! The header's `__metadata__` contains these strings:
//!
//! | key | value |
//! |---|---|
//! | `format` | `panoweave-warp` |
//! | `version` | `1` |
//! | `sources` | width and height of each source picture in pixels, such as `3840x2160 1920x1080` |
//! | `projection` | `planar`, `cylindrical`, `equirectangular` or `unknown` |
//! | `rig` | optional: the text of the rig or homography from which the warp was made |
//! | `checksum` | eight hex digits: CRC-32 of all tensors' bytes in order, then of the text `{sources} {projection} {rig}` |

mod read;

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::Write;
use std::path::Path;

use glam::UVec2;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};

use crate::geometry::rig::ProjectionName;
use crate::io::replace;
use crate::warp::bytes::bytes_of;
use crate::warp::{Plane, Warp, WarpError};

/// The value of the metadata key `format`.
pub(crate) const FORMAT: &str = "panoweave-warp";
/// The value of the metadata key `version`.
pub(crate) const VERSION: &str = "1";

/// The maximum length of the header's JSON in bytes. Its largest part is the text of the rig, which has a few
/// kilobytes.
pub(crate) const HEADER_LIMIT: u64 = 1 << 20;

impl Warp {
    /// Writes the warp to a panoweave warp file, and replaces the file atomically. The usual extension is
    /// `.safetensors`.
    ///
    /// # Errors
    /// Returns [`WarpError`] if the text of the rig is too long or the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), WarpError> {
        let file = path.as_ref();
        let header = self.header();
        let header = header
            .map_err(|reason| WarpError::invalid(file, format_args!("corrupt header: {reason}")))?;
        replace(file, |out| {
            out.write_all(&(header.len() as u64).to_le_bytes())?;
            out.write_all(&header)?;
            self.tensors(|bytes| out.write_all(bytes))
        })
        .map_err(|source| WarpError::Unwritable { file: file.to_owned(), source })
    }

    /// Passes the bytes of all tensors to `sink`, in file order and in pieces.
    fn tensors<E>(&self, mut sink: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.planes().iter().try_for_each(|plane| bytes_of(plane, f32::to_le_bytes, &mut sink))
    }

    /// Returns the header as JSON. It is padded with spaces to a multiple of 8 bytes, so that the planes in the file
    /// are 8-byte aligned. Returns the reason as an error if the header would be too long.
    fn header(&self) -> Result<Vec<u8>, String> {
        let mut crc = crc32fast::Hasher::new();
        let done: Result<(), Infallible> = self.tensors(|bytes| {
            crc.update(bytes);
            Ok(())
        });
        let Ok(()) = done;
        let sources = sources_text(self.sources());
        let projection = self.projection().map_or("unknown", ProjectionName::as_str);
        crc.update(sealed_text(&sources, projection, self.rig()).as_bytes());
        let mut metadata = HashMap::from(
            [
                ("format", FORMAT),
                ("version", VERSION),
                ("sources", &sources),
                ("projection", projection),
                ("checksum", &format!("{:08x}", crc.finalize())),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
        );
        if let Some(rig) = self.rig() {
            metadata.insert("rig".to_owned(), rig.to_owned());
        }
        let (UVec2 { x, y }, cameras) = (self.size(), self.sources().len());
        let shape = vec![y as usize, x as usize];
        let bytes = x as usize * y as usize * 4;
        let tensors = Plane::all(cameras).enumerate().map(|(i, plane)| {
            let data_offsets = (i * bytes, (i + 1) * bytes);
            let info = TensorInfo { dtype: Dtype::F32, shape: shape.clone(), data_offsets };
            (plane.name(), info)
        });
        let layout =
            Metadata::new(Some(metadata), tensors.collect()).map_err(|error| error.to_string())?;
        // Sort the keys, so that equal warps are saved to identical files.
        let sorted = serde_json::to_value(&layout).and_then(|mut value| {
            value.sort_all_objects();
            serde_json::to_vec(&value)
        });
        let mut json = sorted.map_err(|error| error.to_string())?;
        json.resize(json.len().next_multiple_of(8), b' ');
        if json.len() as u64 > HEADER_LIMIT {
            let length = json.len();
            return Err(format!(
                "it is {length} bytes long but must be at most {HEADER_LIMIT}; shorten the rig"
            ));
        }
        Ok(json)
    }
}

/// Returns sizes as text for the metadata, such as `3840x2160 1920x1080`.
pub(crate) fn sources_text(sizes: &[UVec2]) -> String {
    sizes.iter().map(|size| format!("{}x{}", size.x, size.y)).collect::<Vec<_>>().join(" ")
}

/// Returns the text that the checksum covers in addition to the tensors.
pub(crate) fn sealed_text(sources: &str, projection: &str, rig: Option<&str>) -> String {
    format!("{sources} {projection} {}", rig.unwrap_or(""))
}
